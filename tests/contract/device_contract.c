/* The device port's promises, held by every adapter: the adapter's name is the
 * argument. Without a device the reason is printed and the test is skipped,
 * or fails where HDP_REQUIRE names the adapter. */
#include <pthread.h>
#include "device_fixture.h"
#include "kernels.h"

enum { SKIPPED = 77, BUSY_BYTES = 4096 };

static const struct hdpi_device_ops *ops;
static int32_t gpus; /* that can run, if those are under test */

/* Two devices, the higher number first; one GPU stands for both. */
static int32_t id_of(int i)
{
    int32_t high = ops->kind == HDP_CUDA ? gpus - 1 : 5;

    return i == 0 ? high : high / 2;
}

/* An ask for one plain device of the adapter under test. */
static struct hdpi_ask plain(int32_t id)
{
    struct hdpi_ask ask = ask_for(ops->kind, id);

    ask.threads = ops->kind == HDP_HOST ? 2 : 0;
    return ask;
}

static struct fixture open_plain(void)
{
    struct hdpi_ask ask = plain(0);

    return member_of(&ask);
}

/* ---- table and enumerate ------------------------------------------------- */

static void every_hook_is_there(void **state)
{
    const struct hdpi_device_ops *const *all = hdpi_device_adapters();
    static const char *const names[] = { "host", "cuda", "sim" };
    size_t i;

    (void)state;
    for (i = 0; all[i]; ++i) {
        const struct hdpi_device_ops *one = all[i];
        assert_true(i < 3);
        assert_string_equal(one->name, names[i]);
        assert_ptr_equal(hdpi_device_adapter(one->kind), one);
        assert_true(one->state_size >= sizeof(struct hdpi_device));
        assert_true(one->enumerate && one->open && one->close && one->alloc &&
                    one->free && one->copy && one->launch && one->pause &&
                    one->resume && one->mark && one->unmark && one->elapsed &&
                    one->combine && one->wait && one->probe_open &&
                    one->probe && one->probe_close && one->native &&
                    one->blas && one->memory);
    }
    assert_int_equal(i, 3);
    assert_null(hdpi_device_adapter(0));
    assert_null(hdpi_device_adapter(99));
}

static void rows_stand_in_the_order_of_the_asks(void **state)
{
    int32_t other = ops->kind == HDP_CUDA ? HDP_HOST : HDP_CUDA;
    struct hdpi_ask asks[3] = { plain(id_of(0)), ask_for(other, 0),
                                plain(id_of(1)) };
    int count = id_of(0) == id_of(1) ? 1 : 2;
    hdp_topology *topology;

    (void)state;
    expect_ok(hdpi_topology_new(&topology));
    expect_ok(ops->enumerate(topology, asks, count == 1 ? 2 : 3, NULL));
    assert_int_equal(topology->info.device_count, count);
    for (int i = 0; i < count; ++i) {
        const struct hdpi_device_row *row = &topology->devices[i];
        assert_int_equal(row->info.kind, ops->kind);
        assert_int_equal(row->info.logical_id, id_of(i));
        assert_int_equal(row->ask.logical_id, row->info.logical_id);
        assert_int_equal(row->info.runnable, 1);
        assert_int_equal(row->info.duty_percent, 100);
        assert_true(row->info.native_dtypes & 1u << HDP_F32);
        assert_true(row->info.name[0] != '\0');
        assert_true(row->info.uuid[0] != '\0');
    }
    if (count == 2)
        assert_string_not_equal(topology->devices[0].info.uuid,
                                topology->devices[1].info.uuid);
    hdpi_topology_free(topology);
}

static void identity_lasts(void **state)
{
    struct fixture first = open_plain(), second = open_plain();

    (void)state;
    assert_string_equal(first.device->row.info.uuid,
                        second.device->row.info.uuid);
    release(&first);
    release(&second);
}

/* ---- life ---------------------------------------------------------------- */

static void open_fills_the_base(void **state)
{
    struct fixture made = open_plain();

    (void)state;
    assert_ptr_equal(made.device->ops, ops);
    assert_int_equal(made.device->member, MEMBER);
    assert_int_equal(made.device->rank, RANK);
    assert_int_equal(made.device->host_memory, ops->kind == HDP_HOST);
    assert_int_equal(made.device->virtual_time, ops->kind == HDP_SIM);
    release(&made);
    hdpi_device_close(NULL);
}

static void close_accepts_what_was_never_opened(void **state)
{
    struct hdpi_device *zeroed = calloc(1, ops->state_size);

    (void)state;
    assert_non_null(zeroed);
    zeroed->ops = ops;
    ops->close(zeroed);
    free(zeroed);
}

