/* Who is worth its place in the reduce: ranks whose link costs the others more
 * than their speed brings are left out of both, benched. */
#ifndef HDPI_BENCH_H
#define HDPI_BENCH_H
#include "core/finish.h"

enum { HDPI_BENCH_EXACT = 12 }; /* ranks among which every subset is tried */

/**
 * What a reduce costs as a ring: 2(n - 1)/n of the bytes over the slowest link
 * of its n ranks. 0 for one rank, without bytes, and where no link is known.
 *
 * @param items  The ring is of the ranks that have some; NULL: of all.
 */
double hdpi_ring_ns(const hdp_profile *profile, int64_t reduce_bytes,
                    const int64_t *items);

/** The same of so many ranks; slowest 0: no link is known. */
double hdpi_ring_time(int64_t ranks, double slowest, int64_t reduce_bytes);

struct hdpi_bench {
    const struct hdpi_finish *in; /* all ranks; its items are not touched */
    const hdp_profile *profile;
    int64_t reduce_bytes;
    int64_t *best;         /* in: shares to beat; out: the best found */
    double best_ns;        /* what they take, their ring included */
    int64_t *items, *high; /* scratch, one a rank */
};

/**
 * Looks for ranks that together, with the others left out of the reduce, end
 * earlier than `best`, which stays where none do.
 *
 * Up to HDPI_BENCH_EXACT ranks: the best of all subsets. Beyond: for each link
 * speed (those within a fifth count as one, 24 at most) the ranks that have no
 * slower one, all of them and ever fewer of the fastest; up to 64 ranks the
 * best so far with any one rank added or left out, until that gains nothing.
 */
void hdpi_bench_improve(struct hdpi_bench *bench);
#endif
