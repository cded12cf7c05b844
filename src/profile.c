/* The public door of profiles, and their files. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "core/learn.h"
#include "core/profile.h"
#include "internal.h"
#include "json/json.h"
#include "textfile.h"

/* ---- from models --------------------------------------------------------- */

enum { POINTS_MAX = 1 << 20 };

static hdp_status refuse(int32_t rank, const char *what)
{
    return hdpi_fail_member(HDP_ERR_ARGUMENT, -1, rank, "models[%d].%s",
                            (int)rank, what);
}

static int is_figure(double value)
{
    return value >= 0 && value - value == 0;
}

static hdp_status check_model(const hdp_model *model, int32_t rank)
{
    int points = model->point_count != 0;

    if (model->point_count < 0 || model->point_count > POINTS_MAX)
        return refuse(rank, "point_count is not between 0 and 1048576");
    if (points && (!model->point_items || !model->point_ns))
        return refuse(rank, "point_items or point_ns is NULL");
    if (!points &&
        !(model->fixed_ns >= 0 && model->fixed_ns <= HDPI_LONGEST_NS))
        return refuse(rank, "fixed_ns is not between 0 and 1e18");
    if (!points && !(model->item_ns >= HDPI_SHORTEST_NS &&
                     model->item_ns <= HDPI_LONGEST_NS))
        return refuse(rank, "item_ns is not between 1e-9 and 1e18");
    if (!is_figure(model->in_bytes_per_second))
        return refuse(rank, "in_bytes_per_second is not a finite number of 0 "
                            "or more");
    if (!is_figure(model->out_bytes_per_second))
        return refuse(rank, "out_bytes_per_second is not a finite number of 0 "
                            "or more");
    if (!is_figure(model->reduce_bytes_per_second))
        return refuse(rank, "reduce_bytes_per_second is not a finite number "
                            "of 0 or more");
    if (model->memory_bytes < 0)
        return refuse(rank, "memory_bytes is below 0");
    if (model->memory_domain < 0)
        return refuse(rank, "memory_domain is below 0");
    if (model->key && strlen(model->key) >= HDPI_KEY_MAX)
        return refuse(rank, "key has more than 191 bytes");
    return HDP_OK;
}

static hdp_status take_model(hdp_profile *profile, int32_t rank,
                             const hdp_model *models)
{
    struct hdpi_rank_profile *to = &profile->ranks[rank];
    hdp_model model;

    HDPI_RETURN_IF(
        hdpi_options_read_at(&model, sizeof model, models, rank, "hdp_model"));
    HDPI_RETURN_IF(check_model(&model, rank));
    to->in_bytes_per_second = model.in_bytes_per_second;
    to->out_bytes_per_second = model.out_bytes_per_second;
    to->reduce_bytes_per_second = model.reduce_bytes_per_second;
    to->memory_bytes = model.memory_bytes;
    to->memory_domain = model.memory_domain;
    to->provenance = HDPI_FROM_MODEL;
    if (model.key)
        (void)hdpi_text_copy(to->key, sizeof to->key, model.key);
    if (model.point_count > 0)
        return hdpi_profile_set_points(profile, rank, model.point_items,
                                       model.point_ns, model.point_count);
    to->fixed_ns = model.fixed_ns;
    to->item_ns = model.item_ns;
    return HDP_OK;
}

struct share { /* of a device's memory */
    int32_t domain, rank;
    int64_t bytes;
};

static int by_domain(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Members of one domain have one memory: two figures for it are a mistake. */
static hdp_status check_domains(const hdp_profile *profile)
{
    int32_t count = profile->info.member_count, shared = 0;
    hdp_status status = HDP_OK;

    for (int32_t i = 0; i < count; i++)
        shared += profile->ranks[i].memory_domain > 0;
    if (shared < 2)
        return HDP_OK;
    struct share *shares =
        hdpi_alloc((size_t)shared, sizeof *shares, "memory domains");
    if (!shares)
        return HDP_ERR_MEMORY;
    int32_t k = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct hdpi_rank_profile *rank = &profile->ranks[i];
        if (rank->memory_domain > 0)
            shares[k++] =
                (struct share){ rank->memory_domain, i, rank->memory_bytes };
    }
    qsort(shares, (size_t)k, sizeof *shares, by_domain);
    for (k = 1; k < shared && status == HDP_OK; k++)
        if (shares[k].domain == shares[k - 1].domain &&
            shares[k].bytes != shares[k - 1].bytes)
            status = hdpi_fail_member(
                HDP_ERR_ARGUMENT, -1, shares[k].rank,
                "models[%d].memory_bytes is %lld, but models[%d] of the same "
                "memory_domain has %lld",
                (int)shares[k].rank, (long long)shares[k].bytes,
                (int)shares[k - 1].rank, (long long)shares[k - 1].bytes);
    free(shares);
    return status;
}

