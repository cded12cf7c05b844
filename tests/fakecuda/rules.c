/* Rules that fail a test when they are broken, and the handles: each is counted
 * while it lives and known when it has ended, so that no use after its end and
 * no second end goes unseen. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "state.h"

enum { TAG = 0x66616b65, BURIED_MAX = 4096 };

/* ---- breaches ------------------------------------------------------------- */

/* Shared with forked children, whose breaches are their parent's. */
struct breach {
    atomic_int claimed, written;
    int pid; /* of the process that began with it */
    char text[FAKE_TEXT_MAX];
};

static struct breach *_Atomic first;

static struct breach *breach_page(void)
{
    struct breach *page = atomic_load(&first), *none = NULL;

    if (page)
        return page;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        abort();
    page->pid = (int)getpid();
    if (!atomic_compare_exchange_strong(&first, &none, page)) {
        munmap(page, sizeof *page);
        page = none;
    }
    return page;
}

void fake_break(const char *format, ...)
{
    struct breach *page = breach_page();
    va_list arguments;

    if (atomic_exchange(&page->claimed, 1))
        return;
    va_start(arguments, format);
    vsnprintf(page->text, sizeof page->text, format, arguments);
    va_end(arguments);
    atomic_store(&page->written, 1);
}

const char *fake_breach(void)
{
    struct breach *page = breach_page();

    fake_lock();
    fake_memory_check();
    fake_unlock();
    return atomic_load(&page->written) ? page->text : NULL;
}

void fake_rules_start(void)
{
    struct breach *page = breach_page();

    if (page->pid != (int)getpid()) { /* the parent keeps its own */
        atomic_store(&first, NULL);
        munmap(page, sizeof *page);
        page = breach_page();
    }
    atomic_store(&page->written, 0);
    atomic_store(&page->claimed, 0);
}

/* ---- handles -------------------------------------------------------------- */

static const char *const names[FAKE_KINDS] = {
    [FAKE_STREAM] = "stream",
    [FAKE_EVENT] = "event",
    [FAKE_CTX] = "context",
    [FAKE_LIBRARY] = "library",
    [FAKE_KERNEL] = "kernel",
    [FAKE_GREEN] = "green context",
    [FAKE_BLAS] = "cuBLAS handle",
    [FAKE_COMM] = "communicator",
    [FAKE_REDOP] = "reduction operator",
    [FAKE_REGION] = "registered buffer",
};

static struct fake_handle *buried[BURIED_MAX]; /* ended events */
static size_t buried_count;

static int is_counted(enum fake_kind kind)
{
    return kind != FAKE_CTX && kind != FAKE_KERNEL;
}

void *fake_handle_new(enum fake_kind kind, size_t bytes,
                      struct fake_device *device)
{
    struct fake_handle *handle = calloc(1, bytes);

    if (!handle)
        abort();
    handle->tag = TAG;
    handle->kind = kind;
    handle->alive = 1;
    handle->device = device;
    handle->next = fake.handles;
    if (handle->next)
        handle->next->before = handle;
    fake.handles = handle;
    fake.alive[kind] += is_counted(kind);
    return handle;
}

int fake_handle_is(const void *pointer, enum fake_kind kind)
{
    const struct fake_handle *handle = pointer;

    if (!handle || handle->tag != TAG || handle->kind != kind)
        return 0;
    if (!handle->alive)
        fake_break("a %s was used after its end", names[kind]);
    return handle->alive;
}

static void destroy(struct fake_handle *handle)
{
    if (handle->kind == FAKE_EVENT)
        fake_mark_drop(((CUevent)(void *)handle)->mark);
    if (handle->next)
        handle->next->before = handle->before;
    if (handle->before)
        handle->before->next = handle->next;
    else
        fake.handles = handle->next;
    handle->tag = 0;
    if (handle->forget)
        handle->forget(handle);
    free(handle);
}

/* Programs that make an event a step would keep them all. */
static void bury(struct fake_handle *handle)
{
    struct fake_handle **place = &buried[buried_count++ % BURIED_MAX];

    if (*place)
        destroy(*place);
    *place = handle;
}

void fake_handle_end(void *pointer)
{
    struct fake_handle *handle = pointer;

    if (!handle->alive) {
        fake_break("a %s was ended twice", names[handle->kind]);
        return;
    }
    handle->alive = 0;
    fake.alive[handle->kind] -= is_counted(handle->kind);
    if (handle->kind == FAKE_EVENT)
        bury(handle);
}

void fake_handles_forget(void)
{
    while (fake.handles)
        destroy(fake.handles);
    memset(buried, 0, sizeof buried);
    memset(fake.alive, 0, sizeof fake.alive);
}

/* ---- what is alive -------------------------------------------------------- */

struct list {
    char text[FAKE_TEXT_MAX];
    size_t length;
};

static void add(struct list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct list *list, const char *format, ...)
{
    size_t room;
    va_list arguments;
    int written;

    if (list->length > 0 && list->length + 2 < sizeof list->text) {
        memcpy(list->text + list->length, ", ", 3);
        list->length += 2;
    }
    room = sizeof list->text - list->length;
    va_start(arguments, format);
    written = vsnprintf(list->text + list->length, room, format, arguments);
    va_end(arguments);
    list->length += written < 0              ? 0
                    : (size_t)written < room ? (size_t)written
                                             : room - 1;
}

const char *fake_alive(void)
{
    static struct list list;

    fake_lock();
    list.length = 0;
    list.text[0] = '\0';
    for (int kind = 1; kind < FAKE_KINDS; kind++)
        if (fake.alive[kind] > 0)
            add(&list, "%lld %s%s", (long long)fake.alive[kind], names[kind],
                fake.alive[kind] == 1 ? "" : "s");
    for (int i = -1; i < fake.device_count + fake.instance_count; i++) {
        long long bytes = fake_memory_alive(i);
        if (bytes > 0 && i < 0)
            add(&list, "%lld pinned bytes", bytes);
        else if (bytes > 0)
            add(&list, "%lld bytes of device %d", bytes, i);
    }
    fake_unlock();
    return list.text;
}
