/* Which multiples a rank's curve likes, and the search when ranks like unlike
 * ones. */
#ifndef HDPI_QUANTUM_H
#define HDPI_QUANTUM_H
#include "core/finish.h"

/**
 * The multiple that a rank's own table recommends: the largest power of two to
 * whose multiples every size of the table can be padded up for 1 % more time
 * at most, where for one of them at least, no multiple itself, padding was
 * measured to cost nothing at all. A line, and a table without such a step,
 * recommends 1.
 */
int64_t hdpi_quantum_of(const struct hdpi_rank_profile *rank);

/** hdpi_finish() where finish->quanta differ: exact, by halving, for any
 *  limits but shared memory. Time O(64 * ranks). */
int hdpi_unlike_finish(const struct hdpi_finish *finish, double *level);

/** hdpi_finish_by() likewise. */
int hdpi_unlike_by(const struct hdpi_finish *finish, double ns);

/** hdpi_finish_capacity() likewise. */
int64_t hdpi_unlike_capacity(const struct hdpi_finish *finish);
#endif
