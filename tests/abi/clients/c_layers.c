/* One process, n GPUs, own streams, backward layer by layer, a bucket a
 * layer. */
#include <hdp/cuda.h>
#include <stdio.h>
enum { LAYERS = 8, MAX = 8 };
extern cudaStream_t stream[MAX];
extern void
    *grads[LAYERS][MAX]; /* [layer][member], device pointers, in place */
extern int64_t elements[LAYERS];
extern void forward(int member, int64_t rows),
    backward(int member, int layer, int64_t rows), sgd(int member);
extern void send_rows(int member, int64_t first, int64_t rows);

int train(const int32_t *ids, int n, int64_t total, int steps)
{
    hdp_context *ctx = NULL;
    hdp_executor *ex = NULL;
    hdp_group *group = NULL;
    hdp_group_options go;
    hdp_buffers b;
    void *lent[MAX];
    int64_t compute_ns[MAX];
    hdp_status st;
    int i, l, s;
    for (i = 0; i < n; ++i)
        lent[i] = stream[i];
    hdp_options_init(&go, sizeof go);
    go.streams = lent;
    go.threads = HDP_THREADS_CALLER;
    if ((st = hdp_context_create(&ctx, NULL)) ||
        (st = hdp_group_create(&group, ctx, ids, n, &go)) ||
        (st = hdp_executor_create_on(&ex, group, NULL)))
        goto out;
    for (s = 0; s < steps; ++s) {
        hdp_plan *plan = NULL;
        hdp_plan_info p;
        uint64_t step = 0;
        hdp_options_init(&p, sizeof p);
        if ((st = hdp_executor_plan(&plan, ex, total)) ||
            (st = hdp_plan_get(&p, plan)))
            goto out;
        for (i = 0; i < n; ++i)
            if (p.items[i]) {
                cudaSetDevice(ids[i]);
                send_rows(i, p.offsets[i], p.items[i]);
                forward(i, p.items[i]);
            }
        for (l = LAYERS - 1; l >= 0; --l) {
            for (i = 0; i < n; ++i)
                if (p.items[i]) {
                    cudaSetDevice(ids[i]);
                    backward(i, l, p.items[i]);
                }
            hdp_options_init(&b, sizeof b);
            b.dtype = HDP_F32;
            b.tensor_count = 1;
            b.elements = &elements[l];
            b.recv = grads[l];
            if ((st = hdp_all_reduce_async(&step, group, plan, &b)))
                goto out; /* runs under layer l - 1 */
        }
        for (i = 0; i < n; ++i) {
            if ((st = hdp_group_order(group, step, i, stream[i])))
                goto out; /* every member, also an empty one */
            cudaSetDevice(ids[i]);
            sgd(i);
        }
        if ((st = hdp_group_wait(NULL, group, step)))
            goto out;
        for (i = 0; i < n; ++i)
            compute_ns[i] = -1; /* own events go here; -1: not measured */
        if ((st = hdp_executor_observe(ex, p.items, compute_ns)))
            goto out;
        hdp_plan_destroy(plan);
    }
out:
    if (st)
        fprintf(stderr, "hdp: %s: %s\n", hdp_status_string(st),
                hdp_last_error());
    hdp_executor_destroy(ex);
    hdp_group_destroy(group);
    hdp_context_destroy(ctx);
    return st;
}

/* The same with the library's threads: one function a member, buckets named up
 * front. */
static int32_t member_step(const hdp_shard *sh, void *user)
{
    int l;
    (void)user;
    if (sh->items)
        forward(sh->member, sh->items);
    for (l = LAYERS - 1; l >= 0; --l) {
        if (sh->items)
            backward(sh->member, l, sh->items);
        if (hdp_shard_all_reduce(sh, l))
            return 1;
    }
    if (hdp_shard_join(sh))
        return 1;
    /* Without EMPTY_TOO an empty member would miss this, its replica go stale */
    sgd(sh->member);
    return 0;
}
hdp_status train_with_threads(hdp_executor *ex, const hdp_buffers *buckets,
                              int64_t total, int steps)
{
    hdp_work w;
    hdp_status st = HDP_OK;
    hdp_options_init(&w, sizeof w);
    w.cuda = member_step;
    w.buckets = buckets;
    w.bucket_count = LAYERS;
    w.flags = HDP_WORK_EMPTY_TOO;
    while (!st && steps--)
        st = hdp_executor_run(NULL, ex, total, &w);
    return st;
}
