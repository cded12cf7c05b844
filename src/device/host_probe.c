/* The built-in workloads of a host member: products of rows with a square
 * matrix, copies, empty launches. A probe is split over the member's threads
 * and pays the declared slowdown like any work. */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "device/host.h"
#include "device/random.h"
#include "kernels.h"

enum {
    WIDTH_MAX = 16384,
    BLOCK_ROWS = 256,      /* of one product; longer probes repeat it */
    PIECE_BYTES = 1 << 20, /* an item of COPY */
    PIECES = 16,           /* copied in turn, so that caches do not hold them */
    SAMPLE_NS = 1500000,   /* aimed at by start_items */
    ITEMS_MAX = 1 << 24
};

static hdp_status lacks(const struct hdpi_host *host, const char *what,
                        int32_t number)
{
    const struct hdpi_device *base = &host->base;

    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, base->member, base->rank,
                            "host:%d has no %s %d", base->row.info.logical_id,
                            what, number);
}

static int is_narrow(int32_t dtype)
{
    return dtype == HDP_F16 || dtype == HDP_BF16;
}

/* ---- data ---------------------------------------------------------------- */

static uint16_t narrow(int32_t dtype, double value)
{
    return dtype == HDP_F16 ? hdpk_to_f16(value) : hdpk_to_bf16(value);
}

static float widen(int32_t dtype, uint16_t bits)
{
    return (float)(dtype == HDP_F16 ? hdpk_from_f16(bits)
                                    : hdpk_from_bf16(bits));
}

/* ---- products ------------------------------------------------------------ */

struct job {
    struct hdpi_host *host;
    int64_t items;
};

/* A 16-bit block is widened, multiplied in f32 and narrowed again, each time:
 * that is what such a type costs here. */
static void multiply_narrow(struct hdpi_host *host, int32_t index, int32_t rows)
{
    struct hdpi_host_probe *probe = &host->probe;
    int64_t cells = (int64_t)probe->block_rows * probe->width;
    const uint16_t *a = (const uint16_t *)probe->a + index * cells;
    uint16_t *c = (uint16_t *)probe->c + index * cells;
    float *wide_a = probe->wide + 2 * index * cells;
    float *wide_c = wide_a + cells;

    for (int64_t i = 0; i < (int64_t)rows * probe->width; ++i)
        wide_a[i] = widen(probe->dtype, a[i]);
    hdpi_host_gemm_f32(&host->blas, rows, probe->width, probe->width, wide_a,
                       probe->b, wide_c);
    for (int64_t i = 0; i < (int64_t)rows * probe->width; ++i)
        c[i] = narrow(probe->dtype, (double)wide_c[i]);
}

static void multiply(struct hdpi_host *host, int32_t index, int32_t rows)
{
    struct hdpi_host_probe *probe = &host->probe;
    int64_t at = (int64_t)index * probe->block_rows * probe->width;

    if (is_narrow(probe->dtype))
        multiply_narrow(host, index, rows);
    else if (probe->dtype == HDP_F64)
        hdpi_host_gemm_f64(&host->blas, rows, probe->width, probe->width,
                           (const double *)probe->a + at, probe->b,
                           (double *)probe->c + at);
    else
        hdpi_host_gemm_f32(&host->blas, rows, probe->width, probe->width,
                           (const float *)probe->a + at, probe->b,
                           (float *)probe->c + at);
}

/* Items first..end-1 of a job are part `index` of `count`. */
static void part(const struct job *job, int32_t index, int32_t count,
                 int64_t *first, int64_t *end)
{
    int64_t share = job->items / count, rest = job->items % count;

    *first = share * index + (index < rest ? index : rest);
    *end = *first + share + (index < rest);
}

static void multiply_part(void *arg, int32_t index, int32_t count)
{
    const struct job *job = arg;
    int64_t first, end;

    part(job, index, count, &first, &end);
    while (first < end) {
        int64_t rows = end - first;
        if (rows > job->host->probe.block_rows)
            rows = job->host->probe.block_rows;
        multiply(job->host, index, (int32_t)rows);
        first += rows;
    }
}

static void copy_part(void *arg, int32_t index, int32_t count)
{
    const struct job *job = arg;
    const struct hdpi_host_probe *probe = &job->host->probe;
    int64_t first, end;

    part(job, index, count, &first, &end);
    for (; first < end; ++first) {
        size_t at = (size_t)(first % PIECES) * PIECE_BYTES;
        memcpy(probe->target + at, probe->source + at, PIECE_BYTES);
    }
}

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

static hdp_status launch_empty(struct hdpi_host *host, int64_t items)
{
    hdp_shard shard = { .size = sizeof shard,
                        .kind = HDP_HOST,
                        .flags = HDP_SHARD_PROBE };
    int32_t code;

    for (int64_t i = 0; i < items; ++i)
        HDPI_RETURN_IF(
            host->base.ops->launch(&host->base, nothing, &shard, NULL, &code));
    return HDP_OK;
}

static hdp_status work(struct hdpi_host *host, int64_t items)
{
    struct job job = { host, items };

    if (host->probe.kind == HDP_PROBE_LAUNCH)
        return launch_empty(host, items);
    hdpi_host_duty_begin(&host->duty);
    hdpi_host_team_run(
        &host->team,
        host->probe.kind == HDP_PROBE_COPY ? copy_part : multiply_part, &job);
    hdpi_host_duty_end(&host->duty);
    return HDP_OK;
}

/* ---- opening ------------------------------------------------------------- */

