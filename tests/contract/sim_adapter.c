/* What only the simulated adapter promises: exact virtual time, noise that
 * repeats, a link with a speed, and faults where they were ordered. */
#include <math.h>
#include "device_fixture.h"

static double launch_ns(struct fixture *made, int64_t items)
{
    struct hdpi_mark from = { 0 }, to = { 0 };
    double ns = -1;

    expect_ok(made->ops->mark(made->device, &from, HDPI_MARK_TIME));
    expect_ok(launch_items(made, items));
    expect_ok(made->ops->mark(made->device, &to, HDPI_MARK_TIME));
    expect_ok(made->ops->elapsed(made->device, &ns, &from, &to));
    return ns;
}

static struct hdpi_ask model(double fixed_ns, double item_ns)
{
    struct hdpi_ask ask = ask_for(HDP_SIM, 1);

    ask.fixed_ns = fixed_ns;
    ask.item_ns = item_ns;
    ask.given_fixed = ask.given_item = 1;
    return ask;
}

/* ---- time ---------------------------------------------------------------- */

static void time_is_the_models_exactly(void **state)
{
    struct hdpi_ask ask = model(500000, 10000);
    struct fixture made = member_of(&ask);

    (void)state;
    assert_true(launch_ns(&made, 230) == 2800000);
    assert_true(launch_ns(&made, 1) == 510000);
    assert_true(launch_ns(&made, 0) == 0);
    assert_true(launch_ns(&made, 1000000) == 10000500000.0);
    release(&made);
}

/* 0.3333 ns an item is 333.3 ps: times are whole picoseconds, one at least. */
static void time_has_a_grain(void **state)
{
    struct hdpi_ask ask = model(0, 0.3333);
    struct fixture made = member_of(&ask);

    (void)state;
    assert_true(launch_ns(&made, 1) == 0.333);
    assert_true(launch_ns(&made, 3) == 1.0);
    release(&made);
    ask = model(0, 0);
    made = member_of(&ask);
    assert_true(launch_ns(&made, 5) == 0.001);
    release(&made);
    ask = model(0, 1e300);
    made = member_of(&ask);
    assert_true(launch_ns(&made, 5) > 9e15); /* the end of time, no wrap */
    assert_true(launch_ns(&made, 5) == 0);
    release(&made);
}

static void a_model_left_out_is_10_us_an_item(void **state)
{
    struct hdpi_ask ask = ask_for(HDP_SIM, 0);
    struct fixture made = member_of(&ask);

    (void)state;
    assert_true(launch_ns(&made, 7) == 70000);
    release(&made);
}

static void probes_follow_the_model(void **state)
{
    struct hdpi_ask ask = model(500000, 10000);
    struct fixture made = member_of(&ask);
    struct hdpi_mark from = { 0 }, to = { 0 };
    struct hdpi_probe probe = { .kind = HDP_PROBE_GEMM,
                                .dtype = HDP_TF32,
                                .width = 64 };
    double ns;

    (void)state;
    expect_ok(made.ops->probe_open(made.device, &probe));
    assert_int_equal(probe.start_items, 150); /* 1.5 ms and the fixed part */
    probe.items = 42;
    expect_ok(made.ops->mark(made.device, &from, HDPI_MARK_TIME));
    expect_ok(made.ops->probe(made.device, &probe));
    expect_ok(made.ops->mark(made.device, &to, HDPI_MARK_TIME));
    expect_ok(made.ops->elapsed(made.device, &ns, &from, &to));
    assert_true(ns == 920000);
    probe.kind = HDP_PROBE_LAUNCH;
    expect_ok(made.ops->probe_open(made.device, &probe));
    probe.items = 3;
    expect_ok(made.ops->probe(made.device, &probe));
    expect_ok(made.ops->mark(made.device, &from, HDPI_MARK_TIME));
    expect_ok(made.ops->elapsed(made.device, &ns, &to, &from));
    assert_true(ns == 1500000);
    release(&made);
}

/* 8,000 bytes at 0.8 GB/s are 10 us each way; inside they cost nothing. */
static void the_link_has_a_speed(void **state)
{
    struct hdpi_ask ask = model(0, 1000);
    struct fixture made;
    struct hdpi_mark from = { 0 }, to = { 0 };
    static char a[8000], b[8000];
    struct hdpi_copy copy = { b, a, 8, 1000, 1000, 1000, HDPI_COPY_IN };
    double ns;

    (void)state;
    ask.link_bytes_per_second = 0.8e9;
    made = member_of(&ask);
    expect_ok(made.ops->mark(made.device, &from, HDPI_MARK_TIME));
    for (int d = HDPI_COPY_IN; d <= HDPI_COPY_INSIDE; ++d) {
        copy.direction = d;
        expect_ok(made.ops->copy(made.device, &copy));
    }
    expect_ok(made.ops->mark(made.device, &to, HDPI_MARK_TIME));
    expect_ok(made.ops->elapsed(made.device, &ns, &from, &to));
    assert_true(ns == 20000);
    release(&made);
}

