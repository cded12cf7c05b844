/* Many processes, few devices, and one that is killed every 50 ms: a table in
 * shared memory never shows two owners of a device.
 *   scenario_lease_stress [GRANTS [PROCESSES [DEVICES [SEED]]]] */
#include <stdatomic.h>
#include <sys/mman.h>
#include "lease_room.h"

enum { PROCESSES_MAX = 256, DEVICES_MAX = 64, IDS_MAX = 1 << 20 };

static const int64_t KILL_NS = 50000000, HOLD_NS = 2000000;

static struct {
    int64_t grants, processes, devices, seed;
} asked = { SANITIZED ? 4000 : 20000, 64, 8, 0 };

struct table {
    _Atomic int32_t owner[DEVICES_MAX]; /* id; 0: nobody */
    _Atomic int64_t grants, devices_granted, longest_wait_ns;
    _Atomic int32_t doubled, failed, stop;
    char why[256];               /* the first failure's text */
    _Atomic char dying[IDS_MAX]; /* by id: set before the kill */
};

static struct table *table;
static struct room room;
static char spec[DEVICES_MAX * 32];

/* ---- a worker ------------------------------------------------------------ */

struct chance {
    uint64_t state;
};

static uint64_t draw(struct chance *chance, uint64_t below)
{
    uint64_t x = chance->state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    chance->state = x;
    return (x >> 11) % below;
}

static void fail_once(const char *what, const char *more)
{
    if (atomic_fetch_add(&table->failed, 1) == 0)
        (void)snprintf(table->why, sizeof table->why, "%s: %s", what, more);
}

/* Whoever stood there must be on the list of the dying: it may have been
 * killed before it could take its name off. */
static void write_down(int32_t device, int32_t id)
{
    int32_t before = atomic_exchange(&table->owner[device], id);

    if (before != 0 && !atomic_load(&table->dying[before]))
        atomic_fetch_add(&table->doubled, 1);
}

static void cross_off(int32_t device, int32_t id)
{
    if (!atomic_compare_exchange_strong(&table->owner[device], &id, 0))
        atomic_fetch_add(&table->doubled, 1);
}

static int32_t device_of(const hdp_lease *lease, int32_t index)
{
    hdp_lease_device_info info = { .size = sizeof info };

    if (hdp_lease_device(&info, lease, index) != HDP_OK)
        return -1;
    return atoi(info.uuid + strlen("GPU-"));
}

static void note_wait(const hdp_lease *lease)
{
    hdp_lease_info info = { .size = sizeof info };
    int64_t longest = atomic_load(&table->longest_wait_ns);

    if (hdp_lease_get(&info, lease) != HDP_OK)
        fail_once("hdp_lease_get", hdp_last_error());
    while (info.waited_ns > longest &&
           !atomic_compare_exchange_weak(&table->longest_wait_ns, &longest,
                                         info.waited_ns))
        continue;
}

/* Mostly one device of all; sometimes several, or two by name, crossed. */
static hdp_status claim(hdp_lease **out, struct chance *chance, int32_t *count)
{
    uint64_t kind = draw(chance, 8);
    char two[64];
    int a, b;

    *count = kind == 0 ? 3 : kind == 1 ? 2 : 1;
    if (kind > 2)
        return room_claim(out, &room, spec, 1, INT64_C(60000) * MS);
    if (kind < 2)
        return room_claim(out, &room, spec, *count, INT64_C(60000) * MS);
    *count = 2;
    a = (int)draw(chance, (uint64_t)asked.devices);
    b = (a + 1 + (int)draw(chance, (uint64_t)asked.devices - 1)) %
        (int)asked.devices;
    (void)snprintf(two, sizeof two, "sim:%d/uuid=GPU-%d+sim:%d/uuid=GPU-%d", a,
                   a, b, b);
    return room_claim(out, &room, two, 0, INT64_C(60000) * MS);
}

static void grant(struct chance *chance, int32_t id)
{
    hdp_lease *lease = NULL;
    int32_t count;

    if (claim(&lease, chance, &count) != HDP_OK) {
        fail_once("hdp_lease_acquire", hdp_last_error());
        return;
    }
    for (int32_t i = 0; i < count; ++i)
        write_down(device_of(lease, i), id);
    note_wait(lease);
    atomic_fetch_add(&table->grants, 1);
    atomic_fetch_add(&table->devices_granted, count);
    sleep_ns((int64_t)draw(chance, (uint64_t)HOLD_NS));
    for (int32_t i = 0; i < count; ++i)
        cross_off(device_of(lease, i), id);
    hdp_lease_destroy(lease);
}

