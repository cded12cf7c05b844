/* The frame of each function of the runtime. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H
#include "state.h"

/* fake_enter() and fake_leave() in the runtime's own type. */
static inline cudaError_t enter(const char *function, int usual, unsigned what)
{
    return (cudaError_t)fake_enter(function, usual, what);
}

static inline cudaError_t leave(int code)
{
    return (cudaError_t)fake_leave(code);
}
#endif
