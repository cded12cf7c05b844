/* A step is a number. Two slots hold the captured arguments of the steps in
 * flight; this file opens a slot, publishes it, completes it, and lets any
 * thread wait for its number. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "internal.h"

/* ---- arena ----------------------------------------------------------------- */

enum { ARENA_ALIGN = 16 };

size_t hdpi_arena_cost(size_t count, size_t size)
{
    return count * size + ARENA_ALIGN;
}

hdp_status hdpi_arena_reserve(struct hdpi_arena *arena, size_t bytes)
{
    arena->used = 0;
    return hdpi_grow(&arena->base, &arena->capacity, bytes, 1,
                     "arguments of a step");
}

void *hdpi_arena_take(struct hdpi_arena *arena, size_t count, size_t size)
{
    unsigned char *at = arena->base + arena->used;
    size_t bytes = count * size;

    arena->used += (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (bytes)
        memset(at, 0, bytes);
    return at;
}

/* ---- who is asking ---------------------------------------------------------- */

/* The group whose function this thread is running, if any. */
static _Thread_local const hdp_group *working_for;

const hdp_group *hdpi_step_working_for(const hdp_group *group)
{
    const hdp_group *before = working_for;

    working_for = group;
    return before;
}

/* A function that makes or awaits a step of its own group waits for itself. */
static hdp_status refuse_self(const hdp_group *group)
{
    if (working_for != group)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_STATE,
                     "called from inside the group's own work function");
}

/* ---- opening and accepting ------------------------------------------------- */

static struct hdpi_step *slot_of(hdp_group *group, uint64_t number)
{
    return &group->steps[number % HDPI_STEPS_IN_FLIGHT];
}

/* Names the lowest member whose function is inside, or whose device is at work,
 * and that is not itself waiting for the others; that is who is late. */
static void lose_by_deadline(hdp_group *group, uint64_t number)
{
    int32_t m, late = 0;

    for (m = 0; m < group->member_count; ++m) {
        int32_t inside = atomic_load(&group->members[m].inside);
        if (inside == HDPI_INSIDE_FUNCTION || inside == HDPI_INSIDE_DEVICE) {
            late = m;
            break;
        }
    }
    (void)hdpi_fail_member(
        HDP_ERR_TIMEOUT, late, group->members[late].rank,
        "step %llu passed its deadline; late: member %d (%s), rank %d",
        (unsigned long long)number, (int)late,
        group->members[late].device->row.info.spec,
        (int)group->members[late].rank);
    hdpi_error()->step = number;
    hdpi_group_lose(group);
}

/* Blocks until `counter` reaches number; the step's own deadline bounds it. */
static hdp_status await(hdp_group *group, const _Atomic uint64_t *counter,
                        uint64_t number, int64_t give_up_ns)
{
    int64_t deadline_ns = atomic_load_explicit(
        &slot_of(group, number)->deadline_ns, memory_order_relaxed);
    int patient = give_up_ns < deadline_ns;

    for (;;) {
        uint32_t seen = hdpi_park_read(&group->outbox);
        if (atomic_load_explicit(counter, memory_order_acquire) >= number)
            return HDP_OK;
        if (atomic_load_explicit(&group->lost, memory_order_acquire))
            return hdpi_group_check(group);
        if (hdpi_park_wait(&group->outbox, seen, &group->patience,
                           patient ? give_up_ns : deadline_ns))
            continue;
        if (patient ||
            atomic_load_explicit(counter, memory_order_acquire) >= number)
            return HDP_OK;
        lose_by_deadline(group, number);
    }
}

/* What was captured goes; the results stay for those who still ask. */
static void forget(struct hdpi_step *step)
{
    hdp_plan_destroy(step->plan);
    step->plan = NULL;
    step->items = step->offsets = NULL;
    step->host = step->cuda = NULL;
    step->each = NULL;
    step->inputs = step->outputs = NULL;
    step->buckets = NULL;
    step->calls = NULL;
    step->said = NULL;
    step->input_count = step->output_count = step->bucket_count = 0;
    step->flags = step->nothing = 0;
    step->total = step->max_piece_items = 0;
}

/* The report is taken before anything of the step before last is given up:
 * until this one is accepted that one can still be asked for. */
