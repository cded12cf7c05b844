/* A machine without a GPU driver: the adapter finds nothing, says
 * why with both versions, refuses what is asked of it, and the others work. */
#include "device_fixture.h"

enum { SKIPPED = 77 };

static const struct hdpi_device_ops *cuda;

static void nothing_is_found_and_the_reason_said(void **state)
{
    hdp_topology *topology;
    char built[64];

    (void)state;
    expect_ok(hdpi_topology_new(&topology));
    expect_ok(cuda->enumerate(topology, NULL, 0, NULL));
    assert_int_equal(topology->info.device_count, 0);
    assert_non_null(topology->notes);
    if (hdpi_cuda_build_version() == 0) {
        assert_non_null(strstr(topology->notes, "built without CUDA"));
    } else {
        snprintf(built, sizeof built, "driver 0, built for CUDA %d.%d",
                 hdpi_cuda_build_version() / 1000,
                 hdpi_cuda_build_version() % 1000 / 10);
        assert_non_null(strstr(topology->notes, "cuda: driver absent or too "
                                                "old: libcuda.so.1: "));
        assert_non_null(strstr(topology->notes, built));
    }
    hdpi_topology_free(topology);
}

static void what_is_asked_is_refused(void **state)
{
    struct hdpi_ask asks[3] = { ask_for(HDP_HOST, 0), ask_for(HDP_CUDA, 5),
                                ask_for(HDP_CUDA, -1) };
    hdp_topology *topology;

    (void)state;
    strcpy(asks[2].uuid, "GPU-ee4d17bc");
    expect_ok(hdpi_topology_new(&topology));
    expect_ok(cuda->enumerate(topology, asks, 1, NULL)); /* not its ask */
    assert_int_equal(topology->note_bytes, 0);
    expect_status(HDP_ERR_NOT_FOUND, cuda->enumerate(topology, asks, 2, NULL));
    assert_memory_equal(hdp_last_error(), "no device: cuda:5: ", 19);
    expect_status(HDP_ERR_NOT_FOUND,
                  cuda->enumerate(topology, asks + 2, 1, NULL));
    assert_memory_equal(hdp_last_error(), "no device: cuda:GPU-ee4d17bc: ", 30);
    asks[2].all = 1;
    expect_status(HDP_ERR_NOT_FOUND,
                  cuda->enumerate(topology, asks + 2, 1, NULL));
    assert_memory_equal(hdp_last_error(), "no device: cuda:all: ", 21);
    if (hdpi_cuda_build_version())
        assert_non_null(strstr(hdp_last_error(), "; driver 0, built for"));
    assert_int_equal(topology->info.device_count, 0);
    hdpi_topology_free(topology);
}

static void no_member_can_be_made(void **state)
{
    struct hdpi_device_row row = { .info = { .kind = HDP_CUDA } };
    struct hdpi_device *device = NULL;

    (void)state;
    expect_status(HDP_ERR_NOT_FOUND,
                  hdpi_device_open(&device, &row, MEMBER, RANK, NULL, NULL));
    assert_null(device);
    expect_error("no device: cuda:0");
}

static void it_describes_itself(void **state)
{
    struct hdpi_library about;

    (void)state;
    hdpi_cuda_describe(&about);
    assert_string_equal(about.name, "cuda");
    assert_string_equal(about.path, "");
    assert_true(about.note[0] != '\0');
}

static void the_host_works_all_the_same(void **state)
{
    struct hdpi_ask ask = ask_for(HDP_HOST, 0);
    struct fixture made = member_of(&ask);

    (void)state;
    expect_ok(launch_items(&made, 1));
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_and_the_reason_said),
        cmocka_unit_test(what_is_asked_is_refused),
        cmocka_unit_test(no_member_can_be_made),
        cmocka_unit_test(it_describes_itself),
        cmocka_unit_test(the_host_works_all_the_same),
    };
    struct hdpi_library about;

    cuda = hdpi_device_adapter(HDP_CUDA);
    hdpi_cuda_describe(&about);
    if (about.path[0]) {
        printf("skipped: a driver is here: %s\n", about.path);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