static _Noreturn void work(int32_t id)
{
    struct chance chance = { (uint64_t)asked.seed * 1000003 +
                             (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) };

    while (!atomic_load(&table->stop) && !atomic_load(&table->failed))
        grant(&chance, id);
    _exit(0);
}

/* ---- the killer ---------------------------------------------------------- */

struct crew {
    pid_t pid[PROCESSES_MAX];
    int32_t id[PROCESSES_MAX], next_id, killed;
};

static void start(struct crew *crew, int64_t at)
{
    int32_t id = ++crew->next_id;

    assert_true(id < IDS_MAX);
    crew->id[at] = id;
    crew->pid[at] = room_fork();
    if (crew->pid[at] == 0)
        work(id);
    assert_true(crew->pid[at] > 0);
}

/* The name goes on the list before the signal goes out: a dead one's devices
 * are free as soon as the kernel has them back, long before anybody is told. */
static void kill_one(struct crew *crew, struct chance *chance)
{
    int64_t at = (int64_t)draw(chance, (uint64_t)asked.processes);

    atomic_store(&table->dying[crew->id[at]], 1);
    (void)kill(crew->pid[at], SIGKILL);
    (void)room_child_answer(crew->pid[at]);
    crew->killed++;
    start(crew, at);
}

static void never_two_owners(void **state)
{
    static struct crew crew;
    struct chance chance = { (uint64_t)asked.seed * 2 + 1 };
    int64_t begin_ns = now_ns();

    (void)state;
    for (int64_t i = 0; i < asked.processes; ++i)
        start(&crew, i);
    while (atomic_load(&table->grants) < asked.grants &&
           !atomic_load(&table->failed)) {
        sleep_ns(KILL_NS);
        kill_one(&crew, &chance);
    }
    atomic_store(&table->stop, 1);
    for (int64_t i = 0; i < asked.processes; ++i)
        (void)room_child_answer(crew.pid[i]);
    double seconds = (double)(now_ns() - begin_ns) / 1e9;
    print_message(
        "%lld grants of %lld devices to %lld processes in %.1f s (%.0f "
        "a second), %d killed, longest wait %.1f ms, seed %lld\n",
        (long long)table->grants, (long long)table->devices_granted,
        (long long)asked.processes, seconds, (double)table->grants / seconds,
        (int)crew.killed, (double)table->longest_wait_ns / 1e6,
        (long long)asked.seed);
    if (table->failed)
        fail_msg("expected no failure, got %d; the first: %s",
                 (int)table->failed, table->why);
    expect_number(0, table->doubled, "devices with two owners");
}

/* After all that every device is free. */
static void nothing_is_left(void **state)
{
    hdp_lease *lease = NULL;

    (void)state;
    expect_ok(room_claim(&lease, &room, spec, 0, 0));
    hdp_lease_destroy(lease);
}

static int64_t argument(int argc, char **argv, int at, int64_t fallback)
{
    return argc > at ? strtoll(argv[at], NULL, 10) : fallback;
}

static int prepare(void **state)
{
    size_t used = 0;

    (void)state;
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(table != MAP_FAILED);
    for (int64_t d = 0; d < asked.devices; ++d)
        used += (size_t)snprintf(spec + used, sizeof spec - used,
                                 "%ssim:%lld/uuid=GPU-%lld", d ? "+" : "",
                                 (long long)d, (long long)d);
    room_open(&room);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    room_close(&room);
    return munmap(table, sizeof *table);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_two_owners),
        cmocka_unit_test(nothing_is_left),
    };

    asked.grants = argument(argc, argv, 1, asked.grants);
    asked.processes = argument(argc, argv, 2, asked.processes);
    asked.devices = argument(argc, argv, 3, asked.devices);
    asked.seed = argument(argc, argv, 4, now_ns() & 0xffffff);
    if (asked.processes < 1 || asked.processes > PROCESSES_MAX ||
        asked.devices < 4 || asked.devices > DEVICES_MAX)
        return 2;
    return cmocka_run_group_tests_name("lease_stress", tests, prepare,
                                       clean_up);
}
