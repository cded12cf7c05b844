/* What the tests of the fake have in common. */
#ifndef FAKE_SELFTEST_H
#define FAKE_SELFTEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>
#include "fake.h"

#define OK(call) assert_int_equal((int)(call), 0)
#define SAYS(code, call) assert_int_equal((int)(call), (int)(code))

static inline void begin(const char *words)
{
    if (fake_start(words) != 0)
        fail_msg("fake_start(\"%s\"): %s", words, fake_words());
}

/** Nothing is alive and no rule was broken. */
static inline void end(void)
{
    if (fake_breach())
        fail_msg("expected no breach, got: %s", fake_breach());
    assert_string_equal(fake_alive(), "");
}

/** A rule was broken, and the words say which. */
static inline void broke(const char *part)
{
    if (!fake_breach() || !strstr(fake_breach(), part))
        fail_msg("expected a breach about \"%s\", got: %s", part,
                 fake_breach() ? fake_breach() : "none");
}

static inline void *device_memory(size_t bytes)
{
    void *memory = NULL;

    OK(cudaMalloc(&memory, bytes));
    assert_non_null(memory);
    return memory;
}

static inline void *pinned_memory(size_t bytes)
{
    void *memory = NULL;

    OK(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    assert_non_null(memory);
    return memory;
}

static inline cudaStream_t new_stream(void)
{
    cudaStream_t stream = NULL;

    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static inline cudaEvent_t new_event(void)
{
    cudaEvent_t event = NULL;

    OK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    return event;
}

/* Time of what is queued between the two, on the fake's clock. */
struct span {
    cudaEvent_t from, to;
    cudaStream_t stream;
};

static inline struct span span_begin(cudaStream_t stream)
{
    struct span span = { .stream = stream };

    OK(cudaEventCreateWithFlags(&span.from, 0));
    OK(cudaEventCreateWithFlags(&span.to, 0));
    OK(cudaEventRecord(span.from, stream));
    return span;
}

static inline double span_ns(struct span *span)
{
    float ms = -1;

    OK(cudaEventRecord(span->to, span->stream));
    OK(cudaEventSynchronize(span->to));
    OK(cudaEventElapsedTime(&ms, span->from, span->to));
    OK(cudaEventDestroy(span->from));
    OK(cudaEventDestroy(span->to));
    return (double)ms * 1e6;
}

/** `got` within a part of `wanted`. */
static inline void near(const char *what, double wanted, double got,
                        double part)
{
    if (!(got >= wanted * (1 - part) && got <= wanted * (1 + part)))
        fail_msg("%s: expected %g within %g %%, got %g", what, wanted,
                 part * 100, got);
}
#endif
