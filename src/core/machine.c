/* Devices and profiles of one file, joined by identity, and what a simulated
 * device asks of them. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/machine.h"

/* ---- life ---------------------------------------------------------------- */

hdp_status hdpi_machine_new(struct hdpi_machine **out, hdp_topology *topology)
{
    size_t devices = (size_t)topology->info.device_count;
    struct hdpi_machine *machine = hdpi_alloc(1, sizeof *machine, "a machine");

    *out = NULL;
    if (!machine) {
        hdpi_topology_free(topology);
        return HDP_ERR_MEMORY;
    }
    hdpi_object_init(&machine->object, HDPI_MACHINE);
    machine->topology = topology;
    machine->models = hdpi_alloc(devices, sizeof *machine->models, "a machine");
    machine->faults = hdpi_alloc(devices, sizeof *machine->faults, "faults");
    if (!machine->models || !machine->faults) {
        hdpi_machine_free(machine);
        return HDP_ERR_MEMORY;
    }
    for (size_t i = 0; i < devices; i++) {
        machine->models[i].machine = machine;
        machine->models[i].device = (int32_t)i;
        machine->faults[i].kind = HDP_SIM;
        machine->faults[i].margin_bytes = -1;
    }
    *out = machine;
    return HDP_OK;
}

hdp_status hdpi_machine_reserve(struct hdpi_machine *machine, size_t profiles)
{
    machine->profiles =
        hdpi_alloc(profiles, sizeof *machine->profiles, "profiles");
    return machine->profiles ? HDP_OK : HDP_ERR_MEMORY;
}

void hdpi_machine_keep(struct hdpi_machine *machine)
{
    hdpi_object_retain(&machine->object);
}

void hdpi_machine_free(struct hdpi_machine *machine)
{
    if (!hdpi_object_release((struct hdpi_object *)machine, HDPI_MACHINE))
        return;
    for (int32_t i = 0; i < machine->profile_count; i++)
        hdpi_profile_free(machine->profiles[i]);
    hdpi_topology_free(machine->topology);
    free(machine->profiles);
    free(machine->faults);
    free(machine->models);
    free(machine->members);
    free(machine);
}

/* ---- who is who ---------------------------------------------------------- */

static int32_t device_count(const struct hdpi_machine *machine)
{
    return machine->topology->info.device_count;
}

static int32_t *member_of(const struct hdpi_machine *machine, int32_t profile,
                          int32_t device)
{
    return &machine->members[(size_t)profile * (size_t)device_count(machine) +
                             (size_t)device];
}

/* Two parts of one GPU bear one uuid, so identities are compared whole. */
static hdp_status check_identities(const struct hdpi_machine *machine)
{
    const struct hdpi_device_row *rows = machine->topology->devices;
    char own[HDPI_KEY_MAX], other[HDPI_KEY_MAX];

    if (device_count(machine) > HDPI_MACHINE_DEVICES_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "topology.devices: expected %d at most, got %d",
                         HDPI_MACHINE_DEVICES_MAX, (int)device_count(machine));
    for (int32_t i = 0; i < device_count(machine); i++) {
        hdpi_device_key(own, sizeof own, &rows[i].info);
        for (int32_t j = 0; own[0] && j < i; j++) {
            hdpi_device_key(other, sizeof other, &rows[j].info);
            if (strcmp(own, other) == 0)
                return hdpi_fail(HDP_ERR_ARGUMENT,
                                 "topology.devices[%d].uuid: devices[%d] bears "
                                 "\"%s\" already",
                                 (int)i, (int)j, own);
        }
    }
    return HDP_OK;
}

static int32_t find_device(const struct hdpi_machine *machine, const char *key,
                           int32_t place)
{
    char own[HDPI_KEY_MAX];

    if (!key[0])
        return place < device_count(machine) ? place : -1;
    for (int32_t i = 0; i < device_count(machine); i++) {
        hdpi_device_key(own, sizeof own, &machine->topology->devices[i].info);
        if (strcmp(own, key) == 0)
            return i;
    }
    return -1;
}

static hdp_status join(struct hdpi_machine *machine, int32_t p, int32_t m)
{
    const struct hdpi_rank_profile *rank = &machine->profiles[p]->ranks[m];
    int32_t device = find_device(machine, rank->key, m);

    if (device < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "profiles[%d].members[%d].key: no device of this "
                         "machine is \"%s\"",
                         (int)p, (int)m, rank->key);
    if (*member_of(machine, p, device) >= 0)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "profiles[%d].members[%d].key: members[%d] is "
                         "devices[%d] already",
                         (int)p, (int)m, (int)*member_of(machine, p, device),
                         (int)device);
    if (rank->point_count > HDPI_MACHINE_POINTS_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "profiles[%d].members[%d].points: expected %d at "
                         "most, got %lld",
                         (int)p, (int)m, HDPI_MACHINE_POINTS_MAX,
                         (long long)rank->point_count);
    *member_of(machine, p, device) = m;
    return HDP_OK;
}

