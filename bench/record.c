/* A machine file is the topology's own text and the profile's, side by side:
 * --save writes one, @./FILE and --profile read it. */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "outfile.h"

int record_topology(struct bench *bench, const hdp_topology *topology,
                    char **out)
{
    size_t needed = 0;

    hdp_topology_to_json(topology, NULL, 0, &needed);
    *out = malloc(needed + 1);
    if (!*out)
        return library_no_memory(bench);
    return library_try(
        bench, hdp_topology_to_json(topology, *out, needed + 1, &needed));
}

int record_profile_text(struct bench *bench, const hdp_profile *profile,
                        char **out)
{
    size_t needed = 0;

    hdp_profile_to_json(profile, NULL, 0, &needed);
    *out = malloc(needed + 1);
    if (!*out)
        return library_no_memory(bench);
    return library_try(bench,
                       hdp_profile_to_json(profile, *out, needed + 1, &needed));
}

int record_machine(struct bench *bench, const char *topology,
                   const hdp_profile *profile)
{
    const char *path = bench->options.save;
    struct outfile out = { 0 };
    char *measured = NULL;

    if (!path)
        return EXIT_OK;
    int code =
        profile ? record_profile_text(bench, profile, &measured) : EXIT_OK;
    if (!code &&
        (!outfile_open(&out, path) ||
         fprintf(out.file,
                 "{\"schema\":\"hdp.machine\",\"schema_version\":1,"
                 "\"text\":\"recorded by hdp_bench %s\",\n"
                 "\"topology\":%s,\n\"profiles\":[%s],\"faults\":[]}\n",
                 hdp_version(), topology, measured ? measured : "") < 0 ||
         !outfile_commit(&out)))
        code = failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                           "--save %.128s: %s", path, strerror(errno));
    outfile_drop(&out);
    free(measured);
    return code;
}

/* What the group was made of, to be looked at once more: `auto` is spelled out
 * by its members. NULL: out of memory. */
static char *machine_of(const struct bench *bench)
{
    const char *asked = bench->options.spec;
    const char *variable = getenv("HDP_DEVICES");
    size_t size = 1, used = 0;

    if ((!asked[0] || strcmp(asked, "auto") == 0) && variable && *variable)
        asked = variable;
    if (asked[0] && strcmp(asked, "auto") != 0)
        return strdup(asked);
    for (int32_t m = 0; m < bench->members; ++m)
        size += strlen(bench->devices[m].spec) + 1;
    char *text = calloc(1, size);
    for (int32_t m = 0; text && m < bench->members; ++m)
        used += (size_t)snprintf(text + used, size - used, "%s%s", m ? "+" : "",
                                 bench->devices[m].spec);
    return text;
}

int record_profile(struct bench *bench, const hdp_profile *profile)
{
    const char *path = bench->options.save;
    hdp_discover_options options;
    hdp_topology *topology = NULL;
    char *text = NULL;

    if (!path)
        return EXIT_OK;
    if (!bench->group) /* of a file: its devices are not here */
        return library_try(bench, hdp_profile_save(profile, path));
    hdp_options_init(&options, sizeof options);
    char *machine = machine_of(bench);
    options.machine = machine;
    options.order = "PCI_BUS_ID"; /* as the members stand */
    int code =
        machine ? library_try(bench,
                              hdp_discover(&topology, bench->context, &options))
                : library_no_memory(bench);
    if (!code)
        code = record_topology(bench, topology, &text);
    if (!code)
        code = record_machine(bench, text, profile);
    hdp_topology_destroy(topology);
    free(machine);
    free(text);
    return code;
}
