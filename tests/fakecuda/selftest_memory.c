/* The fake's memory: who may touch it, what it holds at first, and that what is
 * written beside it or freed too early is seen. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "selftest.h"

/* The signal that a child dies of when it reads there. */
static int reading_kills(const volatile char *at)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*at == 3 ? 3 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_host_access(void **state)
{
    void *memory, *pinned;

    (void)state;
    begin("");
    memory = device_memory(100);
    pinned = pinned_memory(100);
    assert_int_equal(reading_kills(memory), SIGSEGV);
    assert_int_equal(reading_kills(pinned), 0);
    assert_non_null(fake_reach(memory, 100));
    assert_null(fake_reach(memory, 101));
    assert_non_null(fake_reach((char *)memory + 60, 40));
    assert_null(fake_reach((char *)memory + 60, 41));
    assert_ptr_equal(fake_reach(pinned, 100), pinned);
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
    assert_int_equal(reading_kills(pinned), SIGSEGV);
    assert_null(fake_reach(memory, 1));
    end();
}

static void test_fill(void **state)
{
    float *memory, *pinned;

    (void)state;
    begin("");
    memory = device_memory(64 * sizeof(float));
    pinned = pinned_memory(64 * sizeof(float));
    const float *seen = fake_reach(memory, 64 * sizeof(float));
    for (int i = 0; i < 64; i++) {
        assert_true(seen[i] != seen[i]); /* not a number */
        assert_true(pinned[i] != pinned[i]);
    }
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
    end();
}

static void test_guards(void **state)
{
    char *memory;

    (void)state;
    begin("");
    memory = pinned_memory(101);
    memory[100] = 1;
    assert_null(fake_breach());
    memory[101] = 1;
    broke("behind");
    begin("");
    memory = pinned_memory(101);
    memory[-1] = 1;
    OK(cudaFreeHost(memory));
    broke("before their beginning");
    begin("");
    memory = device_memory(4096);
    ((char *)fake_reach(memory, 4096))[4096] = 1;
    OK(cudaFree(memory));
    broke("device memory");
}

static void test_wrong_frees(void **state)
{
    char *memory, own[8];

    (void)state;
    begin("");
    memory = device_memory(64);
    OK(cudaFree(memory));
    SAYS(1, cudaFree(memory));
    broke("twice");
    begin("");
    SAYS(1, cudaFreeHost(own));
    broke("never given out");
    begin("");
    memory = device_memory(64);
    SAYS(1, cudaFree(memory + 8));
    broke("never given out");
    begin("");
    memory = device_memory(64);
    SAYS(1, cudaFreeHost(memory));
    broke("never given out");
}

/* Freed after the stream was queued, and before anybody knows that it is
 * through: by luck it may be. */
static void test_freed_in_use(void **state)
{
    cudaStream_t stream, other;
    cudaEvent_t event;
    char *memory, *pinned;

    (void)state;
    for (int way = 0; way < 5; way++) {
        begin("");
        stream = new_stream();
        other = new_stream();
        event = new_event();
        memory = device_memory(64);
        pinned = pinned_memory(64);
        OK(cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, stream));
        OK(cudaEventRecord(event, stream));
        if (way == 1)
            OK(cudaStreamSynchronize(stream));
        if (way == 2)
            OK(cudaEventQuery(event));
        if (way == 3) {
            OK(cudaStreamWaitEvent(other, event, 0));
            OK(cudaStreamSynchronize(other));
        }
        if (way == 4)
            OK(cudaDeviceSynchronize());
        OK(cudaFreeHost(pinned));
        if (way == 0) {
            broke("seen to have passed");
            continue;
        }
        OK(cudaFree(memory));
        OK(cudaEventDestroy(event));
        OK(cudaStreamDestroy(stream));
        OK(cudaStreamDestroy(other));
        end();
    }
}

