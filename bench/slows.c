/* DEV is a member's number or what its specification begins with. */
#include "slows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const double factor_least = 0.001, factor_most = 1e6;

/* ---- reading ------------------------------------------------------------- */

/* Part [begin, end) of the text, if it fits and is not empty. */
static int take(char *out, size_t size, const char *begin, const char *end)
{
    size_t length = (size_t)(end - begin);

    if (length == 0 || length >= size)
        return 0;
    memcpy(out, begin, length);
    out[length] = '\0';
    return 1;
}

static int refuse(struct parse_error *error, const char *text, const char *at,
                  const char *what)
{
    error->position = at ? (int)(at - text) + 1 : 0;
    snprintf(error->text, sizeof error->text, "%s", what);
    return 0;
}

int slows_read(const char *text, struct slow *out, struct parse_error *error)
{
    const char *equals = strrchr(text, '=');
    const char *factor = equals ? equals + 1 : text;
    const char *x = strchr(factor, 'x');

    *out = (struct slow){ .member = -1 };
    if (!equals || !x || x[1] != '@')
        return refuse(error, text, NULL,
                      "expected DEVICE=FACTORx@STEP, as in 0=2x@100");
    if (!take(out->device, sizeof out->device, text, equals))
        return refuse(error, text, text, "expected a device, 0 or host:1");
    if (!take(out->factor_text, sizeof out->factor_text, factor, x))
        return refuse(error, text, factor, "expected a factor, as in 2x");
    if (!parse_real(out->factor_text, factor_least, factor_most, &out->factor,
                    error)) {
        error->position += error->position ? (int)(factor - text) : 0;
        return 0;
    }
    if (!parse_int(x + 2, 0, 999999, &out->step, error)) {
        error->position += error->position ? (int)(x + 2 - text) : 0;
        return 0;
    }
    return 1;
}

/* ---- the members --------------------------------------------------------- */

static int names(const char *device, const char *spec)
{
    size_t length = strlen(device);

    return strncmp(spec, device, length) == 0 &&
           (spec[length] == '\0' || spec[length] == '/');
}

static int find_member(struct bench *bench, struct slow *slow)
{
    struct parse_error ignored;
    int64_t index;

    if (parse_int(slow->device, 0, bench->members - 1, &index, &ignored))
        slow->member = (int32_t)index;
    for (int32_t m = 0; m < bench->members && slow->member < 0; ++m)
        if (names(slow->device, bench->devices[m].spec))
            slow->member = m;
    if (slow->member < 0)
        return failure_usage(&bench->failure, "--slow", 1,
                             "--slow %s: no such member; they are 0 to %d (%s "
                             "is the first)",
                             slow->device, (int)bench->members - 1,
                             bench->devices[0].spec);
    if (slow->factor < 1 && bench->devices[slow->member].kind != HDP_SIM)
        return failure_usage(&bench->failure, "--slow", 0,
                             "--slow %s=%sx: a real member can be slowed, not "
                             "sped up; 1x ends a slowdown",
                             slow->device, slow->factor_text);
    return EXIT_OK;
}

static int by_step(const void *a, const void *b)
{
    const struct slow *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

int slows_resolve(struct bench *bench, struct slow *slows, int count,
                  int64_t steps)
{
    int code = EXIT_OK;

    for (int i = 0; !code && i < count; ++i) {
        code = find_member(bench, &slows[i]);
        if (!code && slows[i].step >= steps)
            code = failure_usage(&bench->failure, "--slow", 0,
                                 "--slow %s: the %lld steps end before step "
                                 "%lld; --steps says how many there are",
                                 slows[i].device, (long long)steps,
                                 (long long)slows[i].step);
    }
    if (code)
        return code;
    if (count > 0)
        qsort(slows, (size_t)count, sizeof *slows, by_step);
    for (int i = 1; i < count; ++i)
        if (by_step(&slows[i - 1], &slows[i]) == 0)
            return failure_usage(&bench->failure, "--slow", 0,
                                 "--slow: member %d is changed twice in step "
                                 "%lld",
                                 (int)slows[i].member,
                                 (long long)slows[i].step);
    return EXIT_OK;
}

int slows_simulated(const struct bench *bench, const struct slow *slows,
                    int count)
{
    for (int i = 0; i < count; ++i)
        if (bench->devices[slows[i].member].kind == HDP_SIM)
            return 1;
    return 0;
}

/* ---- in words ------------------------------------------------------------ */

static void declare_member(struct bench *bench, const struct slow *slows,
                           int count, int32_t member)
{
    const hdp_device *device = &bench->devices[member];
    json_t *list = json_object_get(bench->document.root, "devices");
    json_t *json = json_array_get(list, (size_t)member);
    char text[512], own[128];
    const char *slow = library_slowdown(device, own, sizeof own);
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "%s%sdeclared slowdown:", slow ? slow : "",
                                   slow ? "; " : "");
    int told = 0;

    for (int i = 0; i < count && used < sizeof text; ++i)
        if (slows[i].member == member)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%s %sx the time from step %lld on",
                                     told++ ? "," : "", slows[i].factor_text,
                                     (long long)slows[i].step);
    if (!told)
        return;
    json_object_set_new(json, "slowdown", json_string(text));
    fprintf(bench->document.text, "# member %d: %s\n", (int)member,
            strstr(text, "declared slowdown"));
}

void slows_declare(struct bench *bench, const struct slow *slows, int count)
{
    for (int32_t m = 0; m < bench->members; ++m)
        declare_member(bench, slows, count, m);
}
