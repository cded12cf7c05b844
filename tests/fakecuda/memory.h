/* Blocks of memory as they are made and ended. Codes are the runtime's; the
 * lock is held. */
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H
#include "state.h"

/** 0, or 2: out of memory. */
int fake_memory_device(struct fake_device *device, size_t size, void **out);
int fake_memory_pinned(struct fake_device *device, size_t size, void **out);
/** Memory of the caller's; 712 where a part is registered already. */
int fake_memory_register(struct fake_device *device, void *pointer,
                         size_t size);
/** Checks the guards and that no stream may use it; 1 and a breach for what is
 *  no block of that kind. */
int fake_memory_free(void *pointer, enum fake_memory kind);
/** 1: it was a block, and was freed. */
int fake_memory_was(const void *pointer);
#endif
