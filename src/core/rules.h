/* Dividing by given weights: the rules `proportional` and `manual`. */
#ifndef HDPI_RULES_H
#define HDPI_RULES_H
#include "core/finish.h"

/**
 * Fills in->items by largest remainder: each share is its weight's part of the
 * total, rounded to one of the two multiples beside it; limits clip, and what
 * they leave is divided again. Ties go to the lower rank. Speeds and shared
 * memory are not looked at.
 *
 * @param weights  One a rank, 0 or more, not all 0; used up as scratch.
 * @return 1; 0 when the limits leave no such division.
 */
int hdpi_apportion(const struct hdpi_finish *in, double *weights);
#endif
