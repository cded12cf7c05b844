/* Splits of models drawn from the bytes. Every plan obeys the limits, is
 * complete and repeats; the finish time is never above equal or single, has no
 * gap, and for few items is the least of all splits there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/plan.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

enum { RANKS_MAX = 24, POINTS_MAX = 5, FEW_RANKS = 4, FEW_ITEMS = 16 };

#define TIME_MAX 1e24 /* ns of a link: more counts as this */

struct model {
    int32_t count, few; /* few: every split can be looked at */
    int64_t total;
    hdp_model ranks[RANKS_MAX];
    int64_t point_items[RANKS_MAX][POINTS_MAX];
    double point_ns[RANKS_MAX][POINTS_MAX];
    int64_t min[RANKS_MAX], max[RANKS_MAX];
    double ratios[RANKS_MAX];
    int32_t lacks[RANKS_MAX];
    hdp_split_options options;
    hdp_profile *profile;
};

/* ---- models from bytes --------------------------------------------------- */

static void draw_curve(struct model *m, int32_t i, struct fuzz_bytes *bytes)
{
    hdp_model *rank = &m->ranks[i];
    int32_t count = fuzz_byte(bytes) % (POINTS_MAX * 2);
    int64_t at = 0;

    if (count >= POINTS_MAX) {
        rank->fixed_ns =
            m->few ? 1000.0 * fuzz_byte(bytes) : fuzz_real(bytes) * 1e-6;
        rank->item_ns =
            m->few ? 1000.0 * (1 + fuzz_byte(bytes)) : fuzz_real(bytes);
        return;
    }
    for (int32_t k = 0; k < count; k++) {
        int64_t step = m->few ? fuzz_byte(bytes) % 8 : fuzz_wide(bytes);
        at = step >= INT64_MAX - at ? INT64_MAX : at + 1 + step;
        m->point_items[i][k] = at;
        m->point_ns[i][k] =
            m->few ? 1000.0 * (1 + fuzz_byte(bytes)) : fuzz_real(bytes);
    }
    rank->point_items = m->point_items[i];
    rank->point_ns = m->point_ns[i];
    rank->point_count = count;
    if (count == 0)
        rank->item_ns = 1000;
}

static void draw_memory(struct model *m, int32_t i, struct fuzz_bytes *bytes)
{
    hdp_model *rank = &m->ranks[i];

    rank->memory_bytes = m->few ? fuzz_byte(bytes) : fuzz_wide(bytes);
    rank->memory_domain = fuzz_byte(bytes) % 8;
    if (rank->memory_domain > 4)
        rank->memory_domain = 0;
    for (int32_t j = 0; rank->memory_domain && j < i; j++)
        if (m->ranks[j].memory_domain == rank->memory_domain)
            rank->memory_bytes = m->ranks[j].memory_bytes;
}

/* `traits` says what this rank has beside a speed. */
static void draw_rank(struct model *m, int32_t i, struct fuzz_bytes *bytes)
{
    hdp_model *rank = &m->ranks[i];
    uint8_t traits = fuzz_byte(bytes);

    hdp_options_init(rank, sizeof *rank);
    draw_curve(m, i, bytes);
    m->max[i] = -1;
    m->ratios[i] = fuzz_byte(bytes);
    if (traits & 1)
        draw_memory(m, i, bytes);
    if (traits & 2)
        rank->in_bytes_per_second = fuzz_real(bytes);
    if (traits & 4)
        rank->out_bytes_per_second = fuzz_real(bytes);
    if (traits & 8)
        rank->reduce_bytes_per_second = fuzz_real(bytes);
    if ((traits & 48) == 48)
        m->min[i] = m->few ? fuzz_byte(bytes) % 8 : fuzz_wide(bytes);
    if (traits & 64)
        m->max[i] = m->few ? fuzz_byte(bytes) % 16 : fuzz_wide(bytes);
    m->lacks[i] = traits > 250;
}