static hdp_status claim_slot(hdp_group *group, struct hdpi_step *step)
{
    hdp_status status = HDP_OK;

    (void)pthread_mutex_lock(&group->lock);
    if (group->failed)
        status = hdpi_fail(HDP_ERR_STATE,
                           "step %llu failed and has not been waited for",
                           (unsigned long long)group->failed);
    else
        status = hdpi_report_pool_take(&step->fresh, group->reports);
    (void)pthread_mutex_unlock(&group->lock);
    if (status == HDP_OK)
        forget(step);
    return status;
}

int64_t hdpi_step_free_bytes(hdp_group *group, uint64_t number, int32_t member)
{
    struct hdpi_step *step = slot_of(group, number);
    int64_t bytes = -1;

    (void)pthread_mutex_lock(&group->lock);
    if (step->number == number)
        bytes = step->outcomes[member].free_bytes;
    (void)pthread_mutex_unlock(&group->lock);
    return bytes;
}

static hdp_status open_slot(struct hdpi_step **out, hdp_group *group,
                            int64_t timeout_ns)
{
    uint64_t number =
        atomic_load_explicit(&group->accepted, memory_order_relaxed) + 1;
    struct hdpi_step *step = slot_of(group, number);

    if (number > HDPI_STEPS_IN_FLIGHT)
        HDPI_RETURN_IF(await(group, &group->done, number - HDPI_STEPS_IN_FLIGHT,
                             INT64_MAX));
    HDPI_RETURN_IF(claim_slot(group, step));
    atomic_store_explicit(
        &step->deadline_ns,
        hdpi_deadline_ns(timeout_ns ? timeout_ns : group->timeout_ns),
        memory_order_relaxed);
    *out = step;
    return HDP_OK;
}

hdp_status hdpi_step_open(struct hdpi_step **out, hdp_group *group,
                          int64_t timeout_ns)
{
    hdp_status status;

    HDPI_RETURN_IF(hdpi_group_check(group));
    HDPI_RETURN_IF(refuse_self(group));
    if (timeout_ns < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "timeout_ns is negative");
    if (atomic_exchange_explicit(&group->driving, 1, memory_order_acquire))
        return hdpi_fail(HDP_ERR_BUSY,
                         "another thread is making a step of this group");
    status = open_slot(out, group, timeout_ns);
    if (status != HDP_OK)
        atomic_store_explicit(&group->driving, 0, memory_order_release);
    return status;
}

void hdpi_step_finish(struct hdpi_step *step)
{
    forget(step);
    hdp_report_destroy(step->report);
    hdp_report_destroy(step->fresh);
    free(step->arena.base);
    free(step->outcomes);
}

void hdpi_step_cancel(hdp_group *group, struct hdpi_step *step)
{
    forget(step);
    hdp_report_destroy(step->fresh);
    step->fresh = NULL;
    atomic_store_explicit(&group->driving, 0, memory_order_release);
}

/* One thread plays every member: all compute before any settles, since
 * settling waits for the others. */
static void work_through(hdp_group *group, struct hdpi_step *step)
{
    int32_t m, b;

    for (m = 0; m < group->member_count; ++m)
        hdpi_member_compute(&group->members[m], step);
    /* Bucket by bucket, so that any number of them fits the room of the
     * communicator. */
    if (hdpi_member_defers(&group->members[0]) && !step->nothing)
        for (b = 0; b < step->bucket_count; ++b)
            for (m = 0; m < group->member_count; ++m)
                (void)hdpi_member_post(&group->members[m], b + 1);
    for (m = 0; m < group->member_count; ++m)
        hdpi_member_settle(&group->members[m], step);
    for (m = 0; m < group->member_count; ++m)
        hdpi_member_commit(&group->members[m], step);
}

/* From here on the slot is this step's. One that failed since this was opened
 * is an earlier one all the same. Under the lock, since waiters look at number
 * and results. */
static uint64_t take_number(hdp_group *group, struct hdpi_step *step)
{
    uint64_t number;

    (void)pthread_mutex_lock(&group->lock);
    number = atomic_load_explicit(&group->accepted, memory_order_relaxed) + 1;
    hdp_report_destroy(step->report);
    step->report = step->fresh;
    step->fresh = NULL;
    step->error.status = HDP_OK;
    step->number = number;
    if (group->failed)
        group->tainted = number;
    atomic_store_explicit(&group->accepted, number, memory_order_release);
    (void)pthread_mutex_unlock(&group->lock);
    return number;
}

