/* What a cache answers, and to whom: the card that was measured, wherever it
 * sits by now, and nobody else. Cards in place of GPUs: cuda/cache.c. */
#include <math.h>
#include "cached.h"
#include "profile_text.h"

/* One card, another, and both, of whatever this program's members are. */
#ifdef HDP_TEST_CUDA
#define ONE "cuda:0"
#define OTHERS_NAME "cuda:1"
#define NO_MISS "miss: cuda:0"
#define BOTH "cuda:0,1"
#define HELD "cuda:0/mem=8GiB"
#else
#define ONE "sim:0/" A
#define OTHERS_NAME "uuid=GPU-bbbb"
#define NO_MISS "miss: sim:0"
#define BOTH ONE "+sim:1/" B
#define HELD "sim:0/uuid=m/mem=8GiB"
#endif

#define A "uuid=GPU-aaaa/name=A/item=90154253ns"  /* 11.0921 a second */
#define B "uuid=GPU-bbbb/name=B/item=125365126ns" /* 7.9767 */
#define C "uuid=GPU-cccc/name=C/item=0.5s"        /* 2.0 */

#if !defined HDP_TEST_CUDA
static const double rate_a = 11.0921, rate_b = 7.9767, rate_c = 2.0;

static void expect_rate(double want, const hdp_profile *profile, int32_t rank)
{
    double got = cached_rate(profile, rank);

    if (fabs(got / want - 1) > 1e-6)
        fail_msg("rank %d: expected %g items a second, got %g", (int)rank, want,
                 got);
}

static void expect_split(const hdp_profile *profile, int64_t total,
                         int64_t first, int64_t second)
{
    hdp_plan_info info = { .size = sizeof info };
    hdp_plan *plan = NULL;

    expect_ok(hdp_split(&plan, profile, total, NULL));
    expect_ok(hdp_plan_get(&info, plan));
    expect_number(first, info.items[0], "items of rank 0 of %lld",
                  (long long)total);
    expect_number(second, info.items[1], "items of rank 1 of %lld",
                  (long long)total);
    hdp_plan_destroy(plan);
}

/* ---- by its uuid --------------------------------------------------------- */

/* Whichever card the mask leaves is 0. */
static void a_card_is_known_by_its_uuid(void **state)
{
    hdp_profile *profile;

    (void)state;
    profile = cached("sim:0/" A, cached_path);
    expect_miss(profile, "no such file yet");
    expect_rate(rate_a, profile, 0);
    hdp_profile_destroy(profile);

    profile = cached("sim:0/" B, cached_path);
    expect_miss(profile, "not in it");
    expect_rate(rate_b, profile, 0);
    hdp_profile_destroy(profile);

    profile = cached("sim:0/" A "+sim:1/" B, cached_path);
    expect_hit(profile);
    expect_rate(rate_a, profile, 0);
    expect_rate(rate_b, profile, 1);
    expect_split(profile, 100, 58, 42);
    hdp_profile_destroy(profile);

    profile = cached("sim:0/" A "+sim:1/" C, cached_path);
    expect_miss(profile, "sim:1/item=0.5s/uuid=GPU-cccc/name=C: not in it");
    expect_rate(rate_c, profile, 1);
    hdp_profile_destroy(profile);

    profile = cached("sim:0/driver=580.1/" A, cached_path);
    expect_miss(profile, "driver was none, is 580.1");
    hdp_profile_destroy(profile);
    profile = cached("sim:0/driver=580.1/" A, cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    profile = cached("sim:0/driver=590.2/" A, cached_path);
    expect_miss(profile, "driver was ");
    hdp_profile_destroy(profile);

    profile = cached("sim:7/" A, cached_path); /* another slot */
    expect_hit(profile);
    expect_rate(rate_a, profile, 0);
    hdp_profile_destroy(profile);
}

/* What else may have changed under a uuid. */
static void other_hardware_misses(void **state)
{
    static const struct {
        const char *spec, *words;
    } changes[] = {
        { "sim:0/uuid=X/name=Y", "name was X, is Y" },
        { "sim:0/uuid=X/name=X/sms=64", "multiprocessors was 0, is 64" },
        { "sim:0/uuid=X/name=X/mem=8GiB", "memory was 0, is 8589934592" },
        { "sim:0/uuid=X/name=X/compute=f32", "compute was as it is, is f32" },
        { "sim:0/uuid=X/name=X/driver=1", "driver was none, is 1" },
    };

    (void)state;
    hdp_profile_destroy(cached("sim:0/uuid=X/name=X", cached_path));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        hdp_profile *profile = cached(changes[i].spec, cached_path);
        expect_miss(profile, changes[i].words);
        hdp_profile_destroy(profile);
    }
}

