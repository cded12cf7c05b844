/* What the files of the fake management library share. */
#ifndef FAKE_NVML_INNER_H
#define FAKE_NVML_INNER_H
#include "fake_nvml.h"
#include "state.h"

#define NVML_ENTER(name, usual)                                                \
    do {                                                                       \
        int entered_ = fake_enter(name, usual, FAKE_NVML);                     \
        if (entered_ != 0)                                                     \
            return entered_;                                                   \
    } while (0)
#define NVML_LEAVE(code) return fake_leave(code)

/** The device of a handle, for a question whose answer goes `to` there: 0, or
 *  why there is none. The lock is held. */
int fake_nvml_find(struct fake_device **out, nvmlDevice_t handle,
                   const void *to);
#endif
