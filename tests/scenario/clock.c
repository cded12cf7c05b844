/* The wall clock jumps an hour either way in the middle of a step. No
 * deadline comes early or late, since none is kept on it. */
#include <time.h>
#include "child.h"
#include "scene.h"

enum { SKIPPED = 77 };

static int32_t stay(const hdp_shard *shard, void *user)
{
    if (shard->member == 0)
        gate_pass(user);
    return 0;
}

struct jump {
    const char *file, *offset;
    int64_t after_ns, open_ns; /* then the gate opens, if above 0 */
    struct gate *gate;
};

static int write_offset(const char *path, const char *offset)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return -1;
    (void)fprintf(file, "%s\n", offset);
    return fclose(file);
}

static void *jump_later(void *arg)
{
    struct jump *jump = arg;

    sleep_ns(jump->after_ns);
    (void)write_offset(jump->file, jump->offset);
    if (jump->open_ns) {
        sleep_ns(jump->open_ns);
        gate_open(jump->gate);
    }
    return NULL;
}

/* Runs one step while the wall clock jumps; *took_ns by the monotonic one. */
static hdp_status step_over_a_jump(struct jump *jump, int64_t timeout_ns,
                                   int64_t *took_ns, int64_t *jumped_s)
{
    struct gate gate = GATE_CLOSED;
    hdp_work work = { .size = sizeof work,
                      .host = stay,
                      .user = &gate,
                      .timeout_ns = timeout_ns };
    struct scene scene = { 0 };
    const int64_t items[2] = { 1, 1 };
    pthread_t thread;
    hdp_status status = HDP_ERR_INTERNAL;
    time_t before = time(NULL);
    int64_t start_ns = now_ns();

    jump->gate = &gate;
    if (hdp_context_create(&scene.context, NULL) == HDP_OK &&
        hdp_group_create_spec(&scene.group, scene.context, "host:0-1/threads=1",
                              NULL) == HDP_OK &&
        hdp_plan_create(&scene.plan, items, 2) == HDP_OK &&
        pthread_create(&thread, NULL, jump_later, jump) == 0) {
        status = hdp_run(NULL, scene.group, scene.plan, &work);
        (void)pthread_join(thread, NULL);
    }
    *took_ns = now_ns() - start_ns;
    *jumped_s = (int64_t)(time(NULL) - before);
    gate_open(&gate);
    (void)hdp_group_abort(scene.group);
    scene_close(&scene);
    return status;
}

static int role_clock(const char *file)
{
    static const char *const offsets[] = { "+3600", "-3600", "+0" };
    int64_t took_ns, jumped_s;
    hdp_status status;
    int i;

    for (i = 0; i < 2; ++i) {
        struct jump jump = { file, offsets[i], SECOND_NS / 10, 0, NULL };
        status = step_over_a_jump(&jump, SECOND_NS / 2, &took_ns, &jumped_s);
        must(jumped_s > 3000 || jumped_s < -3000,
             "expected a jump of an hour, got %lld s", (long long)jumped_s);
        must(status == HDP_ERR_TIMEOUT, "expected a timeout, got %s",
             hdp_status_string(status));
        must(took_ns >= SECOND_NS / 2 && took_ns < 2 * SECOND_NS,
             "jump %s: expected 0.5 s, got %lld ms", offsets[i],
             (long long)(took_ns / 1000000));
    }
    for (i = 0; i < 3; ++i) {
        struct jump jump = { file, offsets[i], SECOND_NS / 20, SECOND_NS / 5,
                             NULL };
        status = step_over_a_jump(&jump, 600 * SECOND_NS, &took_ns, &jumped_s);
        must(status == HDP_OK, "jump %s: expected success, got %s", offsets[i],
             hdp_status_string(status));
        must(took_ns < 5 * SECOND_NS, "jump %s: expected 0.25 s, got %lld ms",
             offsets[i], (long long)(took_ns / 1000000));
    }
    return 0;
}

static const char *find_faketime(void)
{
    static const char *const paths[] = {
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib64/faketime/libfaketime.so.1",
        "/usr/lib/faketime/libfaketime.so.1",
        "/usr/local/lib/faketime/libfaketime.so.1",
    };
    size_t i;

    for (i = 0; i < sizeof paths / sizeof *paths; ++i)
        if (access(paths[i], R_OK) == 0)
            return paths[i];
    return NULL;
}

static void the_wall_clock_jumps(void **state)
{
    const char *library = find_faketime();
    char file[] = "/tmp/hdp-clock-XXXXXX", preload[128], stamp[64];
    struct child child = { .role = "clock",
                           .argument = file,
                           .limit_ns = 30 * SECOND_NS };
    int descriptor;

    (void)state;
    descriptor = mkstemp(file);
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    expect_number(0, write_offset(file, "+0"), "writing %s", file);
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    (void)snprintf(stamp, sizeof stamp, "FAKETIME_TIMESTAMP_FILE=%s", file);
    child.set[0] = preload;
    child.set[1] = stamp;
    child.set[2] = "FAKETIME_NO_CACHE=1";
    child.set[3] = "DONT_FAKE_MONOTONIC=1";
    child.set[4] = "FAKETIME_DONT_FAKE_MONOTONIC=1";
    expect_child(0, &child);
    (void)unlink(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_jumps),
    };

    if (argc > 2 && strcmp(argv[1], "clock") == 0)
        return role_clock(argv[2]);
    if (SANITIZED || !find_faketime()) {
        (void)printf("skipped: %s\n",
                     SANITIZED ? "a sanitizer must be loaded before libfaketime"
                               : "libfaketime is not installed");
        return SKIPPED;
    }
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
