/* Independent batches: placed where they end first, by a right profile and by
 * one that is wrong at first; limits; ranks that fail; many threads. Time is
 * simulated: hours of it pass in milliseconds of the balancer's own clock. */
#include <pthread.h>
#include <stdatomic.h>
#include "balance_sim.h"

static hdp_balancer *open_speeds(const double *item_ns, int32_t count,
                                 hdp_split_options *options)
{
    struct sim sim = { 0 };
    hdp_balancer *balancer;

    for (int32_t r = 0; r < count; r++)
        sim_line(&sim, 0, item_ns[r]);
    hdp_profile *profile = sim_profile(&sim);
    expect_ok(hdp_balancer_create(&balancer, profile, options));
    hdp_profile_destroy(profile);
    return balancer;
}

/* ---- makespan ------------------------------------------------------------------ */

enum { REQUESTS = 10000, FLYING = 64, MEMBERS = 2 };

static const double truth_ns[MEMBERS] = { 1e9, 1e9 / .36 };

struct flight {
    uint64_t ticket;
    double start_ns, end_ns;
};

struct factory {
    struct flight flying[FLYING];
    int count;
    double free_ns[MEMBERS]; /* when a member has worked off all it has */
    double now_ns;
};

/* The next to end does. */
static void land(struct factory *factory, hdp_balancer *balancer)
{
    int first = 0;

    for (int i = 1; i < factory->count; i++)
        if (factory->flying[i].end_ns < factory->flying[first].end_ns)
            first = i;
    struct flight flight = factory->flying[first];
    factory->flying[first] = factory->flying[--factory->count];
    factory->now_ns = flight.end_ns;
    if (balancer)
        expect_ok(
            hdp_balancer_done(balancer, flight.ticket,
                              (int64_t)(flight.end_ns - flight.start_ns)));
}

static void take_off(struct factory *factory, int32_t rank, uint64_t ticket,
                     int64_t items)
{
    double start = factory->free_ns[rank];
    struct flight *flight = &factory->flying[factory->count++];

    start = start > factory->now_ns ? start : factory->now_ns;
    flight->ticket = ticket;
    flight->start_ns = start;
    flight->end_ns =
        start + truth_ns[rank] * (double)items * (1 + .03 * sim_real(-1, 1));
    factory->free_ns[rank] = flight->end_ns;
}

/* Without a balancer: in turn. */
static double makespan(hdp_balancer *balancer, const int64_t *sizes)
{
    struct factory factory = { .count = 0 };

    for (int i = 0; i < REQUESTS; i++) {
        int32_t rank = i % MEMBERS;
        uint64_t ticket = 0;
        if (factory.count == FLYING)
            land(&factory, balancer);
        if (balancer)
            expect_ok(hdp_balancer_place(&rank, &ticket, balancer, sizes[i]));
        take_off(&factory, rank, ticket, sizes[i]);
    }
    while (factory.count > 0)
        land(&factory, balancer);
    return factory.now_ns;
}

static void requests_end_together(void **state)
{
    static const double profiles[][MEMBERS] = { { 1e9, 1e9 / .36 },
                                                { 1e9, 1e9 },
                                                { 1e7, 1e7 / 3 } };
    static int64_t sizes[REQUESTS];
    double sum = 0, rate = 0, largest = 0;

    (void)state;
    sim_seed(1);
    for (int i = 0; i < REQUESTS; i++) {
        sizes[i] = sim_draw(1, 1000);
        sum += (double)sizes[i];
        largest = (double)sizes[i] > largest ? (double)sizes[i] : largest;
    }
    for (int r = 0; r < MEMBERS; r++)
        rate += 1 / truth_ns[r];
    double bound = sum / rate;
    bound = bound > largest * truth_ns[0] ? bound : largest * truth_ns[0];
    double in_turn = makespan(NULL, sizes) / bound;
    for (int p = 0; p < 3; p++) {
        hdp_balancer *balancer = open_speeds(profiles[p], MEMBERS, NULL);
        double got = makespan(balancer, sizes) / bound;
        print_message("profile %d: %.4f of the bound; in turn: %.4f\n", p, got,
                      in_turn);
        if (got > 1.03)
            fail_msg("profile %d: expected 1.03 of the bound at most, got "
                     "%.4f; in turn it is %.4f",
                     p, got, in_turn);
        hdp_balancer_destroy(balancer);
    }
}

/* ---- limits ---------------------------------------------------------------------- */

static void place_at(hdp_balancer *balancer, int64_t items, int32_t want,
                     uint64_t *ticket)
{
    int32_t rank;

    expect_ok(hdp_balancer_place(&rank, ticket, balancer, items));
    expect_number(want, rank, "rank of %lld items", (long long)items);
}

