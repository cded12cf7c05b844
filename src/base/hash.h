/* FNV-1a, 64 bits, of Fowler, Noll and Vo (isthe.com/chongo/tech/comp/fnv):
 * the constants are theirs. No protection against malice. What is on disks and
 * what ranks compare depends on every bit of it. */
#ifndef HDPI_HASH_H
#define HDPI_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HDPI_HASH_START UINT64_C(0xcbf29ce484222325) /* the offset basis */
#define HDPI_HASH_PRIME UINT64_C(0x100000001b3)      /* 2^40 + 2^8 + 0xb3 */

/** One step; of FNV-1a proper where `value` is a byte. */
static inline uint64_t hdpi_hash_step(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * HDPI_HASH_PRIME;
}

static inline uint64_t hdpi_hash_bytes(uint64_t hash, const void *bytes,
                                       size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; ++i)
        hash = hdpi_hash_step(hash, at[i]);
    return hash;
}

static inline uint64_t hdpi_hash_text(uint64_t hash, const char *text)
{
    return hdpi_hash_bytes(hash, text, strlen(text));
}
#endif
