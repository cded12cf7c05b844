/* A member's part of a calibration: course by course it opens a workload, passes
 * one gate with all others, and samples its sizes in turn until everybody's
 * samples agree or the budget is spent, so that nobody is measured on an idle
 * machine. */
#include <math.h>
#include <string.h>
#include "core/robust.h"
#include "sample.h"

enum {
    TOP_REPEATS = 4,         /* of the largest size in a built-in cycle */
    LOOK_AGAIN_NS = 50000000 /* at the gate: is the group lost? */
};

static const double SETTLED = 0.01;   /* relative MAD of the last medians */
static const double CERTAIN = 0.003;  /* relative error of the median of all */
static const double MEDIAN_SE = 1.86; /* times MAD / sqrt(n): that error */

/* ---- sampling ------------------------------------------------------------ */

/* The largest size first and, in a built-in probe, several times: rate, spread
 * and slope hang on it. */
static int32_t top_repeats(const struct hdpi_sampler *own)
{
    return own->whole->work || own->whole->given_count ? 1 : TOP_REPEATS;
}

static struct hdpi_series *next_series(struct hdpi_sampler *own)
{
    int32_t top = own->size_count - 1, repeats = top_repeats(own);

    if (own->position < repeats)
        return &own->series[top];
    return &own->series[top - 1 - (own->position - repeats)];
}

static void step_on(struct hdpi_sampler *own)
{
    int32_t length = top_repeats(own) + own->size_count - 1;

    if (++own->position < length)
        return;
    own->position = 0;
    own->cycles++;
}

/* Clocks that fall or rise: the older half of the samples against the newer,
 * beyond what their noise makes of two medians. Members that stop at different
 * times would then be compared at different clocks. */
static int is_moving(struct hdpi_sampler *own, const struct hdpi_series *top,
                     double noise)
{
    double *older = own->scratch, *newer = older + HDPI_SAMPLES_MAX / 2;
    size_t count = hdpi_series_kept(top), half = count / 2;
    size_t first = (size_t)top->seen - count;

    for (size_t i = 0; i < half; ++i) {
        older[i] = top->ns[(first + i) % HDPI_SAMPLES_MAX];
        newer[i] = top->ns[(first + count - half + i) % HDPI_SAMPLES_MAX];
    }
    return fabs(hdpi_median(newer, half) / hdpi_median(older, half) - 1) >
           CERTAIN + 2 * MEDIAN_SE * noise / sqrt((double)half);
}

/* The last medians agree, the median of all is known well enough, and nothing
 * moves. */
static int has_settled(struct hdpi_sampler *own, const struct hdpi_series *top)
{
    double *values = own->scratch, noise;
    size_t count = hdpi_series_kept(top);

    if (own->median_count < HDPI_BLOCKS)
        return 0;
    memcpy(values, own->medians, sizeof own->medians);
    if (hdpi_relative_mad(values, HDPI_BLOCKS) > SETTLED)
        return 0;
    memcpy(values, top->ns, count * sizeof *values);
    noise = hdpi_relative_mad(values, count);
    return MEDIAN_SE * noise <= CERTAIN * sqrt((double)count) &&
           !is_moving(own, top, noise);
}

/* A median of every few samples of the largest size tells whether times are
 * still moving. */
static void judge(struct hdpi_sampler *own, const struct hdpi_series *top)
{
    double values[HDPI_BLOCK], median;
    int64_t last = top->seen - 1;

    own->recent[last % HDPI_BLOCK] = top->ns[last % HDPI_SAMPLES_MAX];
    if (top->seen % HDPI_BLOCK)
        return;
    memcpy(values, own->recent, sizeof values);
    median = hdpi_median(values, HDPI_BLOCK);
    if (own->median_count == 0)
        own->first_median = median;
    own->medians[own->median_count++ % HDPI_BLOCKS] = median;
    if (own->settled || hdpi_sampler_course(own)->patient ||
        !has_settled(own, top))
        return;
    own->settled = 1;
    if (!own->virtual_time)
        atomic_fetch_sub(&hdpi_sampler_course(own)->unsettled, 1);
}

static void keep(struct hdpi_series *series, double ns)
{
    series->ns[series->seen++ % HDPI_SAMPLES_MAX] = ns;
}

