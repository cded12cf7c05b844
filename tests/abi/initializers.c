/* Structs grow, programs stay: hdp_options_init() equals the macros byte for
 * byte, and a struct of another size than the library's is read and filled as
 * the header's rules say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <hdp/lease.h>

#define SAME(type, macro)                                                      \
    static void macro##_equals_init(void **state)                              \
    {                                                                          \
        static const type expected = macro;                                    \
        type got;                                                              \
        (void)state;                                                           \
        memset(&got, 0xff, sizeof got);                                        \
        assert_int_equal(hdp_options_init(&got, sizeof got), HDP_OK);          \
        assert_memory_equal(&got, &expected, sizeof got);                      \
        assert_int_equal(got.size, sizeof(type));                              \
    }

SAME(hdp_context_options, HDP_CONTEXT_OPTIONS_INIT)
SAME(hdp_discover_options, HDP_DISCOVER_OPTIONS_INIT)
SAME(hdp_world, HDP_WORLD_INIT)
SAME(hdp_group_options, HDP_GROUP_OPTIONS_INIT)
SAME(hdp_calibrate_options, HDP_CALIBRATE_OPTIONS_INIT)
SAME(hdp_model, HDP_MODEL_INIT)
SAME(hdp_split_options, HDP_SPLIT_OPTIONS_INIT)
SAME(hdp_array, HDP_ARRAY_INIT)
SAME(hdp_buffers, HDP_BUFFERS_INIT)
SAME(hdp_work, HDP_WORK_INIT)
SAME(hdp_executor_options, HDP_EXECUTOR_OPTIONS_INIT)
SAME(hdp_lease_options, HDP_LEASE_OPTIONS_INIT)

/* ---- hdp_options_init ---------------------------------------------------- */

static void init_stays_within_the_size(void **state)
{
    unsigned char block[64], expected[64] = { 0 };
    const size_t size = 40;

    (void)state;
    memset(block, 0xff, sizeof block);
    memset(expected + size, 0xff, sizeof expected - size);
    memcpy(expected, &size, sizeof size);
    assert_int_equal(hdp_options_init(block, size), HDP_OK);
    assert_memory_equal(block, expected, sizeof block);
}

static void init_refuses_what_holds_no_size(void **state)
{
    unsigned char block[16], expected[16];

    (void)state;
    memset(block, 0xff, sizeof block);
    memset(expected, 0xff, sizeof expected);
    assert_int_equal(hdp_options_init(NULL, 64), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_options_init(block, 0), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_options_init(block, sizeof(size_t) - 1),
                     HDP_ERR_ARGUMENT);
    assert_memory_equal(block, expected, sizeof block);
    assert_int_equal(hdp_options_init(block, sizeof(size_t)), HDP_OK);
    assert_memory_equal(block + sizeof(size_t), expected,
                        sizeof block - sizeof(size_t));
}

/* ---- programs older and newer than the library --------------------------- */

struct newer_options { /* hdp_context_options of a version to come */
    hdp_context_options known;
    int64_t unknown;
};

static void options_of_a_newer_program(void **state)
{
    struct newer_options options;
    hdp_context *context = NULL;

    (void)state;
    assert_int_equal(hdp_options_init(&options, sizeof options), HDP_OK);
    assert_int_equal(hdp_context_create(&context, &options.known), HDP_OK);
    hdp_context_destroy(context);
    options.unknown = 1;
    context = (hdp_context *)(void *)&options; /* must be overwritten */
    assert_int_equal(hdp_context_create(&context, &options.known),
                     HDP_ERR_ARGUMENT);
    assert_null(context);
    assert_string_not_equal(hdp_last_error(), "");
}

static void options_of_an_older_program(void **state)
{
    hdp_context_options options;
    hdp_context *context = NULL;

    (void)state;
    memset(&options, 0xff, sizeof options);
    /* It knew nothing but the log; what lies behind is not the library's. */
    assert_int_equal(
        hdp_options_init(&options, offsetof(hdp_context_options, log_level)),
        HDP_OK);
    assert_int_equal(hdp_context_create(&context, &options), HDP_OK);
    hdp_context_destroy(context);
}

