/* A member's part of a step: its thread takes the numbers in order and passes
 * the three phases of each. What fails here is noted in the step and never
 * keeps the member from taking part in the reduces, so nobody hangs. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "internal.h"

enum { THREAD_STACK_BYTES = 8 << 20 }; /* the caller's function runs on it */

/* ---- waiting for the device ------------------------------------------------- */

hdp_status hdpi_member_judge(struct hdpi_member *member, hdp_status status)
{
    if (status != HDP_ERR_TIMEOUT)
        return status;
    atomic_store(&member->overdue, 1);
    HDPI_RETURN_IF(hdpi_group_well(member->group));
    hdpi_error()->step = member->step->number;
    hdpi_group_lose(member->group);
    return status;
}

/* Says where the member is meanwhile; returns where it was. */
static int32_t go_inside(struct hdpi_member *member)
{
    int32_t before =
        atomic_load_explicit(&member->inside, memory_order_relaxed);

    if (member->device->asynchronous)
        atomic_store_explicit(&member->inside, HDPI_INSIDE_DEVICE,
                              memory_order_relaxed);
    return before;
}

static hdp_status come_back(struct hdpi_member *member, int32_t before,
                            hdp_status status)
{
    if (!member->device->asynchronous)
        return status;
    status = hdpi_member_judge(member, status);
    atomic_store_explicit(&member->inside, before, memory_order_relaxed);
    return status;
}

hdp_status hdpi_member_wait(struct hdpi_member *member)
{
    struct hdpi_device *device = member->device;
    int32_t before = go_inside(member);

    return come_back(member, before,
                     device->ops->wait(device, atomic_load_explicit(
                                                   &member->step->deadline_ns,
                                                   memory_order_relaxed)));
}

hdp_status hdpi_member_elapsed(struct hdpi_member *member, double *out_ns,
                               const struct hdpi_mark *from,
                               const struct hdpi_mark *to)
{
    struct hdpi_device *device = member->device;
    int32_t before = go_inside(member);

    return come_back(member, before,
                     device->ops->elapsed(device, out_ns, from, to));
}

/* ---- what the communicator may do with a member ---------------------------- */

static hdp_status lent_combine(void *member, const struct hdpk_combine *job)
{
    struct hdpi_device *device = ((struct hdpi_member *)member)->device;

    return device->ops->combine(device, job);
}

static hdp_status lent_ready(void *member)
{
    struct hdpi_member *mine = member;

    HDPI_RETURN_IF(
        mine->device->ops->mark(mine->device, &mine->ready, HDPI_MARK_READY));
    return hdpi_ring_ready(mine);
}

void hdpi_member_lend(struct hdpi_member *member,
                      struct hdpi_comm_member *table)
{
    table->member = member;
    table->combine = lent_combine;
    table->ready = lent_ready;
    table->patience = member->group->patience;
}

/* ---- errors and spans ------------------------------------------------------ */

static struct hdpi_outcome *outcome_of(struct hdpi_member *member)
{
    return &member->step->outcomes[member->index];
}

void hdpi_member_record(struct hdpi_member *member)
{
    hdp_error *noted = &outcome_of(member)->error;

    if (noted->status != HDP_OK)
        return;
    *noted = *hdpi_error();
    if (noted->member < 0) {
        noted->member = member->index;
        noted->rank = member->rank;
    }
    atomic_store_explicit(&member->step->failing, 1, memory_order_release);
}

static int comes_before(const hdp_span *a, const hdp_span *b)
{
    return a->lane != b->lane ? a->lane < b->lane : a->start_ns < b->start_ns;
}

void hdpi_member_span(struct hdpi_member *member, int32_t lane, int32_t phase,
                      int32_t piece, int64_t start_ns, int64_t end_ns)
{
    struct hdpi_outcome *outcome = outcome_of(member);
    hdp_span *spans = outcome->spans;
    const hdp_span own = { .start_ns = start_ns,
                           .end_ns = end_ns,
                           .rank = member->rank,
                           .lane = lane,
                           .phase = phase,
                           .piece = piece };
    int32_t i;

    if (outcome->span_count == HDPI_MEMBER_SPANS)
        return;
    for (i = outcome->span_count++; i > 0 && comes_before(&own, &spans[i - 1]);
         --i)
        spans[i] = spans[i - 1];
    spans[i] = own;
}

/* ---- buckets --------------------------------------------------------------- */

int hdpi_member_defers(const struct hdpi_member *member)
{
    return member->group->caller_mode && member->group->member_count > 1;
}

/* A communicator that timed out or broke is dead, and the group with it. */
static hdp_status judge_comm(struct hdpi_member *member, hdp_status status)
{
    if (status == HDP_ERR_TIMEOUT || status == HDP_ERR_COMM) {
        hdpi_error()->step = member->step->number;
        hdpi_group_lose(member->group);
    }
    return status;
}

