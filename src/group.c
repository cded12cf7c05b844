/* A group of members: made of the rows of a topology, looked at, connected,
 * left. Threads hold the group, so that one stuck in the caller's
 * function can be left behind without pulling memory from under it. */
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

enum {
    SPIN_NS = 50000, /* look this long, then sleep */
    SPANS_A_GROUP_MAX = 4096
};

/* ---- checks ---------------------------------------------------------------- */

hdp_status hdpi_group_check_any(const hdp_group *group)
{
    HDPI_RETURN_IF(hdpi_process_check());
    return hdpi_object_check(group, HDPI_GROUP, "group");
}

hdp_status hdpi_group_well(const hdp_group *group)
{
    hdp_group *mine = (hdp_group *)(uintptr_t)group; /* for its lock alone */
    hdp_status status;

    if (!atomic_load_explicit(&group->lost, memory_order_acquire))
        return HDP_OK;
    (void)pthread_mutex_lock(&mine->lock);
    status = hdpi_error_adopt(&group->health);
    (void)pthread_mutex_unlock(&mine->lock);
    return status;
}

hdp_status hdpi_group_check(const hdp_group *group)
{
    HDPI_RETURN_IF(hdpi_group_check_any(group));
    return hdpi_group_well(group);
}

int32_t hdpi_group_rank_count(const hdp_group *group)
{
    return group->member_count;
}

const char *hdpi_group_key(const hdp_group *group, int32_t rank)
{
    return group->members[rank].key;
}

/* ---- members --------------------------------------------------------------- */

static uint64_t fingerprint_of(const hdp_group *group)
{
    uint64_t hash = HDPI_HASH_START;
    int32_t m;

    for (m = 0; m < group->member_count; ++m) {
        hash = hdpi_hash_text(hash, group->members[m].key);
        hash = hdpi_hash_step(hash, 0xff); /* no byte of a key */
    }
    return hash ? hash : 1; /* 0 means: not of a group */
}

static hdp_status open_members(hdp_group *group, const hdp_topology *topology,
                               const hdp_group_options *own)
{
    int32_t m;

    group->all_virtual = 1;
    group->first_gpu = -1;
    for (m = 0; m < group->member_count; ++m) {
        struct hdpi_member *member = &group->members[m];
        member->group = group;
        member->index = member->rank = m;
        member->next = 1;
        (void)pthread_mutex_init(&member->door, NULL);
        HDPI_RETURN_IF(hdpi_device_open(&member->device, &topology->devices[m],
                                        m, m, &group->context->site,
                                        own->streams ? own->streams[m] : NULL));
        member->device->serial = group->caller_mode;
        group->all_virtual &= member->device->virtual_time;
        if (member->device->asynchronous && group->first_gpu < 0)
            group->first_gpu = m;
        hdpi_device_key(member->key, HDPI_KEY_MAX, &member->device->row.info);
    }
    group->fingerprint = fingerprint_of(group);
    return HDP_OK;
}

static hdp_status make_slots(hdp_group *group)
{
    int32_t s, spans = group->member_count * HDPI_MEMBER_SPANS;

    for (s = 0; s < HDPI_STEPS_IN_FLIGHT; ++s) {
        group->steps[s].outcomes =
            hdpi_alloc((size_t)group->member_count, sizeof(struct hdpi_outcome),
                       "outcomes of a step");
        if (!group->steps[s].outcomes)
            return HDP_ERR_MEMORY;
    }
    return hdpi_report_pool_create(
        &group->reports, group->member_count,
        spans < SPANS_A_GROUP_MAX ? spans : SPANS_A_GROUP_MAX);
}

static hdp_status start_threads(hdp_group *group)
{
    int32_t m;

    if (group->caller_mode)
        return HDP_OK;
    for (m = 0; m < group->member_count; ++m)
        HDPI_RETURN_IF(hdpi_member_start(&group->members[m]));
    return HDP_OK;
}

/* ---- options --------------------------------------------------------------- */

