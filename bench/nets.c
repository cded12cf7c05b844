/* Devices are asked for what is free before anything is allocated, so that the
 * answer has numbers in it. */
#include "nets.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { DIGITS = 20 };

/* The number at `text + at`, `length` characters of it, by parse_int(). */
static int number(const char *text, size_t at, size_t length, int64_t max,
                  int32_t *out, struct parse_error *error)
{
    char digits[DIGITS + 2];
    int64_t value;

    /* the rest of a longer one changes nothing: it does not fit */
    snprintf(digits, sizeof digits, "%.*s",
             length > DIGITS + 1 ? DIGITS + 1 : (int)length, text + at);
    if (!parse_int(digits, 1, max, &value, error)) {
        error->position = (int)at + (error->position > 0 ? error->position : 1);
        return 0;
    }
    *out = (int32_t)value;
    return 1;
}

static int refuse(struct parse_error *error, size_t at, const char *what)
{
    error->position = (int)at + 1;
    snprintf(error->text, sizeof error->text, "%s", what);
    return 0;
}

int nets_read(const char *text, struct net_shape *out,
              struct parse_error *error)
{
    static const char train[] = "/train";
    struct net_shape shape = { 0, 0, 0 };
    size_t layers = strcspn(text, "x/"), at = layers + 1;

    if (text[layers] != 'x')
        return refuse(error, layers,
                      "expected LAYERSxWIDTH, as in 4x8192 or 4x8192/train");
    if (!number(text, 0, layers, NET_LAYERS_MAX, &shape.layers, error))
        return 0;
    size_t width = strcspn(text + at, "/"), end = at + width;
    if (!number(text, at, width, NET_WIDTH_MAX, &shape.width, error))
        return 0;
    if (shape.width % NET_WIDTH_UNIT != 0)
        return refuse(error, at, "the width must be a multiple of 8");
    if (text[end] && strcmp(text + end, train) != 0)
        return refuse(error, end, "expected /train or the end");
    shape.train = text[end] != '\0';
    *out = shape;
    return 1;
}

const char *nets_text(const struct net_shape *shape, char text[NETS_TEXT_MAX])
{
    text[0] = '\0';
    if (shape->layers > 0)
        snprintf(text, NETS_TEXT_MAX, "%dx%d%s", (int)shape->layers,
                 (int)shape->width, shape->train ? "/train" : "");
    return text;
}

/* ---- memory -------------------------------------------------------------- */

static int is_gpu(const struct bench *bench, int32_t m)
{
    return bench->devices[m].kind == HDP_CUDA;
}

/* Parts of one GPU share its memory, and all host members the machine's. */
static int shares(const struct bench *bench, int32_t a, int32_t b)
{
    return is_gpu(bench, a) == is_gpu(bench, b) &&
           (!is_gpu(bench, a) ||
            bench->devices[a].logical_id == bench->devices[b].logical_id);
}

/* Of the host half at most is taken: a system that lends more memory than it
 * has ends programs that use it. */
static double free_of(const struct bench *bench, int32_t m)
{
    int64_t left = gpu_free_bytes(bench->gpu, m);

    if (!is_gpu(bench, m))
        return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) /
               2;
    return (double)(left > 0 ? left : bench->devices[m].memory_bytes);
}

int nets_fit(struct bench *bench, const struct workload_spec *spec)
{
    struct workload_spec own = *spec;
    char text[NETS_TEXT_MAX];

    if (own.net.layers == 0)
        return EXIT_OK;
    own.devices = bench->devices;
    int code = library_work_dtype(bench, own.kind, own.devices, bench->members,
                                  &own.dtype);
    if (!code)
        code = library_gpus(bench, 1);
    own.gpu = bench->gpu;
    for (int32_t m = 0; !code && m < bench->members; ++m) {
        double needed = 0, left = free_of(bench, m);
        for (int32_t other = 0; other < bench->members; ++other)
            if (shares(bench, m, other))
                needed += net_member_bytes(&own, other);
        if (needed > left && left > 0)
            code = failure_own(
                &bench->failure, EXIT_RUNTIME, HDP_ERR_MEMORY,
                "--net %s: up to %lld items need %.2f GB on %s, where %.2f GB "
                "%s; fewer items or a smaller net",
                nets_text(&own.net, text), (long long)own.capacity,
                needed * 1e-9,
                is_gpu(bench, m) ? bench->devices[m].spec : "the host",
                left * 1e-9, is_gpu(bench, m) ? "are free" : "may be used");
    }
    return code;
}
