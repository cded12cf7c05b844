/* The combine of GPU members: by a kernel where it reaches the memory, by the
 * host's form elsewhere, with the same bytes; in pieces for a display; and what
 * is said when the image or a launch fails. */
#include <math.h>
#include <pthread.h>
#include "device/device.h"
#include "kernels.h"
#include "launch.h"
#include "looked.h"
#include "scenario/process.h"
#include "unit/chance.h"

enum { MOST = 70 };

/* One open member of a fake machine. */
struct gpu {
    struct hdpi_site site;
    pthread_mutex_t lock;
    struct hdpi_kept *kept;
    hdp_topology *topology;
    const struct hdpi_device_ops *ops;
    struct hdpi_device *device;
};

static void gpu_open(struct gpu *gpu, const char *words, int32_t id)
{
    const struct hdpi_ask ask = { .kind = HDP_CUDA,
                                  .logical_id = id,
                                  .margin_bytes = -1 };

    looked_start(words, NULL);
    memset(gpu, 0, sizeof *gpu);
    pthread_mutex_init(&gpu->lock, NULL);
    gpu->site.cublas_path = gpu->site.nvml_path = getenv("HDP_FAKE_CUDA");
    gpu->site.lock = &gpu->lock;
    gpu->site.kept = &gpu->kept;
    gpu->ops = hdpi_device_adapter(HDP_CUDA);
    expect_ok(hdpi_topology_new(&gpu->topology));
    expect_ok(gpu->ops->enumerate(gpu->topology, &ask, 1, &gpu->site));
    expect_number(1, gpu->topology->info.device_count, "devices");
    expect_ok(hdpi_device_open(&gpu->device, &gpu->topology->devices[0], 0, 0,
                               &gpu->site, NULL));
}

static void gpu_close(struct gpu *gpu)
{
    hdpi_device_close(gpu->device);
    gpu->ops->forget(&gpu->site);
    hdpi_topology_free(gpu->topology);
    pthread_mutex_destroy(&gpu->lock);
    life_end("closed");
}

/* A job on memory of the member's host_alloc, or (pageable) of malloc. */
struct trial {
    struct hdpk_combine job;
    const void *sources[MOST];
    int64_t counts[MOST];
    void *targets[MOST];
    float *memory;
    int pageable;
};

static void trial_make(struct trial *t, struct gpu *gpu, int32_t sources,
                       int32_t targets, int64_t count, int pageable)
{
    size_t bytes = (size_t)(sources + targets) * (size_t)count * sizeof(float);
    void *memory = NULL;

    memset(t, 0, sizeof *t);
    t->pageable = pageable;
    if (pageable)
        memory = malloc(bytes);
    else
        expect_ok(gpu->ops->host_alloc(gpu->device, &memory, bytes));
    assert_non_null(memory);
    t->memory = memory;
    for (int64_t i = 0; i < (sources + targets) * count; ++i)
        t->memory[i] = (float)chance_real(-100, 100);
    for (int32_t s = 0; s < sources; ++s) {
        t->sources[s] = t->memory + s * count;
        t->counts[s] = chance_draw(1, 99);
        t->job.total += t->counts[s];
    }
    for (int32_t k = 0; k < targets; ++k)
        t->targets[k] = t->memory + (sources + k) * count;
    t->job.dtype = HDP_F32;
    t->job.op = HDP_OP_MEAN;
    t->job.source_count = sources;
    t->job.target_count = targets;
    t->job.sources = t->sources;
    t->job.counts = t->counts;
    t->job.targets = t->targets;
    t->job.count = count;
}

static void trial_drop(struct trial *t, struct gpu *gpu)
{
    if (t->pageable)
        free(t->memory);
    else
        gpu->ops->host_free(gpu->device, t->memory);
}

