/* A member's part of a calibration: it opens its workload, passes one gate
 * with all others, and samples its sizes in turn until everybody's samples
 * agree or the budget is spent, so that nobody is measured on an idle
 * machine. */
#include <math.h>
#include <string.h>
#include "core/robust.h"
#include "sample.h"

enum {
    SAMPLE_NS = 1500000,
    SAMPLE_MAX_NS = 20000000,
    WIDTH = 512,             /* of a product; the same for all members */
    TOP_REPEATS = 4,         /* of the largest size in a built-in cycle */
    LOOK_AGAIN_NS = 50000000 /* at the gate: is the group lost? */
};

static const double SETTLED = 0.01;   /* relative MAD of the last medians */
static const double CERTAIN = 0.003;  /* relative error of the median of all */
static const double MEDIAN_SE = 1.86; /* times MAD / sqrt(n): that error */

/* ---- one sample ---------------------------------------------------------- */

static hdp_status sample_probe(struct hdpi_sampler *own, int64_t items,
                               double *out_ns)
{
    struct hdpi_device *device = own->member->device;

    own->probe.items = items;
    HDPI_RETURN_IF(device->ops->mark(device, &own->from, HDPI_MARK_TIME));
    HDPI_RETURN_IF(device->ops->probe(device, &own->probe));
    HDPI_RETURN_IF(device->ops->mark(device, &own->to, HDPI_MARK_TIME));
    HDPI_RETURN_IF(device->ops->wait(
        device, atomic_load_explicit(&own->member->step->deadline_ns,
                                     memory_order_relaxed)));
    return device->ops->elapsed(device, out_ns, &own->from, &own->to);
}

/* A time of nothing is below the clock's grain; a profile needs one above. */
static hdp_status sample(struct hdpi_sampler *own, int64_t items,
                         double *out_ns)
{
    const struct hdpi_sampling *whole = own->whole;

    HDPI_RETURN_IF(hdpi_group_well(whole->group));
    if (whole->work)
        HDPI_RETURN_IF(
            hdpi_member_probe_work(own->member, whole->work, items, out_ns));
    else
        HDPI_RETURN_IF(sample_probe(own, items, out_ns));
    if (*out_ns < 1e-3)
        *out_ns = 1e-3;
    return HDP_OK;
}

/* ---- sizes --------------------------------------------------------------- */

static void add_size(struct hdpi_sampler *own, int64_t items)
{
    int32_t count = own->size_count;

    if (items < 1 || (count && items <= own->series[count - 1].items))
        return;
    own->series[count].items = items;
    own->size_count++;
}

/* A line needs two points. The last two of a product stand far apart, because
 * the slope beyond the last is theirs and carries the errors of both. */
static void choose_sizes(struct hdpi_sampler *own, int64_t top)
{
    const struct hdpi_sampling *whole = own->whole;
    double ratio;

    if (top < 2)
        top = 2;
    ratio = pow((double)top, 1.0 / (HDPI_SIZES_CHOSEN - 1));
    add_size(own, 1);
    if (whole->work) {
        for (int i = 1; i < HDPI_SIZES_CHOSEN - 1; ++i)
            add_size(own, llround(pow(ratio, i)));
    } else {
        add_size(own, top / 128);
        add_size(own, top / 32);
        add_size(own, top / 8);
    }
    add_size(own, top);
}

/* Doubles until a call takes half a sample and twice the time of one row, so
 * that the slope is not lost in a fixed cost; fits the size from that. It also
 * warms the function up. */
static hdp_status fit_work(struct hdpi_sampler *own, int64_t *out_top)
{
    int64_t limit = own->whole->items_max, items = 1;
    double one_ns, ns;

    HDPI_RETURN_IF(sample(own, items, &one_ns));
    HDPI_RETURN_IF(sample(own, items, &one_ns));
    for (ns = one_ns; items <= limit / 2;) {
        if (ns >= SAMPLE_NS / 2 && (ns >= 2 * one_ns || ns >= SAMPLE_MAX_NS))
            break;
        items *= 2;
        HDPI_RETURN_IF(sample(own, items, &ns));
    }
    *out_top = items;
    return HDP_OK;
}

static int has_dtype(const struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;
    const hdp_device *info = &own->member->device->row.info;
    uint32_t dtypes = info->native_dtypes | info->slow_dtypes;
    int32_t instead = own->member->device->row.ask.compute;

    return whole->kind == HDP_PROBE_COPY || whole->kind == HDP_PROBE_LAUNCH ||
           (dtypes >> whole->dtype & 1u) || (instead && dtypes >> instead & 1u);
}

static hdp_status open_probe(struct hdpi_sampler *own)
{
    struct hdpi_device *device = own->member->device;
    hdp_error before = *hdpi_error();
    hdp_status status;

    own->probe.kind = own->whole->kind;
    own->probe.dtype = own->whole->dtype;
    own->probe.width = WIDTH;
    status = device->ops->probe_open(device, &own->probe);
    if (status != HDP_ERR_UNSUPPORTED)
        return status;
    own->lacks = 1;
    *hdpi_error() = before; /* lacking a dtype is a finding, no failure */
    return HDP_OK;
}

