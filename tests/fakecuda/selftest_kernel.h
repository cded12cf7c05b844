/* A kernel for the fake's own tests: takes as long as it is told and writes a
 * number. */
#ifndef FAKE_SELFTEST_KERNEL_H
#define FAKE_SELFTEST_KERNEL_H
#include "fake_kernels.h"
#include "selftest.h"

struct tick {
    int64_t *out; /* NULL: writes nothing */
    int64_t value;
    double ns;
};

static inline void tick_run(const void *argument)
{
    const struct tick *tick = argument;

    if (tick->out)
        *tick->out = tick->value;
}

static inline int tick_spans(struct fake_span *out, const void *argument)
{
    const struct tick *tick = argument;

    out[0] =
        (struct fake_span){ offsetof(struct tick, out), 0, sizeof *tick->out };
    return tick->out != NULL;
}

static inline double tick_cost(const void *argument)
{
    return ((const struct tick *)argument)->ns;
}

static inline CUlibrary tick_library(void)
{
    static const char image[] = "FAKEIMAGE archs=60,75,80,86,89,90 ptx=120\n";
    static const struct fake_kernel kernel = { "tick",    sizeof(struct tick),
                                               tick_run,  tick_spans,
                                               tick_cost, 0 };
    CUlibrary library = NULL;

    assert_int_equal(fake_kernel_register(&kernel), 0);
    OK(cudaFree(NULL)); /* a context */
    OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static inline CUresult launch(CUlibrary library, cudaStream_t stream,
                              struct tick tick)
{
    void *arguments[] = { &tick };
    CUkernel kernel = NULL;

    OK(cuLibraryGetKernel(&kernel, library, "tick"));
    return cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 32, 1, 1, 0,
                          stream, arguments, NULL);
}
#endif
