/* What is compared is taken from the members first: the one device then computes
 * the whole batch, once for all steps of that size. */
#include "netcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "netreference.h"

enum {
    ROWS = 256, /* of a share that are compared, its first and last always */
    SLOTS = 64, /* rows of a layer's gradient, likewise */
    FEW = 4     /* rows of the batch, its last ones, in f64 */
};

/* What was taken of one member. */
struct taken {
    int32_t rows;
    int64_t at[ROWS]; /* in the batch */
    float *results;   /* [row][width] */
    float *gradient;  /* [layer][slot][width] */
};

struct netcheck {
    const struct netdata *data;
    struct netmember *const *members;
    int32_t count, slots;
    int64_t slot[SLOTS];
    struct taken *taken;
    struct netreference *reference;
    int64_t total;           /* of the batch that the one device knows; -1 */
    float *gradient, *row;   /* the one device's, as a member's; scratch */
    double error, tolerance; /* the worst against f64 */
};

/* ---- what may differ ----------------------------------------------------- */

/* The unit roundoff of what products read and write. */
static double roundoff(int32_t dtype)
{
    return dtype == HDP_BF16                       ? 0x1p-8
           : dtype == HDP_F16 || dtype == HDP_TF32 ? 0x1p-11
                                                   : 0x1p-24;
}

/*
 * In relative L2. A result of a layer errs by the roundoff u of its type and by
 * that of f32 times the root of the inner dimension, and what `depth` layers
 * add is at random: 4 (u + 2^-24 sqrt(width)) sqrt(depth), depth being the
 * layers and for gradients twice those.
 *
 * Gradients know one thing more: where a sum is next to zero, a unit of a row is
 * on for off. A part p of all is, p being what sums of one order differ from
 * those of another by, 2^-24 sqrt(width) and in tf32, whose operands alone are
 * rounded, u as well; that is an error of 2 sqrt(p). And a single unit of one
 * row, which may be all there is, counts sqrt(2 / (width rows)).
 */
static double tolerance_of(const struct netdata *data, int gradient,
                           int64_t rows)
{
    double u = roundoff(data->dtype), width = data->shape.width;
    double sums = 0x1p-24 * sqrt(width);
    double part = sums + (data->dtype == HDP_TF32 ? u : 0);
    double depth = data->shape.layers * (gradient ? 2.0 : 1.0);
    double smooth = 4 * (u + sums) * sqrt(depth);

    return gradient ? smooth + 2 * sqrt(part) + sqrt(2 / (width * (double)rows))
                    : smooth;
}

static void note(double error, double tolerance, double *worst,
                 double *worst_tolerance)
{
    /* nothing is above NaN: it stays the worst error */
    if (isnan(error) || error / tolerance > *worst / *worst_tolerance) {
        *worst = error;
        *worst_tolerance = tolerance;
    }
}

/* ---- differences --------------------------------------------------------- */

static double apart(const float *got, const float *want, int64_t count)
{
    double difference = 0, size = 0;

    for (int64_t i = 0; i < count; ++i) {
        double d = (double)got[i] - (double)want[i];
        difference += d * d;
        size += (double)want[i] * (double)want[i];
    }
    return sqrt(size > 0 ? difference / size : difference);
}

static double apart_f64(const float *got, const double *want, int64_t count)
{
    double difference = 0, size = 0;

    for (int64_t i = 0; i < count; ++i) {
        double d = (double)got[i] - want[i];
        difference += d * d;
        size += want[i] * want[i];
    }
    return sqrt(size > 0 ? difference / size : difference);
}

/* ---- from the members ---------------------------------------------------- */

/* `most` of `count` numbers from 0, evenly, with the first and the last. */
static int32_t spread(int64_t *out, int64_t count, int32_t most)
{
    int32_t number = count < most ? (int32_t)count : most;

    for (int32_t i = 0; i < number; ++i)
        out[i] = number > 1 ? (count - 1) / (number - 1) * i +
                                  (count - 1) % (number - 1) * i / (number - 1)
                            : 0;
    return number;
}

static int64_t block_of(const struct netcheck *self)
{
    return (int64_t)self->slots * self->data->shape.width;
}

/* 0: the device failed. */
static int take_gradient(struct netcheck *self, struct netmember *member,
                         float *out)
{
    int32_t width = self->data->shape.width;
    int well = 1;

    for (int32_t l = 0; well && l < self->data->shape.layers; ++l)
        for (int32_t s = 0; well && s < self->slots; ++s)
            well =
                netmember_slope(member, l, self->slot[s],
                                out + l * block_of(self) + (int64_t)s * width);
    return well;
}

static int take(struct netcheck *self, int32_t m, int64_t first, int64_t items)
{
    struct taken *taken = &self->taken[m];
    struct netmember *member = self->members[m];
    int well = 1;

    taken->rows = spread(taken->at, items, ROWS);
    for (int32_t r = 0; well && r < taken->rows; ++r) {
        well = netmember_output(member, taken->at[r],
                                taken->results +
                                    (int64_t)r * self->data->shape.width);
        taken->at[r] += first;
    }
    return well && (!self->data->shape.train ||
                    take_gradient(self, member, taken->gradient));
}

/* ---- the one device ------------------------------------------------------ */

static int compute(struct netmember *member, int64_t first, int64_t rows)
{
    int32_t layer = member->data->shape.train ? member->data->shape.layers : 0;
    int well = netmember_forward(member, first, rows);

    while (well && layer-- > 0)
        well = netmember_backward(member, first, rows, layer);
    return well;
}

