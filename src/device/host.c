/* The host adapter: a member is a share of the cores. Its queue is program
 * order on the member's thread, host memory is its memory, so nothing is ever
 * pending. Ids are names, not cores: several members may share one core. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/text.h"
#include "device/host.h"

enum { IDS = 256 };

struct hdpi_host *hdpi_host_from(struct hdpi_device *device)
{
    assert(device->ops == &hdpi_host_ops);
    return (struct hdpi_host *)device;
}

/* ---- enumerate ----------------------------------------------------------- */

static void fill_row(struct hdpi_device_row *row, const struct hdpi_ask *ask,
                     const struct hdpi_host_machine *machine, int32_t threads)
{
    hdp_device *info = &row->info;
    int32_t id = ask->logical_id < 0 ? 0 : ask->logical_id;

    row->ask = *ask;
    row->ask.logical_id = id;
    info->kind = HDP_HOST;
    info->logical_id = id;
    info->thread_count = threads;
    info->memory_bytes = machine->memory_bytes;
    if (ask->memory_bytes > 0 && ask->memory_bytes < info->memory_bytes)
        info->memory_bytes = ask->memory_bytes;
    info->free_bytes = machine->free_bytes < info->memory_bytes
                           ? machine->free_bytes
                           : info->memory_bytes;
    info->duty_percent = ask->duty_percent ? ask->duty_percent : 100;
    info->runnable = 1;
    info->native_dtypes = 1u << HDP_F32 | 1u << HDP_F64 | 1u << HDP_I32 |
                          1u << HDP_I64 | 1u << HDP_U8 | 1u << HDP_I8;
    info->slow_dtypes = 1u << HDP_F16 | 1u << HDP_BF16;
    hdpi_text_copy(info->name, sizeof info->name,
                   ask->name[0] ? ask->name : machine->model);
    snprintf(info->uuid, sizeof info->uuid, "%s-%d", machine->identity, id);
}

/* Members that do not say how many threads they want share what the others
 * leave of the allowed cores evenly, at least one each: one member alone gets
 * them all. */
static int32_t even_share(const struct hdpi_ask *asks, int32_t count,
                          int32_t cores)
{
    int64_t taken = 0;
    int32_t silent = 0;

    for (int32_t i = 0; i < count; ++i) {
        if (asks[i].kind != HDP_HOST)
            continue;
        taken += asks[i].threads;
        silent += asks[i].threads == 0;
    }
    if (silent == 0 || taken >= cores)
        return 1;
    return (int32_t)((cores - taken) / silent) > 1
               ? (int32_t)((cores - taken) / silent)
               : 1;
}

static void say_crowded(const hdp_topology *topology,
                        const struct hdpi_log *log, int32_t cores)
{
    int64_t threads = 0;
    int32_t members = 0;

    for (int32_t i = 0; i < topology->info.device_count; ++i) {
        const hdp_device *info = &topology->devices[i].info;
        members += info->kind == HDP_HOST;
        threads += info->kind == HDP_HOST ? info->thread_count : 0;
    }
    if (threads > cores)
        hdpi_log(log, HDP_LOG_WARN,
                 "host: %d members with %lld threads share %d cores, so "
                 "their times depend on each other",
                 members, (long long)threads, cores);
}

static hdp_status check_asks(const struct hdpi_ask *asks, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        if (asks[i].kind == HDP_HOST && asks[i].logical_id >= IDS)
            return hdpi_ask_refuse(&asks[i], "host", "ids are 0 to 255");
    return HDP_OK;
}

static hdp_status host_enumerate(hdp_topology *topology,
                                 const struct hdpi_ask *asks, int32_t count,
                                 const struct hdpi_site *site)
{
    const struct hdpi_ask whole = { .kind = HDP_HOST, .margin_bytes = -1 };
    int32_t before = topology->info.device_count;
    struct hdpi_host_machine machine;
    int32_t share;

    if (!asks) {
        asks = &whole;
        count = 1;
    }
    if (!hdpi_ask_first(asks, count, HDP_HOST))
        return HDP_OK;
    HDPI_RETURN_IF(check_asks(asks, count));
    hdpi_host_machine_read(&machine);
    share = even_share(asks, count, machine.cores);
    for (int32_t i = 0; i < count; ++i) {
        struct hdpi_device_row *row;
        if (asks[i].kind != HDP_HOST)
            continue;
        row = hdpi_topology_append(topology);
        if (!row) {
            topology->info.device_count = before;
            return HDP_ERR_MEMORY;
        }
        fill_row(row, &asks[i], &machine,
                 asks[i].threads ? asks[i].threads : share);
    }
    say_crowded(topology, site ? site->log : NULL, machine.cores);
    return HDP_OK;
}

