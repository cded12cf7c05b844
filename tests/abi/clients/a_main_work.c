/* The work of client (a), and its judge: the client says only whether it
 * succeeded, so this file watches every call and, at exit, turns a success
 * that did not cover each batch exactly once, in place, into a failure. */
#include <hdp/hdp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 100, ROWS = 4096, COLUMNS = 64 };

int32_t twice_host(const hdp_shard *shard, void *user);
int32_t twice_cuda(const hdp_shard *shard, void *user);

static _Atomic unsigned char done[STEPS][ROWS];
static _Atomic uintptr_t input_base, output_base;
static _Atomic uint64_t first_step; /* calibration may have used some */
static _Atomic int faults;

static void fault(const char *what, int64_t expected, int64_t got)
{
    fprintf(stderr, "a_executor: %s: expected %lld, got %lld\n", what,
            (long long)expected, (long long)got);
    atomic_fetch_add(&faults, 1);
}

static void check(const char *what, int64_t expected, int64_t got)
{
    if (expected != got)
        fault(what, expected, got);
}

/* Row `offset` of the batch must lie in the caller's own array, at its place:
 * every call must lead back to one and the same base. */
static void check_base(const char *what, _Atomic uintptr_t *base,
                       const hdp_view *view, int64_t offset)
{
    uintptr_t got =
        (uintptr_t)view->data - (uintptr_t)(offset * view->row_stride_bytes);
    uintptr_t expected = 0;

    if (!atomic_compare_exchange_strong(base, &expected, got))
        check(what, (int64_t)expected, (int64_t)got);
}

static void check_shard(const hdp_shard *shard)
{
    const int64_t bytes = COLUMNS * (int64_t)sizeof(float);

    check("inputs", 1, shard->input_count);
    check("outputs", 1, shard->output_count);
    check("rows of the input", shard->items, shard->inputs[0].rows);
    check("rows of the output", shard->items, shard->outputs[0].rows);
    check("bytes of a row", bytes, shard->inputs[0].row_bytes);
    check("stride of the input", bytes, shard->inputs[0].row_stride_bytes);
    check("stride of the output", bytes, shard->outputs[0].row_stride_bytes);
    check("rows of the batch", ROWS, shard->total_items);
    check("first and last call", HDP_SHARD_FIRST | HDP_SHARD_LAST,
          shard->flags);
    check_base("base of the input", &input_base, shard->inputs, shard->offset);
    check_base("base of the output", &output_base, shard->outputs,
               shard->offset);
}

/* Steps are made one by one, so the first call seen belongs to the first. */
static uint64_t step_index(uint64_t step)
{
    uint64_t first = 0;

    if (atomic_compare_exchange_strong(&first_step, &first, step))
        first = step;
    return step - first;
}

int32_t twice_host(const hdp_shard *shard, void *user)
{
    const float *x = shard->inputs[0].data;
    float *y = shard->outputs[0].data;
    uint64_t step;

    (void)user;
    if (shard->flags & HDP_SHARD_PROBE)
        return 0;
    check_shard(shard);
    step = step_index(shard->step);
    if (step >= STEPS || shard->offset < 0 || shard->items < 1 ||
        shard->items > ROWS - shard->offset) {
        fault("a shard out of range, offset", 0, shard->offset);
        return 1;
    }
    for (int64_t row = 0; row < shard->items; ++row) {
        for (int column = 0; column < COLUMNS; ++column)
            y[row * COLUMNS + column] = 2 * x[row * COLUMNS + column];
        atomic_fetch_add(&done[step][shard->offset + row], 1);
    }
    return 0;
}

int32_t twice_cuda(const hdp_shard *shard, void *user)
{
    (void)user;
    fault("the GPU function on a member of kind", HDP_CUDA, shard->kind);
    return 1;
}

/* Runs after the client's main, whose exit code cannot be seen here: so it is
 * only ever made worse, never better. */
static void judge(void)
{
    for (int step = 0; step < STEPS; ++step)
        for (int row = 0; row < ROWS; ++row)
            if (done[step][row] != 1) {
                fprintf(stderr,
                        "a_executor: step %d, row %d: expected 1 call, got "
                        "%d; last error: %s\n",
                        step + 1, row, done[step][row], hdp_last_error());
                _exit(1);
            }
    if (atomic_load(&faults))
        _exit(1);
}

__attribute__((constructor)) static void watch(void)
{
    if (atexit(judge))
        abort();
}
