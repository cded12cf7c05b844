/* llm.c with hdp: one process a GPU, unequal B. Only what differs from
 * train_gpt2.cu. */
#include <hdp/cuda.h>
enum { LAYERS = 12, TENSORS = 12 };
typedef struct {
    hdp_context *ctx;
    hdp_group *group;
    hdp_executor *ex;
    hdp_group_info gi;
} Multi;
extern cudaStream_t main_stream;
extern int64_t layer_elements[TENSORS], rest_elements[4];
extern void *layer_grads[LAYERS][TENSORS], *rest_grads[4],
    *loss_sum;                                    /* device; in place */
extern void layer_backward(int layer, int64_t B); /* enqueues on main_stream */
extern void forward(int64_t B), encoder_backward(int64_t B), update(void),
    load_rows(int64_t first, int64_t rows);

hdp_status multi_init(Multi *m, int64_t max_B, int64_t bytes_per_sequence)
{
    hdp_world world;
    hdp_group_options go;
    hdp_executor_options eo;
    hdp_calibrate_options co;
    hdp_split_options so;
    void *stream = main_stream;
    hdp_status st;
    hdp_options_init(&world, sizeof world);
    hdp_options_init(&go, sizeof go);
    hdp_options_init(&eo, sizeof eo);
    hdp_options_init(&co, sizeof co);
    hdp_options_init(&so, sizeof so);
    if ((st = hdp_world_detect(&world)))
        return st; /* torchrun, mpirun, srun */
    world.directory = "/shared/run42";
    world.run_id = "42";
    go.world = &world;
    go.streams = &stream;
    go.threads = HDP_THREADS_CALLER;
    co.dtype = HDP_BF16;
    so.quantum = 1;
    so.item_bytes = bytes_per_sequence;
    eo.calibrate = &co;
    eo.split = &so;
    eo.max_items = &max_B; /* what gpt2_allocate_state() made room for */
    if ((st = hdp_context_create(&m->ctx, NULL)))
        return st;
    if ((st = hdp_group_create(&m->group, m->ctx, &world.local_index, 1, &go)))
        return st; /* collective */
    if ((st = hdp_executor_create_on(&m->ex, m->group, &eo)))
        return st; /* collective */
    hdp_options_init(&m->gi, sizeof m->gi);
    return hdp_group_get(&m->gi, m->group);
}

static hdp_status reduce(Multi *m, const hdp_plan *plan, void *const *grads,
                         const int64_t *elements, int32_t n, uint64_t *step)
{
    hdp_buffers b;
    hdp_options_init(&b, sizeof b);
    b.dtype = HDP_BF16;
    b.op = HDP_OP_MEAN;
    b.tensor_count = n;
    b.elements = elements;
    b.recv = grads; /* in place; a rank with B = 0 may hold anything */
    return hdp_all_reduce_async(step, m->group, plan,
                                &b); /* after what main_stream holds now */
}

hdp_status train_step(Multi *m, int64_t total_B, int grad_accum_steps,
                      int64_t first_row, float *compute_ms(void))
{
    hdp_plan *plan = NULL;
    hdp_plan_info p;
    hdp_buffers loss;
    uint64_t step = 0;
    int64_t B, ns;
    int micro, l;
    void *one = loss_sum;
    const int64_t one_element = 1;
    hdp_status st =
        hdp_executor_plan(&plan, m->ex, total_B); /* same on every rank */
    if (st)
        return st;
    hdp_options_init(&p, sizeof p);
    hdp_plan_get(&p, plan);
    B = p.items[m->gi.first_rank];
    for (micro = 0; micro < grad_accum_steps; ++micro) {
        int last = micro == grad_accum_steps - 1;
        if (B)
            load_rows(first_row + micro * total_B + p.offsets[m->gi.first_rank],
                      B),
                forward(B);
        for (l = LAYERS - 1; l >= 0; --l) {
            if (B)
                layer_backward(l, B);
            if (last && (st = reduce(m, plan, layer_grads[l], layer_elements,
                                     TENSORS, &step)))
                goto out;
        }
        if (B)
            encoder_backward(B);
    }
    ns = (int64_t)(*compute_ms() * 1e6f);
    if ((st = reduce(m, plan, rest_grads, rest_elements, 4, &step)))
        goto out;
    hdp_options_init(&loss, sizeof loss);
    loss.dtype = HDP_F32;
    loss.op = HDP_OP_SUM;
    loss.tensor_count = 1;
    loss.elements = &one_element;
    loss.recv = &one;
    if ((st = hdp_all_reduce_async(&step, m->group, NULL, &loss)))
        goto out;
    if ((st = hdp_group_order(m->group, step, 0, main_stream)))
        goto out; /* update runs after every reduce */
    update();
    if ((st = hdp_group_wait(NULL, m->group, step)))
        goto out; /* severity says: retry, or new group */
    st = hdp_executor_observe(m->ex, &B,
                              &ns); /* collective; learns, may re-split */
out:
    hdp_plan_destroy(plan);
    return st;
}
