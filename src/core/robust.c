/* Medians by sorting: the series are a few hundred values, and a sort has no
 * worst case that an adversary of clocks could find. */
#include <math.h>
#include <stdlib.h>
#include "core/robust.h"

static const double spike = 8; /* times the lower quartile */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hdpi_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    double upper = values[count / 2];
    return count % 2 ? upper : values[count / 2 - 1] / 2 + upper / 2;
}

size_t hdpi_without_spikes(double *values, size_t count)
{
    size_t kept = count;

    qsort(values, count, sizeof *values, by_value);
    while (kept > 0 && values[kept - 1] > spike * values[count / 4])
        kept--;
    return kept;
}

double hdpi_typical(double *values, size_t count)
{
    size_t kept = hdpi_without_spikes(values, count);

    return kept ? values[(kept - 1) / 2] : 0;
}

double hdpi_relative_mad(double *values, size_t count)
{
    if (count < 2)
        return 0;
    double middle = hdpi_median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - middle);
    double distance = hdpi_median(values, count);
    return middle != 0 ? distance / fabs(middle) : distance;
}
