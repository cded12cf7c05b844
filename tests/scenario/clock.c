/* The wall clock jumps an hour either way in the middle of a step. No
 * deadline comes early or late, since none is kept on it. */
#include <time.h>
#include "faketime.h"
#include "scene.h"

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

static void *jump_later(void *arg)
{
    struct jump *jump = arg;

    sleep_ns(jump->after_ns);
    (void)faketime_set(jump->file, jump->offset);
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

int main(int argc, char **argv)
{
    return faketime_main("clock", argc, argv, role_clock);
}
