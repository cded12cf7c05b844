/* What interleaved rounds have shown: times, the optimum the measured curves
 * allow, and how near each rule came. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H
#include "lanes.h"

struct results {
    double optimum_ns; /* over the measured curves; < 0: not known */
    int64_t *optimum;  /* its division, one a member */
    double equal_ns, single_ns, finish_ns; /* medians; 0: rule not run */
    double finish_spread;                  /* MAD over median */
    double efficiency; /* optimum over finish; 0: not known */
    double alone_ns;   /* the optimum if each were as fast as it is alone */
};

/** Evaluates the rounds kept. results_close() in every case. */
int results_of(struct results *out, const struct lanes *lanes, int64_t total,
               int64_t quantum);
void results_close(struct results *results);

/** The `results` section, one entry a rule; `optimum`; `curves`. */
json_t *results_json(const struct results *results, const struct lanes *lanes);
json_t *results_optimum_json(const struct results *results,
                             const struct lanes *lanes);
json_t *results_curves_json(const struct lanes *lanes);

/** One line a rule. */
void results_table(const struct results *results, const struct lanes *lanes,
                   FILE *out);
#endif
