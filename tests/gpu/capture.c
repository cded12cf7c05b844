/* A program's stream capture in global mode, which any unsafe call of another
 * thread would spoil, survives while groups are made, measured, used, and go. */
#include <pthread.h>
#include "real.h"

enum { STEPS = 100, ROWS = 32, BYTES = 1 << 20 };

static struct real real;

static void whole_life(struct job *job)
{
    static const int64_t items[] = { 20, 12 };
    const hdp_calibrate_options brief = { .size = sizeof brief,
                                          .budget_ns = 20000000 };
    hdp_profile *profile = NULL;
    struct scene scene = { .context = real_context() };

    expect_ok(
        hdp_group_create_spec(&scene.group, scene.context, real.spec, NULL));
    expect_ok(hdp_plan_create(&scene.plan, items, 2));
    expect_ok(hdp_calibrate(&profile, scene.group, &brief));
    job_open(job, ROWS, 2);
    for (int i = 0; i < STEPS; ++i) {
        job_reset(job);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job->work));
        expect_right(job, "step %d", i);
    }
    hdp_profile_destroy(profile);
    scene_close(&scene);
}

/* The group lives on this thread, the capture on another: it begins before and
 * ends after. */
struct capture {
    pthread_barrier_t both;
    cudaStream_t stream;
    void *memory;
    cudaGraph_t graph;
    int codes[4];
};

static void *capture_main(void *arg)
{
    struct capture *own = arg;

    own->codes[0] =
        cudaStreamBeginCapture(own->stream, cudaStreamCaptureModeGlobal);
    own->codes[1] = cudaMemsetAsync(own->memory, 1, BYTES, own->stream);
    (void)pthread_barrier_wait(&own->both);
    (void)pthread_barrier_wait(&own->both); /* the group's life is over */
    own->codes[2] = cudaMemsetAsync(own->memory, 2, BYTES, own->stream);
    own->codes[3] = cudaStreamEndCapture(own->stream, &own->graph);
    return NULL;
}

static void a_capture_survives(void **state)
{
    static struct capture own;
    static struct job job;
    pthread_t thread;

    (void)state;
    expect_cuda(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
    expect_cuda(cudaMalloc(&own.memory, BYTES));
    (void)pthread_barrier_init(&own.both, NULL, 2);
    expect_number(0, pthread_create(&thread, NULL, capture_main, &own),
                  "thread");
    (void)pthread_barrier_wait(&own.both);
    whole_life(&job);
    (void)pthread_barrier_wait(&own.both);
    expect_number(0, pthread_join(thread, NULL), "thread");
    for (int i = 0; i < 4; ++i)
        expect_number(cudaSuccess, own.codes[i], "capture, call %d", i);
    /* the graph goes with the process */
    expect_cuda(cudaFree(own.memory));
    expect_cuda(cudaStreamDestroy(own.stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_survives),
    };
    int code = real_look(&real);

    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
