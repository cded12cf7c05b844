/* What stays in a context when its groups go, for the next ones: devices in
 * parts, since their end loses memory, and cuBLAS handles at rest, since theirs
 * waits for whatever anybody has on the device, and spoils every capture of a
 * stream there, whatever this thread's capture mode. */
#include <stdlib.h>
#include "base/mem.h"
#include "device/cuda_inner.h"

struct cuda_rest {
    struct cuda_rest *next;
    CUcontext context; /* in which it was made, and can be used */
    cublasHandle_t handle;
    cublasStatus_t (*destroy)(cublasHandle_t handle);
    CUresult (*context_set)(CUcontext context);
};

hdp_status cuda_kept(struct hdpi_kept **out, const struct hdpi_site *site)
{
    if (!*site->kept)
        *site->kept =
            hdpi_alloc(1, sizeof **site->kept, "what a context keeps");
    *out = *site->kept;
    return *out ? HDP_OK : HDP_ERR_MEMORY;
}

/* ---- handles at rest ------------------------------------------------------ */

hdp_status cuda_rest_place(struct cuda_rest **out, struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;
    struct hdpi_kept *kept;
    hdp_status status = HDP_OK;

    *out = NULL;
    if (!site || !site->kept)
        return HDP_OK;
    (void)pthread_mutex_lock(site->lock);
    status = cuda_kept(&kept, site);
    (void)pthread_mutex_unlock(site->lock);
    HDPI_RETURN_IF(status);
    *out = hdpi_alloc(1, sizeof **out, "a handle's place");
    return *out ? HDP_OK : HDP_ERR_MEMORY;
}

cublasHandle_t cuda_rest_take(struct cuda_rest **out, struct cuda *self)
{
    const struct hdpi_site *site = self->base.site;
    struct cuda_rest **at, *found = NULL;

    *out = NULL;
    if (!site || !site->kept)
        return NULL;
    (void)pthread_mutex_lock(site->lock);
    for (at = *site->kept ? &(*site->kept)->rest : NULL; at && *at;
         at = &(*at)->next)
        if ((*at)->context == self->context) {
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
    place->handle = self->blas.handle;
    place->destroy = self->blas.destroy;
    place->context_set = self->driver.context_set;
    (void)pthread_mutex_lock(site->lock);
    place->next = (*site->kept)->rest;
    (*site->kept)->rest = place;
    (void)pthread_mutex_unlock(site->lock);
}

void cuda_rest_end(struct hdpi_kept *kept, CUcontext context)
{
    struct cuda_rest **at = &kept->rest, *rest;

    while ((rest = *at) != NULL) {
        if (context && rest->context != context) {
            at = &rest->next;
            continue;
        }
        *at = rest->next;
        if (cuda_may_call() == HDP_OK) {
            (void)rest->context_set(rest->context);
            (void)rest->destroy(rest->handle);
            (void)rest->context_set(NULL); /* that one may end next */
        }
        free(rest);
    }
}

/* ---- the end -------------------------------------------------------------- */

static hdp_status forget_here(void *arg)
{
    struct hdpi_kept *kept = arg;

    cuda_rest_end(kept, NULL);
    cuda_partitions_end(kept);
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
