/* Two kinds of data. Patterns of whole numbers are written and compared by
 * kernels, a tensor of any size in a moment; where a type is too small for their
 * sums, or no member is a GPU, it is exact.c's small numbers, by the host. */
#include "reduced.h"

#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "kernels.h"
#include "work.h"
#include "workkernels.h"

enum {
    SEED = 1,
    BASE_MAX = 63,  /* of hdpk_pattern_base() */
    OFFSET_MAX = 64 /* so that any type but the narrowest holds the sums */
};

/* Element i of a member is factor * base(i) + offset. */
struct pattern {
    int64_t factor, offset;
};

struct reduced {
    struct reduced_spec spec;
    int is_pattern;
    struct pattern *sent; /* one a member */
    struct pattern result;
    void **send, **recv; /* one a member */
    void **verdict;      /* two numbers on each GPU, for the kernel `check` */
    void *staged;        /* a tensor on the host; NULL: no GPU, or a pattern */
};

/* ---- the pattern --------------------------------------------------------- */

/* Whole numbers up to it are exact, sums of them too. */
static int64_t largest(int32_t dtype)
{
    switch (dtype) {
    case HDP_F16:
        return 2048;
    case HDP_BF16:
        return 256;
    case HDP_F64:
    case HDP_I64:
        return INT64_C(1) << 53;
    case HDP_I32:
        return INT32_MAX;
    case HDP_U8:
        return UINT8_MAX;
    case HDP_I8:
        return INT8_MAX;
    default:
        return INT64_C(1) << 24;
    }
}

static int has_weight(const struct reduced *self, int32_t m)
{
    return self->spec.counts[m] > 0;
}

/* Members differ by their offsets, so that one taken for another shows. */
static void choose_plain(struct reduced *self)
{
    struct pattern *result = &self->result;
    int32_t op = self->spec.op;
    int first = 1;

    for (int32_t m = 0; m < self->spec.members; ++m) {
        struct pattern *sent = &self->sent[m];
        *sent = (struct pattern){ 1, m };
        if (!has_weight(self, m))
            continue;
        if (op == HDP_OP_SUM)
            *result = (struct pattern){ result->factor + 1,
                                        result->offset + sent->offset };
        else if (first || (op == HDP_OP_MAX) == (sent->offset > result->offset))
            *result = *sent;
        first = 0;
    }
}

/* Sums over a member's rows: as many times the base as it has rows. */
static void choose_over_total(struct reduced *self)
{
    int32_t other = -1;

    self->result = (struct pattern){ 1, 0 };
    for (int32_t m = 0; m < self->spec.members; ++m)
        self->sent[m] =
            (struct pattern){ has_weight(self, m) ? self->spec.counts[m] : 1,
                              0 };
    for (int32_t m = 0; m < self->spec.members; ++m) {
        if (!has_weight(self, m))
            continue;
        if (other >= 0) {
            self->sent[m].offset = -1;
            self->sent[other].offset = 1;
            return;
        }
        other = m;
    }
}

static int choose_mean(struct reduced *self)
{
    int32_t members = self->spec.members;
    int64_t *offsets = calloc((size_t)members, sizeof *offsets);

    if (!offsets)
        return 0;
    self->result.factor = 1;
    hdpk_pattern_offsets(offsets, &self->result.offset, self->spec.counts,
                         members, OFFSET_MAX);
    for (int32_t m = 0; m < members; ++m)
        self->sent[m] = (struct pattern){ 1, offsets[m] };
    free(offsets);
    return 1;
}

/* Neither what a member sends nor the result may pass what the type holds. */
static int fits(const struct reduced *self, const struct pattern *pattern)
{
    int64_t most = largest(self->spec.dtype);
    int64_t offset = pattern->offset < 0 ? -pattern->offset : pattern->offset;

    if (pattern->offset < 0 && self->spec.dtype == HDP_U8)
        return 0;
    return pattern->factor <= (most - offset) / BASE_MAX;
}

/* f64 has nothing wider to sum in: a mean's weights are rounded first, but for
 * those of a power of two. */
static int rounds_weights(const struct reduced *self)
{
    int64_t total = 0;

    if (self->spec.dtype != HDP_F64 || self->spec.op != HDP_OP_MEAN)
        return 0;
    for (int32_t m = 0; m < self->spec.members; ++m)
        total += self->spec.counts[m];
    return (total & (total - 1)) != 0;
}

static int choose(struct reduced *self)
{
    int well = 1;

    self->is_pattern = self->spec.gpu != NULL && !rounds_weights(self);
    if (self->spec.op == HDP_OP_MEAN)
        well = choose_mean(self);
    else if (self->spec.op == HDP_OP_SUM_OVER_TOTAL)
        choose_over_total(self);
    else
        choose_plain(self);
    for (int32_t m = 0; m < self->spec.members; ++m)
        self->is_pattern &= fits(self, &self->sent[m]);
    self->is_pattern &= fits(self, &self->result);
    return well;
}

/* ---- writing ------------------------------------------------------------- */

static int fill_pattern(struct reduced *self, int32_t m, int64_t elements)
{
    const struct hdpk_launch_pattern job = {
        .data = self->send[m],
        .seed = SEED,
        .factor = self->sent[m].factor,
        .offset = self->sent[m].offset,
        .count = elements,
        .dtype = self->spec.dtype,
    };

    if (gpu_is(self->spec.gpu, m))
        return gpu_launch(self->spec.gpu, m, HDPW_PATTERN, &job, elements);
    hdpk_host_pattern(&job);
    return 1;
}

