#include <hdp/hdp.h>
int32_t twice_host(const hdp_shard *shard,
                   void *user); /* y = 2 x on shard->items rows, plain C */
int32_t twice_cuda(const hdp_shard *shard,
                   void *user); /* the same, a kernel on shard->stream */
static float x[4096][64], y[4096][64];

int main(void)
{
    hdp_context *ctx = NULL;
    hdp_executor *ex = NULL;
    hdp_array in = { sizeof in, x, NULL, sizeof x[0], 0, 0, 0, NULL };
    hdp_array out = { sizeof out, y, NULL, sizeof y[0], 0, 0, 0, NULL };
    hdp_work work;
    int step, bad;
    hdp_options_init(&work, sizeof work);
    work.host = twice_host;
    work.cuda = twice_cuda;
    work.inputs = &in;
    work.input_count = 1;
    work.outputs = &out;
    work.output_count = 1;
    bad = hdp_context_create(&ctx, NULL) ||
          hdp_executor_create(&ex, ctx, "auto", NULL);
    for (step = 0; !bad && step < 100; ++step)
        bad = hdp_executor_run(NULL, ex, 4096, &work);
    hdp_executor_destroy(ex);
    hdp_context_destroy(ctx);
    return bad;
}
