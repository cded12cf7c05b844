/* demo: the tour. A real network, all GPUs or two unequal halves of the host,
 * every rule, checked against one device before any speed is told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

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

static int prepare(struct demo *demo)
{
    struct workload_spec spec = { .kind = WORK_MLP };
    int code = demo_devices(demo);

    demo->capacity = demo->gpus ? DEMO_CAPACITY_GPUS : DEMO_CAPACITY;
    spec.capacity = demo->capacity / 4 * 5;
    return code ? code : library_work(demo->bench, &spec, &demo->workload);
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
