/* Memory as CUDA hands it out. Device memory is an address that no host code
 * can touch, and a second mapping that only the fake knows; pinned memory is
 * one mapping. Both stand between guard bands, are filled when they are given
 * out, and their addresses are not used again for a while. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "memory.h"

enum {
    GUARD = 4096,
    GUARD_BYTE = 0xA5,
    FILL_BYTE = 0xFF, /* not a number, in every float type */
    GRAIN = 512,      /* what device memory is rounded up to */
    DEAD_MAX = 256
};

static const size_t fill_bytes = 256u << 10; /* at each end of a block */
static const size_t huge_bytes = 4u << 20;   /* large pages from here on */

/* Who may still read or write a block. */
struct use {
    CUstream stream;
    uint64_t place;
};

struct block {
    struct fake_block base;
    char *map; /* of bytes, with the guards */
    size_t map_bytes;
    char *reserve; /* of a device address; NULL: none */
    struct use *uses;
    size_t use_count, use_capacity;
};

static struct {
    struct block **rows; /* the living, then in order of time the dead */
    size_t count, capacity;
    struct block *dead[DEAD_MAX];
    size_t dead_count;
} memory;

/* ---- finding -------------------------------------------------------------- */

static int holds(const struct fake_block *block, const void *pointer,
                 size_t bytes)
{
    uintptr_t start = (uintptr_t)block->address, at = (uintptr_t)pointer;

    return at >= start && at - start <= block->size &&
           bytes <= block->size - (at - start) &&
           (at - start < block->size || block->size == 0);
}

static struct block *find(const void *pointer, size_t bytes)
{
    for (size_t i = memory.count; i-- > 0;)
        if (holds(&memory.rows[i]->base, pointer, bytes))
            return memory.rows[i];
    return NULL;
}

struct fake_block *fake_block_of(const void *pointer, size_t bytes)
{
    struct block *block = find(pointer, bytes);

    return block ? &block->base : NULL;
}

int fake_memory_was(const void *pointer)
{
    for (size_t i = 0; i < memory.dead_count; i++)
        if (memory.dead[i]->map && holds(&memory.dead[i]->base, pointer, 0))
            return 1;
    return 0;
}

size_t fake_room(const void *pointer)
{
    const struct block *block = find(pointer, 0);

    return block ? block->base.size -
                       (size_t)((const char *)pointer - block->base.address)
                 : 0;
}

static int reaches(const struct fake_device *device,
                   const struct fake_block *block)
{
    return block->memory != FAKE_DEVICE_MEMORY || block->device == device ||
           (device->peers >> block->device->number & 1) != 0;
}

void *fake_bytes(const struct fake_device *device, const void *pointer,
                 size_t bytes)
{
    struct block *block = find(pointer, bytes);

    if (!block || !reaches(device, &block->base))
        return NULL;
    return block->base.bytes + ((const char *)pointer - block->base.address);
}

void *fake_reach(const void *pointer, size_t bytes)
{
    struct block *block;
    void *found = NULL;

    fake_lock();
    block = find(pointer, bytes);
    if (block)
        found =
            block->base.bytes + ((const char *)pointer - block->base.address);
    fake_unlock();
    return found;
}

/* ---- figures -------------------------------------------------------------- */

static int64_t grains(size_t size)
{
    return (int64_t)((size + GRAIN - 1) / GRAIN * GRAIN);
}

int64_t fake_memory_free_bytes(const struct fake_device *device)
{
    int64_t others = device->tenant_bytes;
    int64_t start = device->info.free_bytes > 0 ? device->info.free_bytes
                                                : device->info.memory_bytes;
    int64_t rest = start - others - device->used_bytes;

    return rest > 0 ? rest : 0;
}

int64_t fake_memory_alive(int device)
{
    int64_t sum = 0;

    for (size_t i = 0; i < memory.count; i++) {
        const struct fake_block *block = &memory.rows[i]->base;
        if (device >= 0 ? block->memory == FAKE_DEVICE_MEMORY &&
                              block->device->number == device
                        : block->memory != FAKE_DEVICE_MEMORY)
            sum += (int64_t)block->size;
    }
    return sum;
}

/* ---- guards and patterns -------------------------------------------------- */

static int is_filled(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)at[i] != GUARD_BYTE)
            return 0;
    return 1;
}

static size_t tail_of(const struct block *block)
{
    return block->map_bytes - GUARD - block->base.size;
}

static void check(const struct block *block)
{
    const struct fake_block *base = &block->base;
    const char *what =
        base->memory == FAKE_PINNED ? "pinned memory" : "device memory";

    if (!block->map)
        return;
    if (!is_filled(block->map, GUARD))
        fake_break("%zu bytes of %s were written before their beginning",
                   base->size, what);
    if (!is_filled(base->bytes + base->size, tail_of(block)))
        fake_break("%zu bytes of %s were written behind their end", base->size,
                   what);
}

void fake_memory_check(void)
{
    for (size_t i = 0; i < memory.count; i++)
        check(memory.rows[i]);
}

static void fill(struct block *block)
{
    size_t size = block->base.size;
    size_t part = size < fill_bytes ? size : fill_bytes;

    memset(block->base.bytes, FILL_BYTE, part);
    memset(block->base.bytes + size - part, FILL_BYTE, part);
}

/* ---- giving out ----------------------------------------------------------- */

