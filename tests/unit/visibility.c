/* The mask's reading against what the driver itself made of 72 masks and of
 * some more, and what the order may be. */
#include <ctype.h>
#include "unit/visibility_answer.h"

enum { ROWS = 72 };

/* ---- the driver's table ---------------------------------------------------- */

static size_t common_length(const char *const *uuids)
{
    size_t n = 0;

    while (uuids[0][n] && uuids[0][n] == uuids[1][n])
        n++;
    return n;
}

/* {A}, {A:5}, {A:hex}, {A:upper}, {A:hexupper}, {B}, {common}. */
static void put_word(char *out, const char *word, const char *const *uuids)
{
    const char *uuid = uuids[word[0] == 'B'];
    const char *how = word[1] == ':' ? word + 2 : "";
    size_t length = strlen(uuid);

    if (strcmp(word, "common") == 0)
        length = common_length(uuids), how = "";
    if (isdigit((unsigned char)*how))
        length = (size_t)strtoul(how, NULL, 10);
    if (strncmp(how, "hex", 3) == 0)
        uuid += 4, length -= 4;
    memcpy(out, uuid, length);
    out[length] = '\0';
    if (strstr(how, "upper"))
        for (; *out; out++)
            *out = (char)toupper((unsigned char)*out);
}

/* The C-escaped text between the first quote and the last. */
static void put_mask(char *out, const char *field, const char *const *uuids)
{
    const char *at = field + 1, *end = field + strlen(field) - 1;

    assert_int_equal(*field, '"');
    assert_int_equal(*end, '"');
    for (; at < end; at++) {
        char word[32] = "";
        if (*at == '{') {
            assert_int_equal(sscanf(at, "{%31[^}]}", word), 1);
            put_word(out, word, uuids);
            out += strlen(out);
            at += strlen(word) + 1;
        } else if (*at == '\\') {
            at++;
            assert_true(*at == 'n' || *at == 't');
            *out++ = *at == 'n' ? '\n' : '\t';
        } else {
            *out++ = *at;
        }
    }
    *out = '\0';
}

static int check_table(const char *const *uuids)
{
    char path[1024], line[1024], mask[MASK_ROOM];
    const char *root = getenv("HDP_SOURCE_DIR");
    int rows = 0;

    snprintf(path, sizeof path, "%s/tests/data/visibility.tsv",
             root ? root : ".");
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("no table at %s", path);
    while (file && fgets(line, sizeof line, file)) {
        char *want = strchr(line, '\t');
        if (line[0] == '#' || strncmp(line, "input\t", 6) == 0)
            continue;
        assert_non_null(want);
        *want++ = '\0';
        want[strcspn(want, "\n")] = '\0';
        /* five characters tell the driver's two apart, not any two */
        if (strcmp(line, "\"{A:5}\"") == 0 && common_length(uuids) >= 5)
            strcpy(want, "cudaErrorNoDevice");
        if (line[0] == '"')
            put_mask(mask, line, uuids);
        expect_answer(want, line[0] == '"' ? mask : NULL, NULL, uuids, 2);
        rows++;
    }
    fclose(file);
    return rows;
}

static void the_drivers_table_holds(void **state)
{
    (void)state;
    assert_int_equal(check_table(apart), ROWS);
    assert_int_equal(check_table(alike), ROWS);
}

