/* CUDA_VISIBLE_DEVICES. An input is the devices' UUIDs, a line each, an empty
 * line, the line of CUDA_DEVICE_ORDER ("-": not set) and then the mask ("\n"
 * and all; "-" alone: not set). Every entry must be explained, the same each
 * time, and the answer must follow from the explanations. */
#include <stdlib.h>
#include <string.h>
#include "core/visibility.h"
#include "fuzz/fuzz.h"

enum { DEVICES_MAX = 64 };

struct question {
    const char *uuids[DEVICES_MAX];
    int32_t count;
    const char *order, *mask;
};

/* The line at *at, cut off there; the last one goes to the end. */
static char *take_line(char **at)
{
    char *line = *at;
    size_t length = strcspn(line, "\n");

    *at = line + length + (line[length] == '\n');
    line[length] = '\0';
    return line;
}

static void ask(struct question *out, char *text)
{
    char *line;

    out->count = 0;
    while (*(line = take_line(&text)))
        if (out->count < DEVICES_MAX)
            out->uuids[out->count++] = strcmp(line, "-") ? line : "";
    line = take_line(&text);
    out->order = strcmp(line, "-") ? line : NULL;
    out->mask = strcmp(text, "-") ? text : NULL;
}

static int32_t entries_in(const char *mask)
{
    int32_t count = *mask != '\0';

    for (; *mask; mask++)
        count += *mask == ',';
    return count;
}

/* Which verdicts can stand where: one cuts, and all behind it are behind it. */
static void check_entries(const struct hdpi_visibility *got,
                          const struct question *question)
{
    int32_t accepted = 0;
    int cut = 0, repeated = 0;

    for (int32_t i = 0; i < got->entry_count; i++) {
        const hdp_mask_entry *entry = &got->entries[i];
        int named = entry->verdict == HDP_MASK_ACCEPTED ||
                    entry->verdict == HDP_MASK_REPEAT;
        FUZZ_CHECK(entry->size == sizeof *entry, "entry %d has no size",
                   (int)i);
        FUZZ_CHECK(fuzz_is_clean(entry->text), "entry %d: %s", (int)i,
                   entry->text);
        FUZZ_CHECK(cut == (entry->verdict == HDP_MASK_AFTER_CUT),
                   "entry %d: verdict %d %s the cut", (int)i,
                   (int)entry->verdict, cut ? "behind" : "before");
        FUZZ_CHECK(named ? entry->device >= 0 && entry->device < question->count
                         : entry->device == -1,
                   "entry %d: verdict %d of device %d", (int)i,
                   (int)entry->verdict, (int)entry->device);
        int before = 0;
        for (int32_t j = 0; named && j < i; j++)
            before |= got->entries[j].device == entry->device;
        FUZZ_CHECK(!named || before == (entry->verdict == HDP_MASK_REPEAT),
                   "entry %d: verdict %d, named before: %d", (int)i,
                   (int)entry->verdict, before);
        if (entry->verdict == HDP_MASK_ACCEPTED && !got->error)
            FUZZ_CHECK(accepted < got->visible_count &&
                           got->visible[accepted] == entry->device,
                       "entry %d is not visible at %d", (int)i, (int)accepted);
        accepted += entry->verdict == HDP_MASK_ACCEPTED;
        repeated |= entry->verdict == HDP_MASK_REPEAT;
        cut |= !named;
    }
    FUZZ_CHECK(got->error || accepted == got->visible_count,
               "%d accepted, %d visible", (int)accepted,
               (int)got->visible_count);
    FUZZ_CHECK(!repeated || (got->error &&
                             strcmp(got->error, "cudaErrorInvalidDevice") == 0),
               "a repeat without its error");
}

static void check(const struct hdpi_visibility *got,
                  const struct question *question)
{
    const char *mask = question->mask;
    int set = mask && strlen(mask) <= HDPI_MASK_BYTES_MAX;

    FUZZ_CHECK(got->mask_set == set, "mask_set is %d", (int)got->mask_set);
    FUZZ_CHECK(got->entry_count == (set ? entries_in(mask) : 0),
               "%d entries are explained", (int)got->entry_count);
    FUZZ_CHECK(!got->error || got->visible_count == 0,
               "%d devices visible after %s", (int)got->visible_count,
               got->error);
    FUZZ_CHECK(got->error || got->visible_count > 0,
               "nothing is visible, without an error");
    FUZZ_CHECK(!got->error || hdpi_visibility_error(got->error) == got->error,
               "an unknown error");
    FUZZ_CHECK(hdpi_visibility_order(question->order) != HDPI_ORDER_UNKNOWN ||
                   got->error,
               "an unknown order goes by");
    for (int32_t i = 0; i < got->visible_count; i++) {
        FUZZ_CHECK(got->visible[i] >= 0 && got->visible[i] < question->count,
                   "device %d of %d", (int)got->visible[i],
                   (int)question->count);
        FUZZ_CHECK(set || got->visible[i] == i, "without a mask %d is %d",
                   (int)i, (int)got->visible[i]);
        for (int32_t j = 0; j < i; j++)
            FUZZ_CHECK(got->visible[j] != got->visible[i],
                       "device %d is visible twice", (int)got->visible[i]);
    }
    if (set)
        check_entries(got, question);
}

static void check_same(const struct hdpi_visibility *a,
                       const struct hdpi_visibility *b)
{
    FUZZ_CHECK(a->entry_count == b->entry_count &&
                   a->visible_count == b->visible_count &&
                   a->error == b->error && a->mask_set == b->mask_set,
               "another answer the second time");
    for (int32_t i = 0; i < a->entry_count; i++)
        FUZZ_CHECK(a->entries[i].verdict == b->entries[i].verdict &&
                       a->entries[i].device == b->entries[i].device &&
                       strcmp(a->entries[i].text, b->entries[i].text) == 0,
                   "entry %d: another explanation", (int)i);
    for (int32_t i = 0; i < a->visible_count; i++)
        FUZZ_CHECK(a->visible[i] == b->visible[i], "another device at %d",
                   (int)i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdpi_visibility first = { 0 }, second = { 0 };
    struct question question;
    char *text = fuzz_copy(data, size, 1);

    ask(&question, text);
    FUZZ_CHECK(hdpi_visibility_resolve(&first, question.mask, question.order,
                                       question.uuids,
                                       question.count) == HDP_OK,
               "not resolved: %s", hdp_last_error());
    check(&first, &question);
    FUZZ_CHECK(hdpi_visibility_resolve(&second, question.mask, question.order,
                                       question.uuids,
                                       question.count) == HDP_OK,
               "not resolved again: %s", hdp_last_error());
    check_same(&first, &second);
    hdpi_visibility_finish(&first);
    hdpi_visibility_finish(&second);
    free(text);
    return 0;
}
