/* demo: the tour. A real network, two unequal devices, every rule, checked
 * against one device before any speed is told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

/* Two halves of any machine; that the second is slowed is said everywhere. */
static const char pair[] = "host:0/threads=1+host:1/threads=1/duty=50";

/* The folder is tried at once: nobody wants to hear of it after a minute. */
static int check_folder(struct bench *bench, const char *folder)
{
    if (strlen(folder) > 900)
        return failure_usage(&bench->failure, "--out", 0,
                             "--out: the folder's name is too long");
    if (access(folder, W_OK | X_OK) == 0)
        return EXIT_OK;
    return failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                       "%.128s: %s; --out FOLDER names another", folder,
                       strerror(errno));
}

static void tell_devices(struct bench *bench)
{
    FILE *out = bench->document.text;
    json_t *runtime = library_info(HDP_INFO_RUNTIME);
    json_t *libraries = json_object_get(runtime, "libraries");
    json_t *cuda = json_object_get(libraries, "cuda");
    const char *note = json_string_value(json_object_get(cuda, "note"));
    char text[128];

    fprintf(out, "GPUs      %s\n",
            note && *note ? note : "there, but not used by the demo");
    for (int32_t m = 0; m < bench->members; ++m) {
        const hdp_device *device = &bench->devices[m];
        const char *slow = library_slowdown(device, text, sizeof text);
        fprintf(out, "%s %-26s%s\n", m ? "         " : "devices  ",
                device->spec, slow ? slow : device->name);
    }
    json_decref(runtime);
}

static int prepare(struct demo *demo)
{
    struct bench *bench = demo->bench;
    struct workload_spec spec = { .kind = WORK_MLP,
                                  .capacity = DEMO_CAPACITY * 5 / 4,
                                  .seed = (uint64_t)bench->options.seed };

    fprintf(bench->document.text,
            "hdp %s: one batch on two unequal devices\n\n", hdp_version());
    int code = library_group(bench, pair);
    if (code)
        return code;
    tell_devices(bench);
    spec.members = bench->members;
    spec.blas_path = bench->blas_path;
    spec.devices = bench->devices;
    demo->workload = workload_create(&spec);
    return demo->workload ? EXIT_OK : library_no_memory(bench);
}

int command_demo(struct bench *bench)
{
    struct demo *demo = calloc(1, sizeof *demo);
    const char *folder = bench->options.out_count ? bench->options.out[0] : ".";
    int code = EXIT_OK;

    if (!demo)
        return library_no_memory(bench);
    demo->bench = bench;
    demo->start_ns = library_now();
    bench->options.quantum = 16; /* whole vectors of rows */
    demo->budget_ns = bench->options.budget_ns;
    bench->options.budget_ns = 0; /* calibrations have their own */
    code = check_folder(bench, folder);
    if (!code)
        code = prepare(demo);
    if (!code)
        code = demo_choose(demo);
    if (!code)
        code = demo_runs(demo);
    if (!code)
        code = demo_train(demo);
    if (!code)
        code = demo_tell(demo, folder);
    demo_close(demo);
    free(demo);
    return code;
}
