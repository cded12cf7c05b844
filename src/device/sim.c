/* The simulated adapter: functions and copies run for their results on the
 * calling thread, their time is a model's on a virtual clock in picoseconds.
 * The same seed gives the same times; each hook can be told to fail. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "device/adapter.h"
#include "device/sim_pace.h"

/* Counts of items whose launches are no longer new: a cache of shapes that
 * forgets the one it took in first. */
enum { SHAPES_MAX = 64 };

struct sim {
    struct hdpi_device base;
    int64_t clock_ps;
    uint64_t launches; /* and probes: the noise's position */
    int64_t calls[HDPI_HOOK_COUNT];
    int64_t shapes[SHAPES_MAX];
    uint64_t shape_count; /* ever taken in */
    int32_t probe_kind, probe_open;
    int32_t modelled, probe_modelled; /* 1: the figures below say the time */
    struct hdpi_figures figures, probe_figures;
};

static const char *const hook_names[HDPI_HOOK_COUNT] = { "alloc", "copy",
                                                         "launch", "wait",
                                                         "reduce" };

/* Aimed at by a probe, as on real devices. */
static const double SAMPLE_NS = 1500000;
static const double ITEMS_MAX = 1 << 24;

static struct sim *sim_from(struct hdpi_device *device)
{
    assert(device->ops == &hdpi_sim_ops);
    return (struct sim *)device;
}

/* ---- enumerate ----------------------------------------------------------- */

static void fill_row(struct hdpi_device_row *row, const struct hdpi_ask *ask)
{
    hdp_device *info = &row->info;

    row->ask = *ask;
    /* a model of no time could not be split */
    if (!ask->given_item)
        row->ask.item_ns = HDPI_SIM_ITEM_NS;
    row->in_bytes_per_second = row->out_bytes_per_second =
        row->reduce_bytes_per_second = ask->link_bytes_per_second;
    info->kind = HDP_SIM;
    info->logical_id = ask->logical_id;
    info->thread_count = 1;
    info->sm_count = ask->sms;
    info->display = ask->display;
    info->memory_bytes = ask->memory_bytes;
    info->free_bytes = ask->memory_bytes;
    info->duty_percent = 100;
    info->runnable = 1;
    for (uint32_t dtype = HDP_F32; dtype <= HDP_I8; ++dtype)
        info->native_dtypes |= 1u << dtype;
    hdpi_text_copy(info->name, sizeof info->name,
                   ask->name[0] ? ask->name : "simulated");
    if (ask->uuid[0])
        hdpi_text_copy(info->uuid, sizeof info->uuid, ask->uuid);
    else
        snprintf(info->uuid, sizeof info->uuid, "SIM-%d", ask->logical_id);
}

/* Identities tell members apart in profiles: no two devices share one. */
static hdp_status check_identity(const hdp_topology *topology, int32_t row)
{
    const hdp_device *own = &topology->devices[row].info;

    for (int32_t i = 0; i < row; ++i) {
        const hdp_device *other = &topology->devices[i].info;
        if (other->kind == HDP_SIM && strcmp(other->uuid, own->uuid) == 0)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "sim:%d and sim:%d bear the same uuid \"%s\"",
                             other->logical_id, own->logical_id, own->uuid);
    }
    return HDP_OK;
}

static hdp_status add(hdp_topology *topology, const struct hdpi_ask *ask)
{
    struct hdpi_device_row *row;

    if (ask->all || ask->logical_id < 0)
        return hdpi_ask_refuse(ask, "sim",
                               "a simulated device is named by its number");
    row = hdpi_topology_append(topology);
    if (!row)
        return HDP_ERR_MEMORY;
    fill_row(row, ask);
    return check_identity(topology, topology->info.device_count - 1);
}

static hdp_status sim_enumerate(hdp_topology *topology,
                                const struct hdpi_ask *asks, int32_t count,
                                const struct hdpi_site *site)
{
    int32_t before = topology->info.device_count;
    hdp_status status = HDP_OK;

    (void)site;
    for (int32_t i = 0; asks && i < count; ++i)
        if (asks[i].kind == HDP_SIM)
            HDPI_TRY(add(topology, &asks[i]));
out:
    if (status != HDP_OK)
        topology->info.device_count = before;
    return status;
}

/* ---- faults and time ----------------------------------------------------- */

