/* The context's lifetime, the closed list of environment variables, and whether
 * this process may use the library at all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/fate.h"
#include "base/mem.h"
#include "base/options.h"
#include "internal.h"

enum { TIMEOUT_MINUTES = 10 }; /* the context's default deadline */

hdp_status hdpi_process_check(void)
{
    HDPI_RETURN_IF(hdpi_fork_check());
    return hdpi_fate_check();
}

hdp_status hdpi_context_check(const hdp_context *context)
{
    HDPI_RETURN_IF(hdpi_process_check());
    return hdpi_object_check(context, HDPI_CONTEXT, "context");
}

const char *const hdpi_variables[HDPI_NAME_COUNT] = {
    [HDPI_DEVICES] = "HDP_DEVICES",
    [HDPI_CUDA_MASK] = "CUDA_VISIBLE_DEVICES",
    [HDPI_CUDA_ORDER] = "CUDA_DEVICE_ORDER",
    [HDPI_LEASE_DIR] = "HDP_LEASE_DIR",
    [HDPI_LEASE_FDS] = "HDP_LEASE_FDS",
    [HDPI_SLURM_JOB_GPUS] = "SLURM_JOB_GPUS",
    [HDPI_SLURM_STEP_GPUS] = "SLURM_STEP_GPUS",
    [HDPI_KUBERNETES_HOST] = "KUBERNETES_SERVICE_HOST",
    [HDPI_TORCH_RANK] = "RANK",
    [HDPI_TORCH_SIZE] = "WORLD_SIZE",
    [HDPI_TORCH_LOCAL_RANK] = "LOCAL_RANK",
    [HDPI_TORCH_LOCAL_SIZE] = "LOCAL_WORLD_SIZE",
    [HDPI_OMPI_RANK] = "OMPI_COMM_WORLD_RANK",
    [HDPI_OMPI_SIZE] = "OMPI_COMM_WORLD_SIZE",
    [HDPI_OMPI_LOCAL_RANK] = "OMPI_COMM_WORLD_LOCAL_RANK",
    [HDPI_OMPI_LOCAL_SIZE] = "OMPI_COMM_WORLD_LOCAL_SIZE",
    [HDPI_SLURM_RANK] = "SLURM_PROCID",
    [HDPI_SLURM_SIZE] = "SLURM_NTASKS",
    [HDPI_SLURM_LOCAL_RANK] = "SLURM_LOCALID",
    [HDPI_SLURM_JOB] = "SLURM_JOB_ID",
    [HDPI_SLURM_STEP] = "SLURM_STEP_ID",
    [HDPI_PMI_RANK] = "PMI_RANK",
    [HDPI_PMI_SIZE] = "PMI_SIZE",
    [HDPI_PMI_LOCAL_RANK] = "MPI_LOCALRANKID",
    [HDPI_PMI_LOCAL_SIZE] = "MPI_LOCALNRANKS",
};

/* secure_getenv ignores the environment when the process has raised rights. */
const char *hdpi_variable(int32_t which)
{
    return secure_getenv(hdpi_variables[which]);
}

/* What the kernel keeps of it; setenv() does not reach there. */
int hdpi_variable_at_start(char **out, int32_t which)
{
    size_t length = strlen(hdpi_variables[which]), capacity = 0;
    char *line = NULL;
    FILE *file;

    *out = NULL;
    file = getauxval(AT_SECURE) ? NULL : fopen("/proc/self/environ", "re");
    if (!file)
        return 0;
    while (!*out && getdelim(&line, &capacity, '\0', file) > 0)
        if (strncmp(line, hdpi_variables[which], length) == 0 &&
            line[length] == '=')
            *out = strdup(line + length + 1);
    free(line);
    (void)fclose(file);
    return 1;
}

static int is_known(const char *name, size_t length)
{
    for (int32_t i = 0; i < HDPI_VARIABLE_COUNT; ++i)
        if (strlen(hdpi_variables[i]) == length &&
            memcmp(hdpi_variables[i], name, length) == 0)
            return 1;
    return 0;
}

/* A name that looks like ours is a slip of the pen; what it holds is not for
 * logs. Nobody looks where the process has raised rights. */
