/* Partitions of a GPU: green contexts of so many multiprocessors. The driver
 * demands that disjoint ones come of one split, and loses 4 MiB for each one
 * made; so a device is split once, into its smallest parts, a partition joins
 * as many as it needs, and all of it is kept in the context and used again. */
#include <stdlib.h>
#include "base/mem.h"
#include "device/cuda_inner.h"

struct cuda_partition {
    struct cuda_partition *next;
    CUgreenCtx green;
    CUcontext context;
    cudaStream_t stream; /* NULL until it could be made */
    int32_t sms;
    int32_t users; /* members that are open on it */
    int lost;      /* 1: its queue hung; never used or ended again */
};

/* One device, split. */
struct cuda_pool {
    struct cuda_pool *next;
    struct hdpi_kept *kept; /* which it is part of */
    int ordinal;
    CUdevResource *parts; /* all outputs of one split, its rest the last */
    struct cuda_partition **owners; /* one a part; NULL: free */
    unsigned part_count;
    unsigned granule; /* multiprocessors of each part but the rest */
    struct cuda_partition *partitions;
    struct cuda_driver driver; /* for the end, when no member is open */
};

/* ---- splitting a device --------------------------------------------------- */

static hdp_status check_functions(struct cuda *self)
{
    const struct cuda_driver *driver = &self->driver;
    char versions[64];

    if (driver->device_resource && driver->split_sms &&
        driver->make_descriptor && driver->green_create &&
        driver->green_destroy && driver->green_context &&
        driver->green_stream && driver->stream_green)
        return HDP_OK;
    cuda_versions(versions, sizeof versions);
    return hdpi_fail_member(HDP_ERR_UNSUPPORTED, self->base.member,
                            self->base.rank,
                            "%s: partitions need a driver of CUDA 12.5 or "
                            "later; %s",
                            self->base.row.info.spec, versions);
}

static void free_pool(struct cuda_pool *pool)
{
    if (!pool)
        return;
    free(pool->parts);
    free(pool->owners);
    free(pool);
}

/* Asks how many parts of the smallest size there are, then for them all. */
static hdp_status split(struct cuda_pool *pool, struct cuda *self,
                        CUdevice device)
{
    CUdevResource whole = { 0 }, *rest;
    unsigned count = 0;

    HDPI_RETURN_IF(cuda_check_driver(
        self,
        self->driver.device_resource(device, &whole, CU_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource"));
    HDPI_RETURN_IF(cuda_check_driver(
        self, self->driver.split_sms(NULL, &count, &whole, NULL, 0, 1),
        "cuDevSmResourceSplitByCount"));
    pool->parts =
        hdpi_alloc((size_t)count + 1, sizeof *pool->parts, "parts of a device");
    pool->owners = hdpi_alloc((size_t)count + 1, sizeof *pool->owners,
                              "parts of a device");
    if (!pool->parts || !pool->owners)
        return HDP_ERR_MEMORY;
    rest = &pool->parts[count];
    HDPI_RETURN_IF(cuda_check_driver(
        self, self->driver.split_sms(pool->parts, &count, &whole, rest, 0, 1),
        "cuDevSmResourceSplitByCount"));
    pool->part_count = count;
    pool->granule = pool->parts[0].sm.smCount;
    if (rest->type == CU_DEV_RESOURCE_TYPE_SM && rest->sm.smCount > 0)
        pool->parts[pool->part_count++] = *rest;
    return HDP_OK;
}

static hdp_status make_pool(struct cuda_pool **out, struct cuda *self)
{
    struct cuda_pool *pool = NULL;
    CUdevice device = 0;
    hdp_status status;

    HDPI_TRY(cuda_check_driver(
        self, self->driver.device_get(&device, self->ordinal), "cuDeviceGet"));
    pool = hdpi_alloc(1, sizeof *pool, "a device in parts");
    if (!pool) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    pool->ordinal = self->ordinal;
    pool->driver = self->driver;
    HDPI_TRY(split(pool, self, device));
    *out = pool;
    pool = NULL;
out:
    free_pool(pool);
    return status;
}

static hdp_status find_pool(struct cuda_pool **out, struct cuda *self)
{
    struct hdpi_kept *kept;
    struct cuda_pool *pool;

    HDPI_RETURN_IF(cuda_kept(&kept, self->base.site));
    for (pool = kept->pools; pool; pool = pool->next)
        if (pool->ordinal == self->ordinal) {
            *out = pool;
            return HDP_OK;
        }
    HDPI_RETURN_IF(make_pool(&pool, self));
    pool->next = kept->pools;
    pool->kept = kept;
    kept->pools = pool;
    *out = pool;
    return HDP_OK;
}

/* ---- partitions ----------------------------------------------------------- */

/* Marks free parts of at least so many multiprocessors as `owner`'s; returns
 * how many those have, 0: there are not so many left. NULL only counts. */
static int32_t claim(struct cuda_pool *pool, int32_t sms,
                     struct cuda_partition *owner)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < pool->part_count && sum < sms; ++i) {
        if (pool->owners[i])
            continue;
        sum += (int32_t)pool->parts[i].sm.smCount;
        pool->owners[i] = owner;
    }
    return sum < sms ? 0 : sum;
}

static void release(struct cuda_pool *pool, const struct cuda_partition *owner)
{
    for (unsigned i = 0; i < pool->part_count; ++i)
        if (pool->owners[i] == owner)
            pool->owners[i] = NULL;
}

static int32_t sum_of(const struct cuda_pool *pool, int free_only)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < pool->part_count; ++i)
        if (!free_only || !pool->owners[i])
            sum += (int32_t)pool->parts[i].sm.smCount;
    return sum;
}