/* ---- noise --------------------------------------------------------------- */

enum { DRAWS = 4000 };

static void draw(double out[DRAWS], uint64_t seed, int32_t id, double noise)
{
    struct hdpi_ask ask = model(0, 10000);
    struct fixture made;

    ask.logical_id = id;
    ask.seed = seed;
    ask.noise = noise;
    made = member_of(&ask);
    for (int i = 0; i < DRAWS; ++i)
        out[i] = launch_ns(&made, 10) / 100000 - 1;
    release(&made);
}

static double mean(const double *x)
{
    double sum = 0;

    for (int i = 0; i < DRAWS; ++i)
        sum += x[i];
    return sum / DRAWS;
}

static double covariance(const double *x, const double *y)
{
    double sum = 0, mx = mean(x), my = mean(y);

    for (int i = 0; i < DRAWS; ++i)
        sum += (x[i] - mx) * (y[i] - my);
    return sum / DRAWS;
}

/* Bounds are five standard errors of 4,000 draws. */
static void noise_has_the_deviation_asked_for(void **state)
{
    static double x[DRAWS], y[DRAWS], z[DRAWS];
    double sigma;

    (void)state;
    draw(x, 7, 1, 0.03);
    sigma = sqrt(covariance(x, x));
    assert_true(fabs(mean(x)) < 5 * 0.03 / sqrt(DRAWS));
    assert_true(fabs(sigma - 0.03) < 5 * 0.03 / sqrt(2.0 * DRAWS));
    draw(y, 8, 1, 0.03); /* another seed, another device: other draws */
    draw(z, 7, 2, 0.03);
    assert_true(fabs(covariance(x, y)) < 5 * 0.0009 / sqrt(DRAWS));
    assert_true(fabs(covariance(x, z)) < 5 * 0.0009 / sqrt(DRAWS));
}

static void noise_repeats(void **state)
{
    static double x[DRAWS], y[DRAWS];

    (void)state;
    draw(x, 3, 1, 0.05);
    draw(y, 3, 1, 0.05);
    assert_memory_equal(x, y, sizeof x);
    assert_true(x[0] != x[1]);
}

/* ---- faults -------------------------------------------------------------- */

static hdp_status call_hook(struct fixture *made, int32_t hook)
{
    char from[4] = "abc", to[4];
    struct hdpi_copy copy = { to, from, 1, 4, 4, 4, HDPI_COPY_IN };
    struct hdpi_mark mark = { 0 };
    void *memory = NULL;
    hdp_status status;

    switch (hook) {
    case HDPI_HOOK_ALLOC:
        status = made->ops->alloc(made->device, &memory, 16);
        made->ops->free(made->device, memory);
        return status;
    case HDPI_HOOK_COPY:
        return made->ops->copy(made->device, &copy);
    case HDPI_HOOK_LAUNCH:
        return launch_items(made, 1);
    case HDPI_HOOK_WAIT:
        return made->ops->wait(made->device, INT64_MAX);
    default:
        return made->ops->mark(made->device, &mark, HDPI_MARK_READY);
    }
}

static int64_t held(const struct fixture *made)
{
    int64_t bytes, left;

    made->ops->memory(made->device, &bytes, &left);
    return bytes;
}

static void sweep(int32_t hook, int32_t lasting)
{
    static const char *const names[] = { "alloc", "copy", "launch", "wait",
                                         "reduce" };
    struct hdpi_ask ask = model(0, 10000);
    struct fixture made;
    char text[64];

    ask.faults[0] = (struct hdpi_fault){ hook, lasting, 3 };
    ask.fault_count = 1;
    made = member_of(&ask);
    for (int call = 1; call <= 5; ++call) {
        int fails = call == 3 || (lasting && call > 3);
        for (int other = 0; other < HDPI_HOOK_COUNT; ++other)
            if (other != hook)
                expect_ok(call_hook(&made, other));
        if (!fails) {
            expect_ok(call_hook(&made, hook));
            continue;
        }
        expect_status(hook == HDPI_HOOK_ALLOC ? HDP_ERR_MEMORY : HDP_ERR_DEVICE,
                      call_hook(&made, hook));
        snprintf(text, sizeof text, "sim:1: injected failure of %s, call %d",
                 names[hook], call);
        expect_error(text);
        assert_int_equal(hdpi_error()->wanted_bytes,
                         hook == HDPI_HOOK_ALLOC ? 16 : 0);
        assert_int_equal(held(&made), 0);
    }
    release(&made);
}

static void each_hook_fails_when_told(void **state)
{
    (void)state;
    for (int32_t hook = 0; hook < HDPI_HOOK_COUNT; ++hook) {
        sweep(hook, 0);
        sweep(hook, 1);
    }
}

static int32_t count_calls(const hdp_shard *shard, void *user)
{
    (void)shard;
    ++*(int *)user;
    return 0;
}

