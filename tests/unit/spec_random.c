/* The grammar under random asks, which must survive writing and reading, and
 * under texts mutated from good ones, which must be taken or refused cleanly.
 * Seeded: a failure names its round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/spec.h"

enum { ASKS = 20000, MUTATIONS = 200000, TEXT_MAX = 192 };

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit)
{
    return next_random() % limit;
}

/* ---- there and back ------------------------------------------------------ */

/* All magnitudes, and often a number with few digits. */
static double random_real(double most)
{
    double value = (double)below(UINT64_C(1) << 53);
    if (below(2))
        value = (double)below(10000);
    for (uint64_t i = below(30); i > 0; i--)
        value /= 10;
    while (value > most)
        value /= 16;
    return value;
}

static int64_t random_size(void)
{
    return (int64_t)(next_random() >> (1 + below(62))) + 1;
}

static void random_word(char *out, size_t capacity)
{
    static const char letters[] = "abcXYZ019-_.:()";
    size_t length = below(capacity);
    for (size_t i = 0; i < length; i++)
        out[i] = letters[below(sizeof letters - 1)];
    out[length] = '\0';
}

static void random_sim(struct hdpi_ask *ask)
{
    ask->given_fixed = (int32_t)below(2);
    ask->given_item = (int32_t)below(2);
    ask->fixed_ns = ask->given_fixed ? random_real(9e18) : 0;
    ask->item_ns = ask->given_item ? random_real(9e18) : 0;
    ask->link_bytes_per_second = below(2) ? random_real(9e18) : 0;
    ask->noise = below(2) ? random_real(1) : 0;
    ask->seed = below(2) ? next_random() >> 1 : 0;
    ask->fault_count = (int32_t)below(HDPI_FAULT_MAX + 1);
    for (int32_t i = 0; i < ask->fault_count; i++) {
        ask->faults[i].hook = (int32_t)below(HDPI_HOOK_COUNT);
        ask->faults[i].lasting = (int32_t)below(2);
        ask->faults[i].nth = random_size();
    }
    random_word(ask->uuid, sizeof ask->uuid);
    random_word(ask->name, sizeof ask->name);
    random_word(ask->driver, sizeof ask->driver);
    ask->sms = (int32_t)below(133);
    ask->compute = (int32_t)below(6);
    ask->display = (int32_t)below(2);
    ask->drift = below(2) ? random_real(1) : 0;
    ask->ramp = below(2) ? random_real(0.99) : 0;
    ask->ramp_ns = ask->ramp > 0 ? 1 + random_real(1e18) : 0;
    ask->given_newshape = (int32_t)below(2);
    ask->newshape_ns = ask->given_newshape ? random_real(9e18) : 0;
    ask->slow_count = (int32_t)below(HDPI_SLOW_MAX + 1);
    for (int32_t i = 0; i < ask->slow_count; i++) {
        ask->slows[i].factor = 1e-3 + random_real(9e5);
        ask->slows[i].nth =
            (i > 0 ? ask->slows[i - 1].nth : 0) + (random_size() >> 5) + 1;
    }
}

static struct hdpi_ask random_ask(void)
{
    struct hdpi_ask ask = { .kind = HDP_HOST + (int32_t)below(3) };
    ask.logical_id = (int32_t)below(256);
    ask.margin_bytes = below(2) ? random_size() - 1 : -1;
    ask.memory_bytes = below(2) ? random_size() : 0;
    if (ask.kind == HDP_SIM)
        random_sim(&ask);
    if (ask.kind == HDP_HOST) {
        ask.threads = (int32_t)below(4097);
        ask.duty_percent = (int32_t)below(101);
    }
    if (ask.kind == HDP_CUDA) {
        ask.sms = (int32_t)below(133);
        ask.compute = (int32_t)below(6);
        if (below(3) == 0) {
            ask.logical_id = -1;
            ask.all = (int32_t)below(2);
        }
        if (ask.logical_id < 0 && !ask.all)
            snprintf(ask.uuid, sizeof ask.uuid, "GPU-%llx",
                     (unsigned long long)next_random());
    }
    return ask;
}

static int same_ask(const struct hdpi_ask *a, const struct hdpi_ask *b)
{
    int same =
        a->kind == b->kind && a->logical_id == b->logical_id &&
        a->all == b->all && strcmp(a->uuid, b->uuid) == 0 &&
        strcmp(a->name, b->name) == 0 && strcmp(a->driver, b->driver) == 0 &&
        a->threads == b->threads && a->duty_percent == b->duty_percent &&
        a->sms == b->sms && a->compute == b->compute &&
        a->memory_bytes == b->memory_bytes &&
        a->margin_bytes == b->margin_bytes && a->fixed_ns == b->fixed_ns &&
        a->item_ns == b->item_ns &&
        a->link_bytes_per_second == b->link_bytes_per_second &&
        a->noise == b->noise && a->seed == b->seed &&
        a->given_fixed == b->given_fixed && a->given_item == b->given_item &&
        a->display == b->display && a->drift == b->drift &&
        a->ramp == b->ramp && a->ramp_ns == b->ramp_ns &&
        a->given_newshape == b->given_newshape &&
        a->newshape_ns == b->newshape_ns && a->slow_count == b->slow_count &&
        a->fault_count == b->fault_count;
    for (int32_t i = 0; same && i < a->slow_count; i++)
        same = a->slows[i].factor == b->slows[i].factor &&
               a->slows[i].nth == b->slows[i].nth;
    for (int32_t i = 0; same && i < a->fault_count; i++)
        same = a->faults[i].hook == b->faults[i].hook &&
               a->faults[i].nth == b->faults[i].nth &&
               a->faults[i].lasting == b->faults[i].lasting;
    return same;
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    random_state = 5;
    for (int round = 0; round < ASKS; round++) {
        struct hdpi_ask ask = random_ask();
        struct hdpi_spec spec = { 0 };
        char text[2048];
        hdpi_spec_write(text, sizeof text, &ask);
        if (hdpi_spec_parse(&spec, text) != HDP_OK)
            fail_msg("round %d, \"%s\": expected success, got \"%s\"", round,
                     text, hdp_last_error());
        if (spec.count != 1 || !same_ask(&spec.asks[0], &ask))
            fail_msg("round %d: expected the ask of \"%s\", got another", round,
                     text);
        hdpi_spec_finish(&spec);
    }
}

