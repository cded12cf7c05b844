/* Partitions of a GPU: green contexts of so many multiprocessors. The driver
 * demands that disjoint ones come of one split, and loses 4 MiB for each one
 * made; so a device is split once, into its smallest parts, a partition joins
 * as many as it needs, and all of it is kept in the context and used again. */
#include <stdlib.h>
#include "base/mem.h"
#include "device/cuda_inner.h"

struct cuda_partition {
    struct cuda_partition *next;
    CUdevResource *parts; /* until it is made */
    unsigned part_count;
    struct cuda_rest *rest; /* its handles, once it is to end */
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
    struct hdpi_kept *kept = self->kept;
    struct cuda_pool *pool;

    for (pool = kept->pools; pool; pool = pool->next)
        if (pool->ordinal == self->ordinal) {
            *out = pool;
            return HDP_OK;
        }
    HDPI_RETURN_IF(make_pool(&pool, self));
    pool->next = kept->pools;
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

/* Nobody uses it; it goes to the others that are to end. Those of a device where
 * something is late are let go of, since to end their handles would wait. */
static void take_out(struct hdpi_kept *kept, struct cuda_pool *pool,
                     struct cuda_partition *partition,
                     struct cuda_partition **gone)
{
    struct cuda_partition **at = &pool->partitions;

    while (*at != partition)
        at = &(*at)->next;
    *at = partition->next;
    release(pool, partition);
    partition->lost |= cuda_late_look(kept, pool->ordinal);
    if (partition->context)
        partition->rest = cuda_rest_take_out(kept, partition->context);
    partition->next = *gone;
    *gone = partition;
}

/* The driver keeps some of their memory, so this is only for want of room. */
static void take_out_idle(struct hdpi_kept *kept, struct cuda_pool *pool,
                          int32_t wanted, struct cuda_partition **gone)
{
    struct cuda_partition *at = pool->partitions, *next;

    for (; at && sum_of(pool, 1) < wanted; at = next) {
        next = at->next;
        if (at->users == 0 && !at->lost)
            take_out(kept, pool, at, gone);
    }
}

/* Waits for the device where handles rest: not with the site's lock. */
static void end_all(const struct hdpi_kept *kept, const struct cuda_pool *pool,
                    struct cuda_partition *gone)
{
    struct cuda_partition *next;

