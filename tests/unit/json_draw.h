/* Drawing at random and comparing exactly, for the tests of nouns' texts. The
 * seed is each test's to set, so that a failure repeats. */
#ifndef JSON_DRAW_H
#define JSON_DRAW_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- drawing ------------------------------------------------------------- */

static uint64_t seed;
enum { ROUNDS = 200 };

static inline uint64_t bits(void)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline int32_t draw(int32_t low, int32_t high)
{
    return low + (int32_t)(bits() % (uint64_t)(high - low + 1));
}

/* All magnitudes alike. */
static inline int64_t draw_wide(void)
{
    return (int64_t)(bits() >> (1 + bits() % 63));
}

static inline int64_t draw_known(void)
{
    return draw(0, 3) == 0 ? -1 : draw_wide();
}

/* A double from about 1e-9 to 1e18, every bit of it. */
static inline double draw_real(void)
{
    return ldexp(1 + (double)(bits() >> 12) / 4503599627370496.0,
                 draw(-29, 58));
}

static inline double draw_figure(void)
{
    return draw(0, 3) == 0 ? 0 : ldexp(draw_real(), draw(-900, 900));
}

static inline void draw_text(char *out, size_t room)
{
    static const char *const pieces[] = {
        "a", "Z", "0", " ", "-", "\"", "\\", "\xc3\xa9", "\xf0\x9f\x98\x80"
    };
    size_t used = 0, wanted = (size_t)draw(0, (int32_t)room - 5);
    while (used < wanted) {
        const char *piece = pieces[draw(0, 8)];
        memcpy(out + used, piece, strlen(piece));
        used += strlen(piece);
    }
    out[used] = '\0';
}

/* ---- comparing ----------------------------------------------------------- */

#define SAME_INT(a, b, field) assert_int_equal((a)->field, (b)->field)
#define SAME_TEXT(a, b, field) assert_string_equal((a)->field, (b)->field)
#define SAME_BYTES(a, b, field, bytes)                                         \
    assert_memory_equal((a)->field, (b)->field, bytes)
#define SAME_REAL(a, b, field) same_real(#field, (a)->field, (b)->field)

static inline void same_real(const char *field, double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("%s: expected %a, got %a", field, a, b);
}

static inline void same_text(char *first, char *second)
{
    assert_string_equal(first, second);
    free(first);
    free(second);
}
#endif