static void full_ranks_get_nothing_more(void **state)
{
    static const double item_ns[] = { 1e9, 3e9 };
    static const int64_t max[] = { 10, 4 };
    hdp_split_options options = { .size = sizeof options, .max_items = max };
    hdp_balancer *balancer = open_speeds(item_ns, 2, &options);
    hdp_error error = { .size = sizeof error };
    uint64_t a, b, c, none;
    int32_t rank;

    (void)state;
    place_at(balancer, 8, 0, &a);
    place_at(balancer, 4, 1, &b); /* 12 there, 12 here; the first is full */
    expect_status(HDP_ERR_BUSY, hdp_balancer_place(&rank, &none, balancer, 3));
    expect_number(-1, rank, "rank of a refused batch");
    expect_number(0, (int64_t)none, "ticket of a refused batch");
    place_at(balancer, 2, 0, &c);
    expect_status(HDP_ERR_CAPACITY,
                  hdp_balancer_place(&rank, &none, balancer, 11));
    expect_ok(hdp_error_get(&error));
    expect_number(10, error.largest_total, "largest that could be placed");
    expect_ok(hdp_balancer_done(balancer, a, (int64_t)8e9));
    place_at(balancer, 8, 0, &a);
    expect_ok(hdp_balancer_limit(balancer, 0, 0));
    expect_status(HDP_ERR_CAPACITY,
                  hdp_balancer_place(&rank, &none, balancer, 5));
    expect_status(HDP_ERR_BUSY, hdp_balancer_place(&rank, &none, balancer, 1));
    expect_ok(hdp_balancer_done(balancer, b, -1));
    place_at(balancer, 4, 1, &b);
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_balancer_place(&rank, &none, balancer, 0));
    hdp_balancer_destroy(balancer);
}

static void memory_counts_what_flies(void **state)
{
    hdp_model models[2];
    hdp_split_options options = { .size = sizeof options,
                                  .item_bytes = 10,
                                  .fixed_bytes = 100,
                                  .keep_free_bytes = 50 };
    hdp_profile *profile;
    hdp_balancer *balancer;
    uint64_t ticket;
    int32_t rank;

    (void)state;
    for (int r = 0; r < 2; r++)
        models[r] = (hdp_model){ .size = sizeof models[r],
                                 .item_ns = 1e9 * (r + 1),
                                 .memory_bytes = r ? 1000 : 259 };
    expect_ok(hdp_profile_create(&profile, models, 2));
    expect_ok(hdp_balancer_create(&balancer, profile, &options));
    place_at(balancer, 10, 0, &ticket); /* (259 - 50 - 100) / 10 */
    place_at(balancer, 85, 1, &ticket);
    expect_status(HDP_ERR_BUSY,
                  hdp_balancer_place(&rank, &ticket, balancer, 1));
    expect_status(HDP_ERR_CAPACITY,
                  hdp_balancer_place(&rank, &ticket, balancer, 86));
    hdp_balancer_destroy(balancer);
    hdp_profile_destroy(profile);
}

static void tickets_end_once(void **state)
{
    static const double item_ns[] = { 1e9 };
    hdp_balancer *balancer = open_speeds(item_ns, 1, NULL);
    uint64_t tickets[300];

    (void)state;
    for (int i = 0; i < 300; i++)
        place_at(balancer, i + 1, 0, &tickets[i]);
    for (int i = 299; i >= 0; i--) {
        expect_ok(hdp_balancer_done(balancer, tickets[i], 1000000000));
        expect_status(HDP_ERR_NOT_FOUND,
                      hdp_balancer_done(balancer, tickets[i], 1000000000));
    }
    expect_status(HDP_ERR_NOT_FOUND, hdp_balancer_done(balancer, 0, 1));
    expect_status(HDP_ERR_NOT_FOUND, hdp_balancer_done(balancer, 301, 1));
    expect_status(HDP_ERR_ARGUMENT, hdp_balancer_done(balancer, 301, -2));
    hdp_balancer_destroy(balancer);
}

/* ---- ranks that fail or are slow --------------------------------------------------- */

/* Places one batch after another, each ended at once; returns how many of
 * `count` went to rank 0, which is `slow` times as slow, or fails below 0. */
static int visits(hdp_balancer *balancer, int count, double slow)
{
    int visits = 0;

    for (int i = 0; i < count; i++) {
        int32_t rank;
        uint64_t ticket;
        expect_ok(hdp_balancer_place(&rank, &ticket, balancer, 100));
        visits += rank == 0;
        expect_ok(hdp_balancer_done(
            balancer, ticket,
            rank == 0 ? slow < 0 ? -1 : (int64_t)(slow * 1e11) : 200000000000));
    }
    return visits;
}

/* The faster of two gets everything while it is idle each time; when it fails
 * it gets hardly anything, and when it is well again it is found so. */
static void a_failing_rank_draws_nothing(void **state)
{
    static const double item_ns[] = { 1e9, 2e9 };
    hdp_balancer *balancer = open_speeds(item_ns, 2, NULL);

    (void)state;
    int got = visits(balancer, 100, 1);
    if (got < 98)
        fail_msg("well: expected nearly all of 100, got %d", got);
    got = visits(balancer, 2000, -1);
    if (got < 1 || got > 20)
        fail_msg("failing: expected 1 to 20 of 2,000, got %d", got);
    hdp_balancer_destroy(balancer);
}

