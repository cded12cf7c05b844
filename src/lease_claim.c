/* A claim: it looks before it locks, so one that cannot be granted disturbs
 * nobody, and it locks all or nothing in the order of names, so that of crossed
 * claims one always goes on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "leases.h"

/* ---- locking a choice ---------------------------------------------------- */

static int compare_locks(const void *a, const void *b)
{
    const struct hdpi_lease_lock *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void add_lock(hdp_lease *lease, const char *name, int shared)
{
    struct hdpi_lease_lock *lock = &lease->locks[lease->lock_count];

    for (int32_t i = 0; i < lease->lock_count; ++i)
        if (strcmp(lease->locks[i].name, name) == 0)
            return; /* parts of one GPU share it once */
    (void)hdpi_text_copy(lock->name, sizeof lock->name, name);
    lock->shared = shared;
    lock->fd = -1;
    lease->lock_count++;
}

/* All of them, or BUSY with the name that another has in *out_busy. */
static hdp_status take_all(hdp_lease *lease, const char **out_busy)
{
    hdp_status status = HDP_OK;
    int32_t i;

    qsort(lease->locks, (size_t)lease->lock_count, sizeof *lease->locks,
          compare_locks);
    for (i = 0; i < lease->lock_count && status == HDP_OK; ++i) {
        status = hdpi_lease_take(&lease->locks[i], &lease->folder);
        *out_busy = lease->locks[i].name;
    }
    /* Whoever waited may hold what others no longer ask. */
    if (status == HDP_OK)
        status = hdpi_lease_folder_still(&lease->folder);
    if (status != HDP_OK)
        hdpi_lease_drop_all(lease);
    return status;
}

struct claim {
    hdp_lease *lease;
    struct hdpi_lease_choice choice;
    int32_t wanted;
    unsigned char *free; /* one a candidate */
    int32_t free_count;
    hdp_context *context;
    const hdp_profile *profile;
};

static void look_around(struct claim *claim)
{
    claim->free_count = 0;
    for (int32_t i = 0; i < claim->choice.count; ++i) {
        int32_t state = hdpi_lease_choice_state(&claim->choice.candidates[i],
                                                &claim->lease->folder);
        claim->free[i] = state == HDP_LEASE_FREE || state == HDP_LEASE_UNKNOWN;
        claim->free_count += claim->free[i];
    }
}

/* Of the free ones, the first so many in the order of choosing. */
static void pick(struct claim *claim)
{
    const struct hdpi_lease_choice *choice = &claim->choice;
    int32_t left = claim->wanted;

    claim->lease->lock_count = 0;
    for (int32_t i = 0; i < choice->count && left > 0; ++i) {
        const struct hdpi_lease_candidate *own =
            &choice->candidates[choice->order[i]];
        if (!claim->free[choice->order[i]])
            continue;
        claim->free[choice->order[i]] = 2; /* picked */
        if (own->whole[0])
            add_lock(claim->lease, own->whole, 1);
        add_lock(claim->lease, own->name, 0);
        left--;
    }
}

/* Somebody was faster, or locked without asking: not free after all. */
static void cross_out(struct claim *claim, const char *name)
{
    claim->free_count = 0;
    for (int32_t i = 0; i < claim->choice.count; ++i) {
        const struct hdpi_lease_candidate *own = &claim->choice.candidates[i];
        if (strcmp(own->name, name) == 0 || strcmp(own->whole, name) == 0)
            claim->free[i] = 0;
        claim->free[i] = claim->free[i] != 0;
        claim->free_count += claim->free[i];
    }
}

static hdp_status try_once(struct claim *claim)
{
    hdp_status status = HDP_ERR_BUSY;
    const char *busy = "";

    look_around(claim);
    if (claim->free_count >= claim->wanted &&
        claim->choice.policy == HDP_LEASE_IDLE)
        HDPI_RETURN_IF(hdpi_lease_choice_rank(&claim->choice, claim->context,
                                              claim->profile));
    while (status == HDP_ERR_BUSY && claim->free_count >= claim->wanted) {
        pick(claim);
        status = take_all(claim->lease, &busy);
        if (status == HDP_ERR_BUSY)
            cross_out(claim, busy);
    }
    return status;
}

/* ---- waiting ------------------------------------------------------------- */

enum { PAUSE_LEAST_NS = 250000, PAUSE_MOST_NS = 20000000, PATIENCE = 32 };

/* A small part of what was waited already: quick at first, and hardly any work
 * for those who wait for minutes. */
static int64_t pause_after(int64_t waited_ns)
{
    int64_t pause_ns = waited_ns / PATIENCE;

    return pause_ns < PAUSE_LEAST_NS  ? PAUSE_LEAST_NS
           : pause_ns > PAUSE_MOST_NS ? PAUSE_MOST_NS
                                      : pause_ns;
}

/* Half to one and a half of the pause, so that those who wait together do not
 * come back together. */
static void rest(int64_t pause_ns, int64_t left_ns, uint64_t *seed)
{
    struct timespec time;

    *seed =
        *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    pause_ns = pause_ns / 2 + (int64_t)((*seed >> 33) % (uint64_t)pause_ns);
    if (pause_ns > left_ns)
        pause_ns = left_ns;
    time.tv_sec = (time_t)(pause_ns / 1000000000);
    time.tv_nsec = (long)(pause_ns % 1000000000);
    (void)nanosleep(&time, NULL); /* a signal only shortens it */
}

static hdp_status try_until(struct claim *claim, int64_t timeout_ns)
{
    int64_t start_ns = hdpi_clock_ns(), now_ns = start_ns;
    int64_t deadline_ns = hdpi_deadline_ns(timeout_ns);
    uint64_t seed = (uint64_t)start_ns ^ (uint64_t)getpid() << 32 ^
                    (uint64_t)(uintptr_t)claim;
    hdp_status status;

    for (;;) {
        status = try_once(claim);
        now_ns = hdpi_clock_ns();
        if (status != HDP_ERR_BUSY || now_ns >= deadline_ns)
            break;
        rest(pause_after(now_ns - start_ns), deadline_ns - now_ns, &seed);
    }
    claim->lease->info.waited_ns = now_ns - start_ns;
    return status;
}

/* ---- who is in the way --------------------------------------------------- */

static size_t say_holder(char *out, size_t size, const hdp_lease_entry *entry)
{
    int used = snprintf(out, size, "%s", entry->uuid);

    if (entry->pid > 0)
        used += snprintf(out + used, size - (size_t)used,
                         " by process %" PRId32 "%s%s%s since %s", entry->pid,
                         entry->command[0] ? " " : "", entry->command,
                         entry->elsewhere ? " of another container"
                         : entry->gone    ? " (ended, its job has not)"
                                          : "",
                         entry->since);
    return (size_t)used;
}

/* "2 wanted, 1 free of 4; held: ...": as many holders as the text has room
 * for. */
static hdp_status fail_busy(const struct claim *claim, int64_t timeout_ns)
{
    char text[sizeof((hdp_error *)NULL)->text], line[192];
    enum { TAIL = 16 }; /* " and 4095 more" */
    size_t used;
    int32_t told = 0, held = 0;
    hdp_status status = timeout_ns > 0 ? HDP_ERR_TIMEOUT : HDP_ERR_BUSY;

    used = (size_t)snprintf(
        text, sizeof text,
        "%" PRId32 " wanted, %" PRId32 " free of %" PRId32 "; held:",
        claim->wanted, claim->free_count, claim->choice.count);
    for (int32_t i = 0; i < claim->choice.count; ++i) {
        hdp_lease_entry entry;
        if (claim->free[i])
            continue;
        hdpi_lease_choice_look(&entry, &claim->choice.candidates[i],
                               &claim->lease->folder);
        size_t length = say_holder(line, sizeof line, &entry);
        if (told == held++ && used + length + 2 + TAIL < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
                                     told ? "," : "", line);
            told++;
        }
    }
    if (told < held)
        (void)snprintf(text + used, sizeof text - used,
                       told ? " and %d more" : " %d", (int)(held - told));
    (void)hdpi_fail(status, "%s", text);
    hdpi_error()->severity = HDP_RETRY; /* no group is lost by it */
    return status;
}

