/* What a member measures: its workload opened, the sizes chosen, one size timed
 * once. How often, and when it is enough, is sample.c's matter. */
#include <math.h>
#include "core/robust.h"
#include "host_link.h"
#include "sample.h"

enum {
    SAMPLE_NS = 1500000,
    SAMPLE_MAX_NS = 20000000,
    WIDTH = 512,      /* of products */
    WIDTH_GPU = 4096, /* where there is a GPU to fill */
    SCOUTS = 40,      /* short samples that look for spikes */
    SPIKES = 2,       /* one may be an accident */
    WANTED = 48,      /* samples of the largest size that a budget must hold */
    SCOUT_PART = 64,  /* of the largest size */
    SCOUT_BUDGET = 4, /* of the budget, one part at most */
    BUILT_IN_GAP = 4  /* between sizes of a built-in probe, but for the last */
};

/* ---- one sample ---------------------------------------------------------- */

static hdp_status sample_probe(struct hdpi_sampler *own, int64_t items,
                               double *out_ns)
{
    struct hdpi_device *device = own->member->device;

    own->probe.items = items;
    HDPI_RETURN_IF(device->ops->mark(device, &own->from, HDPI_MARK_TIME));
    if (own->link)
        HDPI_RETURN_IF(hdpi_link_copy(own->link, device, items));
    else
        HDPI_RETURN_IF(device->ops->probe(device, &own->probe));
    HDPI_RETURN_IF(device->ops->mark(device, &own->to, HDPI_MARK_TIME));
    HDPI_RETURN_IF(hdpi_member_wait(own->member));
    if (own->link)
        HDPI_RETURN_IF(
            hdpi_link_times(own->link, device, &own->from, &own->to));
    return device->ops->elapsed(device, out_ns, &own->from, &own->to);
}

/* A time of nothing is below the clock's grain; a profile needs one above. */
hdp_status hdpi_course_sample(struct hdpi_sampler *own, int64_t items,
                              double *out_ns)
{
    const struct hdpi_sampling *whole = own->whole;

    HDPI_RETURN_IF(hdpi_group_well(whole->group));
    if (whole->work)
        HDPI_RETURN_IF(
            hdpi_member_probe_work(own->member, whole->work, items, out_ns));
    else
        HDPI_RETURN_IF(sample_probe(own, items, out_ns));
    if (*out_ns < HDPI_GRAIN_NS)
        *out_ns = HDPI_GRAIN_NS;
    return HDP_OK;
}

/* ---- the largest size ---------------------------------------------------- */

/* The faster of two: what was in the way of one is seldom in the way of the
 * next. It also warms up. */
static hdp_status sample_twice(struct hdpi_sampler *own, int64_t items,
                               double *out_ns)
{
    double again_ns;

    HDPI_RETURN_IF(hdpi_course_sample(own, items, out_ns));
    HDPI_RETURN_IF(hdpi_course_sample(own, items, &again_ns));
    *out_ns = fmin(*out_ns, again_ns);
    return HDP_OK;
}

/* Doubles until a call takes half a sample and twice the time of one row, so
 * that the slope is not lost in a fixed cost; fits the size from that. */
static hdp_status fit(struct hdpi_sampler *own, int64_t limit, int64_t *out_top)
{
    int64_t items = 1;
    double one_ns, ns;

    HDPI_RETURN_IF(sample_twice(own, items, &one_ns));
    for (ns = one_ns; items <= limit / 2;) {
        if (ns >= SAMPLE_NS / 2 && (ns >= 2 * one_ns || ns >= SAMPLE_MAX_NS))
            break;
        items *= 2;
        HDPI_RETURN_IF(sample_twice(own, items, &ns));
    }
    *out_top = items;
    return HDP_OK;
}

/* Where other work takes the machine from time to time, one long sample can
 * cost the whole budget. Short ones tell: where spikes are no accident, the
 * largest size is cut until the budget holds enough samples, spikes included,
 * for medians that they cannot move. */
static hdp_status scout(struct hdpi_sampler *own, int64_t *top)
{
    double budget_ns = hdpi_sampler_course(own)->budget_ns;
    double ns[SCOUTS], sum = 0, limit;
    int64_t items = *top / SCOUT_PART > 1 ? *top / SCOUT_PART : 1;
    int32_t count = 0;

    do {
        HDPI_RETURN_IF(hdpi_course_sample(own, items, &ns[count]));
        sum += ns[count++];
    } while (count < SCOUTS && sum < budget_ns / SCOUT_BUDGET);
    if (count - (int32_t)hdpi_without_spikes(ns, (size_t)count) < SPIKES)
        return HDP_OK;
    /* `items` take sum / count, spikes included */
    limit = budget_ns / WANTED * (double)count / sum * (double)items;
    if (limit < (double)*top)
        *top = (int64_t)limit;
    return HDP_OK;
}