hdp_status hdpi_member_post(struct hdpi_member *member, int32_t end)
{
    struct hdpi_step *step = member->step;
    struct hdpi_comm *comm = member->comm;
    hdp_status first = HDP_OK;

    for (; member->posted < end; ++member->posted) {
        struct hdpi_comm_call *call =
            &step->calls[member->index * step->bucket_count + member->posted];
        uint64_t ticket = 0;
        hdp_status status;
        call->status = outcome_of(member)->error.status;
        status = hdpi_stage_in(member, member->posted);
        if (status != HDP_OK) {
            hdpi_member_record(member);
            call->status = outcome_of(member)->error.status;
            first = first == HDP_OK ? status : first;
        }
        status = comm->ops->post(
            comm, call,
            atomic_load_explicit(&step->deadline_ns, memory_order_relaxed),
            &ticket);
        if (ticket)
            member->ticket = ticket;
        if (status == HDP_OK || call->status != HDP_OK)
            continue;
        hdpi_member_record(member);
        first = first == HDP_OK ? judge_comm(member, status) : first;
    }
    return first;
}

/* Results of buckets to the device, those of failed ones too: they are NaN. A
 * dead communicator has none. */
static hdp_status bring_back(struct hdpi_member *member, hdp_status status)
{
    hdp_error first = *hdpi_error();
    hdp_status brought = hdpi_group_well(member->group);

    if (brought == HDP_OK)
        brought = hdpi_stage_out(member);
    if (status == HDP_OK)
        return brought;
    *hdpi_error() = first;
    return status;
}

hdp_status hdpi_member_await(struct hdpi_member *member)
{
    hdp_status status;

    if (!member->ticket)
        return HDP_OK;
    status = judge_comm(
        member,
        member->comm->ops->wait(member->comm, member->ticket,
                                atomic_load_explicit(&member->step->deadline_ns,
                                                     memory_order_relaxed)));
    if (member->device->asynchronous)
        status = bring_back(member, status);
    return status == HDP_OK ? hdpi_ring_idle(member) : status;
}

/* ---- the phases ------------------------------------------------------------ */

/* Until when hooks wait. Who loses the group writes `lost` and then brings the
 * deadlines forward: an exchange that comes later has seen both, an earlier one
 * is overwritten. */
static void set_deadline(struct hdpi_device *device,
                         const struct hdpi_step *step)
{
    if (!device->asynchronous)
        return;
    (void)atomic_exchange_explicit(
        &device->deadline_ns,
        atomic_load_explicit(&step->deadline_ns, memory_order_relaxed),
        memory_order_acq_rel);
}

static hdp_status begin(struct hdpi_member *member, struct hdpi_step *step)
{
    struct hdpi_outcome *outcome = &step->outcomes[member->index];
    struct hdpi_device *device = member->device;

    member->step = step;
    member->posted = 0;
    member->ticket = 0;
    member->stage.used = 0;
    member->stage.returned = 0;
    outcome->compute_ns = outcome->step_ns = 0;
    outcome->span_count = 0;
    outcome->first_at_share = 0;
    outcome->cause = HDP_CAUSE_NONE;
    set_deadline(device, step);
    HDPI_RETURN_IF(hdpi_group_well(member->group));
    if (!device->virtual_time)
        return HDP_OK;
    return device->ops->mark(device, &member->begin, HDPI_MARK_TIME);
}

static hdp_status work(struct hdpi_member *member, struct hdpi_step *step)
{
    if (step->kind == HDPI_STEP_EACH)
        return step->each(member, step->each_arg);
    if (step->kind == HDPI_STEP_RUN)
        return hdpi_shard_run(member);
    return HDP_OK;
}

/* All is enqueued: here, with what an asynchronous member's results need to get
 * back, since what the caller enqueues from then on comes after it. */
static void issued(struct hdpi_member *member, struct hdpi_step *step)
{
    if (atomic_fetch_sub_explicit(&step->computing, 1, memory_order_acq_rel) ==
        1)
        hdpi_step_issued(member->group, step);
}

void hdpi_member_compute(struct hdpi_member *member, struct hdpi_step *step)
{
    hdp_status status = begin(member, step);

    if (status == HDP_OK)
        status = work(member, step);
    if (status != HDP_OK)
        hdpi_member_record(member);
    if (!hdpi_member_defers(member))
        (void)hdpi_member_post(member, step->nothing ? 0 : step->bucket_count);
    if (!member->device->asynchronous)
        issued(member, step);
}