/* ---- acquiring ----------------------------------------------------------- */

static hdp_status check_options(const hdp_lease_options *own)
{
    if (own->count < 0 || own->timeout_ns < 0 || own->policy < 0 ||
        own->policy > HDP_LEASE_IDLE)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "hdp_lease_options.%s is out of range",
                         own->count < 0        ? "count"
                         : own->timeout_ns < 0 ? "timeout_ns"
                                               : "policy");
    if (own->profile)
        return hdpi_object_check(own->profile, HDPI_PROFILE, "profile");
    return HDP_OK;
}

static void fill_devices(struct claim *claim)
{
    hdp_lease *lease = claim->lease;

    for (int32_t i = 0; i < claim->choice.count; ++i) {
        const struct hdpi_lease_candidate *own = &claim->choice.candidates[i];
        hdp_lease_device_info *device =
            &lease->devices[lease->info.device_count];
        if (claim->free[i] != 2)
            continue;
        device->size = sizeof *device;
        (void)hdpi_text_copy(device->uuid, sizeof device->uuid, own->info.uuid);
        (void)hdpi_text_copy(device->spec, sizeof device->spec, own->info.spec);
        (void)hdpi_text_copy(device->file, sizeof device->file, own->name);
        device->shared = own->whole[0] != '\0';
        lease->info.device_count++;
    }
}

