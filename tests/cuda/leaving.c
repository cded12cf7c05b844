/* A program that ends with groups alive, at work or hung, or that closes the
 * library: it ends, with its own exit code (F54). Each case is a child; idle
 * members and a step in a function of the host's: scenario/leaving.c. */
#include <dlfcn.h>
#include <pthread.h>
#include "gpus.h"
#include "scenario/child.h"

enum { ELEMENTS = 4096, EXIT_CODE = 23 };

static struct scene scene;

static void open_group(const char *spec)
{
    static const int64_t items[] = { 3, 5 };

    if (fake_start("machine=twin") != 0 ||
        hdp_context_create(&scene.context, NULL) != HDP_OK ||
        hdp_group_create_spec(&scene.group, scene.context, spec, NULL) !=
            HDP_OK ||
        hdp_plan_create(&scene.plan, items, 2) != HDP_OK) {
        child_say("no group: %s", hdp_last_error());
        _exit(1);
    }
}

static hdp_status reduce(uint64_t *out_step)
{
    static float values[2][ELEMENTS];
    static int64_t elements = ELEMENTS;
    static void *recv[] = { values[0], values[1] };
    const hdp_buffers bucket = { .size = sizeof bucket,
                                 .dtype = HDP_F32,
                                 .op = HDP_OP_MEAN,
                                 .tensor_count = 1,
                                 .elements = &elements,
                                 .recv = recv };

    return hdp_all_reduce_async(out_step, scene.group, scene.plan, &bucket);
}

static void *in_vain(void *arg)
{
    uint64_t step = 0;

    (void)arg;
    for (;;)
        if (reduce(&step) != HDP_OK)
            return NULL;
}

/* ---- roles ---------------------------------------------------------------- */

static int role(const char *name)
{
    pthread_t thread;
    uint64_t step = 0;

    open_group(strcmp(name, "partition") == 0 ? "cuda:0+cuda:1/sms=16"
                                              : "cuda:0,1");
    if (reduce(&step) != HDP_OK)
        child_say("no reduce: %s", hdp_last_error());
    if (strcmp(name, "at_work") == 0) {
        (void)pthread_create(&thread, NULL, in_vain, NULL);
        sleep_ns(20000000);
    } else if (strcmp(name, "hung") == 0) {
        (void)hdp_group_wait(NULL, scene.group, step);
        (void)fake_plant("hang=hdpk_cuda_combine:1");
        (void)reduce(&step);
        sleep_ns(20000000);
    } else if (strcmp(name, "closed") == 0) {
        void *library = dlopen("libhdp_fake12.so", RTLD_NOW | RTLD_NOLOAD);
        (void)hdp_group_wait(NULL, scene.group, step);
        if (!library)
            child_say("the library is not loaded by that name");
        else if (dlclose(library) != 0 || dlclose(library) != 0)
            child_say("it cannot be closed");
        sleep_ns(20000000); /* its threads go on */
    } else {
        (void)hdp_group_wait(NULL, scene.group, step);
    }
    exit(EXIT_CODE);
}

static void it_ends(void **state)
{
    static const char *const roles[] = { "partition", "at_work", "hung",
                                         "closed" };

    (void)state;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; ++i) {
        struct child child = { .role = roles[i],
                               .argument = "",
                               .limit_ns = 10 * SECOND_NS };
        expect_number(0, child_run(&child), "%s: started", roles[i]);
        if (child.text[0])
            fail_msg("%s: %s", roles[i], child.text);
        expect_number(0, child.late, "%s: killed at its limit", roles[i]);
        expect_number(-1, child.signal, "%s: signal", roles[i]);
        expect_number(EXIT_CODE, child.code, "%s: exit code", roles[i]);
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(it_ends) };

    if (count > 1)
        return role(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