static char *map(size_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static void enlist(struct block *block)
{
    if (memory.count == memory.capacity) {
        memory.capacity = memory.capacity ? 2 * memory.capacity : 64;
        memory.rows =
            realloc(memory.rows, memory.capacity * sizeof(*memory.rows));
        if (!memory.rows)
            abort();
    }
    block->base.alive = 1;
    memory.rows[memory.count++] = block;
}

static void destroy(struct block *block)
{
    if (block->map)
        munmap(block->map, block->map_bytes);
    if (block->reserve)
        munmap(block->reserve, block->map_bytes);
    free(block->uses);
    free(block);
}

static struct block *create(enum fake_memory kind, struct fake_device *device,
                            size_t size)
{
    struct block *block = calloc(1, sizeof *block);

    if (!block)
        abort();
    block->base.memory = kind;
    block->base.device = device;
    block->base.size = size;
    return block;
}

/* The bytes and their guards. */
static int furnish(struct block *block)
{
    size_t size = block->base.size;

    if (size > SIZE_MAX / 2)
        return 0;
    block->map_bytes = (size + GUARD - 1) / GUARD * GUARD + 2 * (size_t)GUARD;
    block->map = map(block->map_bytes, PROT_READ | PROT_WRITE);
    if (!block->map)
        return 0;
    if (size >= huge_bytes) /* their first touch is half of a copy */
        madvise(block->map, block->map_bytes, MADV_HUGEPAGE);
    block->base.bytes = block->map + GUARD;
    memset(block->map, GUARD_BYTE, GUARD);
    memset(block->base.bytes + size, GUARD_BYTE, tail_of(block));
    fill(block);
    return 1;
}

int fake_memory_device(struct fake_device *device, size_t size, void **out)
{
    struct block *block;

    if (size > (size_t)INT64_MAX - GRAIN ||
        grains(size) > fake_memory_free_bytes(device))
        return cudaErrorMemoryAllocation;
    block = create(FAKE_DEVICE_MEMORY, device, size);
    if (furnish(block))
        block->reserve = map(block->map_bytes, PROT_NONE);
    if (!block->reserve) {
        destroy(block);
        return cudaErrorMemoryAllocation;
    }
    block->base.address = block->reserve + GUARD;
    device->used_bytes += grains(size);
    enlist(block);
    *out = block->base.address;
    return 0;
}

int fake_memory_pinned(struct fake_device *device, size_t size, void **out)
{
    struct block *block = create(FAKE_PINNED, device, size);

    if (!furnish(block)) {
        destroy(block);
        return cudaErrorMemoryAllocation;
    }
    block->base.address = block->base.bytes;
    enlist(block);
    *out = block->base.address;
    return 0;
}

int fake_memory_register(struct fake_device *device, void *pointer, size_t size)
{
    struct block *block;

    for (size_t i = 0; i < memory.count; i++) {
        const struct fake_block *other = &memory.rows[i]->base;
        if ((uintptr_t)pointer < (uintptr_t)other->address + other->size &&
            (uintptr_t)other->address < (uintptr_t)pointer + size)
            return cudaErrorHostMemoryAlreadyRegistered;
    }
    block = create(FAKE_REGISTERED, device, size);
    block->base.address = block->base.bytes = pointer;
    enlist(block);
    return 0;
}

/* ---- taking back ---------------------------------------------------------- */

void fake_memory_use(const void *pointer, CUstream stream, uint64_t place)
{
    struct block *block = find(pointer, 0);

    if (!block)
        return;
    for (size_t i = 0; i < block->use_count; i++)
        if (block->uses[i].stream == stream) {
            block->uses[i].place = place;
            return;
        }
    if (block->use_count == block->use_capacity) {
        block->use_capacity = block->use_capacity ? 2 * block->use_capacity : 4;
        block->uses =
            realloc(block->uses, block->use_capacity * sizeof *block->uses);
        if (!block->uses)
            abort();
    }
    block->uses[block->use_count++] = (struct use){ stream, place };
}

static int is_used(const struct block *block)
{
    for (size_t i = 0; i < block->use_count; i++)
        if (!fake_stream_passed(block->uses[i].stream, block->uses[i].place))
            return 1;
    return 0;
}

/* An old address faults, in the host and in effects, until so many others have
 * died after it. What a stream may still use stays as it is. */
static void bury(struct block *block, int used)
{
    if (!used && block->map) {
        madvise(block->map, block->map_bytes, MADV_DONTNEED);
        mprotect(block->map, block->map_bytes, PROT_NONE);
    }
    if (memory.dead_count == DEAD_MAX) {
        destroy(memory.dead[0]);
        memmove(memory.dead, memory.dead + 1,
                (DEAD_MAX - 1) * sizeof memory.dead[0]);
        memory.dead_count--;
    }
    memory.dead[memory.dead_count++] = block;
}

int fake_memory_free(void *pointer, enum fake_memory kind)
{
    struct block *block = find(pointer, 0);
    int used;

    if (!block || block->base.memory != kind ||
        block->base.address != pointer) {
        fake_break(fake_memory_was(pointer)
                       ? "memory was freed twice"
                       : "memory was freed that was never given out so");
        return cudaErrorInvalidValue;
    }
    check(block);
    used = is_used(block);
    if (used)
        fake_break("%zu bytes were freed before the stream that uses them "
                   "was seen to have passed",
                   block->base.size);
    if (kind == FAKE_DEVICE_MEMORY)
        block->base.device->used_bytes -= grains(block->base.size);
    for (size_t i = 0; i < memory.count; i++)
        if (memory.rows[i] == block) {
            memory.rows[i] = memory.rows[--memory.count];
            break;
        }
    block->base.alive = 0;
    bury(block, used);
    return 0;
}

void fake_memory_start(void)
{
    while (memory.count > 0)
        destroy(memory.rows[--memory.count]);
    while (memory.dead_count > 0)
        destroy(memory.dead[--memory.dead_count]);
    free(memory.rows);
    memory.rows = NULL;
    memory.capacity = 0;
}
