/* Devices that nobody may use, that one process at a time may use, and that are
 * cut into instances: what the library and hdp_bench say of them, and that a
 * closed one is never tried (F03, F09). */
#include "looked.h"

enum { SAID_ROOM = 1 << 16 };

/* Members of "auto" by logical id, as digits. */
static void expect_auto(const struct looked *own, const char *ids)
{
    hdp_group_info info = { .size = sizeof info };
    hdp_group *group;

    expect_ok(hdp_group_create_spec(&group, own->context, "auto", NULL));
    expect_ok(hdp_group_get(&info, group));
    expect_number((int64_t)strlen(ids), info.member_count, "members of auto");
    for (int32_t m = 0; m < info.member_count; ++m) {
        hdp_device device = { .size = sizeof device };
        expect_ok(hdp_group_device(&device, group, m));
        expect_number(ids[m] - '0', device.logical_id, "member %d", (int)m);
    }
    hdp_group_destroy(group);
}

static int bench_is_built(void)
{
    return getenv("HDP_BENCH_FAKE12") != NULL;
}

/* What hdp_bench says on such a machine; its exit code is `code`. */
static const char *bench(const char *words, const char *mask, const char *verb,
                         int code)
{
    static char text[SAID_ROOM];
    const char *program = getenv("HDP_BENCH_FAKE12");
    const char *library = getenv("HDP_FAKE_CUDA");
    char command[1024];
    size_t used = 0, got;
    FILE *said;
    int ended;

    (void)snprintf(command, sizeof command,
                   "%s%s FAKE_CUDA='%s' '%s' %s --cublas '%s' --nvml '%s' 2>&1",
                   mask ? "CUDA_VISIBLE_DEVICES=" : "", mask ? mask : "", words,
                   program, verb, library, library);
    said = popen(command, "r");
    assert_non_null(said);
    while ((got = fread(text + used, 1, sizeof text - 1 - used, said)) > 0)
        used += got;
    text[used] = '\0';
    ended = pclose(said);
    if (ended != code << 8)
        fail_msg("%s: expected exit code %d, got %d: %s", command, code,
                 ended >> 8, text);
    return text;
}

static void expect_said(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("expected \"...%s...\", got: %s", part, text);
}

/* ---- closed --------------------------------------------------------------- */

static void nobody_may_use_it(void **state)
{
    const char *words = "machine=desk mode=1:prohibited";
    hdp_error error = { .size = sizeof error };
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start(words, NULL);
    looked_open(&own);
    expect_number(3, looked_count(&own), "GPUs listed");
    expect_auto(&own, "02");
    expect_number(1, looked_said(&own, "compute mode is `prohibited`"),
                  "warnings");
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:1", NULL),
                  HDP_ERR_BUSY, "compute mode is `prohibited`");
    expect_ok(hdp_error_get(&error));
    expect_number(HDP_RETRY, error.severity, "severity");
    looked_failed(hdp_group_create_spec(&group, own.context, "cuda:all", NULL),
                  HDP_ERR_BUSY, "compute mode is `prohibited`");
    expect_number(0, fake_refused(1), "attempts to use it");
    expect_number(0, fake_contexts(1), "contexts on it");
    looked_close(&own);
}

static void bench_says_that_it_is_closed(void **state)
{
    const char *words = "machine=desk mode=1:prohibited";

    (void)state;
    if (!bench_is_built())
        skip();
    expect_said(bench(words, NULL, "discover", 0),
                "left out by auto: cuda:1 (NVIDIA GeForce RTX 4070 Ti): busy: "
                "its compute mode is `prohibited`");
    expect_said(bench(words, NULL, "doctor", 0),
                "cuda:1 is closed to computing (compute mode prohibited)");
}

/* ---- one at a time -------------------------------------------------------- */

static void a_free_exclusive_one_is_used(void **state)
{
    const char *words = "machine=desk mode=1:exclusive";
    struct looked own;
    hdp_group *group;

    (void)state;
    looked_start(words, NULL);
    looked_open(&own);
    expect_auto(&own, "012");
    expect_number(0, looked_said(&own, "left out"), "warnings");
    expect_number(1, fake_contexts(1), "contexts on it");
    /* it is ours now, so to us it is free */
    expect_ok(hdp_group_create_spec(&group, own.context, "cuda:1", NULL));
    hdp_group_destroy(group);
    looked_close(&own);
    if (bench_is_built())
        expect_said(bench(words, NULL, "doctor", 0),
                    "cuda:1 takes one process at a time");
}