static hdp_status find_top(struct hdpi_sampler *own, int64_t *out_top)
{
    int32_t count = own->probe.size_count;

    if (own->whole->work)
        return fit(own, own->whole->items_max, out_top);
    if (own->link)
        return fit(own, HDPI_LINK_ITEMS_MAX, out_top);
    *out_top = count ? own->probe.sizes[count - 1] : own->probe.start_items;
    return HDP_OK;
}

/* ---- sizes --------------------------------------------------------------- */

static void add_size(struct hdpi_sampler *own, int64_t items)
{
    int32_t count = own->size_count;

    if (items < 1 || (count && items <= own->series[count - 1].items))
        return;
    own->series[count].items = items;
    own->series[count].seen = 0;
    own->size_count++;
}

/* Of a caller's function as many as there are below the largest, each the same
 * factor above the one before. */
static void add_geometric(struct hdpi_sampler *own, int64_t top)
{
    double ratio = pow((double)top, 1.0 / (HDPI_SIZES_CHOSEN - 1));
    int64_t items = 1;

    for (int i = 1; i < HDPI_SIZES_CHOSEN - 1; ++i) {
        int64_t next = llround(pow(ratio, i));
        items = next > items ? next : items + 1;
        if (items < top)
            add_size(own, items);
    }
}

/* A line needs two points. The last two of a product stand far apart, because
 * the slope beyond the last is theirs and carries the errors of both. */
static void add_sizes(struct hdpi_sampler *own, int64_t top)
{
    if (top < 2)
        top = 2;
    add_size(own, 1);
    if (own->whole->work) {
        add_geometric(own, top);
    } else {
        add_size(own, top / (8 * BUILT_IN_GAP * BUILT_IN_GAP));
        add_size(own, top / (8 * BUILT_IN_GAP));
        add_size(own, top / 8);
    }
    add_size(own, top);
}

static hdp_status choose_sizes(struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;
    int last = hdpi_sampler_at_last(own);
    int64_t top = 0;

    for (int32_t i = 0; last && i < whole->given_count; ++i)
        add_size(own, whole->given[i]);
    if (own->size_count)
        return HDP_OK;
    HDPI_RETURN_IF(find_top(own, &top));
    if (!last) {
        add_size(own, top); /* its rate is all that is wanted */
        return HDP_OK;
    }
    for (int32_t i = 0; i < own->probe.size_count; ++i)
        add_size(own, own->probe.sizes[i]);
    if (own->size_count)
        return HDP_OK;
    HDPI_RETURN_IF(scout(own, &top));
    add_sizes(own, top);
    return HDP_OK;
}

/* ---- opening and closing ------------------------------------------------- */

int32_t hdpi_course_width(const hdp_group *group)
{
    for (int32_t m = 0; m < group->member_count; ++m)
        if (group->members[m].device->row.info.kind == HDP_CUDA)
            return WIDTH_GPU;
    return WIDTH;
}

static int has_dtype(struct hdpi_sampler *own)
{
    const struct hdpi_sampling *whole = own->whole;
    const hdp_device *info = &own->member->device->row.info;
    uint32_t dtypes = info->native_dtypes | info->slow_dtypes;
    int32_t instead = own->member->device->row.ask.compute;
    int32_t kind = hdpi_sampler_course(own)->kind;

    return (kind != HDP_PROBE_GEMM && kind != HDP_PROBE_WORK) ||
           (dtypes >> whole->dtype & 1u) || (instead && dtypes >> instead & 1u);
}

static hdp_status open_probe(struct hdpi_sampler *own)
{
    struct hdpi_device *device = own->member->device;
    hdp_error before = *hdpi_error();
    hdp_status status;

    own->probe = (struct hdpi_probe){ .kind = hdpi_sampler_course(own)->kind,
                                      .dtype = own->whole->dtype,
                                      .compute = own->whole->compute,
                                      .width = own->whole->width };
    status = device->ops->probe_open(device, &own->probe);
    if (status != HDP_ERR_UNSUPPORTED)
        return hdpi_member_judge(own->member, status);
    own->lacks = 1;
    *hdpi_error() = before; /* lacking a dtype is a finding, no failure */
    return HDP_OK;
}

hdp_status hdpi_course_open(struct hdpi_sampler *own)
{
    own->lacks = !has_dtype(own);
    if (own->lacks)
        return HDP_OK;
    if (hdpi_sampler_course(own)->kind == HDP_PROBE_LINK)
        HDPI_RETURN_IF(hdpi_link_open(&own->link, own->member->device));
    else if (!own->whole->work)
        HDPI_RETURN_IF(open_probe(own));
    return own->lacks ? HDP_OK : choose_sizes(own);
}

void hdpi_course_close(struct hdpi_sampler *own)
{
    struct hdpi_device *device = own->member->device;
    hdp_error error = *hdpi_error();

    if (!own->whole->work)
        device->ops->probe_close(device);
    hdpi_link_close(own->link, device);
    own->link = NULL;
    device->ops->unmark(device, &own->from);
    device->ops->unmark(device, &own->to);
    *hdpi_error() = error;
}
