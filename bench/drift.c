/* Has the machine moved? Times of one number of items are compared, so that two
 * calibrations of different sizes compare, and so do ratios, which a common
 * slowdown leaves alone. */
#include "drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static const double drift_limit = 0.05; /* beyond the spread */

/* Where neither profile has points, which are lines then, any number does. */
enum { ITEMS_OF_LINES = 1024 };

/* ---- the same question --------------------------------------------------- */

static int ask_the_same(struct bench *bench, const hdp_profile *then)
{
    struct options *options = &bench->options;
    hdp_profile_info info;

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, then));
    if (code)
        return code;
    if (options->probe < 0)
        options->probe = info.probe;
    if (options->probe != info.probe)
        return failure_usage(&bench->failure, "--probe", 0,
                             "--probe %s: the saved profile is of %s",
                             options_probe_name(options->probe),
                             options_probe_name(info.probe));
    if (info.dtype == 0 || info.probe == HDP_PROBE_WORK)
        return EXIT_OK;
    if (options->dtype < 0)
        options->dtype = info.dtype - 1;
    if (options->dtype + 1 != info.dtype)
        return failure_usage(&bench->failure, "--dtype", 0,
                             "--dtype %s: the saved profile is of %s",
                             options_dtype_name(options->dtype + 1),
                             options_dtype_name(info.dtype));
    return EXIT_OK;
}

int drift_open(struct bench *bench, hdp_profile **out)
{
    hdp_profile *all = NULL;
    int code =
        library_try(bench, hdp_profile_load(&all, bench->options.compare));

    if (!code)
        code = library_try(bench, hdp_profile_select(out, all, bench->group));
    if (!code)
        code = ask_the_same(bench, *out);
    hdp_profile_destroy(all);
    return code;
}

/* ---- what moved ---------------------------------------------------------- */

static json_t *member_of(const json_t *profile, int32_t member)
{
    return json_array_get(json_object_get(profile, "members"), (size_t)member);
}

static double figure(const json_t *member, const char *key)
{
    return json_number_value(json_object_get(member, key));
}

static const char *text_of(const json_t *member, const char *key)
{
    const char *text = json_string_value(json_object_get(member, key));

    return text ? text : "";
}

/* The largest size that any member had a point at. */
static int64_t common_items(const json_t *profile, int32_t members)
{
    int64_t most = 0;

    for (int32_t m = 0; m < members; ++m) {
        const json_t *points = json_object_get(member_of(profile, m), "points");
        size_t count = json_array_size(points);
        int64_t items = count ? json_integer_value(json_array_get(
                                    json_array_get(points, count - 1), 0))
                              : 0;
        most = items > most ? items : most;
    }
    return most ? most : ITEMS_OF_LINES;
}

static double moved(double is, double was)
{
    if (is > 0 && was > 0)
        return fabs(is / was - 1);
    return is > 0 || was > 0; /* came or went */
}

struct moves { /* of one member */
    double was_ns, is_ns, was_ratio, is_ratio;
    double time, ratio, allowed; /* as parts of what was */
    int measured;
};

struct drift {
    struct bench *bench;
    const json_t *then, *now;
    struct moves *moves; /* one a member */
    int64_t items;
    double worst;      /* of all */
    double ratio_room; /* for ratios, which depend on every member */
};

static int take_times(struct drift *drift, const hdp_profile *then,
                      const hdp_profile *now)
{
    int32_t members = drift->bench->members;
    double was = 0, is = 0;

    for (int32_t m = 0; m < members; ++m) {
        struct moves *at = &drift->moves[m];
        int code = library_try(
            drift->bench, hdp_profile_time(&at->was_ns, then, m, drift->items));
        if (!code)
            code = library_try(drift->bench, hdp_profile_time(&at->is_ns, now,
                                                              m, drift->items));
        if (code)
            return code;
        was += at->was_ns > 0 ? 1 / at->was_ns : 0;
        is += at->is_ns > 0 ? 1 / at->is_ns : 0;
    }
    for (int32_t m = 0; m < members; ++m) {
        struct moves *at = &drift->moves[m];
        at->was_ratio = at->was_ns > 0 ? 1 / at->was_ns / was : 0;
        at->is_ratio = at->is_ns > 0 ? 1 / at->is_ns / is : 0;
    }
    return EXIT_OK;
}

static void judge(struct drift *drift)
{
    for (int32_t m = 0; m < drift->bench->members; ++m) {
        const json_t *was = member_of(drift->then, m);
        const json_t *is = member_of(drift->now, m);
        struct moves *at = &drift->moves[m];
        at->time = moved(at->is_ns, at->was_ns);
        at->ratio = moved(at->is_ratio, at->was_ratio);
        at->allowed =
            drift_limit + figure(was, "spread") + figure(is, "spread");
        at->measured = strcmp(text_of(is, "provenance"), "assumed") != 0;
        drift->worst = fmax(drift->worst, fmax(at->time, at->ratio));
        drift->ratio_room = fmax(drift->ratio_room, at->allowed);
    }
}

static const struct {
    const char *key, *words;
} figures[] = { { "in_bytes_per_second", "link in" },
                { "out_bytes_per_second", "link out" },
                { "copy_bytes_per_second", "own copy" },
                { "launch_ns", "launch" } };
enum { FIGURES = sizeof figures / sizeof *figures };

/* How far a figure moved that both profiles know; below 0: one does not. */
static double figure_moved(const struct drift *drift, int32_t m, size_t k)
{
    double was = figure(member_of(drift->then, m), figures[k].key);
    double is = figure(member_of(drift->now, m), figures[k].key);

    return was > 0 && is > 0 ? moved(is, was) : -1;
}

