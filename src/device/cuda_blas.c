/* cuBLAS, found at run time: the file that the context names, the copy that is
 * in the process already, in a process of Python the one of its wheels, what
 * the loader finds. It is never unloaded: it has state that outlives every
 * handle. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fate.h"
#include "base/packages.h"
#include "base/symbols.h"
#include "base/text.h"
#include "device/cuda_inner.h"

enum { MAJOR_LEAST = 12 };

/* Of the two, the one of the CUDA that this library was built with stands
 * first: the driver is new enough for that one. */
enum { BUILT_WITH_12 = CUDART_VERSION < 13000, COPIES = 2 };
static const struct {
    const char *file, *wheel; /* its folder below a site-packages */
} copies[COPIES] = {
    [BUILT_WITH_12] = { "libcublas.so.13", "nvidia/cu13/lib" },
    [!BUILT_WITH_12] = { "libcublas.so.12", "nvidia/cublas/lib" },
};

/* ---- one copy ------------------------------------------------------------ */

#define AT(field) offsetof(struct cuda_blas, field)
static const struct hdpi_symbol symbols[] = {
    { "cublasCreate_v2", AT(create), 1 },
    { "cublasDestroy_v2", AT(destroy), 1 },
    { "cublasSetStream_v2", AT(set_stream), 1 },
    { "cublasSetMathMode", AT(set_math), 1 },
    { "cublasSetPointerMode_v2", AT(set_pointers), 1 },
    { "cublasSetSmCountTarget", AT(set_sms), 0 },
    { "cublasGetVersion_v2", AT(get_version), 1 },
    { "cublasGetStatusString", AT(status_string), 1 },
    { "cublasGemmEx", AT(gemm), 1 },
};
#undef AT

/* The library's, so that no handle is needed. */
static int version_of(const struct cuda_blas *blas)
{
    int version = 0;

    return blas->get_version(NULL, &version) == CUBLAS_STATUS_SUCCESS ? version
                                                                      : 0;
}

/* 1 when it was taken; else `why` says what is wrong with it, and is left alone
 * where a file of that name is simply not there and `why` tells of another. */
static int try_copy(struct cuda_blas *out, const char *name, int flags,
                    char *why, size_t capacity)
{
    const char *lacks, *text;

    *out = (struct cuda_blas){
        .library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | flags)
    };
    if (!out->library) {
        text = dlerror();
        if (!why[0] && !(flags & RTLD_NOLOAD))
            hdpi_text_copy(why, capacity, text ? text : "cannot be loaded");
        return 0;
    }
    lacks = hdpi_symbols_find(out, out->library, symbols,
                              sizeof symbols / sizeof *symbols);
    if (!lacks) {
        hdpi_symbol_file(out->path, sizeof out->path, &out->create, name);
        out->version = version_of(out);
        if (out->version / 10000 >= MAJOR_LEAST)
            return 1;
    }
    if (lacks)
        snprintf(why, capacity, "%.100s: lacks %.40s", name, lacks);
    else
        snprintf(why, capacity, "%.100s: is version %d.%d, not %d or later",
                 name, out->version / 10000, out->version % 10000 / 100,
                 MAJOR_LEAST);
    (void)dlclose(out->library); /* stays mapped; drops the count */
    *out = (struct cuda_blas){ .library = NULL };
    return 0;
}

/* ---- the search ---------------------------------------------------------- */

static int try_wheels(struct cuda_blas *out, char *why, size_t capacity)
{
    struct hdpi_packages folders;
    char path[HDPI_PACKAGES_PATH + 64];

    hdpi_packages_find(&folders);
    for (size_t c = 0; c < COPIES; ++c)
        for (int f = 0; f < folders.count; ++f) {
            (void)snprintf(path, sizeof path, "%s/%s/%s", folders.path[f],
                           copies[c].wheel, copies[c].file);
            if (try_copy(out, path, 0, why, capacity))
                return 1;
        }
    return 0;
}

static int try_names(struct cuda_blas *out, int flags, char *why,
                     size_t capacity)
{
    for (size_t c = 0; c < COPIES; ++c)
        if (try_copy(out, copies[c].file, flags, why, capacity))
            return 1;
    return 0;
}

/* Other packages of Python load their wheels' copy by its path, whatever is in
 * the process: where there are wheels theirs comes before the system's. */
static int find(struct cuda_blas *out, const char *given, char *why,
                size_t capacity)
{
    why[0] = '\0';
    if (given)
        return try_copy(out, given, 0, why, capacity);
    return try_names(out, RTLD_NOLOAD, why, capacity) ||
           try_wheels(out, why, capacity) || try_names(out, 0, why, capacity);
}

static const char *given_path(const struct hdpi_site *site)
{
    return site ? site->cublas_path : NULL;
}

