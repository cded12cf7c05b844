/* Profiles. What is derived (the monotone curve, the ratios) is written for
 * others where it says something, and made anew on the way in. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "json/reader.h"
#include "json/writer.h"

static const char schema[] = "hdp.profile";
static const char machine_schema[] = "hdp.machine";

/* ---- writing ------------------------------------------------------------- */

/* What was measured is said with each member, as hdp_bench's documents do. */
static void write_kind(struct hdpi_json *json, const hdp_profile_info *info)
{
    hdpi_json_name(json, "probe", &hdpi_probe_names, info->probe);
    hdpi_json_name(json, "dtype", &hdpi_dtype_names, info->dtype);
    hdpi_json_name(json, "compute", &hdpi_dtype_names, info->compute);
}

static void write_points(struct hdpi_json *json,
                         const struct hdpi_rank_profile *rank)
{
    hdpi_json_open_array(json, "points");
    for (int64_t i = 0; i < rank->point_count; i++) {
        hdpi_json_open_array(json, NULL);
        hdpi_json_int(json, NULL, rank->point_items[i]);
        hdpi_json_real(json, NULL, rank->point_ns[i]);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
}

static void write_rank(struct hdpi_json *json, const hdp_profile_info *info,
                       const struct hdpi_rank_profile *rank, double rates)
{
    hdpi_json_open_object(json, NULL);
    hdpi_json_text(json, "key", rank->key);
    write_kind(json, info);
    hdpi_json_name(json, "provenance", &hdpi_origin_names, rank->provenance);
    hdpi_json_int(json, "weight", rank->weight);
    hdpi_json_real(json, "doubted", rank->doubted);
    hdpi_json_bool(json, "reliable", rank->reliable);
    hdpi_json_bool(json, "simulated", rank->simulated);
    hdpi_json_int(json, "duty_percent", rank->duty_percent);
    hdpi_json_bool(json, "lacks_dtype", rank->lacks_dtype);
    hdpi_json_real(json, "rate", rank->rate);
    hdpi_json_real(json, "rate_flops", rank->rate_flops);
    if (rates > 0)
        hdpi_json_real(json, "ratio", hdpi_profile_rate(rank) / rates);
    else
        hdpi_json_null(json, "ratio");
    hdpi_json_real(json, "spread", rank->spread);
    hdpi_json_real(json, "fixed_ns", rank->fixed_ns);
    hdpi_json_real(json, "item_ns", rank->item_ns);
    write_points(json, rank);
    hdpi_json_all_names(json, "point_provenance", &hdpi_origin_names,
                        rank->point_from, rank->point_count);
    hdpi_json_real(json, "in_bytes_per_second", rank->in_bytes_per_second);
    hdpi_json_real(json, "out_bytes_per_second", rank->out_bytes_per_second);
    hdpi_json_real(json, "reduce_bytes_per_second",
                   rank->reduce_bytes_per_second);
    hdpi_json_real(json, "copy_bytes_per_second", rank->copy_bytes_per_second);
    hdpi_json_real(json, "launch_ns", rank->launch_ns);
    hdpi_json_int(json, "memory_bytes", rank->memory_bytes);
    hdpi_json_int(json, "memory_domain", rank->memory_domain);
    hdpi_json_reals(json, "samples", rank->samples_ns, rank->sample_count);
    hdpi_json_close(json);
}

void hdpi_profile_put_json(struct hdpi_json *json, const hdp_profile *profile)
{
    const hdp_profile_info *info = &profile->info;
    double rates = 0;

    for (int32_t i = 0; i < info->member_count; i++)
        rates += hdpi_profile_rate(&profile->ranks[i]);
    hdpi_json_open_array(json, "members");
    for (int32_t i = 0; i < info->member_count; i++)
        write_rank(json, info, &profile->ranks[i], rates);
    hdpi_json_close(json);
    hdpi_json_int(json, "elapsed_ns", info->elapsed_ns);
    hdpi_json_int(json, "warmup_ns", info->warmup_ns);
    hdpi_json_name(json, "ended_by", &hdpi_ended_names, info->ended_by);
    hdpi_json_bool(json, "drifting", info->drifting);
    hdpi_json_bits(json, "fingerprint", info->fingerprint);
}

hdp_status hdpi_profile_write_json(char **out, const hdp_profile *profile)
{
    struct hdpi_json *json;

    *out = NULL;
    HDPI_RETURN_IF(hdpi_json_new_document(&json, schema));
    hdpi_profile_put_json(json, profile);
    return hdpi_json_end(json, out);
}

/* ---- reading ------------------------------------------------------------- */

/* One name for the whole profile, given by any of its members. */
static hdp_status take_shared(const struct hdpi_json_at *object,
                              const char *key, const struct hdpi_names *names,
                              int32_t *shared)
{
    const struct hdpi_json_at at = hdpi_json_member(object, key);
    int32_t value = *shared;

    HDPI_RETURN_IF(hdpi_json_read_name(&at, names, &value));
    if (*shared >= 0 && value != *shared)
        return hdpi_json_refuse(&at, hdpi_names_text(names, *shared));
    *shared = value;
    return HDP_OK;
}

static hdp_status take_kind(const struct hdpi_json_at *object,
                            hdp_profile_info *info)
{
    HDPI_RETURN_IF(
        take_shared(object, "probe", &hdpi_probe_names, &info->probe));
    HDPI_RETURN_IF(
        take_shared(object, "dtype", &hdpi_dtype_names, &info->dtype));
    return take_shared(object, "compute", &hdpi_dtype_names, &info->compute);
}

static hdp_status read_point(const struct hdpi_json_at *at, int64_t previous,
                             int64_t *items, double *ns)
{
    const struct hdpi_json_at first = hdpi_json_element(at, 0);
    const struct hdpi_json_at second = hdpi_json_element(at, 1);
    size_t count;

    HDPI_RETURN_IF(hdpi_json_need_array(at, 2, 2, &count));
    HDPI_RETURN_IF(hdpi_json_read_int(&first, 1, INT64_MAX, items));
    if (*items <= previous)
        return hdpi_json_refuse(&first, "more items than the point before");
    return hdpi_json_read_real(&second, HDPI_SHORTEST_NS, HDPI_LONGEST_NS, ns);
}

static hdp_status read_points(hdp_profile *profile, int32_t rank,
                              const struct hdpi_json_at *member)
{
    const struct hdpi_json_at points = hdpi_json_member(member, "points");
    hdp_status status = HDP_OK;
    int64_t *items = NULL, previous = 0;
    double *ns = NULL;
    size_t count;

    HDPI_TRY(hdpi_json_need_array(&points, 0, HDPI_JSON_POINTS_MAX, &count));
    if (count == 0)
        goto out;
    items = hdpi_alloc(count, sizeof *items, "points");
    ns = items ? hdpi_alloc(count, sizeof *ns, "points") : NULL;
    if (!ns)
        HDPI_TRY(HDP_ERR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&points, i);
        HDPI_TRY(read_point(&at, previous, &items[i], &ns[i]));
        previous = items[i];
    }
    HDPI_TRY(hdpi_profile_set_points(profile, rank, items, ns, (int64_t)count));
    HDPI_TRY(hdpi_json_take_names(member, "point_provenance",
                                  &hdpi_origin_names, count,
                                  profile->ranks[rank].point_from));
out:
    free(items);
    free(ns);
    return status;
}

