/* What stays in a context when its groups go, for the next ones: devices in
 * parts, since their end loses memory; cuBLAS handles at rest, since theirs
 * waits for all work on the device, and spoils every capture of a stream there;
 * and which queues are late, so that nothing is called that waits with them. */
#include <stdlib.h>
#include "base/mem.h"
#include "device/cuda_inner.h"

struct cuda_rest {
    struct cuda_rest *next;
    CUcontext context; /* in which it was made, and can be used */
    int ordinal;
    int lost; /* 1: its end would wait for a queue that is late */
    cublasHandle_t handle;
    cublasStatus_t (*destroy)(cublasHandle_t handle);
};

/* A queue that did not end in time, by an event behind all that it had. */
struct cuda_late {
    struct cuda_late *next;
    CUcontext context;
    int ordinal;
    cudaEvent_t end; /* NULL: none could be made, and it never ends */
};

hdp_status cuda_kept_open(struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;
    struct hdpi_kept *kept;

    if (!site || !site->kept)
        return HDP_OK;
    (void)pthread_mutex_lock(site->lock);
    kept = *site->kept;
    if (!kept) {
        kept = hdpi_alloc(1, sizeof *kept, "what a context keeps");
        if (kept)
            kept->driver = self->driver;
        *site->kept = kept;
    }
    (void)pthread_mutex_unlock(site->lock);
    self->kept = kept;
    return kept ? HDP_OK : HDP_ERR_MEMORY;
}

/* ---- queues that are late ------------------------------------------------- */

/* For calls that belong to a context, on any thread, which is put back. */
static struct cuda_visit enter(const struct hdpi_kept *kept, CUcontext context)
{
    struct cuda_visit visit = { .mode = CU_STREAM_CAPTURE_MODE_RELAXED };

    (void)kept->driver.capture_mode(&visit.mode);
    (void)kept->driver.context_get(&visit.before);
    (void)kept->driver.context_set(context);
    return visit;
}

static void leave(const struct hdpi_kept *kept, struct cuda_visit *visit)
{
    (void)cudaGetLastError();
    (void)kept->driver.context_set(visit->before);
    (void)kept->driver.capture_mode(&visit->mode);
}

void cuda_late_note(const struct cuda *self, cudaStream_t stream)
{
    const struct hdpi_site *site = self->base.site;
    struct hdpi_kept *kept = self->kept;
    struct cuda_late *late;
    hdp_error error = *hdpi_error();
    struct cuda_visit visit;

    if (kept && cuda_may_call() == HDP_OK &&
        (late = hdpi_alloc(1, sizeof *late, "a queue's name")) != NULL) {
        late->context = self->context;
        late->ordinal = self->ordinal;
        visit = enter(kept, late->context);
        if (cudaEventCreateWithFlags(&late->end, cudaEventDisableTiming) !=
            cudaSuccess) {
            late->end = NULL;
        } else if (cudaEventRecord(late->end, stream) != cudaSuccess) {
            (void)cudaEventDestroy(late->end);
            late->end = NULL;
        }
        leave(kept, &visit);
        (void)pthread_mutex_lock(site->lock);
        late->next = kept->late;
        kept->late = late;
        (void)pthread_mutex_unlock(site->lock);
    }
    *hdpi_error() = error;
}

static int has_ended(const struct hdpi_kept *kept, const struct cuda_late *late)
{
    struct cuda_visit visit;
    int ended;

    if (!late->end)
        return 0;
    visit = enter(kept, late->context);
    ended = cudaEventQuery(late->end) == cudaSuccess;
    if (ended)
        (void)cudaEventDestroy(late->end);
    leave(kept, &visit);
    return ended;
}

int cuda_late_look(struct hdpi_kept *kept, int ordinal)
{
    struct cuda_late **at = &kept->late, *late;
    int found = 0;

    while ((late = *at) != NULL) {
        if (ordinal >= 0 && late->ordinal != ordinal) {
            at = &late->next;
        } else if (cuda_may_call() != HDP_OK || !has_ended(kept, late)) {
            found = 1;
            at = &late->next;
        } else {
            *at = late->next;
            free(late);
        }
    }
    return found;
}

