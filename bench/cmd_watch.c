/* watch: what the GPUs do, once a second, until somebody says stop. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "interrupt.h"
#include "table.h"

struct watch {
    struct bench *bench;
    json_t *states; /* of all rounds, for forms that are printed at the end */
    int round;
    int in_place; /* a terminal: each screen over the last */
};

static void put_time(json_t *row)
{
    char text[40];
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        json_object_set_new(row, "time", json_string(text));
    json_object_set_new(row, "at_ns", json_integer(library_now()));
}

/* ---- one state as a flat row ------------------------------------------------ */

static void put_low(json_t *row, const json_t *list)
{
    char text[256] = "";

    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char *word = json_string_value(json_array_get(list, i));
        size_t used = strlen(text);
        if (word)
            snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "",
                     word);
    }
    json_object_set_new(row, "low_because",
                        list ? document_text_or_null(text) : json_null());
}

static void put_link(json_t *row, json_t *pcie)
{
    static const char *const keys[][2] = {
        { "generation", "pcie_generation" },
        { "generation_max", "pcie_generation_max" },
        { "width", "pcie_width" },
        { "width_max", "pcie_width_max" },
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        json_t *value = json_object_get(pcie, keys[i][0]);
        json_object_set(row, keys[i][1], value);
    }
}

static json_t *gpu_row(const struct watch *self, json_t *state)
{
    json_t *row = json_object(), *value;
    const char *key;

    json_object_set_new(row, "round", json_integer(self->round));
    put_time(row);
    json_object_foreach(state, key, value)
    {
        if (strcmp(key, "low_because") == 0)
            put_low(row, json_is_array(value) ? value : NULL);
        else if (strcmp(key, "pcie") == 0)
            put_link(row, value);
        else if (strcmp(key, "processes") == 0) {
            json_object_set_new(
                row, "process_count",
                json_is_array(value)
                    ? json_integer((json_int_t)json_array_size(value))
                    : json_null());
            json_object_set(row, "processes", value);
        } else {
            json_object_set(row, key, value);
        }
    }
    return row;
}

/* Where no GPU is: how busy the host is, for its own members. */
static json_t *host_row(const struct watch *self)
{
    double load[3] = { 0, 0, 0 };
    json_t *row = json_object();

    json_object_set_new(row, "round", json_integer(self->round));
    put_time(row);
    json_object_set_new(row, "spec", json_string("host:0"));
    json_object_set_new(row, "load",
                        getloadavg(load, 3) == 3 ? document_real(load[0])
                                                 : json_null());
    json_object_set_new(row, "cores",
                        json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(row, "memory_bytes",
                        json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) *
                                     sysconf(_SC_PAGESIZE)));
    json_object_set_new(row, "free_bytes",
                        json_integer((json_int_t)sysconf(_SC_AVPHYS_PAGES) *
                                     sysconf(_SC_PAGESIZE)));
    return row;
}

/* ---- a screen --------------------------------------------------------------- */

static void cell(struct table *table, int64_t value, const char *unit)
{
    if (value < 0)
        table_cell(table, "-");
    else
        table_cell(table, "%lld%s", (long long)value, unit);
}

static void memory_cell(struct table *table, const json_t *row)
{
    int64_t all = document_number(row, "memory_bytes");
    int64_t left = document_number(row, "free_bytes");
    char used[24], of[24];

    if (all < 0 || left < 0)
        table_cell(table, "-");
    else
        table_cell(table, "%s/%s", table_bytes(used, (double)(all - left)),
                   table_bytes(of, (double)all));
}

static void pair_cell(struct table *table, const json_t *row, const char *key,
                      const char *most)
{
    int64_t value = document_number(row, key),
            limit = document_number(row, most);

    if (value < 0)
        table_cell(table, "-");
    else if (limit < 0)
        table_cell(table, "%lld", (long long)value);
    else
        table_cell(table, "%lld/%lld", (long long)value, (long long)limit);
}

static void show_gpus(FILE *out, const json_t *rows)
{
    static const char *const titles[] = { "device", "use",  "memory",
                                          "MHz",    "C",    "W",
                                          "PCIe",   "proc", "low because",
                                          NULL };
    struct table table;
    size_t i;
    json_t *row;

    table_open(&table, "lrrrrrrrl", titles);
    json_array_foreach(rows, i, row)
    {
        json_t *watts = json_object_get(row, "power_watts");
        table_cell(&table, "%s", document_text(row, "spec"));
        cell(&table, document_number(row, "use_percent"), " %");
        memory_cell(&table, row);
        pair_cell(&table, row, "clock_mhz", "clock_max_mhz");
        cell(&table, document_number(row, "temperature_celsius"), "");
        cell(&table,
             json_is_number(watts) ? (int64_t)json_number_value(watts) : -1,
             "");
        if (document_number(row, "pcie_width") < 0)
            table_cell(&table, "-");
        else
            table_cell(&table, "%lldx%lld",
                       (long long)document_number(row, "pcie_generation"),
                       (long long)document_number(row, "pcie_width"));
        cell(&table, document_number(row, "process_count"), "");
        table_cell(&table, "%s%s", document_text(row, "low_because"),
                   document_text(row, "note"));
    }
    table_close(&table, out);
}

