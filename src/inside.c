/* What the caller's function may call while it runs: say that a bucket is
 * ready, wait for the results, tell why it fails, ask for the BLAS handle. */
#include "base/text.h"
#include "internal.h"

/* The live member behind a shard; anything else is refused. */
static hdp_status enter(struct hdpi_member **out, const hdp_shard *shard)
{
    struct hdpi_member *member;

    *out = NULL;
    if (!shard || !shard->internal)
        return hdpi_fail(HDP_ERR_ARGUMENT, "shard is %s",
                         shard ? "not one of the library's" : "NULL");
    member = shard->internal;
    if (!atomic_load_explicit(&member->live, memory_order_acquire))
        return hdpi_fail(HDP_ERR_STATE,
                         "the function that this shard was for has returned");
    *out = member;
    return HDP_OK;
}

/* Buckets run in table order: how many from the start have been said. */
static int32_t said_in_order(const struct hdpi_member *member)
{
    const struct hdpi_step *step = member->step;
    const unsigned char *said;
    int32_t b = 0;

    if (step->bucket_count == 0)
        return 0;
    said = step->said + (size_t)member->index * (size_t)step->bucket_count;
    while (b < step->bucket_count && said[b])
        b++;
    return b;
}

static hdp_status say(struct hdpi_member *member, const hdp_shard *shard,
                      int32_t bucket)
{
    struct hdpi_step *step = member->step;
    struct hdpi_device *device = member->device;
    unsigned char *said;
    hdp_status status;

    if (bucket < 0 || bucket >= step->bucket_count)
        return hdpi_fail(HDP_ERR_ARGUMENT, "bucket %d of %d", (int)bucket,
                         (int)step->bucket_count);
    if (!(shard->flags & HDP_SHARD_LAST))
        return hdpi_fail(HDP_ERR_STATE,
                         "bucket %d: buckets belong to the last piece",
                         (int)bucket);
    if (step->nothing)
        return hdpi_fail(HDP_ERR_STATE,
                         "nothing to reduce: the batch has no rows");
    said = step->said + (size_t)member->index * (size_t)step->bucket_count;
    if (said[bucket])
        return hdpi_fail(HDP_ERR_STATE, "bucket %d was said before",
                         (int)bucket);
    said[bucket] = 1;
    if (hdpi_member_defers(member))
        return HDP_OK;
    device->ops->pause(device);
    status = hdpi_member_post(member, said_in_order(member));
    device->ops->resume(device);
    return status;
}

hdp_status hdp_shard_all_reduce(const hdp_shard *shard, int32_t bucket)
{
    struct hdpi_member *member;
    hdp_status status;

    HDPI_RETURN_IF(enter(&member, shard));
    if (shard->flags & HDP_SHARD_PROBE)
        return HDP_OK;
    (void)pthread_mutex_lock(&member->door);
    status = say(member, shard, bucket);
    (void)pthread_mutex_unlock(&member->door);
    return status;
}

/* Waiting is no compute time: it lies between two marks that are taken off. */
static hdp_status await_paused(struct hdpi_member *member)
{
    struct hdpi_device *device = member->device;
    const struct hdpi_device_ops *ops = device->ops;
    int64_t accepted_ns = member->step->accepted_ns;
    int64_t start_ns = hdpi_clock_ns() - accepted_ns;
    double ns;
    hdp_status status, marked;

    ops->pause(device);
    marked = ops->mark(device, &member->pause_from, HDPI_MARK_TIME);
    atomic_store_explicit(&member->inside, HDPI_INSIDE_WAIT,
                          memory_order_relaxed);
    status = hdpi_member_await(member);
    atomic_store_explicit(&member->inside, HDPI_INSIDE_FUNCTION,
                          memory_order_relaxed);
    if (marked == HDP_OK)
        marked = ops->mark(device, &member->pause_to, HDPI_MARK_TIME);
    if (marked == HDP_OK)
        marked = hdpi_member_elapsed(member, &ns, &member->pause_from,
                                     &member->pause_to);
    ops->resume(device);
    if (marked == HDP_OK)
        member->paused_ns += ns;
    if (!member->group->all_virtual)
        hdpi_member_span(member, HDP_LANE_REDUCE, HDP_PHASE_WAIT, 0, start_ns,
                         hdpi_clock_ns() - accepted_ns);
    return status != HDP_OK ? status : marked;
}

/* One thread plays every member: only the last one's join can be met, since
 * everybody before it has said its part or left it to the library. Bucket by
 * bucket, as at the end of the step. */
static hdp_status post_for_all(struct hdpi_member *last, int32_t end)
{
    hdp_group *group = last->group;
    int32_t m, b;

    if (last->index != group->member_count - 1)
        return hdpi_fail(HDP_ERR_STATE,
                         "in CALLER mode the members after %d have not run "
                         "yet; results are there when the step is done",
                         (int)last->index);
    last->device->ops->pause(last->device);
    for (b = 0; b < end; ++b)
        for (m = 0; m < group->member_count; ++m)
            (void)hdpi_member_post(&group->members[m], b + 1);
    last->device->ops->resume(last->device);
    return HDP_OK;
}

static hdp_status join(struct hdpi_member *member)
{
    struct hdpi_step *step = member->step;
    int32_t b = said_in_order(member), missing = b;
    hdp_status status;

    for (; b < step->bucket_count; ++b)
        if (step->said[member->index * step->bucket_count + b])
            return hdpi_fail(HDP_ERR_STATE,
                             "bucket %d runs after bucket %d, which has not "
                             "been said",
                             (int)b, (int)missing);
    if (missing > 0 && hdpi_member_defers(member))
        HDPI_RETURN_IF(post_for_all(member, missing));
    status = await_paused(member);
    if (status != HDP_OK)
        hdpi_member_record(member);
    return status;
}

hdp_status hdp_shard_join(const hdp_shard *shard)
{
    struct hdpi_member *member;
    hdp_status status;

    HDPI_RETURN_IF(enter(&member, shard));
    if (shard->flags & HDP_SHARD_PROBE)
        return HDP_OK;
    (void)pthread_mutex_lock(&member->door);
    status = join(member);
    (void)pthread_mutex_unlock(&member->door);
    return status;
}

hdp_status hdp_shard_fail(const hdp_shard *shard, hdp_status status,
                          int64_t wanted_bytes, const char *text)
{
    struct hdpi_member *member;

    HDPI_RETURN_IF(enter(&member, shard));
    if (status >= 0 || status < HDP_ERR_INTERNAL)
        return hdpi_fail(HDP_ERR_ARGUMENT, "status %d is no error",
                         (int)status);
    (void)pthread_mutex_lock(&member->door);
    member->shard_status = status;
    member->shard_wanted_bytes = wanted_bytes;
    (void)hdpi_text_copy(member->shard_text, sizeof member->shard_text,
                         text ? text : hdp_status_string(status));
    (void)pthread_mutex_unlock(&member->door);
    return HDP_OK;
}

hdp_status hdp_shard_blas(void **out, const hdp_shard *shard)
{
    struct hdpi_member *member;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(enter(&member, shard));
    (void)pthread_mutex_lock(&member->door);
    status = member->device->ops->blas(member->device, out);
    (void)pthread_mutex_unlock(&member->door);
    return status;
}