static hdp_status count_call(struct sim *sim, int32_t hook)
{
    const struct hdpi_device *base = &sim->base;
    const struct hdpi_ask *ask = &base->row.ask;
    int64_t call = ++sim->calls[hook];

    for (int32_t i = 0; i < ask->fault_count; ++i) {
        const struct hdpi_fault *fault = &ask->faults[i];
        if (fault->hook != hook ||
            !(call == fault->nth || (fault->lasting && call > fault->nth)))
            continue;
        return hdpi_fail_member(
            hook == HDPI_HOOK_ALLOC ? HDP_ERR_MEMORY : HDP_ERR_DEVICE,
            base->member, base->rank,
            "sim:%d: injected failure of %s, call %lld",
            base->row.info.logical_id, hook_names[hook], (long long)call);
    }
    return HDP_OK;
}

static void advance(struct sim *sim, double ns)
{
    double ps = ns * 1000;
    int64_t step = ps < 1 ? 1 : ps < 0x1p62 ? llround(ps) : INT64_MAX;

    sim->clock_ps =
        step > INT64_MAX - sim->clock_ps ? INT64_MAX : sim->clock_ps + step;
}

static double clock_ns(const struct sim *sim)
{
    return (double)sim->clock_ps / 1000;
}

/* For work that is there: nothing takes no time, t(0) = 0. `model_ns` is what
 * the model says, `extra_ns` comes on top as it is. */
static void charge(struct sim *sim, double model_ns, double extra_ns)
{
    const struct hdpi_ask *ask = &sim->base.row.ask;
    double ns = model_ns *
                hdpi_sim_pace(ask, sim->calls[HDPI_HOOK_LAUNCH], clock_ns(sim));

    if (ask->noise > 0)
        ns *= 1 + ask->noise * hdpi_sim_gauss(ask->seed,
                                              sim->base.row.info.logical_id,
                                              sim->launches);
    sim->launches++;
    advance(sim, ns + extra_ns);
}

/* 1 the first time, and again once as many other counts came between. */
static int is_new_shape(struct sim *sim, int64_t items)
{
    uint64_t kept =
        sim->shape_count < SHAPES_MAX ? sim->shape_count : SHAPES_MAX;

    for (uint64_t i = 0; i < kept; ++i)
        if (sim->shapes[i] == items)
            return 0;
    sim->shapes[sim->shape_count++ % SHAPES_MAX] = items;
    return 1;
}

static double launch_ns(const struct sim *sim, int64_t items)
{
    const struct hdpi_ask *ask = &sim->base.row.ask;

    if (sim->modelled)
        return hdpi_figures_ns(&sim->figures, items);
    return ask->fixed_ns + ask->item_ns * (double)items;
}

/* A machine may be recorded before anything on it was measured. */
static hdp_status check_known(const struct hdpi_device *device)
{
    const struct hdpi_model *model = device->row.model;
    const char *machine = model ? hdpi_model_unknown(model) : NULL;

    if (!machine)
        return HDP_OK;
    return hdpi_fail_member(
        HDP_ERR_NOT_FOUND, device->member, device->rank,
        "machine \"%s\" does not say how fast sim:%d (%s) is: record it again "
        "with hdp_bench calibrate --save, or plan with a profile of it",
        machine, device->row.info.logical_id, device->row.info.name);
}

/* ---- member -------------------------------------------------------------- */

static hdp_status sim_open(struct hdpi_device *device)
{
    struct sim *sim = sim_from(device);

    device->virtual_time = 1;
    if (device->row.model)
        sim->modelled =
            hdpi_model_find(&sim->figures, device->row.model, -1, 0);
    return HDP_OK;
}

static void sim_close(struct hdpi_device *device)
{
    (void)device;
}

static hdp_status sim_alloc(struct hdpi_device *device, void **out,
                            size_t bytes)
{
    struct sim *sim = sim_from(device);
    int64_t size = device->row.info.free_bytes;
    int64_t wanted = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    hdp_status status;

    *out = NULL;
    if (bytes == 0)
        return HDP_OK;
    status = count_call(sim, HDPI_HOOK_ALLOC);
    if (status == HDP_OK && (size <= 0 || wanted <= size - device->held_bytes))
        return hdpi_default_alloc(device, out, bytes);
    if (status == HDP_OK)
        status =
            hdpi_fail_member(HDP_ERR_MEMORY, device->member, device->rank,
                             "sim:%d: %lld bytes wanted, %lld held of %lld",
                             device->row.info.logical_id, (long long)wanted,
                             (long long)device->held_bytes, (long long)size);
    hdpi_error()->wanted_bytes = wanted;
    return status;
}

