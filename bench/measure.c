/* Profiles: measured or from a file, saved where asked, shown. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "interrupt.h"
#include "nets.h"
#include "record.h"
#include "table.h"

/* Whether it answered, and why not, in the library's words. */
static int tell_cache(struct bench *bench, const hdp_profile *profile)
{
    json_t *json = json_object(), *lines = json_array();
    struct notes *notes = &bench->notes;
    hdp_profile_info info;

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, profile));
    pthread_mutex_lock(&notes->lock);
    for (int i = 0; i < notes->cache_count; ++i) {
        fprintf(bench->document.text, "# cache %s\n", notes->cache[i]);
        json_array_append_new(lines, document_text_or_null(notes->cache[i]));
    }
    pthread_mutex_unlock(&notes->lock);
    json_object_set_new(json, "file",
                        document_text_or_null(bench->options.cache));
    json_object_set_new(json, "hit",
                        json_boolean(info.ended_by == HDP_ENDED_GIVEN));
    json_object_set_new(json, "told", lines);
    document_set(&bench->document, "cache", json);
    return code;
}

static int calibrate(struct bench *bench, const struct measure *measure,
                     hdp_profile **out)
{
    const struct options *from = &bench->options;
    hdp_calibrate_options options;

    hdp_options_init(&options, sizeof options);
    options.dtype = from->dtype < 0 ? 0 : from->dtype + 1;
    options.probe = measure->probe;
    options.items = measure->items;
    options.item_count = measure->item_count;
    options.budget_ns = from->budget_ns ? from->budget_ns : measure->budget_ns;
    options.cache = from->cache;
    if (measure->probe == HDP_PROBE_WORK)
        options.work = &measure->workload->work;
    interrupt_watch(bench->group);
    notes_progress(&bench->notes, "calibrate", 0, 1);
    int code = library_try(bench, hdp_calibrate(out, bench->group, &options));
    notes_progress(&bench->notes, "calibrate", 1, 1);
    if (!code && from->cache)
        code = tell_cache(bench, *out);
    return code;
}

/* What was measured in one type says nothing of another. */
static int check_dtype(struct bench *bench, const hdp_profile *profile)
{
    const struct options *options = &bench->options;
    hdp_profile_info info;

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, profile));
    if (code || options->dtype < 0 || info.probe == HDP_PROBE_WORK ||
        options->dtype + 1 == info.dtype)
        return code;
    return failure_usage(&bench->failure, "--dtype", 0,
                         "--dtype %s: --profile %.128s is of %s",
                         options_dtype_name(options->dtype + 1),
                         options->profile, options_dtype_name(info.dtype));
}

static int load(struct bench *bench, hdp_profile **out)
{
    hdp_profile *all = NULL;
    int code =
        library_try(bench, hdp_profile_load(&all, bench->options.profile));

    if (!code)
        code = check_dtype(bench, all);
    if (!code && bench->group) {
        code = library_try(bench, hdp_profile_select(out, all, bench->group));
    } else if (!code) {
        *out = all;
        all = NULL;
    }
    hdp_profile_destroy(all);
    return code;
}

int measure_profile(struct bench *bench, const struct measure *measure,
                    hdp_profile **out)
{
    int code = bench->options.profile ? load(bench, out)
                                      : calibrate(bench, measure, out);

    return code ? code : record_profile(bench, *out);
}

int measure_by_options(struct bench *bench, hdp_profile **out)
{
    enum { WORK_CAPACITY = 1 << 15, NET_CAPACITY = 1 << 14 };
    const struct options *options = &bench->options;
    struct measure measure = {
        .probe = options->probe < 0 ? HDP_PROBE_GEMM : options->probe,
    };
    struct workload_spec spec = { .kind = options->work,
                                  .net = options->net,
                                  .capacity = options->net.layers > 0
                                                  ? NET_CAPACITY
                                                  : WORK_CAPACITY };
    int code = EXIT_OK;

    if (measure.probe == HDP_PROBE_WORK && !options->profile) {
        code = nets_fit(bench, &spec);
        if (!code)
            code = library_work(bench, &spec, &measure.workload);
    }
    if (!code)
        code = measure_profile(bench, &measure, out);
    library_end_work(bench, measure.workload);
    return code;
}

json_t *measure_json(struct bench *bench, const hdp_profile *profile)
{
    json_t *json = NULL;
    char *text;

    if (!record_profile_text(bench, profile, &text))
        json = json_loads(text, 0, NULL);
    free(text);
    if (!json)
        library_no_memory(bench); /* unless the library has said why */
    return json;
}