hdp_status hdp_profile_create(hdp_profile **out, const hdp_model *models,
                              int32_t count)
{
    hdp_status status = HDP_OK;
    hdp_profile *profile = NULL;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!models)
        return hdpi_fail(HDP_ERR_ARGUMENT, "models is NULL");
    if (count < 1)
        return hdpi_fail(HDP_ERR_ARGUMENT, "count is %d, below 1", (int)count);
    HDPI_TRY(hdpi_profile_new(&profile, count));
    for (int32_t i = 0; i < count; i++)
        HDPI_TRY(take_model(profile, i, models));
    HDPI_TRY(check_domains(profile));
    hdpi_profile_compare_rates(profile);
    profile->info.probe = HDP_PROBE_WORK;
    profile->info.ended_by = HDP_ENDED_GIVEN;
    assert(hdpi_profile_is_valid(profile));
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}

/* ---- from others --------------------------------------------------------- */

static int32_t find_key(const hdp_profile *profile, const char *key)
{
    for (int32_t i = 0; i < profile->info.member_count; i++)
        if (strcmp(profile->ranks[i].key, key) == 0)
            return i;
    return -1;
}

/* Twice the same identity (simulated devices may be alike): each is used once,
 * in order, before any is used again. */
static int32_t find_unused(const hdp_profile *profile, const char *key,
                           const unsigned char *used)
{
    for (int32_t i = 0; i < profile->info.member_count; i++)
        if (!used[i] && strcmp(profile->ranks[i].key, key) == 0)
            return i;
    return find_key(profile, key);
}

static hdp_status select_ranks(hdp_profile *to, const hdp_profile *from,
                               const hdp_group *group, unsigned char *used)
{
    for (int32_t rank = 0; rank < to->info.member_count; rank++) {
        const char *key = hdpi_group_key(group, rank);
        int32_t found = key[0] ? find_unused(from, key, used) : -1;
        if (found < 0)
            return hdpi_fail_member(HDP_ERR_NOT_FOUND, -1, rank,
                                    "rank %d (%s) is not in the profile",
                                    (int)rank, key);
        used[found] = 1;
        HDPI_RETURN_IF(hdpi_profile_copy_rank(to, rank, &from->ranks[found]));
    }
    return HDP_OK;
}

hdp_status hdp_profile_select(hdp_profile **out, const hdp_profile *profile,
                              const hdp_group *group)
{
    hdp_status status = HDP_OK;
    hdp_profile *selected = NULL;
    unsigned char *used = NULL;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_TRY(hdpi_group_check_any(group));
    int32_t count = hdpi_group_rank_count(group);
    HDPI_TRY(hdpi_profile_new(&selected, count));
    selected->info = profile->info;
    selected->info.member_count = count;
    selected->info.fingerprint = group->fingerprint;
    used = hdpi_alloc((size_t)profile->info.member_count, 1, "a selection");
    if (!used)
        HDPI_TRY(HDP_ERR_MEMORY);
    HDPI_TRY(select_ranks(selected, profile, group, used));
    assert(hdpi_profile_is_valid(selected));
    *out = selected;
    selected = NULL;
out:
    free(used);
    hdpi_profile_free(selected);
    return status;
}

/* A rank's first step at a share pays for the new shape, and one without rows
 * says nothing. */
static int is_sample(const hdp_report *report, const hdp_profile *profile,
                     int32_t rank)
{
    return report->items[rank] > 0 && report->compute_ns[rank] > 0 &&
           !report->first_at_share[rank] && !profile->ranks[rank].lacks_dtype;
}

