/* hdp/lease.h as the first and only header, twice; header_c.c says what for. */
#include <hdp/lease.h>
#include <hdp/lease.h>

int lease_alone(void);

int lease_alone(void)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_context_options context = HDP_CONTEXT_OPTIONS_INIT;

    return options.size && context.size;
}
