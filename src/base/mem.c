/* Host memory. Every size is computed with a check, and every refusal says
 * what was wanted and for what. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

/* What is this large is read and written whole, and a page fault for each 4 KiB
 * would cost more than that. */
static const size_t large = (size_t)4 << 20;

static hdp_status fail_memory(size_t bytes, const char *what)
{
    hdpi_fail(HDP_ERR_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
    hdpi_error()->wanted_bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    return HDP_ERR_MEMORY;
}

/* 0 when count * size passes what any object can have. */
static int product(size_t *out, size_t count, size_t size)
{
    if (size != 0 && count > PTRDIFF_MAX / size)
        return 0;
    *out = count * size;
    return 1;
}

static hdp_status fail_product(size_t count, size_t size, const char *what)
{
    hdpi_fail(HDP_ERR_MEMORY,
              "out of memory: %zu times %zu bytes for %s pass every limit",
              count, size, what);
    hdpi_error()->wanted_bytes = INT64_MAX;
    return HDP_ERR_MEMORY;
}

/* For the whole pages inside; a kernel that has none to give says so, and
 * nothing is lost. */
static void ask_for_huge_pages(void *memory, size_t bytes)
{
    const uintptr_t page = 4096, from = (uintptr_t)memory;
    uintptr_t skipped = (page - from % page) % page;

    (void)madvise((char *)memory + skipped, bytes - skipped, MADV_HUGEPAGE);
}

void *hdpi_alloc(size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (!product(&bytes, count, size)) {
        fail_product(count, size, what);
        return NULL;
    }
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        fail_memory(bytes, what);
    else if (bytes >= large)
        ask_for_huge_pages(memory, bytes);
    return memory;
}

void *hdpi_alloc_aligned(size_t bytes, size_t alignment, const char *what)
{
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (bytes > PTRDIFF_MAX - alignment) {
        fail_product(1, bytes, what);
        return NULL;
    }
    /* aligned_alloc wants whole multiples */
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    if (whole == 0)
        whole = alignment;
    void *memory = aligned_alloc(alignment, whole);
    if (!memory) {
        fail_memory(bytes, what);
        return NULL;
    }
    return memset(memory, 0, whole);
}

hdp_status hdpi_grow(void *array, size_t *capacity, size_t wanted, size_t size,
                     const char *what)
{
    if (wanted <= *capacity)
        return HDP_OK;
    size_t count = *capacity + *capacity / 2;
    if (count < FIRST_CAPACITY)
        count = FIRST_CAPACITY;
    if (count < wanted)
        count = wanted;
    size_t bytes;
    if (!product(&bytes, count, size))
        return fail_product(count, size, what);
    /* `array` is some T **: its pointer is read and written as bytes */
    void *old;
    memcpy(&old, array, sizeof old);
    unsigned char *grown = realloc(old, bytes);
    if (!grown)
        return fail_memory(bytes, what);
    memset(grown + *capacity * size, 0, bytes - *capacity * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = count;
    return HDP_OK;
}

static hdp_status fail_range(int64_t a, char operation, int64_t b,
                             const char *what)
{
    return hdpi_fail(HDP_ERR_ARGUMENT,
                     "%s: %" PRId64 " %c %" PRId64
                     " is not within 0 to 9223372036854775807",
                     what, a, operation, b);
}

hdp_status hdpi_mul(int64_t *out, int64_t a, int64_t b, const char *what)
{
    if (a < 0 || b < 0 || (b != 0 && a > INT64_MAX / b))
        return fail_range(a, '*', b, what);
    *out = a * b;
    return HDP_OK;
}

hdp_status hdpi_add(int64_t *out, int64_t a, int64_t b, const char *what)
{
    if (a < 0 || b < 0 || a > INT64_MAX - b)
        return fail_range(a, '+', b, what);
    *out = a + b;
    return HDP_OK;
}