static hdp_status make_copy(struct hdpi_host_probe *probe)
{
    enum { BYTES = PIECES * PIECE_BYTES };

    probe->source = hdpi_alloc_aligned(BYTES, 64, "a copy probe");
    if (!probe->source)
        return HDP_ERR_MEMORY;
    probe->target = hdpi_alloc_aligned(BYTES, 64, "a copy probe");
    if (!probe->target)
        return HDP_ERR_MEMORY;
    memset(probe->source, 0x5a, BYTES);
    return HDP_OK;
}

static void *buffer(int64_t cells, size_t size)
{
    /* width and threads are bounded, so that this cannot wrap */
    return hdpi_alloc_aligned((size_t)cells * size, 64, "a product probe");
}

static hdp_status make_product(struct hdpi_host *host)
{
    struct hdpi_host_probe *probe = &host->probe;
    int64_t block = (int64_t)probe->block_rows * probe->width;
    int64_t cells = block * host->team.count;
    int64_t square = (int64_t)probe->width * probe->width;
    size_t size = hdpk_dtype_bytes(probe->dtype);
    int32_t inner = probe->dtype == HDP_F64 ? HDP_F64 : HDP_F32;
    uint64_t seed = 1 + (uint64_t)host->base.member;

    probe->a = buffer(cells, size);
    probe->c = probe->a ? buffer(cells, size) : NULL;
    probe->b = probe->c ? buffer(square, hdpk_dtype_bytes(inner)) : NULL;
    if (!probe->b)
        return HDP_ERR_MEMORY;
    if (is_narrow(probe->dtype)) {
        probe->wide = buffer(2 * cells, sizeof *probe->wide);
        if (!probe->wide)
            return HDP_ERR_MEMORY;
    }
    hdpi_random_fill(probe->a, probe->dtype, cells, &seed);
    hdpi_random_fill(probe->b, inner, square, &seed);
    return HDP_OK;
}

static hdp_status check(const struct hdpi_host *host,
                        const struct hdpi_probe *probe)
{
    int product = probe->kind == HDP_PROBE_GEMM;

    if (!product && probe->kind != HDP_PROBE_COPY &&
        probe->kind != HDP_PROBE_LAUNCH)
        return lacks(host, "probe of kind", probe->kind);
    if (product && probe->dtype != HDP_F32 && probe->dtype != HDP_F64 &&
        !is_narrow(probe->dtype))
        return lacks(host, "products in dtype", probe->dtype);
    if (product && probe->compute &&
        probe->compute != (is_narrow(probe->dtype) ? HDP_F32 : probe->dtype))
        return lacks(host, "products that accumulate in", probe->compute);
    if (product && (probe->width < 1 || probe->width > WIDTH_MAX))
        return hdpi_fail(HDP_ERR_ARGUMENT, "width is %lld, not 1 to %d",
                         (long long)probe->width, WIDTH_MAX);
    return HDP_OK;
}

/* Doubles the items until a probe takes half a sample, then fits them. The
 * first round also warms up: libraries, pages, caches. */
static hdp_status fit(struct hdpi_host *host, int64_t *out_items)
{
    int64_t items = 1;
    double ns;

    HDPI_RETURN_IF(work(host, items));
    for (;;) {
        int64_t begin_ns = hdpi_clock_ns();
        HDPI_RETURN_IF(work(host, items));
        ns = (double)(hdpi_clock_ns() - begin_ns);
        if (ns >= SAMPLE_NS / 2 || items >= ITEMS_MAX)
            break;
        items *= 2;
    }
    items = (int64_t)((double)items * SAMPLE_NS / (ns > 1 ? ns : 1));
    *out_items = items < 1 ? 1 : items > ITEMS_MAX ? ITEMS_MAX : items;
    return HDP_OK;
}

hdp_status hdpi_host_probe_open(struct hdpi_device *device,
                                struct hdpi_probe *probe)
{
    struct hdpi_host *host = hdpi_host_from(device);
    struct hdpi_host_probe *own = &host->probe;
    int32_t threads = device->serial ? 1 : device->row.info.thread_count;
    hdp_status status;

    hdpi_host_probe_close(device);
    HDPI_TRY(check(host, probe));
    HDPI_TRY(hdpi_host_team_make(&host->team, threads));
    *own = (struct hdpi_host_probe){ .kind = probe->kind,
                                     .dtype = probe->dtype,
                                     .width = (int32_t)probe->width,
                                     .block_rows = BLOCK_ROWS };
    if (probe->kind == HDP_PROBE_GEMM) {
        HDPI_TRY(make_product(host));
    } else if (probe->kind == HDP_PROBE_COPY) {
        HDPI_TRY(make_copy(own));
    }
    HDPI_TRY(fit(host, &probe->start_items));
    probe->item_flops = probe->kind == HDP_PROBE_GEMM
                            ? 2.0 * (double)probe->width * (double)probe->width
                            : 0;
    probe->item_bytes = probe->kind == HDP_PROBE_COPY ? PIECE_BYTES : 0;
    probe->compute = is_narrow(probe->dtype) ? HDP_F32 : probe->dtype;
out:
    if (status != HDP_OK)
        hdpi_host_probe_close(device);
    return status;
}

hdp_status hdpi_host_probe(struct hdpi_device *device,
                           const struct hdpi_probe *probe)
{
    struct hdpi_host *host = hdpi_host_from(device);

    if (!host->probe.dtype)
        return hdpi_fail_member(HDP_ERR_STATE, device->member, device->rank,
                                "host:%d: no probe is open",
                                device->row.info.logical_id);
    return work(host, probe->items);
}

void hdpi_host_probe_close(struct hdpi_device *device)
{
    struct hdpi_host_probe *probe = &hdpi_host_from(device)->probe;

    free(probe->a);
    free(probe->b);
    free(probe->c);
    free(probe->wide);
    free(probe->source);
    free(probe->target);
    *probe = (struct hdpi_host_probe){ 0 };
}