/* A simulated device says no word of a real one, nor the reverse. */
static void a_simulated_card_is_no_card(void **state)
{
    (void)state;
    hdp_profile_destroy(cached("sim:0/" A, cached_path));
    assert_non_null(
        strstr(cached_load(NULL, cached_path), "device=sim GPU-aaaa\n"));
}

/* ---- by any order -------------------------------------------------------- */

#define SMALL "uuid=GPU-small/item=30ms"
#define BIG "uuid=GPU-big/item=10ms"

static void an_order_is_no_matter(void **state)
{
    hdp_profile *profile;

    (void)state;
    profile = cached("sim:0/" BIG "+sim:1/" SMALL, cached_path);
    expect_split(profile, 8, 6, 2);
    hdp_profile_destroy(profile);
    profile = cached("sim:0/" SMALL "+sim:1/" BIG, cached_path);
    expect_hit(profile);
    expect_split(profile, 8, 2, 6);
    hdp_profile_destroy(profile);
}
#endif

/* ---- a hit is what was measured ------------------------------------------- */

/* Both texts up to what the measuring itself took, which a hit did not. */
static void a_hit_is_the_same_profile(void **state)
{
    static const char *const specs[] = {
#ifdef HDP_TEST_CUDA
        ONE, BOTH, "cuda:1,0/mem=4GiB/margin=1GiB"
#else
        "sim:0/uuid=a/fixed=500us/item=10us+sim:1/uuid=b/item=50us/link=8GB",
        "sim:0/uuid=n/noise=3%+sim:1/uuid=m/noise=1%/mem=4GiB/margin=1GiB",
        "@desk", "sim:3/item=7us/seed=4+sim:4/item=3us"
#endif
    };

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        hdp_profile *first = cached(specs[i], cached_path);
        hdp_profile *second = cached(specs[i], cached_path);
        char *a = profile_text(first), *b = profile_text(second);
        expect_hit(second);
        *strstr(a, "\"elapsed_ns\"") = '\0';
        *strstr(b, "\"elapsed_ns\"") = '\0';
        assert_string_equal(a, b);
        free(a);
        free(b);
        hdp_profile_destroy(first);
        hdp_profile_destroy(second);
    }
}

static void a_hit_says_that_nothing_was_measured(void **state)
{
    hdp_profile_info info = { .size = sizeof info };
    hdp_profile *profile;

    (void)state;
    hdp_profile_destroy(cached(ONE, cached_path));
    profile = cached(ONE, cached_path);
    expect_ok(hdp_profile_get(&info, profile));
    expect_number(HDP_ENDED_GIVEN, info.ended_by, "ended_by");
    expect_number(0, info.elapsed_ns, "elapsed_ns");
    expect_number(0, info.warmup_ns, "warmup_ns");
    expect_number(1, info.fingerprint != 0, "fingerprint");
    hdp_profile_destroy(profile);
}

static void memory_is_as_it_is_now(void **state)
{
    hdp_split_options options = { .size = sizeof options,
                                  .item_bytes = 1 << 30 };
    hdp_profile *profile;
    hdp_plan *plan = NULL;

    (void)state;
    hdp_profile_destroy(cached(HELD, cached_path));
    profile = cached(HELD "/margin=4GiB", cached_path);
    expect_hit(profile);
    expect_status(HDP_ERR_CAPACITY, hdp_split(&plan, profile, 5, &options));
    expect_ok(hdp_split(&plan, profile, 4, &options));
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
}

/* ---- the question --------------------------------------------------------- */

static void another_question_is_another_entry(void **state)
{
    static const int64_t sizes[] = { 64, 4, 16 }, same[] = { 4, 16, 64 },
                         others[] = { 4, 16, 65 };
    const hdp_calibrate_options base = { .size = sizeof base,
                                         .budget_ns = CACHED_BUDGET_NS,
                                         .cache = cached_path };
    hdp_calibrate_options options[] = { base, base, base, base };
    hdp_group_options caller = { .size = sizeof caller,
                                 .threads = HDP_THREADS_CALLER };
    hdp_profile *profile;

    (void)state;
    options[1].dtype = HDP_BF16;
    options[2].probe = HDP_PROBE_ALL;
    options[3].items = sizes;
    options[3].item_count = 3;
    for (int round = 0; round < 2; ++round)
        for (size_t i = 0; i < 4; ++i) {
            profile = cached_with(ONE, &options[i]);
            if (round)
                expect_hit(profile);
            else
                expect_miss(profile, "");
            hdp_profile_destroy(profile);
        }
    options[3].items = same;
    profile = cached_with(ONE, &options[3]);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    options[3].items = others;
    profile = cached_with(ONE, &options[3]);
    expect_miss(profile, "sizes was ");
    hdp_profile_destroy(profile);
    profile = cached_try(ONE, &base, &caller);
    assert_non_null(profile);
    expect_miss(profile, "threads was member, is caller");
    hdp_profile_destroy(profile);
}

