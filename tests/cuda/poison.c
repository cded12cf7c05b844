/* A GPU that poisons its process: every group says so from then on and makes no
 * call of CUDA, health is red, what can be given back is, and the process ends
 * as it wants to. Each case in a process of its own. */
#include <math.h>
#include <stdlib.h>
#include <hdp/lease.h>
#include "looked.h"
#include "scenario/child.h"
#include "scenario/job.h"

enum { CALLS = 100, OWN_CODE = 42, ROWS = 16 };

static const char uuid[] = "GPU-"; /* every GPU's begins so */

struct room {
    struct looked own;
    hdp_lease *lease; /* of the device that falls ill */
    hdp_group *ill, *well, *host;
    hdp_plan *plan;
    hdp_device device; /* the ill one */
    struct job job;
};

/* Locks are in a folder of the test's. */
static hdp_status claim(hdp_lease **out, hdp_context *context)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;

    options.directory = getenv("POISON_LEASES");
    return hdp_lease_acquire(out, context, "cuda:1", &options);
}

static int make(struct room *room, int32_t threads)
{
    const hdp_group_options options = { .size = sizeof options,
                                        .threads = threads };
    const int32_t one = 1, zero = 0;
    const int64_t items = ROWS;

    looked_start("machine=twin", NULL);
    looked_context(&room->own);
    must(claim(&room->lease, room->own.context) == HDP_OK, "lease: %s",
         hdp_last_error());
    must(hdp_group_create(&room->ill, room->own.context, &one, 1, &options) ==
             HDP_OK,
         "group [1]: %s", hdp_last_error());
    must(hdp_group_create(&room->well, room->own.context, &zero, 1, NULL) ==
             HDP_OK,
         "group [0]: %s", hdp_last_error());
    must(hdp_group_create_spec(&room->host, room->own.context, "host:0",
                               NULL) == HDP_OK,
         "host group: %s", hdp_last_error());
    must(hdp_plan_create(&room->plan, &items, 1) == HDP_OK, "plan");
    room->device = (hdp_device){ .size = sizeof room->device };
    must(hdp_group_device(&room->device, room->ill, 0) == HDP_OK, "device");
    job_open(&room->job, ROWS, 1);
    job_reset(&room->job);
    must(hdp_run(NULL, room->ill, room->plan, &room->job.work) == HDP_OK,
         "a step before: %s", hdp_last_error());
    return 0;
}

static int role_taker(void)
{
    struct looked own;
    hdp_lease *lease;

    looked_start("machine=twin", NULL);
    looked_context(&own);
    must(claim(&lease, own.context) == HDP_OK, "claim: %s", hdp_last_error());
    hdp_lease_destroy(lease);
    looked_close(&own);
    return OWN_CODE;
}

/* What this process has given back another one can have while it lives. */
static int others_get_the_lease(struct room *room)
{
    struct child taker = { .role = "taker",
                           .argument = "",
                           .limit_ns = 10 * SECOND_NS };

    hdp_lease_destroy(room->lease);
    must(child_run(&taker) == 0 && taker.code == OWN_CODE, "taker: %d, %s",
         taker.code, taker.text);
    return 0;
}

