/* Machines by reference: a shipped one by its name or a file by its path, and
 * its devices as simulated ones, which is what can be done with a machine that
 * is elsewhere. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"
#include "json/json.h"
#include "textfile.h"

/* ---- finding ------------------------------------------------------------- */

/* What is wrong with a text, behind the text's own name. */
static hdp_status read_text(struct hdpi_machine **out, const char *name,
                            const char *text, size_t length)
{
    hdp_status status = hdpi_machine_read_json(out, text, length);

    if (status == HDP_ERR_ARGUMENT)
        hdpi_error_behind(name);
    return status;
}

static hdp_status find_file(struct hdpi_machine **out, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    hdp_status status;

    HDPI_TRY(hdpi_textfile_read(&text, &length, path));
    HDPI_TRY(read_text(out, path, text, length));
    if (!(*out)->name[0])
        (void)hdpi_text_copy((*out)->name, sizeof(*out)->name, path);
out:
    free(text);
    return status;
}

static hdp_status find_shipped(struct hdpi_machine **out, const char *name)
{
    const struct hdpi_shipped *at = hdpi_shipped_machines;
    char names[128] = "";
    size_t used = 0;

    for (; at->name; ++at) {
        if (strcmp(at->name, name) == 0)
            return read_text(out, name, (const char *)at->text, at->length);
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used ? ", " : "", at->name);
    }
    return hdpi_fail(HDP_ERR_NOT_FOUND,
                     "no machine \"@%s\" is shipped; there are %s (a file is "
                     "@./FILE)",
                     name, names);
}

hdp_status hdpi_machine_find(struct hdpi_machine **out, const char *reference)
{
    *out = NULL;
    if (reference[0] == '.' || reference[0] == '/')
        return find_file(out, reference);
    return find_shipped(out, reference);
}

/* ---- a device of it, simulated ------------------------------------------- */

static const struct hdpi_device_row *row_of(const struct hdpi_machine *machine,
                                            int32_t device)
{
    return &machine->topology->devices[device];
}

static void take_faults(struct hdpi_ask *ask, const struct hdpi_ask *faults)
{
    if (faults->driver[0]) /* it may differ from the one recorded */
        memcpy(ask->driver, faults->driver, sizeof ask->driver);
    if (faults->noise > 0)
        ask->noise = faults->noise;
    if (faults->seed)
        ask->seed = faults->seed;
    if (faults->drift > 0)
        ask->drift = faults->drift;
    if (faults->ramp > 0) {
        ask->ramp = faults->ramp;
        ask->ramp_ns = faults->ramp_ns;
    }
    if (faults->given_newshape) {
        ask->newshape_ns = faults->newshape_ns;
        ask->given_newshape = 1;
    }
    if (faults->slow_count) {
        memcpy(ask->slows, faults->slows, sizeof ask->slows);
        ask->slow_count = faults->slow_count;
    }
    if (faults->fault_count) {
        memcpy(ask->faults, faults->faults, sizeof ask->faults);
        ask->fault_count = faults->fault_count;
    }
}

/* The specification shows a line, rounded where the curve is none. */
static void take_speed(struct hdpi_device_row *row)
{
    struct hdpi_figures figures;
    struct hdpi_ask *ask = &row->ask;

    if (!hdpi_model_find(&figures, row->model, -1, 0))
        return;
    const struct hdpi_rank_profile *rank = figures.rank;
    hdpi_profile_line(rank, &ask->fixed_ns, &ask->item_ns);
    if (rank->point_count > 0) {
        ask->fixed_ns = (double)(int64_t)(ask->fixed_ns + 0.5);
        ask->item_ns = (double)(int64_t)(ask->item_ns + 0.5);
    }
    ask->given_fixed = ask->fixed_ns > 0;
    ask->given_item = 1;
    row->in_bytes_per_second = rank->in_bytes_per_second;
    row->out_bytes_per_second = rank->out_bytes_per_second;
    row->reduce_bytes_per_second = rank->reduce_bytes_per_second;
    if (rank->in_bytes_per_second == rank->out_bytes_per_second &&
        rank->in_bytes_per_second == rank->reduce_bytes_per_second)
        ask->link_bytes_per_second = rank->in_bytes_per_second;
}

static void take_memory(struct hdpi_device_row *row, int64_t cap)
{
    hdp_device *info = &row->info;

    if (info->free_bytes == 0 || info->free_bytes > info->memory_bytes)
        info->free_bytes = info->memory_bytes;
    if (cap > 0 && (info->memory_bytes == 0 || cap < info->memory_bytes))
        info->memory_bytes = cap;
    if (info->memory_bytes > 0 && info->free_bytes > info->memory_bytes)
        info->free_bytes = info->memory_bytes;
    row->ask.memory_bytes = info->memory_bytes;
}