static void unknown_kind_is_refused(void **state)
{
    struct hdpi_device_row row = { .info = { .kind = 42 } };
    struct hdpi_device *device = (struct hdpi_device *)(void *)&row;

    (void)state;
    expect_status(HDP_ERR_ARGUMENT,
                  hdpi_device_open(&device, &row, 0, 0, NULL, NULL));
    assert_null(device);
}

/* ---- memory and copies --------------------------------------------------- */

static void memory_is_counted(void **state)
{
    struct fixture made = open_plain();
    void *small = NULL, *large = NULL, *none = &made;
    int64_t held, left;

    (void)state;
    expect_ok(ops->alloc(made.device, &none, 0));
    assert_null(none);
    expect_ok(ops->alloc(made.device, &small, 1));
    expect_ok(ops->alloc(made.device, &large, 1000000));
    assert_int_equal((uintptr_t)small % 64, 0);
    assert_int_equal((uintptr_t)large % 64, 0);
    ops->memory(made.device, &held, &left);
    assert_int_equal(held, 1000001);
    ops->free(made.device, small);
    ops->free(made.device, NULL);
    ops->memory(made.device, &held, &left);
    assert_int_equal(held, 1000000);
    ops->free(made.device, large);
    ops->memory(made.device, &held, &left);
    assert_int_equal(held, 0);
    release(&made);
}

static void memory_has_the_size_asked_for(void **state)
{
    struct hdpi_ask ask = plain(id_of(0));
    struct fixture made;
    void *half, *more = &made;
    char text[128];
    int64_t held, left;

    (void)state;
    ask.memory_bytes = 1000;
    made = member_of(&ask);
    assert_int_equal(made.device->row.info.memory_bytes, 1000);
    expect_ok(ops->alloc(made.device, &half, 600));
    expect_status(HDP_ERR_MEMORY, ops->alloc(made.device, &more, 401));
    assert_null(more);
    assert_int_equal(hdpi_error()->wanted_bytes, 401);
    snprintf(text, sizeof text, "%s:%d: 401 bytes wanted, 600 held of 1000%s",
             ops->name, (int)id_of(0), ops->kind == HDP_HOST ? " allowed" : "");
    expect_error(text);
    ops->memory(made.device, &held, &left);
    assert_int_equal(held, 600);
    assert_int_equal(left, 400);
    expect_ok(ops->alloc(made.device, &more, 400));
    ops->free(made.device, half);
    ops->free(made.device, more);
    release(&made);
}

/* Rows of 3 bytes, 5 apart at the source and 4 at the target. */
static void copies_leave_the_gaps_alone(void **state)
{
    struct fixture made = open_plain();
    char source[] = "abc..def..ghi..", target[] = "------------";
    void *inside;
    struct hdpi_copy in = { .rows = 3,
                            .row_bytes = 3,
                            .source = source,
                            .source_stride = 5,
                            .target_stride = 3,
                            .direction = HDPI_COPY_IN };
    struct hdpi_copy back = { .target = target,
                              .rows = 3,
                              .row_bytes = 3,
                              .source_stride = 3,
                              .target_stride = 4,
                              .direction = HDPI_COPY_OUT };

    (void)state;
    expect_ok(ops->alloc(made.device, &inside, 9));
    in.target = inside;
    back.source = inside;
    expect_ok(ops->copy(made.device, &in));
    expect_ok(ops->copy(made.device, &back));
    expect_ok(ops->wait(made.device, INT64_MAX));
    assert_string_equal(target, "abc-def-ghi-");
    back.rows = 0;
    back.target = NULL;
    expect_ok(ops->copy(made.device, &back));
    ops->free(made.device, inside);
    release(&made);
}

static void copies_of_whole_blocks_arrive(void **state)
{
    struct fixture made = open_plain();
    unsigned char *source = malloc(BUSY_BYTES), *target = malloc(BUSY_BYTES);
    void *a, *b;
    struct hdpi_copy copy = { .source = source,
                              .rows = BUSY_BYTES / 16,
                              .row_bytes = 16,
                              .target_stride = 16,
                              .source_stride = 16,
                              .direction = HDPI_COPY_IN };

    (void)state;
    assert_true(source && target);
    for (int i = 0; i < BUSY_BYTES; ++i)
        source[i] = (unsigned char)(i * 7 + i / 256);
    expect_ok(ops->alloc(made.device, &a, BUSY_BYTES));
    expect_ok(ops->alloc(made.device, &b, BUSY_BYTES));
    copy.target = a;
    expect_ok(ops->copy(made.device, &copy));
    copy.source = a;
    copy.target = b;
    copy.direction = HDPI_COPY_INSIDE;
    expect_ok(ops->copy(made.device, &copy));
    copy.source = b;
    copy.target = target;
    copy.direction = HDPI_COPY_OUT;
    expect_ok(ops->copy(made.device, &copy));
    expect_ok(ops->wait(made.device, INT64_MAX));
    assert_memory_equal(target, source, BUSY_BYTES);
    ops->free(made.device, a);
    ops->free(made.device, b);
    free(source);
    free(target);
    release(&made);
}

