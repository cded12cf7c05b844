/* Rows to GPUs and back: in any order of devices, at odd offsets, in pieces,
 * strided, held back, and from memory that lies on a GPU already. */
#include <sys/mman.h>
#include "gpus.h"

enum { ROWS = 11 };

struct rows {
    unsigned char in[ROWS * 16], out[ROWS * 16];
};

static void rows_open(struct rows *own)
{
    for (size_t i = 0; i < sizeof own->in; ++i) {
        own->in[i] = (unsigned char)(i * 7 + 3);
        own->out[i] = 0xee;
    }
}

/* Rows are the input's, what stands between them is as it was. */
static void expect_rows(const struct rows *own, int64_t row_bytes,
                        int64_t stride_bytes, const char *when)
{
    for (int64_t r = 0; r < ROWS; ++r)
        for (int64_t i = 0; i < stride_bytes; ++i) {
            int64_t at = r * stride_bytes + i;
            expect_number(i < row_bytes ? own->in[at] : 0xee, own->out[at],
                          "%s: row %d, byte %d", when, (int)r, (int)i);
        }
}

/* ---- O04 ------------------------------------------------------------------ */

struct places {
    int32_t device[2];
    int64_t offset[2];
};

static int32_t note_place(const hdp_shard *shard, void *user)
{
    struct places *own = user;
    int current = -1;

    (void)cudaGetDevice(&current);
    own->device[shard->member] = current;
    own->offset[shard->member] = shard->offset;
    return gpus_copy(shard, NULL);
}

static void any_order_and_gaps(void **state)
{
    static const int32_t ids[] = { 2, 0 }, alone[] = { 1 };
    static const int64_t items[] = { 5, 6 }, all[] = { ROWS };
    struct places places = { { -1, -1 }, { -1, -1 } };
    struct scene scene = { 0 };
    struct rows rows;
    hdp_array in = gpus_array(rows.in, 4, 0), out = gpus_array(rows.out, 4, 0);
    hdp_work work = gpus_work(note_place, &in, &out);
    int current = -1;

    (void)state;
    gpus_start("machine=twin copies=2");
    rows_open(&rows);
    work.user = &places;
    expect_ok(hdp_context_create(&scene.context, NULL));
    expect_ok(hdp_group_create(&scene.group, scene.context, ids, 2, NULL));
    expect_ok(hdp_plan_create(&scene.plan, items, 2));
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_rows(&rows, 4, 4, "[2,0]");
    expect_number(2, places.device[0], "device of shard 0");
    expect_number(0, places.device[1], "device of shard 1");
    expect_number(0, places.offset[0], "first row of shard 0");
    expect_number(5, places.offset[1], "first row of shard 1");
    expect_number(0, fake_contexts(1) + fake_contexts(3),
                  "contexts on devices that nobody asked for");
    scene_close(&scene);

    scene.plan = NULL;
    expect_ok(hdp_context_create(&scene.context, NULL));
    expect_ok(hdp_group_create(&scene.group, scene.context, alone, 1, NULL));
    expect_ok(hdp_plan_create(&scene.plan, all, 1));
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    scene_close(&scene);
    expect_number(1, places.device[0], "device of the only shard");
    expect_number(0, fake_contexts(3), "contexts on device 3");
    expect_cuda(cudaGetDevice(&current));
    expect_number(0, current, "the caller's device");
    gpus_end("O04");
}

static void wrong_ids_never_reach_cuda(void **state)
{
    static const struct {
        int32_t ids[3], count;
        const char *names;
    } wrong[] = { { { 0, 0, 0 }, 2, "ids[1]" },
                  { { 0, 1, 0 }, 3, "ids[2]" },
                  { { -1, 0, 0 }, 1, "ids[0]" },
                  { { 0, 0, 0 }, 0, "empty" } };
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    int64_t before;

    (void)state;
    gpus_start("machine=twin copies=2");
    expect_ok(hdp_context_create(&context, NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        before = fake_calls(NULL);
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_create(&group, context, wrong[i].ids,
                                       wrong[i].count, NULL));
        expect_number(before, fake_calls(NULL), "calls of CUDA in case %d",
                      (int)i);
        if (!strstr(hdp_last_error(), wrong[i].names))
            fail_msg("expected %s to be named, got: %s", wrong[i].names,
                     hdp_last_error());
    }
    expect_status(
        HDP_ERR_NOT_FOUND,
        hdp_group_create(&group, context, (const int32_t[]){ 4 }, 1, NULL));
    expect_number(0, fake_contexts(-1), "contexts");
    hdp_context_destroy(context);
    gpus_end("O04, refusals");
}

/* ---- O11 and shapes ------------------------------------------------------- */

struct shape {
    const char *name;
    int64_t row_bytes, stride_bytes, piece;
    int32_t flags;
};

static const struct shape shapes[] = {
    { "three halves a row", 6, 6, 0, 0 },
    { "one byte a row", 1, 1, 0, 0 },
    { "strided", 5, 13, 0, 0 },
    { "strided, in pieces", 5, 13, 2, 0 },
    { "in pieces of one", 6, 6, 1, 0 },
    { "held back", 6, 6, 0, HDP_WORK_STAGED },
    { "held back, strided, in pieces", 3, 7, 2, HDP_WORK_STAGED },
};

