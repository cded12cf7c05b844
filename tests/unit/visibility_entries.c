/* Why each entry of a mask became what it did; the users' cases; texts drawn at
 * random against strtoul(). */
#include "unit/visibility_answer.h"

/* ---- entry by entry -------------------------------------------------------- */

static const char *const verdicts[] = { "accepted",  "range",     "no number",
                                        "repeat",    "ambiguous", "after",
                                        "other kind" };

/* "accepted 0, range, after" for each entry. */
static void explain(char *out, const char *mask, const char *const *uuids,
                    int32_t count)
{
    struct hdpi_visibility seen = { 0 };
    size_t used = 0;

    assert_int_equal(hdpi_visibility_resolve(&seen, mask, NULL, uuids, count),
                     HDP_OK);
    *out = '\0';
    for (int32_t i = 0; i < seen.entry_count; i++) {
        const hdp_mask_entry *entry = &seen.entries[i];
        assert_int_equal(entry->size, sizeof *entry);
        used += (size_t)snprintf(out + used, ANSWER_ROOM - used, "%s%s",
                                 i > 0 ? ", " : "", verdicts[entry->verdict]);
        if (entry->device >= 0)
            used += (size_t)snprintf(out + used, ANSWER_ROOM - used, " %d",
                                     (int)entry->device);
    }
    hdpi_visibility_finish(&seen);
}

static void each_entry_is_explained(void **state)
{
    static const struct {
        const char *mask, *want;
    } rows[] = {
        { "", "" },
        { "1,0", "accepted 1, accepted 0" },
        { "0,5,1", "accepted 0, range, after" },
        { "0,-1,x,1", "accepted 0, range, after, after" },
        { "99999999999999999999", "range" },
        { "0,0,5,1", "accepted 0, repeat 0, range, after" },
        { "1,1,0", "accepted 1, repeat 1, accepted 0" },
        { ",", "no number, after" },
        { "0,1,", "accepted 0, accepted 1, no number" },
        { "NoDevFiles", "no number" },
        { " GPU-ee4d17bc", "no number" },
        { "gpu-ee4d17bc", "no number" },
        { "GPU-", "no number" },
        { "GPU-8a,GPU-ee", "accepted 1, accepted 0" },
        { "GPU-ffffffff,GPU-ee", "range, after" },
        { "MIG-x,0", "range, after" },
        { "GPU--", "ambiguous" },
        { "GPU-ee,0,1", "accepted 0, other kind, after" },
        { "0,GPU-8a", "accepted 0, other kind" },
        { "0,MIG-x", "accepted 0, other kind" },
        { "GPU-ee,,GPU-8a", "accepted 0, no number, after" },
        { "GPU-ee,GPU-ee4d17bc", "accepted 0, repeat 0" },
    };
    char got[ANSWER_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        explain(got, rows[i].mask, apart, 2);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("'%s': expected \"%s\", got \"%s\"", rows[i].mask,
                     rows[i].want, got);
    }
    explain(got, "GPU-ee4d17b", alike, 2);
    assert_string_equal(got, "ambiguous");
    explain(got, "GPU-ee4d17b8", alike, 2);
    assert_string_equal(got, "accepted 1");
}

static void entries_are_shown_as_one_safe_line(void **state)
{
    char mask[400];
    struct hdpi_visibility seen = { 0 };

    (void)state;
    memset(mask, '7', sizeof mask);
    memcpy(mask, "\n1\x1b[2J\xff,", 8);
    mask[sizeof mask - 1] = '\0';
    assert_int_equal(hdpi_visibility_resolve(&seen, mask, NULL, apart, 2),
                     HDP_OK);
    assert_int_equal(seen.entry_count, 2);
    assert_string_equal(seen.entries[0].text, "\\x0a1\\x1b[2J\\xff");
    assert_int_equal(seen.entries[0].verdict, HDP_MASK_ACCEPTED);
    assert_int_equal(strlen(seen.entries[1].text),
                     sizeof seen.entries[1].text - 1);
    assert_string_equal(seen.entries[1].text + sizeof seen.entries[1].text - 6,
                        "77...");
    hdpi_visibility_finish(&seen);
}

/* UUIDs that nobody's driver gives: short ones are read whole, one that begins
 * another is still itself, and what is no UUID has a number alone. */
static void invented_uuids(void **state)
{
    static const char *const odd[] = { "GPU-1", "GPU-12", "SIM-2", "",
                                       "MIG-77-a" };

    (void)state;
    expect_answer("0", "GPU-1", NULL, odd, 5);
    expect_answer("1", "GPU-12", NULL, odd, 5);
    expect_answer("cudaErrorNoDevice", "GPU-123", NULL, odd, 5);
    expect_answer("cudaErrorNoDevice", "SIM-2", NULL, odd, 5);
    expect_answer("cudaErrorNoDevice", "GPU-2", NULL, odd, 5);
    expect_answer("4", "MIG-77", NULL, odd, 5);
    expect_answer("4,1", "MIG-77a,GPU-12", NULL, odd, 5);
    expect_answer("3,2", "3,2", NULL, odd, 5);
}

/* ---- cases ----------------------------------------------------------------- */

