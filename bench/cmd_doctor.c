/* doctor: looks everywhere in turn, and tries things where asked to. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "record.h"
#include "ways.h"

/* The devices as a process sees them, mask and links included. */
static int find_topology(struct doctor *self)
{
    struct bench *bench = self->bench;
    hdp_topology *topology = NULL;
    char *text = NULL;
    int code =
        library_try(bench, hdp_discover(&topology, bench->context, NULL));

    if (!code)
        code = record_topology(bench, topology, &text);
    if (!code && !(self->topology = json_loads(text, 0, NULL)))
        code = library_no_memory(bench);
    free(text);
    hdp_topology_destroy(topology);
    return code;
}

static void count_gpus(struct doctor *self)
{
    const json_t *devices = json_object_get(self->topology, "devices");

    for (size_t i = 0; i < json_array_size(devices); ++i)
        self->gpus +=
            strcmp(document_text(json_array_get(devices, i), "backend"),
                   "cuda") == 0;
}

static void sum_up(struct doctor *self)
{
    FILE *out = self->bench->document.text;
    json_t *json = json_object();

    json_object_set_new(json, "ok", json_integer(self->counts[DOCTOR_OK]));
    json_object_set_new(json, "notes", json_integer(self->counts[DOCTOR_NOTE]));
    json_object_set_new(json, "warnings",
                        json_integer(self->counts[DOCTOR_WARNING]));
    json_object_set_new(json, "errors",
                        json_integer(self->counts[DOCTOR_ERROR]));
    json_object_set_new(json, "gpus", json_integer(self->gpus));
    document_set(&self->bench->document, "summary", json);
    fprintf(out, "\n%d errors, %d warnings, %d notes; %d GPUs can be seen\n",
            self->counts[DOCTOR_ERROR], self->counts[DOCTOR_WARNING],
            self->counts[DOCTOR_NOTE], self->gpus);
}

static int look(struct doctor *self)
{
    static void (*const parts[])(struct doctor *) = {
        doctor_driver, doctor_libraries, doctor_visibility, doctor_devices,
        doctor_now,    doctor_place,     doctor_memory,
    };
    int code = find_topology(self);

    if (code)
        return code;
    count_gpus(self);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        parts[i](self);
    return EXIT_OK;
}

/* --pair: nothing but the direct ways between the devices of -d. */
static int try_ways(struct bench *bench)
{
    json_t *ways = json_array();
    int code = library_group(bench, NULL);

    if (!code)
        code = ways_try(bench, ways);
    for (size_t i = 0; i < json_array_size(ways); ++i) {
        const json_t *way = json_array_get(ways, i);
        fprintf(bench->document.text, "%s to %s: %s\n",
                bench->devices[document_number(way, "from")].spec,
                bench->devices[document_number(way, "to")].spec,
                document_text(way, "way"));
    }
    document_set(&bench->document, "ways", ways);
    return code;
}

int command_doctor(struct bench *bench)
{
    struct doctor self = { .bench = bench };
    int code;

    if (bench->options.pair)
        return try_ways(bench);
    self.findings = json_array();
    self.root = bench->options.root ? bench->options.root : "";
    self.build = library_info(HDP_INFO_BUILD);
    self.runtime = library_runtime(bench);
    self.now = library_info(HDP_INFO_DEVICES);
    fprintf(bench->document.text, "# hdp_bench %s doctor\n", hdp_version());
    code = look(&self);
    if (!code && bench->options.test)
        code = doctor_test(&self);
    document_set(&bench->document, "findings", json_incref(self.findings));
    if (!code || code == EXIT_CHECK)
        sum_up(&self);
    json_decref(self.findings);
    json_decref(self.build);
    json_decref(self.now);
    json_decref(self.topology);
    return code;
}
