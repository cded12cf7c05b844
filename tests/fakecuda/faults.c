/* How a call of CUDA begins and ends: counted by name, failed where that was
 * planted, refused by fork, driver, mask, poison and capture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cublas_v2.h>
#include "state.h"

/* Of ncclResult_t, whose header may not be there. */
enum { NCCL_UNHANDLED_CUDA_ERROR = 1 };

/* ---- sites ---------------------------------------------------------------- */

static struct fake_site_row *site_of(const char *function)
{
    struct fake_site_row *row;

    for (int i = 0; i < fake.site_count; i++)
        if (strcmp(fake.sites[i].name, function) == 0)
            return &fake.sites[i];
    if (fake.site_count == FAKE_SITES_MAX)
        abort();
    row = &fake.sites[fake.site_count++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", function);
    return row;
}

int64_t fake_calls(const char *function)
{
    int64_t calls = 0;

    fake_lock();
    if (!function)
        calls = fake.all_calls;
    for (int i = 0; function && i < fake.site_count; i++)
        if (strcmp(fake.sites[i].name, function) == 0)
            calls = fake.sites[i].calls;
    fake_unlock();
    return calls;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct fake_site_row *)left)->name,
                  ((const struct fake_site_row *)right)->name);
}

const char *fake_site(int i, int64_t *calls, int *fallible)
{
    const char *name = NULL;

    fake_lock();
    qsort(fake.sites, (size_t)fake.site_count, sizeof fake.sites[0], by_name);
    if (i >= 0 && i < fake.site_count) {
        name = fake.sites[i].name;
        *calls = fake.sites[i].calls;
        *fallible = fake.sites[i].fallible;
    }
    fake_unlock();
    return name;
}

/* ---- what was planted ----------------------------------------------------- */

static int strikes(struct fake_plant_row *row)
{
    row->seen++;
    if (row->seen < row->nth || row->spent)
        return 0;
    row->spent = !row->lasting;
    return 1;
}

void fake_poison(int code)
{
    if (!fake.poison)
        fake.poison = code;
    pthread_cond_broadcast(&fake.moved);
}

int fake_hangs(const char *kernel)
{
    int result = 0;

    for (int i = 0; kernel && i < fake.config.plant_count; i++) {
        struct fake_plant_row *row = &fake.config.plants[i];
        if (row->kind == FAKE_HANG && !row->spent &&
            strcmp(row->name, kernel) == 0)
            result |= strikes(row);
    }
    return result;
}

/* ---- begin and end -------------------------------------------------------- */

static unsigned family(unsigned what)
{
    return what & FAKE_FAMILY;
}

/* What a failure of the runtime is called in the family of the call. */
static int translate(unsigned what, int code)
{
    if (family(what) == FAKE_NCCL)
        return NCCL_UNHANDLED_CUDA_ERROR;
    return family(what) != FAKE_CUBLAS ? code
           : code == cudaErrorInsufficientDriver
               ? (int)CUBLAS_STATUS_NOT_INITIALIZED
           : code == cudaErrorMemoryAllocation
               ? (int)CUBLAS_STATUS_ALLOC_FAILED
               : (int)CUBLAS_STATUS_EXECUTION_FAILED;
}

/* The code that the call is to return, 0: none. */
static int planted(const char *function, int usual, struct fake_thread *self)
{
    int code = 0;

    for (int i = 0; i < fake.config.plant_count; i++) {
        struct fake_plant_row *row = &fake.config.plants[i];
        if (row->kind == FAKE_HANG || row->spent ||
            strcmp(row->name, function) != 0 || !strikes(row))
            continue;
        if (row->kind == FAKE_LATE) {
            self->late_ns = row->late_ns;
            continue;
        }
        if (row->kind == FAKE_STICKY) {
            fake_poison(row->code);
            code = translate(self->what, row->code);
        } else if (!code) {
            code = row->code < 0 ? usual : row->code;
        }
    }
    return code;
}

/* A driver of an older major version than the runtime is as good as none. */
static int driver_fits(void)
{
    return fake.config.driver / 1000 >= CUDART_VERSION / 1000;
}

static int is_forked(const char *function)
{
    int pid = atomic_load(&fake.pid);

    if (pid == 0 || pid == (int)getpid())
        return 0;
    fake_break("%s was called in a forked child", function);
    return 1;
}

static int refuse(unsigned what)
{
    CUcontext context;

    if (family(what) == FAKE_NVML)
        return 0;
    if (!driver_fits())
        return cudaErrorInsufficientDriver;
    if (fake.poison)
        return fake.poison;
    if (fake.mask_error)
        return fake.mask_error;
    if (what & FAKE_UNSAFE && fake_capture_forbids())
        return cudaErrorStreamCaptureUnsupported;
    if (what & FAKE_CONTEXT && !fake_current_context()) {
        int code = fake_primary(fake_current_device(), &context);
        if (!code)
            fake_set_context(context);
        return code;
    }
    return 0;
}

int fake_enter(const char *function, int usual, unsigned what)
{
    struct fake_thread *self;
    int code, struck;

    if (is_forked(function))
        return translate(what, cudaErrorInitializationError);
    fake_lock();
    fake_begin();
    self = fake_self();
    self->what = what;
    self->late_ns = 0;
    struct fake_site_row *site = site_of(function);
    site->calls++;
    site->fallible = (what & FAKE_SAFE) == 0;
    fake.all_calls++;
    if (self->inside) {
        fake_break("%s was called from a function on a stream", function);
        return fake_leave(translate(what, cudaErrorNotPermitted));
    }
    if (self->window > 0 && what & (FAKE_UNSAFE | FAKE_CLOSED))
        fake_break("%s was called between ncclGroupStart and ncclGroupEnd",
                   function);
    code = what & FAKE_ALWAYS ? 0 : refuse(what);
    struck = planted(function, usual, self);
    if (code)
        return fake_leave(translate(what, code));
    return struck ? fake_leave(struck) : 0;
}

static void sleep_ns(int64_t ns)
{
    struct timespec time = { ns / 1000000000, ns % 1000000000 };

    while (nanosleep(&time, &time) != 0)
        ;
}

int fake_leave(int code)
{
    struct fake_thread *self = fake_self();
    int64_t late_ns = self->late_ns;

    if (code && family(self->what) == FAKE_RUNTIME && code != cudaErrorNotReady)
        self->pending = code;
    fake_unlock();
    if (late_ns > 0)
        sleep_ns(late_ns);
    return code;
}
