/* Inference engine: own threads, streams and cuBLAS handles; wants shares and a
 * queue. */
#include <hdp/hdp.h>
typedef struct {
    int64_t tokens;
    void *payload;
} Request;
extern void engine_enqueue(int32_t replica, const Request *r,
                           uint64_t ticket); /* own stream, own handle */
extern void engine_set_rows(int32_t replica, int64_t first, int64_t rows);

static hdp_balancer *balancer;

hdp_status engine_start(const int32_t *ids, int32_t n, const char *cache)
{
    hdp_context *ctx = NULL;
    hdp_group *group = NULL;
    hdp_profile *profile = NULL;
    hdp_group_options go;
    hdp_calibrate_options co;
    hdp_status st;
    hdp_options_init(&go, sizeof go);
    hdp_options_init(&co, sizeof co);
    go.comm = HDP_COMM_NONE;
    go.threads = HDP_THREADS_MEMBER;
    co.dtype = HDP_BF16;
    co.cache = cache;
    if (!(st = hdp_context_create(&ctx, NULL)) &&
        !(st = hdp_group_create(&group, ctx, ids, n, &go)) &&
        !(st = hdp_calibrate(&profile, group, &co)))
        st = hdp_balancer_create(&balancer, profile, NULL);
    hdp_profile_destroy(profile);
    hdp_group_destroy(
        group); /* streams, threads, handles of the library are gone */
    hdp_context_destroy(ctx);
    return st;
}

hdp_status engine_big_batch(int64_t total, int32_t n) /* shares */
{
    hdp_plan *plan = NULL;
    hdp_plan_info p;
    int32_t i;
    hdp_status st = hdp_balancer_plan(&plan, balancer, total);
    if (st)
        return st;
    hdp_options_init(&p, sizeof p);
    hdp_plan_get(&p, plan);
    for (i = 0; i < n; ++i)
        if (p.items[i])
            engine_set_rows(i, p.offsets[i], p.items[i]);
    hdp_plan_destroy(plan);
    return HDP_OK;
}

hdp_status engine_request(const Request *r) /* dynamic queue, any thread */
{
    int32_t replica;
    uint64_t ticket;
    hdp_status st = hdp_balancer_place(&replica, &ticket, balancer, r->tokens);
    if (!st)
        engine_enqueue(replica, r, ticket);
    return st;
}
void engine_finished(uint64_t ticket, int64_t elapsed_ns)
{
    hdp_balancer_done(balancer, ticket, elapsed_ns);
}
