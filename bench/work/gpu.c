/* Contexts, streams and handles come from the members themselves: one step asks
 * each for what is current inside its work function. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_inner.h"

enum { BLOCK = 256, BLOCKS_MAX = 4096 }; /* the rest is strides */

int gpu_is(const struct gpu *gpu, int32_t member)
{
    return gpu && gpu->member[member].is_gpu;
}

int64_t gpu_free_bytes(const struct gpu *gpu, int32_t member)
{
    return gpu_is(gpu, member) ? gpu->member[member].free_bytes : 0;
}

const char *gpu_reason(const struct gpu *gpu, int32_t member)
{
    return gpu->member[member].reason;
}

int32_t gpu_give_up(const struct gpu *gpu, const hdp_shard *shard)
{
    hdp_shard_fail(shard, HDP_ERR_CALLBACK, 0, gpu_reason(gpu, shard->member));
    return 1;
}

/* 1: it went well. */
static int check(struct gpu *gpu, int32_t member, CUresult code,
                 const char *call)
{
    struct gpu_member *self = &gpu->member[member];
    const char *name = NULL;

    if (code == CUDA_SUCCESS)
        return 1;
    if (gpu->driver.error_name(code, &name) != CUDA_SUCCESS || !name)
        name = "error";
    snprintf(self->reason, sizeof self->reason, "member %d: %s: %s (%d)",
             (int)member, call, name, (int)code);
    return 0;
}

/* ---- between steps ------------------------------------------------------- */

/* Makes the member's context this thread's, which inside its work function it is
 * already; *before goes back by leave(). */
static int enter(struct gpu *gpu, int32_t member, CUcontext *before)
{
    CUcontext own = gpu->member[member].context;

    *before = NULL;
    if (!check(gpu, member, gpu->driver.context_get(before), "cuCtxGetCurrent"))
        return 0;
    return *before == own ||
           check(gpu, member, gpu->driver.context_set(own), "cuCtxSetCurrent");
}

static void leave(struct gpu *gpu, int32_t member, CUcontext before)
{
    if (before != gpu->member[member].context)
        gpu->driver.context_set(before);
}

int gpu_set(struct gpu *gpu, int32_t member, void *target, unsigned char byte,
            size_t bytes)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)target;
    CUstream stream = gpu->member[member].stream;
    CUcontext before;

    if (!enter(gpu, member, &before))
        return 0;
    int well =
        (bytes == 0 ||
         check(gpu, member, gpu->driver.set(to, byte, bytes, stream),
               "cuMemsetD8Async")) &&
        check(gpu, member, gpu->driver.wait(stream), "cuStreamSynchronize");
    leave(gpu, member, before);
    return well;
}

void *gpu_alloc(struct gpu *gpu, int32_t member, size_t bytes)
{
    size_t size = bytes ? bytes : 1;
    CUdeviceptr memory = 0;
    CUcontext before;

    if (!enter(gpu, member, &before))
        return NULL;
    if (!check(gpu, member, gpu->driver.alloc(&memory, size), "cuMemAlloc"))
        memory = 0;
    leave(gpu, member, before);
    void *out = (void *)(uintptr_t)memory;
    if (!out || gpu_set(gpu, member, out, 0, size))
        return out;
    gpu_free(gpu, member, out);
    return NULL;
}

void gpu_free(struct gpu *gpu, int32_t member, void *memory)
{
    CUcontext before;

    if (!memory || !enter(gpu, member, &before))
        return;
    gpu->driver.free((CUdeviceptr)(uintptr_t)memory);
    leave(gpu, member, before);
}

/* One of the driver's copies, between addresses of its kind. */
struct move {
    CUdeviceptr device;
    void *target;       /* of a way out of it */
    const void *source; /* of a way in */
    size_t bytes;
};

static int move(struct gpu *gpu, int32_t member, const struct move *move)
{
    CUstream stream = gpu->member[member].stream;
    CUcontext before;
    int well;

    if (move->bytes == 0)
        return 1;
    if (!enter(gpu, member, &before))
        return 0;
    if (move->source)
        well = check(
            gpu, member,
            gpu->driver.upload(move->device, move->source, move->bytes, stream),
            "cuMemcpyHtoDAsync");
    else
        well = check(gpu, member,
                     gpu->driver.download(move->target, move->device,
                                          move->bytes, stream),
                     "cuMemcpyDtoHAsync");
    well = well &&
           check(gpu, member, gpu->driver.wait(stream), "cuStreamSynchronize");
    leave(gpu, member, before);
    return well;
}

