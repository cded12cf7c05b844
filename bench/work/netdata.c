/* Uniform noise: +-sqrt(6 / width) is what keeps the mean square through a ReLU. */
#include "netdata.h"

#include <math.h>
#include <string.h>

#include "kernels.h"

static const double draws = 32768; /* hdpw_noise draws -draws to draws - 1 */

size_t netdata_element(const struct netdata *data)
{
    return (size_t)hdpk_dtype_bytes(data->dtype);
}

size_t netdata_row(const struct netdata *data)
{
    return (size_t)data->shape.width * netdata_element(data);
}

size_t netdata_layer(const struct netdata *data)
{
    return (size_t)data->shape.width * netdata_row(data);
}

struct hdpw_noise netdata_weights(const struct netdata *data, int32_t layer,
                                  int64_t first, int64_t rows)
{
    return (struct hdpw_noise){
        .rows = rows,
        .first = (int64_t)layer * data->shape.width + first,
        .seed = (int64_t)~data->seed,
        .base = sqrt(6.0 / data->shape.width) / draws,
        .dtype = data->dtype,
        .width = data->shape.width,
    };
}

struct hdpw_noise netdata_rows(const struct netdata *data, int64_t first,
                               int64_t rows)
{
    return (struct hdpw_noise){
        .rows = rows,
        .first = first,
        .seed = (int64_t)data->seed,
        .base = 0.5 / draws,
        .slope = 1 / ((double)data->capacity * draws),
        .dtype = data->dtype,
        .width = data->shape.width,
    };
}

void netdata_load(const struct netdata *data, float *out, const void *from,
                  int64_t count)
{
    const uint16_t *narrow = from;

    if (data->dtype == HDP_F16)
        for (int64_t i = 0; i < count; ++i)
            out[i] = (float)hdpk_from_f16(narrow[i]);
    else if (data->dtype == HDP_BF16)
        for (int64_t i = 0; i < count; ++i)
            out[i] = (float)hdpk_from_bf16(narrow[i]);
    else
        memcpy(out, from, (size_t)count * sizeof *out);
}

double netdata_rounded(const struct netdata *data, double value)
{
    switch (data->dtype) {
    case HDP_F16:
        return hdpk_from_f16(hdpk_to_f16(value));
    case HDP_BF16:
        return hdpk_from_bf16(hdpk_to_bf16(value));
    default:
        return (double)(float)value;
    }
}