/* A rank of a saved profile, whose device need not be here. */
static void say_rank(struct bench *bench, size_t rank, json_t *member)
{
    const char *key = json_string_value(json_object_get(member, "key"));
    json_t *duty = json_object_get(member, "duty_percent");
    char slow[96] = "";

    if (json_is_true(json_object_get(member, "simulated")))
        snprintf(slow, sizeof slow, "simulated: times come from a model");
    else if (json_is_integer(duty) && json_integer_value(duty) < 100)
        snprintf(slow, sizeof slow,
                 "declared: works %d %% of the time, then waits",
                 (int)json_integer_value(duty));
    json_object_set_new(member, "slowdown",
                        document_text_or_null(slow[0] ? slow : NULL));
    fprintf(bench->document.text, "# rank %zu: %s%s%s\n", rank,
            key ? key : "without a name", slow[0] ? ", " : "", slow);
}

/* The noun's own JSON is the section; only the spec of each member is ours. */
int measure_section(struct bench *bench, const hdp_profile *profile)
{
    json_t *json = measure_json(bench, profile), *members;

    if (!json)
        return bench->failure.exit_code;
    members = json_object_get(json, "members");
    for (size_t i = 0; i < json_array_size(members); ++i)
        json_object_set_new(json_array_get(members, i), "spec",
                            i < (size_t)bench->members
                                ? document_text_or_null(bench->devices[i].spec)
                                : json_null());
    for (size_t i = 0; !bench->group && i < json_array_size(members); ++i)
        say_rank(bench, i, json_array_get(members, i));
    json_object_del(json, "schema");
    json_object_del(json, "schema_version");
    document_set(&bench->document, "profile", json);
    return EXIT_OK;
}

static const char *rate_text(char *buffer, size_t size, const json_t *member)
{
    double flops = json_number_value(json_object_get(member, "rate_flops"));
    double items = json_number_value(json_object_get(member, "rate"));

    if (flops > 0)
        snprintf(buffer, size, "%.2f GFLOP/s", flops / 1e9);
    else if (items > 0)
        snprintf(buffer, size, "%.4g items/s", items);
    else
        snprintf(buffer, size, "-");
    return buffer;
}

/* Slower on purpose, and figures that are not what a clock said. */
static const char *note_words(struct bench *bench, size_t member,
                              const json_t *figures, char *buffer, size_t size)
{
    const char *from =
        json_string_value(json_object_get(figures, "provenance"));
    const char *slow = NULL, *doubt = "";
    char words[TABLE_CELL_MAX];

    if (member < (size_t)bench->members)
        slow = library_slowdown(&bench->devices[member], words, sizeof words);
    if (from && strcmp(from, "assumed") == 0)
        doubt = "assumed, not measured";
    else if (json_is_false(json_object_get(figures, "reliable")))
        doubt = "not reliable";
    else if (from && strcmp(from, "steps") == 0)
        doubt = "corrected by steps";
    snprintf(buffer, size, "%s%s%s", slow ? slow : "",
             slow && doubt[0] ? "; " : "", doubt);
    return buffer;
}

int measure_table(struct bench *bench, const hdp_profile *profile)
{
    static const char *const titles[] = { "member", "device", "rate", "ratio",
                                          "spread", "note",   NULL };
    static const char *const ended[] = { "the samples agreed",
                                         "the budget was used up",
                                         "given, not measured" };
    FILE *out = bench->document.text;
    json_t *section = json_object_get(bench->document.root, "profile");
    json_t *members = json_object_get(section, "members");
    struct table table;
    hdp_profile_info info;
    char rate[32], words[TABLE_CELL_MAX], label[TABLE_CELL_MAX], time[24];

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, profile));
    if (code)
        return code;
    fprintf(out, "\nprobe %s, %s (products accumulate in %s)\n\n",
            options_probe_name(info.probe), options_dtype_name(info.dtype),
            options_dtype_name(info.compute));
    table_open(&table, "rlrrrl", titles);
    for (size_t i = 0; i < json_array_size(members); ++i) {
        json_t *member = json_array_get(members, i);
        json_t *ratio = json_object_get(member, "ratio");
        table_cell(&table, "%zu", i);
        table_cell(&table, "%s",
                   i < (size_t)bench->members
                       ? library_label(&bench->devices[i], label, sizeof label)
                       : "-");
        table_cell(&table, "%s", rate_text(rate, sizeof rate, member));
        if (json_is_number(ratio))
            table_cell(&table, "%.4f", json_number_value(ratio));
        else
            table_cell(&table, "-");
        table_cell(&table, "%.2f %%",
                   100 * json_number_value(json_object_get(member, "spread")));
        table_cell(&table, "%s",
                   note_words(bench, i, member, words, sizeof words));
    }
    table_close(&table, out);
    fprintf(out, "\nmeasured for %s", table_ns(time, (double)info.elapsed_ns));
    fprintf(out, " after %s of warm-up; ended because %s%s\n",
            table_ns(time, (double)info.warmup_ns),
            info.ended_by >= 0 && info.ended_by <= HDP_ENDED_GIVEN
                ? ended[info.ended_by]
                : "?",
            info.drifting ? "; clocks were still drifting" : "");
    return EXIT_OK;
}