static hdp_status load(struct cuda *self)
{
    const struct hdpi_device *base = &self->base;
    const char *given = given_path(base->site);
    char why[160];

    if (self->blas.library || find(&self->blas, given, why, sizeof why))
        return HDP_OK;
    if (given)
        return hdpi_fail_member(HDP_ERR_NOT_FOUND, base->member, base->rank,
                                "%s: the cuBLAS that was named (%.64s) cannot "
                                "be used: %s",
                                base->row.info.spec, given, why);
    return hdpi_fail_member(HDP_ERR_NOT_FOUND, base->member, base->rank,
                            "%s needs cuBLAS, %s or %s: %s",
                            base->row.info.spec, copies[0].file, copies[1].file,
                            why);
}

int cuda_blas_version(struct cuda *self)
{
    struct cuda_blas found;
    char why[160];

    if (!find(&found, given_path(self->base.site), why, sizeof why))
        return 0;
    (void)dlclose(found.library); /* stays mapped; drops the count */
    return found.version;
}

void hdpi_cuda_blas_describe(struct hdpi_library *out)
{
    struct cuda_blas found = { .library = NULL };
    char why[160];

    memset(out, 0, sizeof *out);
    out->name = "cublas";
    for (size_t c = 0; c < COPIES && !found.library; ++c)
        (void)try_copy(&found, copies[c].file, RTLD_NOLOAD, why, sizeof why);
    if (!found.library) {
        (void)snprintf(out->note, sizeof out->note,
                       "not loaded; %s, else %s, is looked for at the first "
                       "product",
                       copies[0].file, copies[1].file);
        return;
    }
    hdpi_text_copy(out->path, sizeof out->path, found.path);
    (void)snprintf(out->note, sizeof out->note, "%d.%d.%d",
                   found.version / 10000, found.version % 10000 / 100,
                   found.version % 100);
    (void)dlclose(found.library); /* stays mapped; drops the count */
}

/* ---- the handle ---------------------------------------------------------- */

hdp_status cuda_blas_reset(struct cuda *self)
{
    struct cuda_blas *blas = &self->blas;
    int sms = self->partition ? self->base.row.info.partition_sms : 0;

    HDPI_RETURN_IF(cuda_check_blas(
        self, blas->set_stream(blas->handle, self->stream), "cublasSetStream"));
    HDPI_RETURN_IF(cuda_check_blas(
        self, blas->set_pointers(blas->handle, CUBLAS_POINTER_MODE_HOST),
        "cublasSetPointerMode"));
    HDPI_RETURN_IF(
        cuda_check_blas(self, blas->set_math(blas->handle, CUBLAS_DEFAULT_MATH),
                        "cublasSetMathMode"));
    if (!blas->set_sms)
        return HDP_OK;
    return cuda_check_blas(self, blas->set_sms(blas->handle, sms),
                           "cublasSetSmCountTarget");
}

/* One that rests, or a new one with a place to rest at. */
static hdp_status take(struct cuda *self)
{
    struct cuda_blas *blas = &self->blas;
    cublasHandle_t handle = NULL;
    hdp_status status;

    blas->handle = cuda_rest_take(&blas->place, self);
    if (blas->handle)
        return HDP_OK;
    HDPI_RETURN_IF(cuda_rest_place(&blas->place, self));
    status = cuda_check_blas(self, blas->create(&handle), "cublasCreate");
    if (status != HDP_OK) {
        free(blas->place);
        blas->place = NULL;
    }
    blas->handle = handle;
    return status;
}

hdp_status cuda_blas_open(struct cuda *self)
{
    hdp_status status;

    if (self->blas.handle)
        return HDP_OK;
    HDPI_RETURN_IF(load(self));
    HDPI_RETURN_IF(take(self));
    status = cuda_blas_reset(self);
    if (status != HDP_OK) { /* nobody else is to have it */
        free(self->blas.place);
        self->blas.place = NULL;
        cuda_blas_close(self);
    }
    return status;
}

void cuda_blas_close(struct cuda *self)
{
    struct cuda_blas *blas = &self->blas;

    if (!blas->handle)
        return;
    if (self->stuck)
        free(blas->place);
    else if (blas->place)
        cuda_rest_give(blas->place, self);
    else if (cuda_may_call() == HDP_OK && !cuda_late(self, self->ordinal))
        (void)blas->destroy(blas->handle);
    blas->handle = NULL;
    blas->place = NULL;
}

static hdp_status open_apart(void *arg)
{
    struct cuda *self = arg;
    hdp_status status;

    HDPI_RETURN_IF(cuda_enter(self));
    status = cuda_blas_open(self);
    cuda_leave(self);
    return status;
}

/* Asked from inside the caller's function, whose thread may be any and must
 * keep its device and its pending error. */
hdp_status cuda_blas(struct hdpi_device *device, void **out)
{
    struct cuda *self = cuda_from(device);

    *out = NULL;
    HDPI_RETURN_IF(cuda_may_call());
    if (!self->blas.handle)
        HDPI_RETURN_IF(cuda_apart(open_apart, self));
    *out = self->blas.handle;
    return HDP_OK;
}