/* Ends what nobody uses: the driver keeps some of its memory, so this is only
 * for want of room. */
static void end(struct cuda_pool *pool, struct cuda_partition *partition)
{
    struct cuda_partition **at = &pool->partitions;

    while (*at != partition)
        at = &(*at)->next;
    *at = partition->next;
    release(pool, partition);
    if (cuda_may_call() == HDP_OK && !partition->lost) {
        if (partition->context)
            cuda_rest_end(pool->kept, partition->context);
        if (partition->stream)
            (void)cudaStreamDestroy(partition->stream);
        if (partition->green)
            (void)pool->driver.green_destroy(partition->green);
        (void)cudaGetLastError();
    }
    free(partition);
}

static void end_idle(struct cuda_pool *pool, int32_t wanted)
{
    struct cuda_partition *at = pool->partitions, *next;

    for (; at && sum_of(pool, 1) < wanted; at = next) {
        next = at->next;
        if (at->users == 0 && !at->lost)
            end(pool, at);
    }
}

static hdp_status refuse(struct cuda *self, const struct cuda_pool *pool,
                         hdp_status status)
{
    return hdpi_fail_member(
        status, self->base.member, self->base.rank,
        "%s: the device has %d multiprocessors in parts of %u, of which %d are "
        "in no other partition of this context",
        self->base.row.info.spec, (int)sum_of(pool, 0), pool->granule,
        (int)sum_of(pool, 1));
}

static hdp_status create(struct cuda_pool *pool, struct cuda *self,
                         struct cuda_partition *partition)
{
    const struct cuda_driver *driver = &self->driver;
    CUdevResourceDesc descriptor = NULL;
    CUdevResource *own = NULL;
    CUdevice device = 0;
    unsigned count = 0;
    hdp_status status;

