/* A weighted source is added to a target, in f32 or, for f64, in f64. */
#include "kernels.h"
#include "floats.h"
#include "launch.h"

#define ACCUMULATE(name, type, work, read, round)                              \
    static void name(const struct hdpk_launch_accumulate *job)                 \
    {                                                                          \
        type *target = (type *)job->target + job->first;                       \
        const type *source = (const type *)job->source + job->first;           \
        work weight = (work)job->weight;                                       \
        for (int64_t i = 0; i < job->count; ++i)                               \
            target[i] = round(read(target[i]) + weight * read(source[i]));     \
    }

FLOATS(ACCUMULATE)

void hdpk_host_accumulate(const struct hdpk_launch_accumulate *job)
{
    FLOATS_CALL(job->dtype, job);
}
