/* Placing on a model's clock, from event to event: a batch begins when its
 * member is through with the one before it, and the next one is placed when
 * any has ended. */
#include <stdlib.h>

#include "dynamic.h"
#include "interrupt.h"

/* A batch in flight. */
struct flight {
    double end_ns, took_ns;
    uint64_t ticket; /* 0: placed in turn */
};

struct model {
    const struct dynamic *dynamic;
    hdp_balancer *balancer;
    struct tally *tally;
    hdp_work work;
    struct flight *flights; /* a heap, the first to end at 0 */
    int64_t in_flight;
    double *free_ns; /* one a member: through with all it has */
    int64_t *shares; /* of a plan: one member's, the others none */
    double now_ns;
};

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

/* ---- the heap ------------------------------------------------------------ */

static void push(struct model *self, struct flight flight)
{
    int64_t at = self->in_flight++;

    for (; at > 0 && self->flights[(at - 1) / 2].end_ns > flight.end_ns;
         at = (at - 1) / 2)
        self->flights[at] = self->flights[(at - 1) / 2];
    self->flights[at] = flight;
}

static struct flight pop(struct model *self)
{
    struct flight first = self->flights[0];
    struct flight last = self->flights[--self->in_flight];
    int64_t at = 0, below;

    for (; (below = 2 * at + 1) < self->in_flight; at = below) {
        if (below + 1 < self->in_flight &&
            self->flights[below + 1].end_ns < self->flights[below].end_ns)
            ++below;
        if (self->flights[below].end_ns >= last.end_ns)
            break;
        self->flights[at] = self->flights[below];
    }
    self->flights[at] = last;
    return first;
}

/* ---- batches ------------------------------------------------------------- */

/* What the model says that `items` take on the member now. */
static int model_time(struct model *self, int32_t member, int64_t items,
                      double *out_ns)
{
    struct bench *bench = self->dynamic->bench;
    hdp_plan *plan = NULL;
    hdp_report *report = NULL;
    hdp_report_info info;

    hdp_options_init(&info, sizeof info);
    self->shares[member] = items;
    int code = library_try(
        bench, hdp_plan_create(&plan, self->shares, self->dynamic->members));
    self->shares[member] = 0;
    if (!code)
        code = library_try(bench,
                           hdp_run(&report, bench->group, plan, &self->work));
    if (!code)
        code = library_try(bench, hdp_report_get(&info, report));
    if (!code)
        *out_ns = (double)info.compute_ns[member];
    hdp_report_destroy(report);
    hdp_plan_destroy(plan);
    return code;
}

/* *placed 0: all are full. */
static int begin(struct model *self, int64_t index, int *placed)
{
    struct tally *tally = self->tally;
    struct flight flight = { 0 };
    int64_t items = self->dynamic->items[index];
    int32_t member;
    int code = dynamic_choose(self->dynamic, self->balancer, index, &member,
                              &flight.ticket);

    *placed = !code && member >= 0;
    if (!*placed)
        return code;
    if ((code = model_time(self, member, items, &flight.took_ns)))
        return code;
    if (self->free_ns[member] < self->now_ns)
        self->free_ns[member] = self->now_ns;
    self->free_ns[member] += flight.took_ns;
    flight.end_ns = self->free_ns[member];
    tally->batches[member]++;
    tally->items[member] += items;
    tally->busy_ns[member] += flight.took_ns;
    push(self, flight);
    return EXIT_OK;
}

static int end_first(struct model *self)
{
    struct flight flight = pop(self);

    self->now_ns = flight.end_ns;
    if (!flight.ticket)
        return EXIT_OK;
    return library_try(self->dynamic->bench,
                       hdp_balancer_done(self->balancer, flight.ticket,
                                         (int64_t)(flight.took_ns + 0.5)));
}

static int run(struct model *self)
{
    const struct dynamic *dynamic = self->dynamic;
    int64_t next = 0;
    int code = EXIT_OK, placed = 1;

    while (!code && !interrupt_seen() &&
           (next < dynamic->count || self->in_flight > 0)) {
        if (placed && next < dynamic->count &&
            self->in_flight < dynamic->window) {
            code = begin(self, next, &placed);
            next += placed;
            continue;
        }
        code = end_first(self);
        placed = 1;
        notes_progress(&dynamic->bench->notes, "dynamic",
                       next - self->in_flight, dynamic->count);
    }
    self->tally->makespan_ns = self->now_ns;
    return code;
}

int dynamic_model_run(const struct dynamic *dynamic, hdp_balancer *balancer,
                      struct tally *out)
{
    size_t members = (size_t)dynamic->members;
    struct model self = { .dynamic = dynamic,
                          .balancer = balancer,
                          .tally = out };

    hdp_options_init(&self.work, sizeof self.work);
    self.work.host = nothing;
    self.flights = calloc((size_t)dynamic->window + 1, sizeof *self.flights);
    self.free_ns = calloc(members, sizeof *self.free_ns);
    self.shares = calloc(members, sizeof *self.shares);
    int code = self.flights && self.free_ns && self.shares
                   ? run(&self)
                   : library_no_memory(dynamic->bench);
    free(self.flights);
    free(self.free_ns);
    free(self.shares);
    return code;
}