void hdpi_member_settle(struct hdpi_member *member, struct hdpi_step *step)
{
    if (hdpi_member_await(member) != HDP_OK)
        hdpi_member_record(member);
    if (step->kind != HDPI_STEP_EACH && hdpi_member_wait(member) != HDP_OK)
        hdpi_member_record(member);
    if (member->device->asynchronous)
        issued(member, step);
    if (atomic_fetch_sub_explicit(&step->agreeing, 1, memory_order_acq_rel) ==
            1 &&
        step->flags & HDP_WORK_STAGED)
        hdpi_park_signal(&step->agreed);
}

/* Blocks until every member has settled, so that `failing` is final. */
static void agree(struct hdpi_member *member, struct hdpi_step *step)
{
    hdp_group *group = member->group;

    for (;;) {
        uint32_t seen = hdpi_park_read(&step->agreed);
        if (atomic_load_explicit(&step->agreeing, memory_order_acquire) == 0 ||
            atomic_load_explicit(&group->lost, memory_order_acquire))
            return;
        (void)hdpi_park_wait(&step->agreed, seen, &group->patience, INT64_MAX);
    }
}

/* A share counts as seen once the function was through with it. */
static void explain(struct hdpi_member *member, struct hdpi_outcome *outcome)
{
    const struct hdpi_step *step = member->step;
    int64_t share =
        step->kind == HDPI_STEP_RUN ? step->items[member->index] : 0;

    if (share == 0)
        return;
    outcome->first_at_share = hdpi_shapes_is_new(&member->shapes, share);
    outcome->cause = outcome->first_at_share
                         ? HDP_CAUSE_SHAPE
                         : member->device->ops->cause(member->device);
}

static void measure(struct hdpi_member *member, struct hdpi_outcome *outcome)
{
    struct hdpi_device *device = member->device;

    outcome->free_bytes =
        hdpi_member_free_bytes(member, outcome->error.status != HDP_OK);
    outcome->held_bytes = member->held_bytes;
    outcome->peak_bytes = member->peak_bytes;
    if (outcome->error.status != HDP_OK)
        return;
    explain(member, outcome);
    if (!device->virtual_time)
        return;
    if (device->ops->mark(device, &member->to, HDPI_MARK_TIME) != HDP_OK ||
        device->ops->elapsed(device, &outcome->step_ns, &member->begin,
                             &member->to) != HDP_OK)
        hdpi_member_record(member);
}

void hdpi_member_commit(struct hdpi_member *member, struct hdpi_step *step)
{
    hdp_group *group = member->group;

    if (step->flags & HDP_WORK_STAGED) {
        agree(member, step);
        if (!atomic_load_explicit(&step->failing, memory_order_acquire) &&
            !atomic_load_explicit(&group->lost, memory_order_acquire) &&
            hdpi_shard_deliver(member) != HDP_OK)
            hdpi_member_record(member);
    }
    if (step->kind != HDPI_STEP_EACH)
        measure(member, outcome_of(member));
    if (atomic_fetch_sub_explicit(&step->settling, 1, memory_order_acq_rel) ==
        1)
        hdpi_step_complete(group, step);
}

/* ---- the thread ------------------------------------------------------------ */

static void *member_main(void *arg)
{
    struct hdpi_member *member = arg;
    hdp_group *group = member->group;

    for (;;) {
        uint32_t seen = hdpi_park_read(&member->inbox);
        if (member->next <=
            atomic_load_explicit(&group->accepted, memory_order_acquire)) {
            struct hdpi_step *step =
                &group->steps[member->next % HDPI_STEPS_IN_FLIGHT];
            hdpi_member_compute(member, step);
            hdpi_member_settle(member, step);
            hdpi_member_commit(member, step);
            member->next++;
        } else if (atomic_load_explicit(&group->quit, memory_order_acquire)) {
            break;
        } else {
            (void)hdpi_park_wait(&member->inbox, seen, &group->patience,
                                 INT64_MAX);
        }
    }
    hdpi_group_leave(group);
    return NULL;
}

/* Created with every signal blocked, so that the host program's handlers never
 * run on the library's threads. */
hdp_status hdpi_member_start(struct hdpi_member *member)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return hdpi_fail(HDP_ERR_MEMORY, "thread attributes");
    (void)pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_fetch_add(&member->group->holders, 1);
    error = pthread_create(&member->thread, &attributes, member_main, member);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (error) {
        atomic_fetch_sub(&member->group->holders, 1);
        (void)hdpi_fail_system(error, "no thread for member %d",
                               (int)member->index);
        hdpi_error()->member = member->index;
        hdpi_error()->rank = member->rank;
        return HDP_ERR_SYSTEM;
    }
    member->threaded = 1;
    return HDP_OK;
}