static hdp_status prepare(struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;
    int64_t top = 0;

    own->lacks = !has_dtype(own);
    if (!own->lacks && !whole->work)
        HDPI_RETURN_IF(open_probe(own));
    if (own->lacks)
        return HDP_OK;
    for (int32_t i = 0; i < whole->given_count; ++i)
        add_size(own, whole->given[i]);
    if (whole->given_count)
        return HDP_OK;
    for (int32_t i = 0; i < own->probe.size_count; ++i)
        add_size(own, own->probe.sizes[i]);
    if (own->probe.size_count)
        return HDP_OK;
    if (whole->work)
        HDPI_RETURN_IF(fit_work(own, &top));
    choose_sizes(own, whole->work ? top : own->probe.start_items);
    return HDP_OK;
}

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

/* The last medians agree, and the median of all is known well enough. */
static int has_settled(const struct hdpi_sampler *own,
                       const struct hdpi_series *top)
{
    double values[HDPI_SAMPLES_MAX];
    size_t count = hdpi_series_kept(top);

    if (own->median_count < HDPI_BLOCKS)
        return 0;
    memcpy(values, own->medians, sizeof own->medians);
    if (hdpi_relative_mad(values, HDPI_BLOCKS) > SETTLED)
        return 0;
    memcpy(values, top->ns, count * sizeof *values);
    return MEDIAN_SE * hdpi_relative_mad(values, count) <=
           CERTAIN * sqrt((double)count);
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
    if (own->settled || !has_settled(own, top))
        return;
    own->settled = 1;
    if (!own->virtual_time)
        atomic_fetch_sub(&own->whole->unsettled, 1);
}

static void record(struct hdpi_sampler *own, struct hdpi_series *series,
                   double ns)
{
    series->ns[series->seen++ % HDPI_SAMPLES_MAX] = ns;
    if (series == &own->series[own->size_count - 1])
        judge(own, series);
}

/* A member whose samples agree goes on working, so that the others are
 * measured beside it; one on a virtual clock disturbs nobody and stops. */
static int is_over(const struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;

    if (atomic_load(&whole->failed) || atomic_load(&whole->group->lost))
        return 1;
    if (own->cycles == 0)
        return 0;
    if (own->elapsed_ns >= whole->budget_ns)
        return 1;
    if (own->virtual_time || whole->group->caller_mode)
        return own->settled;
    return atomic_load(&whole->unsettled) == 0;
}

/* What is discarded goes through the sizes as well: each is new once. Virtual
 * time needs it only where the model makes new sizes dear. */
static int is_warm(const struct hdpi_sampler *own)
{
    const struct hdpi_ask *ask = &own->member->device->row.ask;
    int64_t length = top_repeats(own) + own->size_count - 1;

    if (!own->virtual_time)
        return own->elapsed_ns >= own->whole->warm_ns;
    return !own->whole->work || ask->newshape_ns <= 0 ||
           own->discarded >= length;
}

static hdp_status measure(struct hdpi_sampler *own)
{
    int warm = 0;

    while (!is_over(own)) {
        struct hdpi_series *series;
        double ns;
        if (!warm && is_warm(own)) {
            warm = 1;
            own->position = 0;
            own->cycles = 0;
            if (own->virtual_time)
                own->elapsed_ns = 0;
        }
        series = next_series(own);
        HDPI_RETURN_IF(sample(own, series->items, &ns));
        own->elapsed_ns = own->virtual_time
                              ? own->elapsed_ns + ns
                              : (double)(hdpi_clock_ns() - own->begin_ns);
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

/* ---- a member's part ----------------------------------------------------- */

static void arrive(struct hdpi_sampling *whole)
{
    if (atomic_fetch_add(&whole->arrived, 1) + 1 == whole->group->member_count)
        hdpi_park_signal(&whole->gate);
}

/* Opens when every member has arrived, well or failed. One after the other,
 * in CALLER mode, nobody can wait for anybody. */
static hdp_status pass_gate(struct hdpi_sampling *whole)
{
    hdp_group *group = whole->group;

    arrive(whole);
    while (!group->caller_mode) {
        uint32_t seen = hdpi_park_read(&whole->gate);
        if (atomic_load(&whole->arrived) == group->member_count)
            break;
        if (atomic_load(&group->lost))
            return hdpi_group_well(group);
        (void)hdpi_park_wait(&whole->gate, seen, &group->patience,
                             hdpi_deadline_ns(LOOK_AGAIN_NS));
    }
    return HDP_OK;
}

static void finish(struct hdpi_sampler *own)
{
    struct hdpi_device *device = own->member->device;

    if (!own->whole->work)
        device->ops->probe_close(device);
    device->ops->unmark(device, &own->from);
    device->ops->unmark(device, &own->to);
}

static hdp_status run(struct hdpi_sampler *own)
{
    struct hdpi_sampling *whole = own->whole;
    hdp_status status = prepare(own);

    if (status != HDP_OK) {
        atomic_store(&whole->failed, 1); /* before the gate opens */
        arrive(whole);
        return status;
    }
    HDPI_RETURN_IF(pass_gate(whole));
    own->begin_ns = hdpi_clock_ns();
    own->warmup_ns = own->begin_ns - whole->begin_ns;
    if (!own->lacks)
        status = measure(own);
    if (status != HDP_OK)
        atomic_store(&whole->failed, 1);
    return status;
}

hdp_status hdpi_sample_member(struct hdpi_member *member, void *arg)
{
    struct hdpi_sampling *whole = arg;
    struct hdpi_sampler *own = &whole->members[member->index];
    hdp_error error;
    hdp_status status;

    own->virtual_time = member->device->virtual_time;
    status = run(own);
    if (!own->virtual_time && !own->settled)
        atomic_fetch_sub(&whole->unsettled, 1);
    error = *hdpi_error();
    finish(own);
    *hdpi_error() = error;
    return status;
}
