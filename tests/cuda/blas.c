/* The member's cuBLAS handle in a work function: set to its stream, the same at
 * every call, and products with it are right. And where the library comes from:
 * the file that was named, or an error that names what is wanted (F07). */
#include <dlfcn.h>
#define HDP_WITH_CUBLAS_TYPES
#include <hdp/cuda.h>
#include "measured.h"

enum { ROWS = 24, WIDTH = 16 };

/* The loader as seen by everybody in this process: cuBLAS can be hidden, though
 * the machine that runs the tests may have one. */
static int hidden; /* 1: by name; 2: by path as well */
static char looked_for[1024];

__attribute__((visibility("default"))) void *dlopen(const char *file,
                                                    int flags);

void *dlopen(const char *file, int flags)
{
    void *(*next)(const char *, int);
    void *symbol = dlsym(RTLD_NEXT, "dlopen");

    memcpy(&next, &symbol, sizeof next);
    if (file && strstr(file, "libcublas")) {
        (void)strncat(looked_for, file,
                      sizeof looked_for - strlen(looked_for) - 2);
        (void)strcat(looked_for, flags & RTLD_NOLOAD ? "? " : " ");
        if (hidden > 1 || (hidden && !strchr(file, '/')))
            return next("/nowhere/libcublas.so", flags);
    }
    return next(file, flags);
}

/* ---- products ------------------------------------------------------------- */

struct job {
    float square[WIDTH * WIDTH];
    float *device_square[2];
    cublasHandle_t handles[2];
    cublasStatus_t status[2];
    int target[2]; /* of SMs, as it was found; the function then sets its own */
};

/* Rows times a matrix of ones above and on the diagonal: running sums. */
static int32_t multiply(const hdp_shard *shard, void *user)
{
    struct job *job = user;
    const float one = 1, zero = 0;
    int m = shard->member;
    cublasHandle_t handle, again;
    cudaStream_t stream = NULL;

    if (hdp_cuda_blas(shard, &handle) != HDP_OK ||
        hdp_cuda_blas(shard, &again) != HDP_OK || handle != again)
        return 1;
    if (cublasGetStream(handle, &stream) != CUBLAS_STATUS_SUCCESS ||
        stream != hdp_cuda_stream(shard))
        return 2;
    job->handles[m] = handle;
    if (cublasGetSmCountTarget(handle, &job->target[m]) !=
            CUBLAS_STATUS_SUCCESS ||
        cublasSetSmCountTarget(handle, 8) != CUBLAS_STATUS_SUCCESS)
        return 6;
    if (!job->device_square[m] && cudaMalloc((void **)&job->device_square[m],
                                             sizeof job->square) != cudaSuccess)
        return 3;
    if (cudaMemcpyAsync(job->device_square[m], job->square, sizeof job->square,
                        cudaMemcpyDefault, stream) != cudaSuccess)
        return 4;
    job->status[m] = cublasGemmEx(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, WIDTH, (int)shard->items, WIDTH, &one,
        job->device_square[m], CUDA_R_32F, WIDTH, shard->inputs[0].data,
        CUDA_R_32F, WIDTH, &zero, shard->outputs[0].data, CUDA_R_32F, WIDTH,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return job->status[m] == CUBLAS_STATUS_SUCCESS ? 0 : 5;
}

static void run(struct measured *own, struct job *job)
{
    static float in[ROWS * WIDTH], out[ROWS * WIDTH];
    const int64_t items[] = { ROWS / 3, ROWS - ROWS / 3 };
    hdp_array input = { .size = sizeof input,
                        .data = in,
                        .row_bytes = WIDTH * sizeof *in };
    hdp_array output = { .size = sizeof output,
                         .data = out,
                         .row_bytes = WIDTH * sizeof *out };
    hdp_work work = { .size = sizeof work,
                      .cuda = multiply,
                      .user = job,
                      .inputs = &input,
                      .input_count = 1,
                      .outputs = &output,
                      .output_count = 1 };
    hdp_plan *plan = NULL;

    for (int i = 0; i < ROWS * WIDTH; ++i)
        in[i] = (float)(i / WIDTH + 1);
    for (int r = 0; r < WIDTH; ++r)
        for (int c = 0; c < WIDTH; ++c)
            job->square[r * WIDTH + c] = c >= r;
    expect_ok(hdp_plan_create(&plan, items, 2));
    expect_ok(hdp_run(NULL, own->group, plan, &work));
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < WIDTH; ++c)
            if (out[r * WIDTH + c] != (float)((r + 1) * (c + 1)))
                fail_msg("row %d, column %d: expected %d, got %g", r, c,
                         (r + 1) * (c + 1), (double)out[r * WIDTH + c]);
    hdp_plan_destroy(plan);
}

