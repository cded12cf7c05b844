/* A profile as its document, for tests that look into it. */
#ifndef PROFILE_TEXT_H
#define PROFILE_TEXT_H
#include <stdlib.h>
#include "scene.h"

/** To be free()d. */
static inline char *profile_text(const hdp_profile *profile)
{
    size_t needed = 0;
    char *text;

    (void)hdp_profile_to_json(profile, NULL, 0, &needed);
    text = malloc(needed);
    assert_non_null(text);
    expect_ok(hdp_profile_to_json(profile, text, needed, NULL));
    return text;
}
#endif
