/* A cache and GPUs: what was measured on one card is never used for another,
 * whatever its index (cases O21, O03; FAULTS F46), and a card keeps its figures
 * when the order or its slot changes. */
#include <unistd.h>
#include "described.h"
#include "measured.h"

enum { GIVEN = HDP_ENDED_GIVEN };

/* Tera-FLOP a second of the case's cards, and a second pair's. */
#define SPEED_A 11.0921
#define SPEED_B 7.9767
#define SPEED_C 2.0

static char folder[] = "/tmp/hdp-cards-XXXXXX";
static char machine_path[64], cache_path[64], words[128];

struct card {
    const char *uuid, *pci;
    double speed;
    int sms; /* by which CUDA orders them, fastest first */
};

static const struct card card_a = { "GPU-aaaaaaaa-0000-4000-8000-000000000001",
                                    "0000:01:00.0", SPEED_A, 80 };
static const struct card card_b = { "GPU-bbbbbbbb-0000-4000-8000-000000000002",
                                    "0000:02:00.0", SPEED_B, 60 };
static const struct card card_c = { "GPU-cccccccc-0000-4000-8000-000000000003",
                                    "0000:02:00.0", SPEED_C, 60 };

/* ---- machines ------------------------------------------------------------- */

static json_t *device_of(const struct card *card, int id)
{
    char spec[16];

    (void)snprintf(spec, sizeof spec, "cuda:%d", id);
    return json_pack("{s:s,s:s,s:i,s:s,s:s,s:s,s:i,s:i,s:i,s:I,s:I,s:b,s:b,"
                     "s:[s,s],s:[s]}",
                     "spec", spec, "backend", "cuda", "logical_id", id, "name",
                     "Card", "uuid", card->uuid, "pci", card->pci, "sms",
                     card->sms, "compute_major", 8, "compute_minor", 6,
                     "memory_bytes", (json_int_t)8 << 30, "free_bytes",
                     (json_int_t)8 << 30, "runnable", 1, "display", 0,
                     "native_dtypes", "f32", "f16", "slow_dtypes", "f64");
}

static json_t *speed_of(const struct card *card)
{
    return json_pack("{s:s,s:s,s:b,s:f,s:f,s:f}", "key", card->uuid,
                     "provenance", "model", "simulated", 1, "rate_flops",
                     card->speed * 1e12, "fixed_ns", 0.0, "item_ns",
                     1e9 / card->speed / 1e3);
}

static void put_card(json_t *devices, json_t *members, const struct card *card)
{
    (void)json_array_append_new(devices,
                                device_of(card, (int)json_array_size(devices)));
    (void)json_array_append_new(members, speed_of(card));
}

static void write_machine(const struct card *first, const struct card *second)
{
    json_t *devices = json_array(), *members = json_array(), *root;

    put_card(devices, members, first);
    put_card(devices, members, second);
    root = json_pack(
        "{s:s,s:i,s:s,s:s,s:{s:s,s:i,s:o},s:[{s:s,s:i,s:s,s:s,s:s,s:o,s:s}]}",
        "schema", "hdp.machine", "schema_version", 1, "name", "cards", "text",
        "two cards", "topology", "schema", "hdp.topology", "schema_version", 1,
        "devices", devices, "profiles", "schema", "hdp.profile",
        "schema_version", 1, "probe", "gemm", "dtype", "f32", "compute", "f32",
        "members", members, "ended_by", "given");
    described_dump(machine_path, root);
}

/* A process of its own, as far as CUDA goes. */
static hdp_profile *calibrate(struct measured *own, const char *mask,
                              const char *order, const char *more,
                              const char *spec)
{
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .cache = cache_path };
    hdp_profile *profile = NULL;

    life_variable("CUDA_VISIBLE_DEVICES", mask);
    life_variable("CUDA_DEVICE_ORDER", order);
    (void)snprintf(words, sizeof words, "machine=%s %s", machine_path, more);
    measured_open(own, words, spec);
    expect_ok(hdp_calibrate(&profile, own->group, &options));
    return profile;
}

static int32_t ended_by(const hdp_profile *profile)
{
    hdp_profile_info info = { .size = sizeof info };

    expect_ok(hdp_profile_get(&info, profile));
    return info.ended_by;
}

