/* The same for C++: lease_c.c in this folder. */
#include <hdp/lease.h>
#include <hdp/lease.h>

int lease_alone();

int lease_alone()
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_context_options context = HDP_CONTEXT_OPTIONS_INIT;

    return options.size && context.size;
}