uint64_t hdpi_step_accept(hdp_group *group, struct hdpi_step *step)
{
    uint64_t number;
    int32_t m;

    for (m = 0; m < group->member_count; ++m)
        step->outcomes[m].error.status = HDP_OK;
    atomic_store_explicit(&step->computing, group->member_count,
                          memory_order_relaxed);
    atomic_store_explicit(&step->agreeing, group->member_count,
                          memory_order_relaxed);
    atomic_store_explicit(&step->failing, 0, memory_order_relaxed);
    atomic_store_explicit(&step->settling, group->member_count,
                          memory_order_relaxed);
    step->accepted_ns = hdpi_clock_ns();
    number = take_number(group, step);
    if (group->caller_mode)
        work_through(group, step);
    else
        for (m = 0; m < group->member_count; ++m)
            hdpi_park_signal(&group->members[m].inbox);
    atomic_store_explicit(&group->driving, 0, memory_order_release);
    return number;
}

/* ---- completing ------------------------------------------------------------ */

void hdpi_step_issued(hdp_group *group, struct hdpi_step *step)
{
    atomic_store_explicit(&group->issued, step->number, memory_order_release);
    hdpi_park_signal(&group->outbox);
}

/* How near to the cause a status stands: another's failure is an echo of it,
 * and so is an abort of whatever it interrupted. */
static int nearness(hdp_status status)
{
    return status == HDP_OK          ? 0
           : status == HDP_ERR_PEER  ? 1
           : status == HDP_ERR_STATE ? 2
                                     : 3;
}

/* What the step failed of: the lowest member's of those nearest the cause. */
static const hdp_error *cause_of(const hdp_group *group,
                                 const struct hdpi_step *step)
{
    const hdp_error *cause = NULL;
    int nearest = 0;
    int32_t m;

    for (m = 0; m < group->member_count; ++m) {
        const hdp_error *error = &step->outcomes[m].error;
        if (nearness(error->status) <= nearest)
            continue;
        nearest = nearness(error->status);
        cause = error;
    }
    return cause;
}

static void fill_report(hdp_group *group, struct hdpi_step *step)
{
    hdp_report *report = step->report;
    double longest_ns = 0;
    int32_t m, i;

    report->info.step = step->number;
    for (m = 0; m < group->member_count; ++m) {
        const struct hdpi_outcome *got = &step->outcomes[m];
        int32_t rank = group->members[m].rank;
        report->items[rank] = step->items ? step->items[m] : 0;
        report->compute_ns[rank] = (int64_t)(got->compute_ns + 0.5);
        report->first_at_share[rank] = got->first_at_share;
        report->cause[rank] = got->cause;
        report->held_bytes[rank] = got->held_bytes;
        report->peak_bytes[rank] = got->peak_bytes;
        report->free_bytes[rank] = got->free_bytes;
        if (got->step_ns > longest_ns)
            longest_ns = got->step_ns;
        for (i = 0; i < got->span_count; ++i)
            hdpi_report_span(report, rank, got->spans[i].lane,
                             got->spans[i].phase, got->spans[i].piece,
                             got->spans[i].start_ns, got->spans[i].end_ns);
    }
    report->info.step_ns = group->all_virtual
                               ? (int64_t)(longest_ns + 0.5)
                               : hdpi_clock_ns() - step->accepted_ns;
    report->info.reduce_engine = step->bucket_count
                                     ? group->members[0].comm->ops->engine
                                     : HDP_ENGINE_NONE;
    assert(hdpi_report_is_valid(report));
}

/* Later steps that were already under way when one failed end with state:
 * their work may rest on what the failed one left behind. */
