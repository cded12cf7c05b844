/* The least used GPU by a management library: a stand-in with its names and
 * codes, made by the compiler here, since no machine without GPUs has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "leases.h"

enum { SKIPPED = 77, NO_COMPILER = 127, GPUS = 4 };

/* GPU-a: 50 % used; b: 0 %, 10 free of 40; c: 0 %, 30 free; d: 90 %. A variable
 * of the program's tells which function shall fail, by its code. */
static const char stand_in[] =
    "#include <stdlib.h>\n"
    "struct use { unsigned gpu, memory; };\n"
    "struct mem { unsigned long long total, free, used; };\n"
    "static int running;\n"
    "static int code(const char *name)\n"
    "{ const char *v = getenv(name); return v ? atoi(v) : 0; }\n"
    "int nvmlInit_v2(void)\n"
    "{ if (code(\"FAKE_INIT\")) return code(\"FAKE_INIT\");\n"
    "  running++; return 0; }\n"
    "#ifndef WITHOUT\n"
    "int nvmlShutdown(void) { return --running; }\n"
    "#endif\n"
    "int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)\n"
    "{ if (!running || uuid[4] < 'a' || uuid[4] > 'd') return 6;\n"
    "  *out = (char *)0 + uuid[4]; return 0; }\n"
    "int nvmlDeviceGetUtilizationRates(void *d, struct use *out)\n"
    "{ static const unsigned u[] = { 50, 0, 0, 90 };\n"
    "  out->gpu = u[(char *)d - (char *)0 - 'a'];\n"
    "  return code(\"FAKE_USE\"); }\n"
    "int nvmlDeviceGetMemoryInfo(void *d, struct mem *out)\n"
    "{ static const unsigned f[] = { 40, 10, 30, 40 };\n"
    "  out->total = 40; out->free = f[(char *)d - (char *)0 - 'a'];\n"
    "  return code(\"FAKE_MEMORY\"); }\n";

static char folder[64], whole_path[96], part_path[96];

static int compile(const char *out, const char *more)
{
    const char *compiler = getenv("HDP_CC");
    char command[512];

    (void)snprintf(command, sizeof command,
                   "%.128s -shared -fPIC -w %s -o %s %s/nvml.c",
                   compiler ? compiler : "cc", more, out, folder);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int make_library(void)
{
    char path[96];
    FILE *file;

    (void)strcpy(folder, "/tmp/hdp-lease-idle-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/nvml.c", folder);
    (void)snprintf(whole_path, sizeof whole_path, "%s/whole.so", folder);
    (void)snprintf(part_path, sizeof part_path, "%s/part.so", folder);
    file = fopen(path, "we");
    if (!file || fputs(stand_in, file) < 0 || fclose(file) != 0)
        return -1;
    int bad = compile(whole_path, "");
    if (!bad)
        bad = compile(part_path, "-DWITHOUT");
    (void)unlink(path);
    return bad;
}

static void remove_library(void)
{
    (void)unlink(whole_path);
    (void)unlink(part_path);
    (void)rmdir(folder);
}

struct scene {
    struct hdpi_lease_choice choice;
    struct hdpi_lease_candidate candidates[GPUS];
    int32_t order[GPUS];
    struct hdp_context context;
};

static void set_scene(struct scene *scene, char *library)
{
    memset(scene, 0, sizeof *scene);
    scene->choice.candidates = scene->candidates;
    scene->choice.order = scene->order;
    scene->choice.count = GPUS;
    scene->choice.policy = HDP_LEASE_IDLE;
    scene->context.nvml_path = library;
    for (int i = 0; i < GPUS; ++i) {
        scene->candidates[i].info.kind = HDP_CUDA;
        (void)snprintf(scene->candidates[i].info.uuid,
                       sizeof scene->candidates[i].info.uuid, "GPU-%c",
                       'a' + i);
    }
}

static hdp_status rank(struct scene *scene)
{
    return hdpi_lease_choice_rank(&scene->choice, &scene->context, NULL);
}

static void least_used_then_most_free(void **state)
{
    static const int32_t want[GPUS] = { 2, 1, 0, 3 };
    struct scene scene;

    (void)state;
    set_scene(&scene, whole_path);
    assert_int_equal(rank(&scene), HDP_OK);
    assert_memory_equal(scene.order, want, sizeof want);
    assert_int_equal(rank(&scene), HDP_OK); /* opened and closed again */
}

static void expect_unsupported(struct scene *scene, int code, const char *part)
{
    assert_int_equal(rank(scene), HDP_ERR_UNSUPPORTED);
    assert_int_equal(hdpi_error()->vendor_code, code);
    assert_int_equal(hdpi_error()->vendor,
                     code ? HDP_VENDOR_NVML : HDP_VENDOR_NONE);
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"%s\" in \"%s\"", part, hdp_last_error());
}

static void what_fails_is_told(void **state)
{
    static char absent[] = "/no/such/nvml.so";
    static const struct {
        const char *variable, *part;
    } failing[] = { { "FAKE_INIT", "starting" },
                    { "FAKE_USE", "use of GPU-a" },
                    { "FAKE_MEMORY", "memory of GPU-a" } };
    struct scene scene;

    (void)state;
    set_scene(&scene, whole_path);
    for (size_t i = 0; i < sizeof failing / sizeof *failing; ++i) {
        assert_int_equal(setenv(failing[i].variable, "9", 1), 0);
        expect_unsupported(&scene, 9, failing[i].part);
        assert_int_equal(unsetenv(failing[i].variable), 0);
    }
    (void)strcpy(scene.candidates[1].info.uuid, "GPU-z");
    expect_unsupported(&scene, 6, "GPU-z");
    set_scene(&scene, absent);
    expect_unsupported(&scene, 0, absent);
    set_scene(&scene, part_path);
    expect_unsupported(&scene, 0, "lacks what is needed");
    set_scene(&scene, whole_path);
    scene.candidates[3].info.kind = HDP_SIM;
    expect_unsupported(&scene, 0, "simulated");
    set_scene(&scene, whole_path); /* it would have an answer for d */
    (void)strcpy(scene.candidates[3].info.uuid, "MIG-d");
    expect_unsupported(&scene, 0, "MIG instance");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_used_then_most_free),
        cmocka_unit_test(what_fails_is_told),
    };

    int made = make_library();
    if (made == NO_COMPILER) {
        (void)printf("skipped: no compiler to make a library with\n");
        return SKIPPED;
    }
    if (made != 0)
        return 1;
    int failed = cmocka_run_group_tests_name("lease_idle", tests, NULL, NULL);
    remove_library();
    return failed;
}
