/* A net as a workload: a member computes its rows where they lie; each layer's
 * gradient is a bucket, said ready as backward gets there. Weights stay as they
 * are: moving them costs next to nothing, and so every step is the same. */
#include "net.h"

#include <stdlib.h>
#include <string.h>

#include "netcheck.h"
#include "pace.h"

enum { ROWS_MAX = 1 << 24 }; /* of a pass: what products and buckets take */

struct net {
    struct workload base;
    struct netdata data;
    struct gemm gemm;
    struct gpu *gpu;
    int32_t count;
    struct netmember **members;
    struct netcheck *check;
    hdp_buffers *buckets;   /* one a layer, the last one's first */
    void **places;          /* [bucket][member] */
    int64_t layer_elements; /* of each bucket's only tensor */
};

double net_item_flops(const struct net_shape *shape)
{
    double product = 2.0 * shape->width * shape->width;

    return product * (shape->train ? 3 * shape->layers - 1 : shape->layers);
}

int64_t net_reduce_bytes(const struct net_shape *shape, int32_t dtype)
{
    int64_t bytes = dtype == HDP_F16 || dtype == HDP_BF16 ? 2 : 4;

    return shape->train ? bytes * shape->layers * shape->width * shape->width
                        : 0;
}

/* ---- the work function --------------------------------------------------- */

/* A pass over some rows, of which the last says its gradients ready. */
static int32_t pass(struct net *net, struct netmember *member,
                    const hdp_shard *shard, int64_t first, int64_t rows,
                    int last)
{
    int32_t layer = net->data.shape.train ? net->data.shape.layers : 0;
    int well = netmember_forward(member, first, rows);

    while (well && layer-- > 0) {
        well = netmember_backward(member, first, rows, layer);
        if (well && last &&
            hdp_shard_all_reduce(shard, net->data.shape.layers - 1 - layer)) {
            hdp_shard_fail(shard, HDP_ERR_CALLBACK, 0, hdp_last_error());
            return 1;
        }
    }
    return well ? 0 : gpu_give_up(net->gpu, shard);
}

/* The member's rows of the batch; of a probe, which has as many as it likes, the
 * first ones again and again. */
static int32_t compute(struct net *net, const hdp_shard *shard)
{
    struct netmember *member = net->members[shard->member];
    int probe = shard->flags & HDP_SHARD_PROBE;
    int64_t room = net->data.capacity;
    int32_t code = 0;

    if (!probe && shard->items > room - shard->offset) {
        hdp_shard_fail(shard, HDP_ERR_ARGUMENT, 0,
                       "the batch is larger than the net was made for");
        return 1;
    }
    for (int64_t done = 0, rows; !code && done < shard->items; done += rows) {
        rows = shard->items - done < room ? shard->items - done : room;
        code = pass(net, member, shard, probe ? 0 : shard->offset, rows,
                    done + rows == shard->items);
    }
    return code;
}

static int32_t net_step(const hdp_shard *shard, void *user)
{
    struct net *net = user;
    int64_t began_ns = pace_begin(&net->base, shard->member);
    int32_t code = compute(net, shard);

    pace_end(&net->base, shard->member, began_ns);
    return code;
}

/* Enqueued; waited for only where a slowdown is declared. */
static int32_t net_step_cuda(const hdp_shard *shard, void *user)
{
    struct net *net = user;
    int64_t began_ns = pace_begin(&net->base, shard->member);
    int32_t code = compute(net, shard);

    if (!code && began_ns && !gpu_wait(net->gpu, shard->member))
        code = gpu_give_up(net->gpu, shard);
    pace_end(&net->base, shard->member, began_ns);
    return code;
}

/* ---- the workload -------------------------------------------------------- */

static void net_hold(struct workload *self, int on)
{
    (void)self; /* weights never move */
    (void)on;
}

static void net_check(struct workload *self, const int64_t *items,
                      int64_t total, struct workload_check *out)
{
    netcheck_step(((struct net *)self)->check, items, total, out);
}