/* A few rows of it and of the f64. */
static int compare_few(struct netcheck *self, int64_t total)
{
    struct netmember *one = self->members[0];
    struct netreference *reference = self->reference;
    int32_t width = self->data->shape.width;
    int32_t few = total < FEW ? (int32_t)total : FEW;
    double tolerance = tolerance_of(self->data, 0, few);
    int well = compute(one, total - few, few);

    self->error = 0;
    self->tolerance = tolerance;
    netreference_make(reference, self->data, total - few, few);
    for (int32_t r = 0; well && r < few; ++r) {
        well = netmember_output(one, r, self->row);
        note(apart_f64(self->row, reference->results + (int64_t)r * width,
                       width),
             tolerance, &self->error, &self->tolerance);
    }
    if (!well || !self->data->shape.train)
        return well;
    well = take_gradient(self, one, self->gradient);
    tolerance = tolerance_of(self->data, 1, few);
    for (int32_t l = 0; well && l < self->data->shape.layers; ++l)
        note(apart_f64(self->gradient + l * block_of(self),
                       reference->gradient + l * block_of(self),
                       block_of(self)),
             tolerance, &self->error, &self->tolerance);
    return well;
}

static int know(struct netcheck *self, int64_t total)
{
    struct netmember *one = self->members[0];

    if (self->total == total)
        return 1;
    self->total = -1;
    if (!compare_few(self, total) || !compute(one, 0, total))
        return 0;
    if (self->data->shape.train && !take_gradient(self, one, self->gradient))
        return 0;
    netmember_keep(one);
    self->total = total;
    return 1;
}

/* ---- the check ----------------------------------------------------------- */

static int compare(struct netcheck *self, const struct taken *taken,
                   struct workload_check *out)
{
    const struct netdata *data = self->data;
    int32_t width = data->shape.width;
    double tolerance = tolerance_of(data, 0, self->total);
    int well = 1;

    for (int32_t r = 0; well && r < taken->rows; ++r) {
        well = netmember_kept(self->members[0], taken->at[r], self->row);
        note(apart(taken->results + (int64_t)r * width, self->row, width),
             tolerance, &out->max_rel_error, &out->tolerance);
    }
    tolerance = tolerance_of(data, 1, self->total);
    for (int32_t l = 0; data->shape.train && l < data->shape.layers; ++l)
        note(apart(taken->gradient + l * block_of(self),
                   self->gradient + l * block_of(self), block_of(self)),
             tolerance, &out->max_rel_error, &out->tolerance);
    return well;
}

void netcheck_step(struct netcheck *self, const int64_t *items, int64_t total,
                   struct workload_check *out)
{
    int64_t first = 0;
    int well = 1;

    out->against = self->data->shape.train
                       ? "one device: rows of every share and the gradients; "
                         "that device: f64 reference of a few rows"
                       : "one device: rows of every share; that device: f64 "
                         "reference of a few rows";
    out->max_rel_error = 0;
    out->tolerance = tolerance_of(self->data, 0, total);
    for (int32_t m = 0; well && m < self->count; first += items[m++])
        well = take(self, m, first, items[m]);
    well = well && know(self, total);
    for (int32_t m = 0; well && m < self->count; ++m)
        well = compare(self, &self->taken[m], out);
    if (well)
        note(self->error, self->tolerance, &out->max_rel_error,
             &out->tolerance);
    for (int32_t m = 0; m < self->count; ++m)
        well = netmember_blot(self->members[m]) && well;
    if (!well)
        out->max_rel_error = NAN;
    out->ok = out->max_rel_error <= out->tolerance;
}

/* ---- life ---------------------------------------------------------------- */

static int32_t slots_of(const struct netdata *data)
{
    if (!data->shape.train)
        return 0;
    return data->shape.width < SLOTS ? data->shape.width : SLOTS;
}

double netcheck_bytes(const struct netdata *data, int32_t members)
{
    double width = data->shape.width, layers = data->shape.layers;
    double gradient = slots_of(data) * layers * width;

    return ((members + 1) * gradient + members * (ROWS * width)) *
               (double)sizeof(float) +
           (gradient + FEW * (layers + 4) * width) * (double)sizeof(double);
}

void netcheck_destroy(struct netcheck *self)
{
    if (!self)
        return;
    for (int32_t m = 0; self->taken && m < self->count; ++m) {
        free(self->taken[m].results);
        free(self->taken[m].gradient);
    }
    if (self->reference)
        netreference_close(self->reference);
    free(self->reference);
    free(self->taken);
    free(self->gradient);
    free(self->row);
    free(self);
}

/* 0: no room. */
static int make(struct netcheck *self)
{
    size_t width = (size_t)self->data->shape.width;
    size_t gradient =
        (size_t)self->data->shape.layers * (size_t)self->slots * width;

    self->taken = calloc((size_t)self->count, sizeof *self->taken);
    self->reference = calloc(1, sizeof *self->reference);
    self->gradient = workload_alloc(gradient, sizeof *self->gradient);
    self->row = workload_alloc(width, sizeof *self->row);
    if (!self->taken || !self->reference || !self->gradient || !self->row)
        return 0;
    for (int32_t m = 0; m < self->count; ++m) {
        struct taken *taken = &self->taken[m];
        taken->results = workload_alloc(ROWS * width, sizeof *taken->results);
        taken->gradient = workload_alloc(gradient, sizeof *taken->gradient);
        if (!taken->results || !taken->gradient)
            return 0;
    }
    return netreference_open(self->reference, self->data, FEW, self->slot,
                             self->slots);
}

struct netcheck *netcheck_create(const struct netdata *data,
                                 struct netmember *const *members,
                                 int32_t count)
{
    struct netcheck *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->data = data;
    self->members = members;
    self->count = count;
    self->total = -1;
    self->slots = spread(self->slot, data->shape.width, slots_of(data));
    if (make(self))
        return self;
    netcheck_destroy(self);
    return NULL;
}
