/* What goes wrong inside a function of the caller's, on a real GPU: memory that
 * there is not, a wild store, a trap. Poison ends its process, so each case is
 * one of its own. */
#include <cuda.h>
#include <dlfcn.h>
#include "real.h"
#include "scenario/child.h"

enum { ROWS = 32, OWN_CODE = 42, CALLS = 100 };

static const int64_t items[] = { 20, 12 };

/* By the driver's own compiler, for any GPU. */
static const char image[] = ".version 6.0\n"
                            ".target sm_60\n"
                            ".address_size 64\n"
                            ".visible .entry wild()\n"
                            "{\n"
                            "    .reg .u64 %at;\n"
                            "    .reg .u32 %what;\n"
                            "    mov.u64 %at, 16;\n"
                            "    mov.u32 %what, 1;\n"
                            "    st.global.u32 [%at], %what;\n"
                            "    ret;\n"
                            "}\n"
                            ".visible .entry trapped()\n"
                            "{\n"
                            "    trap;\n"
                            "}\n";

/* ---- a kernel of ours, without nvcc ----------------------------------------- */

static void *driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    return driver ? dlsym(driver, name) : NULL;
}

struct bad {
    const char *kernel;
    int32_t member; /* who launches it */
};

static int32_t bad_function(const hdp_shard *shard, void *user)
{
    CUresult (*load)(CUlibrary *, const void *, CUjit_option *, void **,
                     unsigned, CUlibraryOption *, void **, unsigned);
    CUresult (*find)(CUkernel *, CUlibrary, const char *);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, unsigned, CUstream, void **,
                       void **);
    const struct bad *bad = user;
    void *functions[3];
    CUlibrary library;
    CUkernel kernel;

    if (shard->member != bad->member)
        return 0;
    functions[0] = driver_function("cuLibraryLoadData");
    functions[1] = driver_function("cuLibraryGetKernel");
    functions[2] = driver_function("cuLaunchKernel");
    if (!functions[0] || !functions[1] || !functions[2])
        return 1;
    memcpy(&load, &functions[0], sizeof load);
    memcpy(&find, &functions[1], sizeof find);
    memcpy(&launch, &functions[2], sizeof launch);
    if (load(&library, image, NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS)
        return 2;
    if (find(&kernel, library, bad->kernel) != CUDA_SUCCESS)
        return 3;
    return launch((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0,
                  (CUstream)shard->stream, NULL, NULL) == CUDA_SUCCESS
               ? 0
               : 4;
}

/* ---- poison ----------------------------------------------------------------- */

struct room {
    hdp_context *context;
    hdp_group *group, *host;
    hdp_plan *plan, *one;
    struct job job;
};

static int open_room(struct room *room, const char *spec)
{
    const int64_t one = ROWS;

    must(hdp_context_create(&room->context, NULL) == HDP_OK, "context");
    must(hdp_group_create_spec(&room->group, room->context, spec, NULL) ==
             HDP_OK,
         "group: %s", hdp_last_error());
    must(hdp_group_create_spec(&room->host, room->context, "host:0", NULL) ==
             HDP_OK,
         "host group: %s", hdp_last_error());
    must(hdp_plan_create(&room->plan, items, 2) == HDP_OK, "plan");
    must(hdp_plan_create(&room->one, &one, 1) == HDP_OK, "plan of one");
    job_open(&room->job, ROWS, 2);
    must(hdp_run(NULL, room->group, room->plan, &room->job.work) == HDP_OK,
         "a step before: %s", hdp_last_error());
    must(!job_wrong(&room->job), "%s", job_wrong(&room->job));
    return 0;
}

/* Everybody says the same at once, whoever is asked. */
static int refused_from_now_on(struct room *room, const char *first)
{
    hdp_error health = { .size = sizeof health };
    hdp_group *made = NULL;
    int64_t start = now_ns();

    for (int i = 0; i < CALLS; ++i) {
        hdp_group *group = i % 2 ? room->group : room->host;
        hdp_status status =
            i % 3 ? hdp_run(NULL, group, i % 2 ? room->plan : room->one,
                            &room->job.work)
                  : hdp_group_create_spec(&made, room->context, "cuda:0", NULL);
        must(status == HDP_ERR_FATAL && strcmp(hdp_last_error(), first) == 0,
             "call %d: %s (%s)", i, hdp_status_string(status),
             hdp_last_error());
    }
    must(now_ns() - start < SECOND_NS, "%d refusals took %d ms", CALLS,
         (int)((now_ns() - start) / 1000000));
    must(hdp_group_health(&health, room->group) == HDP_ERR_FATAL &&
             health.severity == HDP_PROCESS_LOST,
         "health: %d, %d", (int)health.status, (int)health.severity);
    return 0;
}

static int leave(struct room *room)
{
    int64_t start = now_ns();

    hdp_plan_destroy(room->plan);
    hdp_plan_destroy(room->one);
    hdp_group_destroy(room->group);
    hdp_group_destroy(room->host);
    hdp_context_destroy(room->context);
    must(now_ns() - start < SECOND_NS, "leaving took %d ms",
         (int)((now_ns() - start) / 1000000));
    return OWN_CODE;
}

/* role: the kernel; argument: its member, a colon, the code. */
static int role_poison(const char *kernel, const char *argument,
                       const char *spec)
{
    static struct room room;
    struct bad bad = { kernel, argument[0] - '0' };
    hdp_work work = { .size = sizeof work };
    hdp_error error = { .size = sizeof error };
    char first[256];
    int code = open_room(&room, spec);

    if (code)
        return code;
    work.cuda = bad_function;
    work.user = &bad;
    must(hdp_run(NULL, room.group, room.plan, &work) == HDP_ERR_FATAL,
         "expected a fatal error, got: %s", hdp_last_error());
    must(hdp_error_get(&error) == HDP_OK, "no error");
    must(error.vendor_code == atoi(argument + 2), "code %d: %s",
         (int)error.vendor_code, error.text);
    /* the failure is of the whole process: whoever looks first sees it */
    must(error.member == 0 || error.member == 1, "member %d: %s",
         (int)error.member, error.text);
    (void)snprintf(first, sizeof first, "%s", hdp_last_error());
    code = refused_from_now_on(&room, first);
    return code ? code : leave(&room);
}

static struct real real;

static void play(const char *role, const char *argument)
{
    struct child child = { .role = role,
                           .argument = argument,
                           .limit_ns = 60 * SECOND_NS };

    expect_child(OWN_CODE, &child);
}

static void a_wild_store_ends_the_use_of_cuda(void **state)
{
    (void)state;
    play("wild", "0:700");
    play("wild", "1:700");
}

static void so_does_a_trap(void **state)
{
    (void)state;
    play("trapped", "0:719");
    play("trapped", "1:719");
}

/* ---- memory ------------------------------------------------------------------ */

struct hungry {
    int32_t member, calls;
    int64_t bytes;
};

static int32_t hungry_function(const hdp_shard *shard, void *user)
{
    struct hungry *own = user;
    void *memory = NULL;

    if (shard->member != own->member)
        return 0;
    own->calls++;
    if (cudaMalloc(&memory, (size_t)own->bytes) == cudaSuccess)
        return 1;
    (void)cudaGetLastError();
    (void)hdp_shard_fail(shard, HDP_ERR_MEMORY, own->bytes, NULL);
    return 2;
}

/* More than there is on any card; the next step is right. */
static void want_of_memory_is_survived(void **state)
{
    struct hungry hunger = { .bytes = (int64_t)1 << 40 };
    hdp_work work = { .size = sizeof work,
                      .cuda = hungry_function,
                      .user = &hunger };
    struct scene scene;
    struct job job;

    (void)state;
    scene_open(&scene, real.spec, items, 2, NULL);
    for (hunger.member = 0; hunger.member < 2; ++hunger.member) {
        hdp_error error = { .size = sizeof error };
        expect_status(HDP_ERR_MEMORY,
                      hdp_run(NULL, scene.group, scene.plan, &work));
        expect_ok(hdp_error_get(&error));
        expect_number(hunger.member, error.member, "whose");
        expect_number(HDP_RETRY, error.severity, "severity");
        expect_number(hunger.bytes, error.wanted_bytes, "bytes");
        job_open(&job, ROWS, 2);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_right(&job, "the step after member %d", (int)hunger.member);
    }
    expect_number(2, hunger.calls, "calls");
    scene_close(&scene);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(want_of_memory_is_survived),
        cmocka_unit_test(a_wild_store_ends_the_use_of_cuda),
        cmocka_unit_test(so_does_a_trap),
    };
    int code = real_look(&real);

    if (code)
        return code;
    if (count == 3)
        return role_poison(arguments[1], arguments[2], real.spec);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