static int fill_exact(struct reduced *self, int32_t m, int64_t elements)
{
    int is_gpu = gpu_is(self->spec.gpu, m);
    void *to = is_gpu ? self->staged : self->send[m];
    size_t bytes = (size_t)(elements * exact_size(self->spec.dtype));

    exact_fill(to, elements, self->spec.dtype, m);
    return !is_gpu || gpu_upload(self->spec.gpu, m, self->send[m], to, bytes);
}

int32_t reduced_fill(struct reduced *self, int64_t elements)
{
    size_t bytes = (size_t)(elements * exact_size(self->spec.dtype));

    for (int32_t m = 0; m < self->spec.members; ++m) {
        int well = self->is_pattern ? fill_pattern(self, m, elements)
                                    : fill_exact(self, m, elements);
        if (!gpu_is(self->spec.gpu, m))
            memset(self->recv[m], 0xff, bytes);
        else if (!well || !gpu_set(self->spec.gpu, m, self->recv[m], 0xff,
                                   bytes)) /* waits for the stream as well */
            return m;
    }
    return -1;
}

/* ---- comparing ----------------------------------------------------------- */

static int check_pattern(struct reduced *self, int32_t m, int64_t elements,
                         int64_t *out_wrong)
{
    int64_t verdict[2] = { 0, INT64_MAX };
    int is_gpu = gpu_is(self->spec.gpu, m), well = 1;
    const struct hdpk_launch_check job = {
        .data = self->recv[m],
        .out = is_gpu ? self->verdict[m] : verdict,
        .seed = SEED,
        .factor = self->result.factor,
        .offset = self->result.offset,
        .count = elements,
        .dtype = self->spec.dtype,
    };

    if (is_gpu)
        well =
            gpu_upload(self->spec.gpu, m, job.out, verdict, sizeof verdict) &&
            gpu_launch(self->spec.gpu, m, HDPW_CHECK, &job, elements) &&
            gpu_download(self->spec.gpu, m, verdict, job.out, sizeof verdict);
    else
        hdpk_host_check(&job);
    *out_wrong += verdict[0];
    return well;
}

static int check_exact(struct reduced *self, int32_t m, int64_t elements,
                       int64_t *out_wrong)
{
    const struct reduced_spec *spec = &self->spec;
    size_t bytes = (size_t)(elements * exact_size(spec->dtype));
    const void *got = self->recv[m];

    if (gpu_is(spec->gpu, m)) {
        if (!gpu_download(spec->gpu, m, self->staged, got, bytes))
            return 0;
        got = self->staged;
    }
    *out_wrong += exact_wrong(got, elements, spec->dtype, spec->op,
                              spec->members, spec->counts);
    return 1;
}

int32_t reduced_wrong(struct reduced *self, int64_t elements,
                      int64_t *out_wrong)
{
    *out_wrong = 0;
    for (int32_t m = 0; m < self->spec.members; ++m)
        if (!(self->is_pattern ? check_pattern(self, m, elements, out_wrong)
                               : check_exact(self, m, elements, out_wrong)))
            return m;
    return -1;
}

/* ---- life ---------------------------------------------------------------- */

const void *const *reduced_send(const struct reduced *self)
{
    return (const void *const *)self->send;
}

void *const *reduced_recv(const struct reduced *self)
{
    return self->recv;
}

int32_t reduced_memory(const struct reduced *self)
{
    return self->spec.gpu ? HDP_MEMORY_DETECT : HDP_MEMORY_HOST;
}

const char *reduced_against(const struct reduced *self)
{
    return self->is_pattern
               ? "whole numbers that the type holds exactly, by a kernel"
               : "exact results, f64 reference";
}

static void *make(struct reduced *self, int32_t m, size_t bytes)
{
    return gpu_is(self->spec.gpu, m) ? gpu_alloc(self->spec.gpu, m, bytes)
                                     : workload_alloc(bytes, 1);
}

static void drop(struct reduced *self, int32_t m, void *memory)
{
    if (gpu_is(self->spec.gpu, m))
        gpu_free(self->spec.gpu, m, memory);
    else
        free(memory);
}

void reduced_destroy(struct reduced *self)
{
    if (!self)
        return;
    for (int32_t m = 0; m < self->spec.members; ++m) {
        if (self->send)
            drop(self, m, self->send[m]);
        if (self->recv)
            drop(self, m, self->recv[m]);
        if (self->verdict)
            drop(self, m, self->verdict[m]);
    }
    free(self->staged);
    free(self->sent);
    free(self->send);
    free(self->recv);
    free(self->verdict);
    free(self);
}

static int make_all(struct reduced *self, int32_t *out_member)
{
    size_t members = (size_t)self->spec.members;
    size_t bytes = (size_t)self->spec.bytes;

    *out_member = 0;
    self->sent = calloc(members, sizeof *self->sent);
    self->send = calloc(members, sizeof *self->send);
    self->recv = calloc(members, sizeof *self->recv);
    self->verdict = calloc(members, sizeof *self->verdict);
    if (!self->sent || !self->send || !self->recv || !self->verdict ||
        !choose(self))
        return 0;
    for (int32_t m = 0; m < self->spec.members; ++m) {
        *out_member = m;
        self->send[m] = make(self, m, bytes);
        self->recv[m] = make(self, m, bytes);
        self->verdict[m] = make(self, m, 2 * sizeof(int64_t));
        if (!self->send[m] || !self->recv[m] || !self->verdict[m])
            return 0;
    }
    if (self->spec.gpu && !self->is_pattern)
        self->staged = workload_alloc(bytes, 1);
    return self->staged || !self->spec.gpu || self->is_pattern;
}

struct reduced *reduced_create(const struct reduced_spec *spec,
                               int32_t *out_member)
{
    struct reduced *self = calloc(1, sizeof *self);

    *out_member = 0;
    if (!self)
        return NULL;
    self->spec = *spec;
    if (make_all(self, out_member))
        return self;
    reduced_destroy(self);
    return NULL;
}
