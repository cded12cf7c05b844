/* What the files of the fake driver share. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H
#include "inner.h"

/** Begins a call of the driver; returns from the function where it failed. */
#define DRIVER_ENTER(name, usual, flags)                                       \
    do {                                                                       \
        int entered_ = fake_enter(name, usual, FAKE_DRIVER | (flags));         \
        if (entered_ != 0)                                                     \
            return (CUresult)entered_;                                         \
    } while (0)
/** Ends it. */
#define DRIVER_LEAVE(code) return (CUresult)fake_leave((int)(code))

/** A device attribute, the same number for the runtime: 0, or 1 for one that
 *  the fake does not know. The lock is held. */
int fake_attribute(int *out, int attribute, const struct fake_device *device);
/** The sixteen bytes of a device's UUID. */
void fake_uuid(unsigned char out[16], const struct fake_device *device);

enum {
    FAKE_GREEN_STREAMS = 16,
    FAKE_DISPLAY_NS = 50000000 /* that a display may wait */
};

struct CUgreenCtx_st {
    struct fake_handle handle;
    CUcontext context;
    int first_sm, sms;
    CUstream streams[FAKE_GREEN_STREAMS]; /* made in it, the living ones */
};

/** The partition of a stream; NULL: the whole device. */
CUgreenCtx fake_green_of(CUcontext context);
#endif
