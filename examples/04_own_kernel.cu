/* A kernel of one's own on every GPU of this machine, however unequal: each gets
 * as many rows as it can do in the time, works on the library's stream, and the
 * mean over all rows arrives on each of them.
 *
 *   nvcc 04_own_kernel.cu -lhdp -o 04_own_kernel */
#include <cmath>
#include <cstdio>
#include <vector>

#include <hdp/cuda.h>
#include <hdp/hdp.h>

enum { WIDTH = 1024, ROWS = 20000 };

/* A block a row. Adds the row's part of the mean of these rows. */
__global__ void scale_rows(float *out, const float *in, double *mean)
{
    size_t row = (size_t)blockIdx.x * WIDTH;
    float sum = 0;

    for (int j = threadIdx.x; j < WIDTH; j += blockDim.x) {
        out[row + j] = 2 * in[row + j];
        sum += out[row + j];
    }
    atomicAdd(mean, (double)sum / WIDTH / gridDim.x);
}

/* Called for each GPU with its rows, which lie in its memory; the device is
 * current. Enqueues and returns. */
static int32_t work(const hdp_shard *shard, void *user)
{
    double *mean = ((double **)user)[shard->member];
    cudaStream_t stream = hdp_cuda_stream(shard);

    cudaMemsetAsync(mean, 0, sizeof *mean, stream);
    scale_rows<<<(unsigned)shard->items, 256, 0, stream>>>(
        (float *)shard->outputs[0].data, (const float *)shard->inputs[0].data,
        mean);
    if (cudaGetLastError() != cudaSuccess)
        return 1;
    return hdp_shard_all_reduce(shard, 0);
}

static hdp_status run(hdp_executor *executor)
{
    std::vector<float> in((size_t)ROWS * WIDTH), out(in.size());
    hdp_array source = HDP_ARRAY_INIT, target = HDP_ARRAY_INIT;
    hdp_buffers bucket = HDP_BUFFERS_INIT;
    hdp_work job = HDP_WORK_INIT;
    hdp_group_info group = { sizeof group };
    const int64_t one = 1;
    double result = 0;

    hdp_group_get(&group, hdp_executor_group(executor));
    std::vector<double *> mean((size_t)group.member_count);
    for (int m = 0; m < group.member_count; ++m) {
        hdp_device device = { sizeof device };
        hdp_group_device(&device, hdp_executor_group(executor), m);
        cudaSetDevice(device.logical_id);
        cudaMalloc(&mean[m], sizeof *mean[m]);
    }
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = (float)(i / WIDTH % 100); /* 49.5 on average */
    source.data = in.data();
    target.data = out.data();
    source.row_bytes = target.row_bytes = WIDTH * sizeof(float);
    bucket.dtype = HDP_F64; /* the mean, weighted by everybody's rows */
    bucket.tensor_count = 1;
    bucket.elements = &one;
    bucket.recv = (void *const *)mean.data();
    job.cuda = work;
    job.user = mean.data();
    job.inputs = &source;
    job.outputs = &target;
    job.buckets = &bucket;
    job.input_count = job.output_count = job.bucket_count = 1;

    hdp_status status = HDP_OK;
    for (int step = 0; step < 10 && status == HDP_OK; ++step)
        status = hdp_executor_run(nullptr, executor, ROWS, &job);
    if (status == HDP_OK)
        cudaMemcpy(&result, mean[0], sizeof result, cudaMemcpyDefault);
    printf("%d GPUs, %d rows, mean %.2f\n", (int)group.member_count, ROWS,
           result);
    for (double *memory : mean)
        cudaFree(memory);
    return status != HDP_OK || fabs(result - 99) < 1e-6 ? status
                                                        : HDP_ERR_INTERNAL;
}

int main()
{
    hdp_context *context = nullptr;
    hdp_executor *executor = nullptr;
    hdp_calibrate_options calibrate = HDP_CALIBRATE_OPTIONS_INIT;
    hdp_executor_options options = HDP_EXECUTOR_OPTIONS_INIT;

    calibrate.probe = HDP_PROBE_COPY; /* memory bounds this kernel */
    options.calibrate = &calibrate;
    hdp_status status = hdp_context_create(&context, nullptr);
    if (status == HDP_OK)
        status = hdp_executor_create(&executor, context, "cuda:all", &options);
    if (status == HDP_OK)
        status = run(executor);
    if (status != HDP_OK)
        printf("%s\n", hdp_last_error());
    hdp_executor_destroy(executor);
    hdp_context_destroy(context);
    return status == HDP_ERR_NOT_FOUND ? 77 : status != HDP_OK;
}