static void expect_single(const char *mask, const char *more, double speed,
                          int hit, const char *what)
{
    struct measured own;
    hdp_profile *profile = calibrate(&own, mask, NULL, more, "cuda:0");

    expect_near(speed * 1e12, measured_figure(profile, 0, "rate_flops"), 0.01,
                what);
    if ((ended_by(profile) == GIVEN) != hit)
        fail_msg("%s: expected a %s of the cache", what, hit ? "hit" : "miss");
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* Both cards: shares of a batch, by uuid. */
static void expect_shares(const char *order, int64_t total, const char *uuid,
                          int64_t share, int hit)
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_plan *plan = NULL;
    struct measured own;
    hdp_profile *profile = calibrate(&own, NULL, order, "", "cuda:0,1");
    int seen = 0;

    expect_ok(hdp_split(&plan, profile, total, NULL));
    expect_ok(hdp_plan_get(&info, plan));
    for (int m = 0; m < 2; ++m) {
        hdp_device device = { .size = sizeof device };
        expect_ok(hdp_group_device(&device, own.group, m));
        if (strcmp(device.uuid, uuid) != 0)
            continue;
        seen = 1;
        expect_number(share, info.items[m], "rows of %s", uuid);
    }
    assert_true(seen);
    expect_number(hit, ended_by(profile) == GIVEN, "hits");
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

/* ---- the cases ------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(machine_path, sizeof machine_path, "%s/machine.json",
                   folder);
    (void)snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    (void)unlink(cache_path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    life_variable("CUDA_VISIBLE_DEVICES", NULL);
    life_variable("CUDA_DEVICE_ORDER", NULL);
    (void)snprintf(words, sizeof words, "rm -r %s", folder);
    return system(words);
}

static void an_index_is_no_card(void **state)
{
    struct card moved = card_a;

    (void)state;
    write_machine(&card_a, &card_b);
    expect_single("0", "", SPEED_A, 0, "A, first seen");
    expect_single("1", "", SPEED_B, 0, "B as number 0");
    expect_single("0", "", SPEED_A, 1, "A again");
    expect_single("1", "", SPEED_B, 1, "B again");
    expect_shares(NULL, 100, card_a.uuid, 58, 1);

    write_machine(&card_a, &card_c);
    expect_single("1", "", SPEED_C, 0, "C in the slot of B");

    moved.pci = "0000:41:00.0";
    write_machine(&card_b, &moved);
    expect_single("GPU-aaaaaaaa", "", SPEED_A, 1, "A in another slot");
}

static void another_driver_measures_again(void **state)
{
    (void)state;
    write_machine(&card_a, &card_b);
    expect_single("0", "driver=13000", SPEED_A, 0, "A");
    expect_single("0", "driver=13000", SPEED_A, 1, "A, nothing new");
    expect_single("0", "driver=13010", SPEED_A, 0, "A with another driver");
}

/* Slot 1 holds the small card, slot 2 the big one; CUDA begins with the fast
 * one, the management tools with the slot. */
static void two_orders_are_one_machine(void **state)
{
    const struct card small = { "GPU-55555555-0000-4000-8000-000000000005",
                                "0000:01:00.0", 4, 20 };
    const struct card big = { "GPU-bbbbbbbb-0000-4000-8000-00000000000b",
                              "0000:02:00.0", 12, 80 };

    (void)state;
    write_machine(&small, &big);
    expect_shares(NULL, 8, big.uuid, 6, 0);
    expect_shares("PCI_BUS_ID", 8, big.uuid, 6, 1);
    expect_shares("PCI_BUS_ID", 8, small.uuid, 2, 1);
    expect_shares("FASTEST_FIRST", 8, small.uuid, 2, 1);
}

/* F45: whatever became of the file, the figures are the card's. */
static void a_spoilt_file_is_a_miss(void **state)
{
    char text[8192];
    size_t length;
    FILE *file;

    (void)state;
    write_machine(&card_a, &card_b);
    expect_single("0", "", SPEED_A, 0, "A");
    file = fopen(cache_path, "r+");
    assert_non_null(file);
    length = fread(text, 1, sizeof text, file);
    assert_true(length > 100 && length < sizeof text);
    assert_int_equal(fseek(file, (long)length / 2, SEEK_SET), 0);
    assert_int_not_equal(fputc(text[length / 2] ^ 4, file), EOF);
    assert_int_equal(fclose(file), 0);
    expect_single("0", "", SPEED_A, 0, "A, a bit flipped");
    expect_single("0", "", SPEED_A, 1, "A, written anew");
    assert_int_equal(truncate(cache_path, (long)length / 3), 0);
    expect_single("0", "", SPEED_A, 0, "A, cut short");
}

/* Sums kept otherwise, and widths of products, are other questions. */
static void sums_are_part_of_the_question(void **state)
{
    const hdp_calibrate_options plain = { .size = sizeof plain,
                                          .dtype = HDP_F16,
                                          .cache = cache_path };
    hdp_calibrate_options narrow = plain;
    hdp_profile *profile = NULL;
    struct measured own;

    (void)state;
    life_variable("CUDA_VISIBLE_DEVICES", NULL);
    measured_open(&own, "machine=turing", "cuda:all");
    expect_ok(hdp_calibrate(&profile, own.group, &plain));
    hdp_profile_destroy(profile);
    narrow.compute = HDP_F16;
    expect_ok(hdp_calibrate(&profile, own.group, &narrow));
    assert_int_not_equal(ended_by(profile), GIVEN);
    expect_ratios(profile, "turing", 2, "f16", "f16", 0.04);
    hdp_profile_destroy(profile);
    expect_ok(hdp_calibrate(&profile, own.group, &plain));
    assert_int_equal(ended_by(profile), GIVEN);
    expect_ratios(profile, "turing", 2, "f16", "f32", 0.04);
    hdp_profile_destroy(profile);
    measured_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_index_is_no_card, fresh),
        cmocka_unit_test_setup(another_driver_measures_again, fresh),
        cmocka_unit_test_setup(two_orders_are_one_machine, fresh),
        cmocka_unit_test_setup(a_spoilt_file_is_a_miss, fresh),
        cmocka_unit_test_setup(sums_are_part_of_the_question, fresh),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
