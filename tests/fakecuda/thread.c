/* What each thread of the fake's process has of its own: current device and
 * context, pending error, how far virtual time has come for it. */
#include <string.h>
#include "state.h"

struct fake_thread *fake_self(void)
{
    static _Thread_local struct fake_thread self;
    int generation = atomic_load(&fake.generation);

    if (self.generation != generation) {
        memset(&self, 0, sizeof self);
        self.generation = generation;
    }
    return &self;
}

/* ---- current device and context ------------------------------------------- */

struct fake_device *fake_current_device(void)
{
    const struct fake_thread *self = fake_self();

    return self->context ? self->context->handle.device
                         : fake_device(self->ordinal);
}

CUcontext fake_current_context(void)
{
    return fake_self()->context;
}

void fake_set_context(CUcontext context)
{
    struct fake_thread *self = fake_self();

    self->context = context;
    if (context)
        self->ordinal = context->handle.device->visible;
}

int fake_primary(struct fake_device *device, CUcontext *out)
{
    if (!device)
        return cudaErrorInvalidDevice;
    if (!device->primary) {
        if (device->busy || device->compute_mode == CU_COMPUTEMODE_PROHIBITED) {
            device->refused++;
            return cudaErrorDevicesUnavailable;
        }
        if (fake_memory_free_bytes(device) < FAKE_CONTEXT_BYTES)
            return cudaErrorMemoryAllocation;
        device->primary =
            fake_handle_new(FAKE_CTX, sizeof *device->primary, device);
        device->primary->sms = device->info.sm_count;
        device->used_bytes += FAKE_CONTEXT_BYTES;
        device->contexts++;
        fake_touch(device);
    }
    *out = device->primary;
    return 0;
}

/* ---- time ----------------------------------------------------------------- */

int64_t fake_host_ns(void)
{
    return fake_self()->host_ns;
}

void fake_host_reach(int64_t ns)
{
    struct fake_thread *self = fake_self();

    if (self->host_ns < ns)
        self->host_ns = ns;
}

int64_t fake_now_ns(void)
{
    return fake.config.real_clock ? fake_monotonic_ns() : fake_host_ns();
}