static void draw_options(struct model *m, struct fuzz_bytes *bytes)
{
    hdp_split_options *options = &m->options;
    uint8_t traits = fuzz_byte(bytes);

    hdp_options_init(options, sizeof *options);
    options->rule = fuzz_byte(bytes) % (HDP_RULE_MANUAL + 1);
    options->quantum = m->few ? fuzz_byte(bytes) % 6 : fuzz_wide(bytes);
    if ((traits & 3) == 3)
        options->quantum = -1;
    options->keep_all = (traits & 12) == 12;
    options->overlap = traits >> 4 & 1;
    options->may_bench = traits >> 5 & 1;
    if (traits & 64) {
        options->item_bytes = m->few ? fuzz_byte(bytes) % 32 : fuzz_wide(bytes);
        options->fixed_bytes =
            m->few ? fuzz_byte(bytes) % 64 : fuzz_wide(bytes);
        options->keep_free_bytes =
            m->few ? fuzz_byte(bytes) % 16 : fuzz_wide(bytes);
    }
    if (traits & 128) {
        options->in_bytes = fuzz_wide(bytes);
        options->out_bytes = fuzz_wide(bytes);
        options->reduce_bytes = fuzz_wide(bytes);
    }
    options->min_items = m->min;
    options->max_items = m->max;
    options->ratios = m->ratios;
}

/* 0: the bytes make no profile. */
static int draw_model(struct model *m, struct fuzz_bytes *bytes)
{
    memset(m, 0, sizeof *m);
    m->few = fuzz_byte(bytes) % 4 > 0;
    m->count = 1 + fuzz_byte(bytes) % (m->few ? FEW_RANKS : RANKS_MAX);
    m->total = m->few ? fuzz_byte(bytes) % (FEW_ITEMS + 1) : fuzz_wide(bytes);
    draw_options(m, bytes);
    for (int32_t i = 0; i < m->count; i++)
        draw_rank(m, i, bytes);
    if (!fuzz_taken(hdp_profile_create(&m->profile, m->ranks, m->count),
                    m->profile))
        return 0;
    for (int32_t i = 0; i < m->count; i++)
        m->profile->ranks[i].lacks_dtype = m->lacks[i];
    return 1;
}

/* ---- the rules of a split, again ------------------------------------------ */

static double link_ns(double bytes, double rate)
{
    return bytes > 0 && rate > 0 ? fmin(bytes / rate * 1e9, TIME_MAX) : 0;
}

static double time_of(const struct model *m, int32_t i, int64_t items)
{
    const hdp_model *rank = &m->ranks[i];
    double ns = hdpi_profile_time(&m->profile->ranks[i], items);
    double in = link_ns((double)m->options.in_bytes, rank->in_bytes_per_second);
    double out =
        link_ns((double)m->options.out_bytes, rank->out_bytes_per_second);

    in *= (double)items;
    out *= (double)items;
    if (items == 0)
        return 0;
    return m->options.overlap ? fmax(ns, fmax(in, out)) : ns + (in + out);
}

static double slowest(const struct model *m, const int64_t *items)
{
    double ns = 0;

    for (int32_t i = 0; i < m->count; i++)
        ns = fmax(ns, time_of(m, i, items[i]));
    return ns;
}

/* Whether a device's memory holds the shares of all ranks on it. */
static int fits(const struct model *m, const int64_t *items, int32_t device)
{
    const hdp_split_options *options = &m->options;
    const hdp_model *here = &m->ranks[device];
    int64_t left = here->memory_bytes - options->keep_free_bytes;

    if (here->memory_bytes == 0 ||
        (options->item_bytes == 0 && options->fixed_bytes == 0))
        return 1;
    for (int32_t i = 0; i < m->count; i++) {
        int same =
            i == device || (here->memory_domain > 0 &&
                            m->ranks[i].memory_domain == here->memory_domain);
        if (!same || items[i] == 0)
            continue;
        if (left < options->fixed_bytes)
            return 0;
        left -= options->fixed_bytes;
        if (options->item_bytes > 0 && items[i] > left / options->item_bytes)
            return 0;
        left -= items[i] * options->item_bytes;
    }
    return 1;
}

/* NULL, or what the shares break. */
static const char *broken(const struct model *m, const int64_t *items,
                          const int64_t *quanta)
{
    int64_t sum = 0;
    int32_t last = m->count - 1;

    while (last > 0 && items[last] == 0)
        last--;
    for (int32_t i = 0; i < m->count; i++) {
        if (items[i] < 0 || items[i] > m->total - sum)
            return "the total";
        sum += items[i];
        if (items[i] < m->min[i])
            return "a minimum";
        if (m->max[i] >= 0 && items[i] > m->max[i])
            return "a maximum";
        if (m->lacks[i] && items[i] > 0)
            return "a missing dtype";
        if (i != last && items[i] % quanta[i] != 0)
            return "a quantum";
        if (m->options.rule == HDP_RULE_MANUAL && m->ratios[i] == 0 &&
            items[i] > 0)
            return "a ratio of 0";
        if (!fits(m, items, i))
            return "the memory of a device";
    }
    return sum == m->total ? NULL : "the total";
}

