/* Leases of GPUs: a lock bears the UUID, whatever number a GPU has; what was
 * granted is a mask and a specification; a whole GPU and its parts exclude each
 * other (the locks themselves: scenario.lease). */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>
#include <hdp/lease.h>
#include "looked.h"

static char folder[64];

static int open_folder(void **state)
{
    (void)state;
    (void)strcpy(folder, "/tmp/hdp-leased-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int close_folder(void **state)
{
    DIR *listed = opendir(folder);
    const struct dirent *entry;

    (void)state;
    while (listed && (entry = readdir(listed)))
        (void)unlinkat(dirfd(listed), entry->d_name, 0);
    if (listed)
        (void)closedir(listed);
    return rmdir(folder);
}

static hdp_status claim(hdp_lease **out, const struct looked *own,
                        const char *spec, int32_t count)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;

    *out = NULL;
    options.directory = folder;
    options.count = count;
    return hdp_lease_acquire(out, own->context, spec, &options);
}

/* A mask of UUIDs, and the specification of these GPUs by number. */
static void expect_texts(const hdp_lease *lease, const char *spec,
                         const char *const *uuids, int count)
{
    char mask[256] = "", got[256];

    for (int i = 0; i < count; ++i)
        (void)snprintf(mask + strlen(mask), sizeof mask - strlen(mask), "%s%s",
                       i ? "," : "", uuids[i]);
    expect_ok(hdp_lease_mask(lease, got, sizeof got, NULL));
    assert_string_equal(got, mask);
    expect_ok(hdp_lease_spec(lease, got, sizeof got, NULL));
    assert_string_equal(got, spec);
}

/* The GPU of a number now. */
static void uuid_of(char out[64], const struct looked *own, int number)
{
    hdp_device device;

    assert_int_equal(looked_gpu(&device, own, number), 1);
    (void)snprintf(out, 64, "%s", device.uuid);
}

/* With one lease held, the next claimant gets the others, and a group of them;
 * nothing in a lease starts a context. */
static void what_is_free_is_granted(void **state)
{
    struct looked own;
    hdp_lease *first, *rest, *none;
    hdp_group *group = NULL;
    hdp_group_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    char uuids[3][64], spec[256];

    (void)state;
    looked_start("machine=desk", NULL);
    looked_open(&own);
    for (int i = 0; i < 3; ++i)
        uuid_of(uuids[i], &own, i);
    expect_ok(claim(&first, &own, "cuda:1", 0));
    expect_texts(first, "cuda:1", (const char *const[]){ uuids[1] }, 1);
    expect_status(HDP_ERR_BUSY, claim(&none, &own, "cuda:all", 3));
    if (!strstr(hdp_last_error(), uuids[1]))
        fail_msg("expected %s in \"%s\"", uuids[1], hdp_last_error());
    expect_ok(claim(&rest, &own, "cuda:all", 2));
    expect_texts(rest, "cuda:0+cuda:2",
                 (const char *const[]){ uuids[0], uuids[2] }, 2);
    expect_number(0, fake_contexts(-1), "contexts made by leases");
    expect_ok(hdp_lease_spec(rest, spec, sizeof spec, NULL));
    expect_ok(hdp_group_create_spec(&group, own.context, spec, NULL));
    expect_ok(hdp_group_get(&info, group));
    expect_number(2, info.member_count, "members");
    expect_ok(hdp_group_device(&device, group, 1));
    assert_string_equal(device.uuid, uuids[2]);
    hdp_group_destroy(group);
    hdp_lease_destroy(rest);
    hdp_lease_destroy(first);
    looked_close(&own);
}

/* Held under one mask, refused under another, where it has another number. */
static void the_lock_is_the_cards(void **state)
{
    struct looked own, other;
    hdp_lease *held, *none;
    char uuid[64];

    (void)state;
    looked_start("machine=desk", NULL);
    looked_open(&own);
    uuid_of(uuid, &own, 2);
    expect_ok(claim(&held, &own, "cuda:2", 0));
    looked_start("machine=desk", "2,0");
    looked_open(&other);
    expect_status(HDP_ERR_BUSY, claim(&none, &other, "cuda:0", 0));
    if (!strstr(hdp_last_error(), uuid))
        fail_msg("expected %s in \"%s\"", uuid, hdp_last_error());
    hdp_lease_destroy(held);
    expect_ok(claim(&held, &other, "cuda:0", 0));
    expect_texts(held, "cuda:0", (const char *const[]){ uuid }, 1);
    hdp_lease_destroy(held);
    looked_close(&other);
    hdp_topology_destroy(own.topology);
    hdp_context_destroy(own.context);
    looked_start("machine=desk", NULL);
}

static void a_whole_gpu_or_its_parts(void **state)
{
    struct looked own;
    hdp_lease *whole, *part, *none;

    (void)state;
    looked_start("machine=lab", NULL);
    looked_open(&own);
    expect_ok(claim(&part, &own, "cuda:1/sms=48", 0));
    expect_status(HDP_ERR_BUSY, claim(&none, &own, "cuda:1", 0));
    expect_ok(claim(&whole, &own, "cuda:0", 0));
    hdp_lease_destroy(whole);
    hdp_lease_destroy(part);
    expect_ok(claim(&whole, &own, "cuda:1", 0));
    expect_status(HDP_ERR_BUSY, claim(&none, &own, "cuda:1/sms=48", 0));
    hdp_lease_destroy(whole);
    looked_close(&own);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_free_is_granted),
        TEST(the_lock_is_the_cards),
        TEST(a_whole_gpu_or_its_parts),
    };

    return cmocka_run_group_tests_name("leased", tests, NULL, NULL);
}
