/* Shares are valued by what the members took in the same phase, so that a
 * single step's noise is not taken for a bad division. */
#include "trajectory.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

int trajectory_open(struct trajectory *out, int32_t members, int64_t steps)
{
    size_t cells = (size_t)members * (size_t)steps;
    int optima = 1;

    memset(out, 0, sizeof *out);
    out->members = members;
    out->capacity = steps;
    out->step_ns = calloc((size_t)steps, sizeof *out->step_ns);
    out->member_ns = calloc(cells, sizeof *out->member_ns);
    out->shares = calloc(cells, sizeof *out->shares);
    out->is_new = calloc(cells, 1);
    out->curves = calloc((size_t)members, sizeof *out->curves);
    for (int i = 0; i < PHASES_MAX; ++i) {
        struct phase *phase = &out->phases[i];
        phase->optimum = calloc((size_t)members, sizeof *phase->optimum);
        optima = optima && phase->optimum;
    }
    return out->step_ns && out->member_ns && out->shares && out->is_new &&
           out->curves && optima;
}

void trajectory_close(struct trajectory *trajectory)
{
    free(trajectory->step_ns);
    free(trajectory->member_ns);
    free(trajectory->shares);
    free(trajectory->is_new);
    free(trajectory->curves);
    for (int i = 0; i < PHASES_MAX; ++i)
        free(trajectory->phases[i].optimum);
}

static const int64_t *shares_of(const struct trajectory *self, int64_t step)
{
    return self->shares + step * self->members;
}

int trajectory_resplit(const struct trajectory *trajectory, int64_t step)
{
    size_t bytes = (size_t)trajectory->members * sizeof(int64_t);

    return step > 0 && memcmp(shares_of(trajectory, step),
                              shares_of(trajectory, step - 1), bytes) != 0;
}

static double slowest_ns(const struct trajectory *self, int64_t step)
{
    const double *ns = self->member_ns + step * self->members;
    double worst = 0;

    for (int32_t m = 0; m < self->members; ++m)
        worst = ns[m] > worst ? ns[m] : worst;
    return worst;
}

/* ---- what the members took ----------------------------------------------- */

/* Median of time over curve in a phase; 0: the member had no rows in it. Steps
 * at new shares count where there are no others. */
static double level_of(const struct trajectory *self, const struct phase *phase,
                       int32_t member, double *values)
{
    for (int with_new = 0; with_new < 2; ++with_new) {
        size_t count = 0;
        for (int64_t s = phase->begin; s < phase->end; ++s) {
            int64_t at = s * self->members + member;
            double curve = curve_time(&self->curves[member], self->shares[at]);
            if (self->shares[at] > 0 && curve > 0 &&
                (with_new || !self->is_new[at]))
                values[count++] = self->member_ns[at] / curve;
        }
        if (count > 0)
            return stats_median(values, count);
    }
    return 0;
}

/* A member without rows in a phase is as fast as it last was, times what was
 * declared since. */
static double declared_change(const struct trajectory *self,
                              const struct phase *phase, int32_t member)
{
    double now = 1, before = 1;

    for (int i = 0; i < self->slow_count; ++i) {
        if (self->slows[i].member != member)
            continue;
        if (self->slows[i].step < phase->begin)
            before = self->slows[i].factor;
        if (self->slows[i].step <= phase->begin)
            now = self->slows[i].factor;
    }
    return now / before;
}

static void scale_curves(const struct trajectory *self, const double *levels,
                         struct curve *out)
{
    for (int32_t m = 0; m < self->members; ++m) {
        out[m] = self->curves[m];
        for (int i = 0; i < out[m].count; ++i)
            out[m].ns[i] *= levels[m];
    }
}

/* ---- a phase ------------------------------------------------------------- */

/* What a step's shares are worth: the optimum over the time they would take. */
static double worth(const struct trajectory *self, const struct phase *phase,
                    const struct curve *curves, int64_t step)
{
    double worst = 0;

    for (int32_t m = 0; m < self->members; ++m) {
        double ns = curve_time(&curves[m], shares_of(self, step)[m]);
        worst = ns > worst ? ns : worst;
    }
    return worst > 0 ? phase->optimum_ns / worst : 0;
}

static void value(const struct trajectory *self, struct phase *phase,
                  const struct curve *curves, double *values)
{
    size_t count = 0;

    phase->reached = -1;
    for (int64_t s = phase->begin; s < phase->end; ++s) {
        double ns = slowest_ns(self, s);
        if (phase->reached < 0 && worth(self, phase, curves, s) >= self->goal)
            phase->reached = s - phase->begin;
        if (phase->reached >= 0 && s > phase->begin + phase->reached)
            values[count++] = ns;
        if (s < phase->begin + LOST_WINDOW && ns > phase->optimum_ns)
            phase->lost_steps += ns / phase->optimum_ns - 1;
        phase->resplits += trajectory_resplit(self, s);
    }
    if (count > 0)
        phase->efficiency = phase->optimum_ns / stats_median(values, count);
}

static void cut(struct trajectory *self)
{
    for (int i = -1; i < self->slow_count; ++i) {
        int64_t begin = i < 0 ? 0 : self->slows[i].step;
        struct phase *last =
            self->phase_count ? &self->phases[self->phase_count - 1] : NULL;
        if (begin >= self->kept)
            break;
        if (last && last->begin == begin)
            continue; /* several changes in one step */
        if (last)
            last->end = begin;
        self->phases[self->phase_count].begin = begin;
        self->phases[self->phase_count++].end = self->kept;
    }
}

int trajectory_evaluate(struct trajectory *self)
{
    size_t members = (size_t)self->members;
    double *levels = calloc(members, sizeof *levels);
    double *values = calloc((size_t)self->kept + 1, sizeof *values);
    struct curve *curves = calloc(members, sizeof *curves);
    int ok = levels && values && curves;

    for (int32_t m = 0; ok && m < self->members; ++m)
        levels[m] = 1;
    cut(self);
    for (int i = 0; ok && i < self->phase_count; ++i) {
        struct phase *phase = &self->phases[i];
        for (int32_t m = 0; m < self->members; ++m) {
            double level = level_of(self, phase, m, values);
            levels[m] =
                level > 0 ? level : levels[m] * declared_change(self, phase, m);
        }
        scale_curves(self, levels, curves);
        phase->optimum_ns = optimum_find(curves, self->members, self->total,
                                         self->quantum, phase->optimum);
        ok = phase->optimum_ns >= 0;
        if (ok)
            value(self, phase, curves, values);
    }
    free(levels);
    free(values);
    free(curves);
    return ok;
}