static void a_work_function_multiplies(void **state)
{
    struct measured own;
    struct job job = { .handles = { NULL } }, later = job;

    (void)state;
    measured_open(&own, "machine=twin", "cuda:all");
    run(&own, &job);
    later.device_square[0] = job.device_square[0];
    later.device_square[1] = job.device_square[1];
    run(&own, &later);
    for (int m = 0; m < 2; ++m) {
        assert_ptr_equal(job.handles[m], later.handles[m]);
        assert_int_equal(cudaFree(job.device_square[m]), cudaSuccess);
    }
    assert_int_equal(fake_calls("cublasCreate"), 2);
    measured_close(&own);
}

/* The end of a handle waits for the device, spoils captures there and costs; so
 * it comes with the context's, and the next group finds it. */
static void a_handle_outlives_its_group(void **state)
{
    static const char *const specs[] = { "cuda:0,1", "cuda:0+cuda:1/sms=48" };
    struct measured own;

    (void)state;
    for (int s = 0; s < 2; ++s) {
        measured_open(&own, "machine=twin", specs[s]);
        for (int round = 0; round < 3; ++round) {
            struct job job = { .handles = { NULL } };
            run(&own, &job);
            /* whatever the function of the group before has set */
            assert_int_equal(job.target[0], 0);
            assert_int_equal(job.target[1], s == 0 ? 0 : 48);
            for (int m = 0; m < 2; ++m)
                assert_int_equal(cudaFree(job.device_square[m]), cudaSuccess);
            hdp_group_destroy(own.group);
            expect_ok(
                hdp_group_create_spec(&own.group, own.context, specs[s], NULL));
        }
        assert_int_equal(fake_calls("cublasCreate"), 2);
        assert_int_equal(fake_calls("cublasDestroy"), 0);
        measured_close(&own); /* nothing is alive then */
        assert_int_equal(fake_calls("cublasDestroy"), 2);
    }
}

static void a_partition_is_told_its_size(void **state)
{
    struct measured own;

    (void)state;
    measured_open(&own, "machine=lab", "cuda:1/sms=48");
    hdp_profile_destroy(measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0));
    assert_true(fake_calls("cublasSetSmCountTarget") > 0);
    measured_close(&own);
    measured_open(&own, "machine=lab", "cuda:1");
    hdp_profile_destroy(measured_profile(&own, HDP_PROBE_GEMM, HDP_F32, 0));
    measured_close(&own);
}

/* ---- finding the library -------------------------------------------------- */

static hdp_status calibrate_with(const char *path)
{
    const hdp_context_options options = { .size = sizeof options,
                                          .cublas_path = path };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    hdp_profile *profile = NULL;
    hdp_status status;

    life_start("machine=twin");
    looked_for[0] = '\0';
    expect_ok(hdp_context_create(&context, &options));
    expect_ok(hdp_group_create_spec(&group, context, "cuda:0", NULL));
    status = hdp_calibrate(&profile, group, NULL);
    assert_null(status == HDP_OK ? NULL : profile);
    hdp_profile_destroy(profile);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    life_end("calibrated");
    return status;
}