/* Asked of driver 580.159 with two GPUs, and with one, like the table. */
static void what_the_driver_said_besides(void **state)
{
    static const char none[] = "cudaErrorNoDevice";
    static const char invalid[] = "cudaErrorInvalidDevice";
    static const struct {
        const char *mask, *want;
    } rows[] = {
        { "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60x", "0" },
        { "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f600", "0" },
        { "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60-0", "0" },
        { "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60/0/0", "0" },
        { "GPU-ee4d17bc95d6c2a10b573d1f2ac48f60", "0" },
        { "GPU-ee4d-17bc-95d6-c2a1-0b57-3d1f2ac48f60", "0" },
        { "GPU-----ee4d17bc", "0" },
        { "GPU-ee4d17bc-", "0" },
        { "GPU-EE4d17bc", "0" },
        { "GPU-ee4d17bc-0", none },
        { "GPU-ee4d17bc ", none },
        { "GPU-ee4d17bc;", none },
        { "GPU-ee4d17bcx", none },
        { "GPU- ee4d17bc", none },
        { "GPU-x", none },
        { "GPU--", none },
        { "MIG-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60", "0" },
        { "MIG-ee4d17bc", "0" },
        { "MIG-GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60/0/0", none },
        { "mig-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60", none },
        { "GPU-ee4d17bc,MIG-ee4d17bc", invalid },
        { "GPU-ee4d17bc,GPU-ee4d17bc-95d6,GPU-0", invalid },
        { "GPU-ee4d17bc,x,GPU-ee4d17bc", "0" },
        { "-0", "0" },
        { "+-0", none },
        { "+ 0", none },
        { "\v0", "0" },
        { "\f0", "0" },
        { "\r0", "0" },
        { "\xa0"
          "0",
          none },
        { "0,\xa0"
          "1",
          "0" },
        { "0\x01"
          "1",
          "0" },
        { "-4294967296", "0" },
        { "-4294967295", "1" },
        { "-18446744073709551615", "1" },
        { "18446744073709551615", none },
        { "8589934593", "1" },
        { "0,0,5", invalid },
        { "0,0,x", invalid },
        { "0,0,GPU-ee4d17bc", invalid },
        { "0,5,0", "0" },
        { "5,0,0", none },
        { ",0", none },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_answer(rows[i].want, rows[i].mask, NULL, apart, 2);
    /* a single GPU: GPU- is no prefix, but one dash more is */
    expect_answer(none, "GPU-", NULL, apart, 1);
    expect_answer(none, "MIG-", NULL, apart, 1);
    expect_answer("0", "GPU--", NULL, apart, 1);
    expect_answer("0", "GPU-e", NULL, apart, 1);
}

static void a_mask_past_the_drivers_room_is_none(void **state)
{
    char mask[MASK_ROOM];
    struct hdpi_visibility seen = { 0 };

    (void)state;
    memset(mask, 'z', sizeof mask);
    mask[0] = '1';
    mask[HDPI_MASK_BYTES_MAX] = '\0';
    expect_answer("1", mask, NULL, apart, 2);
    mask[HDPI_MASK_BYTES_MAX] = 'z';
    mask[HDPI_MASK_BYTES_MAX + 1] = '\0';
    expect_answer("0,1", mask, NULL, apart, 2);
    assert_int_equal(hdpi_visibility_resolve(&seen, mask, NULL, apart, 2),
                     HDP_OK);
    assert_int_equal(seen.mask_set, 0);
    assert_int_equal(seen.entry_count, 0);
    hdpi_visibility_finish(&seen);
    /* as many entries as there is room for */
    memset(mask, ',', HDPI_MASK_BYTES_MAX);
    mask[HDPI_MASK_BYTES_MAX] = '\0';
    assert_int_equal(hdpi_visibility_resolve(&seen, mask, NULL, apart, 2),
                     HDP_OK);
    assert_int_equal(seen.entry_count, HDPI_MASK_BYTES_MAX + 1);
    hdpi_visibility_finish(&seen);
}

/* ---- order ----------------------------------------------------------------- */

static void the_order_is_written_exactly_so(void **state)
{
    static const char *const wrong[] = {
        "", "pci_bus_id", "PCI_BUS_ID ", " PCI_BUS_ID", "FASTEST", "0"
    };

    (void)state;
    assert_int_equal(hdpi_visibility_order(NULL), HDPI_ORDER_FASTEST);
    assert_int_equal(hdpi_visibility_order("FASTEST_FIRST"),
                     HDPI_ORDER_FASTEST);
    assert_int_equal(hdpi_visibility_order("PCI_BUS_ID"), HDPI_ORDER_PCI);
    expect_answer("1,0", "1,0", "PCI_BUS_ID", apart, 2);
    expect_answer("0,1", NULL, "FASTEST_FIRST", apart, 2);
    expect_answer("cudaErrorNoDevice", "-1", "PCI_BUS_ID", apart, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_answer("cudaErrorInvalidDevice", NULL, wrong[i], apart, 2);
        expect_answer("cudaErrorInvalidDevice", "0", wrong[i], apart, 2);
        expect_answer("cudaErrorInvalidDevice", "-1", wrong[i], apart, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_drivers_table_holds),
        cmocka_unit_test(what_the_driver_said_besides),
        cmocka_unit_test(a_mask_past_the_drivers_room_is_none),
        cmocka_unit_test(the_order_is_written_exactly_so),
    };

    return cmocka_run_group_tests_name("visibility", tests, NULL, NULL);
}