/* The scheduler's machine. */
static void three_gpus(void **state)
{
    static const char *const uuids[] = {
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "GPU-5d1a9c60-1f0b-4b1e-9d2a-7c1c5b0a6f11",
        "GPU-b07e5512-88aa-4c3d-b6e0-0d9f3e2a7c44"
    };
    static const struct {
        const char *mask, *want;
    } rows[] = { { NULL, "0,1,2" },
                 { "", "cudaErrorNoDevice" },
                 { "-1", "cudaErrorNoDevice" },
                 { "2,1", "2,1" },
                 { "0,2,-1,1", "0,2" },
                 { "0,7,1", "0" },
                 { "GPU-8932f937", "0" },
                 { "GPU-b07e,GPU-5d1a", "2,1" } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_answer(rows[i].want, rows[i].mask, NULL, uuids, 3);
}

static void no_devices(void **state)
{
    (void)state;
    expect_answer("cudaErrorNoDevice", NULL, NULL, NULL, 0);
    expect_answer("cudaErrorNoDevice", "0", NULL, NULL, 0);
    expect_answer("cudaErrorNoDevice", "GPU-0", NULL, NULL, 0);
    expect_answer("cudaErrorInvalidDevice", NULL, "x", NULL, 0);
}

static void errors_have_one_text_each(void **state)
{
    struct hdpi_visibility seen = { 0 };

    (void)state;
    assert_int_equal(hdpi_visibility_resolve(&seen, "", NULL, apart, 2),
                     HDP_OK);
    assert_ptr_equal(hdpi_visibility_error("cudaErrorNoDevice"), seen.error);
    assert_null(hdpi_visibility_error("cudaErrorNoDevices"));
    assert_null(hdpi_visibility_error(""));
    hdpi_visibility_finish(&seen);
}

/* ---- at random ------------------------------------------------------------- */

static uint64_t drawn = 20261130;

static uint32_t draw(uint32_t below)
{
    drawn =
        drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(drawn >> 33) % below;
}

static void draw_mask(char *out, const char *letters, uint32_t room)
{
    uint32_t length = draw(room), count = (uint32_t)strlen(letters);

    for (uint32_t i = 0; i < length; i++)
        *out++ = letters[draw(count)];
    *out = '\0';
}

/* Lists of numbers the way FACTS tells them, by the C library's strtoul(). */
static void by_strtoul(char *out, const char *mask, int32_t count)
{
    uint64_t seen = 0;
    size_t used = 0;
    const char *at = mask;

    *out = '\0';
    for (;;) {
        char token[64] = "", *end;
        size_t length = strcspn(at, ",");
        memcpy(token, at, length);
        int32_t id = (int32_t)(uint32_t)strtoul(token, &end, 10);
        if (end == token || id < 0 || id >= count)
            break;
        if (seen >> id & 1) {
            strcpy(out, "cudaErrorInvalidDevice");
            return;
        }
        seen |= UINT64_C(1) << id;
        used += (size_t)snprintf(out + used, ANSWER_ROOM - used, "%s%d",
                                 used > 0 ? "," : "", (int)id);
        at += length;
        if (*at++ == '\0')
            break;
    }
    if (used == 0)
        strcpy(out, "cudaErrorNoDevice");
}

static void numbers_are_read_as_strtoul_does(void **state)
{
    static const char *const letters[] = { "0123,,", "01,+- \t\n\vx",
                                           "0123456789-,",
                                           "1844674407370955," };
    static const char *const five[] = { "", "", "", "", "" };
    char mask[64], want[ANSWER_ROOM];

    (void)state;
    for (int round = 0; round < 60000; round++) {
        int32_t count = 1 + (int32_t)draw(5);
        draw_mask(mask, letters[round % 4], 40);
        by_strtoul(want, mask, count);
        expect_answer(want, mask, NULL, five, count);
    }
}

/* Whatever the text, the answer is a list of distinct devices or an error, and
 * the entries agree with it. */
static void any_text_is_answered(void **state)
{
    char mask[200];

    (void)state;
    for (int round = 0; round < 40000; round++) {
        struct hdpi_visibility seen = { 0 };
        int32_t accepted = 0, repeated = 0;
        draw_mask(mask, "01,,,GPU-MIG-ee4d8a7\xc3\xa9\x80\x01 x", 60);
        assert_int_equal(hdpi_visibility_resolve(&seen, mask, NULL, apart, 2),
                         HDP_OK);
        for (int32_t i = 0; i < seen.entry_count; i++) {
            const hdp_mask_entry *entry = &seen.entries[i];
            int32_t named = entry->verdict == HDP_MASK_ACCEPTED ||
                            entry->verdict == HDP_MASK_REPEAT;
            assert_int_equal(entry->device >= 0, named);
            if (entry->verdict == HDP_MASK_ACCEPTED && !seen.error)
                assert_int_equal(seen.visible[accepted], entry->device);
            accepted += entry->verdict == HDP_MASK_ACCEPTED;
            repeated += entry->verdict == HDP_MASK_REPEAT;
        }
        assert_int_equal(seen.visible_count, seen.error ? 0 : accepted);
        assert_int_equal(seen.error != NULL, repeated > 0 || accepted == 0);
        hdpi_visibility_finish(&seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entry_is_explained),
        cmocka_unit_test(entries_are_shown_as_one_safe_line),
        cmocka_unit_test(invented_uuids),
        cmocka_unit_test(three_gpus),
        cmocka_unit_test(no_devices),
        cmocka_unit_test(errors_have_one_text_each),
        cmocka_unit_test(numbers_are_read_as_strtoul_does),
        cmocka_unit_test(any_text_is_answered),
    };

    return cmocka_run_group_tests_name("visibility entries", tests, NULL, NULL);
}