static void test_attributes(void **state)
{
    struct cudaPointerAttributes is;
    char *memory, *pinned, own[4];

    (void)state;
    begin("");
    OK(cudaSetDevice(1));
    memory = device_memory(64);
    pinned = pinned_memory(64);
    OK(cudaPointerGetAttributes(&is, memory + 3));
    assert_int_equal(is.type, cudaMemoryTypeDevice);
    assert_int_equal(is.device, 1);
    assert_ptr_equal(is.devicePointer, memory + 3);
    assert_null(is.hostPointer);
    OK(cudaPointerGetAttributes(&is, pinned));
    assert_int_equal(is.type, cudaMemoryTypeHost);
    assert_ptr_equal(is.hostPointer, pinned);
    OK(cudaPointerGetAttributes(&is, own));
    assert_int_equal(is.type, cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(own, sizeof own, 0));
    SAYS(712, cudaHostRegister(own + 1, 1, 0));
    OK(cudaPointerGetAttributes(&is, own));
    assert_int_equal(is.type, cudaMemoryTypeHost);
    OK(cudaHostUnregister(own));
    SAYS(713, cudaHostUnregister(own));
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
    end();
}

static void test_copies(void **state)
{
    char in[1000], out[1000], *memory;
    cudaStream_t stream;

    (void)state;
    begin("machine=desk");
    for (int i = 0; i < 1000; i++)
        in[i] = (char)i;
    stream = new_stream();
    memory = device_memory(1000);
    OK(cudaMemcpyAsync(memory, in, 1000, cudaMemcpyHostToDevice, stream));
    memset(out, 0, sizeof out);
    OK(cudaMemcpyAsync(out, memory, 1000, cudaMemcpyDefault, stream));
    assert_memory_equal(in, out, 1000);
    OK(cudaMemsetAsync(memory + 10, 0x5c, 20, stream));
    memset(out, 0, sizeof out);
    /* rows of 5 bytes, 10 apart, to rows 7 apart */
    OK(cudaMemcpy2DAsync(out, 7, memory, 10, 5, 4, cudaMemcpyDeviceToHost,
                         stream));
    for (int i = 0; i < 28; i++) {
        int row = i / 7, column = i % 7, at = row * 10 + column;
        assert_int_equal(out[i], column >= 5           ? 0
                                 : at >= 10 && at < 30 ? 0x5c
                                                       : in[at]);
    }
    SAYS(1, cudaMemcpyAsync(memory, in, 1001, cudaMemcpyHostToDevice, stream));
    SAYS(1, cudaMemcpyAsync(memory, in, 10, cudaMemcpyDeviceToHost, stream));
    OK(cudaMemcpyAsync(memory, in, 0, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(memory));
    SAYS(1, cudaMemcpyAsync(memory, in, 10, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamDestroy(stream));
    end();
}

/* Giving memory out and back a thousand times leaves nothing. */
static void test_rounds(void **state)
{
    int64_t room;

    (void)state;
    begin("machine=laptop");
    OK(cudaSetDevice(0));
    room = fake_free_bytes(0);
    for (int i = 0; i < 1000; i++) {
        void *memory = device_memory((size_t)(1 + i * 37));
        void *pinned = pinned_memory((size_t)(1 + i * 41));
        OK(cudaFree(memory));
        OK(cudaFreeHost(pinned));
    }
    assert_true(fake_free_bytes(0) == room);
    end();
}

static void test_alive(void **state)
{
    (void)state;
    begin("");
    new_stream();
    new_stream();
    new_event();
    OK(cudaSetDevice(1));
    device_memory(4096);
    pinned_memory(7);
    assert_string_equal(fake_alive(), "2 streams, 1 event, 7 pinned bytes, "
                                      "4096 bytes of device 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_access),  cmocka_unit_test(test_fill),
        cmocka_unit_test(test_guards),       cmocka_unit_test(test_wrong_frees),
        cmocka_unit_test(test_freed_in_use), cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_copies),       cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_alive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