static hdp_status read_samples(struct hdpi_rank_profile *rank,
                               const struct hdpi_json_at *member)
{
    const struct hdpi_json_at samples = hdpi_json_member(member, "samples");
    size_t count;

    HDPI_RETURN_IF(
        hdpi_json_need_array(&samples, 0, HDPI_JSON_POINTS_MAX, &count));
    if (count == 0)
        return HDP_OK;
    rank->samples_ns = hdpi_alloc(count, sizeof *rank->samples_ns, "samples");
    if (!rank->samples_ns)
        return HDP_ERR_MEMORY;
    rank->sample_count = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&samples, i);
        HDPI_RETURN_IF(
            hdpi_json_read_real(&at, 0, DBL_MAX, &rank->samples_ns[i]));
    }
    return HDP_OK;
}

static hdp_status read_figures(struct hdpi_rank_profile *rank,
                               const struct hdpi_json_at *member)
{
    const struct {
        const char *key;
        double high;
        double *out;
    } figures[] = {
        { "rate", DBL_MAX, &rank->rate },
        { "rate_flops", DBL_MAX, &rank->rate_flops },
        { "spread", DBL_MAX, &rank->spread },
        { "fixed_ns", HDPI_LONGEST_NS, &rank->fixed_ns },
        { "item_ns", HDPI_LONGEST_NS, &rank->item_ns },
        { "in_bytes_per_second", DBL_MAX, &rank->in_bytes_per_second },
        { "out_bytes_per_second", DBL_MAX, &rank->out_bytes_per_second },
        { "reduce_bytes_per_second", DBL_MAX, &rank->reduce_bytes_per_second },
        { "copy_bytes_per_second", DBL_MAX, &rank->copy_bytes_per_second },
        { "launch_ns", DBL_MAX, &rank->launch_ns },
        { "doubted", DBL_MAX, &rank->doubted },
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        HDPI_RETURN_IF(hdpi_json_take_real(member, figures[i].key, 0,
                                           figures[i].high, figures[i].out));
    HDPI_RETURN_IF(hdpi_json_take_int(member, "memory_bytes", 0, INT64_MAX,
                                      &rank->memory_bytes));
    return hdpi_json_take_int32(member, "memory_domain", 0, INT32_MAX,
                                &rank->memory_domain);
}

static hdp_status read_rank(hdp_profile *profile, int32_t index,
                            const struct hdpi_json_at *member)
{
    struct hdpi_rank_profile *rank = &profile->ranks[index];

    HDPI_RETURN_IF(hdpi_json_need_object(member));
    HDPI_RETURN_IF(take_kind(member, &profile->info));
    HDPI_RETURN_IF(
        hdpi_json_take_text(member, "key", rank->key, sizeof rank->key));
    HDPI_RETURN_IF(hdpi_json_take_name(member, "provenance", &hdpi_origin_names,
                                       &rank->provenance));
    HDPI_RETURN_IF(hdpi_json_take_int32(member, "weight", HDPI_WEIGHT_MIN,
                                        HDPI_WEIGHT_MAX, &rank->weight));
    HDPI_RETURN_IF(hdpi_json_take_bool(member, "reliable", &rank->reliable));
    HDPI_RETURN_IF(hdpi_json_take_bool(member, "simulated", &rank->simulated));
    HDPI_RETURN_IF(hdpi_json_take_int32(member, "duty_percent", 1, 100,
                                        &rank->duty_percent));
    HDPI_RETURN_IF(
        hdpi_json_take_bool(member, "lacks_dtype", &rank->lacks_dtype));
    HDPI_RETURN_IF(read_points(profile, index, member));
    HDPI_RETURN_IF(read_figures(rank, member));
    HDPI_RETURN_IF(read_samples(rank, member));
    if (rank->point_count == 0 && rank->item_ns < HDPI_SHORTEST_NS &&
        !(rank->lacks_dtype && rank->item_ns == 0))
        return hdpi_json_complain(member, "neither points nor item_ns >= 1e-9");
    return HDP_OK;
}

static hdp_status read_profile(hdp_profile *profile,
                               const struct hdpi_json_at *root)
{
    const struct hdpi_json_at members = hdpi_json_member(root, "members");
    hdp_profile_info *info = &profile->info;

    info->probe = info->dtype = info->compute = -1; /* until one says it */
    info->ended_by = HDP_ENDED_GIVEN;
    HDPI_RETURN_IF(take_kind(root, info));
    for (int32_t i = 0; i < info->member_count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&members, (size_t)i);
        HDPI_RETURN_IF(read_rank(profile, i, &at));
    }
    if (info->probe < 0)
        info->probe = HDP_PROBE_GEMM;
    if (info->dtype < 0)
        info->dtype = 0;
    if (info->compute < 0)
        info->compute = 0;
    HDPI_RETURN_IF(hdpi_json_take_int(root, "elapsed_ns", 0, INT64_MAX,
                                      &info->elapsed_ns));
    HDPI_RETURN_IF(
        hdpi_json_take_int(root, "warmup_ns", 0, INT64_MAX, &info->warmup_ns));
    HDPI_RETURN_IF(hdpi_json_take_name(root, "ended_by", &hdpi_ended_names,
                                       &info->ended_by));
    HDPI_RETURN_IF(hdpi_json_take_bool(root, "drifting", &info->drifting));
    HDPI_RETURN_IF(
        hdpi_json_take_bits(root, "fingerprint", &info->fingerprint));
    if (!hdpi_profile_is_valid(profile))
        return hdpi_json_complain(root, "not a profile: its parts disagree");
    return HDP_OK;
}

