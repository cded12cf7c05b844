/* Values are read by type into a field named by its offset, so a new key is a
 * new row of the table and nothing else. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/spec_events.h"
#include "core/spec_keys.h"
#include "core/units.h"

enum { QUOTE_MAX = 48, REASON_MAX = 160 };

hdp_status hdpi_spec_refuse(const char *text, size_t start, size_t end,
                            const char *format, ...)
{
    char reason[REASON_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    size_t quoted = end - start;
    const char *more = quoted > QUOTE_MAX ? "..." : "";
    if (quoted > QUOTE_MAX)
        quoted = QUOTE_MAX;
    return hdpi_fail(HDP_ERR_ARGUMENT, "devices: \"%.*s%s\" at %zu: %s",
                     (int)quoted, text + start, more, start + 1,
                     length < 0 ? "malformed" : reason);
}

const char *hdpi_spec_kind_name(int32_t kind)
{
    return kind == HDP_HOST   ? "host"
           : kind == HDP_CUDA ? "cuda"
           : kind == HDP_SIM  ? "sim"
                              : NULL;
}

/* ---- the table ----------------------------------------------------------- */

enum { HOST = 1 << HDP_HOST, CUDA = 1 << HDP_CUDA, SIM = 1 << HDP_SIM };

enum type {
    COUNT,    /* int32_t, least to most */
    SEED,     /* uint64_t, least to most */
    SIZE,     /* int64_t bytes, least to INT64_MAX */
    DURATION, /* double ns; sets the int32_t at `given` */
    RATE,     /* double bytes a second */
    PERCENT,  /* double, written in percent */
    DTYPE,    /* int32_t HDP_* */
    WORD,     /* char[most] */
    RAMP,     /* double and, at `given`, double ns */
    SLOW,     /* the next of slows[] */
    FAULT     /* the next of faults[] */
};

struct key {
    const char *name;
    int32_t adapters;
    enum type type;
    size_t offset, given;
    int64_t least, most;
};

#define AT(field) offsetof(struct hdpi_ask, field)
#define ROOM(field) (int64_t)sizeof((struct hdpi_ask *)NULL)->field

static const struct key keys[] = {
    { "fixed", SIM, DURATION, AT(fixed_ns), AT(given_fixed), 0, 0 },
    { "item", SIM, DURATION, AT(item_ns), AT(given_item), 0, 0 },
    { "threads", HOST, COUNT, AT(threads), 0, 1, 4096 },
    { "duty", HOST, COUNT, AT(duty_percent), 0, 1, 100 },
    { "sms", CUDA | SIM, COUNT, AT(sms), 0, 1, 65536 },
    { "compute", CUDA | SIM, DTYPE, AT(compute), 0, 0, 0 },
    { "mem", HOST | CUDA | SIM, SIZE, AT(memory_bytes), 0, 1, 0 },
    { "margin", HOST | CUDA | SIM, SIZE, AT(margin_bytes), 0, 0, 0 },
    { "link", SIM, RATE, AT(link_bytes_per_second), 0, 0, 0 },
    { "display", SIM, COUNT, AT(display), 0, 0, 1 },
    { "noise", SIM, PERCENT, AT(noise), 0, 0, 0 },
    { "seed", SIM, SEED, AT(seed), 0, 0, INT64_MAX },
    { "uuid", SIM, WORD, AT(uuid), 0, 0, ROOM(uuid) },
    { "name", SIM, WORD, AT(name), 0, 0, ROOM(name) },
    { "driver", SIM, WORD, AT(driver), 0, 0, ROOM(driver) },
    { "drift", SIM, PERCENT, AT(drift), 0, 0, 0 },
    { "ramp", SIM, RAMP, AT(ramp), AT(ramp_ns), 0, 0 },
    { "newshape", SIM, DURATION, AT(newshape_ns), AT(given_newshape), 0, 0 },
    { "slow", SIM, SLOW, AT(slows), 0, 0, 0 },
    { "fail", SIM, FAULT, AT(faults), 0, 0, 0 },
};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static const struct dtype {
    const char *name;
    int32_t value;
} dtypes[] = { { "f32", HDP_F32 },
               { "tf32", HDP_TF32 },
               { "f16", HDP_F16 },
               { "bf16", HDP_BF16 },
               { "f64", HDP_F64 } };

enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

/* ---- reading ------------------------------------------------------------- */

static int same(const struct hdpi_text *value, const char *word)
{
    size_t length = strlen(word);
    return value->length - value->at == length &&
           memcmp(value->text + value->at, word, length) == 0;
}

static hdp_status refuse_value(const struct hdpi_text *value,
                               const char *wanted)
{
    return hdpi_spec_refuse(value->text, value->at, value->length, "%s",
                            wanted);
}

static hdp_status read_count(int64_t *out, const struct hdpi_text *value,
                             const struct key *key)
{
    struct hdpi_text rest = *value;
    if (hdpi_text_int(&rest, out) && rest.at == rest.length &&
        *out >= key->least && *out <= key->most)
        return HDP_OK;
    return hdpi_spec_refuse(value->text, value->at, value->length,
                            "%s is a whole number from %" PRId64 " to %" PRId64,
                            key->name, key->least, key->most);
}