/* One call of the API, in turn; all but the first few take any group. */
static hdp_status call(struct room *room, int i)
{
    hdp_group *const groups[] = { room->ill, room->well, room->host };
    hdp_group *group = groups[i % 3], *made = NULL;
    hdp_topology *topology = NULL;
    hdp_profile *profile = NULL;
    hdp_context *context = NULL;
    void *stream = NULL;
    int32_t reached;
    hdp_group_info info = { .size = sizeof info };

    switch (i / 3 % 9) {
    case 0:
        return hdp_run(NULL, group, room->plan, &room->job.work);
    case 1:
        return hdp_all_reduce(group, room->plan, &room->job.buckets[0]);
    case 2:
        return hdp_calibrate(&profile, group, NULL);
    case 3:
        return hdp_group_wait(NULL, group, 1);
    case 4:
        return hdp_group_poll(&reached, group, 1, 1, 0);
    case 5:
        return hdp_group_get(&info, group);
    case 6:
        return hdp_discover(&topology, room->own.context, NULL);
    case 7:
        return hdp_group_create_spec(&made, room->own.context, "host:1", NULL);
    default:
        return i % 2 ? hdp_group_stream(&stream, group, 0)
                     : hdp_context_create(&context, NULL);
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int all_say_the_same(struct room *room, const char *first)
{
    int64_t took[CALLS], calls = fake_calls(NULL);

    for (int i = 0; i < CALLS; ++i) {
        int64_t start = now_ns();
        hdp_status status = call(room, i);
        took[i] = now_ns() - start;
        must(status == HDP_ERR_FATAL, "call %d: %s (%s)", i,
             hdp_status_string(status), hdp_last_error());
        must(strcmp(first, hdp_last_error()) == 0, "call %d says %s, not %s", i,
             hdp_last_error(), first);
    }
    must(fake_calls(NULL) == calls, "%d calls of CUDA",
         (int)(fake_calls(NULL) - calls));
    qsort(took, CALLS, sizeof *took, by_time);
    must(took[CALLS / 2] < 1000000, "median %d ns", (int)took[CALLS / 2]);
    return 0;
}

static int health_is_red(struct room *room, const char *first)
{
    hdp_group *const groups[] = { room->ill, room->well, room->host };

    for (int i = 0; i < 3; ++i) {
        hdp_error health = { .size = sizeof health };
        must(hdp_group_health(&health, groups[i]) == HDP_ERR_FATAL,
             "health of group %d", i);
        must(health.status == HDP_ERR_FATAL &&
                 health.severity == HDP_PROCESS_LOST,
             "group %d: status %d, severity %d", i, (int)health.status,
             (int)health.severity);
        must(strcmp(health.text, first) == 0, "group %d: %s", i, health.text);
    }
    return 0;
}

static int leave(struct room *room)
{
    int64_t calls = fake_calls(NULL), start = now_ns();

    hdp_plan_destroy(room->plan);
    hdp_group_destroy(room->ill);
    hdp_group_destroy(room->well);
    hdp_group_destroy(room->host);
    hdp_context_destroy(room->own.context);
    must(fake_calls(NULL) == calls, "leaving made %d calls of CUDA",
         (int)(fake_calls(NULL) - calls));
    must(now_ns() - start < SECOND_NS, "leaving took %d ms",
         (int)((now_ns() - start) / 1000000));
    must(!fake_breach(), "%s", fake_breach());
    return OWN_CODE;
}

/* The argument: the call in which it shows, and the code. */
static int role_poisoned(const char *argument, int32_t threads)
{
    struct room room;
    char words[64], first[256];
    hdp_error error = { .size = sizeof error };
    hdp_status status;
    int bad = make(&room, threads);

    if (bad)
        return bad;
    (void)snprintf(words, sizeof words, "sticky=%s", argument);
    must(fake_plant(words) == 0, "%s: %s", words, fake_words());
    job_reset(&room.job);
    status = hdp_run(NULL, room.ill, room.plan, &room.job.work);
    must(status == HDP_ERR_FATAL, "%s: %s (%s)", argument,
         hdp_status_string(status), hdp_last_error());
    (void)hdp_error_get(&error);
    must(error.severity == HDP_PROCESS_LOST, "severity %d",
         (int)error.severity);
    must(error.vendor_code == atoi(strrchr(argument, ':') + 1),
         "vendor's code %d", (int)error.vendor_code);
    (void)snprintf(first, sizeof first, "%s", hdp_last_error());
    must(strstr(first, uuid) && strstr(first, room.device.uuid),
         "device not named: %s", first);
    must(strstr(first, "seen at") && strstr(first, "caused at or before"),
         "not told apart: %s", first);
    bad = all_say_the_same(&room, first);
    bad = bad ? bad : health_is_red(&room, first);
    bad = bad ? bad : others_get_the_lease(&room);
    return bad ? bad : leave(&room);
}

static int role_memory(const char *argument)
{
    struct room room;
    hdp_error health = { .size = sizeof health };
    hdp_status status;
    int bad = make(&room, HDP_THREADS_MEMBER);

    (void)argument;
    if (bad)
        return bad;
    must(hdp_group_trim(room.ill) == HDP_OK, "trim");
    must(fake_plant("fail=cudaMalloc:1:2") == 0, "%s", fake_words());
    status = hdp_run(NULL, room.ill, room.plan, &room.job.work);
    must(status == HDP_ERR_MEMORY, "%s (%s)", hdp_status_string(status),
         hdp_last_error());
    must(hdp_group_health(&health, room.ill) == HDP_OK, "health");
    job_reset(&room.job);
    must(hdp_run(NULL, room.ill, room.plan, &room.job.work) == HDP_OK,
         "again: %s", hdp_last_error());
    must(!job_wrong(&room.job), "%s", job_wrong(&room.job));
    hdp_lease_destroy(room.lease);
    hdp_plan_destroy(room.plan);
    hdp_group_destroy(room.ill);
    hdp_group_destroy(room.well);
    hdp_group_destroy(room.host);
    hdp_context_destroy(room.own.context);
    must(!fake_breach(), "%s", fake_breach());
    must(!fake_alive()[0], "left: %s", fake_alive());
    return OWN_CODE;
}

static void play(const char *role, const char *argument)
{
    struct child child = { .role = role,
                           .argument = argument,
                           .limit_ns = 30 * SECOND_NS };

    expect_child(OWN_CODE, &child);
}

/* F19, O14. */
static void a_bad_kernel_ends_the_use_of_cuda(void **state)
{
    (void)state;
    play("member", "cudaEventRecord:2:700");
    play("member", "cudaEventQuery:1:700");
    play("member", "cudaMemcpyAsync:1:719");
    play("member", "cudaEventRecord:1:702");
    play("caller", "cudaEventRecord:2:700");
    play("caller", "cudaMemcpyAsync:1:710");
}

/* F20. */
static void hardware_that_fails_is_named(void **state)
{
    (void)state;
    play("member", "cudaEventRecord:1:214");
    play("member", "cudaEventRecord:1:220");
    play("member", "cudaEventRecord:1:226");
}

/* F21: Xid 79 and its kin have no code of their own. */
static void a_device_lost_in_a_step(void **state)
{
    (void)state;
    play("member", "cudaEventRecord:2:999");
    play("caller", "cudaEventRecord:2:999");
}

static void want_of_memory_is_no_poison(void **state)
{
    (void)state;
    play("memory", "");
}

static char folder[] = "/tmp/hdp-poison-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder) || setenv("POISON_LEASES", folder, 1);
}

static int drop_folder(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_kernel_ends_the_use_of_cuda),
        cmocka_unit_test(hardware_that_fails_is_named),
        cmocka_unit_test(a_device_lost_in_a_step),
        cmocka_unit_test(want_of_memory_is_no_poison),
    };

    if (count == 3 && strcmp(arguments[1], "member") == 0)
        return role_poisoned(arguments[2], HDP_THREADS_MEMBER);
    if (count == 3 && strcmp(arguments[1], "caller") == 0)
        return role_poisoned(arguments[2], HDP_THREADS_CALLER);
    if (count == 3 && strcmp(arguments[1], "memory") == 0)
        return role_memory(arguments[2]);
    if (count == 3 && strcmp(arguments[1], "taker") == 0)
        return role_taker();
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