static hdp_status check_options(const hdp_group_options *own, int32_t count,
                                const hdp_topology *topology)
{
    hdp_world world;
    int32_t m;

    if (own->world) {
        HDPI_RETURN_IF(
            hdpi_options_read(&world, sizeof world, own->world, "hdp_world"));
        if (world.process_count > 1)
            return hdpi_fail(HDP_ERR_UNSUPPORTED,
                             "worlds of more than one process come in a later "
                             "version; process_count is %d",
                             (int)world.process_count);
        if (world.process_count < 0 || world.process_index != 0)
            return hdpi_fail(HDP_ERR_ARGUMENT, "process_index %d of %d",
                             (int)world.process_index,
                             (int)world.process_count);
    }
    if (own->threads != HDP_THREADS_MEMBER &&
        own->threads != HDP_THREADS_CALLER)
        return hdpi_fail(HDP_ERR_ARGUMENT, "threads is %d", (int)own->threads);
    if (own->comm < HDP_COMM_LAZY || own->comm > HDP_COMM_NONE)
        return hdpi_fail(HDP_ERR_ARGUMENT, "comm is %d", (int)own->comm);
    if (own->checked != 0 && own->checked != 2)
        return hdpi_fail(HDP_ERR_ARGUMENT, "checked is %d, neither 0 nor 2",
                         (int)own->checked);
    if (own->reserved)
        return hdpi_fail(HDP_ERR_ARGUMENT, "reserved is %d",
                         (int)own->reserved);
    if (own->timeout_ns < 0 || own->spin_ns < 0 || own->staging_bytes < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s is negative",
                         own->timeout_ns < 0 ? "timeout_ns"
                         : own->spin_ns < 0  ? "spin_ns"
                                             : "staging_bytes");
    if (!own->alloc != !own->free)
        return hdpi_fail(HDP_ERR_ARGUMENT, "alloc and free go together");
    for (m = 0; own->streams && m < count; ++m)
        if (own->streams[m] && topology->devices[m].info.kind != HDP_CUDA)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "streams[%d] is given, but %s has no streams",
                             (int)m, topology->devices[m].info.spec);
    return HDP_OK;
}

static void take_options(hdp_group *group, const hdp_group_options *own)
{
    int32_t threads;

    group->caller_mode = own->threads == HDP_THREADS_CALLER;
    group->comm_mode = own->comm;
    group->timeout_ns =
        own->timeout_ns ? own->timeout_ns : group->context->timeout_ns;
    group->alloc = own->alloc;
    group->free = own->free;
    group->alloc_user = own->alloc_user;
    /* The waiting caller counts: with fewer cores than threads a spinning one
     * only keeps the others from running (FACTS: 8,000 against 5.5 us). */
    threads = group->caller_mode ? 1 : group->member_count + 1;
    group->patience.look_ns = own->spin_ns ? own->spin_ns : SPIN_NS;
    group->patience.yield = threads > hdpi_cores_allowed();
}

/* ---- making, leaving ---------------------------------------------------------------- */

/* A device that hangs may be at work with the memory of every member. */
static void condemn(hdp_group *group)
{
    hdp_error before = *hdpi_error();
    int32_t m;

    if (hdpi_group_idle(group, 0) != HDP_OK)
        for (m = 0; m < group->member_count; ++m)
            if (group->members[m].device)
                group->members[m].device->condemned = 1;
    *hdpi_error() = before;
}

static hdp_status close_device(void *arg)
{
    struct hdpi_member *member = arg;
    struct hdpi_mark *marks[] = { &member->begin,      &member->from,
                                  &member->to,         &member->ready,
                                  &member->pause_from, &member->pause_to };
    size_t i;

    if (!member->device->condemned)
        hdpi_member_trim(member);
    for (i = 0; i < sizeof marks / sizeof *marks; ++i)
        member->device->ops->unmark(member->device, marks[i]);
    hdpi_device_close(member->device);
    member->device = NULL;
    return HDP_OK;
}

/* Beside this thread, which may be the caller's: its errors stay its own. */
static void leave_device(struct hdpi_member *member)
{
    struct hdpi_device *device = member->device;
    hdp_error before = *hdpi_error();

    if (device && device->ops->apart(device, close_device, member) != HDP_OK)
        (void)close_device(member); /* no thread: rather here than never */
    *hdpi_error() = before;
}

