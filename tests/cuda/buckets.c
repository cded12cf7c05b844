/* Several buckets of many tensors each, at odd offsets in shared blocks, on GPUs,
 * parts of one GPU and the host together: each sum is right, what lies between
 * tensors stays, and what a member without items holds never shows. */
#include <math.h>
#include "gpus.h"

enum {
    MEMBERS_MAX = 3,
    BUCKETS = 3,
    TENSORS_MAX = 40,
    ELEMENTS_MAX = 300,
    BLOCK_BYTES = TENSORS_MAX * (ELEMENTS_MAX + 3) * 8,
    GAP = 0x5a
};

static const int tensor_counts[BUCKETS] = { 1, 7, TENSORS_MAX };
static const int32_t dtypes[BUCKETS] = { HDP_F32, HDP_BF16, HDP_U8 };
static const size_t sizes[BUCKETS] = { 4, 2, 1 };
static const int32_t ops[BUCKETS] = { HDP_OP_MEAN, HDP_OP_MEAN, HDP_OP_SUM };
static const int64_t items[MEMBERS_MAX] = { 2, 0, 6 };

struct block {
    unsigned char sent[BLOCK_BYTES], want[BLOCK_BYTES], got[BLOCK_BYTES];
    void *send, *recv;
};

struct tensors {
    struct block blocks[BUCKETS][MEMBERS_MAX];
    int64_t elements[BUCKETS][TENSORS_MAX];
    size_t offsets[BUCKETS][TENSORS_MAX]; /* bytes into a block */
    const void *send[BUCKETS][MEMBERS_MAX * TENSORS_MAX];
    void *recv[BUCKETS][MEMBERS_MAX * TENSORS_MAX];
    hdp_buffers buckets[BUCKETS];
    int32_t said; /* buckets that the function says itself */
    int joins;
};

/* Whole numbers up to 128, which every type here has. */
static void put(unsigned char *at, int bucket, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (dtypes[bucket] == HDP_F32)
        memcpy(at, &bits, sizeof bits);
    else if (dtypes[bucket] == HDP_U8)
        *at = (unsigned char)value;
    else
        for (int i = 0; i < 2; ++i)
            at[i] = (unsigned char)(bits >> (16 + 8 * i));
}

static float sent_by(int m, int tensor, int64_t i)
{
    return (float)(4 * (((int64_t)m * 5 + tensor + i) % 7));
}

static float wanted(int bucket, int tensor, int64_t i)
{
    float first = sent_by(0, tensor, i), last = sent_by(2, tensor, i);

    return ops[bucket] == HDP_OP_MEAN ? first / 4 + last / 4 * 3 : first + last;
}

static void lay_out(struct tensors *own, int b)
{
    size_t at = sizes[b];

    for (int t = 0; t < tensor_counts[b]; ++t) {
        own->elements[b][t] = t == 3 ? 0 : 1 + (t * 97 + b * 31) % ELEMENTS_MAX;
        own->offsets[b][t] = at;
        at += ((size_t)own->elements[b][t] + 1 + (size_t)t % 2) * sizes[b];
    }
}

static void fill(struct tensors *own, int b, int m)
{
    struct block *block = &own->blocks[b][m];

    memset(block->sent, GAP, BLOCK_BYTES);
    memset(block->want, GAP, BLOCK_BYTES);
    for (int t = 0; t < tensor_counts[b]; ++t)
        for (int64_t i = 0; i < own->elements[b][t]; ++i) {
            size_t at = own->offsets[b][t] + (size_t)i * sizes[b];
            put(block->want + at, b, wanted(b, t, i));
            if (items[m] == 0 && dtypes[b] != HDP_U8)
                put(block->sent + at, b, NAN);
            else
                put(block->sent + at, b, sent_by(m, t, i));
        }
}

static void *place(int device, const unsigned char *bytes)
{
    void *memory;

    if (device >= 0)
        return gpus_alloc(device, bytes, BLOCK_BYTES);
    memory = malloc(BLOCK_BYTES);
    memcpy(memory, bytes, BLOCK_BYTES);
    return memory;
}

static void displace(int device, void *memory)
{
    if (device >= 0)
        expect_cuda(cudaFree(memory));
    else
        free(memory);
}

