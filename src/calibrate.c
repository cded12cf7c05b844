/* The verb that measures: checks and captures what is asked, plans the courses,
 * lets all members sample at once (sample.c). What they found becomes a profile
 * in findings.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "cache.h"
#include "json/names.h"
#include "sample.h"

enum {
    BUDGET_NS = 300000000, /* where none is given */
    WARM_NS = 100000000,   /* discarded, at most a third of the budget */
    ITEMS_MAX = 1 << 20,
    PROBE_BYTES_MAX = 1 << 28, /* of rows made for a caller's function */
    LINK_WAYS = 2
};

/* ---- what is asked ------------------------------------------------------- */

static int by_items(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sums are kept in the type itself or in a wider one; what of that a device
 * has is its adapter's to say. */
static hdp_status check_compute(const hdp_calibrate_options *own)
{
    int32_t dtype = own->dtype ? own->dtype : HDP_F32;
    int narrow = dtype == HDP_F16 || dtype == HDP_BF16;
    int small = dtype == HDP_I8 || dtype == HDP_U8;

    if (own->compute == 0 || (own->compute == dtype && dtype != HDP_BF16) ||
        (narrow && own->compute == HDP_F32) ||
        (small && own->compute == HDP_I32))
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT,
                     "compute is %d: products of %s do not accumulate in that",
                     own->compute, hdpi_names_text(&hdpi_dtype_names, dtype));
}

static hdp_status check_options(const hdp_calibrate_options *own)
{
    if (own->dtype < 0 || own->dtype > HDP_I8)
        return hdpi_fail(HDP_ERR_ARGUMENT, "dtype is %d, not 0 to %d",
                         own->dtype, HDP_I8);
    if (own->probe < HDP_PROBE_GEMM || own->probe > HDP_PROBE_ALL)
        return hdpi_fail(HDP_ERR_ARGUMENT, "probe is %d, not 0 to %d",
                         own->probe, HDP_PROBE_ALL);
    if ((own->probe == HDP_PROBE_WORK) != !!own->work)
        return hdpi_fail(HDP_ERR_ARGUMENT, "work and HDP_PROBE_WORK go "
                                           "together");
    if (own->item_count < 0 || own->item_count > HDPI_SIZES_MAX ||
        !own->items != !own->item_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "item_count is %d, items are 1 to %d sizes or none",
                         own->item_count, HDPI_SIZES_MAX);
    for (int32_t i = 0; i < own->item_count; ++i)
        if (own->items[i] < 1)
            return hdpi_fail(HDP_ERR_ARGUMENT, "items[%d] is %lld, below 1", i,
                             (long long)own->items[i]);
    if (own->budget_ns < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "budget_ns is out of range");
    return check_compute(own);
}

/* Bytes of a row of each array together, as far as they matter here. */
static hdp_status add_rows(int64_t *bytes, const hdp_array *arrays,
                           int32_t count, const char *list)
{
    hdp_array array;

    for (int32_t i = 0; i < count; ++i) {
        HDPI_RETURN_IF(
            hdpi_options_read_at(&array, sizeof array, arrays, i, list));
        if (array.row_bytes <= 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%d]: row_bytes is %lld",
                             list, (int)i, (long long)array.row_bytes);
        if (array.row_bytes < PROBE_BYTES_MAX - *bytes)
            *bytes += array.row_bytes;
        else
            *bytes = PROBE_BYTES_MAX;
    }
    return HDP_OK;
}

/* How many rows may be made for a caller's function before they fill memory
 * that the measurement has no claim to. */
static hdp_status limit_items(struct hdpi_sampling *whole)
{
    const hdp_work *work = &whole->own_work;
    int64_t bytes = 1;

    HDPI_RETURN_IF(add_rows(&bytes, work->inputs, work->input_count, "inputs"));
    HDPI_RETURN_IF(
        add_rows(&bytes, work->outputs, work->output_count, "outputs"));
    whole->items_max = PROBE_BYTES_MAX / bytes;
    if (whole->items_max > ITEMS_MAX)
        whole->items_max = ITEMS_MAX;
    return HDP_OK;
}

static hdp_status take_work(struct hdpi_sampling *whole,
                            const hdp_calibrate_options *own)
{
    hdp_work *work = &whole->own_work;

    if (!own->work)
        return HDP_OK;
    HDPI_RETURN_IF(
        hdpi_options_read(work, sizeof *work, own->work, "hdp_work"));
    if (work->input_count < 0 || work->output_count < 0 ||
        work->input_count > INT32_MAX - work->output_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "input_count is %d, output_count %d",
                         work->input_count, work->output_count);
    HDPI_RETURN_IF(hdpi_work_check_functions(work, whole->group));
    whole->work = work;
    return limit_items(whole);
}

/* ---- the courses --------------------------------------------------------- */

/* Sizes of a course that a member may have at most: given, chosen, or, of a
 * machine file's device, the points of its curve; and the two ways of a
 * link. */