/* Ten times as slow for a while, then as before: it is tried now and then, at
 * half a percent of the time, so some thousand batches pass until it is. */
static void a_slow_rank_is_found_again(void **state)
{
    static const double item_ns[] = { 1e9, 2e9 };
    hdp_balancer *balancer = open_speeds(item_ns, 2, NULL);

    (void)state;
    (void)visits(balancer, 100, 1);
    int got = visits(balancer, 3000, 10);
    if (got < 4 || got > 30)
        fail_msg("slow: expected 4 to 30 of 3,000, got %d", got);
    (void)visits(balancer, 6000, 1);
    got = visits(balancer, 100, 1);
    if (got < 98)
        fail_msg("well again: expected nearly all of 100, got %d", got);
    hdp_balancer_destroy(balancer);
}

/* ---- threads -------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 3000, HELD = 5, CAP = 50 };

struct hammer {
    hdp_balancer *balancer;
    _Atomic int64_t flying[MEMBERS]; /* never more than the cap in truth */
    _Atomic int wrong;
    _Atomic int64_t placed;
};

struct worker {
    struct hammer *hammer;
    int number;
};

/* Takes from the count before the balancer may give it to another. */
static void end_batch(struct hammer *hammer, uint64_t ticket, int32_t rank,
                      int64_t items, int failed)
{
    atomic_fetch_sub(&hammer->flying[rank], items);
    if (hdp_balancer_done(hammer->balancer, ticket,
                          failed ? -1 : items * 1000) != HDP_OK)
        atomic_store(&hammer->wrong, 1);
    if (hdp_balancer_done(hammer->balancer, ticket, 1) != HDP_ERR_NOT_FOUND)
        atomic_store(&hammer->wrong, 2);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct hammer *hammer = worker->hammer;
    uint64_t tickets[HELD] = { 0 };
    int64_t sizes[HELD] = { 0 };
    int32_t ranks[HELD] = { 0 };

    for (int i = 0; i < ROUNDS; i++) {
        int at = i % HELD;
        int64_t items = 1 + (i * 7 + worker->number) % 9;
        if (tickets[at])
            end_batch(hammer, tickets[at], ranks[at], sizes[at], i % 50 == 0);
        tickets[at] = 0;
        hdp_status status = hdp_balancer_place(&ranks[at], &tickets[at],
                                               hammer->balancer, items);
        sizes[at] = items;
        if (status == HDP_OK) {
            atomic_fetch_add(&hammer->placed, 1);
            if (atomic_fetch_add(&hammer->flying[ranks[at]], items) + items >
                CAP)
                atomic_store(&hammer->wrong, 3);
        } else if (status != HDP_ERR_BUSY) {
            atomic_store(&hammer->wrong, 4);
        }
        if (i % 100 == 0) {
            hdp_profile *profile;
            if (hdp_balancer_profile(&profile, hammer->balancer) != HDP_OK)
                atomic_store(&hammer->wrong, 5);
            hdp_profile_destroy(profile);
        }
    }
    for (int at = 0; at < HELD; at++)
        if (tickets[at])
            end_batch(hammer, tickets[at], ranks[at], sizes[at], 0);
    return NULL;
}

static void many_threads_place_and_end(void **state)
{
    static const double item_ns[] = { 1000, 1500 };
    static const int64_t max[] = { CAP, CAP };
    hdp_split_options options = { .size = sizeof options, .max_items = max };
    struct hammer hammer = { .balancer = open_speeds(item_ns, 2, &options) };
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ &hammer, i };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (int i = 0; i < 200; i++) { /* steps go on meanwhile */
        hdp_plan *plan;
        expect_ok(hdp_balancer_plan(&plan, hammer.balancer, 60 + i % 2));
        hdp_plan_destroy(plan);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    expect_number(0, atomic_load(&hammer.wrong), "what went wrong");
    if (atomic_load(&hammer.placed) < THREADS * ROUNDS / 4)
        fail_msg("expected a quarter of the batches placed, got %lld",
                 (long long)atomic_load(&hammer.placed));
    uint64_t ticket; /* all ranks are empty again */
    int32_t rank;
    for (int r = 0; r < 2; r++)
        expect_ok(hdp_balancer_place(&rank, &ticket, hammer.balancer, CAP));
    hdp_balancer_destroy(hammer.balancer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_end_together),
        cmocka_unit_test(full_ranks_get_nothing_more),
        cmocka_unit_test(memory_counts_what_flies),
        cmocka_unit_test(tickets_end_once),
        cmocka_unit_test(a_failing_rank_draws_nothing),
        cmocka_unit_test(a_slow_rank_is_found_again),
        cmocka_unit_test(many_threads_place_and_end),
    };

    return cmocka_run_group_tests_name("dynamic", tests, NULL, NULL);
}