/* Only the host link has a speed; inside the member rows move for nothing. */
static hdp_status sim_copy(struct hdpi_device *device,
                           const struct hdpi_copy *copy)
{
    struct sim *sim = sim_from(device);
    double link =
        copy->direction == HDPI_COPY_IN    ? device->row.in_bytes_per_second
        : copy->direction == HDPI_COPY_OUT ? device->row.out_bytes_per_second
                                           : 0;
    double bytes = (double)copy->rows * (double)copy->row_bytes;

    HDPI_RETURN_IF(count_call(sim, HDPI_HOOK_COPY));
    if (link > 0 && bytes > 0)
        advance(sim, bytes / link * 1e9);
    return hdpi_default_copy(device, copy);
}

static hdp_status sim_launch(struct hdpi_device *device, hdp_work_fn fn,
                             const hdp_shard *shard, void *user,
                             int32_t *out_code)
{
    struct sim *sim = sim_from(device);

    *out_code = 0;
    HDPI_RETURN_IF(check_known(device));
    HDPI_RETURN_IF(count_call(sim, HDPI_HOOK_LAUNCH));
    /* before the function, so that what it says ready is ready by then */
    if (shard->items > 0)
        charge(sim, launch_ns(sim, shard->items),
               is_new_shape(sim, shard->items) ? device->row.ask.newshape_ns
                                               : 0);
    *out_code = fn(shard, user);
    return HDP_OK;
}

static hdp_status sim_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                           int32_t purpose)
{
    struct sim *sim = sim_from(device);

    if (purpose == HDPI_MARK_READY)
        HDPI_RETURN_IF(count_call(sim, HDPI_HOOK_REDUCE));
    mark->value = sim->clock_ps;
    return HDP_OK;
}

static hdp_status sim_elapsed(struct hdpi_device *device, double *out_ns,
                              const struct hdpi_mark *from,
                              const struct hdpi_mark *to)
{
    (void)device;
    *out_ns = (double)(to->value - from->value) / 1000;
    return HDP_OK;
}

static void sim_idle(struct hdpi_device *device, double ns)
{
    advance(sim_from(device), ns);
}

static hdp_status sim_wait(struct hdpi_device *device, int64_t deadline_ns)
{
    (void)deadline_ns; /* program order: nothing is pending */
    return count_call(sim_from(device), HDPI_HOOK_WAIT);
}

static void sim_memory(struct hdpi_device *device, int64_t *out_held,
                       int64_t *out_free)
{
    int64_t size = device->row.info.free_bytes;

    *out_held = device->held_bytes;
    *out_free = size > 0 ? size - device->held_bytes : -1;
}

static int32_t sim_cause(struct hdpi_device *device)
{
    const struct sim *sim = sim_from(device);

    return hdpi_sim_cause(&device->row.ask, sim->calls[HDPI_HOOK_LAUNCH],
                          clock_ns(sim));
}

/* ---- probe --------------------------------------------------------------- */

/* Items that take about a sample beyond the fixed time, so that the slope is
 * not lost in it; a launch's item is the fixed time. */
static int64_t sample_items(const struct hdpi_ask *ask, int32_t kind)
{
    double each = kind == HDP_PROBE_LAUNCH ? ask->fixed_ns : ask->item_ns;
    double items = each > 0 ? SAMPLE_NS / each : 1;

    return items < 1 ? 1 : (int64_t)(items < ITEMS_MAX ? items : ITEMS_MAX);
}

/* The dtype that a product is really computed in. */
static int32_t computed_dtype(const struct hdpi_device *device, int32_t dtype)
{
    const hdp_device *info = &device->row.info;
    uint32_t dtypes = info->native_dtypes | info->slow_dtypes;

    if (device->row.ask.compute && !(dtypes >> dtype & 1))
        return device->row.ask.compute;
    return dtype;
}

static void describe_line(struct hdpi_probe *probe, const struct hdpi_ask *ask,
                          int32_t dtype)
{
    double width = (double)probe->width;

    probe->start_items = sample_items(ask, probe->kind);
    probe->item_flops = probe->kind == HDP_PROBE_GEMM ? 2 * width * width : 0;
    probe->item_bytes = probe->kind == HDP_PROBE_COPY ? 0x1p20 : 0;
    probe->compute = dtype == HDP_F16 || dtype == HDP_BF16 ? HDP_F32 : dtype;
}

