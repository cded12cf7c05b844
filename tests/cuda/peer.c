/* The direct way between two GPUs (FAULTS F23, F24): believed once every byte
 * came through, said to be none where the driver refuses or bytes are lost, and
 * left behind where a copy never ends. What reduces deliver is right anyway. */
#include <cuda_runtime_api.h>
#include "looked.h"

enum { ELEMENTS = 4096, MEMBERS = 2 };

static hdp_group *open_pair(struct looked *own, const char *words)
{
    const int32_t ids[] = { 0, 1 };
    hdp_group *group = NULL;

    looked_start(words, NULL);
    looked_context(own);
    expect_ok(hdp_group_create(&group, own->context, ids, MEMBERS, NULL));
    return group;
}

static void close_pair(struct looked *own, hdp_group *group)
{
    hdp_group_destroy(group);
    looked_close(own);
}

static hdp_link try_way(hdp_group *group, int32_t from, int32_t to)
{
    hdp_link link = { .size = sizeof link, .peer = -1 };

    expect_ok(hdp_group_link(&link, group, from, to));
    return link;
}

static void a_way_that_works(void **state)
{
    struct looked own;
    hdp_group *group = open_pair(&own, "machine=lab");
    hdp_link link;

    (void)state;
    link = try_way(group, 0, 1);
    assert_int_equal(link.peer, 1);
    assert_true(link.bytes_per_second > 1000000000);
    assert_int_equal(try_way(group, 1, 0).peer, 1);
    assert_int_equal(try_way(group, 0, 1).peer, 1); /* 704: on already */
    assert_string_equal(own.log, "");
    close_pair(&own, group);
}

static void f24_a_way_that_is_refused(void **state)
{
    static const char *const machines[] = { "machine=twin",
                                            "machine=lab peer=refuse:0-1" };
    struct looked own;

    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
        hdp_group *group = open_pair(&own, machines[i]);
        assert_int_equal(try_way(group, 0, 1).peer, 0);
        assert_string_equal(own.log, "");
        close_pair(&own, group);
    }
}

/* The driver may also say no only when access is switched on. */
static void a_refusal_that_comes_late(void **state)
{
    static const char *const codes[] = { "217", "711" };
    char words[96];
    struct looked own;

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
        (void)snprintf(words, sizeof words,
                       "machine=lab fail=cudaDeviceEnablePeerAccess:1:%s",
                       codes[i]);
        hdp_group *group = open_pair(&own, words);
        assert_int_equal(try_way(group, 0, 1).peer, 0);
        assert_int_equal(try_way(group, 0, 1).peer, 1); /* as if never */
        close_pair(&own, group);
    }
}

/* Parts of one GPU share its memory: no way between them is needed, and CUDA,
 * which would say no, is not asked. */
static void parts_of_one_gpu(void **state)
{
    struct looked own;
    hdp_group *group = NULL;
    hdp_link link;

    (void)state;
    looked_start("machine=lab", NULL);
    looked_context(&own);
    expect_ok(hdp_group_create_spec(&group, own.context,
                                    "cuda:0/sms=48+cuda:0/sms=40", NULL));
    link = try_way(group, 0, 1);
    assert_int_equal(link.peer, 0);
    assert_true(link.bytes_per_second == 0);
    assert_int_equal(fake_calls("cudaDeviceEnablePeerAccess"), 0);
    assert_int_equal(fake_calls("cudaMemcpyPeerAsync"), 0);
    assert_string_equal(own.log, "");
    close_pair(&own, group);
}

/* ---- F23 -------------------------------------------------------------------- */

/* A sum over both members, in memory that CUDA knows. */
static void reduce_is_right(hdp_group *group)
{
    const int64_t elements[] = { ELEMENTS };
    void *tensors[MEMBERS];
    hdp_buffers buffers = { .size = sizeof buffers };
    static float values[ELEMENTS];

    for (int m = 0; m < MEMBERS; ++m) {
        assert_int_equal(cudaSetDevice(m), cudaSuccess);
        assert_int_equal(cudaMalloc(&tensors[m], sizeof values), cudaSuccess);
        for (int i = 0; i < ELEMENTS; ++i)
            values[i] = (float)((m + 1) * i);
        assert_int_equal(cudaMemcpy(tensors[m], values, sizeof values,
                                    cudaMemcpyHostToDevice),
                         cudaSuccess);
    }
    buffers.dtype = HDP_F32;
    buffers.op = HDP_OP_SUM;
    buffers.tensor_count = 1;
    buffers.elements = elements;
    buffers.send = (const void *const *)tensors;
    buffers.recv = tensors;
    expect_ok(hdp_all_reduce(group, NULL, &buffers));
    for (int m = 0; m < MEMBERS; ++m) {
        assert_int_equal(cudaMemcpy(values, tensors[m], sizeof values,
                                    cudaMemcpyDeviceToHost),
                         cudaSuccess);
        for (int i = 0; i < ELEMENTS; ++i)
            if (values[i] != (float)(3 * i))
                fail_msg("member %d, element %d: expected %d, got %.0f", m, i,
                         3 * i, (double)values[i]);
        assert_int_equal(cudaFree(tensors[m]), cudaSuccess);
    }
}

