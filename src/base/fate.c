/* The one failure that ends a process's use of CUDA: written once, read by
 * everybody afterwards. */
#include "base/fate.h"
#include <stdatomic.h>

enum { WELL = 0, BEING_WRITTEN = 1, SEALED = 2 };

static _Atomic int32_t state;
static hdp_error fate;

void hdpi_fate_seal(void)
{
    int32_t well = WELL;

    if (!atomic_compare_exchange_strong(&state, &well, BEING_WRITTEN))
        return;
    fate = *hdpi_error();
    atomic_store_explicit(&state, SEALED, memory_order_release);
}

int hdpi_fate_is_sealed(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == SEALED;
}

hdp_status hdpi_fate_check(void)
{
    return hdpi_fate_is_sealed() ? hdpi_error_adopt(&fate) : HDP_OK;
}
