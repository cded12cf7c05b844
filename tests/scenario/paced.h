/* Members whose times a test chooses, described as simulated ones. On the fake
 * CUDA they are GPUs: a kernel takes what fixed=, item= and newshape= say, and
 * slow=, drift=, ramp= and noise= become the fake's own words. */
#ifndef PACED_H
#define PACED_H
#include "on_gpu.h"
#include "scene.h"

enum { PACED_MEMBERS_MAX = 8, PACED_SPEC = 512, PACED_SHARES = 64 };

/* What is left of a member's description when its times are taken out. */
struct paced_member {
    double fixed_ns, item_ns, newshape_ns;
    int64_t memory_bytes;
    int64_t shares[PACED_SHARES]; /* seen last, for newshape= */
    int32_t share_count;          /* ever kept there */
};

struct paced {
    char spec[PACED_SPEC]; /* for the library */
    struct paced_member members[PACED_MEMBERS_MAX];
    int32_t count; /* 0: on no GPU */
};

#ifdef HDP_TEST_FAKE
#define PACED_FAKE 1
#include <cuda.h>
#include "fakecuda/fake.h"
#include "fakecuda/fake_kernels.h"

/* ---- the kernel ------------------------------------------------------------ */

/* One at a time: functions of the library's know no more than their shard. */
static struct {
    struct paced *now;
    CUlibrary library;
    CUkernel kernel;
    double launch_ns[PACED_MEMBERS_MAX]; /* of a device; 0: not known yet */
} paced_all;

static inline void paced_run(const void *argument)
{
    (void)argument;
}

static inline double paced_cost(const void *argument)
{
    return *(const double *)argument;
}

static inline int32_t paced_launch(double ns, void *stream)
{
    void *arguments[] = { &ns };

    return (int32_t)cuLaunchKernel((CUfunction)(void *)paced_all.kernel, 1, 1,
                                   1, 32, 1, 1, 0, (CUstream)stream, arguments,
                                   NULL);
}

static inline void paced_start(const char *words)
{
    static const char image[] = "FAKEIMAGE archs=60,70,75,80,86,89,90 ptx=0\n";
    static const struct fake_kernel kernel = { "paced",    sizeof(double),
                                               paced_run,  NULL,
                                               paced_cost, 0 };

    if (fake_start(words) != 0)
        fail_msg("fake_start(\"%s\"): %s", words, fake_words());
    assert_int_equal(fake_kernel_register(&kernel), 0);
    assert_int_equal(cuLibraryLoadData(&paced_all.library, image, NULL, NULL, 0,
                                       NULL, NULL, 0),
                     CUDA_SUCCESS);
    assert_int_equal(
        cuLibraryGetKernel(&paced_all.kernel, paced_all.library, "paced"),
        CUDA_SUCCESS);
}

/* What a kernel of no time takes on a device, which is part of every time. */
static inline void paced_measure(int device)
{
    enum { LAUNCHES = 1000 };
    cudaEvent_t from, to;
    float ms = 0;
    int i;

    assert_int_equal(cudaSetDevice(device), cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&from, 0), cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&to, 0), cudaSuccess);
    assert_int_equal(paced_launch(0, NULL), CUDA_SUCCESS);
    assert_int_equal(cudaEventRecord(from, NULL), cudaSuccess);
    for (i = 0; i < LAUNCHES; ++i)
        assert_int_equal(paced_launch(0, NULL), CUDA_SUCCESS);
    assert_int_equal(cudaEventRecord(to, NULL), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(to), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(&ms, from, to), cudaSuccess);
    paced_all.launch_ns[device] = (double)ms * 1e6 / LAUNCHES;
}

static inline int32_t paced_is_new(struct paced_member *member, int64_t items)
{
    int32_t i;

    for (i = 0; i < member->share_count && i < PACED_SHARES; ++i)
        if (member->shares[i] == items)
            return 0;
    member->shares[member->share_count++ % PACED_SHARES] = items;
    return 1;
}

/* The member's time begins; without rows it is launched all the same. */
static inline int32_t paced_take(const hdp_shard *shard)
{
    struct paced_member *member;
    double ns = 0;

    if (shard->kind != HDP_CUDA || !paced_all.now)
        return 0;
    member = &paced_all.now->members[shard->member];
    if (shard->items > 0)
        ns = member->fixed_ns + member->item_ns * (double)shard->items -
             paced_all.launch_ns[shard->member];
    if (shard->items > 0 && member->newshape_ns > 0 &&
        paced_is_new(member, shard->items))
        ns += member->newshape_ns;
    return paced_launch(ns > 0 ? ns : 0, shard->stream);
}

/* ---- reading --------------------------------------------------------------- */

/* "1.5ms" in ns, "24MiB" in bytes: a number and its unit. */
static inline double paced_number(const char *text)
{
    static const struct {
        const char *name;
        double size;
    } units[] = { { "ns", 1 },        { "us", 1e3 },     { "ms", 1e6 },
                  { "s", 1e9 },       { "B", 1 },        { "KiB", 1 << 10 },
                  { "MiB", 1 << 20 }, { "GiB", 1 << 30 } };
    char *unit;
    double number = strtod(text, &unit);
    size_t i;

    for (i = 0; i < sizeof units / sizeof *units; ++i)
        if (!strcmp(unit, units[i].name))
            return number * units[i].size;
    fail_msg("a unit is unknown: %s", text);
    return 0;
}