/* Every target holds what the sources give in long double, rounded once. */
static void expect_means(const struct trial *t)
{
    for (int32_t k = 0; k < t->job.target_count; ++k)
        for (int64_t i = 0; i < t->job.count; ++i) {
            long double sum = 0;
            float got = ((const float *)t->targets[k])[i], want;
            for (int32_t s = 0; s < t->job.source_count; ++s)
                sum += (long double)t->counts[s] *
                       ((const float *)t->sources[s])[i];
            want = (float)(sum / (long double)t->job.total);
            if (fabsf(got - want) > 0x1p-23F * fabsf(want))
                fail_msg("target %d element %lld: expected %.9g, got %.9g", k,
                         (long long)i, (double)want, (double)got);
        }
}

/* Combines and counts launches. */
static int64_t combine(struct gpu *gpu, const struct trial *t)
{
    int64_t before = fake_calls("cuLaunchKernel");

    expect_ok(gpu->ops->combine(gpu->device, &t->job));
    expect_means(t);
    return fake_calls("cuLaunchKernel") - before;
}

static void pinned_memory_is_combined_by_one_launch(void **state)
{
    struct gpu gpu;

    (void)state;
    gpu_open(&gpu, "machine=twin", 0);
    for (int32_t sources = 1; sources < 6; ++sources) {
        struct trial t;
        trial_make(&t, &gpu, sources, 3, 1000 + sources, 0);
        expect_number(1, combine(&gpu, &t), "launches");
        trial_drop(&t, &gpu);
    }
    expect_number(1, fake_calls("cuLibraryLoadData"), "images loaded");
    expect_number(1, fake_calls("cuLibraryGetKernel"), "kernels looked up");
    gpu_close(&gpu);
    expect_number(1, fake_calls("cuLibraryUnload"), "images unloaded");
}

static void other_memory_is_combined_by_the_host(void **state)
{
    struct gpu gpu;
    struct trial t;

    (void)state;
    gpu_open(&gpu, "machine=twin", 0);
    trial_make(&t, &gpu, 3, 2, 1001, 1);
    expect_number(0, combine(&gpu, &t), "launches");
    trial_drop(&t, &gpu);
    /* one target of many is enough */
    trial_make(&t, &gpu, 3, 2, 1001, 0);
    t.targets[1] = malloc(1001 * sizeof(float));
    assert_non_null(t.targets[1]);
    expect_number(0, combine(&gpu, &t), "launches");
    free(t.targets[1]);
    trial_drop(&t, &gpu);
    gpu_close(&gpu);
}

static void more_than_a_launch_takes_is_combined_by_the_host(void **state)
{
    struct gpu gpu;
    struct trial t;

    (void)state;
    gpu_open(&gpu, "machine=twin", 0);
    trial_make(&t, &gpu, HDPK_LAUNCH_SOURCES, 1, 100, 0);
    expect_number(1, combine(&gpu, &t), "launches of 64 sources");
    trial_drop(&t, &gpu);
    trial_make(&t, &gpu, HDPK_LAUNCH_SOURCES + 1, 1, 100, 0);
    expect_number(0, combine(&gpu, &t), "launches of 65 sources");
    trial_drop(&t, &gpu);
    trial_make(&t, &gpu, 1, HDPK_LAUNCH_TARGETS + 1, 100, 0);
    expect_number(0, combine(&gpu, &t), "launches to 65 targets");
    trial_drop(&t, &gpu);
    gpu_close(&gpu);
}

static void nothing_to_do_calls_nothing(void **state)
{
    struct gpu gpu;
    struct trial t;
    int64_t calls;

    (void)state;
    gpu_open(&gpu, "machine=twin", 0);
    trial_make(&t, &gpu, 1, 1, 10, 0);
    calls = fake_calls(NULL);
    t.job.count = 0;
    expect_ok(gpu.ops->combine(gpu.device, &t.job));
    expect_number(calls, fake_calls(NULL), "calls");
    trial_drop(&t, &gpu);
    gpu_close(&gpu);
}