#if !defined HDP_TEST_CUDA
/* What ended by its budget is no answer to who asks for more; what had settled
 * is an answer to everybody. */
static void a_longer_budget_asks_for_more(void **state)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .cache = cached_path };
    const char *noisy = "sim:0/uuid=noisy/noise=20%";
    hdp_profile *profile;

    (void)state;
    options.budget_ns = 40000000;
    profile = cached_with(noisy, &options);
    expect_number(HDP_ENDED_BUDGET, cached_ended_by(profile), "ended_by");
    hdp_profile_destroy(profile);
    options.budget_ns = 20000000;
    profile = cached_with(noisy, &options);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    options.budget_ns = 50000000;
    profile = cached_with(noisy, &options);
    expect_miss(profile, "measured within 40 ms, 50 are asked");
    hdp_profile_destroy(profile);

    hdp_profile_destroy(cached("sim:0/uuid=steady", cached_path));
    options.budget_ns = INT64_C(10000000000);
    profile = cached_with("sim:0/uuid=steady", &options);
    expect_hit(profile);
    hdp_profile_destroy(profile);
}
#endif

static int32_t nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

static void a_function_has_no_name(void **state)
{
    hdp_work work = { .size = sizeof work, .host = nothing, .cuda = nothing };
    hdp_calibrate_options options = { .size = sizeof options,
                                      .probe = HDP_PROBE_WORK,
                                      .work = &work,
                                      .budget_ns = CACHED_BUDGET_NS,
                                      .cache = cached_path };
    hdp_profile *profile;

    (void)state;
    for (int i = 0; i < 2; ++i) {
        profile = cached_with(ONE, &options);
        expect_doubt(profile, "the caller's function is measured each time");
        hdp_profile_destroy(profile);
    }
    assert_int_equal(access(cached_path, F_OK), -1);
}

/* ---- who may be answered -------------------------------------------------- */

static void one_miss_measures_all(void **state)
{
    hdp_profile *profile;

    (void)state;
    hdp_profile_destroy(cached(ONE, cached_path));
    profile = cached(BOTH, cached_path);
    expect_miss(profile, OTHERS_NAME);
    assert_null(strstr(said.text, NO_MISS));
    hdp_profile_destroy(profile);
}

#if !defined HDP_TEST_CUDA
/* Without a uuid a simulated device is its model: another model, no answer. */
static void an_index_is_no_name(void **state)
{
    hdp_profile *profile;

    (void)state;
    hdp_profile_destroy(cached("sim:0/item=10us", cached_path));
    profile = cached("sim:0/item=10us", cached_path);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    profile = cached("sim:0/item=50us", cached_path);
    expect_miss(profile, "not in it");
    hdp_profile_destroy(profile);
}

/* On a busy machine samples may scatter too much to be kept. */
static void measure_until_kept(const char *spec,
                               const hdp_calibrate_options *options)
{
    for (int i = 0; i < 50; ++i) {
        hdp_profile_destroy(cached_with(spec, options));
        if (!strstr(said.text, "is not kept"))
            return;
    }
    print_message("%s: its samples scatter too much here\n", spec);
    skip();
}

/* Members of the host share it: alone and together they are not the same. */
static void members_of_the_host_are_measured_together(void **state)
{
    hdp_calibrate_options options = { .size = sizeof options,
                                      .budget_ns = 30000000,
                                      .cache = cached_path };
    const char *pair = "host:0/threads=1+host:1/threads=1/duty=50";
    const char *turned = "host:1/threads=1/duty=50+host:0/threads=1";
    hdp_profile *profile;

    (void)state;
    measure_until_kept("host:0/threads=1", &options);
    profile = cached_with(pair, &options);
    expect_miss(profile, "beside was nobody, is 1, ");
    hdp_profile_destroy(profile);
    measure_until_kept(pair, &options);
    profile = cached_with(turned, &options);
    expect_hit(profile);
    hdp_profile_destroy(profile);
    profile =
        cached_with("host:0/threads=1+host:1/threads=1/duty=60", &options);
    expect_miss(profile, "beside was 1, ");
    hdp_profile_destroy(profile);
}
#endif

