/* Which ranks share a device, and what it has room for. */
#include <stdlib.h>
#include "base/mem.h"
#include "core/pools.h"

struct domain {
    int32_t number, rank;
};

static int by_number(const void *a, const void *b)
{
    const struct domain *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* `domains` in order of number, then rank: links neighbours of one number. */
static int link_pools(struct hdpi_limits *out, const struct domain *domains,
                      int32_t count)
{
    int any = 0;
    for (int32_t k = 0; k < count; k++) {
        struct hdpi_pool *pool = &out->pools[domains[k].rank];
        int follows = k > 0 && domains[k].number == domains[k - 1].number;
        int leads = k + 1 < count && domains[k].number == domains[k + 1].number;
        pool->lead = -1;
        pool->next = leads ? domains[k + 1].rank : -1;
        if (follows)
            pool->lead = out->pools[domains[k - 1].rank].lead;
        else if (leads)
            pool->lead = domains[k].rank;
        any |= leads;
    }
    return any;
}

/* Insertion for a few, where qsort() might allocate. */
static void sort_domains(struct domain *domains, int32_t count)
{
    if (count > HDPI_LIMITS_INLINE) {
        qsort(domains, (size_t)count, sizeof *domains, by_number);
        return;
    }
    for (int32_t k = 1; k < count; k++) {
        struct domain moved = domains[k];
        int32_t at = k;
        for (; at > 0 && by_number(&domains[at - 1], &moved) > 0; at--)
            domains[at] = domains[at - 1];
        domains[at] = moved;
    }
}

hdp_status hdpi_pools_link(struct hdpi_limits *out,
                           const hdp_split_options *options)
{
    struct domain few[HDPI_LIMITS_INLINE], *domains = few;
    const hdp_profile *profile = out->profile;
    int32_t count = out->finish.count, shared = 0;

    if (options->item_bytes == 0 && options->fixed_bytes == 0)
        return HDP_OK;
    for (int32_t i = 0; i < count; i++)
        shared += profile->ranks[i].memory_domain != 0;
    if (shared < 2)
        return HDP_OK;
    for (int32_t i = 0; i < count; i++)
        out->pools[i] = (struct hdpi_pool){ -1, -1 };
    if (shared > HDPI_LIMITS_INLINE) {
        domains = hdpi_alloc((size_t)shared, sizeof *domains, "a split");
        if (!domains)
            return HDP_ERR_MEMORY;
    }
    int32_t k = 0;
    for (int32_t i = 0; i < count; i++)
        if (profile->ranks[i].memory_domain != 0)
            domains[k++] =
                (struct domain){ profile->ranks[i].memory_domain, i };
    sort_domains(domains, k);
    if (link_pools(out, domains, k))
        out->finish.pools = out->pools;
    if (domains != few)
        free(domains);
    return HDP_OK;
}

/* The smallest figure known is the device's; nobody fits more than it. One that
 * the margin alone fills has room for nobody, which is no reason to refuse. */
void hdpi_pools_fill(struct hdpi_limits *out, const hdp_split_options *options)
{
    int64_t total = out->finish.total;

    for (int32_t lead = 0; out->finish.pools && lead < out->finish.count;
         lead++) {
        int64_t room = INT64_MAX;
        if (out->pools[lead].lead != lead)
            continue;
        for (int32_t i = lead; i >= 0; i = out->pools[i].next) {
            int64_t bytes = hdpi_room_of(&out->profile->ranks[i], options);
            room = bytes < room ? bytes : room;
        }
        if (room < 0)
            room = 0;
        out->room[lead] = room;
        int64_t items = hdpi_items_in(room, options, total);
        for (int32_t i = lead; i >= 0; i = out->pools[i].next)
            hdpi_limits_cap(out, i, items);
    }
}
