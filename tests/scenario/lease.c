/* Claims: all or nothing, whichever are free, crossed, by policy, told when
 * refused; looking disturbs nobody; nothing is left behind. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "lease_room.h"

enum {
    CROSSINGS = SANITIZED ? 500 : 10000,
    ROUNDS = 1000,
    THREADS = 8,
    TURNS = SANITIZED ? 50 : 300
};

static struct room room;

static void expect_mask(const char *want, const hdp_lease *lease)
{
    char text[512];

    expect_ok(hdp_lease_mask(lease, text, sizeof text, NULL));
    assert_string_equal(text, want);
}

/* ---- what is granted ----------------------------------------------------- */

static void what_a_lease_tells(void **state)
{
    hdp_lease_info info = { .size = sizeof info };
    hdp_lease_device_info device = { .size = sizeof device };
    hdp_lease *lease = NULL;
    size_t needed = 0;
    char text[8];

    (void)state;
    expect_ok(room_claim(&lease, &room, FOUR, 0, 0));
    expect_ok(hdp_lease_get(&info, lease));
    expect_number(4, info.device_count, "devices");
    expect_number(5, info.descriptor_count, "descriptors");
    expect_number(HDP_LEASE_CHOSEN, info.scope, "scope");
    expect_number(0, info.adopted, "adopted");
    assert_string_equal(info.directory, room.path);
    expect_ok(hdp_lease_device(&device, lease, 2));
    assert_string_equal(device.uuid, "GPU-c");
    assert_string_equal(device.file, "GPU-c.lease");
    assert_string_equal(device.spec, "sim:2/uuid=GPU-c");
    expect_number(0, device.shared, "shared");
    expect_mask("GPU-a,GPU-b,GPU-c,GPU-d", lease);
    expect_status(HDP_ERR_CAPACITY,
                  hdp_lease_mask(lease, text, sizeof text, &needed));
    expect_number(24, (int64_t)needed, "bytes of the mask");
    for (int32_t i = 0; i < info.descriptor_count; ++i) {
        int32_t fd = -1;
        expect_ok(hdp_lease_descriptor(&fd, lease, i));
        expect_number(FD_CLOEXEC, fcntl(fd, F_GETFD), "flags of %d", (int)fd);
    }
    hdp_context_destroy(room.context); /* a lease needs none */
    room.context = NULL;
    expect_mask("GPU-a,GPU-b,GPU-c,GPU-d", lease);
    hdp_lease_destroy(lease);
}

static void a_refusal_names_the_holders(void **state)
{
    hdp_lease *own = NULL, *other = NULL;
    char words[160];

    (void)state;
    pid_t child = room_holder(&room, "sim:0/uuid=GPU-a+sim:2/uuid=GPU-c");
    expect_ok(room_claim(&own, &room, "sim:3/uuid=GPU-d", 0, 0));
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, FOUR, 2, 0));
    assert_null(other);
    (void)snprintf(words, sizeof words,
                   "2 wanted, 1 free of 4; held: GPU-a by process %d ",
                   (int)child);
    if (strncmp(hdp_last_error(), words, strlen(words)) != 0)
        fail_msg("expected \"%s...\", got \"%s\"", words, hdp_last_error());
    expect_has(hdp_last_error(), " since 20");
    expect_has(hdp_last_error(), "Z, GPU-c by process ");
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
    expect_ok(room_claim(&other, &room, FOUR, 3, 0));
    expect_mask("GPU-a,GPU-b,GPU-c", other);
    hdp_lease_destroy(own);
    hdp_lease_destroy(other);
}

/* Many holders do not fit; how many more there are does. */
static void a_long_refusal_is_cut_at_a_holder(void **state)
{
    hdp_lease *own = NULL, *other = NULL;

    (void)state;
    expect_ok(room_claim(&own, &room, "sim:0-15", 0, 0));
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, "sim:0-15", 1, 0));
    expect_has(hdp_last_error(), "1 wanted, 0 free of 16; held: SIM-0 by");
    expect_has(hdp_last_error(), "Z and 1");
    expect_has(hdp_last_error(), " more");
    hdp_lease_destroy(own);
}