static void every_shape(void **state)
{
    static const int64_t items[] = { 5, 0, 6 };
    struct scene scene;
    struct rows rows;

    (void)state;
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        gpus_start("machine=desk");
        gpus_open(&scene, "cuda:0-2", items, 3, threads);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
            const struct shape *shape = &shapes[i];
            hdp_array in =
                gpus_array(rows.in, shape->row_bytes, shape->stride_bytes);
            hdp_array out =
                gpus_array(rows.out, shape->row_bytes, shape->stride_bytes);
            hdp_work work = gpus_work(gpus_copy, &in, &out);
            work.max_piece_items = shape->piece;
            work.flags = shape->flags;
            rows_open(&rows);
            expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
            expect_rows(&rows, shape->row_bytes, shape->stride_bytes,
                        shape->name);
        }
        scene_close(&scene);
        gpus_end("O11");
    }
}

/* Rows that lie further apart than the widest pitch of CUDA's copies, in memory
 * of which only what is touched is there. */
static void rows_far_apart(void **state)
{
    enum { FAR_ROWS = 4, BYTES = 6 };
    static const int64_t items[] = { 3, 1 };
    const int64_t stride = (INT64_C(1) << 31) + 3;
    const size_t span = (size_t)(stride * (FAR_ROWS - 1) + BYTES);
    unsigned char *far, near[FAR_ROWS * BYTES];
    struct scene scene;

    (void)state;
    far = mmap(NULL, span, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED)
        skip(); /* a limit on address space */
    gpus_start("machine=desk");
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    for (int out = 0; out < 2; ++out) {
        hdp_array arrays[] = { gpus_array(far, BYTES, stride),
                               gpus_array(near, BYTES, 0) };
        hdp_work work = gpus_work(gpus_copy, &arrays[out], &arrays[!out]);
        for (int i = 0; i < FAR_ROWS * BYTES; ++i) {
            near[i] = (unsigned char)(out ? i + 1 : 0);
            far[i / BYTES * stride + i % BYTES] =
                (unsigned char)(out ? 0 : i + 1);
        }
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
        for (int i = 0; i < FAR_ROWS * BYTES; ++i)
            expect_number(i + 1,
                          out ? far[i / BYTES * stride + i % BYTES] : near[i],
                          "%s: byte %d", out ? "outputs" : "inputs", i);
    }
    scene_close(&scene);
    gpus_end("far apart");
    (void)munmap(far, span);
}

/* The rows of a member, and the space between their first and last byte, in 64
 * bits: what passes them is refused whole. */
static void sizes_that_overflow_never_reach_cuda(void **state)
{
    static const struct {
        int64_t row_bytes, stride_bytes;
    } sizes[] = { { INT64_MAX / 2, 0 },
                  { INT64_C(1) << 60, 0 },
                  { 8, INT64_C(1) << 61 } };
    static const int64_t items[] = { 5, 6 };
    struct scene scene;
    struct rows rows;
    hdp_array in = gpus_array(rows.in, 6, 0), out = gpus_array(rows.out, 6, 0);
    hdp_work work = gpus_work(gpus_copy, &in, &out);
    int64_t before, free_bytes;

    (void)state;
    gpus_start("machine=desk");
    rows_open(&rows);
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        in = gpus_array(rows.in, sizes[i].row_bytes, sizes[i].stride_bytes);
        before = fake_calls(NULL);
        free_bytes = fake_free_bytes(0) + fake_free_bytes(1);
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_run(NULL, scene.group, scene.plan, &work));
        if (!strstr(hdp_last_error(), "inputs[0]"))
            fail_msg("case %zu: expected inputs[0], got: %s", i,
                     hdp_last_error());
        expect_number(before, fake_calls(NULL), "calls of CUDA, case %zu", i);
        expect_number(free_bytes, fake_free_bytes(0) + fake_free_bytes(1),
                      "free bytes, case %zu", i);
    }
    in = gpus_array(rows.in, 6, 0);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_rows(&rows, 6, 6, "afterwards");
    scene_close(&scene);
    gpus_end("sizes");
}

/* ---- memory that lies on a GPU -------------------------------------------- */

struct resident {
    const void *data[2]; /* what the function saw, by member */
    const void *out[2];
};

static int32_t note_data(const hdp_shard *shard, void *user)
{
    struct resident *own = user;

    own->data[shard->member] = shard->inputs[0].data;
    own->out[shard->member] = shard->outputs[0].data;
    return gpus_copy(shard, NULL);
}

/* The whole batch on device 0: its member uses it where it is, the other one
 * gets a copy. `memory` DETECT asks the driver. */
