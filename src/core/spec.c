/* The grammar: items, ids, and who is named twice. What an item names is kept
 * as ranges while the text is read, so that repeats are found range against
 * range and a long list costs no more than its text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/spec_keys.h"

enum {
    TEXT_MAX = 1 << 16,
    HOST_ID_MAX = 255,
    SIM_ID_MAX = 1048575,
    CUDA_ID_MAX = 65535
};

/* One element of an id list. */
struct range {
    int32_t kind, first, last; /* ids; -1: `all` or a uuid */
    int32_t all, part;         /* part: a partition of a GPU */
    int32_t item;
    size_t start, end; /* where it stands */
    char uuid[64];     /* cuda: as written */
};

struct parser {
    const char *text;
    size_t length;
    struct hdpi_spec *out;
    struct range *ranges;
    size_t range_count, range_capacity;
    int32_t item;
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_word(const struct parser *self, size_t start, size_t end,
                   const char *word)
{
    return end - start == strlen(word) &&
           memcmp(self->text + start, word, end - start) == 0;
}

static void trim(const char *text, size_t *start, size_t *end)
{
    while (*start < *end && is_blank(text[*start]))
        ++*start;
    while (*end > *start && is_blank(text[*end - 1]))
        --*end;
}

/* ---- ids ----------------------------------------------------------------- */

static int32_t id_max(int32_t kind)
{
    return kind == HDP_HOST  ? HOST_ID_MAX
           : kind == HDP_SIM ? SIM_ID_MAX
                             : CUDA_ID_MAX;
}

static int is_uuid(const char *text, size_t start, size_t end)
{
    if (end - start < 5 || (memcmp(text + start, "GPU-", 4) != 0 &&
                            memcmp(text + start, "MIG-", 4) != 0))
        return 0;
    for (size_t i = start + 4; i < end; i++)
        if (!is_letter(text[i]) && text[i] != '-' &&
            (text[i] < '0' || text[i] > '9'))
            return 0;
    return 1;
}

static hdp_status read_id(int32_t *out, const struct parser *self, int32_t kind,
                          size_t start, size_t end)
{
    struct hdpi_text digits = { self->text, end, start };
    int64_t id = -1;
    size_t at = start;
    while (at < end && self->text[at] >= '0' && self->text[at] <= '9')
        at++;
    if (at == start || at < end)
        return hdpi_spec_refuse(
            self->text, start, end,
            kind == HDP_CUDA ? "no device: a number, a range a-b, all, "
                               "or a UUID (GPU-..., MIG-...)"
                             : "no device: a number, a range a-b or all");
    if (!hdpi_text_int(&digits, &id) || id > id_max(kind))
        return hdpi_spec_refuse(self->text, start, end,
                                "%s ids are 0 to %" PRId32,
                                hdpi_spec_kind_name(kind), id_max(kind));
    *out = (int32_t)id;
    return HDP_OK;
}

static hdp_status read_range(struct range *range, const struct parser *self,
                             size_t start, size_t end)
{
    size_t dash = start;
    while (dash < end && self->text[dash] != '-')
        dash++;
    if (dash == start || dash + 1 == end)
        dash = end; /* no number, as a whole */
    HDPI_RETURN_IF(read_id(&range->first, self, range->kind, start, dash));
    range->last = range->first;
    if (dash == end)
        return HDP_OK;
    HDPI_RETURN_IF(read_id(&range->last, self, range->kind, dash + 1, end));
    if (range->last < range->first)
        return hdpi_spec_refuse(self->text, start, end,
                                "the range runs backwards");
    return HDP_OK;
}

/* One element of the list: a number, a range, all, a UUID. */
static hdp_status read_element(struct parser *self, int32_t kind, size_t start,
                               size_t end)
{
    struct range *range;
    if (self->range_count == HDPI_SPEC_DEVICES_MAX)
        return hdpi_spec_refuse(self->text, start, end, "more than %d devices",
                                HDPI_SPEC_DEVICES_MAX);
    HDPI_RETURN_IF(hdpi_grow(&self->ranges, &self->range_capacity,
                             self->range_count + 1, sizeof *range,
                             "device ids"));
    range = &self->ranges[self->range_count];
    *range = (struct range){ .kind = kind,
                             .first = -1,
                             .last = -1,
                             .item = self->item,
                             .start = start,
                             .end = end };
    range->all = is_word(self, start, end, "all");
    if (range->all && kind == HDP_SIM)
        return hdpi_spec_refuse(self->text, start, end,
                                "simulated devices are those that are named");
    if (kind == HDP_CUDA && is_uuid(self->text, start, end)) {
        if (end - start >= sizeof range->uuid)
            return hdpi_spec_refuse(self->text, start, end,
                                    "a UUID has at most %zu characters",
                                    sizeof range->uuid - 1);
        memcpy(range->uuid, self->text + start, end - start);
    } else if (!range->all) {
        HDPI_RETURN_IF(read_range(range, self, start, end));
    }
    self->range_count++;
    return HDP_OK;
}

static hdp_status read_list(struct parser *self, int32_t kind, size_t start,
                            size_t end)
{
    for (size_t at = start;;) {
        size_t stop = at;
        while (stop < end && self->text[stop] != ',')
            stop++;
        HDPI_RETURN_IF(read_element(self, kind, at, stop));
        if (stop == end)
            return HDP_OK;
        at = stop + 1;
    }
}

/* ---- repeats ------------------------------------------------------------- */

static int same_device(const struct range *a, const struct range *b)
{
    if (a->kind != b->kind)
        return 0;
    if (a->all || b->all)
        return 1;
    if (a->uuid[0] && b->uuid[0]) {
        /* a prefix must be unique, so it names what the longer one names */
        size_t length = a->end - a->start, other = b->end - b->start;
        return memcmp(a->uuid, b->uuid, length < other ? length : other) == 0;
    }
    return !a->uuid[0] && !b->uuid[0] && a->first <= b->last &&
           b->first <= a->last;
}

/* Two parts of one GPU are two members if each item asks for its part. */
static hdp_status check_repeats(const struct parser *self, size_t first)
{
    for (size_t i = first; i < self->range_count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct range *here = &self->ranges[i];
            const struct range *there = &self->ranges[j];
            if (!same_device(here, there) ||
                (here->part && there->part && here->item != there->item))
                continue;
            return hdpi_spec_refuse(
                self->text, here->start, here->end,
                here->part == there->part
                    ? "names a device that \"%.*s\" at %zu names already"
                    : "\"%.*s\" at %zu names the same device: the whole and a "
                      "part of one GPU cannot both be members",
                (int)(there->end - there->start < 40 ? there->end - there->start
                                                     : 40),
                self->text + there->start, there->start + 1);
        }
    return HDP_OK;
}

static hdp_status check_uuid(const struct parser *self, size_t first_ask,
                             size_t start, size_t end)
{
    const struct hdpi_spec *out = self->out;
    const struct hdpi_ask *ask = &out->asks[first_ask];
    if (ask->kind != HDP_SIM || !ask->uuid[0])
        return HDP_OK;
    if ((size_t)out->count - first_ask > 1)
        return hdpi_spec_refuse(self->text, start, end,
                                "one uuid for %zu devices",
                                (size_t)out->count - first_ask);
    for (size_t i = 0; i < first_ask; i++)
        if (out->asks[i].kind == HDP_SIM &&
            strcmp(out->asks[i].uuid, ask->uuid) == 0)
            return hdpi_spec_refuse(self->text, start, end,
                                    "the device at %" PRId32
                                    " bears that uuid already",
                                    out->asks[i].position + 1);
    return HDP_OK;
}

/* ---- items --------------------------------------------------------------- */

static hdp_status append(struct parser *self, const struct range *range,
                         const struct hdpi_ask *model)
{
    struct hdpi_spec *out = self->out;
    int32_t count = range->last - range->first + 1;
    if (count > HDPI_SPEC_DEVICES_MAX - out->count)
        return hdpi_spec_refuse(self->text, range->start, range->end,
                                "more than %d devices", HDPI_SPEC_DEVICES_MAX);
    HDPI_RETURN_IF(hdpi_grow(&out->asks, &out->capacity,
                             (size_t)(out->count + count), sizeof *out->asks,
                             "devices asked for"));
    for (int32_t i = 0; i < count; i++) {
        struct hdpi_ask *ask = &out->asks[out->count++];
        *ask = *model;
        ask->logical_id = range->first < 0 ? -1 : range->first + i;
        ask->all = range->all;
        ask->position = (int32_t)range->start;
        if (range->uuid[0])
            memcpy(ask->uuid, range->uuid, sizeof ask->uuid);
    }
    return HDP_OK;
}

/* "word:" at the start of an item; bare ids mean cuda. */
static hdp_status read_adapter(int32_t *kind, const struct parser *self,
                               size_t *start, size_t end)
{
    size_t at = *start;
    while (at < end && is_letter(self->text[at]))
        at++;
    *kind = HDP_CUDA;
    if (at == end || self->text[at] != ':')
        return HDP_OK;
    for (*kind = HDP_HOST; *kind <= HDP_SIM; ++*kind)
        if (is_word(self, *start, at, hdpi_spec_kind_name(*kind))) {
            *start = at + 1;
            return HDP_OK;
        }
    return hdpi_spec_refuse(self->text, *start, at,
                            "no such adapter; there are host, cuda and sim");
}

static size_t find_slash(const struct parser *self, size_t at, size_t end)
{
    while (at < end && self->text[at] != '/')
        at++;
    return at;
}

static hdp_status read_item(struct parser *self, size_t start, size_t end)
{
    struct hdpi_ask model = { .logical_id = -1, .margin_bytes = -1 };
    size_t whole = start, first_range = self->range_count;
    size_t first_ask = (size_t)self->out->count;
    uint32_t seen = 0;
    if (start == end)
        return hdpi_spec_refuse(self->text, start, end, "an empty item");
    if (self->text[start] == '@' || is_word(self, start, end, "auto"))
        return hdpi_spec_refuse(self->text, start, end,
                                "stands alone, without other items");
    HDPI_RETURN_IF(read_adapter(&model.kind, self, &start, end));
    size_t slash = find_slash(self, start, end);
    HDPI_RETURN_IF(read_list(self, model.kind, start, slash));
    while (slash < end) {
        size_t key = slash + 1;
        slash = find_slash(self, key, end);
        HDPI_RETURN_IF(
            hdpi_spec_read_key(&model, &seen, self->text, key, slash));
    }
    for (size_t i = first_range; i < self->range_count; i++)
        self->ranges[i].part = model.kind == HDP_CUDA && model.sms > 0;
    HDPI_RETURN_IF(check_repeats(self, first_range));
    for (size_t i = first_range; i < self->range_count; i++)
        HDPI_RETURN_IF(append(self, &self->ranges[i], &model));
    self->item++;
    return check_uuid(self, first_ask, whole, end);
}

static hdp_status read_items(struct parser *self)
{
    for (size_t at = 0;;) {
        size_t stop = at;
        while (stop < self->length && self->text[stop] != ';' &&
               self->text[stop] != '+')
            stop++;
        size_t start = at, end = stop;
        trim(self->text, &start, &end);
        HDPI_RETURN_IF(read_item(self, start, end));
        if (stop == self->length)
            return HDP_OK;
        at = stop + 1;
    }
}

/* ---- the whole ----------------------------------------------------------- */

static hdp_status read_machine(struct parser *self, size_t start, size_t end)
{
    const char *text = self->text;
    int file =
        start + 1 < end && (text[start + 1] == '.' || text[start + 1] == '/');
    if (end - start < 2)
        return hdpi_spec_refuse(text, start, end,
                                "a machine is @NAME or @./FILE");
    if (end - start > sizeof self->out->machine)
        return hdpi_spec_refuse(text, start, end,
                                "a machine has at most %zu characters",
                                sizeof self->out->machine - 1);
    for (size_t i = start + 1; i < end; i++) {
        char c = text[i];
        int good = file ? (unsigned char)c >= ' ' && c != 0x7f
                        : is_letter(c) || (c >= '0' && c <= '9') || c == '-' ||
                              c == '_' || c == '.';
        if (!good && (c == '+' || c == ';'))
            return hdpi_spec_refuse(text, start, i,
                                    "stands alone, without other items");
        if (!good)
            return hdpi_spec_refuse(text, i, i + 1,
                                    file ? "no character of a file's name"
                                         : "a machine's name is letters, "
                                           "digits and -_. (a file's begins "
                                           "with ./ or /)");
    }
    memcpy(self->out->machine, text + start + 1, end - start - 1);
    return HDP_OK;
}

hdp_status hdpi_spec_parse(struct hdpi_spec *out, const char *text)
{
    struct parser self = { .text = text, .out = out };
    size_t start = 0, end;
    hdp_status status;
    if (!text)
        return hdpi_fail(HDP_ERR_ARGUMENT, "devices: the text is NULL");
    while (self.length <= TEXT_MAX && text[self.length] != '\0')
        self.length++;
    if (self.length > TEXT_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "devices: the text is longer than %d bytes", TEXT_MAX);
    end = self.length;
    trim(text, &start, &end);
    if (start == end)
        return hdpi_fail(HDP_ERR_ARGUMENT, "devices: the text is empty");
    out->automatic = is_word(&self, start, end, "auto");
    if (out->automatic)
        return HDP_OK;
    if (text[start] == '@')
        return read_machine(&self, start, end);
    status = read_items(&self);
    free(self.ranges);
    return status;
}

void hdpi_spec_finish(struct hdpi_spec *spec)
{
    free(spec->asks);
    memset(spec, 0, sizeof *spec);
}

void hdpi_spec_name_devices(hdp_topology *topology)
{
    for (int32_t i = 0; i < topology->info.device_count; i++) {
        struct hdpi_device_row *row = &topology->devices[i];
        if (row->info.spec[0])
            continue;
        /* of `all` and of a prefix it is the device that was found */
        struct hdpi_ask ask = row->ask;
        ask.kind = row->info.kind;
        ask.logical_id = row->info.logical_id;
        ask.all = 0;
        hdpi_spec_write(row->info.spec, sizeof row->info.spec, &ask);
    }
}