static void open_bucket(struct tensors *own, int b, const int *devices,
                        int in_place)
{
    static unsigned char blank[BLOCK_BYTES];
    int count = tensor_counts[b];

    lay_out(own, b);
    memset(blank, GAP, sizeof blank);
    for (int m = 0; m < MEMBERS_MAX; ++m) {
        struct block *block = &own->blocks[b][m];
        fill(own, b, m);
        block->send = place(devices[m], block->sent);
        block->recv = in_place ? block->send : place(devices[m], blank);
        for (int t = 0; t < count; ++t) {
            own->send[b][m * count + t] =
                (char *)block->send + own->offsets[b][t];
            own->recv[b][m * count + t] =
                (char *)block->recv + own->offsets[b][t];
        }
    }
    own->buckets[b] = (hdp_buffers){ .size = sizeof own->buckets[b],
                                     .dtype = dtypes[b],
                                     .op = ops[b],
                                     .tensor_count = count,
                                     .elements = own->elements[b],
                                     .send = in_place ? NULL : own->send[b],
                                     .recv = own->recv[b],
                                     .counts = items };
}

static void close_bucket(struct tensors *own, int b, const int *devices,
                         const char *when)
{
    for (int m = 0; m < MEMBERS_MAX; ++m) {
        struct block *block = &own->blocks[b][m];
        gpus_read(block->got, block->recv, BLOCK_BYTES);
        for (int i = 0; i < BLOCK_BYTES; ++i)
            if (block->got[i] != block->want[i])
                fail_msg("%s: bucket %d, member %d, byte %d: expected %#x, "
                         "got %#x",
                         when, b, m, i, block->want[i], block->got[i]);
        if (block->recv != block->send) {
            gpus_read(block->got, block->send, BLOCK_BYTES);
            expect_number(0, memcmp(block->got, block->sent, BLOCK_BYTES),
                          "%s: bucket %d, member %d: what was sent stays", when,
                          b, m);
            displace(devices[m], block->recv);
        }
        displace(devices[m], block->send);
    }
}

/* ---- groups ---------------------------------------------------------------- */

/* One thread's members cannot join, since those that come later have not said
 * theirs. */
static int32_t say(const hdp_shard *shard, void *user)
{
    const struct tensors *own = user;

    for (int32_t b = 0; b < own->said; ++b)
        if (hdp_shard_all_reduce(shard, b) != HDP_OK)
            return 1;
    if (own->joins && own->said > 0 && hdp_shard_join(shard) != HDP_OK)
        return 2;
    return 0;
}

struct kind {
    const char *spec;
    int devices[MEMBERS_MAX]; /* -1: the host */
};

static const struct kind kinds[] = {
    { "cuda:0-2", { 0, 1, 2 } },
    { "cuda:2+cuda:0+host:0/threads=1", { 2, 0, -1 } },
    { "host:0/threads=1+cuda:1+cuda:0", { -1, 1, 0 } },
    { "cuda:0/sms=16+cuda:0/sms=16+host:0/threads=1", { 0, 0, -1 } },
    { "cuda:0/sms=16+cuda:0/sms=32+cuda:1", { 0, 0, 1 } },
};

/* Says some buckets inside the function, and leaves the rest to the library. */
static void try_run(const struct kind *kind, int32_t threads, int32_t said,
                    int in_place)
{
    static struct tensors own;
    struct scene scene;
    hdp_work work = gpus_work(say, NULL, NULL);
    char when[96];

    (void)snprintf(when, sizeof when, "%s, threads %d, said %d, in place %d",
                   kind->spec, (int)threads, (int)said, in_place);
    own.said = said;
    own.joins = threads == HDP_THREADS_MEMBER;
    gpus_open(&scene, kind->spec, items, MEMBERS_MAX, threads);
    for (int b = 0; b < BUCKETS; ++b)
        open_bucket(&own, b, kind->devices, in_place);
    work.buckets = own.buckets;
    work.bucket_count = BUCKETS;
    work.user = &own;
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &work));
    for (int b = 0; b < BUCKETS; ++b)
        close_bucket(&own, b, kind->devices, when);
    /* alone, smaller and larger ones in turn */
    for (int b = BUCKETS; b-- > 0;) {
        open_bucket(&own, b, kind->devices, in_place);
        expect_ok(hdp_all_reduce(scene.group, NULL, &own.buckets[b]));
        close_bucket(&own, b, kind->devices, when);
    }
    scene_close(&scene);
}

static void every_kind(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (int32_t threads = HDP_THREADS_MEMBER;
             threads <= HDP_THREADS_CALLER; ++threads)
            for (int32_t said = 0; said <= BUCKETS; ++said) {
                gpus_start("machine=desk");
                try_run(&kinds[k], threads, said, said % 2);
                gpus_end(kinds[k].spec);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