/* ---- member -------------------------------------------------------------- */

static hdp_status host_open(struct hdpi_device *device)
{
    struct hdpi_host *host = hdpi_host_from(device);

    device->host_memory = 1;
    host->duty.percent = device->row.info.duty_percent;
    hdpi_host_blas_open(&host->blas);
    hdpi_log(device->log, HDP_LOG_INFO, "host:%d: openblas: %s%s%s",
             device->row.info.logical_id, host->blas.about.path,
             host->blas.about.path[0] ? " " : "", host->blas.about.note);
    return HDP_OK;
}

static void host_close(struct hdpi_device *device)
{
    struct hdpi_host *host = hdpi_host_from(device);

    hdpi_host_probe_close(device);
    hdpi_host_team_end(&host->team);
    hdpi_host_blas_close(&host->blas);
}

static hdp_status host_alloc(struct hdpi_device *device, void **out,
                             size_t bytes)
{
    int64_t cap = device->row.ask.memory_bytes;
    int64_t wanted = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;

    if (cap <= 0 || wanted <= cap - device->held_bytes)
        return hdpi_default_alloc(device, out, bytes);
    *out = NULL;
    hdpi_fail_member(HDP_ERR_MEMORY, device->member, device->rank,
                     "host:%d: %lld bytes wanted, %lld held of %lld allowed",
                     device->row.info.logical_id, (long long)wanted,
                     (long long)device->held_bytes, (long long)cap);
    hdpi_error()->wanted_bytes = wanted;
    return HDP_ERR_MEMORY;
}

static hdp_status host_launch(struct hdpi_device *device, hdp_work_fn fn,
                              const hdp_shard *shard, void *user,
                              int32_t *out_code)
{
    struct hdpi_host *host = hdpi_host_from(device);

    hdpi_host_duty_begin(&host->duty);
    *out_code = fn(shard, user);
    hdpi_host_duty_end(&host->duty);
    return HDP_OK;
}

static void host_pause(struct hdpi_device *device)
{
    hdpi_host_duty_pause(&hdpi_host_from(device)->duty);
}

static void host_resume(struct hdpi_device *device)
{
    hdpi_host_duty_resume(&hdpi_host_from(device)->duty);
}

static hdp_status host_mark(struct hdpi_device *device, struct hdpi_mark *mark,
                            int32_t purpose)
{
    (void)device;
    (void)purpose;
    mark->value = hdpi_clock_ns();
    return HDP_OK;
}

static hdp_status host_elapsed(struct hdpi_device *device, double *out_ns,
                               const struct hdpi_mark *from,
                               const struct hdpi_mark *to)
{
    (void)device;
    *out_ns = (double)(to->value - from->value);
    return HDP_OK;
}

static hdp_status host_wait(struct hdpi_device *device, int64_t deadline_ns)
{
    (void)device;
    (void)deadline_ns;
    return HDP_OK; /* program order: nothing is pending */
}

static void host_memory(struct hdpi_device *device, int64_t *out_held,
                        int64_t *out_free)
{
    int64_t cap = device->row.ask.memory_bytes;

    *out_held = device->held_bytes;
    *out_free = cap > 0 ? cap - device->held_bytes : -1;
}

const struct hdpi_device_ops hdpi_host_ops = {
    .name = "host",
    .kind = HDP_HOST,
    .state_size = sizeof(struct hdpi_host),
    .enumerate = host_enumerate,
    .open = host_open,
    .close = host_close,
    .alloc = host_alloc,
    .free = hdpi_default_free,
    .copy = hdpi_default_copy,
    .launch = host_launch,
    .pause = host_pause,
    .resume = host_resume,
    .mark = host_mark,
    .unmark = hdpi_default_unmark,
    .elapsed = host_elapsed,
    .combine = hdpi_default_combine,
    .probe_open = hdpi_host_probe_open,
    .probe = hdpi_host_probe,
    .probe_close = hdpi_host_probe_close,
    .wait = host_wait,
    .native = hdpi_default_native,
    .blas = hdpi_default_blas,
    .memory = host_memory,
    .cause = hdpi_default_cause,
    .idle = hdpi_default_idle,
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