static void options_without_a_size(void **state)
{
    hdp_context_options options;
    hdp_context *context = NULL;

    (void)state;
    memset(&options, 0, sizeof options);
    assert_int_equal(hdp_context_create(&context, &options), HDP_ERR_ARGUMENT);
    assert_null(context);
}

static void a_failure_into_a_longer_struct(void **state)
{
    struct {
        hdp_error known;
        unsigned char unknown[24];
    } error;
    static const unsigned char zeroes[24];

    (void)state;
    memset(&error, 0xff, sizeof error);
    error.known.size = sizeof error;
    (void)hdp_options_init(NULL, 64); /* something to tell of */
    assert_int_equal(hdp_error_get(&error.known), HDP_OK);
    assert_int_equal(error.known.size, sizeof error);
    assert_int_equal(error.known.status, HDP_ERR_ARGUMENT);
    assert_int_equal(error.known.severity, HDP_RETRY);
    assert_int_equal(error.known.member, -1);
    assert_int_equal(error.known.rank, -1);
    assert_string_equal(error.known.text, hdp_last_error());
    assert_memory_equal(error.unknown, zeroes, sizeof zeroes);
}

static void a_failure_into_a_shorter_struct(void **state)
{
    hdp_error error;
    unsigned char untouched[sizeof error];
    const size_t size = offsetof(hdp_error, vendor);

    (void)state;
    memset(&error, 0xff, sizeof error);
    memset(untouched, 0xff, sizeof untouched);
    error.size = size;
    (void)hdp_options_init(NULL, 64);
    assert_int_equal(hdp_error_get(&error), HDP_OK);
    assert_int_equal(error.size, size);
    assert_int_equal(error.status, HDP_ERR_ARGUMENT);
    assert_memory_equal((unsigned char *)&error + size, untouched,
                        sizeof error - size);
}

static void array_steps_by_its_first_element(void **state)
{
    struct {
        hdp_model known;
        int64_t unknown;
    } models[2];
    hdp_profile *profile = NULL;
    double ns = 0;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(hdp_options_init(&models[i], sizeof *models), HDP_OK);
        models[i].known.fixed_ns = 100;
        models[i].known.item_ns = i ? 7 : 3;
    }
    assert_int_equal(hdp_profile_create(&profile, &models[0].known, 2), HDP_OK);
    assert_int_equal(hdp_profile_time(&ns, profile, 1, 10), HDP_OK);
    assert_true(ns == 170.0);
    hdp_profile_destroy(profile);
    models[1].unknown = 1;
    assert_int_equal(hdp_profile_create(&profile, &models[0].known, 2),
                     HDP_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HDP_CONTEXT_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_DISCOVER_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_WORLD_INIT_equals_init),
        cmocka_unit_test(HDP_GROUP_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_CALIBRATE_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_MODEL_INIT_equals_init),
        cmocka_unit_test(HDP_SPLIT_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_ARRAY_INIT_equals_init),
        cmocka_unit_test(HDP_BUFFERS_INIT_equals_init),
        cmocka_unit_test(HDP_WORK_INIT_equals_init),
        cmocka_unit_test(HDP_EXECUTOR_OPTIONS_INIT_equals_init),
        cmocka_unit_test(HDP_LEASE_OPTIONS_INIT_equals_init),
        cmocka_unit_test(init_stays_within_the_size),
        cmocka_unit_test(init_refuses_what_holds_no_size),
        cmocka_unit_test(options_of_a_newer_program),
        cmocka_unit_test(options_of_an_older_program),
        cmocka_unit_test(options_without_a_size),
        cmocka_unit_test(a_failure_into_a_longer_struct),
        cmocka_unit_test(a_failure_into_a_shorter_struct),
        cmocka_unit_test(array_steps_by_its_first_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
