/* A GPU that falls to half its speed in the middle of a job gets half the rows
 * within ten steps, by an executor that nobody told (FAULTS F22). */
#define HDP_WITH_CUBLAS_TYPES
#include <hdp/cuda.h>
#include "measured.h"

enum { ROWS = 12000, WIDTH = 2048, STEPS_BEFORE = 12, STEPS_AFTER = 10 };

struct buffers {
    void *square[2], *in[2], *out[2];
};

static int32_t multiply(const hdp_shard *shard, void *user)
{
    struct buffers *own = user;
    const float one = 1, zero = 0;
    int m = shard->member;
    cublasHandle_t handle;

    if (shard->items == 0)
        return 0;
    if (hdp_cuda_blas(shard, &handle) != HDP_OK)
        return 1;
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, WIDTH,
                        (int)shard->items, WIDTH, &one, own->square[m],
                        CUDA_R_32F, WIDTH, own->in[m], CUDA_R_32F, WIDTH, &zero,
                        own->out[m], CUDA_R_32F, WIDTH, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS
               ? 0
               : 2;
}

static void take_buffers(struct buffers *own)
{
    const size_t square = sizeof(float) * WIDTH * WIDTH;
    const size_t rows = sizeof(float) * WIDTH * ROWS;

    for (int m = 0; m < 2; ++m) {
        assert_int_equal(cudaSetDevice(m), cudaSuccess);
        assert_int_equal(cudaMalloc(&own->square[m], square), cudaSuccess);
        assert_int_equal(cudaMalloc(&own->in[m], rows), cudaSuccess);
        assert_int_equal(cudaMalloc(&own->out[m], rows), cudaSuccess);
    }
}

static void give_buffers(struct buffers *own)
{
    for (int m = 0; m < 2; ++m) {
        assert_int_equal(cudaFree(own->square[m]), cudaSuccess);
        assert_int_equal(cudaFree(own->in[m]), cudaSuccess);
        assert_int_equal(cudaFree(own->out[m]), cudaSuccess);
    }
}

static int64_t rows_of(hdp_executor *executor, int member)
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_plan *plan = NULL;
    int64_t rows;

    expect_ok(hdp_executor_plan(&plan, executor, ROWS));
    expect_ok(hdp_plan_get(&info, plan));
    rows = info.items[member];
    hdp_plan_destroy(plan);
    return rows;
}

static void expect_rows(int64_t want, int64_t got, const char *when)
{
    if (got < want * 97 / 100 || got > want * 103 / 100)
        fail_msg("%s: expected %lld rows within 3 %%, got %lld", when,
                 (long long)want, (long long)got);
}

static void half_the_speed_gets_half_the_rows(void **state)
{
    struct buffers buffers;
    hdp_work work = { .size = sizeof work, .cuda = multiply, .user = &buffers };
    const hdp_model models[] = { { .size = sizeof *models, .item_ns = 1 },
                                 { .size = sizeof *models, .item_ns = 1 } };
    hdp_executor_options options = { .size = sizeof options };
    hdp_profile *profile = NULL;
    hdp_executor *executor = NULL;
    struct measured own;

    (void)state;
    /* its 13th product: no calibration has any */
    measured_open(&own, "machine=twin keys=1:slow=2x@13", "cuda:0,1");
    take_buffers(&buffers);
    expect_ok(hdp_profile_create(&profile, models, 2));
    options.profile = profile;
    expect_ok(hdp_executor_create_on(&executor, own.group, &options));
    for (int i = 0; i < STEPS_BEFORE; ++i)
        expect_ok(hdp_executor_run(NULL, executor, ROWS, &work));
    expect_rows(ROWS / 2, rows_of(executor, 1), "equal devices");
    for (int i = 0; i < STEPS_AFTER; ++i)
        expect_ok(hdp_executor_run(NULL, executor, ROWS, &work));
    expect_rows(ROWS / 3, rows_of(executor, 1), "one at half speed");
    hdp_executor_destroy(executor);
    hdp_profile_destroy(profile);
    give_buffers(&buffers);
    measured_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_the_speed_gets_half_the_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