int cuda_late(const struct cuda *self, int ordinal)
{
    const struct hdpi_site *site = self->base.site;
    hdp_error error = *hdpi_error();
    int found = 1; /* nothing may be called anyway */

    if (!self->kept)
        return 0;
    if (cuda_may_call() == HDP_OK) {
        (void)pthread_mutex_lock(site->lock);
        found = cuda_late_look(self->kept, ordinal);
        (void)pthread_mutex_unlock(site->lock);
    }
    *hdpi_error() = error;
    return found;
}

hdp_status cuda_late_check(const struct cuda *self, const char *what)
{
    if (!cuda_late(self, self->ordinal))
        return HDP_OK;
    return hdpi_fail_member(HDP_ERR_BUSY, self->base.member, self->base.rank,
                            "%s: %s waits for all work on the device, and some "
                            "of it has not ended in time",
                            self->base.row.info.spec, what);
}

/* ---- handles at rest ------------------------------------------------------ */

hdp_status cuda_rest_place(struct cuda_rest **out, const struct cuda *self)
{
    *out = NULL;
    if (!self->kept)
        return HDP_OK;
    *out = hdpi_alloc(1, sizeof **out, "a handle's place");
    return *out ? HDP_OK : HDP_ERR_MEMORY;
}

cublasHandle_t cuda_rest_take(struct cuda_rest **out, struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;
    struct cuda_rest **at, *found = NULL;

    *out = NULL;
    if (!self->kept)
        return NULL;
    (void)pthread_mutex_lock(site->lock);
    for (at = &self->kept->rest; *at; at = &(*at)->next)
        if ((*at)->context == self->context &&
            (*at)->destroy == self->blas.destroy) { /* the same library's */
            found = *at;
            *at = found->next;
            break;
        }
    (void)pthread_mutex_unlock(site->lock);
    *out = found;
    return found ? found->handle : NULL;
}

void cuda_rest_give(struct cuda_rest *place, struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;

    place->context = self->context;
    place->ordinal = self->ordinal;
    place->handle = self->blas.handle;
    place->destroy = self->blas.destroy;
    (void)pthread_mutex_lock(site->lock);
    place->next = self->kept->rest;
    self->kept->rest = place;
    (void)pthread_mutex_unlock(site->lock);
}

struct cuda_rest *cuda_rest_take_out(struct hdpi_kept *kept, CUcontext context)
{
    struct cuda_rest **at = &kept->rest, *rest, *out = NULL;

    while ((rest = *at) != NULL) {
        if (context && rest->context != context) {
            at = &rest->next;
            continue;
        }
        *at = rest->next;
        rest->lost = cuda_late_look(kept, rest->ordinal);
        rest->next = out;
        out = rest;
    }
    return out;
}

void cuda_rest_end(const struct hdpi_kept *kept, struct cuda_rest *list)
{
    struct cuda_rest *next;
    struct cuda_visit visit;

    for (; list; list = next) {
        next = list->next;
        if (cuda_may_call() == HDP_OK && !list->lost) {
            visit = enter(kept, list->context);
            (void)list->destroy(list->handle);
            leave(kept, &visit);
        }
        free(list);
    }
}

/* ---- the end -------------------------------------------------------------- */

static hdp_status forget_here(void *arg)
{
    struct hdpi_kept *kept = arg;
    struct cuda_late *late;

    cuda_rest_end(kept, cuda_rest_take_out(kept, NULL));
    cuda_partitions_end(kept);
    (void)cuda_late_look(kept, -1); /* those that have ended go */
    while ((late = kept->late) != NULL) {
        kept->late = late->next;
        free(late);
    }
    free(kept);
    return HDP_OK;
}

void cuda_forget(const struct hdpi_site *site)
{
    hdp_error before = *hdpi_error();

    if (!*site->kept)
        return;
    if (cuda_apart(forget_here, *site->kept) != HDP_OK)
        (void)forget_here(*site->kept);
    *site->kept = NULL;
    *hdpi_error() = before;
}
