/* plot: a picture of a saved document. On stdout where no .svg file is named;
 * any other form tells of the picture instead. */
#include <string.h>

#include "bench.h"
#include "plot.h"
#include "saved.h"

static int goes_to_file(const struct options *options)
{
    for (int i = 0; i < options->out_count; ++i)
        if (outfile_format(options->out[i]) == FORMAT_SVG)
            return 1;
    return 0;
}

/* What was drawn, for programs. */
static void put_section(struct bench *bench, json_t *saved, int32_t kind)
{
    json_t *json = json_object(), *kinds = json_array();
    json_t *command = json_object_get(saved, "command");

    for (int32_t i = 0; i < PLOT_KINDS; ++i)
        if (plot_can(saved, i))
            json_array_append_new(kinds, json_string(plot_kind_name(i)));
    json_object_set_new(json, "file",
                        document_text_or_null(bench->options.input));
    json_object_set_new(json, "kind", json_string(plot_kind_name(kind)));
    json_object_set_new(json, "of",
                        json_is_string(command) ? json_incref(command)
                                                : json_null());
    json_object_set_new(json, "kinds", kinds);
    document_set(&bench->document, "plot", json);
}

int command_plot(struct bench *bench)
{
    struct options *options = &bench->options;

    if (!options->input)
        return failure_usage(&bench->failure, "plot", 0,
                             "plot needs a file: hdp_bench plot FILE.json; - "
                             "is standard input");
    json_t *saved = saved_read(options->input, &bench->failure);
    if (!saved)
        return bench->failure.exit_code;
    bench->pictured = saved;
    if (options->kind < 0)
        options->kind = plot_best_kind(saved);
    FILE *out = goes_to_file(options) ? NULL : bench->document.text;
    int code =
        plot_draw(out, saved, options->kind, options->input, &bench->failure);
    if (!code)
        put_section(bench, saved, options->kind);
    return code;
}
