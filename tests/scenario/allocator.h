/* A program's own malloc, which counts and can say no: it stands before the C
 * library's, so that no call is missed. A sanitizer would not bear it. To be
 * included once in a program. */
#ifndef ALLOCATOR_H
#define ALLOCATOR_H
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static _Atomic int32_t armed;         /* 1: count, and fail the chosen one */
static _Atomic int64_t asked, failed; /* since armed */
static _Atomic int64_t live;          /* blocks given and not taken back */
static int64_t fail_at;               /* 0: none */
static int fail_lasting;

static int refuse(void)
{
    int64_t call;

    if (!atomic_load(&armed))
        return 0;
    call = atomic_fetch_add(&asked, 1) + 1;
    if (fail_at == 0 || call < fail_at || (call > fail_at && !fail_lasting))
        return 0;
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return 1;
}

static void *given(void *memory)
{
    if (memory)
        atomic_fetch_add(&live, 1);
    return memory;
}

/* Shared libraries too shall find these before the C library's. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    return refuse() ? NULL : given(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return refuse() ? NULL : given(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes)
{
    if (refuse())
        return NULL;
    return memory ? __libc_realloc(memory, bytes)
                  : given(__libc_realloc(NULL, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refuse() ? NULL : given(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = refuse() ? NULL : given(__libc_memalign(alignment, bytes));

    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

void free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&live, 1);
    __libc_free(memory);
}

#pragma GCC visibility pop

/* From now on call `nth` is refused (0: none), and all after it if lasting. */
static void arm(int64_t nth, int lasting)
{
    fail_at = nth;
    fail_lasting = lasting;
    atomic_store(&asked, 0);
    atomic_store(&failed, 0);
    atomic_store(&armed, 1);
}
#endif
