/* NCCL, found at run time as cuBLAS is. One more copy in the process would be
 * two states and twice the memory, so what is there already comes first. */
#include "comm/nccl_load.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/packages.h"
#include "base/text.h"

enum { VERSION_LEAST = 21800 }; /* the first with all that is required */

static const char FILE_NAME[] = "libnccl.so.2";
static const char WHEEL[] = "nvidia/nccl/lib"; /* below a site-packages */

#define AT(field) offsetof(struct nccl, field)
static const struct hdpi_symbol symbols[] = {
    { "ncclGetVersion", AT(get_version), 1 },
    { "ncclGetUniqueId", AT(get_unique_id), 1 },
    { "ncclCommInitRankConfig", AT(init), 1 },
    { "ncclCommFinalize", AT(finalize), 1 },
    { "ncclCommDestroy", AT(destroy), 1 },
    { "ncclCommAbort", AT(abort), 1 },
    { "ncclCommGetAsyncError", AT(async_error), 1 },
    { "ncclGetErrorString", AT(error_string), 1 },
    { "ncclGetLastError", AT(last_error), 1 },
    { "ncclGroupStart", AT(group_start), 1 },
    { "ncclGroupEnd", AT(group_end), 1 },
    { "ncclAllReduce", AT(all_reduce), 1 },
    { "ncclBroadcast", AT(broadcast), 1 },
    { "ncclRedOpCreatePreMulSum", AT(premul_create), 1 },
    { "ncclRedOpDestroy", AT(premul_destroy), 1 },
};
#undef AT

/* 1 when it was taken; else `why` says what is wrong with it, and is left alone
 * where a file of that name is simply not there and `why` tells of another. */
static int try_copy(struct nccl *out, const char *name, int flags, char *why,
                    size_t capacity)
{
    const char *lacks, *text;

    *out = (struct nccl){ .library = dlopen(name, RTLD_NOW | RTLD_LOCAL |
                                                      RTLD_NODELETE | flags) };
    if (!out->library) {
        text = dlerror();
        if (!why[0] && !(flags & RTLD_NOLOAD))
            hdpi_text_copy(why, capacity, text ? text : "cannot be loaded");
        return 0;
    }
    lacks = hdpi_symbols_find(out, out->library, symbols,
                              sizeof symbols / sizeof *symbols);
    if (!lacks) {
        hdpi_symbol_file(out->path, sizeof out->path, &out->get_version, name);
        if (out->get_version(&out->version) != ncclSuccess)
            out->version = 0;
        if (out->version >= VERSION_LEAST)
            return 1;
    }
    if (lacks)
        (void)snprintf(why, capacity, "%.100s: lacks %.40s", name, lacks);
    else
        (void)snprintf(why, capacity,
                       "%.100s: is version %d.%d.%d, not 2.18 or later", name,
                       out->version / 10000, out->version / 100 % 100,
                       out->version % 100);
    (void)dlclose(out->library); /* stays mapped; drops the count */
    *out = (struct nccl){ .library = NULL };
    return 0;
}

static int try_wheels(struct nccl *out, char *why, size_t capacity)
{
    struct hdpi_packages folders;
    char path[HDPI_PACKAGES_PATH + 64];

    hdpi_packages_find(&folders);
    for (int f = 0; f < folders.count; ++f) {
        (void)snprintf(path, sizeof path, "%s/%s/%s", folders.path[f], WHEEL,
                       FILE_NAME);
        if (try_copy(out, path, 0, why, capacity))
            return 1;
    }
    return 0;
}

hdp_status nccl_load(struct nccl *out, const char *given)
{
    char why[160] = "";

    if (given) {
        if (try_copy(out, given, 0, why, sizeof why))
            return HDP_OK;
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "the NCCL that was named (%.64s) cannot be used: %s",
                         given, why);
    }
    if (try_copy(out, FILE_NAME, RTLD_NOLOAD, why, sizeof why) ||
        try_wheels(out, why, sizeof why) ||
        try_copy(out, FILE_NAME, 0, why, sizeof why))
        return HDP_OK;
    return hdpi_fail(HDP_ERR_NOT_FOUND, "NCCL (%s) cannot be used: %s",
                     FILE_NAME, why);
}

void nccl_describe(struct hdpi_library *out)
{
    struct nccl found;
    char why[160] = "";

    memset(out, 0, sizeof *out);
    out->name = "nccl";
    if (!try_copy(&found, FILE_NAME, RTLD_NOLOAD, why, sizeof why)) {
        if (!why[0])
            (void)snprintf(out->note, sizeof out->note,
                           "not loaded; %s is looked for when a group wants it",
                           FILE_NAME);
        else
            hdpi_text_copy(out->note, sizeof out->note, why);
        return;
    }
    hdpi_text_copy(out->path, sizeof out->path, found.path);
    (void)snprintf(out->note, sizeof out->note, "%d.%d.%d",
                   found.version / 10000, found.version / 100 % 100,
                   found.version % 100);
    (void)dlclose(found.library); /* stays mapped; drops the count */
}
