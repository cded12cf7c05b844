/* A generator without memory but a counter (splitmix64), and its numbers in
 * each element type. */
#include "device/random.h"
#include "kernels.h"

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Uniform in [-1, 1). */
static double uniform(uint64_t *state)
{
    return (double)(int64_t)draw(state) * 0x1p-63;
}

void hdpi_random_fill(void *out, int32_t dtype, int64_t count, uint64_t *state)
{
    for (int64_t i = 0; i < count; ++i)
        switch (dtype) {
        case HDP_F64:
            ((double *)out)[i] = uniform(state);
            break;
        case HDP_F16:
            ((uint16_t *)out)[i] = hdpk_to_f16(uniform(state));
            break;
        case HDP_BF16:
            ((uint16_t *)out)[i] = hdpk_to_bf16(uniform(state));
            break;
        case HDP_I8:
            ((int8_t *)out)[i] = (int8_t)(draw(state) >> 56);
            break;
        default:
            ((float *)out)[i] = (float)uniform(state);
            break;
        }
}