static hdp_status make_claim(struct claim *claim, const char *spec,
                             const hdp_lease_options *own)
{
    struct hdpi_lease_wish wish;
    size_t count;

    HDPI_RETURN_IF(
        hdpi_lease_choice_make(&claim->choice, claim->context, spec, own));
    claim->wanted = own->count > 0 ? own->count : claim->choice.count;
    claim->profile = own->profile;
    if (claim->wanted > claim->choice.count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%" PRId32 " devices wanted, but there are only "
                         "%" PRId32,
                         claim->wanted, claim->choice.count);
    count = (size_t)claim->choice.count;
    claim->free = hdpi_alloc(count, 1, "which are free");
    if (!claim->free)
        return HDP_ERR_MEMORY;
    HDPI_RETURN_IF(hdpi_lease_new(&claim->lease, count));
    hdpi_lease_wish_make(&wish, claim->context, own->directory);
    return hdpi_lease_folder_open(&claim->lease->folder, &wish,
                                  &claim->context->log);
}

static hdp_status acquire(hdp_lease **out, hdp_context *context,
                          const char *spec, const hdp_lease_options *own)
{
    struct claim claim = { .context = context };
    hdp_status status;

    HDPI_TRY(make_claim(&claim, spec, own));
    status = try_until(&claim, own->timeout_ns);
    if (status == HDP_ERR_BUSY)
        status = fail_busy(&claim, own->timeout_ns);
    HDPI_TRY(status);
    fill_devices(&claim);
    hdpi_lease_fill_info(claim.lease);
    hdpi_log(&context->log, HDP_LOG_INFO,
             "lease: %" PRId32 " of %" PRId32 " devices in %s", claim.wanted,
             claim.choice.count, claim.lease->folder.path);
    *out = claim.lease;
    claim.lease = NULL;
out:
    hdpi_lease_choice_finish(&claim.choice);
    free(claim.free);
    if (claim.lease)
        hdpi_lease_free(claim.lease);
    return status;
}

hdp_status hdp_lease_acquire(hdp_lease **out, hdp_context *context,
                             const char *spec, const hdp_lease_options *options)
{
    hdp_lease_options own;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_context_check(context));
    HDPI_RETURN_IF(
        hdpi_options_read(&own, sizeof own, options, "hdp_lease_options"));
    HDPI_RETURN_IF(check_options(&own));
    return acquire(out, context, spec, &own);
}