/* desk's 4070 Ti drives the display: 4 MiB a launch. */
static void a_display_never_waits_long(void **state)
{
    int displays = 0;

    (void)state;
    for (int32_t id = 0; id < 3; ++id) {
        struct gpu gpu;
        struct trial t;
        gpu_open(&gpu, "machine=desk", id);
        trial_make(&t, &gpu, 2, 2, 1000001, 0); /* 16 MB moved */
        displays += gpu.device->row.info.display;
        expect_number(gpu.device->row.info.display ? 4 : 1, combine(&gpu, &t),
                      "launches on device %d", id);
        trial_drop(&t, &gpu);
        gpu_close(&gpu);
    }
    expect_number(1, displays, "GPUs with a display");
}

/* A call that fails once leaves the member as it was: the next combine works. */
static void a_failure_is_told_and_passes(void **state)
{
    static const char *const calls[] = { "cuLibraryLoadData",
                                         "cuLibraryGetKernel",
                                         "cuLaunchKernel" };

    (void)state;
    for (int i = 0; i < 3; ++i) {
        struct gpu gpu;
        struct trial t;
        char words[64];
        hdp_status status;
        gpu_open(&gpu, "machine=twin", 1);
        trial_make(&t, &gpu, 2, 2, 99, 0);
        (void)snprintf(words, sizeof words, "fail=%s:1", calls[i]);
        assert_int_equal(fake_plant(words), 0);
        status = gpu.ops->combine(gpu.device, &t.job);
        assert_int_not_equal(status, HDP_OK);
        looked_failed(status, status, calls[i]);
        expect_number(0, hdpi_error()->member, "member");
        expect_number(1, combine(&gpu, &t), "launches after it");
        trial_drop(&t, &gpu);
        gpu_close(&gpu);
    }
}

/* A device that the build has no code for. */
static void without_code_the_host_combines(void **state)
{
    struct gpu gpu;
    struct trial t;

    (void)state;
    gpu_open(&gpu, "machine=twin", 0);
    gpu.device->row.info.runnable = 0;
    trial_make(&t, &gpu, 2, 2, 99, 0);
    expect_number(0, combine(&gpu, &t), "launches");
    trial_drop(&t, &gpu);
    gpu_close(&gpu);
}

/* While work of another member of the device hangs nothing is begun that would
 * wait with it, and memory is kept until it has ended. */
static void beside_work_that_hangs(void **state)
{
    struct gpu gpu;
    struct trial late, kept, next;
    struct hdpi_device *first, *other = NULL;

    (void)state;
    gpu_open(&gpu, "machine=twin hang=hdpk_cuda_combine:1", 0);
    expect_ok(hdpi_device_open(&other, &gpu.topology->devices[0], 1, 0,
                               &gpu.site, NULL));
    trial_make(&late, &gpu, 2, 1, 1000, 0);
    first = gpu.device;
    first->deadline_ns = now_ns() + 50000000;
    expect_status(HDP_ERR_TIMEOUT, gpu.ops->combine(first, &late.job));
    gpu.device = other;
    trial_make(&kept, &gpu, 2, 1, 1000, 0);
    expect_status(HDP_ERR_BUSY, gpu.ops->combine(other, &kept.job));
    if (!strstr(hdp_last_error(), "the first use of a kernel waits for"))
        fail_msg("expected what would wait, got: %s", hdp_last_error());
    trial_drop(&kept, &gpu);
    fake_calm();
    trial_make(&next, &gpu, 2, 1, 1000, 0);
    expect_number(1, combine(&gpu, &next), "launches after it has ended");
    trial_drop(&next, &gpu);
    hdpi_device_close(other);
    gpu.device = first;
    trial_drop(&late, &gpu);
    gpu_close(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_memory_is_combined_by_one_launch),
        cmocka_unit_test(other_memory_is_combined_by_the_host),
        cmocka_unit_test(more_than_a_launch_takes_is_combined_by_the_host),
        cmocka_unit_test(nothing_to_do_calls_nothing),
        cmocka_unit_test(a_display_never_waits_long),
        cmocka_unit_test(a_failure_is_told_and_passes),
        cmocka_unit_test(without_code_the_host_combines),
        cmocka_unit_test(beside_work_that_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