static void net_destroy(struct workload *self)
{
    struct net *net = (struct net *)self;

    netcheck_destroy(net->check);
    for (int32_t m = 0; net->members && m < net->count; ++m)
        netmember_destroy(net->members[m]);
    gemm_close(&net->gemm);
    free(net->members);
    free(net->buckets);
    free(net->places);
    free(net);
}

static const struct workload_ops net_ops = {
    .hold = net_hold,
    .check = net_check,
    .destroy = net_destroy,
};

static void fill_buckets(struct net *net)
{
    int32_t layers = net->data.shape.layers;
    int32_t dtype = net->data.dtype;

    net->layer_elements =
        (int64_t)net->data.shape.width * net->data.shape.width;
    for (int32_t b = 0; b < layers; ++b) {
        hdp_buffers *bucket = &net->buckets[b];
        void **places = net->places + (int64_t)b * net->count;
        for (int32_t m = 0; m < net->count; ++m)
            places[m] = netmember_of_layer(
                net->members[m], net->members[m]->gradient, layers - 1 - b);
        hdp_options_init(bucket, sizeof *bucket);
        bucket->dtype = dtype == HDP_TF32 ? HDP_F32 : dtype;
        bucket->op = HDP_OP_MEAN;
        bucket->memory = net->gpu ? HDP_MEMORY_DETECT : HDP_MEMORY_HOST;
        bucket->tensor_count = 1;
        bucket->elements = &net->layer_elements;
        bucket->recv = places;
    }
    net->base.work.buckets = net->buckets;
    net->base.work.bucket_count = layers;
}

static struct netdata data_of(const struct workload_spec *spec)
{
    return (struct netdata){ .shape = spec->net,
                             .dtype = spec->dtype ? spec->dtype : HDP_F32,
                             .capacity = spec->capacity,
                             .seed = spec->seed };
}

static struct netmember_spec member_of(const struct workload_spec *spec,
                                       const struct netdata *data, int32_t m)
{
    return (struct netmember_spec){ .data = data,
                                    .gpu = spec->gpu,
                                    .member = m,
                                    .threads = workload_threads(spec, m),
                                    .keeps = m == 0 };
}

double net_member_bytes(const struct workload_spec *spec, int32_t member)
{
    const struct netdata data = data_of(spec);
    const struct netmember_spec one = member_of(spec, &data, member);

    return netmember_bytes(&one);
}

/* 0: no room. */
static int make(struct net *net, const struct workload_spec *spec)
{
    size_t count = (size_t)net->count, layers = (size_t)spec->net.layers;

    net->members = workload_alloc(count, sizeof *net->members);
    net->buckets = workload_alloc(layers, sizeof *net->buckets);
    net->places = workload_alloc(layers * count, sizeof *net->places);
    if (!net->members || !net->buckets || !net->places)
        return 0;
    for (int32_t m = 0; m < net->count; ++m) {
        struct netmember_spec one = member_of(spec, &net->data, m);
        one.gemm = &net->gemm;
        net->members[m] = netmember_create(&one);
        if (!net->members[m])
            return 0;
    }
    net->check = netcheck_create(&net->data, net->members, net->count);
    return net->check != NULL;
}

struct workload *net_create(const struct workload_spec *spec)
{
    struct net *net = workload_alloc(1, sizeof *net);

    if (!net)
        return NULL;
    net->base.ops = &net_ops;
    net->data = data_of(spec);
    net->gpu = spec->gpu;
    net->count = spec->members;
    gemm_open(&net->gemm, spec->blas_path);
    net->base.backend = workload_backend(spec, net->gemm.source);
    if (spec->capacity > ROWS_MAX || !make(net, spec)) {
        net_destroy(&net->base);
        return NULL;
    }
    hdp_options_init(&net->base.work, sizeof net->base.work);
    net->base.work.host = net_step;
    net->base.work.cuda = net_step_cuda;
    net->base.work.user = net;
    if (net->data.shape.train)
        fill_buckets(net);
    net->base.item_flops = net_item_flops(&net->data.shape);
    net->base.item_bytes = 2 * (double)netdata_row(&net->data);
    return &net->base;
}