/* ---- work ---------------------------------------------------------------- */

struct call {
    const hdp_shard *shard;
    pthread_t thread;
    int calls;
};

static int32_t note_call(const hdp_shard *shard, void *user)
{
    struct call *call = user;

    call->shard = shard;
    call->thread = pthread_self();
    call->calls++;
    return 4711;
}

static void the_function_is_called_once_here(void **state)
{
    struct fixture made = open_plain();
    struct call call = { .calls = 0 };
    hdp_shard shard = { .size = sizeof shard, .items = 8 };
    int32_t code = 0;

    (void)state;
    expect_ok(ops->launch(made.device, note_call, &shard, &call, &code));
    expect_ok(ops->wait(made.device, INT64_MAX));
    assert_int_equal(call.calls, 1);
    assert_ptr_equal(call.shard, &shard);
    assert_true(pthread_equal(call.thread, pthread_self()));
    assert_int_equal(code, 4711);
    shard.items = 0;
    expect_ok(ops->launch(made.device, note_call, &shard, &call, &code));
    assert_int_equal(call.calls, 2);
    release(&made);
}

static void time_goes_forward(void **state)
{
    struct fixture made = open_plain();
    struct hdpi_mark from = { 0 }, to = { 0 };
    double ns = -1;

    (void)state;
    expect_ok(ops->mark(made.device, &from, HDPI_MARK_TIME));
    expect_ok(launch_items(&made, 100));
    expect_ok(ops->mark(made.device, &to, HDPI_MARK_READY));
    expect_ok(ops->wait(made.device, INT64_MAX));
    expect_ok(ops->elapsed(made.device, &ns, &from, &to));
    assert_true(ns >= 0);
    expect_ok(ops->elapsed(made.device, &ns, &from, &from));
    assert_true(ns == 0);
    ops->unmark(made.device, &from);
    ops->unmark(made.device, &from);
    ops->unmark(made.device, &to);
    assert_null(to.handle);
    release(&made);
}

/* 3 rows of mean (1, 2) and 1 row of mean (5, -2): (2, 1). */
static void combine_weighs(void **state)
{
    struct fixture made = open_plain();
    float first[] = { 1, 2 }, second[] = { 5, -2 }, out[2] = { 0 };
    const void *sources[] = { first, second };
    const int64_t counts[] = { 3, 1 };
    void *targets[] = { out };
    struct hdpk_combine job = { .dtype = HDP_F32,
                                .op = HDP_OP_MEAN,
                                .source_count = 2,
                                .target_count = 1,
                                .sources = sources,
                                .counts = counts,
                                .targets = targets,
                                .total = 4,
                                .count = 2 };

    (void)state;
    expect_ok(ops->combine(made.device, &job));
    expect_ok(ops->wait(made.device, INT64_MAX));
    assert_true(out[0] == 2.0f && out[1] == 1.0f);
    release(&made);
}

/* ---- probes -------------------------------------------------------------- */

static double start_ns(struct fixture *made, struct hdpi_probe *probe)
{
    struct hdpi_mark from = { 0 }, to = { 0 };
    double ns = -1;

    probe->items = probe->start_items;
    expect_ok(ops->mark(made->device, &from, HDPI_MARK_TIME));
    expect_ok(ops->probe(made->device, probe));
    expect_ok(ops->mark(made->device, &to, HDPI_MARK_TIME));
    expect_ok(ops->wait(made->device, INT64_MAX));
    expect_ok(ops->elapsed(made->device, &ns, &from, &to));
    ops->unmark(made->device, &from);
    ops->unmark(made->device, &to);
    return ns;
}

