/* Placing for real. Each member is a group of its own, so that batches of
 * different members overlap, and a thread that runs what is in its queue. */
#include <pthread.h>
#include <stdlib.h>

#include "dynamic.h"
#include "interrupt.h"

struct order {
    int64_t items;
    uint64_t ticket; /* 0: placed in turn */
};

struct real;

struct server {
    struct real *real;
    hdp_group *group;
    struct gpu *gpu; /* the member, where it is one */
    struct workload *workload;
    pthread_t thread;
    int threaded;
    struct order *queue; /* a ring of the window's size */
    int64_t first, count;
    int64_t batches, items;
    double busy_ns;
};

struct real {
    const struct dynamic *dynamic;
    hdp_balancer *balancer;
    struct server *servers; /* one a member */
    pthread_mutex_t lock;   /* queues, in_flight, quit, the first failure */
    pthread_cond_t changed;
    int64_t in_flight;
    int quit, failed;
};

/* ---- a member's thread --------------------------------------------------- */

static int serve(struct server *self, const struct order *order,
                 int64_t *out_ns)
{
    hdp_plan *plan = NULL;
    hdp_status status = hdp_plan_create(&plan, &order->items, 1);
    int64_t began_ns = library_now();

    if (status == HDP_OK)
        status = hdp_run(NULL, self->group, plan, &self->workload->work);
    *out_ns = library_now() - began_ns;
    if (order->ticket) /* -1: it failed */
        hdp_balancer_done(self->real->balancer, order->ticket,
                          status == HDP_OK ? *out_ns : -1);
    hdp_plan_destroy(plan);
    return status == HDP_OK;
}

static void *server_main(void *argument)
{
    struct server *self = argument;
    struct real *real = self->real;
    int64_t window = real->dynamic->window, ns;

    pthread_mutex_lock(&real->lock);
    for (;;) {
        while (self->count == 0 && !real->quit)
            pthread_cond_wait(&real->changed, &real->lock);
        if (self->count == 0)
            break;
        struct order order = self->queue[self->first];
        pthread_mutex_unlock(&real->lock);
        int ok = serve(self, &order, &ns);
        pthread_mutex_lock(&real->lock);
        self->first = (self->first + 1) % window;
        self->count--;
        self->batches++;
        self->items += order.items;
        self->busy_ns += (double)ns;
        real->in_flight--;
        real->failed |= !ok;
        pthread_cond_broadcast(&real->changed);
    }
    pthread_mutex_unlock(&real->lock);
    return NULL;
}

/* ---- placing ------------------------------------------------------------- */

/* 0: a batch has failed. */
static int wait_for_room(struct real *self, int64_t most)
{
    pthread_mutex_lock(&self->lock);
    while (self->in_flight > most)
        pthread_cond_wait(&self->changed, &self->lock);
    int well = !self->failed;
    pthread_mutex_unlock(&self->lock);
    return well;
}

static void wait_for_one(struct real *self)
{
    pthread_mutex_lock(&self->lock);
    int64_t before = self->in_flight;
    while (before > 0 && self->in_flight >= before)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

static void enqueue(struct real *self, int32_t member, struct order order)
{
    struct server *server = &self->servers[member];

    pthread_mutex_lock(&self->lock);
    server->queue[(server->first + server->count++) % self->dynamic->window] =
        order;
    self->in_flight++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static int place_all(struct real *self)
{
    const struct dynamic *dynamic = self->dynamic;
    int code = EXIT_OK;

    for (int64_t i = 0; !code && !interrupt_seen() && i < dynamic->count &&
                        wait_for_room(self, dynamic->window - 1);) {
        struct order order = { .items = dynamic->items[i] };
        int32_t member;
        code =
            dynamic_choose(dynamic, self->balancer, i, &member, &order.ticket);
        if (!code && member >= 0) {
            enqueue(self, member, order);
            notes_progress(&dynamic->bench->notes, "dynamic", ++i,
                           dynamic->count);
        } else if (!code) { /* full: until something has ended */
            wait_for_one(self);
        }
    }
    wait_for_room(self, 0);
    return code;
}

/* ---- life ---------------------------------------------------------------- */

static int open_server(struct server *self, int32_t member)
{
    const struct dynamic *dynamic = self->real->dynamic;
    struct bench *bench = dynamic->bench;
    const hdp_device *device = &bench->devices[member];
    struct workload_spec spec = { .kind = bench->options.work,
                                  .members = 1,
                                  .capacity = bench->options.total,
                                  .seed = (uint64_t)bench->options.seed,
                                  .blas_path = library_path(bench, "openblas"),
                                  .devices = device };
    hdp_group_options options;

    hdp_options_init(&options, sizeof options);
    options.timeout_ns = bench->options.timeout_ns;
    self->queue = calloc((size_t)dynamic->window, sizeof *self->queue);
    int code =
        library_try(bench, hdp_group_create_spec(&self->group, bench->context,
                                                 device->spec, &options));
    if (!code)
        code = library_work_dtype(bench, spec.kind, device, 1, &spec.dtype);
    if (!code)
        code = library_gpus_of(bench, self->group, device, 1,
                               workload_multiplies(spec.kind), &self->gpu);
    if (code)
        return code;
    spec.gpu = self->gpu;
    self->workload = workload_create(&spec);
    if (!self->queue || !self->workload)
        return library_no_memory(bench);
    self->workload->ops->hold(self->workload, 1); /* replicas stay alike */
    if (pthread_create(&self->thread, NULL, server_main, self) != 0)
        return failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                           "no thread for member %d", (int)member);
    self->threaded = 1;
    return EXIT_OK;
}

static void close_servers(struct real *self)
{
    pthread_mutex_lock(&self->lock);
    self->quit = 1;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    for (int32_t m = 0; m < self->dynamic->members; ++m) {
        struct server *server = &self->servers[m];
        if (server->threaded)
            pthread_join(server->thread, NULL);
        if (!self->failed) { /* else a function may be inside still */
            workload_destroy(server->workload);
            gpu_close(server->gpu);
        }
        hdp_group_destroy(server->group);
        free(server->queue);
    }
}

static void count(const struct real *self, struct tally *out)
{
    for (int32_t m = 0; m < self->dynamic->members; ++m) {
        out->batches[m] = self->servers[m].batches;
        out->items[m] = self->servers[m].items;
        out->busy_ns[m] = self->servers[m].busy_ns;
    }
}

int dynamic_real_run(const struct dynamic *dynamic, hdp_balancer *balancer,
                     struct tally *out)
{
    struct real self = { .dynamic = dynamic, .balancer = balancer };
    int code = EXIT_OK;

    self.servers = calloc((size_t)dynamic->members, sizeof *self.servers);
    if (!self.servers)
        return library_no_memory(dynamic->bench);
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.changed, NULL);
    for (int32_t m = 0; !code && m < dynamic->members; ++m) {
        self.servers[m].real = &self;
        code = open_server(&self.servers[m], m);
    }
    if (!code) {
        int64_t began_ns = library_now();
        code = place_all(&self);
        out->makespan_ns = (double)(library_now() - began_ns);
        count(&self, out);
        if (!code && self.failed)
            code = failure_own(&dynamic->bench->failure, EXIT_RUNTIME,
                               HDP_ERR_CALLBACK, "a batch failed");
    }
    close_servers(&self);
    pthread_cond_destroy(&self.changed);
    pthread_mutex_destroy(&self.lock);
    free(self.servers);
    return code;
}
