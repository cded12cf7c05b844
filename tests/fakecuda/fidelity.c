/* Facts that the fake has to share with CUDA itself. Plain C on the runtime
 * alone, so that one program says the same of both:
 *   cc fidelity.c -lcudart && ./a.out      on a machine with two GPUs
 * Expectations are what driver 580 and CUDA 13.0 do there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_runtime_api.h>

static int facts, differences;

static void fact(const char *name, long expected, long got)
{
    facts++;
    if (expected == got)
        return;
    differences++;
    printf("%s: expected %ld, got %ld\n", name, expected, got);
}

#define GIVES(code, call) fact(#call, code, (long)(call))

/* ---- errors and arguments ------------------------------------------------- */

static void say_errors(void)
{
    void *memory = NULL;
    int value = 0;
    char text[3];
    struct cudaDeviceProp prop;

    GIVES(101, cudaSetDevice(99));
    GIVES(101, cudaPeekAtLastError());
    GIVES(101, cudaGetLastError());
    GIVES(0, cudaGetLastError());
    GIVES(2, cudaMalloc(&memory, (size_t)1 << 50));
    GIVES(0, cudaGetDevice(&value)); /* does not clear */
    GIVES(2, cudaPeekAtLastError());
    GIVES(101, cudaInitDevice(99, 0, 0)); /* overwrites */
    GIVES(101, cudaGetLastError());
    GIVES(1, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    GIVES(101, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    GIVES(101, cudaGetDeviceProperties(&prop, -1));
    GIVES(1, cudaDeviceGetPCIBusId(text, sizeof text, 0));
    fact("a name of no error", 0,
         strcmp(cudaGetErrorName((cudaError_t)12345),
                "unrecognized error code"));
    cudaGetLastError();
}

static void say_memory(void)
{
    struct cudaPointerAttributes is;
    static char own[8192];
    char *memory = NULL, *pinned = NULL, *none = own;
    size_t room = 0, total = 0;

    GIVES(0, cudaMalloc((void **)&memory, 4096));
    GIVES(0, cudaHostAlloc((void **)&pinned, 4096, cudaHostAllocPortable));
    GIVES(0, cudaMalloc((void **)&none, 0));
    fact("memory of 0 bytes", 1, none == NULL);
    none = own;
    GIVES(0, cudaHostAlloc((void **)&none, 0, cudaHostAllocPortable));
    fact("pinned memory of 0 bytes", 1, none == NULL);
    GIVES(0, cudaMemGetInfo(&room, &total));
    fact("a context takes memory", 1, room < total);
    GIVES(0, cudaPointerGetAttributes(&is, memory + 8));
    fact("type of device memory", cudaMemoryTypeDevice, (long)is.type);
    fact("its device", 0, is.device);
    fact("its host pointer", 1, is.hostPointer == NULL);
    fact("its device pointer", 1, is.devicePointer == memory + 8);
    GIVES(0, cudaPointerGetAttributes(&is, pinned));
    fact("type of pinned memory", cudaMemoryTypeHost, (long)is.type);
    fact("its host pointer", 1, is.hostPointer == pinned);
    GIVES(0, cudaPointerGetAttributes(&is, own));
    fact("type of a program's memory", cudaMemoryTypeUnregistered,
         (long)is.type);
    fact("its device", cudaInvalidDeviceId, is.device);
    fact("its device pointer", 1, is.devicePointer == NULL);
    fact("its host pointer", 1, is.hostPointer == own);
    GIVES(0, cudaHostRegister(own, sizeof own, 0));
    GIVES(712, cudaHostRegister(own, 16, 0));
    GIVES(0, cudaHostUnregister(own));
    GIVES(713, cudaHostUnregister(own));
    GIVES(1, cudaHostRegister(own, 0, 0));
    GIVES(1, cudaFree(own));
    GIVES(1, cudaFreeHost(own));
    GIVES(1, cudaFree(memory + 8));
    GIVES(0, cudaFree(NULL));
    GIVES(0, cudaFreeHost(NULL));
    GIVES(1, cudaMemcpyAsync(memory, own, 8, cudaMemcpyDeviceToHost, NULL));
    GIVES(1, cudaMemcpyAsync(own, memory, 8, cudaMemcpyHostToDevice, NULL));
    GIVES(0, cudaMemcpyAsync(memory, own, 0, cudaMemcpyHostToDevice, NULL));
    GIVES(0, cudaMemcpyAsync(memory, own, 8, cudaMemcpyDefault, NULL));
    GIVES(1, cudaMemsetAsync(own, 0, 8, NULL));
    GIVES(12, cudaMemcpy2DAsync(memory, 4, own, 8, 8, 2, cudaMemcpyHostToDevice,
                                NULL));
    GIVES(0, cudaDeviceSynchronize());
    GIVES(0, cudaFree(memory));
    GIVES(0, cudaFreeHost(pinned));
    cudaGetLastError();
}

/* ---- streams -------------------------------------------------------------- */

static void call_cuda(void *out)
{
    *(int *)out = (int)cudaStreamQuery(NULL);
}

static void say_streams(void)
{
    cudaEvent_t one, other, quiet;
    cudaStream_t stream;
    int inside = -1;
    float ms = 0;

    GIVES(1, cudaStreamCreateWithFlags(&stream, 7));
    GIVES(1, cudaEventCreateWithFlags(&one, 0x80));
    GIVES(400, cudaStreamDestroy(NULL));
    GIVES(0, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GIVES(0, cudaEventCreateWithFlags(&one, cudaEventDefault));
    GIVES(0, cudaEventCreateWithFlags(&other, cudaEventDefault));
    GIVES(0, cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
    GIVES(0, cudaEventQuery(one)); /* never recorded */
    GIVES(0, cudaEventSynchronize(one));
    GIVES(0, cudaStreamWaitEvent(stream, one, 0));
    GIVES(400, cudaEventElapsedTime(&ms, one, other));
    GIVES(0, cudaEventRecord(one, stream));
    GIVES(0, cudaEventRecord(quiet, stream));
    GIVES(0, cudaStreamSynchronize(stream));
    GIVES(400, cudaEventElapsedTime(&ms, one, quiet));
    GIVES(400, cudaEventElapsedTime(&ms, one, other));
    GIVES(0, cudaLaunchHostFunc(stream, call_cuda, &inside));
    GIVES(0, cudaStreamSynchronize(stream));
    fact("a call from a stream's function", 800, inside);
    GIVES(0, cudaStreamDestroy(stream));
    GIVES(0, cudaEventQuery(one)); /* outlives its stream */
    GIVES(0, cudaEventDestroy(one));
    GIVES(0, cudaEventDestroy(other));
    GIVES(0, cudaEventDestroy(quiet));
    cudaGetLastError();
}

static int status_of(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

    return cudaStreamIsCapturing(stream, &status) ? -1 : (int)status;
}

static void say_capture(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    const enum cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal;
    cudaGraph_t graph = NULL;
    cudaStream_t stream;
    void *memory = NULL, *more = NULL;

    GIVES(0, cudaMalloc(&memory, 64));
    GIVES(0, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GIVES(900, cudaStreamBeginCapture(NULL, global));
    GIVES(401, cudaStreamEndCapture(stream, &graph));
    GIVES(0, status_of(stream));
    GIVES(0, cudaStreamBeginCapture(stream, global));
    GIVES(401, cudaStreamBeginCapture(stream, global));
    GIVES(1, status_of(stream));
    GIVES(0, cudaMemsetAsync(memory, 2, 64, stream));
    GIVES(0, cudaThreadExchangeStreamCaptureMode(&mode));
    GIVES(global, mode);
    GIVES(0, cudaMalloc(&more, 64)); /* the thread is relaxed */
    GIVES(0, cudaThreadExchangeStreamCaptureMode(&mode));
    GIVES(0, cudaStreamEndCapture(stream, &graph));
    GIVES(0, cudaStreamBeginCapture(stream, global));
    GIVES(900, cudaStreamSynchronize(stream));
    GIVES(2, status_of(stream));
    GIVES(901, cudaStreamEndCapture(stream, &graph));
    GIVES(0, cudaStreamBeginCapture(stream, global));
    GIVES(900, cudaStreamQuery(stream));
    GIVES(2, status_of(stream));
    GIVES(901, cudaStreamEndCapture(stream, &graph));
    GIVES(0, cudaStreamBeginCapture(stream, global));
    GIVES(900, cudaMalloc(&memory, 64));
    GIVES(2, status_of(stream));
    GIVES(901, cudaMemsetAsync(more, 2, 64, stream));
    GIVES(901, cudaStreamEndCapture(stream, &graph));
    GIVES(0, status_of(stream));
    GIVES(0, cudaStreamSynchronize(stream));
    GIVES(0, cudaFree(more));
    GIVES(0, cudaStreamDestroy(stream));
    cudaGetLastError();
}

static void say_entry_points(void)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = &found;

    GIVES(0, cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &function,
                                              12000, 0, &found));
    fact("found", cudaDriverEntryPointSuccess, (long)found);
    GIVES(0, cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &function,
                                              11000, 0, &found));
    fact("too new", cudaDriverEntryPointVersionNotSufficent, (long)found);
    fact("its pointer", 1, function == NULL);
    GIVES(0, cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000,
                                              0, &found));
    fact("not found", cudaDriverEntryPointSymbolNotFound, (long)found);
    cudaGetLastError();
}

/* ---- two devices ---------------------------------------------------------- */

static void say_peers(void)
{
    cudaEvent_t one, other;
    cudaStream_t stream;
    void *here = NULL, *there = NULL;
    float ms = 0;
    int peer = 0;

    GIVES(0, cudaDeviceCanAccessPeer(&peer, 0, 0));
    fact("access to itself", 0, peer);
    GIVES(0, cudaSetDevice(1));
    GIVES(0, cudaMalloc(&there, 64));
    GIVES(0, cudaEventCreateWithFlags(&other, cudaEventDefault));
    GIVES(0, cudaEventRecord(other, NULL));
    GIVES(0, cudaSetDevice(0));
    GIVES(0, cudaMalloc(&here, 64));
    GIVES(0, cudaEventCreateWithFlags(&one, cudaEventDefault));
    GIVES(0, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GIVES(400, cudaEventRecord(other, stream));
    GIVES(0, cudaStreamWaitEvent(stream, other, 0));
    GIVES(0, cudaEventRecord(one, stream));
    GIVES(0, cudaStreamSynchronize(stream));
    GIVES(400, cudaEventElapsedTime(&ms, one, other));
    GIVES(0, cudaMemcpyPeerAsync(there, 1, here, 0, 64, stream));
    GIVES(0, cudaDeviceEnablePeerAccess(1, 0));
    GIVES(704, cudaDeviceEnablePeerAccess(1, 0));
    GIVES(704, cudaGetLastError());
    GIVES(217, cudaDeviceEnablePeerAccess(0, 0));
    GIVES(1, cudaDeviceEnablePeerAccess(1, 5));
    GIVES(0, cudaDeviceDisablePeerAccess(1));
    GIVES(705, cudaDeviceDisablePeerAccess(1));
    GIVES(0, cudaStreamSynchronize(stream));
    cudaGetLastError();
}

/* ---- processes of their own ----------------------------------------------- */

/* What 16 times the code of the count, and what became of the count, are. */
static int ask_count(void)
{
    int count = 7, code = (int)cudaGetDeviceCount(&count);

    return code == 0 ? count : (code - 95) * 16 + (count == 7);
}

/* Is device 0 woken by a call for device 1 on a new thread? */
static cudaStream_t shared_stream;
static cudaEvent_t shared_event;
static void *shared_memory;

static void *call_one(void *which)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    struct cudaPointerAttributes is;
    int code = 0;

    switch (*(char *)which) {
    case 'q':
        code = (int)cudaStreamQuery(shared_stream);
        break;
    case 's':
        code = (int)cudaStreamSynchronize(shared_stream);
        break;
    case 'e':
        code = (int)cudaEventQuery(shared_event);
        break;
    case 'd':
        code = (int)cudaEventDestroy(shared_event);
        break;
    case 'x':
        code = (int)cudaStreamDestroy(shared_stream);
        break;
    case 'f':
        code = (int)cudaFree(shared_memory);
        break;
    case 'p':
        code = (int)cudaPointerGetAttributes(&is, shared_memory);
        break;
    case 'm':
        code = (int)cudaThreadExchangeStreamCaptureMode(&mode);
        break;
    case 'r':
        code = (int)cudaEventRecord(shared_event, shared_stream);
        break;
    default:
        code = 99;
    }
    if (code)
        printf("%c on a new thread: %d\n", *(char *)which, code);
    return NULL;
}

static int ask_woken(char *which)
{
    int (*state)(int device, unsigned *flags, int *active);
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    unsigned flags = 0;
    pthread_t thread;
    int active = 7;

    if (cudaSetDevice(1) ||
        cudaStreamCreateWithFlags(&shared_stream, cudaStreamNonBlocking) ||
        cudaEventCreateWithFlags(&shared_event, cudaEventDefault) ||
        cudaMalloc(&shared_memory, 64) ||
        cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState",
                                         &function, 12000, 0, &found) ||
        !function)
        return 50;
    memcpy(&state, &function, sizeof state);
    if (state(0, &flags, &active) || active)
        return 51;
    if (pthread_create(&thread, NULL, call_one, which) != 0)
        return 52;
    pthread_join(thread, NULL);
    return state(0, &flags, &active) ? 53 : active;
}

