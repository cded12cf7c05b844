/* Libraries of kernels: an image says for which devices it has code, kernels
 * are found by name, and a launch becomes work on a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "state.h"
#include "fake_kernels.h"

enum { ARCHS_MAX = 32, KERNELS_MAX = 64, HEADER_MAX = 256 };

struct CUlib_st {
    struct fake_handle handle;
    int archs[ARCHS_MAX]; /* it has code for; ends with 0 */
    int ptx;              /* and PTX of this one; 0: none */
    struct CUkern_st *kernels[KERNELS_MAX];
    int kernel_count;
};

struct CUkern_st {
    struct fake_handle handle;
    CUlibrary library;
    const struct fake_kernel *meaning;
};

/* ---- images --------------------------------------------------------------- */

static int read_archs(CUlibrary library, const char *at)
{
    int count = 0;

    while (count < ARCHS_MAX - 1) {
        char *end;
        long arch = strtol(at, &end, 10);
        if (end == at || arch <= 0 || arch > 999)
            return 0;
        library->archs[count++] = (int)arch;
        if (*end != ',')
            return *end == ' ';
        at = end + 1;
    }
    return 0;
}

/* "FAKEIMAGE archs=60,61,70 ptx=120\n" is all there is of an image. */
static int read_image(CUlibrary library, const char *image)
{
    static const char start[] = "FAKEIMAGE archs=";
    char line[HEADER_MAX];
    const char *ptx;
    size_t length = 0;

    if (strncmp(image, start, sizeof start - 1) != 0)
        return 0;
    while (length < sizeof line - 1 && image[length] != '\n' && image[length])
        length++;
    if (image[length] != '\n')
        return 0;
    memcpy(line, image, length);
    line[length] = '\0';
    ptx = strstr(line, " ptx=");
    if (!ptx || !read_archs(library, line + sizeof start - 1))
        return 0;
    library->ptx = atoi(ptx + 5);
    return 1;
}

/* Code runs on the same major number and no smaller minor one; PTX is
 * translated for its own architecture and later ones. */
static int runs_on(const struct CUlib_st *library,
                   const struct fake_device *device)
{
    int major = device->info.compute_major;
    int own = major * 10 + device->info.compute_minor;

    if (library->ptx > 0 && library->ptx <= own)
        return 1;
    for (const int *arch = library->archs; *arch; ++arch)
        if (*arch / 10 == major && *arch <= own)
            return 1;
    return 0;
}

FAKE_API CUresult cuLibraryLoadData(CUlibrary *out, const void *image,
                                    CUjit_option *options, void **values,
                                    unsigned int option_count,
                                    CUlibraryOption *library_options,
                                    void **library_values,
                                    unsigned int library_count)
{
    CUlibrary library;

    DRIVER_ENTER("cuLibraryLoadData", CUDA_ERROR_OUT_OF_MEMORY, FAKE_UNSAFE);
    if (!out || !image || (option_count > 0 && (!options || !values)) ||
        (library_count > 0 && (!library_options || !library_values)))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    library = fake_handle_new(FAKE_LIBRARY, sizeof *library, NULL);
    if (!read_image(library, image)) {
        fake_handle_end(library);
        DRIVER_LEAVE(CUDA_ERROR_INVALID_IMAGE);
    }
    *out = library;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

FAKE_API CUresult cuLibraryUnload(CUlibrary library)
{
    DRIVER_ENTER("cuLibraryUnload", CUDA_ERROR_INVALID_HANDLE, FAKE_UNSAFE);
    if (!library || !fake_handle_is(library, FAKE_LIBRARY))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (library->kernel_count > 0 && fake_current_device()) /* as an H200 */
        (void)fake_device_finish(fake_current_device());
    for (int i = 0; i < library->kernel_count; ++i)
        fake_handle_end(library->kernels[i]);
    fake_handle_end(library);
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- kernels -------------------------------------------------------------- */

static CUkernel kernel_of(CUlibrary library, const struct fake_kernel *meaning)
{
    CUkernel kernel;

    for (int i = 0; i < library->kernel_count; ++i)
        if (library->kernels[i]->meaning == meaning)
            return library->kernels[i];
    if (library->kernel_count == KERNELS_MAX)
        return NULL;
    kernel = fake_handle_new(FAKE_KERNEL, sizeof *kernel, NULL);
    kernel->library = library;
    kernel->meaning = meaning;
    library->kernels[library->kernel_count++] = kernel;
    return kernel;
}

FAKE_API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library,
                                     const char *name)
{
    const struct fake_kernel *meaning;
    CUcontext context;

    DRIVER_ENTER("cuLibraryGetKernel", CUDA_ERROR_NOT_FOUND, 0);
    if (!out || !name)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!library || !fake_handle_is(library, FAKE_LIBRARY))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    context = fake_current_context();
    if (context && !runs_on(library, context->handle.device))
        DRIVER_LEAVE(CUDA_ERROR_NO_BINARY_FOR_GPU);
    meaning = fake_kernel_find(name);
    *out = meaning ? kernel_of(library, meaning) : NULL;
    DRIVER_LEAVE(*out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

FAKE_API CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    DRIVER_ENTER("cuKernelGetFunction", CUDA_ERROR_INVALID_HANDLE,
                 FAKE_CONTEXT);
    if (!out)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!kernel || !fake_handle_is(kernel, FAKE_KERNEL))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!runs_on(kernel->library, fake_current_context()->handle.device))
        DRIVER_LEAVE(CUDA_ERROR_NO_BINARY_FOR_GPU);
    *out = (CUfunction)(void *)kernel;
    DRIVER_LEAVE(CUDA_SUCCESS);
}