    for (; gone; gone = next) {
        next = gone->next;
        cuda_rest_end(kept, gone->rest);
        if (cuda_may_call() == HDP_OK && !gone->lost) {
            if (gone->stream)
                (void)cudaStreamDestroy(gone->stream);
            if (gone->green)
                (void)pool->driver.green_destroy(gone->green);
            (void)cudaGetLastError();
        }
        free(gone->parts);
        free(gone);
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

static hdp_status create(struct cuda_partition *partition, struct cuda *self)
{
    const struct cuda_driver *driver = &self->driver;
    CUdevResourceDesc descriptor = NULL;
    CUdevice device = 0;

    HDPI_RETURN_IF(cuda_late_check(self, "making a partition"));
    HDPI_RETURN_IF(
        cuda_check_driver(self,
                          driver->make_descriptor(&descriptor, partition->parts,
                                                  partition->part_count),
                          "cuDevResourceGenerateDesc"));
    HDPI_RETURN_IF(cuda_check_driver(
        self, driver->device_get(&device, self->ordinal), "cuDeviceGet"));
    HDPI_RETURN_IF(cuda_check_driver(
        self,
        driver->green_create(&partition->green, descriptor, device,
                             CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate"));
    return cuda_check_driver(
        self, driver->green_context(&partition->context, partition->green),
        "cuCtxFromGreenCtx");
}

/* A partition that has its parts and is still to be made; nobody else sees it
 * so far. */
static hdp_status claim_new(struct cuda_partition **out, struct cuda_pool *pool,
                            struct cuda *self, struct cuda_partition **gone)
{
    int32_t wanted = self->base.row.ask.sms;
    struct cuda_partition *partition;

    if (wanted > sum_of(pool, 0))
        return refuse(self, pool, HDP_ERR_ARGUMENT);
    take_out_idle(self->kept, pool, wanted, gone);
    if (wanted > sum_of(pool, 1))
        return refuse(self, pool, HDP_ERR_BUSY);
    partition = hdpi_alloc(1, sizeof *partition, "a partition");
    if (!partition)
        return HDP_ERR_MEMORY;
    partition->parts = hdpi_alloc(pool->part_count, sizeof *partition->parts,
                                  "parts of a partition");
    if (!partition->parts) {
        free(partition);
        return HDP_ERR_MEMORY;
    }
    partition->sms = claim(pool, wanted, partition);
    for (unsigned i = 0; i < pool->part_count; ++i)
        if (pool->owners[i] == partition)
            partition->parts[partition->part_count++] = pool->parts[i];
    *out = partition;
    return HDP_OK;
}

/* Waits for all work on the device; from then on others see it. */
static hdp_status make(struct cuda_partition *partition, struct cuda_pool *pool,
                       struct cuda *self)
{
    pthread_mutex_t *lock = self->base.site->lock;
    hdp_status status = create(partition, self);
    hdp_error error = *hdpi_error();

    (void)pthread_mutex_lock(lock);
    if (status == HDP_OK) {
        partition->users = 1;
        partition->next = pool->partitions;
        pool->partitions = partition;
    } else {
        release(pool, partition);
    }
    (void)pthread_mutex_unlock(lock);
    if (status != HDP_OK)
        end_all(self->kept, pool, partition);
    *hdpi_error() = error;
    return status;
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

/* One that is there, or one that is still to be made. */
static hdp_status choose(struct cuda_partition **out,
                         struct cuda_pool **out_pool, struct cuda *self,
                         struct cuda_partition **gone)
{
    HDPI_RETURN_IF(find_pool(out_pool, self));
    *out = find(*out_pool, self);
    if (!*out)
        return claim_new(out, *out_pool, self, gone);
    (*out)->users++;
    return HDP_OK;
}

static hdp_status take_stream(struct cuda *self)
{
    struct cuda_partition *partition = self->partition;
    hdp_status status = HDP_OK;

    (void)pthread_mutex_lock(self->base.site->lock);
    if (!partition->stream)
        status = cuda_check_driver(
            self,
            self->driver.green_stream(&partition->stream, partition->green,
                                      CU_STREAM_NON_BLOCKING, 0),
            "cuGreenCtxStreamCreate");
    self->stream = partition->stream;
    (void)pthread_mutex_unlock(self->base.site->lock);
    return status;
}

hdp_status cuda_partition_take(struct cuda *self)
{
    struct cuda_partition *partition = NULL, *gone = NULL;
    struct cuda_pool *pool = NULL;
    hdp_status status;

    HDPI_RETURN_IF(check_functions(self));
    if (!self->kept)
        return hdpi_fail(HDP_ERR_INTERNAL, "a partition without a context");
    (void)pthread_mutex_lock(self->base.site->lock);
    status = choose(&partition, &pool, self, &gone);
    (void)pthread_mutex_unlock(self->base.site->lock);
    end_all(self->kept, pool, gone);
    HDPI_RETURN_IF(status);
    if (!partition->green)
        HDPI_RETURN_IF(make(partition, pool, self));
    self->partition = partition; /* given back by the close, also below */
    HDPI_RETURN_IF(take_stream(self));
    self->base.row.info.partition_sms = partition->sms;
    self->context = partition->context;
    return cuda_check_driver(self, self->driver.context_set(self->context),
                             "cuCtxSetCurrent");
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
        struct cuda_partition *gone = NULL;
        struct cuda_pool *pool = kept->pools;
        kept->pools = pool->next;
        while (pool->partitions)
            take_out(kept, pool, pool->partitions, &gone);
        end_all(kept, pool, gone);
        free_pool(pool);
    }
}
