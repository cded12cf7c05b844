/* What the driver says of one device, without a context on it: identity, size,
 * what it multiplies fast, whether this build has code for it, and whether
 * somebody else has it for himself. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "device/cuda_inner.h"
#include "image.h"

/* ---- identity -------------------------------------------------------------- */

/* Only the name tells a slice of a GPU: its number is of the same sixteen
 * bytes. */
static void write_uuid(char *out, size_t capacity,
                       const struct cudaDeviceProp *found)
{
    const unsigned char *bytes = (const unsigned char *)found->uuid.bytes;
    size_t used = (size_t)snprintf(
        out, capacity, "%s", strstr(found->name, " MIG ") ? "MIG" : "GPU");

    for (int i = 0; i < 16 && used < capacity; ++i)
        used += (size_t)snprintf(
            out + used, capacity - used, "%s%02x",
            i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
            (unsigned)bytes[i]);
}

hdp_status cuda_uuid(char *out, size_t capacity, int ordinal)
{
    struct cudaDeviceProp found;

    memset(&found, 0, sizeof found);
    HDPI_RETURN_IF(cuda_check(NULL, cudaGetDeviceProperties(&found, ordinal),
                              "cudaGetDeviceProperties"));
    write_uuid(out, capacity, &found);
    return HDP_OK;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int cuda_uuid_begins(const char *uuid, const char *text)
{
    for (;; ++uuid, ++text) {
        while (*uuid == '-')
            ++uuid;
        while (*text == '-')
            ++text;
        if (*text == '\0' || lower(*uuid) != lower(*text))
            return *text == '\0';
    }
}

void cuda_ask_place(char *out, size_t capacity, const struct hdpi_ask *ask)
{
    out[0] = '\0';
    if (ask->position >= 0)
        snprintf(out, capacity, " (at %d)", (int)ask->position + 1);
}

/* ---- abilities ------------------------------------------------------------- */

/* By generation; calibration finds out by a product where it matters. Tensor
 * units came with 7.0 (f16) and 8.0 (bf16, tf32); 6.1 has f16 at 1/64 of its
 * speed, and bf16 nowhere before 7.0. f64 is fast on the large chips alone. */
static void judge_dtypes(hdp_device *info)
{
    int sm = 10 * info->compute_major + info->compute_minor;
    int large = sm == 60 || (sm % 10 == 0 && sm >= 70 && sm <= 100);
    uint32_t native = UINT32_C(1) << HDP_F32 | UINT32_C(1) << HDP_I32 |
                      UINT32_C(1) << HDP_I64 | UINT32_C(1) << HDP_U8;
    uint32_t slow = 0;

    *(sm >= 61 ? &native : &slow) |= UINT32_C(1) << HDP_I8;
    *(sm == 61 || sm < 60 ? &slow : &native) |= UINT32_C(1) << HDP_F16;
    *(large ? &native : &slow) |= UINT32_C(1) << HDP_F64;
    if (sm >= 80)
        native |= UINT32_C(1) << HDP_BF16 | UINT32_C(1) << HDP_TF32;
    else if (sm >= 70)
        slow |= UINT32_C(1) << HDP_BF16;
    info->native_dtypes = native;
    info->slow_dtypes = slow;
}

/* Machine code serves its own generation from its minor number on, PTX all
 * that came later. */
static int has_code(const hdp_device *info)
{
    int sm = 10 * info->compute_major + info->compute_minor;

    for (const int32_t *arch = hdpk_image_archs; *arch; ++arch)
        if (*arch / 10 == info->compute_major && *arch <= sm)
            return 1;
    return hdpk_image_ptx > 0 && hdpk_image_ptx <= sm;
}

static void say_no_code(char *out, size_t capacity, const hdp_device *info)
{
    size_t used = (size_t)snprintf(
        out, capacity, "no code for sm_%d%d in this build (CUDA %d.%d has",
        info->compute_major, info->compute_minor, CUDART_VERSION / 1000,
        CUDART_VERSION % 1000 / 10);

    for (const int32_t *arch = hdpk_image_archs; *arch && used < capacity;
         ++arch)
        used +=
            (size_t)snprintf(out + used, capacity - used, " %d", (int)*arch);
    if (used < capacity)
        snprintf(out + used, capacity - used, ")");
}

/* ---- who uses it ----------------------------------------------------------- */

/* Absence is no error: less is known then. */
static const struct hdpi_nvml *management(struct cuda_look *look)
{
    hdp_error before = *hdpi_error();

    if (!look->asked_nvml) {
        look->asked_nvml = 1;
        if (hdpi_nvml_open(&look->nvml, look->site ? look->site->nvml_path
                                                   : NULL) != HDP_OK) {
            look->nvml = NULL;
            hdpi_log(look->site ? look->site->log : NULL, HDP_LOG_WARN,
                     "discover: nothing is known of free memory and other "
                     "processes: %s",
                     hdpi_error()->text);
        }
        *hdpi_error() = before;
    }
    return look->nvml;
}

/* 1: this process has a context there already, so nobody else can. */
static int is_ours(int ordinal)
{
    struct cuda_driver driver;
    unsigned flags;
    CUdevice device;
    int active = 0;
    hdp_error before = *hdpi_error();

    if (cuda_driver_load(&driver) != HDP_OK || !driver.primary_state ||
        driver.device_get(&device, ordinal) != CUDA_SUCCESS ||
        driver.primary_state(device, &flags, &active) != CUDA_SUCCESS)
        active = 0;
    *hdpi_error() = before;
    return active;
}

static int others(const struct hdpi_gpu_state *state)
{
    int count = 0;

    for (int32_t i = 0; i < state->process_count; ++i)
        count += state->processes[i].pid != (int64_t)getpid();
    return count;
}

/* A device that only one process may use can be known to be free by the
 * management library alone; `auto` takes no chances with it. */
static void judge_exclusive(struct hdpi_device_row *row, struct cuda_look *look,
                            int ordinal, const struct hdpi_gpu_state *state)
{
    int known = state->process_count >= 0;

    if (is_ours(ordinal))
        return;
    if (known && others(state) > 0) {
        row->taken = 1;
        snprintf(row->barred, sizeof row->barred,
                 "busy: in exclusive mode, and another process has it");
    } else if (!known && !look->asks) {
        snprintf(row->barred, sizeof row->barred,
                 "in exclusive mode, and nobody can tell whether it is free; "
                 "name it to try");
    }
}

static void judge_use(struct hdpi_device_row *row, struct cuda_look *look,
                      int ordinal, int mode)
{
    struct hdpi_gpu_state state = { .process_count = -1, .free_bytes = -1 };
    hdp_error before = *hdpi_error();
    const struct hdpi_nvml *nvml = NULL;

    if (mode == cudaComputeModeProhibited) {
        row->taken = 1;
        snprintf(row->barred, sizeof row->barred,
                 "busy: its compute mode is `prohibited`");
        return;
    }
    if (!look->asks || mode != cudaComputeModeDefault)
        nvml = management(look);
    if (nvml && hdpi_nvml_state(&state, nvml, row->info.uuid) != HDP_OK) {
        state.process_count = -1;
        state.free_bytes = -1;
    }
    *hdpi_error() = before;
    if (state.free_bytes > 0)
        row->info.free_bytes = state.free_bytes < row->info.memory_bytes
                                   ? state.free_bytes
                                   : row->info.memory_bytes;
    if (mode != cudaComputeModeDefault)
        judge_exclusive(row, look, ordinal, &state);
}

/* ---- a row ----------------------------------------------------------------- */

static void take_facts(hdp_device *info, const struct cudaDeviceProp *found,
                       int ordinal)
{
    info->kind = HDP_CUDA;
    info->logical_id = ordinal;
    info->sm_count = found->multiProcessorCount;
    info->memory_bytes = (int64_t)found->totalGlobalMem;
    info->duty_percent = 100;
    info->compute_major = found->major;
    info->compute_minor = found->minor;
    hdpi_text_escape(info->name, sizeof info->name, found->name,
                     strnlen(found->name, sizeof found->name));
    write_uuid(info->uuid, sizeof info->uuid, found);
    snprintf(info->pci, sizeof info->pci, "%04x:%02x:%02x.0",
             (unsigned)found->pciDomainID, (unsigned)found->pciBusID,
             (unsigned)found->pciDeviceID);
    judge_dtypes(info);
    info->runnable = has_code(info);
}

hdp_status cuda_row_fill(struct hdpi_device_row *row, struct cuda_look *look,
                         int ordinal)
{
    struct cudaDeviceProp found;
    int limited = 0, mode = cudaComputeModeDefault;

    memset(&found, 0, sizeof found);
    HDPI_RETURN_IF(cuda_check(NULL, cudaGetDeviceProperties(&found, ordinal),
                              "cudaGetDeviceProperties"));
    HDPI_RETURN_IF(cuda_check(
        NULL,
        cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, ordinal),
        "cudaDeviceGetAttribute"));
    HDPI_RETURN_IF(cuda_check(
        NULL, cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal),
        "cudaDeviceGetAttribute"));
    take_facts(&row->info, &found, ordinal);
    row->info.display = limited != 0;
    if (!row->info.runnable)
        say_no_code(row->barred, sizeof row->barred, &row->info);
    else
        judge_use(row, look, ordinal, mode);
    return HDP_OK;
}

hdp_status cuda_row_accept(const struct hdpi_device_row *row)
{
    const hdp_device *info = &row->info;
    char place[24];

    cuda_ask_place(place, sizeof place, &row->ask);
    if (!info->runnable || row->taken)
        return hdpi_fail(row->taken ? HDP_ERR_BUSY : HDP_ERR_UNSUPPORTED,
                         "cuda:%d (%s): %s%s", (int)info->logical_id,
                         info->name, row->barred, place);
    if (row->ask.sms > info->sm_count)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "cuda:%d/sms=%d: the device has %d SMs%s",
                         (int)info->logical_id, (int)row->ask.sms,
                         (int)info->sm_count, place);
    return HDP_OK;
}
