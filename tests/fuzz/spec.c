/* Specifications of devices. Whatever is taken reads the same, device by
 * device, once it was written; a machine's name is kept as it stood. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/spec.h"
#include "fuzz/fuzz.h"

enum { ASK_ROOM = 4096, JOINED_ROOM = 1 << 16 };

#define CHECK_FIELD(a, b, field, text)                                         \
    FUZZ_CHECK((a)->field == (b)->field, #field " is lost in \"%s\"", text)

static void check_lists(const struct hdpi_ask *a, const struct hdpi_ask *b,
                        const char *text)
{
    CHECK_FIELD(a, b, fault_count, text);
    for (int32_t i = 0; i < a->fault_count; i++) {
        CHECK_FIELD(a, b, faults[i].hook, text);
        CHECK_FIELD(a, b, faults[i].lasting, text);
        CHECK_FIELD(a, b, faults[i].nth, text);
    }
    CHECK_FIELD(a, b, slow_count, text);
    for (int32_t i = 0; i < a->slow_count; i++) {
        CHECK_FIELD(a, b, slows[i].factor, text);
        CHECK_FIELD(a, b, slows[i].nth, text);
        FUZZ_CHECK(i == 0 || a->slows[i - 1].nth < a->slows[i].nth,
                   "slow= is out of order in \"%s\"", text);
    }
}

static void check_same(const struct hdpi_ask *a, const struct hdpi_ask *b,
                       const char *text)
{
    CHECK_FIELD(a, b, kind, text);
    CHECK_FIELD(a, b, logical_id, text);
    CHECK_FIELD(a, b, all, text);
    CHECK_FIELD(a, b, threads, text);
    CHECK_FIELD(a, b, duty_percent, text);
    CHECK_FIELD(a, b, sms, text);
    CHECK_FIELD(a, b, compute, text);
    CHECK_FIELD(a, b, display, text);
    CHECK_FIELD(a, b, memory_bytes, text);
    CHECK_FIELD(a, b, margin_bytes, text);
    CHECK_FIELD(a, b, fixed_ns, text);
    CHECK_FIELD(a, b, item_ns, text);
    CHECK_FIELD(a, b, link_bytes_per_second, text);
    CHECK_FIELD(a, b, noise, text);
    CHECK_FIELD(a, b, seed, text);
    CHECK_FIELD(a, b, given_fixed, text);
    CHECK_FIELD(a, b, given_item, text);
    CHECK_FIELD(a, b, given_newshape, text);
    CHECK_FIELD(a, b, drift, text);
    CHECK_FIELD(a, b, ramp, text);
    CHECK_FIELD(a, b, ramp_ns, text);
    CHECK_FIELD(a, b, newshape_ns, text);
    FUZZ_CHECK(strcmp(a->uuid, b->uuid) == 0, "uuid is lost in \"%s\"", text);
    FUZZ_CHECK(strcmp(a->name, b->name) == 0, "name is lost in \"%s\"", text);
    FUZZ_CHECK(strcmp(a->driver, b->driver) == 0, "driver is lost in \"%s\"",
               text);
    check_lists(a, b, text);
}

/* Cut at a key, never inside one: as long as kind and id fit, what is there is
 * an item. */
static void check_cut(const struct hdpi_ask *ask, const char *text)
{
    char cut[64];
    size_t id = strcspn(text, "/");
    struct hdpi_spec spec = { 0 };

    hdpi_spec_write(cut, sizeof cut, ask);
    FUZZ_CHECK(memchr(cut, '\0', sizeof cut), "a cut text does not end");
    if (id >= sizeof cut)
        return;
    FUZZ_CHECK(hdpi_spec_parse(&spec, cut) == HDP_OK,
               "\"%s\", cut from \"%s\", is refused: %s", cut, text,
               hdp_last_error());
    hdpi_spec_finish(&spec);
}

static void check_ask(const struct hdpi_ask *ask, char *text)
{
    struct hdpi_spec spec = { 0 };
    char again[ASK_ROOM];

    hdpi_spec_write(text, ASK_ROOM, ask);
    FUZZ_CHECK(fuzz_is_clean(text), "not a clean line: %s", text);
    FUZZ_CHECK(hdpi_spec_parse(&spec, text) == HDP_OK, "\"%s\" is refused: %s",
               text, hdp_last_error());
    FUZZ_CHECK(spec.count == 1, "\"%s\" is %d devices", text, (int)spec.count);
    check_same(ask, &spec.asks[0], text);
    hdpi_spec_write(again, sizeof again, &spec.asks[0]);
    FUZZ_CHECK(strcmp(text, again) == 0, "\"%s\" becomes \"%s\"", text, again);
    check_cut(ask, text);
    hdpi_spec_finish(&spec);
}

/* The items together name the same devices in the same order. */
static void check_devices(const struct hdpi_spec *spec)
{
    static char joined[JOINED_ROOM];
    struct hdpi_spec back = { 0 };
    size_t used = 0;

    for (int32_t i = 0; i < spec->count; i++) {
        char text[ASK_ROOM];
        check_ask(&spec->asks[i], text);
        size_t length = strlen(text);
        if (used + length + 1 >= sizeof joined)
            return;
        if (i > 0)
            joined[used++] = i % 2 ? ';' : '+';
        memcpy(joined + used, text, length + 1);
        used += length;
    }
    FUZZ_CHECK(hdpi_spec_parse(&back, joined) == HDP_OK,
               "\"%s\" is refused: %s", joined, hdp_last_error());
    FUZZ_CHECK(back.count == spec->count, "%d devices become %d",
               (int)spec->count, (int)back.count);
    for (int32_t i = 0; i < back.count; i++)
        check_same(&spec->asks[i], &back.asks[i], joined);
    hdpi_spec_finish(&back);
}

static void check_machine(const struct hdpi_spec *spec)
{
    struct hdpi_spec back = { 0 };
    char text[sizeof spec->machine + 1];

    FUZZ_CHECK(spec->count == 0 && !spec->automatic,
               "a machine beside devices");
    snprintf(text, sizeof text, "@%s", spec->machine);
    FUZZ_CHECK(hdpi_spec_parse(&back, text) == HDP_OK &&
                   strcmp(back.machine, spec->machine) == 0,
               "machine \"%s\" becomes \"%s\"", spec->machine, back.machine);
    hdpi_spec_finish(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdpi_spec spec = { 0 };
    char *text = fuzz_copy(data, size, 1);

    if (fuzz_taken(hdpi_spec_parse(&spec, text), NULL)) {
        FUZZ_CHECK(spec.count > 0 || spec.machine[0] || spec.automatic,
                   "taken, but it names nothing");
        FUZZ_CHECK(spec.count <= HDPI_SPEC_DEVICES_MAX, "%d devices",
                   (int)spec.count);
        if (spec.machine[0])
            check_machine(&spec);
        else if (spec.count > 0)
            check_devices(&spec);
    }
    hdpi_spec_finish(&spec);
    free(text);
    return 0;
}
