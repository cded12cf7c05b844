/* What the resolver makes of a mask, in the words of the driver's table. */
#ifndef VISIBILITY_ANSWER_H
#define VISIBILITY_ANSWER_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/visibility.h"

enum { MASK_ROOM = 6000, ANSWER_ROOM = 512 };

/* Two devices that differ at once, and two that share eleven characters. No
 * number that there is begins a UUID's digits. */
static const char *const apart[] = {
    "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60",
    "GPU-8a74bd32-38c8-0c0c-b195-1ce4be75623b"
};
static const char *const alike[] = {
    "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60",
    "GPU-ee4d17b8-38c8-0c0c-b195-1ce4be75623b"
};

/* "1,0" or the error's name, as the table writes it. */
static inline void answer(char *out, const char *mask, const char *order,
                          const char *const *uuids, int32_t count)
{
    struct hdpi_visibility seen = { 0 };
    size_t used = 0;

    assert_int_equal(hdpi_visibility_resolve(&seen, mask, order, uuids, count),
                     HDP_OK);
    *out = '\0';
    if (seen.error)
        assert_int_equal(seen.visible_count, 0);
    if (seen.error)
        strcpy(out, seen.error);
    for (int32_t i = 0; i < seen.visible_count; i++)
        used += (size_t)snprintf(out + used, ANSWER_ROOM - used, "%s%d",
                                 i > 0 ? "," : "", (int)seen.visible[i]);
    hdpi_visibility_finish(&seen);
}

static inline void expect_answer(const char *want, const char *mask,
                                 const char *order, const char *const *uuids,
                                 int32_t count)
{
    char got[ANSWER_ROOM];

    answer(got, mask, order, uuids, count);
    if (strcmp(want, got) != 0)
        fail_msg("mask %s%.90s%s, order %s, %d devices: expected %s, got %s",
                 mask ? "'" : "", mask ? mask : "not set", mask ? "'" : "",
                 order ? order : "not set", (int)count, want, got);
}
#endif