static void group_free(hdp_group *group)
{
    int32_t m, s;

    if (group->members)
        condemn(group);
    for (m = 0; group->members && m < group->member_count; ++m) {
        struct hdpi_member *member = &group->members[m];
        hdpi_comm_close(member->comm);
        leave_device(member);
        if (member->group)
            (void)pthread_mutex_destroy(&member->door);
        free(member->views);
        free(member->stores);
    }
    for (s = 0; s < HDPI_STEPS_IN_FLIGHT; ++s)
        hdpi_step_finish(&group->steps[s]);
    hdpi_report_pool_destroy(group->reports);
    hdp_profile_destroy(group->calibrated);
    while (group->abandoned) {
        struct hdpi_abandoned *block = group->abandoned;
        group->abandoned = block->next;
        free(block);
    }
    free(group->members);
    (void)pthread_mutex_destroy(&group->lock);
    hdpi_machine_free(group->machine);
    hdp_context_destroy(group->context);
    free(group);
}

void hdpi_group_abandon(hdp_group *group, struct hdpi_abandoned *block)
{
    (void)pthread_mutex_lock(&group->lock);
    block->next = group->abandoned;
    group->abandoned = block;
    (void)pthread_mutex_unlock(&group->lock);
}

void hdpi_group_leave(hdp_group *group)
{
    if (atomic_fetch_sub(&group->holders, 1) == 1)
        group_free(group);
}

/* Tells the threads to go and waits for those that can; one inside the
 * caller's function is left behind and frees the group when it returns. */
static void stop_threads(hdp_group *group)
{
    pthread_t self = pthread_self();
    int32_t m;

    if (!group->members)
        return; /* half made */
    atomic_store_explicit(&group->quit, 1, memory_order_release);
    for (m = 0; m < group->member_count; ++m)
        hdpi_park_signal(&group->members[m].inbox);
    for (m = 0; m < group->member_count; ++m) {
        struct hdpi_member *member = &group->members[m];
        if (!member->threaded)
            continue;
        if (atomic_load(&member->inside) != HDPI_OUTSIDE ||
            pthread_equal(member->thread, self))
            (void)pthread_detach(member->thread);
        else
            (void)pthread_join(member->thread, NULL);
    }
}

hdp_status hdpi_group_make(hdp_group **out, hdp_context *context,
                           const hdp_topology *topology,
                           const hdp_group_options *options)
{
    hdp_group_options own;
    hdp_group *group = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_options_read(&own, sizeof own, options, "hdp_group_options"));
    HDPI_TRY(check_options(&own, topology->info.device_count, topology));
    hdpi_process_started();
    group = hdpi_alloc(1, sizeof *group, "group");
    if (!group) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    (void)pthread_mutex_init(&group->lock, NULL);
    atomic_store(&group->holders, 1);
    hdpi_object_retain(&context->object);
    group->context = context;
    group->member_count = topology->info.device_count;
    group->machine = topology->machine;
    if (group->machine)
        hdpi_machine_keep(group->machine);
    group->members = hdpi_alloc_aligned(
        (size_t)group->member_count * sizeof *group->members, 64, "members");
    if (!group->members) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    memset(group->members, 0,
           (size_t)group->member_count * sizeof *group->members);
    take_options(group, &own);
    HDPI_TRY(open_members(group, topology, &own));
    HDPI_TRY(make_slots(group));
    HDPI_TRY(start_threads(group));
    if (own.comm == HDP_COMM_NOW)
        HDPI_TRY(hdpi_group_connect(group));
    hdpi_object_init(&group->object, HDPI_GROUP);
    *out = group;
    group = NULL;
out:
    if (group) {
        stop_threads(group);
        hdpi_group_leave(group);
    }
    return status;
}

/* ---- looking --------------------------------------------------------------- */

static hdp_status member_check(const hdp_group *group, int32_t member)
{
    HDPI_RETURN_IF(hdpi_group_check_any(group));
    if (member < 0 || member >= group->member_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "member %d of a group of %d",
                         (int)member, (int)group->member_count);
    return HDP_OK;
}