/* ---- launches ------------------------------------------------------------- */

/* What a launch carries to its effect. */
struct launch {
    const struct fake_kernel *meaning;
    struct fake_device *device;
    _Alignas(16) unsigned char argument[FAKE_ARGUMENT_MAX];
};

/* The span's pointer becomes the fake's own: 1; 0: an illegal address. */
static int translate(const struct fake_device *device, unsigned char *argument,
                     const struct fake_span *span)
{
    char *pointer, *found;

    memcpy(&pointer, argument + span->offset, sizeof pointer);
    if (span->bytes <= 0)
        return 1;
    fake_lock();
    found =
        fake_bytes(device, (void *)((uintptr_t)pointer + (uintptr_t)span->from),
                   (size_t)span->bytes);
    if (!found)
        fake_poison(cudaErrorIllegalAddress);
    fake_unlock();
    if (!found)
        return 0;
    pointer = (char *)((uintptr_t)found - (uintptr_t)span->from);
    memcpy(argument + span->offset, &pointer, sizeof pointer);
    return 1;
}

static void run(void *data)
{
    const struct launch *launch = data;
    const struct fake_kernel *meaning = launch->meaning;
    struct fake_span spans[FAKE_SPANS_MAX];
    _Alignas(16) unsigned char argument[FAKE_ARGUMENT_MAX];
    int count = meaning->spans ? meaning->spans(spans, launch->argument) : 0;

    memcpy(argument, launch->argument, meaning->bytes);
    for (int i = 0; i < count; ++i)
        if (!translate(launch->device, argument, &spans[i]))
            return;
    meaning->run(argument);
}

/* Of spans, each read or written once. A part of the SMs has more than its part of
 * the memory's bandwidth: 48 of 132 have 0.84 of it. */
static double bandwidth(const struct fake_device *device, int sms)
{
    double part =
        device->info.sm_count > 0 ? (double)sms / device->info.sm_count : 1;
    double rest = part < 1 ? 1 - part : 0;

    return 2 * device->copy_bytes_per_second * (1 - rest * rest * rest * rest);
}

/* Memory of the host, or of another device, is as far as the link. */
static double rate_of(const struct fake_device *device, int sms,
                      const void *pointer)
{
    const struct fake_block *block = fake_block_of(pointer, 1);
    int peer;

    if (block && block->memory != FAKE_DEVICE_MEMORY)
        return device->in_bytes_per_second;
    if (block && block->device != device)
        return fake_link(block->device, device, &peer);
    return bandwidth(device, sms);
}

static void describe(struct fake_work *work, const struct launch *launch,
                     int sms)
{
    const struct fake_kernel *meaning = launch->meaning;
    struct fake_span spans[FAKE_SPANS_MAX];
    int count = meaning->spans ? meaning->spans(spans, launch->argument) : 0;

    *work = (struct fake_work){
        .kind = FAKE_WORK_KERNEL,
        .name = meaning->name,
        .cost_ns = launch->device->launch_ns,
        .effect = run,
        .argument = launch,
        .argument_bytes = offsetof(struct launch, argument) + meaning->bytes,
    };
    for (int i = 0; i < count; ++i) {
        char *pointer;
        if (spans[i].bytes <= 0)
            continue;
        memcpy(&pointer, launch->argument + spans[i].offset, sizeof pointer);
        pointer = (char *)((uintptr_t)pointer + (uintptr_t)spans[i].from);
        work->cost_ns += (double)spans[i].bytes /
                         rate_of(launch->device, sms, pointer) * 1e9;
        if (work->use_count < FAKE_USES_MAX)
            work->uses[work->use_count++] = pointer;
    }
    if (meaning->cost_ns)
        work->cost_ns += meaning->cost_ns(launch->argument);
}

static void watch_display(const struct fake_work *work,
                          const struct launch *launch)
{
    if (launch->meaning->brief && launch->device->info.display &&
        work->cost_ns - launch->device->launch_ns > FAKE_DISPLAY_NS)
        fake_break("kernel %s takes %.1f ms on device %d, which drives a "
                   "display",
                   work->name, work->cost_ns / 1e6, launch->device->number);
}

static CUresult begin(CUfunction function, CUstream stream, void **parameters)
{
    CUkernel kernel = (CUkernel)(void *)function;
    struct launch launch;
    struct fake_work work;

    launch.meaning = kernel->meaning;
    launch.device = stream->handle.device;
    if (launch.device != fake_current_device())
        return CUDA_ERROR_INVALID_HANDLE;
    if (!runs_on(kernel->library, launch.device))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    memcpy(launch.argument, parameters[0], launch.meaning->bytes);
    describe(&work, &launch, stream->sms);
    watch_display(&work, &launch);
    return (CUresult)fake_enqueue(stream, &work);
}

FAKE_API CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                 unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z,
                                 unsigned int shared_bytes, CUstream handle,
                                 void **parameters, void **extra)
{
    CUstream stream;

    DRIVER_ENTER("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                 FAKE_CONTEXT);
    if (!function || !fake_handle_is(function, FAKE_KERNEL))
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    stream = fake_stream_of(handle);
    if (!stream)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 ||
        block_y == 0 || block_z == 0 || grid_x > 0x7fffffffu ||
        grid_y > 65535 || grid_z > 65535 || shared_bytes > 49152 || extra ||
        !parameters || !parameters[0] ||
        (uint64_t)block_x * block_y * block_z > 1024)
        DRIVER_LEAVE(CUDA_ERROR_INVALID_VALUE);
    DRIVER_LEAVE(begin(function, stream, parameters));
}
