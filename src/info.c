/* What the library can say of itself as JSON: how it was built, what it found
 * at run time, which settings hold, how its structs lie in memory. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "info.h"
#include "internal.h"
#include "json/json.h"
#include "layout.h"

const char *hdp_version(void)
{
    return HDP_VERSION;
}

static hdp_status build(struct hdpi_json *json)
{
    const struct hdpi_device_ops *const *device = hdpi_device_adapters();
    const struct hdpi_comm_ops *const *comm = hdpi_comm_adapters();

    hdpi_json_text(json, "version", HDP_VERSION);
    hdpi_json_text(json, "commit", HDP_COMMIT);
    hdpi_json_text(json, "compiler", __VERSION__);
    hdpi_json_int(json, "cuda_version", hdpi_cuda_build_version());
    hdpi_json_open_array(json, "device_adapters");
    for (; *device; ++device)
        hdpi_json_text(json, NULL, (*device)->name);
    hdpi_json_close(json);
    hdpi_json_open_array(json, "comm_adapters");
    for (; *comm; ++comm)
        hdpi_json_text(json, NULL, (*comm)->name);
    hdpi_json_close(json);
    return HDP_OK;
}

static void library(struct hdpi_json *json, const struct hdpi_library *found)
{
    hdpi_json_open_object(json, found->name);
    if (found->path[0])
        hdpi_json_text(json, "path", found->path);
    else
        hdpi_json_null(json, "path");
    hdpi_json_text(json, "note", found->note);
    hdpi_json_close(json);
}

/* As it is found without a context's path. */
static void describe_nvml(struct hdpi_library *out)
{
    hdp_error before = *hdpi_error();
    const struct hdpi_nvml_version *version;
    struct hdpi_nvml *nvml = NULL;

    out->name = "nvml";
    if (hdpi_process_check() != HDP_OK ||
        hdpi_nvml_open(&nvml, NULL) != HDP_OK) {
        hdpi_text_copy(out->note, sizeof out->note, hdpi_error()->text);
        *hdpi_error() = before;
        return;
    }
    version = hdpi_nvml_version(nvml);
    hdpi_text_copy(out->path, sizeof out->path, version->path);
    hdpi_text_copy(out->note, sizeof out->note, version->own);
    hdpi_nvml_close(nvml);
}

static hdp_status runtime(struct hdpi_json *json)
{
    struct hdpi_library blas, cuda, cublas, nccl, nvml;

    memset(&blas, 0, sizeof blas);
    memset(&cuda, 0, sizeof cuda);
    memset(&nvml, 0, sizeof nvml);
    describe_nvml(&nvml);
    hdpi_host_blas_describe(&blas);
    hdpi_cuda_describe(&cuda);
    hdpi_cuda_blas_describe(&cublas);
    hdpi_comm_adapter(HDP_ENGINE_NCCL)->describe(&nccl);
    hdpi_json_int(json, "cores_allowed", hdpi_cores_allowed());
    hdpi_json_open_object(json, "libraries");
    library(json, &blas);
    library(json, &cuda);
    library(json, &cublas);
    library(json, &nccl);
    library(json, &nvml);
    hdpi_json_close(json);
    return HDP_OK;
}

static hdp_status settings(struct hdpi_json *json)
{
    int32_t i;

    hdpi_json_open_object(json, "environment");
    for (i = 0; i < HDPI_VARIABLE_COUNT; ++i) {
        const char *value = hdpi_variable(i);
        if (value)
            hdpi_json_text(json, hdpi_variables[i], value);
        else
            hdpi_json_null(json, hdpi_variables[i]);
    }
    hdpi_json_close(json);
    return HDP_OK;
}

static hdp_status api(struct hdpi_json *json)
{
    size_t count, i, f;
    const struct hdpi_layout *layouts = hdpi_layouts(&count);

    hdpi_json_open_object(json, "structs");
    for (i = 0; i < count; ++i) {
        hdpi_json_open_object(json, layouts[i].name);
        hdpi_json_int(json, "size", (int64_t)layouts[i].size);
        hdpi_json_open_object(json, "fields");
        for (f = 0; f < layouts[i].field_count; ++f) {
            const struct hdpi_field *field = &layouts[i].fields[f];
            hdpi_json_open_object(json, field->name);
            hdpi_json_int(json, "offset", (int64_t)field->offset);
            hdpi_json_int(json, "size", (int64_t)field->size);
            hdpi_json_close(json);
        }
        hdpi_json_close(json);
        hdpi_json_close(json);
    }
    hdpi_json_close(json);
    return HDP_OK;
}

hdp_status hdp_info(int32_t what, char *text, size_t capacity, size_t *needed)
{
    static hdp_status (*const parts[])(struct hdpi_json *) = {
        NULL, build, runtime, api, settings, hdpi_info_devices
    };
    struct hdpi_json *json = NULL;
    char *document = NULL;
    hdp_status status;

    if (what < HDP_INFO_BUILD || what > HDP_INFO_DEVICES)
        return hdpi_fail(HDP_ERR_ARGUMENT, "what is %d", (int)what);
    HDPI_TRY(hdpi_json_new(&json));
    HDPI_TRY(parts[what](json));
    status = hdpi_json_end(json, &document);
    json = NULL;
    if (status == HDP_OK)
        status =
            hdpi_text_give(document, strlen(document), text, capacity, needed);
out:
    if (json)
        (void)hdpi_json_end(json, &document);
    free(document);
    return status;
}