static void a_failed_launch_did_nothing(void **state)
{
    struct hdpi_ask ask = model(0, 10000);
    struct fixture made;
    struct hdpi_mark from = { 0 }, to = { 0 };
    hdp_shard shard = { .size = sizeof shard, .items = 9 };
    int calls = 0;
    int32_t code = 1;
    double ns;

    (void)state;
    ask.faults[0] = (struct hdpi_fault){ HDPI_HOOK_LAUNCH, 0, 1 };
    ask.fault_count = 1;
    made = member_of(&ask);
    expect_ok(made.ops->mark(made.device, &from, HDPI_MARK_TIME));
    expect_status(HDP_ERR_DEVICE, made.ops->launch(made.device, count_calls,
                                                   &shard, &calls, &code));
    assert_int_equal(calls, 0);
    assert_int_equal(code, 0);
    expect_ok(made.ops->mark(made.device, &to, HDPI_MARK_TIME));
    expect_ok(made.ops->elapsed(made.device, &ns, &from, &to));
    assert_true(ns == 0);
    expect_ok(
        made.ops->launch(made.device, count_calls, &shard, &calls, &code));
    assert_int_equal(calls, 1);
    release(&made);
}

/* ---- enumerate ----------------------------------------------------------- */

static void nothing_asked_nothing_found(void **state)
{
    hdp_topology *topology;
    struct hdpi_ask ask = ask_for(HDP_SIM, -1);

    (void)state;
    expect_ok(hdpi_topology_new(&topology));
    expect_ok(hdpi_device_adapter(HDP_SIM)->enumerate(topology, NULL, 0, NULL));
    assert_int_equal(topology->info.device_count, 0);
    assert_int_equal(topology->note_bytes, 0);
    ask.all = 1;
    expect_status(HDP_ERR_NOT_FOUND, hdpi_device_adapter(HDP_SIM)->enumerate(
                                         topology, &ask, 1, NULL));
    assert_string_equal(hdp_last_error(),
                        "no device: sim:all: a simulated device is named by "
                        "its number");
    hdpi_topology_free(topology);
}

/* ---- why ------------------------------------------------------------------- */

/* Asked after each launch of 1 ms: what a later one will meet is not known yet,
 * and a slowdown goes before the heat that lasts beside it. */
static void it_knows_why(void **state)
{
    static const int32_t want[] = { HDP_CAUSE_HEAT, HDP_CAUSE_NEIGHBOUR,
                                    HDP_CAUSE_NEIGHBOUR, HDP_CAUSE_HEAT,
                                    HDP_CAUSE_NONE };
    struct hdpi_ask ask = model(0, 1000000);
    struct fixture made;

    (void)state;
    ask.slows[0] = (struct hdpi_slow){ 2, 2 };
    ask.slows[1] = (struct hdpi_slow){ 1, 4 };
    ask.slow_count = 2;
    ask.ramp = 0.5;
    ask.ramp_ns = 4500000; /* the fifth launch ends beyond it */
    made = member_of(&ask);
    assert_int_equal(made.ops->cause(made.device), HDP_CAUSE_HEAT);
    for (size_t i = 0; i < sizeof want / sizeof *want; ++i) {
        (void)launch_ns(&made, 1);
        if (made.ops->cause(made.device) != want[i])
            fail_msg("after launch %zu: expected cause %d, got %d", i + 1,
                     (int)want[i], (int)made.ops->cause(made.device));
    }
    release(&made);
}

static void one_identity_one_device(void **state)
{
    hdp_topology *topology;
    struct hdpi_ask asks[3] = { model(0, 1), model(0, 1), model(0, 1) };

    (void)state;
    asks[1].logical_id = 2;
    asks[2].logical_id = 4;
    strcpy(asks[0].uuid, "GPU-a");
    strcpy(asks[1].uuid, "GPU-b");
    strcpy(asks[2].uuid, "GPU-a");
    expect_ok(hdpi_topology_new(&topology));
    expect_status(HDP_ERR_ARGUMENT, hdpi_device_adapter(HDP_SIM)->enumerate(
                                        topology, asks, 3, NULL));
    assert_string_equal(hdp_last_error(),
                        "sim:1 and sim:4 bear the same uuid \"GPU-a\"");
    assert_int_equal(topology->info.device_count, 0);
    expect_ok(hdpi_device_adapter(HDP_SIM)->enumerate(topology, asks, 2, NULL));
    assert_string_equal(topology->devices[1].info.uuid, "GPU-b");
    hdpi_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_the_models_exactly),
        cmocka_unit_test(time_has_a_grain),
        cmocka_unit_test(a_model_left_out_is_10_us_an_item),
        cmocka_unit_test(probes_follow_the_model),
        cmocka_unit_test(the_link_has_a_speed),
        cmocka_unit_test(noise_has_the_deviation_asked_for),
        cmocka_unit_test(noise_repeats),
        cmocka_unit_test(each_hook_fails_when_told),
        cmocka_unit_test(a_failed_launch_did_nothing),
        cmocka_unit_test(nothing_asked_nothing_found),
        cmocka_unit_test(it_knows_why),
        cmocka_unit_test(one_identity_one_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