hdp_status hdpi_machine_seal(struct hdpi_machine *machine)
{
    size_t count =
        (size_t)machine->profile_count * (size_t)device_count(machine);

    HDPI_RETURN_IF(check_identities(machine));
    machine->members = hdpi_alloc(count, sizeof *machine->members, "a machine");
    if (!machine->members)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        machine->members[i] = -1;
    for (int32_t p = 0; p < machine->profile_count; p++)
        for (int32_t m = 0; m < machine->profiles[p]->info.member_count; m++)
            HDPI_RETURN_IF(join(machine, p, m));
    return HDP_OK;
}

int hdpi_machine_is_valid(const struct hdpi_machine *machine)
{
    if (!machine || machine->object.tag != HDPI_MACHINE || !machine->members ||
        machine->profile_count < 0 ||
        machine->profile_count > HDPI_MACHINE_PROFILES_MAX ||
        !memchr(machine->name, 0, sizeof machine->name) ||
        !memchr(machine->text, 0, sizeof machine->text) ||
        !hdpi_topology_is_valid(machine->topology))
        return 0;
    for (int32_t p = 0; p < machine->profile_count; p++) {
        if (!hdpi_profile_is_valid(machine->profiles[p]))
            return 0;
        for (int32_t d = 0; d < device_count(machine); d++)
            if (*member_of(machine, p, d) < -1 ||
                *member_of(machine, p, d) >=
                    machine->profiles[p]->info.member_count)
                return 0;
    }
    return 1;
}

/* ---- figures ------------------------------------------------------------- */

static int is_product(int32_t probe)
{
    return probe == HDP_PROBE_GEMM || probe == HDP_PROBE_WORK ||
           probe == HDP_PROBE_ALL;
}

/* How well a profile answers for a probe and dtype; 0: not at all. A profile
 * that names no dtype is one of whatever is asked. What copies and launches
 * take does not hang on it. */
static int answers(const hdp_profile_info *info, int32_t probe, int32_t dtype)
{
    int same = info->probe == probe;

    if (probe < 0)
        return 1;
    if (!same && !(is_product(probe) && is_product(info->probe)))
        return 0;
    if (info->dtype == dtype || !is_product(probe))
        return 3 + same;
    return info->dtype == 0 ? 1 + same : 0;
}

static void fill(struct hdpi_figures *out, const struct hdpi_rank_profile *rank,
                 const hdp_profile_info *info)
{
    double rate = hdpi_profile_rate(rank);

    *out = (struct hdpi_figures){ .rank = rank, .compute = info->compute };
    if (rank->point_count > 0) {
        out->sizes = rank->point_items;
        out->size_count = rank->point_count;
    }
    if (rank->rate_flops > 0 && rate > 0)
        out->item_flops = rank->rate_flops / rate;
}

int hdpi_model_find(struct hdpi_figures *out, const struct hdpi_model *model,
                    int32_t probe, int32_t dtype)
{
    return hdpi_model_find_sums(out, model, probe, dtype, 0);
}

int hdpi_model_find_sums(struct hdpi_figures *out,
                         const struct hdpi_model *model, int32_t probe,
                         int32_t dtype, int32_t compute)
{
    const struct hdpi_machine *machine = model->machine;
    int best = 0;

    for (int32_t p = 0; p < machine->profile_count; p++) {
        const hdp_profile *profile = machine->profiles[p];
        int32_t member = *member_of(machine, p, model->device);
        int found = answers(&profile->info, probe, dtype);
        if (compute && is_product(probe) && profile->info.compute != compute)
            continue;
        if (member < 0 || found <= best || profile->ranks[member].lacks_dtype)
            continue;
        best = found;
        fill(out, &profile->ranks[member], &profile->info);
    }
    return best > 0;
}

const char *hdpi_model_unknown(const struct hdpi_model *model)
{
    const struct hdpi_machine *machine = model->machine;
    struct hdpi_figures figures;

    if (machine->topology->devices[model->device].info.kind == HDP_SIM ||
        hdpi_model_find(&figures, model, -1, 0))
        return NULL;
    return machine->name;
}

double hdpi_figures_ns(const struct hdpi_figures *figures, int64_t items)
{
    return hdpi_profile_time(figures->rank, items);
}

/* The padded curve but for the points and slopes as they were given. */
double hdpi_figures_raw_ns(const struct hdpi_figures *figures, int64_t items)
{
    const struct hdpi_rank_profile *rank = figures->rank;
    int64_t i = 0;

    if (items <= 0 || rank->point_count == 0)
        return hdpi_profile_time(rank, items);
    while (i + 1 < rank->point_count && rank->point_items[i + 1] <= items)
        i++;
    if (items <= rank->point_items[0])
        return rank->point_ns[0];
    return rank->point_ns[i] +
           rank->slope_ns[i] * (double)(items - rank->point_items[i]);
}
