/* What this machine must have: where HDP_REQUIRE names it among words between
 * commas, a test that would be skipped for want of it has failed. */
#ifndef REQUIRED_H
#define REQUIRED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int is_required(const char *name)
{
    const char *list = getenv("HDP_REQUIRE");
    char all[256], one[32];

    (void)snprintf(all, sizeof all, ",%s,", list ? list : "");
    (void)snprintf(one, sizeof one, ",%s,", name);
    return strstr(all, one) != NULL;
}
#endif
