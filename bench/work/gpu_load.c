/* The driver and cuBLAS by name, from the very copies that the library uses:
 * with a second copy of either, handles and contexts would mean nothing. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gpu_inner.h"

struct wanted {
    const char *name;
    void *out; /* where its address goes */
};

/* A function's address as dlsym() hands it out; ISO C has no cast for it. */
static int look_up(void *library, const struct wanted *wanted, size_t count,
                   const char *path, char *reason)
{
    for (size_t i = 0; i < count; ++i) {
        void *symbol = dlsym(library, wanted[i].name);
        if (!symbol) {
            snprintf(reason, GPU_REASON, "%.160s has no %s", path,
                     wanted[i].name);
            return 0;
        }
        memcpy(wanted[i].out, &symbol, sizeof symbol);
    }
    return 1;
}

/* Loaded by the library already; never closed, since it never goes. */
int gpu_load_driver(struct gpu_driver *out, const char *path, char *reason)
{
    const struct wanted wanted[] = {
        { "cuGetErrorName", &out->error_name },
        { "cuCtxGetCurrent", &out->context_get },
        { "cuCtxSetCurrent", &out->context_set },
        { "cuMemAlloc_v2", &out->alloc },
        { "cuMemFree_v2", &out->free },
        { "cuMemsetD8Async", &out->set },
        { "cuMemcpyHtoDAsync_v2", &out->upload },
        { "cuMemcpyDtoHAsync_v2", &out->download },
        { "cuStreamSynchronize", &out->wait },
        { "cuLibraryLoadData", &out->load },
        { "cuLibraryUnload", &out->unload },
        { "cuLibraryGetKernel", &out->kernel },
        { "cuLaunchKernel", &out->launch },
    };
    const char *from = path && *path ? path : "libcuda.so.1";
    void *library = dlopen(from, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        const char *words = dlerror();
        snprintf(reason, GPU_REASON, "%s", words ? words : from);
        return 0;
    }
    return look_up(library, wanted, sizeof wanted / sizeof *wanted, from,
                   reason);
}

int gpu_load_blas(struct gpu_blas *out, const char *path, char *reason)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12" };
    const struct wanted wanted = { "cublasGemmEx", &out->gemm };
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    for (int i = 0; !library && !path && i < 2; ++i)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) {
        const char *words = path ? dlerror() : NULL;
        snprintf(reason, GPU_REASON, "%s",
                 words ? words : "no libcublas.so.13 or .so.12 is loaded");
        return 0;
    }
    return look_up(library, &wanted, 1, path ? path : "cuBLAS", reason);
}