static void describe_figures(struct hdpi_probe *probe,
                             const struct hdpi_figures *figures)
{
    double ns =
        hdpi_figures_raw_ns(figures, 2) - hdpi_figures_raw_ns(figures, 1);
    double items = ns > 0 ? SAMPLE_NS / ns : 1;

    probe->start_items =
        items < 1 ? 1 : (int64_t)(items < ITEMS_MAX ? items : ITEMS_MAX);
    probe->sizes = figures->sizes;
    probe->size_count = (int32_t)figures->size_count;
    probe->item_flops = figures->item_flops;
    if (figures->compute)
        probe->compute = figures->compute;
}

static hdp_status sim_probe_open(struct hdpi_device *device,
                                 struct hdpi_probe *probe)
{
    struct sim *sim = sim_from(device);
    int32_t dtype = computed_dtype(device, probe->dtype);
    int32_t compute = dtype == probe->dtype ? probe->compute : 0;

    sim->probe_open = sim->probe_modelled = 0;
    HDPI_RETURN_IF(check_known(device));
    if (probe->kind != HDP_PROBE_GEMM && probe->kind != HDP_PROBE_COPY &&
        probe->kind != HDP_PROBE_LAUNCH)
        return hdpi_fail_member(HDP_ERR_UNSUPPORTED, device->member,
                                device->rank, "sim:%d has no probe of kind %d",
                                device->row.info.logical_id, probe->kind);
    describe_line(probe, &device->row.ask, dtype);
    if (compute)
        probe->compute = compute;
    if (sim->modelled) {
        if (!hdpi_model_find_sums(&sim->probe_figures, device->row.model,
                                  probe->kind, dtype, compute))
            return hdpi_fail_member(
                HDP_ERR_UNSUPPORTED, device->member, device->rank,
                "sim:%d: its machine has no figures of probe %d in dtype %d",
                device->row.info.logical_id, probe->kind, dtype);
        sim->probe_modelled = 1;
        describe_figures(probe, &sim->probe_figures);
    }
    sim->probe_open = 1;
    sim->probe_kind = probe->kind;
    return HDP_OK;
}

static hdp_status sim_probe(struct hdpi_device *device,
                            const struct hdpi_probe *probe)
{
    struct sim *sim = sim_from(device);
    const struct hdpi_ask *ask = &device->row.ask;
    double items = (double)probe->items;

    if (!sim->probe_open)
        return hdpi_fail_member(HDP_ERR_STATE, device->member, device->rank,
                                "sim:%d: no probe is open",
                                device->row.info.logical_id);
    if (items <= 0)
        return HDP_OK;
    if (sim->probe_modelled)
        charge(sim, hdpi_figures_raw_ns(&sim->probe_figures, probe->items), 0);
    else if (sim->probe_kind == HDP_PROBE_LAUNCH)
        charge(sim, ask->fixed_ns * items, 0);
    else
        charge(sim, ask->fixed_ns + ask->item_ns * items, 0);
    return HDP_OK;
}

static void sim_probe_close(struct hdpi_device *device)
{
    sim_from(device)->probe_open = 0;
}

const struct hdpi_device_ops hdpi_sim_ops = {
    .name = "sim",
    .kind = HDP_SIM,
    .state_size = sizeof(struct sim),
    .enumerate = sim_enumerate,
    .open = sim_open,
    .close = sim_close,
    .alloc = sim_alloc,
    .free = hdpi_default_free,
    .copy = sim_copy,
    .launch = sim_launch,
    .pause = hdpi_default_pause,
    .resume = hdpi_default_pause,
    .mark = sim_mark,
    .unmark = hdpi_default_unmark,
    .elapsed = sim_elapsed,
    .combine = hdpi_default_combine,
    .probe_open = sim_probe_open,
    .probe = sim_probe,
    .probe_close = sim_probe_close,
    .wait = sim_wait,
    .native = hdpi_default_native,
    .blas = hdpi_default_blas,
    .memory = sim_memory,
    .cause = sim_cause,
    .idle = sim_idle,
    .link = hdpi_default_link,
    .peer = hdpi_default_peer,
    .software = hdpi_default_software,
    .forget = hdpi_default_forget,
    .host_alloc = hdpi_default_alloc,
    .host_free = hdpi_default_free,
    .locate = hdpi_default_locate,
    .order = hdpi_default_order,
    .apart = hdpi_default_apart,
};