static void probes_measure_what_they_say(void **state)
{
    static const int32_t dtypes[] = { HDP_F32, HDP_F64, HDP_F16, HDP_BF16 };
    struct fixture made = open_plain();

    (void)state;
    for (int i = 0; i < 4; ++i) {
        struct hdpi_probe probe = { .kind = HDP_PROBE_GEMM,
                                    .dtype = dtypes[i],
                                    .width = 96 };
        expect_ok(ops->probe_open(made.device, &probe));
        assert_true(probe.start_items >= 1);
        assert_true(probe.item_flops == 2.0 * 96 * 96);
        assert_int_equal(probe.compute,
                         dtypes[i] == HDP_F64 ? HDP_F64 : HDP_F32);
        assert_true(start_ns(&made, &probe) > 0);
        ops->probe_close(made.device);
    }
    for (int kind = HDP_PROBE_COPY; kind <= HDP_PROBE_LAUNCH; ++kind) {
        struct hdpi_probe probe = { .kind = kind, .dtype = HDP_F32 };
        expect_ok(ops->probe_open(made.device, &probe));
        assert_true(probe.start_items >= 1);
        assert_true(probe.item_bytes ==
                    (kind == HDP_PROBE_COPY ? 1048576.0 : 0.0));
        assert_true(start_ns(&made, &probe) > 0);
    }
    release(&made); /* with one still open */
}

static void probes_refuse_what_they_cannot(void **state)
{
    struct fixture made = open_plain();
    struct hdpi_probe link = { .kind = HDP_PROBE_LINK, .dtype = HDP_F32 };

    (void)state;
    ops->probe_close(made.device);
    expect_status(HDP_ERR_UNSUPPORTED, ops->probe_open(made.device, &link));
    assert_int_equal(hdpi_error()->member, MEMBER);
    expect_status(HDP_ERR_STATE, ops->probe(made.device, &link));
    assert_int_equal(hdpi_error()->member, MEMBER);
    ops->probe_close(made.device);
    release(&made);
}

/* ---- vendor handles ------------------------------------------------------ */

static void no_vendor_no_handles(void **state)
{
    struct fixture made = open_plain();
    void *blas = &made;
    char text[64];

    (void)state;
    if (ops->kind == HDP_CUDA)
        skip();
    assert_null(ops->native(made.device));
    expect_status(HDP_ERR_UNSUPPORTED, ops->blas(made.device, &blas));
    assert_null(blas);
    snprintf(text, sizeof text, "%s:0 has no BLAS handle", ops->name);
    expect_error(text);
    ops->pause(made.device); /* outside a function: nothing */
    ops->resume(made.device);
    assert_int_equal(ops->cause(made.device), HDP_CAUSE_NONE);
    release(&made);
}

/* ---- main ---------------------------------------------------------------- */

/* Exit code of an adapter without devices; 0 when it has one. sim brings its
 * own with the ask. */
static int absent(const char *name)
{
    hdp_topology *topology = NULL;
    int code = 0;

    if (ops->kind == HDP_SIM)
        return 0;
    if (hdpi_topology_new(&topology) != HDP_OK ||
        ops->enumerate(topology, NULL, 0, NULL) != HDP_OK) {
        printf("%s: %s\n", name, hdp_last_error());
        code = 1;
    } else if (topology->info.device_count == 0) {
        code = is_required(name) ? 1 : SKIPPED;
        printf("%s: no device: %s\n", code == 1 ? "required" : "skipped",
               topology->notes ? topology->notes : "no reason given");
    }
    while (code == 0 && gpus < topology->info.device_count &&
           topology->devices[gpus].info.runnable)
        gpus++;
    hdpi_topology_free(topology);
    return code;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hook_is_there),
        cmocka_unit_test(rows_stand_in_the_order_of_the_asks),
        cmocka_unit_test(identity_lasts),
        cmocka_unit_test(open_fills_the_base),
        cmocka_unit_test(close_accepts_what_was_never_opened),
        cmocka_unit_test(unknown_kind_is_refused),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(memory_has_the_size_asked_for),
        cmocka_unit_test(copies_leave_the_gaps_alone),
        cmocka_unit_test(copies_of_whole_blocks_arrive),
        cmocka_unit_test(the_function_is_called_once_here),
        cmocka_unit_test(time_goes_forward),
        cmocka_unit_test(combine_weighs),
        cmocka_unit_test(probes_measure_what_they_say),
        cmocka_unit_test(probes_refuse_what_they_cannot),
        cmocka_unit_test(no_vendor_no_handles),
    };
    int code;

    for (size_t i = 0; argc == 2 && hdpi_device_adapters()[i]; ++i)
        if (strcmp(hdpi_device_adapters()[i]->name, argv[1]) == 0)
            ops = hdpi_device_adapters()[i];
    if (!ops) {
        printf("usage: device_contract host|cuda|sim\n");
        return 2;
    }
    code = absent(argv[1]);
    return code ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
