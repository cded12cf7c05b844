/* calibrate: rates and ratios of all members at once, saved or compared. */
#include <math.h>

#include "bench.h"

static const double drift_limit = 0.05; /* of a ratio */

/* --check FILE: has a member's part of the whole speed moved? */
static int compare(struct bench *bench, const hdp_profile *now)
{
    hdp_profile *all = NULL, *then = NULL;
    json_t *json = json_object(), *rows = json_array();
    double worst = 0;
    int code =
        library_try(bench, hdp_profile_load(&all, bench->options.compare));

    if (!code)
        code = library_try(bench, hdp_profile_select(&then, all, bench->group));
    for (int32_t m = 0; !code && m < bench->members; ++m) {
        double was = 0, is = 0;
        code = library_try(bench, hdp_profile_ratio(&was, then, m));
        if (!code)
            code = library_try(bench, hdp_profile_ratio(&is, now, m));
        if (code)
            break;
        double moved = was > 0 ? fabs(is / was - 1) : 0;
        worst = moved > worst ? moved : worst;
        json_array_append_new(rows, document_real(moved));
        fprintf(bench->document.text,
                "member %d: ratio %.4f, was %.4f, moved %.2f %%\n", (int)m, is,
                was, 100 * moved);
    }
    if (!code) {
        json_object_set_new(json, "ok", json_boolean(worst <= drift_limit));
        json_object_set_new(json, "max_drift", document_real(worst));
        json_object_set_new(json, "limit", document_real(drift_limit));
        json_object_set_new(json, "against", json_string("saved profile"));
        json_object_set_new(json, "drift", json_incref(rows));
        document_set(&bench->document, "check", json_incref(json));
        if (worst > drift_limit)
            code = failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                               "a ratio moved by %.1f %%, the limit is %.0f %%",
                               100 * worst, 100 * drift_limit);
    }
    json_decref(rows);
    json_decref(json);
    hdp_profile_destroy(then);
    hdp_profile_destroy(all);
    return code;
}

int command_calibrate(struct bench *bench)
{
    const struct options *options = &bench->options;
    hdp_profile *profile = NULL;

    fprintf(bench->document.text, "# hdp_bench %s calibrate\n", hdp_version());
    int code = library_group(bench, NULL);
    library_say_devices(bench);
    if (!code)
        code = measure_by_options(bench, &profile);
    if (!code)
        code = measure_section(bench, profile);
    if (!code)
        code = measure_table(bench, profile);
    if (!code && options->compare)
        code = compare(bench, profile);
    hdp_profile_destroy(profile);
    return code;
}