static void judge(hdp_group *group, struct hdpi_step *step)
{
    const hdp_error *cause = cause_of(group, step);

    if (cause) {
        step->error = *cause;
        if (!group->failed)
            group->failed = step->number;
        if (step->number > group->tainted)
            group->tainted =
                atomic_load_explicit(&group->accepted, memory_order_relaxed);
    } else if (step->number <= group->tainted) {
        (void)hdpi_fail(HDP_ERR_STATE, "an earlier step failed");
        step->error = *hdpi_error();
    }
    step->error.step = step->number;
    if (step->error.status == HDP_OK)
        return;
    /* Whatever failed, a group that is not lost works again. */
    if (step->error.severity == HDP_GROUP_LOST &&
        !atomic_load_explicit(&group->lost, memory_order_acquire))
        step->error.severity = HDP_RETRY;
    group->last_failure = step->error;
}

void hdpi_step_complete(hdp_group *group, struct hdpi_step *step)
{
    (void)pthread_mutex_lock(&group->lock);
    judge(group, step);
    if (step->error.status == HDP_OK) {
        fill_report(group, step);
    } else {
        hdp_report_destroy(step->report);
        step->report = NULL;
    }
    (void)pthread_mutex_unlock(&group->lock);
    atomic_store_explicit(&group->done, step->number, memory_order_release);
    hdpi_park_signal(&group->outbox);
}

/* ---- waiting --------------------------------------------------------------- */

hdp_status hdpi_step_known(const hdp_group *group, uint64_t number)
{
    uint64_t last =
        atomic_load_explicit(&group->accepted, memory_order_acquire);

    if (number == 0 || number > last)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "step %llu was never accepted; the last is %llu",
                         (unsigned long long)number, (unsigned long long)last);
    return HDP_OK;
}

/* The result of a done step; its slot may hold a later step by now, which can
 * only have been accepted because this one succeeded or was waited for. */
static hdp_status take_result(hdp_report **out, hdp_group *group,
                              uint64_t number)
{
    struct hdpi_step *step = slot_of(group, number);
    hdp_status status = HDP_OK;

    (void)pthread_mutex_lock(&group->lock);
    if (step->number == number) {
        status = hdpi_error_adopt(&step->error);
        if (status == HDP_OK && out && step->report) {
            hdpi_object_retain(&step->report->object);
            *out = step->report;
        }
    } else if (group->last_failure.step == number) {
        status = hdpi_error_adopt(&group->last_failure);
    } else if (out) {
        status = hdpi_fail(HDP_ERR_NOT_FOUND,
                           "the report of step %llu is no longer kept",
                           (unsigned long long)number);
    }
    if (group->failed && number >= group->failed)
        group->failed = 0;
    (void)pthread_mutex_unlock(&group->lock);
    return status;
}

hdp_status hdpi_step_wait(hdp_report **out, hdp_group *group, uint64_t number)
{
    HDPI_RETURN_IF(refuse_self(group));
    HDPI_RETURN_IF(hdpi_step_known(group, number));
    HDPI_RETURN_IF(await(group, &group->done, number, INT64_MAX));
    return take_result(out, group, number);
}

hdp_status hdp_group_wait(hdp_report **out, hdp_group *group, uint64_t step)
{
    if (out)
        *out = NULL;
    HDPI_RETURN_IF(hdpi_group_check_any(group));
    return hdpi_step_wait(out, group, step);
}

hdp_status hdp_group_poll(int32_t *out_reached, hdp_group *group, uint64_t step,
                          int32_t until, int64_t patience_ns)
{
    const _Atomic uint64_t *counter;

    if (!out_reached)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out_reached is NULL");
    *out_reached = 0;
    HDPI_RETURN_IF(hdpi_group_check_any(group));
    HDPI_RETURN_IF(hdpi_step_known(group, step));
    if (until != HDP_ISSUED && until != HDP_DONE)
        return hdpi_fail(HDP_ERR_ARGUMENT, "until is %d, not a step's state",
                         (int)until);
    if (patience_ns < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "patience_ns is negative");
    counter = until == HDP_DONE ? &group->done : &group->issued;
    HDPI_RETURN_IF(await(group, counter, step, hdpi_deadline_ns(patience_ns)));
    if (atomic_load_explicit(&group->issued, memory_order_acquire) >= step)
        *out_reached = HDP_ISSUED;
    if (atomic_load_explicit(&group->done, memory_order_acquire) < step)
        return HDP_OK;
    *out_reached = HDP_DONE;
    return take_result(NULL, group, step);
}