static void f23_copies_that_lose_bytes(void **state)
{
    struct looked own;
    hdp_group *group = open_pair(&own, "machine=lab peer=lie:0-1");

    (void)state;
    assert_int_equal(try_way(group, 0, 1).peer, 0);
    assert_int_equal(looked_said(&own, "peer copy from cuda:0"), 1);
    assert_int_equal(looked_said(&own, "to cuda:1"), 1);
    assert_int_equal(looked_said(&own, "go through the host"), 1);
    reduce_is_right(group);
    close_pair(&own, group);
}

/* ---- what else may happen ---------------------------------------------------- */

static void a_copy_that_never_ends(void **state)
{
    struct looked own;
    hdp_group *group = open_pair(&own, "machine=lab peer=hang:0-1");
    hdp_link link = { .size = sizeof link };
    hdp_error error = { .size = sizeof error };

    (void)state;
    assert_int_equal(hdp_group_link(&link, group, 0, 1), HDP_ERR_TIMEOUT);
    expect_ok(hdp_error_get(&error));
    if (!strstr(error.text, "cuda:0") || !strstr(error.text, "cuda:1"))
        fail_msg("expected both devices, got: %s", error.text);
    assert_int_equal(hdp_group_health(&error, group), HDP_ERR_TIMEOUT);
    assert_int_equal(hdp_barrier(group), HDP_ERR_TIMEOUT);
    hdp_group_destroy(group); /* does not wait for that copy */
    hdp_context_destroy(own.context);
    fake_calm();
    assert_null(fake_breach());
}

/* Each of its calls fails once: said, nothing kept, the next time works. */
static void each_call_fails_once(void **state)
{
    static const char *const calls[] = {
        "cudaMalloc",
        "cudaMemsetAsync",
        "cudaMemcpyAsync",
        "cudaEventRecord",
        "cudaMemcpyPeerAsync",
        "cudaStreamQuery",
        "cudaSetDevice",
        "cudaEventElapsedTime",
        "cudaDeviceCanAccessPeer",
        "cudaEventCreateWithFlags",
        "cudaStreamCreateWithFlags",
    };
    struct looked own;
    hdp_group *group = open_pair(&own, "machine=lab");
    char words[96];

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        hdp_link link = { .size = sizeof link };
        (void)snprintf(words, sizeof words, "fail=%s:1:2", calls[i]);
        assert_int_equal(fake_plant(words), 0);
        if (hdp_group_link(&link, group, 0, 1) != HDP_ERR_MEMORY)
            fail_msg("%s: expected %d, got: %s", calls[i], HDP_ERR_MEMORY,
                     hdp_last_error());
        if (!strstr(hdp_last_error(), calls[i]))
            fail_msg("expected %s, got: %s", calls[i], hdp_last_error());
        assert_int_equal(try_way(group, 0, 1).peer, 1);
    }
    close_pair(&own, group);
}

static void arguments(void **state)
{
    hdp_link link = { .size = sizeof link };
    struct looked own;
    hdp_group *group = open_pair(&own, "machine=lab");

    (void)state;
    assert_int_equal(hdp_group_link(NULL, group, 0, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_group_link(&link, NULL, 0, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_group_link(&link, group, 0, 0), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_group_link(&link, group, -1, 0), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_group_link(&link, group, 0, 2), HDP_ERR_ARGUMENT);
    close_pair(&own, group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_way_that_works),
        cmocka_unit_test(f24_a_way_that_is_refused),
        cmocka_unit_test(a_refusal_that_comes_late),
        cmocka_unit_test(parts_of_one_gpu),
        cmocka_unit_test(f23_copies_that_lose_bytes),
        cmocka_unit_test(a_copy_that_never_ends),
        cmocka_unit_test(each_call_fails_once),
        cmocka_unit_test(arguments),
    };

    return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