static hdp_status read_size(int64_t *out, const struct hdpi_text *value,
                            const struct key *key)
{
    if (!hdpi_read_size(out, value))
        return refuse_value(value, "a size is a number and one of B kB MB GB "
                                   "TB KiB MiB GiB TiB, below 8 EiB");
    if (*out < key->least)
        return hdpi_spec_refuse(value->text, value->at, value->length,
                                "%s must be more than 0", key->name);
    return HDP_OK;
}

static hdp_status read_dtype(int32_t *out, const struct hdpi_text *value)
{
    for (int32_t i = 0; i < DTYPE_COUNT; i++)
        if (same(value, dtypes[i].name)) {
            *out = dtypes[i].value;
            return HDP_OK;
        }
    return refuse_value(value, "compute is one of f32 tf32 f16 bf16 f64");
}

/* What passes through the grammar, JSON and a terminal unchanged. */
static int is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-_.:()", c));
}

static hdp_status read_word(char *out, const struct hdpi_text *value,
                            const struct key *key)
{
    size_t length = value->length - value->at;
    for (size_t i = value->at; i < value->length; i++)
        if (!is_word_byte(value->text[i]))
            return hdpi_spec_refuse(value->text, i, i + 1,
                                    "%s is letters, digits and -_.:()",
                                    key->name);
    if (length == 0 || length >= (size_t)key->most)
        return hdpi_spec_refuse(value->text, value->at, value->length,
                                "%s has 1 to %" PRId64 " characters", key->name,
                                key->most - 1);
    memcpy(out, value->text + value->at, length);
    out[length] = '\0';
    return HDP_OK;
}

static hdp_status read_real(double *out, const struct hdpi_text *value,
                            const struct key *key)
{
    enum type type = key->type;
    if (type == DURATION && !hdpi_read_duration(out, value))
        return refuse_value(value,
                            "a duration is a number and one of ns us ms s");
    if (type == RATE && (!hdpi_read_rate(out, value) || *out <= 0))
        return refuse_value(value, "link is bytes a second: a number above 0 "
                                   "and one of B kB MB GB TB KiB MiB GiB TiB");
    if (type == PERCENT && (!hdpi_read_percent(out, value) || *out > 1))
        return hdpi_spec_refuse(value->text, value->at, value->length,
                                "%s is 0%% to 100%%", key->name);
    return HDP_OK;
}

static hdp_status read_value(struct hdpi_ask *ask, const struct key *key,
                             const struct hdpi_text *value)
{
    unsigned char *field = (unsigned char *)ask + key->offset;
    int64_t whole = 0;
    int32_t number = 0;
    double real = 0;
    switch (key->type) {
    case COUNT:
        HDPI_RETURN_IF(read_count(&whole, value, key));
        number = (int32_t)whole;
        memcpy(field, &number, sizeof number);
        return HDP_OK;
    case SEED:
        HDPI_RETURN_IF(read_count(&whole, value, key));
        memcpy(field, &whole, sizeof whole);
        return HDP_OK;
    case SIZE:
        HDPI_RETURN_IF(read_size(&whole, value, key));
        memcpy(field, &whole, sizeof whole);
        return HDP_OK;
    case DTYPE:
        HDPI_RETURN_IF(read_dtype(&number, value));
        memcpy(field, &number, sizeof number);
        return HDP_OK;
    case DURATION:
    case RATE:
    case PERCENT:
        HDPI_RETURN_IF(read_real(&real, value, key));
        memcpy(field, &real, sizeof real);
        number = 1;
        if (key->given)
            memcpy((unsigned char *)ask + key->given, &number, sizeof number);
        return HDP_OK;
    case WORD:
        return read_word((char *)field, value, key);
    case RAMP:
        return hdpi_spec_read_ramp(ask, value);
    case SLOW:
        return hdpi_spec_read_slow(ask, value);
    case FAULT:
        return hdpi_spec_read_fault(ask, value);
    }
    return hdpi_fail(HDP_ERR_INTERNAL, "key %s has no type", key->name);
}

static hdp_status refuse_key(int32_t kind, const char *text, size_t start,
                             size_t end)
{
    char names[REASON_MAX] = "";
    size_t used = 0;
    for (int32_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].adapters & (1 << kind)) {
            snprintf(names + used, sizeof names - used, " %s", keys[i].name);
            used += strlen(names + used);
        }
    return hdpi_spec_refuse(text, start, end, "%s has no such key; it has%s",
                            hdpi_spec_kind_name(kind), names);
}