/* One key of a member: a time, the library's, or a fault. */
static inline void paced_key(struct paced_member *member, char *faults,
                             size_t room, const char *key)
{
    const char *value = strchr(key, '=') + 1;

    if (!strncmp(key, "fixed=", 6))
        member->fixed_ns = paced_number(value);
    else if (!strncmp(key, "item=", 5))
        member->item_ns = paced_number(value);
    else if (!strncmp(key, "newshape=", 9))
        member->newshape_ns = paced_number(value);
    else if (!strncmp(key, "mem=", 4))
        member->memory_bytes = (int64_t)paced_number(value);
    else
        (void)snprintf(faults + strlen(faults), room - strlen(faults), "%s%s",
                       *faults ? "/" : "", key);
}

/* "sim:0-2/item=1us/slow=2x@9": its members, and words of the fake. A machine's
 * own ramp ends before it begins. */
static inline void paced_part(struct paced *self, char *part, char *words,
                              size_t room)
{
    char *rest = part, *ids = strtok_r(part, "/", &rest), *key;
    char faults[128] = "", memory[32] = "";
    struct paced_member member = { .item_ns = 10000 };
    int first = 0, last = 0;
    size_t used;

    if (sscanf(ids, "sim:%d-%d", &first, &last) == 1)
        last = first;
    assert_true(first == self->count && last < PACED_MEMBERS_MAX);
    while ((key = strtok_r(NULL, "/", &rest)))
        paced_key(&member, faults, sizeof faults, key);
    if (!strstr(faults, "ramp="))
        paced_key(&member, faults, sizeof faults, "ramp=1%@1ns");
    if (member.memory_bytes)
        (void)snprintf(memory, sizeof memory, "/mem=%lldB",
                       (long long)member.memory_bytes);
    for (; self->count <= last; ++self->count) {
        self->members[self->count] = member;
        used = strlen(self->spec);
        (void)snprintf(self->spec + used, sizeof self->spec - used,
                       "%scuda:%d%s", used ? "+" : "", (int)self->count,
                       memory);
        used = strlen(words);
        (void)snprintf(words + used, room - used, " keys=%d:%s",
                       (int)self->count, faults);
    }
}

static inline void paced_read(struct paced *self, const char *spec, char *words,
                              size_t room)
{
    const char *machine = getenv("FAKE_CUDA");
    char copy[PACED_SPEC], *rest = copy, *part;

    memset(self, 0, sizeof *self);
    (void)snprintf(copy, sizeof copy, "%s", spec);
    (void)snprintf(words, room, "%s", machine ? machine : "copies=4");
    if (strncmp(spec, "sim:", 4) != 0) { /* at a pace of its own */
        (void)snprintf(self->spec, sizeof self->spec, "%s", spec);
        return;
    }
    while ((part = strtok_r(rest, "+", &rest)))
        paced_part(self, part, words, room);
}

/* The machine is FAKE_CUDA's; its first kernel is the test's. */
static inline void paced_open(struct paced *self, const char *spec)
{
    char words[1024];
    int device;

    if (paced_all.launch_ns[0] <= 0) {
        paced_read(self, "sim:0-7", words, sizeof words);
        paced_start(words);
        for (device = 0; device < self->count; ++device)
            paced_measure(device);
    }
    paced_read(self, spec, words, sizeof words);
    paced_start(words);
    paced_all.now = self;
}

/* Nothing of CUDA is left, and no rule of it was broken. */
static inline void paced_close(void)
{
    if (!paced_all.now)
        return;
    paced_all.now = NULL;
    assert_int_equal(cuLibraryUnload(paced_all.library), CUDA_SUCCESS);
    if (fake_alive()[0])
        fail_msg("at the end: expected nothing alive, got %s", fake_alive());
    if (fake_breach())
        fail_msg("expected no broken rule, got: %s", fake_breach());
}
#else
#define PACED_FAKE 0
static inline int32_t paced_take(const hdp_shard *shard)
{
    (void)shard;
    return 0;
}

static inline void paced_open(struct paced *self, const char *spec)
{
    memset(self, 0, sizeof *self);
    (void)snprintf(self->spec, sizeof self->spec, "%s", spec);
}

static inline void paced_close(void)
{
}
#endif

/* A profile that knows the members' lines, where products would say others:
 * NULL where calibrating finds them. Caller destroys it. */
static inline hdp_profile *paced_profile(const struct paced *self)
{
    hdp_model models[PACED_MEMBERS_MAX];
    hdp_profile *profile = NULL;
    int32_t m;

    if (self->count == 0)
        return NULL;
    memset(models, 0, sizeof models);
    for (m = 0; m < self->count; ++m) {
        models[m].size = sizeof models[m];
        models[m].fixed_ns = self->members[m].fixed_ns;
        models[m].item_ns = self->members[m].item_ns;
        models[m].memory_bytes = self->members[m].memory_bytes;
    }
    expect_ok(hdp_profile_create(&profile, models, self->count));
    return profile;
}

/* PACED(f) makes f_paced, for hdp_work.cuda: f on a GPU's rows, and its time. */
#define PACED(function)                                                        \
    static inline int32_t function##_paced(const hdp_shard *shard, void *user) \
    {                                                                          \
        int32_t code = paced_take(shard);                                      \
                                                                               \
        return code ? code : on_gpu(shard, user, function);                    \
    }
#endif
