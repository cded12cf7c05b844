/* Parts of run --adapt: --slow as it is read, and what a trajectory is worth,
 * with figures by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "slows.h"
#include "trajectory.h"

static void declared_slowdowns_are_read(void **state)
{
    static const struct {
        const char *text, *device;
        double factor;
        int64_t step;
    } good[] = {
        { "0=2x@100", "0", 2, 100 },
        { "host:1=1.5x@0", "host:1", 1.5, 0 },
        { "sim:0/item=10us=0.5x@7", "sim:0/item=10us", 0.5, 7 },
        { "3=1e3x@999999", "3", 1000, 999999 },
    };
    static const struct {
        const char *text;
        int position; /* of the fault */
    } bad[] = {
        { "", 0 },        { "0", 0 },        { "0=2x", 0 },
        { "0=2@5", 0 },   { "0=2x5", 0 },    { "=2x@5", 1 },
        { "0=x@5", 3 },   { "0=+2x@5", 3 },  { "0=2..x@5", 4 },
        { "0=0x@5", 0 },  { "0=1e7x@5", 0 }, { "0=-1x@5", 0 },
        { "0=2x@", 6 },   { "0=2x@5s", 7 },  { "0=2x@1000000", 0 },
        { "0=2x@-1", 0 }, { "0=infx@5", 3 }, { "0=2x@5x", 7 },
        { "0= 2x@5", 3 }, { "0=2 x@5", 4 },
    };
    struct slow slow;
    struct parse_error error;
    char longest[SLOW_DEVICE_MAX + 16];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; ++i) {
        if (!slows_read(good[i].text, &slow, &error))
            fail_msg("%s: expected to be read, got \"%s\"", good[i].text,
                     error.text);
        assert_string_equal(slow.device, good[i].device);
        assert_true(slow.factor == good[i].factor);
        assert_int_equal(slow.step, good[i].step);
        assert_int_equal(slow.member, -1);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        if (slows_read(bad[i].text, &slow, &error))
            fail_msg("%s: expected a refusal, got factor %g", bad[i].text,
                     slow.factor);
        if (error.position != bad[i].position)
            fail_msg("%s: expected position %d, got %d (%s)", bad[i].text,
                     bad[i].position, error.position, error.text);
    }
    memset(longest, 'd', sizeof longest);
    memcpy(longest + SLOW_DEVICE_MAX, "=2x@1", 6);
    assert_int_equal(slows_read(longest, &slow, &error), 0);
    assert_int_equal(slows_read(longest + 1, &slow, &error), 1);
}

/* ---- trajectories --------------------------------------------------------------- */

/* Two members of 10 ns an item each; member 0 takes twice as long from step 4
 * on, and the shares answer at step 6. Times as the shares say, but for one
 * step in which a new shape cost 900 ns. */
static void make(struct trajectory *out, const struct slow *slows, int count,
                 int64_t steps)
{
    assert_int_equal(trajectory_open(out, 2, steps), 1);
    out->total = 120;
    out->quantum = 1;
    out->goal = 0.97;
    out->slows = slows;
    out->slow_count = count;
    for (int m = 0; m < 2; ++m) {
        out->curves[m].count = 1;
        out->curves[m].items[0] = 120;
        out->curves[m].ns[0] = 1200;
    }
    for (int64_t s = 0; s < steps; ++s) {
        int64_t first = s < 6 ? 60 : 40;
        out->shares[2 * s] = first;
        out->shares[2 * s + 1] = 120 - first;
        out->member_ns[2 * s] = (double)first * (s < 4 ? 10 : 20);
        out->member_ns[2 * s + 1] = (double)(120 - first) * 10;
        if (s == 6) {
            out->is_new[2 * s] = 1;
            out->member_ns[2 * s] += 900;
        }
        out->kept++;
    }
}

static void phases_are_valued(void **state)
{
    static const struct slow slows[] = { { .factor = 2, .step = 4 } };
    struct trajectory got;
    const struct phase *slow;

    (void)state;
    make(&got, slows, 1, 12);
    assert_int_equal(trajectory_evaluate(&got), 1);
    assert_int_equal(got.phase_count, 2);
    assert_int_equal(got.phases[0].begin, 0);
    assert_int_equal(got.phases[0].end, 4);
    assert_true(got.phases[0].optimum_ns == 600);
    assert_int_equal(got.phases[0].reached, 0);
    assert_int_equal(got.phases[0].resplits, 0);
    assert_true(got.phases[0].lost_steps == 0);
    assert_true(got.phases[0].efficiency == 1);

    slow = &got.phases[1];
    assert_int_equal(slow->begin, 4);
    assert_int_equal(slow->end, 12);
    assert_true(slow->optimum_ns == 800); /* 40 at 20, 80 at 10 */
    assert_int_equal(slow->optimum[0], 40);
    assert_int_equal(slow->optimum[1], 80);
    assert_int_equal(slow->reached, 2);
    assert_int_equal(slow->resplits, 1);
    /* twice 1200 instead of 800, then 1700 */
    assert_true(slow->lost_steps > 2.1249 && slow->lost_steps < 2.1251);
    assert_true(slow->efficiency == 1);
    assert_int_equal(trajectory_resplit(&got, 0), 0);
    assert_int_equal(trajectory_resplit(&got, 5), 0);
    assert_int_equal(trajectory_resplit(&got, 6), 1);
    trajectory_close(&got);
}

/* Changes in one step are one phase; those that the run did not come to are
 * none; a phase that ends too soon never reaches its goal. */
static void phases_of_odd_changes(void **state)
{
    static const struct slow slows[] = {
        { .factor = 2, .step = 4, .member = 0 },
        { .factor = 1, .step = 4, .member = 1 },
        { .factor = 3, .step = 90, .member = 1 },
    };
    struct trajectory got;

    (void)state;
    make(&got, slows, 3, 6);
    assert_int_equal(trajectory_evaluate(&got), 1);
    assert_int_equal(got.phase_count, 2);
    assert_int_equal(got.phases[1].reached, -1);
    assert_true(got.phases[1].efficiency == 0);
    assert_true(got.phases[1].optimum_ns == 800);
    trajectory_close(&got);
}

/* A member without rows is valued as it last was, times what was declared. */
static void members_without_rows(void **state)
{
    static const struct slow slows[] = {
        { .factor = 4, .step = 3, .member = 1 },
    };
    struct trajectory got;

    (void)state;
    make(&got, slows, 1, 6);
    for (int64_t s = 3; s < 6; ++s) {
        got.shares[2 * s] = 120;
        got.shares[2 * s + 1] = 0;
        got.member_ns[2 * s] = 1200;
        got.member_ns[2 * s + 1] = 0;
    }
    assert_int_equal(trajectory_evaluate(&got), 1);
    assert_int_equal(got.phase_count, 2);
    assert_true(got.phases[1].optimum_ns == 960); /* 96 at 10, 24 at 40 */
    assert_int_equal(got.phases[1].reached, -1);
    trajectory_close(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declared_slowdowns_are_read),
        cmocka_unit_test(phases_are_valued),
        cmocka_unit_test(phases_of_odd_changes),
        cmocka_unit_test(members_without_rows),
    };

    return cmocka_run_group_tests_name("bench_trajectory", tests, NULL, NULL);
}