/* ---- mutations ----------------------------------------------------------- */

static const char *const seeds[] = {
    "0,2",
    "cuda:0,2-5;host:1",
    "cuda:all/mem=10GiB",
    "cuda:GPU-ee4d17bc/compute=tf32+cuda:GPU-aa",
    "cuda:1/sms=48+cuda:1/sms=84/margin=1GiB",
    "host:0-1/threads=1+host:2/threads=1/duty=50",
    ("sim:0/fixed=500us/item=10us/mem=80GiB+sim:1/fixed=1.5ms/item=50us"
     "/link=0.8GB/noise=3%/fail=alloc:3-"),
    "sim:7/uuid=GPU-1/name=RTX_3090/seed=42/fail=reduce:1/fail=wait:9",
    ("sim:4/drift=3%/ramp=20%@1s/newshape=300ms/slow=2x@100/slow=1x@200"
     "/sms=82/compute=f32/display=1"),
    "sim:0-40",
    "auto",
    "@desk",
    "@./a/b.json",
};

static void mutate(char *text, size_t *length)
{
    static const char alphabet[] =
        "0123456789-,;+/=:.%@x \n\"\\eGPUMIcudahostsimallnsf\x01\x7f\xc3\xff";
    size_t at = *length ? below(*length) : 0;
    char random = alphabet[below(sizeof alphabet - 1)];
    switch (below(5)) {
    case 0: /* change */
        if (*length)
            text[at] = random;
        break;
    case 1: /* insert */
        if (*length + 1 < TEXT_MAX) {
            memmove(text + at + 1, text + at, *length - at);
            text[at] = random;
            ++*length;
        }
        break;
    case 2: /* remove */
        if (*length) {
            memmove(text + at, text + at + 1, *length - at - 1);
            --*length;
        }
        break;
    case 3: /* cut */
        *length = at;
        break;
    default: { /* repeat a piece */
        size_t piece = *length - at;
        if (*length + piece < TEXT_MAX) {
            memcpy(text + *length, text + at, piece);
            *length += piece;
        }
    }
    }
    text[*length] = '\0';
}

/* Of what was taken, each ask is in range and can be written and read. */
static void check_taken(int round, const char *text,
                        const struct hdpi_spec *spec)
{
    int alone = spec->automatic || spec->machine[0];
    if (alone ? spec->count != 0
              : spec->count < 1 || spec->count > HDPI_SPEC_DEVICES_MAX)
        fail_msg("round %d, \"%s\": got %d devices", round, text,
                 (int)spec->count);
    for (int32_t i = 0; i<spec->count; i += spec->count> 9 ? 500 : 1) {
        const struct hdpi_ask *ask = &spec->asks[i];
        struct hdpi_spec again = { 0 };
        char written[2048];
        hdpi_spec_write(written, sizeof written, ask);
        if (hdpi_spec_parse(&again, written) != HDP_OK || again.count != 1 ||
            !same_ask(ask, &again.asks[0]))
            fail_msg("round %d, \"%s\": \"%s\" does not read back", round, text,
                     written);
        if (ask->position < 0 || ask->position >= (int32_t)strlen(text))
            fail_msg("round %d, \"%s\": position %d", round, text,
                     (int)ask->position);
        hdpi_spec_finish(&again);
    }
}

/* A refusal has one clean line that quotes a place within the text. */
static void check_refused(int round, const char *text, hdp_status status)
{
    const char *error = hdp_last_error();
    const char *at = strstr(error, "\" at ");
    unsigned long position = at ? strtoul(at + 5, NULL, 10) : 0;
    int placed = at && position >= 1 && position <= strlen(text) + 1;
    if (status != HDP_ERR_ARGUMENT ||
        !(placed || strcmp(error, "devices: the text is empty") == 0))
        fail_msg("round %d, \"%s\": expected a position, got %d \"%s\"", round,
                 text, (int)status, error);
    for (const unsigned char *c = (const unsigned char *)error; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            fail_msg("round %d: got control byte %02x in \"%s\"", round, *c,
                     error);
}

static void mutations_are_taken_or_refused(void **state)
{
    int taken = 0;
    (void)state;
    random_state = 11;
    for (int round = 0; round < MUTATIONS; round++) {
        char text[TEXT_MAX + 1];
        struct hdpi_spec spec = { 0 };
        strcpy(text, seeds[below(sizeof seeds / sizeof seeds[0])]);
        size_t length = strlen(text);
        for (uint64_t i = below(4); i > 0; i--)
            mutate(text, &length);
        /* its own block: the sanitizer sees one byte too far */
        char *exact = strdup(text);
        assert_non_null(exact);
        hdp_status status = hdpi_spec_parse(&spec, exact);
        if (status == HDP_OK)
            check_taken(round, exact, &spec);
        else
            check_refused(round, exact, status);
        taken += status == HDP_OK;
        hdpi_spec_finish(&spec);
        free(exact);
    }
    print_message("%d of %d taken\n", taken, MUTATIONS);
    assert_in_range(taken, MUTATIONS / 20, MUTATIONS - MUTATIONS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(mutations_are_taken_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