static void nothing_is_kept_of_a_refused_claim(void **state)
{
    hdp_lease *own = NULL, *three = NULL, *rest = NULL;

    (void)state;
    expect_ok(room_claim(&own, &room, "sim:1/uuid=GPU-b", 0, 0));
    expect_status(HDP_ERR_BUSY,
                  room_claim(&three, &room,
                             "sim:0/uuid=GPU-a+sim:1/uuid=GPU-b+sim:2/"
                             "uuid=GPU-c",
                             0, 0));
    int descriptors = count_descriptors();
    expect_status(HDP_ERR_TIMEOUT,
                  room_claim(&three, &room,
                             "sim:0/uuid=GPU-a+sim:1/uuid=GPU-b+sim:2/"
                             "uuid=GPU-c",
                             0, 20 * MS));
    expect_number(descriptors, count_descriptors(), "descriptors");
    expect_ok(room_claim(&rest, &room, FOUR, 3, 0));
    expect_mask("GPU-a,GPU-c,GPU-d", rest);
    hdp_lease_destroy(own);
    hdp_lease_destroy(rest);
}

static void rounds(int count)
{
    for (int i = 0; i < count; ++i) {
        hdp_lease_entry entry;
        hdp_lease *lease = NULL, *second = NULL;
        expect_ok(room_claim(&lease, &room, FOUR, 3, 0));
        expect_status(HDP_ERR_BUSY, room_claim(&second, &room, FOUR, 2, 0));
        room_look(&entry, &room, FOUR);
        hdp_lease_destroy(lease);
    }
}

static void rounds_leave_nothing_behind(void **state)
{
    (void)state;
    rounds(10); /* the C library's own caches */
    int descriptors = count_descriptors(), threads = count_threads();
    size_t bytes = heap_bytes();
    rounds(ROUNDS);
    expect_number(descriptors, count_descriptors(), "descriptors");
    expect_number(threads, count_threads(), "threads");
    if (!SANITIZED)
        expect_number((int64_t)bytes, (int64_t)heap_bytes(), "bytes");
}

/* ---- many at once -------------------------------------------------------- */

/* A wrapper: eight ask for one of four at the same time. */
static void four_of_eight_get_one(void **state)
{
    struct shared {
        _Atomic int32_t ready, granted, busy, wrong, let_go, claimed[4];
    } *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[8];

    (void)state;
    assert_true(shared != MAP_FAILED);
    for (int i = 0; i < 8; ++i) {
        children[i] = room_fork();
        if (children[i] == 0) {
            hdp_lease *lease = NULL;
            atomic_fetch_add(&shared->ready, 1);
            while (atomic_load(&shared->ready) < 8)
                (void)sched_yield();
            hdp_status status = room_claim(&lease, &room, FOUR, 1, 0);
            if (status == HDP_ERR_BUSY) {
                atomic_fetch_add(&shared->busy, 1);
                status = room_claim(&lease, &room, FOUR, 1, 20000 * MS);
                if (status != HDP_OK)
                    atomic_fetch_add(&shared->wrong, 1);
                _exit(0);
            }
            hdp_lease_device_info info = { .size = sizeof info };
            if (status != HDP_OK ||
                hdp_lease_device(&info, lease, 0) != HDP_OK ||
                atomic_fetch_add(&shared->claimed[info.uuid[4] - 'a'], 1) != 0)
                atomic_fetch_add(&shared->wrong, 1);
            atomic_fetch_add(&shared->granted, 1);
            while (!atomic_load(&shared->let_go))
                (void)sched_yield();
            hdp_lease_destroy(lease);
            _exit(0);
        }
    }
    for (int64_t end = now_ns() + 20000 * MS;
         atomic_load(&shared->granted) + atomic_load(&shared->busy) < 8 &&
         now_ns() < end;)
        (void)sched_yield();
    expect_number(4, shared->granted, "granted");
    expect_number(4, shared->busy, "busy");
    atomic_store(&shared->let_go, 1);
    for (int i = 0; i < 8; ++i)
        expect_number(0, room_child_answer(children[i]), "child %d", i);
    expect_number(0, shared->wrong, "doubled, or not granted in turn");
    (void)munmap(shared, sizeof *shared);
}

