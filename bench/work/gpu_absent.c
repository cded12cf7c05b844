/* The GPUs of a build without CUDA's headers: no group has one, and nothing
 * below gpu_is() is reached. */
#include <stdio.h>

#include "gpu.h"

hdp_status gpu_open(struct gpu **out, const struct gpu_spec *spec, char *reason)
{
    *out = NULL;
    reason[0] = '\0';
    for (int32_t m = 0; m < spec->members; ++m)
        if (spec->devices[m].kind == HDP_CUDA) {
            snprintf(reason, GPU_REASON, "this build has no CUDA");
            return HDP_ERR_UNSUPPORTED;
        }
    return HDP_OK;
}

void gpu_close(struct gpu *gpu)
{
    (void)gpu;
}

int gpu_is(const struct gpu *gpu, int32_t member)
{
    (void)gpu;
    (void)member;
    return 0;
}

int64_t gpu_free_bytes(const struct gpu *gpu, int32_t member)
{
    (void)gpu;
    (void)member;
    return 0;
}

void *gpu_alloc(struct gpu *gpu, int32_t member, size_t bytes)
{
    (void)gpu;
    (void)member;
    (void)bytes;
    return NULL;
}

void gpu_free(struct gpu *gpu, int32_t member, void *memory)
{
    (void)gpu;
    (void)member;
    (void)memory;
}

int gpu_set(struct gpu *gpu, int32_t member, void *target, unsigned char byte,
            size_t bytes)
{
    (void)gpu;
    (void)member;
    (void)target;
    (void)byte;
    (void)bytes;
    return 0;
}

int gpu_upload(struct gpu *gpu, int32_t member, void *target,
               const void *source, size_t bytes)
{
    (void)gpu;
    (void)member;
    (void)target;
    (void)source;
    (void)bytes;
    return 0;
}

int gpu_download(struct gpu *gpu, int32_t member, void *target,
                 const void *source, size_t bytes)
{
    (void)gpu;
    (void)member;
    (void)target;
    (void)source;
    (void)bytes;
    return 0;
}

int gpu_launch(struct gpu *gpu, int32_t member, int32_t kernel,
               const void *args, int64_t places)
{
    (void)gpu;
    (void)member;
    (void)kernel;
    (void)args;
    (void)places;
    return 0;
}

int gpu_multiply(struct gpu *gpu, int32_t member,
                 const struct gpu_product *product)
{
    (void)gpu;
    (void)member;
    (void)product;
    return 0;
}

int gpu_wait(struct gpu *gpu, int32_t member)
{
    (void)gpu;
    (void)member;
    return 0;
}

const char *gpu_reason(const struct gpu *gpu, int32_t member)
{
    (void)gpu;
    (void)member;
    return "this build has no CUDA";
}

int32_t gpu_give_up(const struct gpu *gpu, const hdp_shard *shard)
{
    (void)gpu;
    (void)shard;
    return 1;
}
