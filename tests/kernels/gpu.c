/* The kernels' tests on a GPU: launches by the driver's own functions, from the
 * image that the library carries, in pinned memory that both sides see. Without
 * a GPU the test is skipped. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image.h"
#include "launch.h"
#include "unit/kernels_twin.h"

/* Memory is taken from one block, front to back, and all at once given back
 * when the last piece is. */
enum { BLOCK_BYTES = 256 << 20 };

static struct {
    CUresult (*init)(unsigned flags);
    CUresult (*device)(CUdevice *out, int ordinal);
    CUresult (*retain)(CUcontext *out, CUdevice device);
    CUresult (*current)(CUcontext context);
    CUresult (*wait)(void);
    CUresult (*pinned)(void **out, size_t bytes, unsigned flags);
    CUresult (*load)(CUlibrary *out, const void *code, CUjit_option *options,
                     void **values, unsigned count, CUlibraryOption *library,
                     void **library_values, unsigned library_count);
    CUresult (*kernel)(CUkernel *out, CUlibrary library, const char *name);
    CUresult (*launch)(CUfunction kernel, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y,
                       unsigned block_z, unsigned shared, CUstream stream,
                       void **parameters, void **extra);
    CUlibrary library;
    unsigned char *memory;
    size_t used;
    int64_t pieces;
} gpu;

static void skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

/* ISO C has no cast from an object's address to a function's. */
static void look_up(void *out, void *driver, const char *name)
{
    void *symbol = dlsym(driver, name);
    if (!symbol)
        skip(name);
    memcpy(out, &symbol, sizeof symbol);
}

static void expect(CUresult code, const char *call)
{
    if (code == CUDA_SUCCESS)
        return;
    printf("%s: error %d\n", call, (int)code);
    exit(1);
}

static void open_gpu(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *memory = NULL;
    CUdevice device = 0;
    CUcontext context = NULL;
    if (!driver)
        skip(dlerror());
    look_up(&gpu.init, driver, "cuInit");
    look_up(&gpu.device, driver, "cuDeviceGet");
    look_up(&gpu.retain, driver, "cuDevicePrimaryCtxRetain");
    look_up(&gpu.current, driver, "cuCtxSetCurrent");
    look_up(&gpu.wait, driver, "cuCtxSynchronize");
    look_up(&gpu.pinned, driver, "cuMemHostAlloc");
    look_up(&gpu.load, driver, "cuLibraryLoadData");
    look_up(&gpu.kernel, driver, "cuLibraryGetKernel");
    look_up(&gpu.launch, driver, "cuLaunchKernel");
    if (gpu.init(0) != CUDA_SUCCESS || gpu.device(&device, 0) != CUDA_SUCCESS)
        skip("there is no GPU");
    expect(gpu.retain(&context, device), "cuDevicePrimaryCtxRetain");
    expect(gpu.current(context), "cuCtxSetCurrent");
    expect(
        gpu.load(&gpu.library, hdpk_image_data, NULL, NULL, 0, NULL, NULL, 0),
        "cuLibraryLoadData");
    expect(gpu.pinned(&memory, BLOCK_BYTES, 0), "cuMemHostAlloc");
    gpu.memory = memory;
}

void *twin_alloc(size_t bytes)
{
    unsigned char *piece;
    if (!gpu.memory)
        open_gpu();
    if (gpu.used + bytes > BLOCK_BYTES)
        abort();
    piece = gpu.memory + gpu.used;
    gpu.used = (gpu.used + bytes + 15) & ~(size_t)15;
    ++gpu.pieces;
    return piece;
}

void twin_free(void *memory)
{
    if (memory && --gpu.pieces == 0)
        gpu.used = 0;
}

void twin_run(int32_t kernel, const void *args, unsigned blocks,
              unsigned threads)
{
    CUkernel found = NULL;
    void *parameters[1] = { (void *)(uintptr_t)args };
    expect(gpu.kernel(&found, gpu.library, hdpk_kernels[kernel].name),
           "cuLibraryGetKernel");
    expect(gpu.launch((CUfunction)found, blocks, 1, 1, threads, 1, 1, 0, NULL,
                      parameters, NULL),
           "cuLaunchKernel");
    expect(gpu.wait(), "cuCtxSynchronize");
}
