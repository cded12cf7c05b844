/* Which process of how many this is, as the launcher's variables tell. */
#include "internal.h"

hdp_status hdp_world_detect(hdp_world *out)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "reading a launcher's variables comes in a later "
                     "version; a process alone needs no world");
}