/* What to say of a member: 0, and nothing, when it is as it was. */
static int complain(const struct drift *drift, int32_t m, char *text,
                    size_t size)
{
    const struct moves *at = &drift->moves[m];

    text[0] = '\0';
    if (!at->measured)
        snprintf(text, size, "could not be measured");
    else if (at->time > at->allowed)
        snprintf(text, size, "time moved by %.1f %%, %.1f %% are allowed",
                 100 * at->time, 100 * at->allowed);
    else if (at->ratio > drift->ratio_room)
        snprintf(text, size, "ratio moved by %.1f %%, %.1f %% are allowed",
                 100 * at->ratio, 100 * drift->ratio_room);
    for (size_t k = 0; !text[0] && k < FIGURES; ++k)
        if (figure_moved(drift, m, k) > at->allowed)
            snprintf(text, size, "%s moved by %.1f %%, %.1f %% are allowed",
                     figures[k].words, 100 * figure_moved(drift, m, k),
                     100 * at->allowed);
    return text[0] != '\0';
}

/* ---- telling ------------------------------------------------------------- */

static json_t *member_json(const struct drift *drift, int32_t m)
{
    const struct moves *at = &drift->moves[m];
    const hdp_device *device = &drift->bench->devices[m];
    json_t *json = json_object(), *moves = json_object();
    char text[TABLE_CELL_MAX];

    json_object_set_new(json, "member", json_integer(m));
    json_object_set_new(json, "spec", json_string(device->spec));
    json_object_set_new(json, "simulated",
                        json_boolean(device->kind == HDP_SIM));
    json_object_set_new(json, "ok",
                        json_boolean(!complain(drift, m, text, sizeof text)));
    json_object_set_new(json, "was_ns", document_real(at->was_ns));
    json_object_set_new(json, "is_ns", document_real(at->is_ns));
    json_object_set_new(json, "was_ratio", document_real(at->was_ratio));
    json_object_set_new(json, "is_ratio", document_real(at->is_ratio));
    json_object_set_new(json, "time_moved", document_real(at->time));
    json_object_set_new(json, "ratio_moved", document_real(at->ratio));
    json_object_set_new(json, "allowed", document_real(at->allowed));
    for (size_t k = 0; k < FIGURES; ++k)
        if (figure_moved(drift, m, k) >= 0)
            json_object_set_new(moves, figures[k].key,
                                document_real(figure_moved(drift, m, k)));
    json_object_set_new(json, "figures_moved", moves);
    return json;
}

/* Returns the member to name: one that could not be measured, else the first
 * that moved; -1: none. */
static int32_t tell(const struct drift *drift, int drifting)
{
    static const char *const titles[] = { "member",    "was", "is",
                                          "ratio was", "is",  "verdict",
                                          NULL };
    struct document *document = &drift->bench->document;
    json_t *json = json_object(), *rows = json_array(), *ratios = json_array();
    char text[TABLE_CELL_MAX], time[24];
    int32_t first = -1;
    struct table table;

    table_open(&table, "rrrrrl", titles);
    for (int32_t m = 0; m < drift->bench->members; ++m) {
        const struct moves *at = &drift->moves[m];
        int bad = complain(drift, m, text, sizeof text);
        if (bad &&
            (first < 0 || (!at->measured && drift->moves[first].measured)))
            first = m;
        json_array_append_new(rows, member_json(drift, m));
        json_array_append_new(ratios, document_real(at->ratio));
        table_cell(&table, "%d", (int)m);
        table_cell(&table, "%s", table_ns(time, at->was_ns));
        table_cell(&table, "%s", table_ns(time, at->is_ns));
        table_cell(&table, "%.4f", at->was_ratio);
        table_cell(&table, "%.4f", at->is_ratio);
        table_cell(&table, "%s", bad ? text : "as it was");
    }
    fprintf(document->text, "\nagainst %s, times of %lld items\n\n",
            drift->bench->options.compare, (long long)drift->items);
    table_close(&table, document->text);
    if (drifting)
        fprintf(document->text, "\nclocks were still drifting: measure again "
                                "after some seconds of work\n");
    json_object_set_new(json, "ok", json_boolean(first < 0));
    json_object_set_new(json, "max_drift", document_real(drift->worst));
    json_object_set_new(json, "limit", document_real(drift_limit));
    json_object_set_new(json, "against", json_string("saved profile"));
    json_object_set_new(json, "items", json_integer(drift->items));
    json_object_set_new(json, "drifting", json_boolean(drifting));
    json_object_set_new(json, "drift", ratios);
    json_object_set_new(json, "moves", rows);
    document_set(document, "check", json);
    return first;
}

int drift_check(struct bench *bench, const hdp_profile *then,
                const hdp_profile *now)
{
    struct drift drift = { .bench = bench };
    json_t *json = measure_json(bench, then);
    char text[TABLE_CELL_MAX];
    hdp_profile_info info;
    int code;

    if (!json)
        return bench->failure.exit_code;
    hdp_options_init(&info, sizeof info);
    drift.then = json;
    drift.now = json_object_get(bench->document.root, "profile");
    drift.items = common_items(json, bench->members);
    drift.moves = calloc((size_t)(uint32_t)bench->members, sizeof *drift.moves);
    code =
        drift.moves ? take_times(&drift, then, now) : library_no_memory(bench);
    if (!code)
        code = library_try(bench, hdp_profile_get(&info, now));
    if (!code) {
        judge(&drift);
        int32_t first = tell(&drift, info.drifting);
        if (first >= 0) {
            (void)complain(&drift, first, text, sizeof text);
            code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                               "member %d: %s", (int)first, text);
        }
    }
    free(drift.moves);
    json_decref(json);
    return code;
}
