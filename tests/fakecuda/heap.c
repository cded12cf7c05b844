/* Blocks in sizes of powers of two, cut from mapped memory and used again. */
#define FAKE_HEAP_ITSELF
#include "heap.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { SMALLEST_LOG = 6, CLASSES = 40, CHUNK = 1 << 20 };

/* Before each block; 16 bytes, so that blocks are aligned as malloc's are. */
struct head {
    size_t log;        /* the block with its head takes 1 << log bytes */
    struct head *next; /* while it is free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *unused[CLASSES];
static unsigned char *at, *end;

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* Under the lock. */
static struct head *cut(size_t log)
{
    size_t bytes = (size_t)1 << log;
    void *block;

    if (bytes > CHUNK / 2)
        return map(bytes);
    if ((size_t)(end - at) < bytes) {
        at = map(CHUNK);
        if (!at)
            return NULL;
        end = at + CHUNK;
    }
    block = at;
    at += bytes;
    return block;
}

void *fake_heap_take(size_t bytes)
{
    struct head *head;
    size_t log = SMALLEST_LOG;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    while (((size_t)1 << log) < bytes + sizeof *head)
        log++;
    (void)pthread_mutex_lock(&lock);
    head = unused[log];
    if (head)
        unused[log] = head->next;
    else
        head = cut(log);
    (void)pthread_mutex_unlock(&lock);
    if (!head)
        return NULL;
    head->log = log;
    head->next = NULL;
    return memset(head + 1, 0, bytes);
}

void fake_heap_give(void *memory)
{
    struct head *head = memory;

    if (!head)
        return;
    head--;
    (void)pthread_mutex_lock(&lock);
    head->next = unused[head->log];
    unused[head->log] = head;
    (void)pthread_mutex_unlock(&lock);
}

void *fake_heap_resize(void *memory, size_t bytes)
{
    struct head *head = memory;
    size_t room = head ? ((size_t)1 << head[-1].log) - sizeof *head : 0;
    void *grown;

    if (bytes <= room)
        return memory;
    grown = fake_heap_take(bytes);
    if (grown && memory) {
        memcpy(grown, memory, room);
        fake_heap_give(memory);
    }
    return grown;
}