static int run(const char *mask, const char *what, const char *which)
{
    pid_t child;
    int status = 0;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        if (mask)
            setenv("CUDA_VISIBLE_DEVICES", mask, 1);
        execl("/proc/self/exe", "fidelity", what, which, (char *)NULL);
        _exit(98);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void say_processes(void)
{
    static const char woken[] = "qsedxfpmr", *const expected = "110111011";
    int count = 0;
    pid_t child;
    int status = 0;

    fact("an empty mask", 5 * 16 + 1, run("", "count", ""));
    fact("a repeat", 6 * 16 + 1, run("0,0", "count", ""));
    fact("one of two", 1, run("1", "count", ""));
    for (int i = 0; woken[i]; i++) {
        const char which[] = { woken[i], '\0' };
        char name[] = "? wakes device 0";
        name[0] = woken[i];
        fact(name, expected[i] - '0', run(NULL, "woken", which));
    }
    GIVES(0, cudaGetDeviceCount(&count));
    GIVES(0, cudaFree(NULL));
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit((int)cudaSetDevice(0));
    fact("after a fork", child, waitpid(child, &status, 0));
    fact("in a forked child", 3, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "count") == 0)
        return ask_count();
    if (argc > 2 && strcmp(argv[1], "woken") == 0)
        return ask_woken(argv[2]);
    say_errors();
    say_memory();
    say_streams();
    say_capture();
    say_entry_points();
    say_peers();
    say_processes();
    printf("%d facts, %d differences\n", facts, differences);
    return differences > 0;
}