static void expect_said(const char *part)
{
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"%s\" in: %s", part, hdp_last_error());
}

static void a_missing_library_is_named(void **state)
{
    (void)state;
    hidden = 2;
    expect_status(HDP_ERR_NOT_FOUND, calibrate_with(NULL));
    hidden = 0;
    expect_said("cuda:0");
    expect_said("libcublas.so.13");
    expect_said("libcublas.so.12");
    /* the copy in the process first, then what the loader finds */
    assert_memory_equal(looked_for, "libcublas.so.13? libcublas.so.12? ",
                        strlen("libcublas.so.13? libcublas.so.12? "));
    assert_non_null(strstr(looked_for, " libcublas.so.13 libcublas.so.12 "));
}

static void a_named_file_is_taken_or_refused(void **state)
{
    (void)state;
    expect_status(HDP_ERR_NOT_FOUND,
                  calibrate_with("/nowhere/libcublas.so.13"));
    expect_said("/nowhere/libcublas.so.13");
    expect_status(HDP_ERR_NOT_FOUND, calibrate_with("libm.so.6"));
    expect_said("libm.so.6");
    expect_said("cublasCreate_v2");
    expect_status(HDP_OK, calibrate_with(getenv("HDP_FAKE_CUDA")));
    assert_string_equal(looked_for, "");
}

/* A folder as Python has it: a module that the program has loaded, and cuBLAS
 * in a wheel beside it. The module is any library, under another name. */
static void make_python(char *out, size_t capacity, const char *module,
                        const char *wheel, const char *copy)
{
    static const char script[] =
        "set -e; d=$(mktemp -d /tmp/hdp-python-XXXXXX); mkdir -p $d/%s $d/%s; "
        "cp '%s' $d/%s/module.so; ln -s '%s' $d/%s/%s; printf %%s $d";
    char command[2048];
    Dl_info info;
    FILE *said;

    assert_true(dladdr(dlsym(RTLD_DEFAULT, "json_loads"), &info) != 0);
    (void)snprintf(command, sizeof command, script, module, wheel,
                   info.dli_fname, module, getenv("HDP_FAKE_CUDA"), wheel,
                   copy);
    said = popen(command, "r");
    assert_non_null(said);
    assert_non_null(fgets(out, (int)capacity, said));
    assert_int_equal(pclose(said), 0);
}

static void find_in_python(const char *module, const char *wheel,
                           const char *copy)
{
    char folder[128], path[512];
    void *loaded;

    make_python(folder, sizeof folder, module, wheel, copy);
    (void)snprintf(path, sizeof path, "%s/%s/module.so", folder, module);
    loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        fail_msg("%s", dlerror());
    hidden = 1;
    expect_status(HDP_OK, calibrate_with(NULL));
    hidden = 0;
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, wheel, copy);
    assert_non_null(strstr(looked_for, path));
    /* before the system's copy, which other packages of Python pass over */
    assert_null(strstr(looked_for, " libcublas.so.13 "));
    assert_null(strstr(looked_for, " libcublas.so.12 "));
    (void)dlclose(loaded);
    (void)snprintf(path, sizeof path, "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

static void wheels_of_python_are_looked_at(void **state)
{
    (void)state;
    find_in_python("venv/lib/python3/site-packages/pack",
                   "venv/lib/python3/site-packages/nvidia/cu13/lib",
                   "libcublas.so.13");
    find_in_python("lib/python3/lib-dynload",
                   "lib/python3/site-packages/nvidia/cublas/lib",
                   "libcublas.so.12");
    hidden = 1; /* gone with the modules */
    expect_status(HDP_ERR_NOT_FOUND, calibrate_with(NULL));
    hidden = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_work_function_multiplies),
        cmocka_unit_test(a_handle_outlives_its_group),
        cmocka_unit_test(a_partition_is_told_its_size),
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(a_named_file_is_taken_or_refused),
        cmocka_unit_test(wheels_of_python_are_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
