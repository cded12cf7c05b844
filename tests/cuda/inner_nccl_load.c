/* NCCL is found by name, by path and in older versions, and what cannot be it is
 * refused with the reason. */
#include "comm/nccl_load.h"
#include "life.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (!value)
        fail_msg("%s is not set", name);
    return value;
}

static void expect_found(const char *path, int version)
{
    struct nccl found;

    if (nccl_load(&found, path) != HDP_OK)
        fail_msg("%s: expected it to load, got: %s", path, hdp_last_error());
    assert_int_equal(found.version, version);
    assert_non_null(found.all_reduce);
    if (!strstr(found.path, strrchr(path, '/')))
        fail_msg("expected the file %s, got %s", path, found.path);
}

static void named_files(void **state)
{
    (void)state;
    life_start("machine=twin");
    expect_found(variable("HDP_FAKE_CUDA"), NCCL_VERSION_CODE);
    expect_found(variable("HDP_FAKE_NCCL_2_18_5"), 21805);
    expect_found(variable("HDP_FAKE_NCCL_2_28_3"), 22803);
    life_end("named files");
}

static void expect_refused(const char *path, const char *words)
{
    struct nccl found;

    assert_int_equal(nccl_load(&found, path), HDP_ERR_NOT_FOUND);
    assert_null(found.library);
    if (!strstr(hdp_last_error(), path) || !strstr(hdp_last_error(), words))
        fail_msg("expected \"%s\" and \"%s\", got: %s", path, words,
                 hdp_last_error());
}

static void what_is_none(void **state)
{
    (void)state;
    life_start("machine=twin nccl=2.17.1");
    expect_refused("/nowhere/libnccl.so.2", "cannot open");
    expect_refused("libm.so.6", "lacks ncclGetVersion");
    expect_refused(variable("HDP_FAKE_CUDA"), "version 2.17.1");
    life_end("what is none");
}

/* Looking for what the process has loads nothing. */
static void told(void **state)
{
    struct hdpi_library about;

    (void)state;
    life_start("machine=twin");
    hdpi_comm_adapter(HDP_ENGINE_NCCL)->describe(&about);
    assert_string_equal(about.name, "nccl");
    if (!about.path[0] && !strstr(about.note, "not loaded"))
        fail_msg("expected a path or why not, got: %s", about.note);
    life_end("told");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_files),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