hdp_status hdp_profile_update(hdp_profile **out, const hdp_profile *profile,
                              const struct hdp_report *report)
{
    hdp_status status = HDP_OK;
    hdp_profile *updated = NULL;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_TRY(hdpi_object_check(report, HDPI_REPORT, "report"));
    int32_t count = profile->info.member_count;
    if (report->info.rank_count != count)
        HDPI_TRY(hdpi_fail(HDP_ERR_ARGUMENT,
                           "the report is of %d ranks, the profile of %d",
                           (int)report->info.rank_count, (int)count));
    HDPI_TRY(hdpi_profile_copy(&updated, profile));
    for (int32_t i = 0; i < count; i++)
        if (is_sample(report, profile, i))
            HDPI_TRY(hdpi_learn(updated, i, report->items[i],
                                (double)report->compute_ns[i]));
    assert(hdpi_profile_is_valid(updated));
    *out = updated;
    updated = NULL;
out:
    hdpi_profile_free(updated);
    return status;
}

/* ---- questions ----------------------------------------------------------- */

static hdp_status check_rank(const hdp_profile *profile, const void *out,
                             int32_t rank)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    HDPI_RETURN_IF(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    if (rank >= 0 && rank < profile->info.member_count)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_NOT_FOUND, "rank %d: the profile has %d ranks",
                     (int)rank, (int)profile->info.member_count);
}

hdp_status hdp_profile_get(hdp_profile_info *out, const hdp_profile *profile)
{
    HDPI_RETURN_IF(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    return hdpi_options_write(out, &profile->info, sizeof profile->info,
                              "hdp_profile_info");
}

hdp_status hdp_profile_time(double *out_ns, const hdp_profile *profile,
                            int32_t rank, int64_t items)
{
    HDPI_RETURN_IF(check_rank(profile, out_ns, rank));
    if (items < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "items is %lld, below 0",
                         (long long)items);
    *out_ns = hdpi_profile_time(&profile->ranks[rank], items);
    return HDP_OK;
}

hdp_status hdp_profile_ratio(double *out, const hdp_profile *profile,
                             int32_t rank)
{
    double sum = 0;

    HDPI_RETURN_IF(check_rank(profile, out, rank));
    for (int32_t i = 0; i < profile->info.member_count; i++)
        sum += hdpi_profile_rate(&profile->ranks[i]);
    *out = sum > 0 ? hdpi_profile_rate(&profile->ranks[rank]) / sum : 0;
    return HDP_OK;
}

/* ---- text ---------------------------------------------------------------- */

hdp_status hdp_profile_to_json(const hdp_profile *profile, char *text,
                               size_t capacity, size_t *needed)
{
    hdp_status status = HDP_OK;
    char *whole = NULL;

    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_TRY(hdpi_profile_write_json(&whole, profile));
    HDPI_TRY(hdpi_text_give(whole, strlen(whole), text, capacity, needed));
out:
    free(whole);
    return status;
}

hdp_status hdp_profile_from_json(hdp_profile **out, const char *text,
                                 size_t length)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "text is NULL");
    return hdpi_profile_read_json(out, text, length);
}

/* ---- files --------------------------------------------------------------- */

static hdp_status check_path(const char *path)
{
    if (path && path[0])
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT, "path is %s", path ? "empty" : "NULL");
}

hdp_status hdp_profile_load(hdp_profile **out, const char *path)
{
    hdp_status status = HDP_OK;
    char *text = NULL;
    size_t length = 0;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(check_path(path));
    HDPI_TRY(hdpi_textfile_read(&text, &length, path));
    status = hdpi_profile_read_json(out, text, length);
    if (status == HDP_ERR_ARGUMENT)
        hdpi_error_behind(path);
out:
    free(text);
    return status;
}

hdp_status hdp_profile_save(const hdp_profile *profile, const char *path)
{
    hdp_status status = HDP_OK;
    char *text = NULL;

    HDPI_TRY(hdpi_object_check(profile, HDPI_PROFILE, "profile"));
    HDPI_TRY(check_path(path));
    HDPI_TRY(hdpi_profile_write_json(&text, profile));
    HDPI_TRY(hdpi_textfile_replace(path, text, strlen(text)));
out:
    free(text);
    return status;
}

void hdp_profile_destroy(hdp_profile *profile)
{
    if (hdpi_object_release((struct hdpi_object *)profile, HDPI_PROFILE))
        hdpi_profile_free(profile);
}