static void show_processes(FILE *out, const json_t *rows)
{
    size_t i, k;
    json_t *row, *process;

    json_array_foreach(rows, i, row)
        json_array_foreach(json_object_get(row, "processes"), k, process)
    {
        int64_t bytes = document_number(process, "bytes");
        char held[24];
        fprintf(out, "%s: process %lld%s%s\n", document_text(row, "spec"),
                (long long)document_number(process, "pid"),
                bytes < 0 ? "" : " holds ",
                bytes < 0 ? "" : table_bytes(held, (double)bytes));
    }
}

static void show_host(FILE *out, const json_t *row, const char *why)
{
    char left[24], all[24];

    fprintf(out, "no GPU: %s\n", why);
    fprintf(out, "host: load %.2f of %lld cores, memory free %s of %s\n",
            json_number_value(json_object_get(row, "load")),
            (long long)document_number(row, "cores"),
            table_bytes(left, (double)document_number(row, "free_bytes")),
            table_bytes(all, (double)document_number(row, "memory_bytes")));
}

static void show(const struct watch *self, const json_t *rows, const char *why)
{
    const json_t *first = json_array_get(rows, 0);

    if (self->in_place)
        fputs("\033[H\033[J", stdout);
    else if (self->round > 0)
        fputc('\n', stdout);
    fprintf(stdout, "# hdp_bench %s watch, %s\n", hdp_version(),
            document_text(first, "time"));
    if (why) {
        show_host(stdout, first, why);
    } else {
        show_gpus(stdout, rows);
        show_processes(stdout, rows);
    }
}

/* ---- rounds ----------------------------------------------------------------- */

/* Why there is no GPU, in the adapter's words. */
static const char *reason(const json_t *now)
{
    const char *note = document_note(now, "cuda");

    return note ? note : "none can be seen";
}

static void stream(struct watch *self, json_t *rows)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        json_t *line = json_object();
        json_object_set_new(line, "type", json_string("state"));
        json_object_update(line, row);
        document_stream(&self->bench->document, line);
        json_decref(line);
    }
}

static int look(struct watch *self)
{
    json_t *now = library_info(HDP_INFO_DEVICES), *rows = json_array();
    json_t *states = json_object_get(now, "states"), *state;
    const char *why = json_array_size(states) ? NULL : reason(now);
    size_t i;

    json_array_foreach(states, i, state)
        json_array_append_new(rows, gpu_row(self, state));
    if (why)
        json_array_append_new(rows, host_row(self));
    if (self->round == 0)
        document_set(&self->bench->document, "no_gpu_because",
                     document_text_or_null(why));
    if (self->bench->options.format == FORMAT_TABLE)
        show(self, rows, why);
    else if (self->bench->options.format == FORMAT_JSONL)
        stream(self, rows);
    else
        json_array_extend(self->states, rows);
    json_decref(rows);
    json_decref(now);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* A second from the last round, in steps that notice an interrupt. */
static void pause_until(int64_t ns)
{
    static const struct timespec nap = { 0, 20000000 };

    while (!interrupt_seen() && library_now() < ns)
        (void)nanosleep(&nap, NULL);
}

int command_watch(struct bench *bench)
{
    int32_t format = bench->options.format;
    int endless = format == FORMAT_TABLE || format == FORMAT_JSONL;
    int64_t count = bench->options.count;
    struct watch self = { .bench = bench, .states = json_array() };
    int64_t next_ns = library_now();

    if (count < 0 && !endless)
        count = 1;
    self.in_place = format == FORMAT_TABLE && isatty(1);
    for (; (count < 0 || self.round < count) && !interrupt_seen();
         ++self.round) {
        pause_until(next_ns);
        if (interrupt_seen() || !look(&self))
            break; /* a closed pipe is told when the document is */
        next_ns += 1000000000;
    }
    if (!endless)
        document_set(&bench->document, "states", json_incref(self.states));
    json_decref(self.states);
    return EXIT_OK;
}