/* Whether it is free only the management library could say. */
static void named_without_that_library(void **state)
{
    struct looked own = { 0 };
    const hdp_context_options options = { .size = sizeof options,
                                          .log = life_note,
                                          .log_user = own.log,
                                          .nvml_path = "/nowhere/libnvml.so" };
    hdp_group *group;

    (void)state;
    looked_start("machine=desk mode=1:exclusive", NULL);
    expect_ok(hdp_context_create(&own.context, &options));
    expect_auto(&own, "02");
    expect_number(1, looked_said(&own, "nobody can tell"), "left out");
    expect_number(0, fake_contexts(1), "contexts on it");
    expect_ok(hdp_group_create_spec(&group, own.context, "cuda:1", NULL));
    hdp_group_destroy(group);
    looked_close(&own);
}

/* ---- cut ------------------------------------------------------------------ */

static const char *const cut = "machine=lab mig=0:2+3";
static const char *const second = "MIG-02fd8a00-83b0-412b-a0b3-7c6c71274861";

/* The first instance, the second, and what is not cut. */
static void one_instance_a_process(void **state)
{
    static const struct {
        const char *mask, *name;
        int sms;
    } rows[] = {
        { NULL, "NVIDIA A100-SXM4-80GB MIG 2g.20gb", 28 },
        { "0", "NVIDIA A100-SXM4-80GB MIG 2g.20gb", 28 },
        { "MIG-02", "NVIDIA A100-SXM4-80GB MIG 3g.40gb", 42 },
        { "1", "NVIDIA H100 80GB HBM3", 132 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct looked own;
        hdp_device device;
        looked_start(cut, rows[i].mask);
        looked_open(&own);
        expect_number(1, looked_count(&own), "GPUs of row %zu", i);
        assert_true(looked_gpu(&device, &own, 0));
        assert_string_equal(device.name, rows[i].name);
        expect_number(rows[i].sms, device.sm_count, "SMs of row %zu", i);
        expect_number(rows[i].sms < 132 ? 'M' : 'G', device.uuid[0], "uuid %s",
                      device.uuid);
        assert_true(device.free_bytes > 0 &&
                    device.free_bytes <= device.memory_bytes);
        expect_number(0, looked_info(&own).mask_changed, "mask of row %zu", i);
        looked_close(&own);
    }
}

static void an_instance_works(void **state)
{
    const hdp_calibrate_options brief = { .size = sizeof brief,
                                          .dtype = HDP_F32,
                                          .budget_ns = 1000000 };
    hdp_profile *profile;
    struct looked own;
    hdp_group *group;
    char spec[64];

    (void)state;
    looked_start(cut, second);
    looked_open(&own);
    (void)snprintf(spec, sizeof spec, "cuda:%s", second);
    expect_ok(hdp_group_create_spec(&group, own.context, spec, NULL));
    expect_ok(hdp_calibrate(&profile, group, &brief));
    hdp_profile_destroy(profile);
    hdp_group_destroy(group);
    looked_failed(
        hdp_group_create_spec(&group, own.context, "cuda:GPU-7745c501", NULL),
        HDP_ERR_NOT_FOUND, "none of the 1 visible GPUs");
    expect_number(1, fake_contexts(-1), "contexts");
    looked_close(&own);
}

static void bench_tells_of_an_instance(void **state)
{
    (void)state;
    if (!bench_is_built())
        skip();
    expect_said(bench(cut, second, "discover", 0), "MIG 3g.40gb");
    expect_said(bench(cut, "0", "discover", 0), "MIG 2g.20gb");
    expect_said(bench(cut, second, "doctor", 0), "MIG 3g.40gb");
    expect_said(bench(cut, NULL, "doctor", 0),
                "a process sees one MIG instance and no other GPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_may_use_it),
        cmocka_unit_test(bench_says_that_it_is_closed),
        cmocka_unit_test(a_free_exclusive_one_is_used),
        cmocka_unit_test(named_without_that_library),
        cmocka_unit_test(one_instance_a_process),
        cmocka_unit_test(an_instance_works),
        cmocka_unit_test(bench_tells_of_an_instance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
