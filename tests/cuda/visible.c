/* Which GPUs there are is what CUDA says: masks by number and UUID, empty, cut
 * short, at fault; a mask that changes too late; ids that are none. */
#include <unistd.h>
#include "described.h"
#include "looked.h"

enum { PATH_ROOM = 128 };

/* The desk's three GPUs under the UUIDs of the bug report. */
static char machine[PATH_ROOM], words[PATH_ROOM + 16];

static const char *const from[] = { "GPU-e2d7fd97", "GPU-1c04351d",
                                    "GPU-531f137a" };
static const char *const to[] = { "GPU-8932f937", "GPU-5d1a351d",
                                  "GPU-b07e137a" };

static int make_machine(void **state)
{
    static char text[DESCRIBED_ROOM];

    (void)state;
    described_read(text, "desk");
    for (int i = 0; i < 3; ++i)
        for (char *at = text; (at = strstr(at, from[i]));)
            memcpy(at, to[i], strlen(to[i]));
    (void)snprintf(machine, sizeof machine, "/tmp/hdp-visible-%d.json",
                   (int)getpid());
    described_write(machine, text);
    (void)snprintf(words, sizeof words, "machine=%s", machine);
    return 0;
}

static int drop_machine(void **state)
{
    (void)state;
    return unlink(machine);
}

/* ---- O01, F01, F02, F03 ----------------------------------------------------- */

struct row {
    const char *mask, *devices; /* "20": the third, then the first */
    const char *verdicts;       /* one digit an entry */
};

/* The report's own table, then what the faults add to it. */
static const struct row rows[] = {
    { NULL, "012", "" },
    { "", "", "" },
    { "-1", "", "1" },
    { "2,1", "21", "00" },
    { "0,2,-1,1", "02", "0015" },
    { "0,7,1", "0", "015" },
    { "GPU-8932f937", "0", "0" },
    { "GPU-b07e,GPU-5d1a", "21", "00" },
    { "7,8", "", "15" },
    { "1,x,0", "1", "025" },
    { "NoDevFiles", "", "2" },
    { "GPU-5D1A351D", "1", "0" },
    { "MIG-b07e", "2", "0" },
    { "GPU-5d1a,GPU-ffff,GPU-b07e", "1", "015" },
    { "GPU-5d1a,0", "1", "06" },
};

static void expect_row(const struct row *row)
{
    struct looked own;
    hdp_device device;
    size_t count = strlen(row->devices);
    const char *mask = row->mask ? row->mask : "(unset)";

    looked_start(words, row->mask);
    looked_open(&own);
    expect_number((int64_t)count, looked_count(&own), "GPUs with mask %s",
                  mask);
    for (size_t i = 0; i < count; ++i) {
        assert_true(looked_gpu(&device, &own, (int)i));
        expect_number((int64_t)i, device.logical_id, "id %zu of %s", i, mask);
        if (strncmp(device.uuid, to[row->devices[i] - '0'], strlen(to[0])) != 0)
            fail_msg("mask %s: GPU %zu is %s", mask, i, device.uuid);
    }
    expect_number(row->mask != NULL, looked_info(&own).mask_set, "a mask");
    expect_number(0, looked_info(&own).mask_changed, "changed: %s", mask);
    expect_number((int64_t)strlen(row->verdicts), looked_info(&own).mask_count,
                  "entries of %s", mask);
    for (int32_t i = 0; i < (int32_t)strlen(row->verdicts); ++i) {
        hdp_mask_entry entry = { .size = sizeof entry };
        expect_ok(hdp_topology_mask(&entry, own.topology, i));
        expect_number(row->verdicts[i] - '0', entry.verdict, "verdict %d of %s",
                      (int)i, mask);
    }
    expect_number(0, fake_contexts(-1), "contexts made by looking");
    looked_close(&own);
}

static void the_mask_is_read_as_cuda_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect_row(&rows[i]);
}

static void without_a_gpu_the_host_works(void **state)
{
    static const char *const masks[] = { "", "-1", "9,10" };
    const int32_t id = 0;
    hdp_group *group;
    struct looked own;

    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; ++i) {
        looked_start(words, masks[i]);
        looked_open(&own);
        looked_failed(hdp_group_create(&group, own.context, &id, 1, NULL),
                      HDP_ERR_NOT_FOUND,
                      "no device: cuda:0: CUDA_VISIBLE_DEVICES leaves no GPU");
        expect_ok(hdp_group_create_spec(&group, own.context, "auto", NULL));
        hdp_group_destroy(group);
        looked_close(&own);
    }
}

static void a_repeat_is_said_in_words(void **state)
{
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start(words, "0,1,0");
    looked_open(&own);
    expect_number(0, looked_count(&own), "GPUs");
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:0", NULL),
                  HDP_ERR_NOT_FOUND, "names a device twice");
    looked_close(&own);

    looked_start(words, "0");
    life_variable("CUDA_DEVICE_ORDER", "pci_bus_id");
    assert_int_equal(fake_start(words), 0);
    looked_open(&own);
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:0", NULL),
                  HDP_ERR_NOT_FOUND, "neither FASTEST_FIRST nor PCI_BUS_ID");
    looked_close(&own);
}

/* ---- O02, F04 --------------------------------------------------------------- */

static void expect_member(const struct looked *own, int32_t id,
                          const char *uuid)
{
    hdp_device device = { .size = sizeof device };
    hdp_group *group;

    expect_ok(hdp_group_create(&group, own->context, &id, 1, NULL));
    expect_ok(hdp_group_device(&device, group, 0));
    assert_string_equal(device.uuid, uuid);
    hdp_group_destroy(group);
}

