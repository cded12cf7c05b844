/* Three small grammars of their own, apart from the table of keys. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "core/spec_events.h"
#include "core/spec_keys.h"
#include "core/units.h"

static const char *const hooks[HDPI_HOOK_COUNT] = {
    [HDPI_HOOK_ALLOC] = "alloc",   [HDPI_HOOK_COPY] = "copy",
    [HDPI_HOOK_LAUNCH] = "launch", [HDPI_HOOK_WAIT] = "wait",
    [HDPI_HOOK_REDUCE] = "reduce",
};

static hdp_status refuse(const struct hdpi_text *value, const char *wanted)
{
    return hdpi_spec_refuse(value->text, value->at, value->length, "%s",
                            wanted);
}

/* ---- reading ------------------------------------------------------------- */

hdp_status hdpi_spec_read_fault(struct hdpi_ask *ask,
                                const struct hdpi_text *value)
{
    struct hdpi_text rest = *value;
    struct hdpi_fault fault = { .hook = HDPI_HOOK_COUNT };
    while (rest.at < rest.length && rest.text[rest.at] != ':')
        rest.at++;
    size_t length = rest.at - value->at;
    for (int32_t i = 0; i < HDPI_HOOK_COUNT; i++)
        if (strlen(hooks[i]) == length &&
            memcmp(value->text + value->at, hooks[i], length) == 0)
            fault.hook = i;
    rest.at += rest.at < rest.length;
    if (fault.hook == HDPI_HOOK_COUNT || !hdpi_text_int(&rest, &fault.nth) ||
        fault.nth < 1)
        return refuse(value, "fail is alloc, copy, launch, wait or "
                             "reduce, then :N or :N- (N from 1)");
    fault.lasting = rest.at < rest.length && rest.text[rest.at] == '-';
    rest.at += (size_t)fault.lasting;
    if (rest.at != rest.length)
        return refuse(&rest, "after :N only - can follow");
    if (ask->fault_count == HDPI_FAULT_MAX)
        return hdpi_spec_refuse(value->text, value->at, value->length,
                                "more than %d faults on one device",
                                HDPI_FAULT_MAX);
    ask->faults[ask->fault_count++] = fault;
    return HDP_OK;
}

/* The part of a value before the '@', which is left to `rest`. */
static struct hdpi_text cut_at(struct hdpi_text *rest)
{
    struct hdpi_text part = *rest;
    while (rest->at < rest->length && rest->text[rest->at] != '@')
        rest->at++;
    part.length = rest->at;
    rest->at += rest->at < rest->length;
    return part;
}

/* 2x@100; as written, each of a later launch than the one before it. */
hdp_status hdpi_spec_read_slow(struct hdpi_ask *ask,
                               const struct hdpi_text *value)
{
    struct hdpi_text rest = *value, part = cut_at(&rest);
    struct hdpi_slow slow;
    if (!hdpi_text_double(&part, &slow.factor) || part.at + 1 != part.length ||
        part.text[part.at] != 'x' || slow.factor < 1e-3 || slow.factor > 1e6 ||
        !hdpi_text_int(&rest, &slow.nth) || rest.at != rest.length ||
        slow.nth < 1)
        return refuse(value, "slow is Fx@N: from launch N (from 1) on F "
                             "times the time, 0.001 to 1000000");
    if (ask->slow_count == HDPI_SLOW_MAX)
        return hdpi_spec_refuse(value->text, value->at, value->length,
                                "more than %d changes of speed on one device",
                                HDPI_SLOW_MAX);
    if (ask->slow_count > 0 && slow.nth <= ask->slows[ask->slow_count - 1].nth)
        return refuse(value, "comes no later than the slow before it");
    ask->slows[ask->slow_count++] = slow;
    return HDP_OK;
}

/* 20%@1s: a fifth less time at first, nothing less from one second on. */
hdp_status hdpi_spec_read_ramp(struct hdpi_ask *ask,
                               const struct hdpi_text *value)
{
    struct hdpi_text rest = *value, part = cut_at(&rest);
    if (!hdpi_read_percent(&ask->ramp, &part) || ask->ramp <= 0 ||
        ask->ramp > 0.99 || !hdpi_read_duration(&ask->ramp_ns, &rest) ||
        ask->ramp_ns <= 0)
        return refuse(value, "ramp is P%@D: above 0% to 99% less time "
                             "at first, falling to nothing within a "
                             "duration above 0");
    return HDP_OK;
}

/* ---- writing ------------------------------------------------------------- */

void hdpi_spec_write_fault(char *out, const struct hdpi_fault *fault)
{
    snprintf(out, HDPI_SPEC_EVENT_MAX, "%s:%" PRId64 "%s", hooks[fault->hook],
             fault->nth, fault->lasting ? "-" : "");
}

void hdpi_spec_write_slow(char *out, const struct hdpi_slow *slow)
{
    size_t used = hdpi_text_write_double(out, slow->factor);
    snprintf(out + used, HDPI_SPEC_EVENT_MAX - used, "x@%" PRId64, slow->nth);
}

void hdpi_spec_write_ramp(char *out, const struct hdpi_ask *ask)
{
    hdpi_write_percent(out, ask->ramp);
    size_t used = strlen(out);
    out[used++] = '@';
    hdpi_write_duration(out + used, ask->ramp_ns);
}