    own = hdpi_alloc(pool->part_count, sizeof *own, "parts of a partition");
    if (!own) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    for (unsigned i = 0; i < pool->part_count; ++i)
        if (pool->owners[i] == partition)
            own[count++] = pool->parts[i];
    HDPI_TRY(cuda_check_driver(self,
                               driver->make_descriptor(&descriptor, own, count),
                               "cuDevResourceGenerateDesc"));
    HDPI_TRY(cuda_check_driver(self, driver->device_get(&device, self->ordinal),
                               "cuDeviceGet"));
    HDPI_TRY(cuda_check_driver(
        self,
        driver->green_create(&partition->green, descriptor, device,
                             CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate"));
    HDPI_TRY(cuda_check_driver(
        self, driver->green_context(&partition->context, partition->green),
        "cuCtxFromGreenCtx"));
out:
    free(own);
    return status;
}

static hdp_status make_partition(struct cuda_partition **out,
                                 struct cuda_pool *pool, struct cuda *self)
{
    int32_t wanted = self->base.row.ask.sms;
    struct cuda_partition *partition;
    hdp_status status;

    if (wanted > sum_of(pool, 0))
        return refuse(self, pool, HDP_ERR_ARGUMENT);
    end_idle(pool, wanted);
    if (wanted > sum_of(pool, 1))
        return refuse(self, pool, HDP_ERR_BUSY);
    partition = hdpi_alloc(1, sizeof *partition, "a partition");
    if (!partition)
        return HDP_ERR_MEMORY;
    partition->next = pool->partitions;
    pool->partitions = partition;
    partition->sms = claim(pool, wanted, partition);
    status = create(pool, self, partition);
    if (status != HDP_OK) {
        end(pool, partition);
        return status;
    }
    *out = partition;
    return HDP_OK;
}

/* How many multiprocessors a partition of so many gets. */
static int32_t granted(const struct cuda_pool *pool, int32_t sms)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < pool->part_count && sum < sms; ++i)
        sum += (int32_t)pool->parts[i].sm.smCount;
    return sum;
}

/* The partition that a lent stream was made in, or an idle one of that size. */
static struct cuda_partition *find(const struct cuda_pool *pool,
                                   const struct cuda *self)
{
    cudaStream_t lent = self->base.lent_queue;
    int32_t sms = granted(pool, self->base.row.ask.sms);
    struct cuda_partition *at;
    CUgreenCtx green = NULL;

    if (lent && lent != cudaStreamLegacy && lent != cudaStreamPerThread)
        (void)self->driver.stream_green(lent, &green);
    for (at = pool->partitions; at; at = at->next)
        if (!at->lost && at->sms == sms &&
            (green ? at->green == green : at->users == 0))
            return at;
    return NULL;
}

/* ---- taking, giving ------------------------------------------------------- */

static hdp_status take(struct cuda *self)
{
    struct cuda_partition *partition;
    struct cuda_pool *pool = NULL;

    HDPI_RETURN_IF(find_pool(&pool, self));
    partition = find(pool, self);
    if (!partition)
        HDPI_RETURN_IF(make_partition(&partition, pool, self));
    if (!partition->stream)
        HDPI_RETURN_IF(cuda_check_driver(
            self,
            self->driver.green_stream(&partition->stream, partition->green,
                                      CU_STREAM_NON_BLOCKING, 0),
            "cuGreenCtxStreamCreate"));
    partition->users++;
    self->partition = partition;
    self->stream = partition->stream;
    self->base.row.info.partition_sms = partition->sms;
    self->context = partition->context;
    return cuda_check_driver(self, self->driver.context_set(self->context),
                             "cuCtxSetCurrent");
}

hdp_status cuda_partition_take(struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;
    hdp_status status;

    HDPI_RETURN_IF(check_functions(self));
    if (!site || !site->kept)
        return hdpi_fail(HDP_ERR_INTERNAL, "a partition without a context");
    (void)pthread_mutex_lock(site->lock);
    status = take(self);
    (void)pthread_mutex_unlock(site->lock);
    return status;
}

void cuda_partition_give(struct cuda *self)
{
    if (!self->partition)
        return;
    (void)pthread_mutex_lock(self->base.site->lock);
    self->partition->users--;
    self->partition->lost |= self->stuck;
    (void)pthread_mutex_unlock(self->base.site->lock);
    self->partition = NULL;
}

int cuda_partition_owns(const struct cuda *self, cudaStream_t stream)
{
    CUgreenCtx green = NULL;

    return stream != cudaStreamLegacy &&
           self->driver.stream_green(stream, &green) == CUDA_SUCCESS &&
           green == self->partition->green;
}

/* ---- the end -------------------------------------------------------------- */

void cuda_partitions_end(struct hdpi_kept *kept)
{
    while (kept->pools) {
        struct cuda_pool *pool = kept->pools;
        kept->pools = pool->next;
        while (pool->partitions)
            end(pool, pool->partitions);
        free_pool(pool);
    }
}
