/* Robust statistics of timings: the median says how long it takes, the MAD how
 * far that can be trusted; a single disturbed sample moves neither. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t n)
{
    if (n == 0)
        return 0;
    return n % 2 ? sorted[n / 2]
                 : sorted[n / 2 - 1] + (sorted[n / 2] - sorted[n / 2 - 1]) / 2;
}

double stats_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return middle(values, n);
}

void stats_in_place(struct stats *out, double *values, size_t n)
{
    memset(out, 0, sizeof *out);
    if (n == 0)
        return;
    out->n = n;
    out->median = stats_median(values, n);
    out->min = values[0];
    /* Nearest rank: the least value that 95 % of the samples do not pass. */
    size_t rank = (n * 95 + 99) / 100;
    out->p95 = values[rank - 1];
    for (size_t i = 0; i < n; ++i)
        values[i] = fabs(values[i] - out->median);
    out->mad = stats_median(values, n);
    out->spread = out->median > 0 ? out->mad / out->median : 0;
}

int stats_of(struct stats *out, const double *values, size_t n)
{
    memset(out, 0, sizeof *out);
    if (n == 0)
        return 1;
    double *copy = malloc(n * sizeof *copy);
    if (!copy)
        return 0;
    memcpy(copy, values, n * sizeof *copy);
    stats_in_place(out, copy, n);
    free(copy);
    return 1;
}
