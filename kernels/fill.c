/* One value for every element, given as bits. */
#include "launch.h"

#define FILL(name, type)                                                       \
    static void name(const struct hdpk_launch_fill *job)                       \
    {                                                                          \
        type *data = (type *)job->data + job->first;                           \
        for (int64_t i = 0; i < job->count; ++i)                               \
            data[i] = (type)job->bits;                                         \
    }

FILL(fill1, uint8_t)
FILL(fill2, uint16_t)
FILL(fill4, uint32_t)
FILL(fill8, uint64_t)

void hdpk_host_fill(const struct hdpk_launch_fill *job)
{
    switch (job->bytes) {
    case 1:
        fill1(job);
        break;
    case 2:
        fill2(job);
        break;
    case 4:
        fill4(job);
        break;
    case 8:
        fill8(job);
        break;
    default:
        break;
    }
}