static void an_executor_uses_it(void **state)
{
    hdp_calibrate_options calibrate = { .size = sizeof calibrate,
                                        .budget_ns = CACHED_BUDGET_NS,
                                        .cache = cached_path };
    hdp_executor_options options = { .size = sizeof options,
                                     .calibrate = &calibrate };
    hdp_context_options context_options = { .size = sizeof context_options,
                                            .log = cached_note,
                                            .log_level = HDP_LOG_INFO };

    (void)state;
    for (int i = 0; i < 2; ++i) {
        hdp_context *context = NULL;
        hdp_executor *executor = NULL;
        memset(&said, 0, sizeof said);
        expect_ok(hdp_context_create(&context, &context_options));
        expect_ok(hdp_executor_create(&executor, context, BOTH, &options));
        expect_number(i, said.hits, "hits of run %d", i);
        hdp_executor_destroy(executor);
        hdp_context_destroy(context);
    }
}

#if !defined HDP_TEST_CUDA
/* Steps of work that is `slow` times slower on the second card than it was
 * measured; what the log said of the cache meanwhile is in said. */
static void work_by_the_cache(const char *slow, int steps)
{
    hdp_calibrate_options calibrate = { .size = sizeof calibrate,
                                        .cache = cached_path };
    hdp_executor_options options = { .size = sizeof options,
                                     .calibrate = &calibrate };
    hdp_context_options context_options = { .size = sizeof context_options,
                                            .log = cached_note,
                                            .log_level = HDP_LOG_INFO };
    hdp_work work = { .size = sizeof work, .host = nothing };
    hdp_context *context = NULL;
    hdp_executor *executor = NULL;
    char spec[256];

    memset(&said, 0, sizeof said);
    (void)snprintf(spec, sizeof spec,
                   "sim:0/uuid=x/item=10us+sim:1/uuid=y/item=10us%s", slow);
    expect_ok(hdp_context_create(&context, &context_options));
    expect_ok(hdp_executor_create(&executor, context, spec, &options));
    for (int i = 0; i < steps; ++i)
        expect_ok(hdp_executor_run(NULL, executor, 1000, &work));
    hdp_executor_destroy(executor);
    hdp_context_destroy(context);
}

/* Past a fifth for five steps the answer is stale. */
static void what_steps_belie_is_forgotten(void **state)
{
    (void)state;
    work_by_the_cache("", 20);
    expect_number(0, said.hits, "hits of the first run");
    assert_null(strstr(said.text, "forgotten"));
    work_by_the_cache("/slow=1.15x@1", 20);
    expect_number(1, said.hits, "hits of the second run");
    assert_null(strstr(said.text, "forgotten"));
    work_by_the_cache("/slow=1.5x@1", 4);
    expect_number(1, said.hits, "hits of the third run");
    assert_null(strstr(said.text, "forgotten"));
    work_by_the_cache("/slow=1.5x@1", 20);
    expect_number(1, said.hits, "hits of the fourth run");
    assert_non_null(strstr(said.text, "cache: forgotten: 5 steps in a row"));
    expect_number(0, said.warnings, "warnings: %s", said.text);
    work_by_the_cache("", 20); /* measured again, and worked by */
    expect_number(0, said.hits, "hits of the fifth run");
    assert_null(strstr(said.text, "forgotten"));
    work_by_the_cache("", 1);
    expect_number(1, said.hits, "hits of the sixth run");
}
#endif

static void an_error_of_before_stays(void **state)
{
    hdp_profile *profile;

    (void)state;
    cached_save(cached_path, "no cache", 8, 0600);
    expect_status(HDP_ERR_ARGUMENT, hdp_context_create(NULL, NULL));
    profile = cached(ONE, cached_path);
    expect_doubt(profile, "not a cache of hdp");
    assert_string_equal(hdp_last_error(), "out is NULL");
    hdp_profile_destroy(profile);
}

int main(void)
{
#define CACHE_TEST(name) cmocka_unit_test_setup(name, cached_fresh)
    const struct CMUnitTest tests[] = {
        CACHE_TEST(a_hit_is_the_same_profile),
        CACHE_TEST(a_hit_says_that_nothing_was_measured),
        CACHE_TEST(memory_is_as_it_is_now),
        CACHE_TEST(another_question_is_another_entry),
        CACHE_TEST(a_function_has_no_name),
        CACHE_TEST(one_miss_measures_all),
        CACHE_TEST(an_executor_uses_it),
        CACHE_TEST(an_error_of_before_stays),
#if !defined HDP_TEST_CUDA /* by keys of simulated devices, or cores */
        CACHE_TEST(a_card_is_known_by_its_uuid),
        CACHE_TEST(other_hardware_misses),
        CACHE_TEST(a_simulated_card_is_no_card),
        CACHE_TEST(an_order_is_no_matter),
        CACHE_TEST(a_longer_budget_asks_for_more),
        CACHE_TEST(an_index_is_no_name),
        CACHE_TEST(members_of_the_host_are_measured_together),
        CACHE_TEST(what_steps_belie_is_forgotten),
#endif
    };

    return cmocka_run_group_tests(tests, cached_setup, cached_teardown);
}
