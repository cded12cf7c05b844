/* From nothing to steps on several devices: the executor measures them, splits
 * each batch and runs it. With a function for GPUs as well (04_own_kernel.cu)
 * the specification "auto" takes every GPU of the machine. */
#include <hdp/hdp.h>
#include <stdio.h>

enum { ROWS = 4096, COLUMNS = 64 };

static float x[ROWS][COLUMNS], y[ROWS][COLUMNS];

static int32_t twice(const hdp_shard *shard, void *user)
{
    const float *in = (const float *)shard->inputs[0].data;
    float *out = (float *)shard->outputs[0].data;
    int64_t i;

    (void)user;
    for (i = 0; i < shard->items * COLUMNS; ++i)
        out[i] = 2 * in[i];
    return 0;
}

static int wrong(void)
{
    int row, column;

    for (row = 0; row < ROWS; ++row)
        for (column = 0; column < COLUMNS; ++column)
            if (y[row][column] != 2 * x[row][column])
                return 1;
    return 0;
}

int main(void)
{
    hdp_context *context = NULL;
    hdp_executor *executor = NULL;
    hdp_array in = HDP_ARRAY_INIT, out = HDP_ARRAY_INIT;
    hdp_work work = HDP_WORK_INIT;
    hdp_status status;
    int step;

    for (step = 0; step < ROWS; ++step)
        x[step][step % COLUMNS] = (float)step;
    in.data = x;
    out.data = y;
    in.row_bytes = out.row_bytes = sizeof x[0];
    work.host = twice;
    work.inputs = &in;
    work.outputs = &out;
    work.input_count = work.output_count = 1;
    status = hdp_context_create(&context, NULL);
    if (!status)
        status = hdp_executor_create(&executor, context, "host:0-1", NULL);
    for (step = 0; !status && step < 10; ++step)
        status = hdp_executor_run(NULL, executor, ROWS, &work);
    if (status)
        fprintf(stderr, "%s: %s\n", hdp_status_string(status),
                hdp_last_error());
    hdp_executor_destroy(executor);
    hdp_context_destroy(context);
    if (!status && wrong())
        fprintf(stderr, "a row is wrong\n");
    else if (!status)
        printf("%d rows doubled, 10 times\n", ROWS);
    return status || wrong();
}
