/* Products: checked as cuBLAS checks them, timed by the machine file, computed
 * for real where that is quick. */
#include <stdlib.h>
#include <string.h>
#include "cublas.h"
#include "product.h"
#include "rates.h"

/* Multiplications; more is filled. What programs check is narrow, and may be
 * long: two sides of NARROW at most. Others may read so many elements. */
static const int64_t real_most = 1 << 24, real_narrow = 1 << 28;
static const int64_t real_read = 1 << 22;
enum { NARROW = 256 };

/* One call as it was made, of any of the functions. */
struct call {
    cublasHandle_t handle;
    cublasOperation_t op_a, op_b;
    cudaDataType type_a, type_b, type_c;
    cublasComputeType_t compute;
    const void *alpha, *beta;
    struct fake_product product; /* all but types, alpha and beta */
};

/* What a call's work carries. */
struct job {
    struct fake_product product;
    struct fake_device *device;
};

/* ---- types ---------------------------------------------------------------- */

/* What pairs of types there are, and how the machine file calls them. */
static const struct combination {
    cublasComputeType_t compute;
    cudaDataType type_ab, type_c;
    enum fake_type ab, c, sum;
    int dtype, hdp_compute;
} combinations[] = {
    { CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, FAKE_F16, FAKE_F16, FAKE_F16,
      HDP_F16, HDP_F16 },
    { CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, FAKE_F16, FAKE_F16,
      FAKE_F16, HDP_F16, HDP_F16 },
    { CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F, FAKE_F16, FAKE_F16, FAKE_F32,
      HDP_F16, HDP_F32 },
    { CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F, FAKE_F16, FAKE_F32, FAKE_F32,
      HDP_F16, HDP_F32 },
    { CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, FAKE_BF16, FAKE_BF16,
      FAKE_F32, HDP_BF16, HDP_F32 },
    { CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, FAKE_BF16, FAKE_F32,
      FAKE_F32, HDP_BF16, HDP_F32 },
    { CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, FAKE_F32, FAKE_F32, FAKE_F32,
      HDP_F32, HDP_F32 },
    { CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_32F, FAKE_F32, FAKE_F32,
      FAKE_F32, HDP_F32, HDP_F32 },
    { CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, FAKE_TF32, FAKE_F32,
      FAKE_F32, HDP_TF32, HDP_TF32 },
    { CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, FAKE_F64, FAKE_F64, FAKE_F64,
      HDP_F64, HDP_F64 },
    { CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F, CUDA_R_64F, FAKE_F64, FAKE_F64,
      FAKE_F64, HDP_F64, HDP_F64 },
    { CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I, FAKE_I8, FAKE_I32, FAKE_I32,
      HDP_I8, HDP_I32 },
};

static const struct combination *find(const struct call *call)
{
    cublasComputeType_t compute = call->compute;

    /* the handle's mode asks for it; where it is absent, nothing happens */
    if (compute == CUBLAS_COMPUTE_32F && call->type_a == CUDA_R_32F &&
        (call->handle->math & 0xf) == CUBLAS_TF32_TENSOR_OP_MATH &&
        fake_can(call->handle->handle.device, HDP_TF32))
        compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; ++i) {
        const struct combination *row = &combinations[i];
        if (row->compute == compute && row->type_ab == call->type_a &&
            row->type_ab == call->type_b && row->type_c == call->type_c)
            return row;
    }
    return NULL;
}

/* ---- checks --------------------------------------------------------------- */

