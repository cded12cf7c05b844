/* Series of plain sums and products on a reduced argument; frexp and ldexp are
 * exact. */
#include <math.h>
#include "core/logarithm.h"

static const double ln_2 = 0.69314718055994530942;
static const double root_half = 0.70710678118654752440;

/* ln m = 2 artanh s, s = (m - 1) / (m + 1): below 0.172 for m near 1. */
double hdpi_ln(double value)
{
    int power;
    double m = frexp(value, &power), sum = 0;

    if (m < root_half) {
        m *= 2;
        power--;
    }
    double s = (m - 1) / (m + 1);
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * s * s + 1.0 / k;
    return power * ln_2 + 2 * s * sum;
}

double hdpi_exp(double value)
{
    double x = value < -700 ? -700 : value > 700 ? 700 : value;
    double power = floor(x / ln_2 + 0.5), sum = 1;

    x -= power * ln_2;
    for (int k = 14; k >= 1; k--)
        sum = 1 + sum * x / k;
    return ldexp(sum, (int)power);
}