/* The reduce as a ring: 2(n - 1)/n of the bytes over the slowest link known. */
static double ring_ns(const struct model *m, const int32_t *in_ring)
{
    double count = 0, slow = 0;

    for (int32_t i = 0; i < m->count; i++) {
        double link = m->ranks[i].reduce_bytes_per_second;
        if (!in_ring[i])
            continue;
        count++;
        if (link > 0 && (slow <= 0 || link < slow))
            slow = link;
    }
    if (count < 2 || slow <= 0)
        return 0;
    double bytes = (double)m->options.reduce_bytes * 2 * (count - 1) / count;
    return fmin(bytes / slow * 1e9, TIME_MAX);
}

/* What a step of these shares takes at best: who has none may leave the ring
 * where that is allowed. */
static double step_of(const struct model *m, const int64_t *items)
{
    int32_t in_ring[RANKS_MAX];

    for (int32_t i = 0; i < m->count; i++)
        in_ring[i] = !m->options.may_bench || items[i] > 0;
    return slowest(m, items) + ring_ns(m, in_ring);
}

/* The least step over all splits of what is left over ranks i and up. */
static void look_at_all(const struct model *m, int32_t i, int64_t left,
                        int64_t *items, const int64_t *quanta, double *best)
{
    if (i == m->count - 1) {
        items[i] = left;
        double ns = step_of(m, items);
        if (ns < *best && !broken(m, items, quanta))
            *best = ns;
        return;
    }
    for (items[i] = 0; items[i] <= left; items[i]++)
        look_at_all(m, i + 1, left - items[i], items, quanta, best);
}

static double optimum(const struct model *m, const int64_t *quanta)
{
    int64_t items[RANKS_MAX];
    double best = INFINITY;

    look_at_all(m, 0, m->total, items, quanta, &best);
    return best;
}

/* ---- checks -------------------------------------------------------------- */

/* keep_all changes what is best. */
static int can_look_at_all(const struct model *m)
{
    return m->few && !m->options.keep_all && m->options.rule == HDP_RULE_FINISH;
}

static int all_lack(const struct model *m)
{
    for (int32_t i = 0; i < m->count; i++)
        if (!m->lacks[i])
            return 0;
    return 1;
}

/* Nobody could count the bytes of such a batch. */
static int passes_int64(int64_t items, int64_t bytes)
{
    return bytes > 0 && items > INT64_MAX / bytes;
}

static void check_refused(const struct model *m, hdp_status status,
                          const hdp_plan *plan)
{
    int64_t quanta[RANKS_MAX];

    FUZZ_CHECK(!plan && hdp_last_error()[0], "refused without a word");
    FUZZ_CHECK(status == HDP_ERR_ARGUMENT || status == HDP_ERR_CAPACITY ||
                   status == HDP_ERR_UNSUPPORTED,
               "status %d: %s", (int)status, hdp_last_error());
    if (status == HDP_ERR_UNSUPPORTED)
        FUZZ_CHECK(m->options.quantum == -1 || all_lack(m), "unsupported: %s",
                   hdp_last_error());
    if (!can_look_at_all(m) || m->options.quantum < 0 ||
        passes_int64(m->total, m->options.in_bytes) ||
        passes_int64(m->total, m->options.out_bytes))
        return;
    for (int32_t i = 0; i < m->count; i++)
        quanta[i] = m->options.quantum ? m->options.quantum : 1;
    FUZZ_CHECK(!(optimum(m, quanta) < INFINITY),
               "refused, but there is one: %s", hdp_last_error());
}

static void check_times(const struct model *m, const hdp_plan_info *info)
{
    FUZZ_CHECK(info->lower_bound_ns >= 0 &&
                   info->lower_bound_ns <= info->step_ns,
               "lower bound %lld, step %lld", (long long)info->lower_bound_ns,
               (long long)info->step_ns);
    FUZZ_CHECK(info->gap >= 0 && isfinite(info->gap), "gap %g", info->gap);
    if (m->options.rule != HDP_RULE_FINISH)
        return;
    FUZZ_CHECK(info->gap == 0 && info->lower_bound_ns == info->step_ns,
               "gap %g", info->gap);
    FUZZ_CHECK(info->equal_ns == -1 || info->equal_ns >= info->step_ns,
               "slower than equal: %lld > %lld", (long long)info->step_ns,
               (long long)info->equal_ns);
    FUZZ_CHECK(info->best_single_ns == -1 ||
                   info->best_single_ns >= info->step_ns,
               "slower than single: %lld > %lld", (long long)info->step_ns,
               (long long)info->best_single_ns);
}

