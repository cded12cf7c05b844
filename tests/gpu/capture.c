/* A program's stream capture in global mode, which any unsafe call of another
 * thread would spoil, survives while groups are made, measured, used, and go. */
#include <pthread.h>
#include "real.h"

enum { STEPS = 100, ROWS = 32, BYTES = 1 << 20 };

static struct real real;
static const int64_t items[] = { 20, 12 };

/* ---- one call beside a capture ----------------------------------------------- */

/* The capture is another thread's: it begins before the call and ends after. */
struct capture {
    pthread_barrier_t both;
    cudaStream_t stream;
    void *memory;
    cudaGraph_t graph; /* goes with the process */
    cudaError_t codes[4];
};

static void *capture_main(void *arg)
{
    struct capture *own = arg;

    own->codes[0] =
        cudaStreamBeginCapture(own->stream, cudaStreamCaptureModeGlobal);
    own->codes[1] = cudaMemsetAsync(own->memory, 1, BYTES, own->stream);
    (void)pthread_barrier_wait(&own->both);
    (void)pthread_barrier_wait(&own->both); /* the call is over */
    own->codes[2] = cudaMemsetAsync(own->memory, 2, BYTES, own->stream);
    own->codes[3] = cudaStreamEndCapture(own->stream, &own->graph);
    return NULL;
}

struct life {
    struct scene scene;
    hdp_profile *profile;
    struct job job;
};

static void beside(const char *what, void (*call)(struct life *),
                   struct life *life)
{
    struct capture own = { .stream = NULL };
    pthread_t thread;

    expect_cuda(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
    expect_cuda(cudaMalloc(&own.memory, BYTES));
    (void)pthread_barrier_init(&own.both, NULL, 2);
    expect_number(0, pthread_create(&thread, NULL, capture_main, &own),
                  "thread");
    (void)pthread_barrier_wait(&own.both);
    call(life);
    (void)pthread_barrier_wait(&own.both);
    expect_number(0, pthread_join(thread, NULL), "thread");
    for (int i = 0; i < 4; ++i)
        expect_number(cudaSuccess, own.codes[i], "%s: call %d of the capture",
                      what, i);
    expect_cuda(cudaFree(own.memory));
    expect_cuda(cudaStreamDestroy(own.stream));
    (void)pthread_barrier_destroy(&own.both);
}

/* ---- a group's life ----------------------------------------------------------- */

static void nothing(struct life *life)
{
    (void)life;
}

static void make(struct life *life)
{
    expect_ok(hdp_group_create_spec(&life->scene.group, life->scene.context,
                                    real.spec, NULL));
}

static void measure(struct life *life)
{
    const hdp_calibrate_options brief = { .size = sizeof brief,
                                          .budget_ns = 20000000 };

    expect_ok(hdp_calibrate(&life->profile, life->scene.group, &brief));
}

static void work(struct life *life)
{
    for (int i = 0; i < STEPS; ++i) {
        job_reset(&life->job);
        expect_ok(hdp_run(NULL, life->scene.group, life->scene.plan,
                          &life->job.work));
        expect_right(&life->job, "step %d", i);
    }
}

static void reduce(struct life *life)
{
    expect_ok(hdp_all_reduce(life->scene.group, life->scene.plan,
                             &life->job.buckets[0]));
}

static void end(struct life *life)
{
    hdp_group_destroy(life->scene.group);
}

static void a_capture_survives(void **state)
{
    static struct life life;

    (void)state;
    life.scene.context = real_context();
    expect_ok(hdp_plan_create(&life.scene.plan, items, 2));
    job_open(&life.job, ROWS, 2);
    beside("nothing", nothing, &life);
    beside("making a group", make, &life);
    beside("steps", work, &life);
    beside("a reduce", reduce, &life);
    beside("a calibration", measure, &life);
    beside("the group's end", end, &life);
    hdp_profile_destroy(life.profile);
    hdp_plan_destroy(life.scene.plan);
    hdp_context_destroy(life.scene.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_survives),
    };
    int code = real_look(&real);

    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