static int cross(const char *spec)
{
    for (int i = 0; i < CROSSINGS; ++i) {
        hdp_lease *lease = NULL;
        if (room_claim(&lease, &room, spec, 0, 20000 * MS) != HDP_OK)
            return 1;
        hdp_lease_destroy(lease);
    }
    return 0;
}

static void crossed_claims_both_end(void **state)
{
    pid_t there, back;

    (void)state;
    there = room_fork();
    if (there == 0)
        _exit(cross("sim:0/uuid=GPU-a+sim:1/uuid=GPU-b"));
    back = room_fork();
    if (back == 0)
        _exit(cross("sim:1/uuid=GPU-b+sim:0/uuid=GPU-a"));
    expect_number(0, room_child_answer(there), "{0,1}");
    expect_number(0, room_child_answer(back), "{1,0}");
}

static struct {
    _Atomic int32_t inside, doubled, failed;
} thread_table;

static void *compete(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; ++i) {
        hdp_lease *lease = NULL;
        if (room_claim(&lease, &room, "sim:0/uuid=GPU-a", 0, 50000 * MS) !=
            HDP_OK) {
            atomic_fetch_add(&thread_table.failed, 1);
            continue;
        }
        if (atomic_fetch_add(&thread_table.inside, 1) != 0)
            atomic_fetch_add(&thread_table.doubled, 1);
        (void)sched_yield();
        atomic_fetch_sub(&thread_table.inside, 1);
        hdp_lease_destroy(lease);
    }
    return NULL;
}

static void threads_compete_like_processes(void **state)
{
    pthread_t threads[THREADS];
    hdp_lease *first = NULL, *second = NULL;

    (void)state;
    expect_ok(room_claim(&first, &room, "sim:0/uuid=GPU-a", 0, 0));
    expect_status(HDP_ERR_BUSY,
                  room_claim(&second, &room, "sim:0/uuid=GPU-a", 0, 0));
    hdp_lease_destroy(first);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, compete, NULL), 0);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    expect_number(0, thread_table.failed, "claims that failed");
    expect_number(0, thread_table.doubled, "two at once");
}

/* A look takes nothing: a claim beside a thousand looks never fails. */
static void looking_disturbs_nobody(void **state)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    pid_t child;

    (void)state;
    options.directory = room.path;
    child = room_fork();
    if (child == 0)
        for (;;) {
            hdp_lease_list *list = NULL;
            if (hdp_lease_list_create(&list, room.context, FOUR, &options) !=
                HDP_OK)
                _exit(1);
            hdp_lease_list_destroy(list);
        }
    for (int i = 0; i < ROUNDS; ++i) {
        hdp_lease *lease = NULL;
        expect_ok(room_claim(&lease, &room, FOUR, 0, 0));
        hdp_lease_destroy(lease);
    }
    (void)kill(child, SIGKILL);
    expect_number(1000 + SIGKILL, room_child_answer(child), "the looker");
}

/* ---- which ones ---------------------------------------------------------- */

static void claims_stay_within_a_mask(void **state)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_lease *lease = NULL;

    (void)state;
    options.directory = room.path;
    options.mask = "GPU-c,GPU-b";
    expect_ok(hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_mask("GPU-c,GPU-b", lease);
    hdp_lease_destroy(lease);
    options.count = 3;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_has(hdp_last_error(), "3 devices wanted, but there are only 2");
    options.mask = "";
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_has(hdp_last_error(), "the mask lets none of the devices through");
}

