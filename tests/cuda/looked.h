/* A look at the devices of the fake CUDA, and at what was said on the way. */
#ifndef LOOKED_H
#define LOOKED_H
#include "life.h"

struct looked {
    hdp_context *context;
    hdp_topology *topology;
    char log[LIFE_LOG]; /* warnings, a line each */
};

/* A process that begins now, as far as CUDA is concerned; numbers by slot. */
static inline void looked_start(const char *words, const char *mask)
{
    life_variable("CUDA_VISIBLE_DEVICES", mask);
    life_variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    life_start(words);
}

static inline void looked_context(struct looked *own)
{
    memset(own, 0, sizeof *own);
    own->context = life_context(own->log);
}

static inline void looked_again(struct looked *own)
{
    hdp_topology_destroy(own->topology);
    own->topology = NULL;
    expect_ok(hdp_discover(&own->topology, own->context, NULL));
}

static inline void looked_open(struct looked *own)
{
    looked_context(own);
    looked_again(own);
}

static inline void looked_close(struct looked *own)
{
    hdp_topology_destroy(own->topology);
    hdp_context_destroy(own->context);
    life_end("closed");
}

static inline hdp_topology_info looked_info(const struct looked *own)
{
    hdp_topology_info info = { .size = sizeof info };

    expect_ok(hdp_topology_get(&info, own->topology));
    return info;
}

/* The i-th GPU; 0: there are not so many. */
static inline int looked_gpu(hdp_device *out, const struct looked *own, int i)
{
    int32_t count = looked_info(own).device_count;

    for (int32_t at = 0; at < count; ++at) {
        *out = (hdp_device){ .size = sizeof *out };
        expect_ok(hdp_topology_device(out, own->topology, at));
        if (out->kind == HDP_CUDA && i-- == 0)
            return 1;
    }
    return 0;
}

static inline int looked_count(const struct looked *own)
{
    hdp_device device;
    int count = 0;

    while (looked_gpu(&device, own, count))
        ++count;
    return count;
}

/* How often a text stands in the warnings. */
static inline int looked_said(const struct looked *own, const char *part)
{
    int count = 0;

    for (const char *at = own->log; (at = strstr(at, part)); ++at)
        ++count;
    return count;
}

/* The last failure has that status and says that. */
static inline void looked_failed(hdp_status got, hdp_status want,
                                 const char *part)
{
    expect_number(want, got, "status (%s)", hdp_last_error());
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"...%s...\", got \"%s\"", part, hdp_last_error());
}
#endif