static void tell_unknown(const struct hdpi_log *log)
{
    static const char prefix[] = "HDP_";
    char names[512] = "";
    size_t used = 0;

    for (char **at = environ; at && *at && !getauxval(AT_SECURE); ++at) {
        size_t length = strcspn(*at, "=");
        if (strncmp(*at, prefix, sizeof prefix - 1) != 0 ||
            is_known(*at, length) || used + length + 3 > sizeof names)
            continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s",
                                 used ? ", " : "", (int)length, *at);
    }
    if (used)
        hdpi_log(log, HDP_LOG_WARN,
                 "environment: not a variable of this library: %s", names);
}

static hdp_status copy_text(char **out, const char *text, const char *what)
{
    size_t bytes;

    if (!text)
        return HDP_OK;
    bytes = strlen(text) + 1;
    *out = hdpi_alloc(bytes, 1, what);
    if (!*out)
        return HDP_ERR_MEMORY;
    memcpy(*out, text, bytes);
    return HDP_OK;
}

static void context_free(hdp_context *context)
{
    const struct hdpi_device_ops *const *adapter = hdpi_device_adapters();

    for (; context->kept && *adapter; ++adapter)
        (*adapter)->forget(&context->site);
    (void)pthread_mutex_destroy(&context->lock);
    free(context->cublas_path);
    free(context->nccl_path);
    free(context->nvml_path);
    for (int32_t i = 0; i < HDPI_VARIABLE_COUNT; ++i)
        free(context->variables[i]);
    free(context);
}

/* Whatever is NULL when this is called stays so. */
static void make_site(hdp_context *context)
{
    context->site.log = &context->log;
    context->site.cublas_path = context->cublas_path;
    context->site.nvml_path = context->nvml_path;
    context->site.mask = context->variables[HDPI_CUDA_MASK];
    context->site.order = context->variables[HDPI_CUDA_ORDER];
    context->site.lock = &context->lock;
    context->site.kept = &context->kept;
}

hdp_status hdp_context_create(hdp_context **out,
                              const hdp_context_options *options)
{
    hdp_context_options own;
    hdp_context *context = NULL;
    hdp_status status;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_TRY(hdpi_process_check());
    HDPI_TRY(
        hdpi_options_read(&own, sizeof own, options, "hdp_context_options"));
    if (own.timeout_ns < 0 || own.log_level < 0 ||
        own.log_level > HDP_LOG_TRACE || own.reserved) {
        status = hdpi_fail(HDP_ERR_ARGUMENT, "%s is out of range",
                           own.timeout_ns < 0 ? "timeout_ns"
                           : own.reserved     ? "reserved"
                                              : "log_level");
        goto out;
    }
    context = hdpi_alloc(1, sizeof *context, "context");
    if (!context) {
        status = HDP_ERR_MEMORY;
        goto out;
    }
    (void)pthread_mutex_init(&context->lock, NULL);
    context->log.fn = own.log;
    context->log.user = own.log_user;
    context->log.level = own.log_level;
    context->timeout_ns = own.timeout_ns
                              ? own.timeout_ns
                              : TIMEOUT_MINUTES * INT64_C(60000000000);
    HDPI_TRY(copy_text(&context->cublas_path, own.cublas_path, "cublas_path"));
    HDPI_TRY(copy_text(&context->nccl_path, own.nccl_path, "nccl_path"));
    HDPI_TRY(copy_text(&context->nvml_path, own.nvml_path, "nvml_path"));
    for (int32_t i = 0; i < HDPI_VARIABLE_COUNT; ++i)
        HDPI_TRY(copy_text(&context->variables[i], hdpi_variable(i),
                           hdpi_variables[i]));
    make_site(context);
    tell_unknown(&context->log);
    hdpi_object_init(&context->object, HDPI_CONTEXT);
    *out = context;
    context = NULL;
out:
    if (context)
        context_free(context);
    return status;
}

void hdp_context_destroy(hdp_context *context)
{
    if (hdpi_object_release((struct hdpi_object *)context, HDPI_CONTEXT))
        context_free(context);
}
