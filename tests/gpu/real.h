/* This machine's own GPUs, for what nothing but a GPU can answer. Where there
 * is none a test is skipped; HDP_REQUIRE=cuda makes that a failure. */
#ifndef REAL_H
#define REAL_H
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include "required.h"
#include "scenario/job.h"

enum { REAL_SKIPPED = 77, REAL_SPEC = 64 };

#define expect_cuda(call) expect_number(cudaSuccess, (call), "%s", #call)

struct real {
    int32_t gpus;         /* whose code the library carries */
    int32_t sms;          /* of the first */
    char spec[REAL_SPEC]; /* two unequal members, on one GPU or two */
};

static inline void real_spec(struct real *real)
{
    /* One split call makes groups of eight SMs and keeps a rest of its own. */
    int32_t groups = real->sms / 8 - 1;

    if (real->gpus > 1)
        (void)snprintf(real->spec, sizeof real->spec, "cuda:0+cuda:1/sms=%d",
                       (int)(groups * 2 / 5 * 8));
    else
        (void)snprintf(real->spec, sizeof real->spec,
                       "cuda:0/sms=%d+cuda:0/sms=%d", (int)(groups * 2 / 3 * 8),
                       (int)(groups / 3 * 8));
}

/* REAL_CUBLAS names a cuBLAS where the usual search would find another. */
static inline hdp_context *real_context(void)
{
    hdp_context_options options = { .size = sizeof options };
    hdp_context *context = NULL;

    options.cublas_path = getenv("REAL_CUBLAS");
    expect_ok(hdp_context_create(&context, &options));
    return context;
}

/* 0, or the exit code of a test that cannot be made here. */
static inline int real_look(struct real *real)
{
    int required = is_required("cuda");
    hdp_device device = { .size = sizeof device };
    hdp_topology *topology = NULL;
    hdp_context *context = NULL;
    int32_t i;

    memset(real, 0, sizeof *real);
    if (hdp_context_create(&context, NULL) == HDP_OK &&
        hdp_discover(&topology, context, NULL) == HDP_OK)
        for (i = 0; hdp_topology_device(&device, topology, i) == HDP_OK; ++i)
            if (device.kind == HDP_CUDA && device.runnable && real->gpus++ == 0)
                real->sms = device.sm_count;
    hdp_topology_destroy(topology);
    hdp_context_destroy(context);
    if (real->gpus > 0) {
        real_spec(real);
        return 0;
    }
    printf("%s: there is no GPU\n", required ? "required" : "skipped");
    return required ? 1 : REAL_SKIPPED;
}
#endif