static void a_late_mask_is_reported_and_not_obeyed(void **state)
{
    const int32_t six = 6;
    struct looked own, second;
    hdp_device physical;
    hdp_group *group;

    (void)state;
    looked_start("machine=twin copies=4", NULL);
    looked_open(&own);
    expect_number(8, looked_count(&own), "GPUs unmasked");
    assert_true(looked_gpu(&physical, &own, 6));
    looked_close(&own);

    looked_start("machine=twin copies=4", "0,1,2,3,4,6");
    looked_open(&own);
    expect_number(6, looked_count(&own), "GPUs");
    expect_number(0, looked_info(&own).mask_changed, "changed");
    expect_member(&own, 5, physical.uuid);
    looked_failed(hdp_group_create(&group, own.context, &six, 1, NULL),
                  HDP_ERR_NOT_FOUND, "logical ids 0 to 5");

    life_variable("CUDA_VISIBLE_DEVICES", "7");
    looked_again(&own);
    expect_number(6, looked_count(&own), "GPUs after the change");
    expect_number(1, looked_info(&own).mask_changed, "changed");
    expect_number(6, looked_info(&own).mask_count, "entries of the old mask");
    expect_number(1, looked_said(&own, "changed too late"), "warnings");
    expect_member(&own, 5, physical.uuid);

    /* a context that never saw the old one notices by what is visible */
    looked_open(&second);
    expect_number(6, looked_count(&second), "GPUs of a new context");
    expect_number(1, looked_info(&second).mask_changed, "changed");
    looked_close(&second);
    looked_close(&own);
}

/* Programs set the mask before CUDA starts; nothing is wrong with that. */
static void an_early_mask_is_no_change(void **state)
{
    struct looked own;

    (void)state;
    looked_start("machine=twin", "1");
    looked_open(&own);
    expect_number(1, looked_count(&own), "GPUs");
    expect_number(0, looked_info(&own).mask_changed, "changed");
    assert_string_equal(own.log, "");
    looked_close(&own);
}

/* ---- O04, F05 --------------------------------------------------------------- */

static void ids_that_are_none_are_refused(void **state)
{
    static const struct {
        int32_t ids[3];
        int32_t count;
        hdp_status status;
        const char *text;
        int asks_cuda;
    } cases[] = {
        { { 0, 0 }, 2, HDP_ERR_ARGUMENT, "ids[1] repeats ids[0]", 0 },
        { { 0, 1, 0 }, 3, HDP_ERR_ARGUMENT, "ids[2] repeats ids[0]", 0 },
        { { -1 }, 1, HDP_ERR_ARGUMENT, "ids[0] is -1", 0 },
        { { 0 }, 0, HDP_ERR_ARGUMENT, "empty", 0 },
        { { 4 }, 1, HDP_ERR_NOT_FOUND, "cuda:4: there are the logical ids", 1 },
    };
    static const int32_t many[4097];
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start("machine=twin copies=2", NULL);
    looked_context(&own);
    looked_failed(hdp_group_create(&group, own.context, many,
                                   sizeof many / sizeof *many, NULL),
                  HDP_ERR_ARGUMENT, "the list of ids is longer than 4096");
    expect_number(0, fake_calls(NULL), "calls of CUDA with so many ids");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int64_t before = fake_calls(NULL);
        looked_failed(hdp_group_create(&group, own.context, cases[i].ids,
                                       cases[i].count, NULL),
                      cases[i].status, cases[i].text);
        assert_null(group);
        if (!cases[i].asks_cuda)
            expect_number(before, fake_calls(NULL), "calls of CUDA, case %zu",
                          i);
    }
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);
}

static void a_spec_says_where_it_is_wrong(void **state)
{
    static const struct {
        const char *spec;
        hdp_status status;
        const char *text;
    } cases[] = {
        { "0,9", HDP_ERR_NOT_FOUND, "logical ids 0 to 2 (at 3)" },
        { "0;cuda:GPU-8932f937", HDP_ERR_ARGUMENT, "are the same GPU" },
        { "cuda:GPU-77", HDP_ERR_NOT_FOUND, "none of the 3 visible GPUs" },
        { "cuda:0/sms=100", HDP_ERR_ARGUMENT, "the device has 82 SMs" },
        { "cuda:0/sms=48+cuda:0/sms=40", HDP_ERR_ARGUMENT, "take 88 SMs" },
        { "cuda:0/sms=48+host:0+cuda:0", HDP_ERR_ARGUMENT, "" },
    };
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start(words, NULL);
    looked_context(&own);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        looked_failed(
            hdp_group_create_spec(&group, own.context, cases[i].spec, NULL),
            cases[i].status, cases[i].text);
        assert_null(group);
    }
    expect_number(0, fake_contexts(-1), "contexts");
    looked_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mask_is_read_as_cuda_reads_it),
        cmocka_unit_test(without_a_gpu_the_host_works),
        cmocka_unit_test(a_repeat_is_said_in_words),
        cmocka_unit_test(a_late_mask_is_reported_and_not_obeyed),
        cmocka_unit_test(an_early_mask_is_no_change),
        cmocka_unit_test(ids_that_are_none_are_refused),
        cmocka_unit_test(a_spec_says_where_it_is_wrong),
    };

    return cmocka_run_group_tests(tests, make_machine, drop_machine);
}
