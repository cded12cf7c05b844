/* One batch on two members of the host: rows are squared where they are, and
 * a weighted mean over all rows is reduced inside the function. */
#include <hdp/hdp.h>
#include <stdio.h>

enum { ROWS = 1000, MEMBERS = 2 };

static double x[ROWS], y[ROWS];
static double mean[MEMBERS]; /* each member's own, then everybody's */

/* Called once a member that has rows, on that member's thread. */
static int32_t square(const hdp_shard *shard, void *user)
{
    const double *in = (const double *)shard->inputs[0].data;
    double *out = (double *)shard->outputs[0].data;
    double sum = 0;
    int64_t i;

    (void)user;
    for (i = 0; i < shard->items; ++i) {
        out[i] = in[i] * in[i];
        sum += out[i];
    }
    mean[shard->member] = sum / (double)shard->items;
    return hdp_shard_all_reduce(shard, 0) ? 1 : 0;
}

static void describe(hdp_work *work, hdp_array *in, hdp_array *out,
                     hdp_buffers *bucket)
{
    static const int64_t elements = 1;
    static void *recv[MEMBERS] = { &mean[0], &mean[1] };

    hdp_options_init(in, sizeof *in);
    in->data = x;
    in->row_bytes = sizeof x[0];
    hdp_options_init(out, sizeof *out);
    out->data = y;
    out->row_bytes = sizeof y[0];
    hdp_options_init(bucket, sizeof *bucket); /* op 0 is the weighted mean */
    bucket->dtype = HDP_F64;
    bucket->tensor_count = 1;
    bucket->elements = &elements;
    bucket->recv = recv;
    hdp_options_init(work, sizeof *work);
    work->host = square;
    work->inputs = in;
    work->outputs = out;
    work->buckets = bucket;
    work->input_count = work->output_count = work->bucket_count = 1;
}

int main(void)
{
    static const int64_t shares[MEMBERS] = { 750, 250 };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    hdp_plan *plan = NULL;
    hdp_work work;
    hdp_array in, out;
    hdp_buffers bucket;
    hdp_status status;
    int i;

    for (i = 0; i < ROWS; ++i)
        x[i] = i;
    describe(&work, &in, &out, &bucket);
    status = hdp_context_create(&context, NULL);
    if (!status)
        status =
            hdp_group_create_spec(&group, context, "host:0-1/threads=1", NULL);
    if (!status)
        status = hdp_plan_create(&plan, shares, MEMBERS);
    if (!status)
        status = hdp_run(NULL, group, plan, &work);
    if (status)
        fprintf(stderr, "%s: %s\n", hdp_status_string(status),
                hdp_last_error());
    else
        printf("last row %.0f; mean of all rows %.1f and %.1f\n", y[ROWS - 1],
               mean[0], mean[1]);
    hdp_plan_destroy(plan);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    return status ? 1 : 0;
}
