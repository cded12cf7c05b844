/* Every element times a factor, in f32 or, for f64, in f64. */
#include "kernels.h"
#include "floats.h"
#include "launch.h"

#define SCALE(name, type, work, read, round)                                   \
    static void name(const struct hdpk_launch_scale *job)                      \
    {                                                                          \
        type *data = (type *)job->data + job->first;                           \
        work factor = (work)job->factor;                                       \
        for (int64_t i = 0; i < job->count; ++i)                               \
            data[i] = round(factor * read(data[i]));                           \
    }

FLOATS(SCALE)

void hdpk_host_scale(const struct hdpk_launch_scale *job)
{
    FLOATS_CALL(job->dtype, job);
}
