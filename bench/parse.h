/* Numbers from the command line: the whole text or nothing, in every locale,
 * with the position of the first character that does not fit. Pure. */
#ifndef BENCH_PARSE_H
#define BENCH_PARSE_H
#include <stdint.h>

enum { PARSE_TEXT_MAX = 160 };

struct parse_error {
    int position; /* of the offending character, from 1; 0: the whole text */
    char text[PARSE_TEXT_MAX];
};

/* All return 1 and write *out, or return 0, fill *error and leave *out. */

/** A decimal integer, min to max. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *out,
              struct parse_error *error);

/** 300ms, 1.5s, 2m, 80us, 40ns; a bare 0 too. Result in ns, exact or refused. */
int parse_duration(const char *text, int64_t *out_ns,
                   struct parse_error *error);

/** 4096, 4KiB, 1.5GiB, 2GB (10^9), 7B. nccl_letters: K, M, G mean powers of
 *  1024 as in nccl-tests; otherwise a bare letter is refused as ambiguous. */
int parse_size(const char *text, int nccl_letters, int64_t *out_bytes,
               struct parse_error *error);

/** A plain decimal number, 0.5 or 3e-2; never nan or inf. */
int parse_real(const char *text, double min, double max, double *out,
               struct parse_error *error);

/** 3/2/1: at most `capacity` numbers, none negative, not all zero. */
int parse_ratios(const char *text, double *out, int capacity, int *out_count,
                 struct parse_error *error);

/** Index of `text` in the NULL-ended list, or -1. */
int parse_choice(const char *text, const char *const *choices);
#endif