hdp_status hdpi_spec_read_key(struct hdpi_ask *ask, uint32_t *seen,
                              const char *text, size_t start, size_t end)
{
    size_t equals = start;
    while (equals < end && text[equals] != '=')
        equals++;
    struct hdpi_text name = { text, equals, start };
    const struct key *key = NULL;
    uint32_t bit = 0;
    for (int32_t i = 0; i < KEY_COUNT; i++)
        if ((keys[i].adapters & (1 << ask->kind)) && same(&name, keys[i].name))
            key = &keys[i], bit = UINT32_C(1) << i;
    if (!key)
        return refuse_key(ask->kind, text, start, equals);
    if (equals == end || equals + 1 == end)
        return hdpi_spec_refuse(text, start, end, "%s has no value", key->name);
    if ((*seen & bit) && key->type != FAULT && key->type != SLOW)
        return hdpi_spec_refuse(text, start, end, "%s is given twice",
                                key->name);
    *seen |= bit;
    struct hdpi_text value = { text, end, equals + 1 };
    return read_value(ask, key, &value);
}

/* ---- writing ------------------------------------------------------------- */

struct line {
    char *text;
    size_t capacity, used;
    int cut; /* something did not fit */
};

static void put(struct line *line, const char *text)
{
    if (!hdpi_text_copy(line->text + line->used, line->capacity - line->used,
                        text))
        line->cut = 1;
    line->used += strlen(line->text + line->used);
}

/* Takes a key back of which only a part would stand. */
static void settle(struct line *line, size_t before)
{
    if (line->cut) {
        line->used = before;
        line->text[before] = '\0';
        line->cut = 0;
    }
}

static void put_int(struct line *line, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put(line, text);
}

/* One of the keys that may stand several times. */
static void put_event(struct line *line, const char *key, const char *value)
{
    size_t before = line->used;
    put(line, key);
    put(line, value);
    settle(line, before);
}

static void put_events(struct line *line, const struct hdpi_ask *ask)
{
    char value[HDPI_SPEC_EVENT_MAX];
    for (int32_t i = 0; i < ask->slow_count; i++) {
        hdpi_spec_write_slow(value, &ask->slows[i]);
        put_event(line, "/slow=", value);
    }
    for (int32_t i = 0; i < ask->fault_count; i++) {
        hdpi_spec_write_fault(value, &ask->faults[i]);
        put_event(line, "/fail=", value);
    }
}

static const char *dtype_name(int32_t value)
{
    for (int32_t i = 0; i < DTYPE_COUNT; i++)
        if (dtypes[i].value == value)
            return dtypes[i].name;
    return "";
}

/* The field of a key as the widest type of its kind, and whether it was
 * given: zero, or for a key that may be zero its own mark, says no. */
static int read_field(int64_t *whole, double *real, const struct hdpi_ask *ask,
                      const struct key *key)
{
    const unsigned char *field = (const unsigned char *)ask + key->offset;
    int32_t number = 0;
    *whole = 0;
    *real = 0;
    switch (key->type) {
    case COUNT:
    case DTYPE:
        memcpy(&number, field, sizeof number);
        *whole = number;
        return number != 0;
    case SEED:
        memcpy(whole, field, sizeof *whole);
        return *whole != 0;
    case SIZE:
        memcpy(whole, field, sizeof *whole);
        return *whole >= key->least;
    case DURATION:
        memcpy(&number, (const unsigned char *)ask + key->given, sizeof number);
        memcpy(real, field, sizeof *real);
        return number;
    case RATE:
    case PERCENT:
    case RAMP:
        memcpy(real, field, sizeof *real);
        return *real > 0;
    case WORD:
        return *field != '\0';
    case SLOW:
    case FAULT:
        break;
    }
    return 0;
}

static void put_key(struct line *line, const struct hdpi_ask *ask,
                    const struct key *key)
{
    char text[HDPI_SPEC_EVENT_MAX] = "";
    size_t before = line->used;
    int64_t whole;
    double real;
    if (!(key->adapters & (1 << ask->kind)) ||
        !read_field(&whole, &real, ask, key))
        return;
    put(line, "/");
    put(line, key->name);
    put(line, "=");
    if (key->type == WORD)
        put(line, (const char *)ask + key->offset);
    else if (key->type == DTYPE)
        put(line, dtype_name((int32_t)whole));
    else if (key->type == COUNT || key->type == SEED)
        put_int(line, whole);
    else if (key->type == SIZE)
        hdpi_write_size(text, whole);
    else if (key->type == DURATION)
        hdpi_write_duration(text, real);
    else if (key->type == RATE)
        hdpi_write_rate(text, real);
    else if (key->type == RAMP)
        hdpi_spec_write_ramp(text, ask);
    else
        hdpi_write_percent(text, real);
    put(line, text);
    settle(line, before);
}

void hdpi_spec_write(char *out, size_t capacity, const struct hdpi_ask *ask)
{
    struct line line = { out, capacity, 0, 0 };
    if (capacity == 0)
        return;
    out[0] = '\0';
    put(&line, hdpi_spec_kind_name(ask->kind));
    put(&line, ":");
    if (ask->all)
        put(&line, "all");
    else if (ask->logical_id < 0)
        put(&line, ask->uuid);
    else
        put_int(&line, ask->logical_id);
    for (int32_t i = 0; i < KEY_COUNT; i++)
        put_key(&line, ask, &keys[i]);
    if (ask->kind == HDP_SIM)
        put_events(&line, ask);
}