static void on_one_member(struct scene *scene, int32_t memory, int32_t flags)
{
    struct rows rows;
    struct resident seen = { { NULL, NULL }, { NULL, NULL } };
    hdp_array in, out;
    hdp_work work;
    char *data, *result;

    rows_open(&rows);
    data = gpus_alloc(0, rows.in, ROWS * 6);
    result = gpus_alloc(0, rows.out, ROWS * 6);
    in = gpus_array(data, 6, 0);
    out = gpus_array(result, 6, 0);
    in.memory = out.memory = memory;
    in.member = out.member = 1; /* member 1 is device 0 */
    work = gpus_work(note_data, &in, &out);
    work.user = &seen;
    work.flags = flags;
    expect_ok(hdp_run(NULL, scene->group, scene->plan, &work));
    gpus_read(rows.out, result, ROWS * 6);
    expect_rows(&rows, 6, 6, "on a member");
    assert_ptr_equal(data + 5 * 6, seen.data[1]);
    assert_ptr_not_equal(data, seen.data[0]);
    if (flags & HDP_WORK_STAGED)
        assert_ptr_not_equal(result + 5 * 6, seen.out[1]);
    else
        assert_ptr_equal(result + 5 * 6, seen.out[1]);
    expect_cuda(cudaFree(data));
    expect_cuda(cudaFree(result));
}

/* As another library in the process may have done. */
static void let_them_reach(void)
{
    for (int device = 1; device >= 0; --device) {
        expect_cuda(cudaSetDevice(device));
        expect_cuda(cudaDeviceEnablePeerAccess(1 - device, 0));
    }
}

static void one_member_has_it_all(void **state)
{
    static const int64_t items[] = { 5, 6 };
    struct scene scene;

    (void)state;
    for (int32_t threads = HDP_THREADS_MEMBER; threads <= HDP_THREADS_CALLER;
         ++threads) {
        /* the way between them lies: only what goes by the host arrives whole */
        gpus_start("machine=desk peer=lie:0-1");
        let_them_reach();
        gpus_open(&scene, "cuda:1,0", items, 2, threads);
        on_one_member(&scene, HDP_MEMORY_DETECT, 0);
        on_one_member(&scene, HDP_MEMORY_MEMBER, 0);
        on_one_member(&scene, HDP_MEMORY_DETECT, HDP_WORK_STAGED);
        scene_close(&scene);
        gpus_end("HDP_MEMORY_MEMBER");
    }
}

static void each_member_has_its_own(void **state)
{
    static const int64_t items[] = { 5, 6 };
    struct resident seen = { { NULL, NULL }, { NULL, NULL } };
    struct scene scene;
    struct rows rows;
    void *in_data[2], *out_data[2];
    hdp_array in = { .size = sizeof in,
                     .member_data = in_data,
                     .row_bytes = 6 };
    hdp_array out = { .size = sizeof out,
                      .member_data = out_data,
                      .row_bytes = 6 };
    hdp_work work = gpus_work(note_data, &in, &out);

    (void)state;
    gpus_start("machine=desk");
    rows_open(&rows);
    gpus_open(&scene, "cuda:0,1", items, 2, HDP_THREADS_MEMBER);
    work.user = &seen;
    in_data[0] = gpus_alloc(0, rows.in, 5 * 6);
    in_data[1] = rows.in + 5 * 6; /* the host's: copied there and back */
    out_data[0] = gpus_alloc(0, rows.out, 5 * 6);
    out_data[1] = rows.out + 5 * 6;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    assert_ptr_equal(in_data[0], seen.data[0]);
    assert_ptr_not_equal(in_data[1], seen.data[1]);
    gpus_read(rows.out, out_data[0], 5 * 6);
    expect_rows(&rows, 6, 6, "member_data");
    expect_cuda(cudaFree(in_data[0]));
    expect_cuda(cudaFree(out_data[0]));
    scene_close(&scene);
    gpus_end("member_data");
}

/* A host member cannot reach what lies on a GPU, and says so. */
static void hosts_beside_gpus(void **state)
{
    static const int64_t items[] = { 5, 6 };
    struct scene scene;
    struct rows rows;
    hdp_array in = gpus_array(rows.in, 6, 0), out = gpus_array(rows.out, 6, 0);
    hdp_work work = gpus_work(gpus_copy, &in, &out);

    (void)state;
    gpus_start("machine=desk");
    rows_open(&rows);
    gpus_open(&scene, "host:0/threads=1+cuda:1", items, 2, HDP_THREADS_MEMBER);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_rows(&rows, 6, 6, "host and GPU");
    in.data = gpus_alloc(1, rows.in, ROWS * 6);
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_run(NULL, scene.group, scene.plan, &work));
    expect_cuda(cudaFree(in.data));
    in.data = rows.in;
    rows_open(&rows);
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    expect_rows(&rows, 6, 6, "host and GPU, again");
    scene_close(&scene);
    gpus_end("mixed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_gaps),
        cmocka_unit_test(wrong_ids_never_reach_cuda),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(rows_far_apart),
        cmocka_unit_test(sizes_that_overflow_never_reach_cuda),
        cmocka_unit_test(one_member_has_it_all),
        cmocka_unit_test(each_member_has_its_own),
        cmocka_unit_test(hosts_beside_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