static int is_op(cublasOperation_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static cublasStatus_t check(const struct call *call)
{
    const struct fake_product *p = &call->product;
    int64_t rows_a = call->op_a == CUBLAS_OP_N ? p->m : p->k;
    int64_t rows_b = call->op_b == CUBLAS_OP_N ? p->k : p->n;

    if (!fake_blas_is(call->handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_op(call->op_a) || !is_op(call->op_b) || p->m < 0 || p->n < 0 ||
        p->k < 0 || p->batch < 0 || !call->alpha || !call->beta ||
        p->lda < (rows_a > 1 ? rows_a : 1) ||
        p->ldb < (rows_b > 1 ? rows_b : 1) || p->ldc < (p->m > 1 ? p->m : 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- work ----------------------------------------------------------------- */

/* The bytes of a matrix, all of the batch; NULL: an illegal address. */
static void *reach(const struct job *job, const void *base, enum fake_type type,
                   int64_t rows, int64_t columns, int64_t ld, int64_t stride)
{
    int64_t extent = fake_product_extent(rows, columns, ld);
    int64_t elements = (job->product.batch - 1) * stride + extent;
    void *found;

    fake_lock();
    found = fake_bytes(job->device, base,
                       (size_t)(elements * fake_type_bytes(type)));
    if (!found)
        fake_poison(cudaErrorIllegalAddress);
    fake_unlock();
    return found;
}

static int is_real(const struct fake_product *product)
{
    double k = (double)(product->k > 0 ? product->k : 1);
    double m = (double)product->m, n = (double)product->n;
    double count = m * n * k * (double)product->batch;
    double reads = (m + n) * k * (double)product->batch;
    int narrow = (product->m <= NARROW) + (product->n <= NARROW) +
                     (product->k <= NARROW) >=
                 2;

    if (narrow)
        return count <= (double)real_narrow;
    return count <= (double)real_most && reads <= (double)real_read;
}

static void run(void *data)
{
    const struct job *job = data;
    struct fake_product product = job->product;
    int turn_a = product.transpose_a, turn_b = product.transpose_b;

    product.c = reach(job, product.c, product.type_c, product.m, product.n,
                      product.ldc, product.stride_c);
    if (product.k > 0) {
        product.a = reach(
            job, product.a, product.type_a, turn_a ? product.k : product.m,
            turn_a ? product.m : product.k, product.lda, product.stride_a);
        product.b = reach(
            job, product.b, product.type_b, turn_b ? product.n : product.k,
            turn_b ? product.k : product.n, product.ldb, product.stride_b);
    }
    if (!product.c || (product.k > 0 && (!product.a || !product.b)))
        return;
    if (is_real(&product))
        fake_product_run(&product);
    else
        fake_product_fill(&product);
}

static CUstream stream_of(const struct call *call)
{
    CUstream stream = fake_stream_of(call->handle->stream);
    const struct fake_device *device = call->handle->handle.device;

    if (fake_current_device() != device)
        fake_break("a cuBLAS handle of device %d is used while device %d is "
                   "current",
                   device->number, fake_current_device()->number);
    if (!stream)
        fake_break("a cuBLAS handle is used whose stream has ended");
    return stream;
}

static cublasStatus_t enqueue(const struct call *call,
                              const struct combination *types)
{
    struct fake_device *device = call->handle->handle.device;
    const struct fake_product *p = &call->product;
    struct job job = { *p, device };
    struct fake_work work = { .kind = FAKE_WORK_KERNEL,
                              .name = "cublasGemmEx",
                              .effect = run,
                              .argument = &job,
                              .argument_bytes = sizeof job,
                              .uses = { p->c, p->a, p->b },
                              .use_count = p->k > 0 ? 3 : 1 };
    CUstream stream = stream_of(call);
    double flops =
        2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;

    if (!stream)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    job.product.transpose_a = call->op_a != CUBLAS_OP_N;
    job.product.transpose_b = call->op_b != CUBLAS_OP_N;
    job.product.type_a = job.product.type_b = types->ab;
    job.product.type_c = types->c;
    job.product.sum = types->sum;
    job.product.alpha = fake_type_read(types->sum, call->alpha, 0);
    job.product.beta = fake_type_read(types->sum, call->beta, 0);
    work.cost_ns =
        fake_product_ns(device, types->dtype, types->hdp_compute, flops,
                        stream->sms, call->handle->sm_target) /
            device->share +
        fake_first_product(device);
    return fake_enqueue(stream, &work) == 0 ? CUBLAS_STATUS_SUCCESS
                                            : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* The lock is held. */
static cublasStatus_t multiply(const struct call *call)
{
    const struct combination *types;
    cublasStatus_t status = check(call);

    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    types = find(call);
    if (!types)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!fake_can(call->handle->handle.device, types->dtype))
        return types->dtype == HDP_TF32 ? CUBLAS_STATUS_ARCH_MISMATCH
                                        : CUBLAS_STATUS_NOT_SUPPORTED;
    if (call->product.m == 0 || call->product.n == 0 ||
        call->product.batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    return enqueue(call, types);
}

/* ---- the functions -------------------------------------------------------- */

FAKE_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
    int m, int n, int k, const void *alpha, const void *a, cudaDataType type_a,
    int lda, long long stride_a, const void *b, cudaDataType type_b, int ldb,
    long long stride_b, const void *beta, void *c, cudaDataType type_c, int ldc,
    long long stride_c, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm)
{
    struct call call = { handle,
                         op_a,
                         op_b,
                         type_a,
                         type_b,
                         type_c,
                         compute,
                         alpha,
                         beta,
                         { .m = m,
                           .n = n,
                           .k = k,
                           .batch = batch,
                           .a = a,
                           .b = b,
                           .c = c,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = ldc,
                           .stride_a = stride_a,
                           .stride_b = stride_b,
                           .stride_c = stride_c } };

    (void)algorithm;
    CUBLAS_ENTER("cublasGemmStridedBatchedEx", CUBLAS_STATUS_EXECUTION_FAILED,
                 FAKE_CONTEXT);
    CUBLAS_LEAVE(multiply(&call));
}

FAKE_API cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
    int m, int n, int k, const void *alpha, const void *a, cudaDataType type_a,
    int lda, const void *b, cudaDataType type_b, int ldb, const void *beta,
    void *c, cudaDataType type_c, int ldc, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm)
{
    struct call call = { handle,
                         op_a,
                         op_b,
                         type_a,
                         type_b,
                         type_c,
                         compute,
                         alpha,
                         beta,
                         { .m = m,
                           .n = n,
                           .k = k,
                           .batch = 1,
                           .a = a,
                           .b = b,
                           .c = c,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = ldc } };

    (void)algorithm;
    CUBLAS_ENTER("cublasGemmEx", CUBLAS_STATUS_EXECUTION_FAILED, FAKE_CONTEXT);
    CUBLAS_LEAVE(multiply(&call));
}

/* A product whose matrices and sums are of one type. */
static cublasStatus_t multiply_alike(const char *function, struct call *call,
                                     cudaDataType type,
                                     cublasComputeType_t compute)
{
    call->type_a = call->type_b = call->type_c = type;
    call->compute = compute;
    CUBLAS_ENTER(function, CUBLAS_STATUS_EXECUTION_FAILED, FAKE_CONTEXT);
    CUBLAS_LEAVE(multiply(call));
}

FAKE_API cublasStatus_t cublasSgemm_v2(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
    int m, int n, int k, const float *alpha, const float *a, int lda,
    const float *b, int ldb, const float *beta, float *c, int ldc)
{
    struct call call = { .handle = handle,
                         .op_a = op_a,
                         .op_b = op_b,
                         .alpha = alpha,
                         .beta = beta,
                         .product = { .m = m,
                                      .n = n,
                                      .k = k,
                                      .batch = 1,
                                      .a = a,
                                      .b = b,
                                      .c = c,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldc = ldc } };

    return multiply_alike("cublasSgemm", &call, CUDA_R_32F, CUBLAS_COMPUTE_32F);
}

FAKE_API cublasStatus_t cublasDgemm_v2(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
    int m, int n, int k, const double *alpha, const double *a, int lda,
    const double *b, int ldb, const double *beta, double *c, int ldc)
{
    struct call call = { .handle = handle,
                         .op_a = op_a,
                         .op_b = op_b,
                         .alpha = alpha,
                         .beta = beta,
                         .product = { .m = m,
                                      .n = n,
                                      .k = k,
                                      .batch = 1,
                                      .a = a,
                                      .b = b,
                                      .c = c,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldc = ldc } };

    return multiply_alike("cublasDgemm", &call, CUDA_R_64F, CUBLAS_COMPUTE_64F);
}
