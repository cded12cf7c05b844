/* What only the host adapter promises: cores shared out, a slowdown that costs
 * what was declared and nothing while waiting, a team whose threads leave the
 * caller's signals alone, and products that are right whoever computes them. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include "base/clock.h"
#include "device/host.h"
#include "device_fixture.h"

/* ---- enumerate ----------------------------------------------------------- */

static hdp_topology *found(const struct hdpi_ask *asks, int32_t count,
                           const struct hdpi_log *log)
{
    const struct hdpi_site site = { .log = log };
    hdp_topology *topology;

    expect_ok(hdpi_topology_new(&topology));
    expect_ok(hdpi_host_ops.enumerate(topology, asks, count, &site));
    return topology;
}

static int allowed_cores(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void expect_whole_machine(const hdp_topology *topology)
{
    const hdp_device *info = &topology->devices[0].info;

    assert_int_equal(topology->info.device_count, 1);
    assert_int_equal(info->logical_id, 0);
    assert_int_equal(info->thread_count, allowed_cores());
    assert_true(info->memory_bytes > 0);
    assert_true(info->memory_bytes <=
                sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    assert_true(info->free_bytes > 0);
    assert_true(info->free_bytes <= info->memory_bytes);
    assert_true(info->native_dtypes & 1u << HDP_F64);
    assert_true(info->slow_dtypes & 1u << HDP_BF16);
    assert_false((info->native_dtypes | info->slow_dtypes) & 1u << HDP_TF32);
}

static void alone_it_has_every_core(void **state)
{
    struct hdpi_ask all = ask_for(HDP_HOST, -1);
    hdp_topology *topology = found(NULL, 0, NULL);

    (void)state;
    expect_whole_machine(topology);
    hdpi_topology_free(topology);
    all.all = 1;
    topology = found(&all, 1, NULL);
    expect_whole_machine(topology);
    hdpi_topology_free(topology);
}

static void identity_gives_no_host_name_away(void **state)
{
    hdp_topology *topology = found(NULL, 0, NULL);
    const char *uuid = topology->devices[0].info.uuid;
    char name[256];

    (void)state;
    assert_int_equal(strlen(uuid), strlen("HOST-0123456789abcdef-0"));
    assert_memory_equal(uuid, "HOST-", 5);
    assert_int_equal(strspn(uuid + 5, "0123456789abcdef"), 16);
    assert_string_equal(uuid + 21, "-0");
    assert_int_equal(gethostname(name, sizeof name), 0);
    assert_true(!*name || !strstr(uuid, name));
    hdpi_topology_free(topology);
}

struct lines {
    int count;
    char last[256];
};

static void keep_line(int32_t level, const char *line, void *user)
{
    struct lines *lines = user;

    assert_int_equal(level, HDP_LOG_WARN);
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static void members_share_the_cores(void **state)
{
    struct lines lines = { 0 };
    struct hdpi_log log = { keep_line, &lines, HDP_LOG_WARN };
    struct hdpi_ask asks[8];
    hdp_topology *topology;
    int cores = allowed_cores();
    char text[128];

    (void)state;
    for (int i = 0; i < 8; ++i)
        asks[i] = ask_for(HDP_HOST, 255 - i);
    topology = found(asks, 2, &log);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(topology->devices[i].info.thread_count,
                         cores / 2 > 1 ? cores / 2 : 1);
    assert_int_equal(lines.count, cores < 2);
    hdpi_topology_free(topology);

    asks[0].threads = cores; /* all taken: one left for each of the others */
    lines.count = 0;
    topology = found(asks, 8, &log);
    assert_int_equal(topology->info.device_count, 8);
    assert_int_equal(topology->devices[0].info.thread_count, cores);
    assert_int_equal(topology->devices[0].info.logical_id, 255);
    assert_int_equal(topology->devices[7].info.thread_count, 1);
    assert_int_equal(lines.count, 1);
    snprintf(text, sizeof text,
             "host: 8 members with %d threads share %d cores, so their times "
             "depend on each other",
             cores + 7, cores);
    assert_string_equal(lines.last, text);
    hdpi_topology_free(topology);
}

static void ids_are_names_to_255(void **state)
{
    struct hdpi_ask asks[2] = { ask_for(HDP_HOST, 255),
                                ask_for(HDP_HOST, 256) };
    hdp_topology *topology = found(asks, 1, NULL);

    (void)state;
    expect_status(HDP_ERR_NOT_FOUND,
                  hdpi_host_ops.enumerate(topology, asks, 2, NULL));
    assert_string_equal(hdp_last_error(),
                        "no device: host:256: ids are 0 to 255");
    assert_int_equal(topology->info.device_count, 1);
    hdpi_topology_free(topology);
}

/* ---- duty ---------------------------------------------------------------- */

static struct hdpi_device *current; /* whose function is running */

struct charge {
    int64_t ns;       /* to be busy, each time */
    int64_t spent_ns; /* was busy, whatever the scheduler did meanwhile */
    int64_t idle_ns;  /* while paused */
};

static void be_busy(int64_t ns, int64_t *spent_ns)
{
    int64_t begin_ns = hdpi_clock_ns();

    while (hdpi_clock_ns() - begin_ns < ns) {
    }
    *spent_ns += hdpi_clock_ns() - begin_ns;
}

static int32_t compute(const hdp_shard *shard, void *user)
{
    struct charge *charge = user;

    (void)shard;
    be_busy(charge->ns, &charge->spent_ns);
    return 0;
}

/* Computes, waits in a reduce for as long, computes. */
static int32_t compute_and_wait(const hdp_shard *shard, void *user)
{
    struct charge *charge = user;

    compute(shard, user);
    hdpi_host_ops.pause(current);
    be_busy(charge->ns, &charge->idle_ns);
    hdpi_host_ops.resume(current);
    return compute(shard, user);
}

static double charged_ns(struct fixture *made, hdp_work_fn fn,
                         struct charge *charge)
{
    hdp_shard shard = { .size = sizeof shard, .items = 1 };
    struct hdpi_mark from = { 0 }, to = { 0 };
    int32_t code;
    double took;

    current = made->device;
    expect_ok(made->ops->mark(made->device, &from, HDPI_MARK_TIME));
    expect_ok(made->ops->launch(made->device, fn, &shard, charge, &code));
    expect_ok(made->ops->mark(made->device, &to, HDPI_MARK_TIME));
    expect_ok(made->ops->elapsed(made->device, &took, &from, &to));
    return took;
}

/* Never less than what was spent over the duty; hardly more in one of many
 * tries, since a scheduler can only lengthen. */
static void expect_duty(int32_t duty, hdp_work_fn fn, int64_t ns)
{
    struct hdpi_ask ask = ask_for(HDP_HOST, 0);
    struct fixture made;
    double took = 0, want = 0;

    ask.threads = 1;
    ask.duty_percent = duty;
    made = member_of(&ask);
    assert_int_equal(made.device->row.info.duty_percent, duty ? duty : 100);
    for (int i = 0; i < 40; ++i) {
        struct charge charge = { .ns = ns };
        took = charged_ns(&made, fn, &charge);
        want = (double)charge.spent_ns * 100 / (duty ? duty : 100) +
               (double)charge.idle_ns;
        if (took < want)
            fail_msg("expected %.0f ns at least, got %.0f", want, took);
        if (took < 1.1 * want)
            break;
    }
    if (took >= 1.1 * want)
        fail_msg("expected %.0f to %.0f ns, got %.0f", want, 1.1 * want, took);
    release(&made);
}

static void duty_costs_what_it_says(void **state)
{
    (void)state;
    expect_duty(0, compute, 500000);
    expect_duty(50, compute, 500000);  /* spins */
    expect_duty(50, compute, 5000000); /* sleeps */
    expect_duty(25, compute, 1000000);
}

static void waiting_costs_nothing(void **state)
{
    (void)state;
    expect_duty(100, compute_and_wait, 400000);
    expect_duty(50, compute_and_wait, 400000);
    expect_duty(10, compute_and_wait, 400000);
}

/* ---- team ---------------------------------------------------------------- */

enum { TEAM = 4, ROUNDS = 300 };

struct tally {
    int64_t calls[TEAM]; /* each written by one thread */
    pthread_t threads[TEAM];
    int blocked[TEAM];
};

static void tally_part(void *arg, int32_t index, int32_t count)
{
    struct tally *tally = arg;
    sigset_t set;

    assert_int_equal(count, TEAM);
    tally->calls[index]++;
    tally->threads[index] = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    tally->blocked[index] = sigismember(&set, SIGTERM) &&
                            sigismember(&set, SIGINT) &&
                            sigismember(&set, SIGCHLD);
}

static void every_thread_does_its_part(void **state)
{
    struct hdpi_host_team team = { 0 };
    struct tally tally = { 0 };

    (void)state;
    for (int again = 0; again < 2; ++again) {
        expect_ok(hdpi_host_team_make(&team, TEAM));
        expect_ok(hdpi_host_team_make(&team, TEAM + 1)); /* there already */
        for (int i = 0; i < ROUNDS; ++i)
            hdpi_host_team_run(&team, tally_part, &tally);
        hdpi_host_team_end(&team);
    }
    for (int i = 0; i < TEAM; ++i) {
        assert_int_equal(tally.calls[i], 2 * ROUNDS);
        assert_int_equal(pthread_equal(tally.threads[i], pthread_self()) != 0,
                         i == 0);
        assert_int_equal(tally.blocked[i], i > 0);
    }
    hdpi_host_team_end(&team);
}

static void one_part(void *arg, int32_t index, int32_t count)
{
    assert_int_equal(index, 0);
    assert_int_equal(count, 1);
    ++*(int *)arg;
}

static void a_team_of_one_needs_no_thread(void **state)
{
    struct hdpi_host_team team = { 0 };
    int calls = 0;

    (void)state;
    expect_ok(hdpi_host_team_make(&team, 1));
    assert_int_equal(team.made, 0);
    hdpi_host_team_run(&team, one_part, &calls);
    hdpi_host_team_end(&team);
    hdpi_host_team_run(&team, one_part, &calls); /* never made */
    assert_int_equal(calls, 2);
}

/* CALLER mode: the member may use its threads' count, but makes none. */
static void serial_use_makes_no_thread(void **state)
{
    struct hdpi_ask ask = ask_for(HDP_HOST, 0);
    struct hdpi_probe probe = { .kind = HDP_PROBE_GEMM,
                                .dtype = HDP_F32,
                                .width = 32 };
    struct fixture made;

    (void)state;
    ask.threads = 3;
    made = member_of(&ask);
    made.device->serial = 1;
    expect_ok(made.ops->probe_open(made.device, &probe));
    assert_int_equal(hdpi_host_from(made.device)->team.made, 0);
    release(&made);
    made = member_of(&ask);
    assert_int_equal(hdpi_host_from(made.device)->team.made, 0);
    expect_ok(made.ops->probe_open(made.device, &probe));
    assert_int_equal(hdpi_host_from(made.device)->team.made, 2);
    release(&made);
}

/* ---- products ------------------------------------------------------------ */

enum { M = 23, N = 41, K = 67 };

/* Whole numbers below 2^24 in every partial sum: any order gives the same. */
static void products_are_right(void **state)
{
    static double a[M * K], b[K * N], c[M * N];
    static float a32[M * K], b32[K * N], c32[M * N];
    struct hdpi_host_blas none = { 0 }, found_blas;
    const struct hdpi_host_blas *kinds[] = { &none, &found_blas };

    (void)state;
    hdpi_host_blas_open(&found_blas);
    for (int i = 0; i < M * K; ++i)
        a32[i] = (float)(a[i] = i * 31 % 101 - 50);
    for (int i = 0; i < K * N; ++i)
        b32[i] = (float)(b[i] = i * 17 % 89 - 44);
    for (int kind = 0; kind < 2; ++kind) {
        hdpi_host_gemm_f64(kinds[kind], M, N, K, a, b, c);
        hdpi_host_gemm_f32(kinds[kind], M, N, K, a32, b32, c32);
        for (int i = 0; i < M * N; ++i) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += a[i / N * K + k] * b[k * N + i % N];
            assert_true(c[i] == sum);
            assert_true((double)c32[i] == sum);
        }
    }
    hdpi_host_blas_close(&found_blas);
    hdpi_host_blas_close(&found_blas);
    hdpi_host_blas_close(&none);
}

enum { WIDTH = 96, ROUNDS_EACH = 20 };

struct caller {
    const struct hdpi_host_blas *blas;
    int base, wrong;
};

/* Rows of ones times columns of a constant: each cell is WIDTH * constant. */
static void *multiply(void *arg)
{
    struct caller *caller = arg;
    size_t cells = WIDTH * WIDTH;
    float *data = malloc(3 * cells * sizeof *data);
    float *a = data, *b = data + cells, *c = b + cells;

    for (int round = 0; data && round < ROUNDS_EACH; ++round) {
        for (size_t i = 0; i < cells; ++i) {
            a[i] = 1;
            b[i] = (float)(caller->base + round);
        }
        hdpi_host_gemm_f32(caller->blas, WIDTH, WIDTH, WIDTH, a, b, c);
        for (size_t i = 0; i < cells; ++i)
            caller->wrong += c[i] != WIDTH * (float)(caller->base + round);
    }
    caller->wrong += !data;
    free(data);
    return NULL;
}

/* A serial library may be built without any lock around its buffers. */
static void four_callers_do_not_mix(void **state)
{
    struct hdpi_host_blas blas;
    struct caller callers[4];
    pthread_t threads[4];

    (void)state;
    hdpi_host_blas_open(&blas);
    for (int i = 0; i < 4; ++i) {
        callers[i] = (struct caller){ &blas, 1000 * i, 0 };
        assert_int_equal(
            pthread_create(&threads[i], NULL, multiply, &callers[i]), 0);
    }
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(callers[i].wrong, 0);
    hdpi_host_blas_close(&blas);
}

static void blas_says_what_it_is(void **state)
{
    struct hdpi_library about;

    (void)state;
    hdpi_host_blas_describe(&about);
    printf("openblas: %s %s\n", about.path, about.note);
    assert_string_equal(about.name, "openblas");
    if (about.path[0]) {
        assert_int_equal(access(about.path, R_OK), 0);
        assert_memory_equal(about.note, "serial, ", 8);
    } else {
        assert_memory_equal(about.note, "own kernel used: ", 17);
    }
}

static void products_lack_other_dtypes(void **state)
{
    struct hdpi_ask ask = ask_for(HDP_HOST, 0);
    struct fixture made = member_of(&ask);
    struct hdpi_probe probe = { .kind = HDP_PROBE_GEMM,
                                .dtype = HDP_TF32,
                                .width = 32 };

    (void)state;
    expect_status(HDP_ERR_UNSUPPORTED,
                  made.ops->probe_open(made.device, &probe));
    expect_error("host:0 has no products in dtype 2");
    probe.dtype = HDP_F32;
    probe.width = 0;
    expect_status(HDP_ERR_ARGUMENT, made.ops->probe_open(made.device, &probe));
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_has_every_core),
        cmocka_unit_test(identity_gives_no_host_name_away),
        cmocka_unit_test(members_share_the_cores),
        cmocka_unit_test(ids_are_names_to_255),
        cmocka_unit_test(duty_costs_what_it_says),
        cmocka_unit_test(waiting_costs_nothing),
        cmocka_unit_test(every_thread_does_its_part),
        cmocka_unit_test(a_team_of_one_needs_no_thread),
        cmocka_unit_test(serial_use_makes_no_thread),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(four_callers_do_not_mix),
        cmocka_unit_test(blas_says_what_it_is),
        cmocka_unit_test(products_lack_other_dtypes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