int gpu_upload(struct gpu *gpu, int32_t member, void *target,
               const void *source, size_t bytes)
{
    const struct move in = { .device = (CUdeviceptr)(uintptr_t)target,
                             .source = source,
                             .bytes = bytes };

    return move(gpu, member, &in);
}

int gpu_download(struct gpu *gpu, int32_t member, void *target,
                 const void *source, size_t bytes)
{
    const struct move out = { .device = (CUdeviceptr)(uintptr_t)source,
                              .target = target,
                              .bytes = bytes };

    return move(gpu, member, &out);
}

/* ---- in stream order ----------------------------------------------------- */

int gpu_launch(struct gpu *gpu, int32_t member, int32_t kernel,
               const void *args, int64_t places)
{
    struct gpu_member *self = &gpu->member[member];
    int64_t blocks = (places + BLOCK - 1) / BLOCK;
    void *parameters[] = { (void *)(uintptr_t)args };
    /* The driver takes a kernel of a library where it takes a function. */
    CUfunction function = (CUfunction)(void *)gpu->kernels[kernel];
    CUcontext before;

    if (places <= 0)
        return 1;
    if (!enter(gpu, member, &before))
        return 0;
    int well = check(gpu, member,
                     gpu->driver.launch(
                         function,
                         (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX),
                         1, 1, BLOCK, 1, 1, 0, self->stream, parameters, NULL),
                     hdpw_kernels[kernel].name);
    leave(gpu, member, before);
    return well;
}

static cudaDataType type_of(int32_t dtype)
{
    return dtype == HDP_F16    ? CUDA_R_16F
           : dtype == HDP_BF16 ? CUDA_R_16BF
                               : CUDA_R_32F;
}

/* Column-major c' = op(b)' op(a)' is the same memory. */
int gpu_multiply(struct gpu *gpu, int32_t member,
                 const struct gpu_product *product)
{
    struct gpu_member *self = &gpu->member[member];
    cudaDataType type = type_of(product->dtype);
    cublasComputeType_t compute = product->dtype == HDP_TF32
                                      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F;
    cudaDataType type_c = product->rounded ? type : CUDA_R_32F;
    cublasStatus_t status;
    CUcontext before;

    if (product->m == 0 || product->n == 0)
        return 1;
    if (!enter(gpu, member, &before))
        return 0;
    status = gpu->blas.gemm(
        self->blas, product->transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        product->transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N, product->n,
        product->m, product->k, &product->alpha, product->b, type, product->ldb,
        product->a, type, product->lda, &product->beta, product->c, type_c,
        product->ldc, compute, CUBLAS_GEMM_DEFAULT);
    leave(gpu, member, before);
    if (status == CUBLAS_STATUS_SUCCESS)
        return 1;
    snprintf(self->reason, sizeof self->reason,
             "member %d: cublasGemmEx: status %d", (int)member, (int)status);
    return 0;
}

int gpu_wait(struct gpu *gpu, int32_t member)
{
    CUcontext before;

    if (!enter(gpu, member, &before))
        return 0;
    int well = check(gpu, member, gpu->driver.wait(gpu->member[member].stream),
                     "cuStreamSynchronize");
    leave(gpu, member, before);
    return well;
}

/* ---- life ---------------------------------------------------------------- */

static int32_t meet(const hdp_shard *shard, void *user)
{
    struct gpu *gpu = user;
    struct gpu_member *self = &gpu->member[shard->member];
    void *blas = NULL;

    if (shard->flags & HDP_SHARD_PROBE)
        return 0;
    self->stream = shard->stream;
    if (!check(gpu, shard->member, gpu->driver.context_get(&self->context),
               "cuCtxGetCurrent"))
        return gpu_give_up(gpu, shard);
    hdp_status status = gpu->products ? hdp_shard_blas(&blas, shard) : HDP_OK;
    if (status != HDP_OK) {
        hdp_shard_fail(shard, status, 0, hdp_last_error());
        return 1;
    }
    self->blas = blas;
    return 0;
}