/* Who is out of the ring may be, has no items, and the step is what it says. */
static void check_step(const struct model *m, const hdp_plan *plan)
{
    int32_t in_ring[RANKS_MAX];

    if (m->total == 0)
        return;
    for (int32_t i = 0; i < m->count; i++) {
        in_ring[i] = plan->state[i] != HDP_BENCHED;
        FUZZ_CHECK(in_ring[i] || (m->options.may_bench && plan->items[i] == 0),
                   "rank %d is benched", (int)i);
    }
    double step = slowest(m, plan->items) + ring_ns(m, in_ring);
    FUZZ_CHECK(step > 9e18 ||
                   fabs((double)plan->info.step_ns - step) <= 0.5 + 1e-9 * step,
               "a step of %.17g ns is said to take %lld", step,
               (long long)plan->info.step_ns);
    if (!can_look_at_all(m))
        return;
    double best = optimum(m, plan->quanta);
    FUZZ_CHECK(best < INFINITY, "a split where there is none");
    FUZZ_CHECK(step <= best * (1 + 1e-9), "%.17g ns, possible are %.17g", step,
               best);
}

/* The text of a plan reads back as the same plan. */
static void check_text(const hdp_plan *plan)
{
    hdp_plan *back = NULL;
    char *text = NULL;

    FUZZ_CHECK(hdpi_plan_write_json(&text, plan) == HDP_OK, "not written: %s",
               hdp_last_error());
    FUZZ_CHECK(hdpi_plan_read_json(&back, text, strlen(text)) == HDP_OK,
               "%s\n%s", hdp_last_error(), text);
    FUZZ_CHECK(back->info.hash == plan->info.hash &&
                   back->info.step_ns == plan->info.step_ns,
               "another plan reads back:\n%s", text);
    hdpi_plan_free(back);
    free(text);
}

static void check_split(const struct model *m)
{
    hdp_plan *plan = NULL, *again = NULL;
    hdp_status status = hdp_split(&plan, m->profile, m->total, &m->options);

    if (status != HDP_OK) {
        check_refused(m, status, plan);
        return;
    }
    FUZZ_CHECK(hdpi_plan_is_valid(plan), "not a valid plan");
    FUZZ_CHECK(!passes_int64(m->total, m->options.in_bytes) &&
                   !passes_int64(m->total, m->options.out_bytes),
               "a batch of 2^63 bytes or more was divided");
    const char *what = broken(m, plan->items, plan->quanta);
    FUZZ_CHECK(!what, "the shares break %s", what);
    check_times(m, &plan->info);
    check_step(m, plan);
    check_text(plan);
    FUZZ_CHECK(hdp_split(&again, m->profile, m->total, &m->options) == HDP_OK &&
                   again->info.hash == plan->info.hash &&
                   again->info.step_ns == plan->info.step_ns,
               "another plan the second time");
    hdp_plan_destroy(plan);
    hdp_plan_destroy(again);
}

/* The split without objects, by the reciprocal of the first item's time. */
static void check_rates(const struct model *m)
{
    double rates[RANKS_MAX] = { 0 };
    int64_t items[RANKS_MAX], sum = 0;
    int any = 0;

    for (int32_t i = 0; i < m->count; i++) {
        rates[i] = m->ratios[i] > 0 ? 1 / time_of(m, i, 1) : 0;
        any |= rates[i] > 0;
        if (!isfinite(rates[i]))
            return;
    }
    int64_t quantum = m->options.quantum < 0 ? 0 : m->options.quantum;
    hdp_status status =
        hdp_split_rates(items, rates, m->count, m->total, quantum);
    if (!any && m->total > 0) {
        FUZZ_CHECK(status == HDP_ERR_ARGUMENT, "rates of 0: status %d",
                   (int)status);
        return;
    }
    FUZZ_CHECK(status == HDP_OK, "rates: %s", hdp_last_error());
    for (int32_t i = 0; i < m->count; i++) {
        FUZZ_CHECK(items[i] >= 0 && items[i] <= m->total - sum,
                   "rank %d has %lld of %lld", (int)i, (long long)items[i],
                   (long long)m->total);
        FUZZ_CHECK(rates[i] > 0 || items[i] == 0, "rank %d has no rate",
                   (int)i);
        sum += items[i];
    }
    FUZZ_CHECK(sum == m->total, "%lld of %lld", (long long)sum,
               (long long)m->total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = { data, size };
    static struct model m;

    if (!draw_model(&m, &bytes))
        return 0;
    check_split(&m);
    check_rates(&m);
    hdp_profile_destroy(m.profile);
    return 0;
}
