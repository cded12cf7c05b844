/* The CUDA adapter as the port sees it: its table, and what it says of itself.
 * The hooks stand in the files of their ideas, cuda_*.c. */
#include <stdio.h>
#include <string.h>
#include "base/fork.h"
#include "base/text.h"
#include "device/cuda_inner.h"

/* Asks for the driver's functions, which starts it but makes no context. */
static hdp_status describe(void *arg)
{
    struct hdpi_library *out = arg;
    struct cuda_driver driver;
    char words[160], versions[64];
    int version = cuda_driver_version();

    cuda_versions(versions, sizeof versions);
    if (version == 0) {
        cuda_loader_words(words, sizeof words);
        snprintf(out->note, sizeof out->note,
                 "driver absent or too old: %s; %s", words, versions);
        return HDP_OK;
    }
    hdpi_process_started();
    if (cuda_driver_load(&driver) != HDP_OK) {
        hdpi_text_copy(out->note, sizeof out->note, hdpi_error()->text);
        return HDP_OK;
    }
    cuda_driver_path(out->path, sizeof out->path, &driver);
    hdpi_text_copy(out->note, sizeof out->note, versions);
    return HDP_OK;
}

void hdpi_cuda_describe(struct hdpi_library *out)
{
    hdp_error before = *hdpi_error();

    memset(out, 0, sizeof *out);
    out->name = "cuda";
    if (cuda_may_call() != HDP_OK || cuda_apart(describe, out) != HDP_OK)
        hdpi_text_copy(out->note, sizeof out->note, hdpi_error()->text);
    *hdpi_error() = before;
}

int32_t hdpi_cuda_build_version(void)
{
    return CUDART_VERSION;
}

const struct hdpi_device_ops hdpi_cuda_ops = {
    .name = "cuda",
    .kind = HDP_CUDA,
    .state_size = sizeof(struct cuda),
    .enumerate = cuda_enumerate,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .pause = hdpi_default_pause,
    .resume = hdpi_default_pause,
    .mark = cuda_mark,
    .unmark = cuda_unmark,
    .elapsed = cuda_elapsed,
    .combine = cuda_combine,
    .probe_open = cuda_probe_open,
    .probe = cuda_probe,
    .probe_close = cuda_probe_close,
    .wait = cuda_wait,
    .native = cuda_native,
    .blas = cuda_blas,
    .memory = cuda_memory,
    .cause = hdpi_default_cause,
    .idle = hdpi_default_idle,
    .link = cuda_link,
    .peer = cuda_peer,
    .software = cuda_software,
    .forget = cuda_forget,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .locate = cuda_locate,
    .order = cuda_order,
    .apart = cuda_aside,
};
