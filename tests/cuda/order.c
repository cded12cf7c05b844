/* Fast card first, or slot order: numbers change with CUDA_DEVICE_ORDER, what
 * was measured and what is shared out goes by UUID. */
#include "described.h"
#include "looked.h"
#include "scenario/cached.h"

enum { BATCH = 8, MEMBERS = 2 };

/* Two of the desk's cards, the slower in the earlier slot here: products in f32
 * at 10.5 and 33 TFLOP/s, so 2 rows of 8 and 6. */
static const char *const small = "NVIDIA GeForce GTX 1080 Ti";
static const char *const big = "NVIDIA GeForce RTX 4070 Ti";
static char machine[300];

static void swap(char *text, const char *one, const char *other)
{
    char *first = strstr(text, one), *second = strstr(text, other);

    assert_non_null(first);
    assert_non_null(second);
    memcpy(first, other, strlen(other));
    memcpy(second, one, strlen(one));
}

static void make_machine(void)
{
    static char text[DESCRIBED_ROOM];

    described_read(text, "desk");
    swap(text, "0000:01:00.0", "0000:05:00.0");
    (void)snprintf(machine, sizeof machine, "%s/machine.json", cached_folder);
    described_write(machine, text);
}

struct run {
    hdp_device devices[MEMBERS];
    int64_t items[MEMBERS];
};

static void note(int32_t level, const char *line, void *user)
{
    cached_note(level, line, NULL);
    if (level <= HDP_LOG_WARN)
        life_note(level, line, user);
}

static void go(struct run *run, const char *order, const char *mask)
{
    const char *library = getenv("HDP_FAKE_CUDA");
    struct looked own = { 0 };
    const hdp_context_options options = { .size = sizeof options,
                                          .log = note,
                                          .log_user = own.log,
                                          .log_level = HDP_LOG_DEBUG,
                                          .cublas_path = library,
                                          .nvml_path = library };
    const hdp_calibrate_options calibrate = { .size = sizeof calibrate,
                                              .dtype = HDP_F32,
                                              .cache = cached_path };
    /* In eight rows a launch counts more than the speed. */
    const hdp_split_options by_speed = { .size = sizeof by_speed,
                                         .rule = HDP_RULE_PROPORTIONAL };
    hdp_plan_info info = { .size = sizeof info };
    hdp_profile *profile;
    hdp_group *group;
    hdp_plan *plan;
    char words[320];

    (void)snprintf(words, sizeof words, "machine=%s", machine);
    life_variable("CUDA_VISIBLE_DEVICES", mask);
    life_variable("CUDA_DEVICE_ORDER", order);
    life_start(words);
    expect_ok(hdp_context_create(&own.context, &options));
    expect_ok(hdp_group_create_spec(&group, own.context, "cuda:0,1", NULL));
    expect_ok(hdp_calibrate(&profile, group, &calibrate));
    expect_ok(hdp_split(&plan, profile, BATCH, &by_speed));
    expect_ok(hdp_plan_get(&info, plan));
    for (int32_t m = 0; m < MEMBERS; ++m) {
        run->devices[m] = (hdp_device){ .size = sizeof run->devices[m] };
        expect_ok(hdp_group_device(&run->devices[m], group, m));
        run->items[m] = info.items[m];
    }
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    hdp_group_destroy(group);
    looked_close(&own);
}

static void expect_share(const struct run *run, int32_t m, const char *name,
                         const char *uuid, const char *pci, int64_t items)
{
    assert_string_equal(run->devices[m].name, name);
    assert_string_equal(run->devices[m].uuid, uuid);
    assert_string_equal(run->devices[m].pci, pci);
    expect_number(items, run->items[m], "rows of %s", name);
}

static void shares_follow_the_uuid(void **state)
{
    static const char slow[] = "GPU-531f137a-e361-4a84-ae59-a295fa23ed1a";
    static const char fast[] = "GPU-1c04351d-a6a1-4ad9-af74-efd6404e5c7d";
    struct run fastest, slots;

    (void)state;
    make_machine();
    go(&fastest, NULL, "1,2");
    expect_share(&fastest, 0, big, fast, "0000:04:00.0", 6);
    expect_share(&fastest, 1, small, slow, "0000:01:00.0", 2);
    expect_number(0, said.hits, "hits of an empty cache");

    go(&slots, "PCI_BUS_ID", "0,1");
    expect_share(&slots, 0, small, slow, "0000:01:00.0", 2);
    expect_share(&slots, 1, big, fast, "0000:04:00.0", 6);
    if (said.hits < 1)
        fail_msg("expected the first run's measurement to be used, got %s",
                 said.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(shares_follow_the_uuid, cached_fresh),
    };

    return cmocka_run_group_tests(tests, cached_setup, cached_teardown);
}