static int32_t pass(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

/* What the step's report says of the members' memory. */
static void look_at_memory(struct gpu *gpu, const hdp_report *report)
{
    hdp_report_info info;

    hdp_options_init(&info, sizeof info);
    if (hdp_report_get(&info, report) != HDP_OK || !info.free_bytes)
        return;
    for (int32_t m = 0; m < gpu->members; ++m)
        if (info.free_bytes[m] > 0)
            gpu->member[m].free_bytes = info.free_bytes[m];
}

static hdp_status meet_all(struct gpu *gpu, hdp_group *group, char *reason)
{
    int64_t *items = calloc((size_t)gpu->members, sizeof *items);
    hdp_plan *plan = NULL;
    hdp_report *report = NULL;
    hdp_work work;

    if (!items)
        return HDP_ERR_MEMORY;
    for (int32_t m = 0; m < gpu->members; ++m)
        items[m] = 1;
    hdp_options_init(&work, sizeof work);
    work.host = pass;
    work.cuda = meet;
    work.user = gpu;
    hdp_status status = hdp_plan_create(&plan, items, gpu->members);
    if (status == HDP_OK)
        status = hdp_run(&report, group, plan, &work);
    if (status != HDP_OK)
        snprintf(reason, GPU_REASON, "%s", hdp_last_error());
    else
        look_at_memory(gpu, report);
    hdp_report_destroy(report);
    hdp_plan_destroy(plan);
    free(items);
    return status;
}

/* Loaded once, for all devices; the driver makes each one's code when a kernel
 * is first launched there. */
static int load_kernels(struct gpu *gpu, int32_t m,
                        const struct gpu_image *image)
{
    CUcontext before;

    if (!enter(gpu, m, &before))
        return 0;
    int well = check(gpu, m,
                     gpu->driver.load(&gpu->image, image->data, NULL, NULL, 0,
                                      NULL, NULL, 0),
                     "cuLibraryLoadData");
    for (int k = 0; well && k < HDPW_KERNELS; ++k)
        well = check(gpu, m,
                     gpu->driver.kernel(&gpu->kernels[k], gpu->image,
                                        hdpw_kernels[k].name),
                     hdpw_kernels[k].name);
    leave(gpu, m, before);
    return well;
}

static hdp_status load_image(struct gpu *gpu, const struct gpu_image *image,
                             char *reason)
{
    int32_t m = 0;

    while (!gpu->member[m].is_gpu)
        ++m;
    if (image->bytes == 0) {
        snprintf(reason, GPU_REASON, "this build has no kernels for GPUs");
        return HDP_ERR_UNSUPPORTED;
    }
    if (load_kernels(gpu, m, image))
        return HDP_OK;
    snprintf(reason, GPU_REASON, "%s", gpu->member[m].reason);
    return HDP_ERR_DEVICE;
}

static hdp_status load_all(struct gpu *gpu, const struct gpu_spec *spec,
                           char *reason)
{
    if (!gpu_load_driver(&gpu->driver, spec->driver_path, reason))
        return HDP_ERR_NOT_FOUND;
    hdp_status status = meet_all(gpu, spec->group, reason);
    /* Only now is the library's cuBLAS in the process. */
    if (status == HDP_OK && spec->products &&
        !gpu_load_blas(&gpu->blas, spec->cublas_path, reason))
        status = HDP_ERR_NOT_FOUND;
    return status == HDP_OK ? load_image(gpu, &spec->image, reason) : status;
}

/* After a deadline a member may be inside the function still; 0: it stays. */
static int everybody_left(hdp_group *group)
{
    hdp_error error;

    hdp_options_init(&error, sizeof error);
    return hdp_group_health(&error, group) == HDP_OK ||
           hdp_group_abort(group) == HDP_OK;
}

hdp_status gpu_open(struct gpu **out, const struct gpu_spec *spec, char *reason)
{
    size_t members = (size_t)spec->members;
    struct gpu *gpu = calloc(1, sizeof *gpu + members * sizeof *gpu->member);
    int any = 0;

    *out = NULL;
    reason[0] = '\0';
    if (!gpu) {
        snprintf(reason, GPU_REASON, "out of memory");
        return HDP_ERR_MEMORY;
    }
    gpu->members = spec->members;
    gpu->products = spec->products;
    for (size_t m = 0; m < members; ++m)
        any |= gpu->member[m].is_gpu = spec->devices[m].kind == HDP_CUDA;
    hdp_status status = any ? load_all(gpu, spec, reason) : HDP_OK;
    if (status == HDP_OK && any)
        *out = gpu;
    else if (everybody_left(spec->group))
        gpu_close(gpu);
    return status;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    if (gpu->image)
        gpu->driver.unload(gpu->image);
    free(gpu);
}
