/* ln and exp that give the same bits on every machine: libm's differ from one
 * processor to the next, and all ranks must come to one plan. */
#ifndef HDPI_LOGARITHM_H
#define HDPI_LOGARITHM_H

/** Natural logarithm of a finite value above 0, to about 1e-15. */
double hdpi_ln(double value);

/** e to the power of a value, to about 1e-14; ends at -700 and 700. */
double hdpi_exp(double value);
#endif