static size_t series_room(const hdp_group *group,
                          const hdp_calibrate_options *own)
{
    size_t room = HDPI_SIZES_CHOSEN;
    int32_t probe = own->probe == HDP_PROBE_ALL ? HDP_PROBE_GEMM : own->probe;

    if ((size_t)own->item_count > room)
        room = (size_t)own->item_count;
    for (int32_t m = 0; m < group->member_count; ++m) {
        const struct hdpi_device_row *row = &group->members[m].device->row;
        int32_t dtypes[] = { own->dtype ? own->dtype : HDP_F32,
                             row->ask.compute };
        struct hdpi_figures figures = { 0 };
        for (int i = 0; row->model && i < 2; ++i)
            if (hdpi_model_find(&figures, row->model, probe, dtypes[i]) &&
                (size_t)figures.size_count > room)
                room = (size_t)figures.size_count;
    }
    return room + LINK_WAYS;
}

static void add_course(struct hdpi_sampling *whole, int32_t kind,
                       double budget_ns)
{
    struct hdpi_course *course = &whole->courses[whole->course_count++];

    course->kind = kind;
    course->patient = whole->group->first_gpu >= 0 &&
                      (kind == HDP_PROBE_GEMM || kind == HDP_PROBE_WORK);
    course->budget_ns = budget_ns;
    course->warm_ns = fmin(WARM_NS, budget_ns / 3);
    for (int32_t m = 0; m < whole->group->member_count; ++m)
        if (!whole->group->members[m].device->virtual_time)
            atomic_fetch_add(&course->unsettled, 1);
}

/* Of all probes the products come last, when everything is warm, and have half
 * of the time. */
static void plan_courses(struct hdpi_sampling *whole, double budget_ns)
{
    if (whole->kind != HDP_PROBE_ALL) {
        add_course(whole, whole->kind, budget_ns);
        return;
    }
    add_course(whole, HDP_PROBE_LINK, budget_ns / 6);
    add_course(whole, HDP_PROBE_LAUNCH, budget_ns / 6);
    add_course(whole, HDP_PROBE_COPY, budget_ns / 6);
    add_course(whole, HDP_PROBE_GEMM, budget_ns / 2);
}

/* Everything in one block: when a deadline passes with a member still inside
 * the caller's function, the group keeps the block for as long as itself. */
static hdp_status prepare_all(struct hdpi_sampling **out, hdp_group *group,
                              const hdp_calibrate_options *own)
{
    size_t count = (size_t)group->member_count;
    size_t sizes = series_room(group, own);
    struct hdpi_sampling *whole =
        hdpi_alloc(1,
                   sizeof *whole + count * sizeof(struct hdpi_sampler) +
                       count * sizes * sizeof(struct hdpi_series),
                   "samples of a calibration");
    struct hdpi_series *series;

    if (!whole)
        return HDP_ERR_MEMORY;
    *out = whole;
    series = (struct hdpi_series *)(void *)(whole->members + count);
    whole->group = group;
    whole->kind = own->probe;
    whole->dtype = own->dtype ? own->dtype : HDP_F32;
    whole->compute = own->compute;
    whole->width = hdpi_course_width(group);
    whole->given_count = own->item_count;
    if (own->item_count)
        memcpy(whole->given, own->items,
               (size_t)own->item_count * sizeof *own->items);
    qsort(whole->given, (size_t)whole->given_count, sizeof *whole->given,
          by_items);
    plan_courses(whole, (double)(own->budget_ns ? own->budget_ns : BUDGET_NS) /
                            (group->caller_mode ? (double)count : 1));
    for (size_t m = 0; m < count; ++m) {
        whole->members[m].whole = whole;
        whole->members[m].member = &group->members[m];
        whole->members[m].series = series + m * sizes;
        whole->members[m].ways = series + (m + 1) * sizes - LINK_WAYS;
    }
    return take_work(whole, own);
}

static struct hdpi_cache *ask_cache(const struct hdpi_sampling *whole,
                                    const hdp_calibrate_options *own)
{
    const struct hdpi_cache_ask ask = {
        .probe = whole->kind,
        .dtype = whole->dtype,
        .compute = whole->compute,
        .items = own->item_count ? whole->given : NULL,
        .item_count = whole->given_count,
        .budget_ns = own->budget_ns ? own->budget_ns : BUDGET_NS
    };

    return hdpi_cache_open(whole->group, own->cache, &ask);
}

/* ---- the verb ------------------------------------------------------------ */

hdp_status hdp_calibrate(hdp_profile **out, hdp_group *group,
                         const hdp_calibrate_options *options)
{
    struct hdpi_sampling *whole = NULL;
    struct hdpi_cache *cache = NULL;
    hdp_calibrate_options own;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_group_check(group));
    HDPI_TRY(
        hdpi_options_read(&own, sizeof own, options, "hdp_calibrate_options"));
    HDPI_TRY(check_options(&own));
    HDPI_TRY(prepare_all(&whole, group, &own));
    cache = ask_cache(whole, &own);
    if (hdpi_cache_answer(out, cache))
        goto out;
    HDPI_TRY(hdpi_group_each(group, hdpi_sample_member, whole, 0));
    HDPI_TRY(hdpi_findings(out, whole));
    hdpi_cache_keep(cache, *out);
out:
    hdpi_cache_close(cache);
    if (whole && atomic_load_explicit(&group->lost, memory_order_acquire)) {
        hdpi_group_abandon(group, &whole->abandoned);
        whole = NULL;
    }
    free(whole);
    return status;
}
