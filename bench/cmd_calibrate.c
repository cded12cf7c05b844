/* calibrate: rates and ratios of all members at once, saved or compared with
 * what was saved before. */
#include "bench.h"
#include "drift.h"
#include "repeat.h"
#include "table.h"

static const char *rate_cell(char *buffer, size_t size, const json_t *member,
                             const char *key)
{
    double rate = json_number_value(json_object_get(member, key));

    if (rate > 0)
        snprintf(buffer, size, "%.4g GB/s", rate / 1e9);
    else
        snprintf(buffer, size, "-");
    return buffer;
}

/* What HDP_PROBE_ALL found besides the curves; of other probes the one. */
static void figures_table(struct bench *bench)
{
    static const char *const titles[] = { "member",   "link in", "link out",
                                          "own copy", "launch",  NULL };
    static const char *const rates[] = { "in_bytes_per_second",
                                         "out_bytes_per_second",
                                         "copy_bytes_per_second" };
    json_t *members = json_object_get(
        json_object_get(bench->document.root, "profile"), "members");
    struct table table;
    char cell[24];

    table_open(&table, "rrrrr", titles);
    for (size_t i = 0; i < json_array_size(members); ++i) {
        const json_t *member = json_array_get(members, i);
        double launch_ns =
            json_number_value(json_object_get(member, "launch_ns"));
        table_cell(&table, "%zu", i);
        for (size_t k = 0; k < sizeof rates / sizeof *rates; ++k)
            table_cell(&table, "%s",
                       rate_cell(cell, sizeof cell, member, rates[k]));
        table_cell(&table, "%s",
                   launch_ns > 0 ? table_ns(cell, launch_ns) : "-");
    }
    fputc('\n', bench->document.text);
    table_close(&table, bench->document.text);
}

static int tell(struct bench *bench, const hdp_profile *profile)
{
    hdp_profile_info info;
    int code = measure_section(bench, profile);

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = measure_table(bench, profile);
    if (!code)
        code = library_try(bench, hdp_profile_get(&info, profile));
    if (!code && info.probe != HDP_PROBE_GEMM && info.probe != HDP_PROBE_WORK)
        figures_table(bench);
    return code;
}

/* What is measured again and again must be measured. */
static int check_repeat(struct bench *bench)
{
    const struct options *options = &bench->options;
    const char *lone = options->reference_ns ? "--reference"
                       : options->rest_ns    ? "--rest"
                                             : NULL;

    if (!options->repeat)
        return lone ? failure_usage(&bench->failure, lone, 0,
                                    "%s: only with --repeat N", lone)
                    : EXIT_OK;
    if (options->profile || options->cache)
        return failure_usage(&bench->failure, "--repeat", 0,
                             "--repeat measures; %s answers without",
                             options->profile ? "--profile" : "--cache");
    return EXIT_OK;
}

int command_calibrate(struct bench *bench)
{
    const struct options *options = &bench->options;
    hdp_profile *then = NULL, *now = NULL;
    int code = check_repeat(bench);

    if (code)
        return code;
    fprintf(bench->document.text, "# hdp_bench %s calibrate\n", hdp_version());
    code = library_group(bench, NULL);
    library_say_devices(bench);
    if (!code && options->compare)
        code = drift_open(bench, &then);
    if (!code)
        code = options->repeat ? repeat_measure(bench, &now)
                               : measure_by_options(bench, &now);
    if (!code)
        code = tell(bench, now);
    if (!code && then)
        code = drift_check(bench, then, now);
    hdp_profile_destroy(then);
    hdp_profile_destroy(now);
    return code;
}
