/* Series of plain sums and products on a reduced argument; frexp and ldexp are
 * exact. */
#include <math.h>
#include <stddef.h>
#include "core/logarithm.h"

static const double ln_2 = 0.69314718055994530942;
static const double root_half = 0.70710678118654752440;

/* ln m = 2 artanh s, s = (m - 1) / (m + 1): below 0.172 for m near 1. */
double hdpi_ln(double value)
{
    static const double odd[] = { 1 / 21., 1 / 19., 1 / 17., 1 / 15.,
                                  1 / 13., 1 / 11., 1 / 9.,  1 / 7.,
                                  1 / 5.,  1 / 3.,  1 };
    int power = 0;
    double m = value, sum = 0;

    if (value < root_half || value >= 2 * root_half) {
        m = frexp(value, &power);
        if (m < root_half) {
            m *= 2;
            power--;
        }
    }
    double s = (m - 1) / (m + 1), square = s * s;
    for (size_t k = square < 1e-3 ? 6 : 0; k < sizeof odd / sizeof *odd; k++)
        sum = sum * square + odd[k];
    return power * ln_2 + 2 * s * sum;
}

/* Coefficients instead of quotients, even powers beside odd ones: a thousand
 * levels are taken to their factors after each step. */
double hdpi_exp(double value)
{
    static const double even[] = { 1 / 87178291200., 1 / 479001600.,
                                   1 / 3628800.,     1 / 40320.,
                                   1 / 720.,         1 / 24.,
                                   1 / 2.,           1 };
    static const double odd[] = { 1 / 6227020800.,
                                  1 / 39916800.,
                                  1 / 362880.,
                                  1 / 5040.,
                                  1 / 120.,
                                  1 / 6.,
                                  1 };
    double x = value < -700 ? -700 : value > 700 ? 700 : value;
    double power = floor(x / ln_2 + 0.5), sum = even[0], beside = 0;

    x -= power * ln_2;
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        sum = sum * (x * x) + even[k + 1];
        beside = beside * (x * x) + odd[k];
    }
    return ldexp(sum + x * beside, (int)power);
}
