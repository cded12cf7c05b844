/* The fake against the facts: what was measured of real devices, and the rules
 * that it is to enforce. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <string.h>
#include "fake.h"

static void begin(const char *words)
{
    if (fake_start(words) != 0)
        fail_msg("fake_start(\"%s\"): %s", words, fake_words());
}

static void test_copies(void **state)
{
    char in[1000], out[1000];
    cudaStream_t stream;
    void *memory;

    (void)state;
    begin("machine=desk");
    for (int i = 0; i < 1000; i++)
        in[i] = (char)i;
    memset(out, 0, sizeof out);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     0);
    assert_int_equal(cudaMalloc(&memory, 1000), 0);
    assert_int_equal(
        cudaMemcpyAsync(memory, in, 1000, cudaMemcpyHostToDevice, stream), 0);
    assert_int_equal(
        cudaMemcpyAsync(out, memory, 1000, cudaMemcpyDefault, stream), 0);
    assert_memory_equal(in, out, 1000);
    assert_int_equal(cudaStreamSynchronize(stream), 0);
    assert_int_equal(cudaFree(memory), 0);
    assert_int_equal(cudaStreamDestroy(stream), 0);
    assert_null(fake_breach());
    assert_string_equal(fake_alive(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