hdp_status hdpi_profile_read_at(hdp_profile **out,
                                const struct hdpi_json_at *at)
{
    const struct hdpi_json_at members = hdpi_json_member(at, "members");
    hdp_status status = HDP_OK;
    hdp_profile *profile = NULL;
    size_t count;

    *out = NULL;
    HDPI_TRY(hdpi_json_need_object(at));
    HDPI_TRY(hdpi_json_need_array(&members, 1, HDPI_JSON_RANKS_MAX, &count));
    HDPI_TRY(hdpi_profile_new(&profile, (int32_t)count));
    HDPI_TRY(read_profile(profile, at));
    *out = profile;
    profile = NULL;
out:
    hdpi_profile_free(profile);
    return status;
}

/* A machine's first profile, which is that of its own work. */
static hdp_status read_first(hdp_profile **out, const struct hdpi_json_at *root)
{
    const struct hdpi_json_at profiles = hdpi_json_member(root, "profiles");
    const struct hdpi_json_at first = hdpi_json_element(&profiles, 0);
    size_t count;

    HDPI_RETURN_IF(hdpi_json_need_schema(root, machine_schema));
    HDPI_RETURN_IF(
        hdpi_json_need_array(&profiles, 0, HDPI_MACHINE_PROFILES_MAX, &count));
    if (count == 0)
        return hdpi_json_complain(&profiles, "nothing has been measured on "
                                             "this machine");
    if (hdpi_json_member(&first, "schema").value)
        HDPI_RETURN_IF(hdpi_json_need_schema(&first, schema));
    return hdpi_profile_read_at(out, &first);
}

hdp_status hdpi_profile_read_json(hdp_profile **out, const char *text,
                                  size_t length)
{
    hdp_status status = HDP_OK;
    json_t *document = NULL;

    *out = NULL;
    HDPI_TRY(hdpi_json_parse(&document, text, length));
    const struct hdpi_json_at root = { .value = document };
    const struct hdpi_json_at name = hdpi_json_member(&root, "schema");
    const char *given = json_string_value(name.value);
    if (given && strcmp(given, machine_schema) == 0) {
        status = read_first(out, &root);
        goto out;
    }
    HDPI_TRY(hdpi_json_need_schema(&root, schema));
    status = hdpi_profile_read_at(out, &root);
out:
    json_decref(document);
    return status;
}
