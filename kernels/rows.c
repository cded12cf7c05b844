/* Rows of bytes from one place to another. */
#include <string.h>
#include "launch.h"

void hdpk_host_rows(const struct hdpk_launch_rows *job)
{
    if (job->row_bytes <= 0)
        return;
    for (int64_t row = 0; row < job->rows; ++row)
        memcpy((char *)job->target + row * job->target_stride,
               (const char *)job->source + row * job->source_stride,
               (size_t)job->row_bytes);
}