/* What a row says of itself stays; what it can do comes from the model. */
static void simulate(struct hdpi_device_row *row,
                     const struct hdpi_machine *machine, int32_t device,
                     int32_t id)
{
    const struct hdpi_device_row *from = row_of(machine, device);
    hdp_device *info = &row->info;
    char key[HDPI_KEY_MAX];

    *info = from->info;
    if (from->info.kind == HDP_HOST && from->info.duty_percent == 100) {
        /* its own key, and of no other kind: profiles of it must fit */
        hdpi_device_key(key, sizeof key, &from->info);
        (void)hdpi_text_copy(info->uuid, sizeof info->uuid, key);
    } else if (!info->uuid[0]) {
        (void)snprintf(info->uuid, sizeof info->uuid, "SIM-%d", (int)id);
    }
    info->kind = HDP_SIM;
    info->logical_id = id;
    info->runnable = 1;
    info->spec[0] = '\0';
    for (uint32_t dtype = HDP_F32; !from->info.native_dtypes &&
                                   !from->info.slow_dtypes && dtype <= HDP_I8;
         ++dtype)
        info->native_dtypes |= 1u << dtype;
    if (from->info.kind == HDP_SIM && from->ask.kind == HDP_SIM)
        row->ask = from->ask;
    if (row->ask.item_ns <= 0 && !row->ask.given_item)
        row->ask.item_ns = HDPI_SIM_ITEM_NS;
    row->ask.kind = HDP_SIM;
    row->ask.logical_id = id;
    row->ask.compute = from->ask.compute;
    row->ask.margin_bytes = from->ask.margin_bytes;
    row->in_bytes_per_second = row->out_bytes_per_second =
        row->reduce_bytes_per_second = row->ask.link_bytes_per_second;
    row->model = &machine->models[device];
    take_memory(row, from->ask.memory_bytes);
    take_speed(row);
    take_faults(&row->ask, &machine->faults[device]);
}

/* ---- its devices in order ------------------------------------------------ */

struct pick {
    int32_t device, host, id;
};

static int by_id(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;

    if (x->host != y->host)
        return x->host ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->device < y->device ? -1 : 1;
}

/* Hosts first, then by logical id. Where the GPUs' ids are no ids (parts of
 * one GPU have the same), they are numbered as they stand. */
static int32_t pick_devices(struct pick *picks, const hdp_topology *from,
                            int hosts)
{
    int32_t count = 0, broken = 0;

    for (int32_t i = 0; i < from->info.device_count; ++i) {
        const hdp_device *info = &from->devices[i].info;
        int host = info->kind == HDP_HOST;
        if (host && !hosts)
            continue;
        picks[count].device = i;
        picks[count].host = host;
        picks[count++].id = info->logical_id;
    }
    if (count > 1)
        qsort(picks, (size_t)count, sizeof *picks, by_id);
    for (int32_t i = 0; i < count; ++i)
        broken |= picks[i].id < 0 || (i > 0 && picks[i].id == picks[i - 1].id &&
                                      picks[i].host == picks[i - 1].host);
    for (int32_t i = 0, next = 0; broken && i < count; ++i) {
        if (i > 0 && picks[i].host != picks[i - 1].host)
            next = 0;
        picks[i].id = next++;
    }
    return count;
}

static hdp_status take_links(hdp_topology *topology,
                             const struct hdpi_machine *machine,
                             const struct pick *picks, int32_t count)
{
    const struct hdpi_topology_link *from = machine->topology->links;
    size_t wide = (size_t)machine->topology->info.device_count;
    size_t n = (size_t)count;

    if (!from || n == 0)
        return HDP_OK;
    topology->links = hdpi_alloc(n * n, sizeof *topology->links, "links");
    if (!topology->links)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < n * n; ++i)
        topology->links[i] = from[(size_t)picks[i / n].device * wide +
                                  (size_t)picks[i % n].device];
    return HDP_OK;
}

static hdp_status take_devices(hdp_topology *topology,
                               struct hdpi_machine *machine,
                               const struct pick *picks, int32_t count,
                               int members)
{
    for (int32_t i = 0; i < count; ++i) {
        const struct hdpi_device_row *from = row_of(machine, picks[i].device);
        struct hdpi_device_row *row = hdpi_topology_append(topology);
        if (!row)
            return HDP_ERR_MEMORY;
        if (picks[i].host && !members) {
            row->info = from->info;
            row->ask = from->ask;
        } else {
            simulate(row, machine, picks[i].device, picks[i].id);
        }
        row->ask.position = i;
    }
    return take_links(topology, machine, picks, count);
}

static hdp_status append(hdp_topology *topology, const char *reference,
                         int members)
{
    struct hdpi_machine *machine;
    struct pick *picks = NULL;
    hdp_status status;
    int32_t count;

    HDPI_TRY(hdpi_machine_find(&topology->machine, reference));
    machine = topology->machine;
    assert(hdpi_machine_is_valid(machine));
    count = machine->topology->info.device_count;
    picks = hdpi_alloc((size_t)count, sizeof *picks, "devices of a machine");
    if (!picks)
        HDPI_TRY(HDP_ERR_MEMORY);
    count = pick_devices(picks, machine->topology, !members);
    if (members && count == 0) /* a machine without GPUs */
        count = pick_devices(picks, machine->topology, 1);
    HDPI_TRY(take_devices(topology, machine, picks, count, members));
    if (machine->text[0])
        HDPI_TRY(hdpi_topology_note(topology, machine->name, machine->text));
out:
    free(picks);
    return status;
}

hdp_status hdpi_machine_list(hdp_topology *topology, const char *reference)
{
    return append(topology, reference, 0);
}

hdp_status hdpi_machine_members(hdp_topology *topology, const char *reference)
{
    return append(topology, reference, 1);
}
