/* The kernels by name, as the image holds them. */
#include "launch.h"

/* A function of one struct, called by the address of any. */
#define HOST(name)                                                             \
    static void name(const void *args)                                         \
    {                                                                          \
        hdpk_host_##name(args);                                                \
    }

HOST(combine)
HOST(accumulate)
HOST(scale)
HOST(convert)
HOST(fill)
HOST(pattern)
HOST(check)
HOST(rows)
HOST(spin)

#define KERNEL(kernel)                                                         \
    .name = "hdpk_cuda_" #kernel,                                              \
    .bytes = sizeof(struct hdpk_launch_##kernel), .host = kernel

#define AT(name, member) offsetof(struct hdpk_launch_##name, member)

const struct hdpk_kernel hdpk_kernels[HDPK_KERNELS] = {
    [HDPK_COMBINE] = { KERNEL(combine),
                       .pointers = { { AT(combine, sources),
                                       HDPK_LAUNCH_SOURCES },
                                     { AT(combine, targets),
                                       HDPK_LAUNCH_TARGETS } } },
    [HDPK_ACCUMULATE] = { KERNEL(accumulate),
                          .pointers = { { AT(accumulate, target), 2 } } },
    [HDPK_SCALE] = { KERNEL(scale), .pointers = { { AT(scale, data), 1 } } },
    [HDPK_CONVERT] = { KERNEL(convert),
                       .pointers = { { AT(convert, target), 2 } } },
    [HDPK_FILL] = { KERNEL(fill), .pointers = { { AT(fill, data), 1 } } },
    [HDPK_PATTERN] = { KERNEL(pattern),
                       .pointers = { { AT(pattern, data), 1 } } },
    [HDPK_CHECK] = { KERNEL(check), .pointers = { { AT(check, data), 2 } } },
    [HDPK_ROWS] = { KERNEL(rows), .pointers = { { AT(rows, target), 2 } } },
    [HDPK_SPIN] = { KERNEL(spin), .pointers = { { AT(spin, out_ns), 1 } } },
};