static void the_fastest_by_a_profile(void **state)
{
    static const char known[] =
        "sim:0/uuid=GPU-a/item=30us+sim:1/uuid=GPU-b/item=10us+"
        "sim:2/uuid=GPU-c/item=20us";
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_profile *profile = NULL;
    hdp_group *group = NULL;
    hdp_lease *lease = NULL, *second = NULL;

    (void)state;
    options.directory = room.path;
    options.policy = HDP_LEASE_FASTEST;
    options.count = 2;
    expect_status(HDP_ERR_ARGUMENT,
                  hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_has(hdp_last_error(), "needs a profile");
    expect_ok(hdp_group_create_spec(&group, room.context, known, NULL));
    expect_ok(hdp_calibrate(&profile, group, NULL));
    hdp_group_destroy(group);
    options.profile = profile;
    expect_ok(hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_mask("GPU-b,GPU-c", lease);
    expect_ok(hdp_lease_acquire(&second, room.context, FOUR, &options));
    expect_mask("GPU-a,GPU-d", second); /* the unknown one comes last */
    hdp_lease_destroy(lease);
    hdp_lease_destroy(second);
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_lease_acquire(&lease, room.context, "sim:5-7", &options));
    hdp_profile_destroy(profile);
}

static void the_most_free_memory(void **state)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_lease *lease = NULL;

    (void)state;
    options.directory = room.path;
    options.policy = HDP_LEASE_MEMORY;
    options.count = 1;
    expect_ok(hdp_lease_acquire(
        &lease, room.context,
        "sim:0/uuid=GPU-a/mem=8GB+sim:1/uuid=GPU-b/mem=24GB", &options));
    expect_mask("GPU-b", lease);
    hdp_lease_destroy(lease);
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_lease_acquire(&lease, room.context, FOUR, &options));
    options.policy = HDP_LEASE_IDLE;
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_lease_acquire(&lease, room.context, FOUR, &options));
    expect_has(hdp_last_error(), "policy idle");
}

static void hosts_and_odd_names_are_refused(void **state)
{
    hdp_lease *lease = NULL;

    (void)state;
    expect_status(HDP_ERR_UNSUPPORTED,
                  room_claim(&lease, &room, "host:0", 0, 0));
    expect_has(hdp_last_error(), "host:0");
    expect_status(HDP_ERR_UNSUPPORTED,
                  room_claim(&lease, &room, "sim:0/uuid=.hidden", 0, 0));
    expect_has(hdp_last_error(), "\".hidden\" is no lasting identity");
    expect_ok(room_claim(&lease, &room, "@lab", 0, 0));
    expect_mask("GPU-7745c501-5141-4c00-ac7a-4be677dc6cdb,"
                "GPU-d8fd8a00-83b0-412b-a0b3-7c6c71274861,"
                "MIG-99a86088-ab50-4aa2-ab8f-47bf97ef6903",
                lease);
    hdp_lease_destroy(lease);
}

/* What was granted is what a group is made of. Once there is a group, forked
 * children are refused: those who fork come before. */
static void a_group_of_what_was_granted(void **state)
{
    hdp_group_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    hdp_lease *lease = NULL, *held = NULL;
    hdp_group *group = NULL;
    char text[256];

    (void)state;
    expect_ok(room_claim(&held, &room, "sim:1/uuid=GPU-b", 0, 0));
    expect_ok(room_claim(&lease, &room, FOUR, 2, 0));
    expect_ok(hdp_lease_spec(lease, text, sizeof text, NULL));
    assert_string_equal(text, "sim:0/uuid=GPU-a+sim:2/uuid=GPU-c");
    expect_ok(hdp_group_create_spec(&group, room.context, text, NULL));
    expect_ok(hdp_group_get(&info, group));
    expect_number(2, info.member_count, "members");
    expect_ok(hdp_group_device(&device, group, 1));
    assert_string_equal(device.uuid, "GPU-c");
    hdp_group_destroy(group);
    hdp_lease_destroy(lease);
    hdp_lease_destroy(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM_TEST(what_a_lease_tells),
        ROOM_TEST(a_refusal_names_the_holders),
        ROOM_TEST(a_long_refusal_is_cut_at_a_holder),
        ROOM_TEST(nothing_is_kept_of_a_refused_claim),
        ROOM_TEST(rounds_leave_nothing_behind),
        ROOM_TEST(four_of_eight_get_one),
        ROOM_TEST(crossed_claims_both_end),
        ROOM_TEST(threads_compete_like_processes),
        ROOM_TEST(looking_disturbs_nobody),
        ROOM_TEST(claims_stay_within_a_mask),
        ROOM_TEST(the_fastest_by_a_profile),
        ROOM_TEST(the_most_free_memory),
        ROOM_TEST(hosts_and_odd_names_are_refused),
        ROOM_TEST(a_group_of_what_was_granted),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