hdp_status hdp_group_get(hdp_group_info *out, const hdp_group *group)
{
    hdp_group_info info = { 0 };

    HDPI_RETURN_IF(hdpi_group_check_any(group));
    info.size = sizeof info;
    info.member_count = info.rank_count = group->member_count;
    info.process_count = 1;
    info.fingerprint = group->fingerprint;
    info.step = atomic_load_explicit(&group->accepted, memory_order_acquire);
    return hdpi_options_write(out, &info, sizeof info, "hdp_group_info");
}

hdp_status hdp_group_device(hdp_device *out, const hdp_group *group,
                            int32_t member)
{
    hdp_group *mine = (hdp_group *)(uintptr_t)group; /* its lock */
    hdp_device info;

    HDPI_RETURN_IF(member_check(group, member));
    (void)pthread_mutex_lock(&mine->lock);
    info = group->members[member].device->row.info;
    (void)pthread_mutex_unlock(&mine->lock);
    return hdpi_options_write(out, &info, sizeof info, "hdp_device");
}

hdp_status hdp_group_stream(void **out, const hdp_group *group, int32_t member)
{
    struct hdpi_device *device;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(member_check(group, member));
    device = group->members[member].device;
    *out = device->ops->native(device);
    return HDP_OK;
}

/* ---- connecting, shrinking, trimming, leaving ------------------------------ */

hdp_status hdpi_group_connect(hdp_group *group)
{
    struct hdpi_comm **comms = NULL;
    struct hdpi_comm_member *tables = NULL;
    hdp_status status = HDP_OK;
    int32_t m;

    if (group->members[0].comm)
        return HDP_OK;
    if (group->comm_mode == HDP_COMM_NONE)
        return hdpi_fail(HDP_ERR_STATE,
                         "the group was made without communication "
                         "(HDP_COMM_NONE)");
    comms = hdpi_alloc((size_t)group->member_count, sizeof *comms, "comms");
    tables = hdpi_alloc((size_t)group->member_count, sizeof *tables, "comms");
    if (!comms || !tables) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    for (m = 0; m < group->member_count; ++m)
        hdpi_member_lend(&group->members[m], &tables[m]);
    HDPI_TRY(hdpi_comm_open_all(comms, group->member_count,
                                hdpi_comm_adapter(HDP_ENGINE_LOCAL), tables));
    (void)pthread_mutex_lock(&group->lock);
    for (m = 0; m < group->member_count; ++m)
        group->members[m].comm = comms[m];
    (void)pthread_mutex_unlock(&group->lock);
    status = hdpi_group_well(group); /* it may have been aborted meanwhile */
out:
    free(comms);
    free(tables);
    return status;
}

hdp_status hdp_group_shrink(hdp_group **out, hdp_group *lost,
                            int32_t *old_ranks, int32_t capacity)
{
    (void)old_ranks;
    (void)capacity;
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_group_check_any(lost));
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "shrinking a lost group comes in a later version; make a "
                     "new group of the members that are well");
}

static hdp_status trim(struct hdpi_member *member, void *arg)
{
    (void)arg;
    hdpi_member_trim(member);
    return HDP_OK;
}

hdp_status hdp_group_trim(hdp_group *group)
{
    return hdpi_group_each(group, trim, NULL, 0);
}

hdp_status hdpi_group_each(hdp_group *group, hdpi_each_fn fn, void *arg,
                           int64_t timeout_ns)
{
    struct hdpi_step *step;

    HDPI_RETURN_IF(hdpi_step_open(&step, group, timeout_ns));
    step->kind = HDPI_STEP_EACH;
    step->each = fn;
    step->each_arg = arg;
    return hdpi_step_wait(NULL, group, hdpi_step_accept(group, step));
}

void hdp_group_destroy(hdp_group *group)
{
    hdp_error before;

    if (!group || hdpi_process_forked() ||
        !hdpi_object_release((struct hdpi_object *)group, HDPI_GROUP))
        return;
    if (atomic_load(&group->done) != atomic_load(&group->accepted)) {
        before = *hdpi_error();
        (void)hdpi_fail(HDP_ERR_STATE, "the group was destroyed");
        hdpi_group_lose(group);
        *hdpi_error() = before;
        (void)hdpi_group_drained(group);
    }
    stop_threads(group);
    hdpi_group_leave(group);
}