static void record(struct hdpi_sampler *own, struct hdpi_series *series,
                   double ns)
{
    keep(series, ns);
    if (series != &own->series[own->size_count - 1])
        return;
    if (own->link) {
        keep(&own->ways[0], own->link->in_ns);
        keep(&own->ways[1], own->link->out_ns);
    }
    judge(own, series);
}

/* A member whose samples agree goes on working, so that the others are
 * measured beside it; one on a virtual clock disturbs nobody and stops. */
static int is_over(struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;
    const struct hdpi_course *course = hdpi_sampler_course(own);

    if (atomic_load(&whole->failed) || atomic_load(&whole->group->lost))
        return 1;
    if (own->cycles == 0)
        return 0;
    if (own->elapsed_ns >= course->budget_ns)
        return 1;
    if (own->virtual_time || whole->group->caller_mode)
        return own->settled;
    return atomic_load(&course->unsettled) == 0;
}

/* What is discarded goes through the sizes as well: each is new once. Virtual
 * time needs only one sample, more where the model makes new sizes dear. */
static int is_warm(struct hdpi_sampler *own)
{
    const struct hdpi_ask *ask = &own->member->device->row.ask;
    int64_t length = top_repeats(own) + own->size_count - 1;

    if (!own->virtual_time)
        return own->elapsed_ns >= hdpi_sampler_course(own)->warm_ns;
    if (own->whole->work && ask->newshape_ns > 0)
        return own->discarded >= length;
    return own->discarded > 0;
}

/* A device whose clock runs ahead of this machine's is believed. */
static void pass_time(struct hdpi_sampler *own, double ns)
{
    own->busy_ns += ns;
    own->elapsed_ns = own->busy_ns;
    if (!own->virtual_time)
        own->elapsed_ns =
            fmax(own->busy_ns, (double)(hdpi_clock_ns() - own->begin_ns));
}

/* The last discarded sample may have been long: what it took beyond the warm-up
 * is not charged to the budget. */
static void start_recording(struct hdpi_sampler *own)
{
    double charged_ns =
        own->virtual_time ? 0 : hdpi_sampler_course(own)->warm_ns;
    int64_t over_ns = llround(own->elapsed_ns - charged_ns);

    own->position = 0;
    own->cycles = 0;
    own->begin_ns += over_ns;
    own->warmup_ns += over_ns;
    own->elapsed_ns = charged_ns;
    own->busy_ns = fmin(own->busy_ns, charged_ns);
}

static hdp_status measure(struct hdpi_sampler *own)
{
    int warm = 0;

    while (!is_over(own)) {
        struct hdpi_series *series;
        double ns;
        if (!warm && is_warm(own)) {
            warm = 1;
            start_recording(own);
        }
        series = next_series(own);
        HDPI_RETURN_IF(hdpi_course_sample(own, series->items, &ns));
        pass_time(own, ns);
        if (warm)
            record(own, series, ns);
        else
            own->discarded++;
        step_on(own);
        if (!warm)
            own->cycles = 0;
    }
    return HDP_OK;
}

/* ---- one course ----------------------------------------------------------- */

static void start_course(struct hdpi_sampler *own, int32_t course)
{
    own->course = course;
    own->size_count = own->lacks = own->settled = own->position = 0;
    own->cycles = own->discarded = own->median_count = 0;
    own->elapsed_ns = own->busy_ns = own->first_median = 0;
    own->failure.status = HDP_OK;
    memset(&own->probe, 0, sizeof own->probe);
}

static void arrive(struct hdpi_sampler *own)
{
    struct hdpi_sampling *whole = own->whole;

    if (atomic_fetch_add(&hdpi_sampler_course(own)->arrived, 1) + 1 ==
            whole->group->member_count ||
        atomic_load(&whole->failed))
        hdpi_park_signal(&whole->gate);
}

/* Opens when every member has arrived, well or not, or one has given up. One
 * after the other, in CALLER mode, nobody can wait for anybody. */
static hdp_status pass_gate(struct hdpi_sampler *own)
{
    struct hdpi_sampling *whole = own->whole;
    hdp_group *group = whole->group;

    arrive(own);
    while (!group->caller_mode && !atomic_load(&whole->failed)) {
        uint32_t seen = hdpi_park_read(&whole->gate);
        if (atomic_load(&hdpi_sampler_course(own)->arrived) ==
            group->member_count)
            break;
        if (atomic_load(&group->lost))
            return hdpi_group_well(group);
        (void)hdpi_park_wait(&whole->gate, seen, &group->patience,
                             hdpi_deadline_ns(LOOK_AGAIN_NS));
    }
    return HDP_OK;
}

