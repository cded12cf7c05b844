/* The driver reads from left to right. A number is what strtoul() makes of the
 * entry, a UUID is compared digit by digit; the first entry that is neither,
 * or of the other kind, or names no device, ends the list. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "core/visibility.h"

enum { UUID_DIGITS = 32, KIND_LENGTH = 4 };

static const char no_device[] = "cudaErrorNoDevice";
static const char invalid_device[] = "cudaErrorInvalidDevice";

struct entry {
    const char *text;
    size_t length;
};

struct reader {
    struct hdpi_visibility *out;
    const char *const *uuids;
    int32_t count;
    int32_t by_uuid; /* what the first entry was; -1: nothing read yet */
    int32_t ended;
    int32_t repeated;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What strtoul() skips, in any locale. */
static int is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ---- numbers -------------------------------------------------------------- */

/* strtoul() in base 10, kept in 32 bits: what does not fit into 64 is -1. */
static int read_number(uint32_t *out, const struct entry *entry)
{
    const char *at = entry->text, *end = at + entry->length;
    uint64_t value = 0;
    int negative, too_large = 0;
    while (at < end && is_blank(*at))
        at++;
    negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return 0;
    for (; at < end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        too_large |= value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (too_large)
        value = UINT64_MAX;
    else if (negative)
        value = 0 - value;
    *out = (uint32_t)(value & UINT32_MAX);
    return 1;
}

/* ---- UUIDs ---------------------------------------------------------------- */

/* GPU- and MIG- must be capitals and something must follow, even if it is only
 * one more dash. Which of the two stands there makes no difference. */
static int is_uuid(const struct entry *entry)
{
    return entry->length > KIND_LENGTH &&
           (memcmp(entry->text, "GPU-", KIND_LENGTH) == 0 ||
            memcmp(entry->text, "MIG-", KIND_LENGTH) == 0);
}

enum match { DIFFERS, PREFIX, WHOLE };

/* Dashes count nowhere. Behind the last digit of a UUID nothing is read; one
 * that a simulated device was given may be shorter and is then read whole. */
static enum match compare(const struct entry *entry, const char *uuid)
{
    const char *at = entry->text + KIND_LENGTH, *digit = uuid + KIND_LENGTH;
    const char *end = entry->text + entry->length;
    int digits = 0;
    for (;; digits++, at++, digit++) {
        while (at < end && *at == '-')
            at++;
        while (*digit == '-')
            digit++;
        if (*digit == '\0')
            return digits >= UUID_DIGITS || at == end ? WHOLE : DIFFERS;
        if (at == end)
            return PREFIX;
        if (lower(*at) != lower(*digit))
            return DIFFERS;
    }
}

/* How many devices the entry can mean; *out is one of them. */
static int32_t find_uuid(int32_t *out, const struct reader *self,
                         const struct entry *entry)
{
    int32_t found = 0;
    for (int32_t i = 0; i < self->count; i++) {
        const struct entry uuid = { self->uuids[i], strlen(self->uuids[i]) };
        enum match match =
            is_uuid(&uuid) ? compare(entry, self->uuids[i]) : DIFFERS;
        if (match == DIFFERS)
            continue;
        *out = i;
        if (match == WHOLE)
            return 1;
        found++;
    }
    return found;
}

/* ---- entries -------------------------------------------------------------- */

static int is_visible(const struct hdpi_visibility *out, int32_t device)
{
    for (int32_t i = 0; i < out->visible_count; i++)
        if (out->visible[i] == device)
            return 1;
    return 0;
}

/* The verdict; *device is what the entry names, or -1. */
static int32_t judge(int32_t *device, struct reader *self,
                     const struct entry *entry)
{
    uint32_t number = 0;
    int32_t found = -1, by_uuid = is_uuid(entry);
    *device = -1;
    if (self->ended)
        return HDP_MASK_AFTER_CUT;
    if (!by_uuid && !read_number(&number, entry))
        return HDP_MASK_NOT_A_NUMBER;
    if (self->by_uuid >= 0 && self->by_uuid != by_uuid)
        return HDP_MASK_OTHER_KIND;
    self->by_uuid = by_uuid;
    if (by_uuid) {
        int32_t meant = find_uuid(&found, self, entry);
        if (meant != 1)
            return meant == 0 ? HDP_MASK_RANGE : HDP_MASK_AMBIGUOUS;
    } else {
        if (number >= (uint32_t)self->count)
            return HDP_MASK_RANGE;
        found = (int32_t)number;
    }
    *device = found;
    return is_visible(self->out, found) ? HDP_MASK_REPEAT : HDP_MASK_ACCEPTED;
}

static hdp_status read_entry(struct reader *self, const struct entry *entry)
{
    struct hdpi_visibility *out = self->out;
    HDPI_RETURN_IF(hdpi_grow(&out->entries, &out->entry_capacity,
                             (size_t)out->entry_count + 1, sizeof *out->entries,
                             "the entries of a mask"));
    hdp_mask_entry *row = &out->entries[out->entry_count++];
    row->size = sizeof *row;
    row->verdict = judge(&row->device, self, entry);
    hdpi_text_escape(row->text, sizeof row->text, entry->text, entry->length);
    if (row->verdict == HDP_MASK_ACCEPTED)
        out->visible[out->visible_count++] = row->device;
    else if (row->verdict == HDP_MASK_REPEAT)
        self->repeated = 1;
    else
        self->ended = 1;
    return HDP_OK;
}

/* An empty mask has no entry, one of a comma has two. */
static hdp_status read_mask(struct reader *self, const char *mask)
{
    if (mask[0] == '\0')
        return HDP_OK;
    for (const char *at = mask;;) {
        const struct entry entry = { at, strcspn(at, ",") };
        HDPI_RETURN_IF(read_entry(self, &entry));
        at += entry.length;
        if (*at++ == '\0')
            return HDP_OK;
    }
}

/* ---- the whole ------------------------------------------------------------ */

int32_t hdpi_visibility_order(const char *order)
{
    if (!order || strcmp(order, "FASTEST_FIRST") == 0)
        return HDPI_ORDER_FASTEST;
    return strcmp(order, "PCI_BUS_ID") == 0 ? HDPI_ORDER_PCI
                                            : HDPI_ORDER_UNKNOWN;
}

hdp_status hdpi_visibility_resolve(struct hdpi_visibility *out,
                                   const char *mask, const char *order,
                                   const char *const *uuids, int32_t count)
{
    struct reader self = {
        .out = out, .uuids = uuids, .count = count, .by_uuid = -1
    };
    HDPI_RETURN_IF(hdpi_grow(&out->visible, &out->visible_capacity,
                             (size_t)count, sizeof *out->visible,
                             "visible devices"));
    out->mask_set = mask && strlen(mask) <= HDPI_MASK_BYTES_MAX;
    if (out->mask_set)
        HDPI_RETURN_IF(read_mask(&self, mask));
    for (int32_t i = 0; !out->mask_set && i < count; i++)
        out->visible[out->visible_count++] = i;
    if (self.repeated || hdpi_visibility_order(order) == HDPI_ORDER_UNKNOWN)
        out->error = invalid_device;
    else if (out->visible_count == 0)
        out->error = no_device;
    if (out->error)
        out->visible_count = 0;
    return HDP_OK;
}

void hdpi_visibility_finish(struct hdpi_visibility *visibility)
{
    free(visibility->entries);
    free(visibility->visible);
    memset(visibility, 0, sizeof *visibility);
}

const char *hdpi_visibility_error(const char *name)
{
    return strcmp(name, no_device) == 0        ? no_device
           : strcmp(name, invalid_device) == 0 ? invalid_device
                                               : NULL;
}
