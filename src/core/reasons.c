/* Why no share is larger: one of the limits, or the speed that makes all end
 * together. */
#include "core/reasons.h"

static double end_of(const struct hdpi_reasons *why, int32_t i, int64_t items)
{
    return hdpi_finish_end(&why->limits->finish, i, items);
}

static int is_over_link(const struct hdpi_reasons *why, int32_t i,
                        int64_t items)
{
    if (!why->limits->finish.lanes)
        return 0; /* lines have no link */
    struct hdpi_lane alone = why->limits->finish.lanes[i];
    double copy_ns = alone.copy_ns;

    alone.copy_ns = 0;
    return copy_ns * (double)items > hdpi_lane_time(&alone, items);
}

static int is_memory_full(const struct hdpi_reasons *why, int32_t i,
                          int64_t items)
{
    const struct hdpi_limits *limits = why->limits;
    const struct hdpi_finish *in = &limits->finish;
    int64_t more = hdpi_limits_quantum(limits, i);

    if (!in->high)
        return 0;
    if (items > hdpi_limits_memory(limits, why->options, i) - more)
        return 1;
    if (!in->pools || in->pools[i].lead < 0 || in->item_bytes == 0)
        return 0;
    int64_t left = hdpi_limits_left(limits, in->pools[i].lead, why->items);
    if (left == INT64_MAX)
        return 0;
    if (items == 0)
        left -= in->fixed_bytes;
    return left / in->item_bytes < more || left < 0;
}

/* When nothing but its own speed keeps a rank from more. */
static inline int32_t speed_bound(const struct hdpi_reasons *why, int32_t i)
{
    const struct hdpi_finish *in = &why->limits->finish;
    int64_t items = why->items[i];
    int64_t quantum = hdpi_limits_quantum(why->limits, i);

    if (items == 0) {
        int64_t least = quantum < in->total ? quantum : in->total;
        int slow = end_of(why, i, least) > why->latest;
        return slow || why->benches ? HDP_BOUND_DROPPED : HDP_BOUND_SPEED;
    }
    if (is_over_link(why, i, items))
        return HDP_BOUND_LINK;
    if (quantum > 1 && items <= in->total - quantum &&
        end_of(why, i, items + 1) <= why->latest &&
        end_of(why, i, items + quantum) > why->latest)
        return HDP_BOUND_QUANTUM;
    return HDP_BOUND_SPEED;
}

/* When a minimum, a maximum, memory or the dtype may. */
static int32_t limit_bound(const struct hdpi_reasons *why, int32_t i)
{
    const struct hdpi_finish *in = &why->limits->finish;
    const hdp_split_options *options = why->options;
    int64_t items = why->items[i];
    int64_t quantum = hdpi_limits_quantum(why->limits, i);
    int64_t max = options->max_items ? options->max_items[i] : -1;

    if (why->limits->lacking > 0 && why->limits->profile->ranks[i].lacks_dtype)
        return HDP_BOUND_DTYPE;
    if (in->low && in->low[i] > 0 && items - in->low[i] < quantum &&
        (options->rule != HDP_RULE_FINISH ||
         end_of(why, i, items) > why->level))
        return HDP_BOUND_MIN;
    int limited = items > in->total - quantum; /* there was no more to give */
    int full = is_memory_full(why, i, items);
    int at_max = max >= 0 && items > max - quantum;
    if (!limited && (full || at_max) &&
        end_of(why, i, items + quantum) <= why->latest)
        return full ? HDP_BOUND_MEMORY : HDP_BOUND_MAX;
    if (items == 0 && in->high &&
        hdpi_limits_memory(why->limits, options, i) == 0)
        return HDP_BOUND_MEMORY;
    if (items == 0 && max == 0)
        return HDP_BOUND_MAX;
    return speed_bound(why, i);
}

void hdpi_reasons_fill(const struct hdpi_reasons *why, int32_t *bound_by)
{
    const struct hdpi_finish *in = &why->limits->finish;

    /* memory and a lacking dtype are maximums too */
    if (in->low || in->high)
        for (int32_t i = 0; i < in->count; i++)
            bound_by[i] = limit_bound(why, i);
    else
        for (int32_t i = 0; i < in->count; i++)
            bound_by[i] = speed_bound(why, i);
}
