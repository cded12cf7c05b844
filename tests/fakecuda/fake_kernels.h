/* Kernels of the fake: found by name, as C functions. Tests and benchmarks add
 * their own. */
#ifndef FAKE_KERNELS_H
#define FAKE_KERNELS_H
#include <stddef.h>
#include <stdint.h>

enum {
    FAKE_ARGUMENT_MAX = 4000, /* bytes that a launch carries */
    FAKE_SPANS_MAX = 160
};

/* Memory that a launch reads or writes: [from, from + bytes) of the pointer at
 * that offset of the argument. */
struct fake_span {
    size_t offset;
    int64_t from, bytes;
};

struct fake_kernel {
    const char *name;
    size_t bytes; /* of its one argument, a struct */
    /* What it means. The spans' pointers lead to host memory there. */
    void (*run)(const void *argument);
    /* Writes at most FAKE_SPANS_MAX and returns how many. A span that is not
     * the device's to reach is an illegal address. NULL: no pointers. */
    int (*spans)(struct fake_span *out, const void *argument);
    /* Nanoseconds besides the launch itself and the memory that the spans
     * name, on a device at full pace. NULL: none. */
    double (*cost_ns)(const void *argument);
    /* 1: hdp's own, which no display may notice: 50 ms. */
    int brief;
};

/**
 * Adds a kernel, or replaces the one of that name. Copies the struct, keeps
 * the name. Survives fake_start(). At most 64.
 *
 * @return 0; -1 where there is no room.
 */
int fake_kernel_register(const struct fake_kernel *kernel);

/** NULL: no kernel of that name. What it points to stays. */
const struct fake_kernel *fake_kernel_find(const char *name);
/** The i-th of them; NULL after the last. */
const struct fake_kernel *fake_kernel_at(int i);
#endif