static double median_of(struct hdpi_sampler *own,
                        const struct hdpi_series *series)
{
    double *values = own->scratch;
    size_t count = hdpi_series_kept(series);

    memcpy(values, series->ns, count * sizeof *values);
    return hdpi_typical(values, count);
}

/* What does not take measurable time is not known, or no limit. */
static double per_second(double bytes, double ns)
{
    return ns > HDPI_GRAIN_NS ? bytes / ns * 1e9 : 0;
}

/* Besides the curve, from the largest size. */
static void conclude(struct hdpi_sampler *own)
{
    const struct hdpi_series *top = &own->series[own->size_count - 1];
    double items = (double)top->items, ns = median_of(own, top);

    switch (hdpi_sampler_course(own)->kind) {
    case HDP_PROBE_LINK:
        items *= HDPI_LINK_ITEM_BYTES;
        own->found.in_bytes_per_second =
            per_second(items, median_of(own, &own->ways[0]));
        own->found.out_bytes_per_second =
            per_second(items, median_of(own, &own->ways[1]));
        break;
    case HDP_PROBE_COPY:
        own->found.copy_bytes_per_second =
            per_second(items * own->probe.item_bytes, ns);
        break;
    case HDP_PROBE_LAUNCH:
        own->found.launch_ns = ns > HDPI_GRAIN_NS ? ns / items : 0;
        break;
    default:
        break;
    }
}

/* A library or device that fails in the library's own workload leaves a member
 * that can still be given rows; so does, in a course that only adds a figure,
 * a lack of memory. What ends the group, and what the caller's function says,
 * stays an error. */
static hdp_status as_finding(struct hdpi_sampler *own, hdp_status status,
                             const hdp_error *before)
{
    const struct hdpi_sampling *whole = own->whole;
    int harmless = status == HDP_ERR_DEVICE || status == HDP_ERR_SYSTEM ||
                   (status == HDP_ERR_MEMORY && !hdpi_sampler_at_last(own));

    if (!harmless || whole->work || atomic_load(&whole->group->lost))
        return status;
    own->failure = *hdpi_error();
    if (!hdpi_sampler_at_last(own)) {
        own->missed = own->failure;
        own->missed_kind = hdpi_sampler_course(own)->kind;
    }
    *hdpi_error() = *before;
    return HDP_OK;
}

static hdp_status sample_course(struct hdpi_sampler *own)
{
    const hdp_error before = *hdpi_error();
    int64_t opened_ns = hdpi_clock_ns();
    hdp_status status = hdpi_course_open(own);

    if (status != HDP_OK)
        status = as_finding(own, status, &before);
    if (status != HDP_OK) {
        atomic_store(&own->whole->failed, 1); /* before the gate opens */
        arrive(own);
        return status;
    }
    HDPI_RETURN_IF(pass_gate(own));
    own->begin_ns = hdpi_clock_ns();
    own->warmup_ns += own->begin_ns - opened_ns;
    if (own->lacks || own->failure.status != HDP_OK)
        return HDP_OK;
    status = measure(own);
    own->measured_ns += own->elapsed_ns;
    if (status != HDP_OK)
        return as_finding(own, status, &before);
    if (own->cycles > 0)
        conclude(own);
    return HDP_OK;
}

/* ---- a member's part ----------------------------------------------------- */

/* A function that failed may have left work in the queue, on memory that its
 * owner frees next; this thread's error stays. */
static void drain(struct hdpi_member *member)
{
    const hdp_error before = *hdpi_error();

    if (member->device->asynchronous)
        (void)hdpi_member_wait(member);
    *hdpi_error() = before;
}

hdp_status hdpi_sample_member(struct hdpi_member *member, void *arg)
{
    struct hdpi_sampling *whole = arg;
    struct hdpi_sampler *own = &whole->members[member->index];
    hdp_status status = HDP_OK;

    own->virtual_time = member->device->virtual_time;
    for (int32_t c = 0; c < whole->course_count && status == HDP_OK; ++c) {
        start_course(own, c);
        status = sample_course(own);
        if (status != HDP_OK) {
            atomic_store(&whole->failed, 1);
            drain(member);
        }
        if (!own->virtual_time && !own->settled)
            atomic_fetch_sub(&hdpi_sampler_course(own)->unsettled, 1);
        hdpi_course_close(own);
    }
    return status;
}
