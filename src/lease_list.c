/* How devices stand, at one moment: read from marks and guards alone, so that
 * looking never makes a claim fail. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "leases.h"

struct hdp_lease_list {
    struct hdpi_object object;
    hdp_lease_list_info info;
    hdp_lease_entry *entries;
};

static void look(hdp_lease_list *list, const struct hdpi_lease_choice *choice,
                 const struct hdpi_lease_folder *folder)
{
    for (int32_t i = 0; i < choice->count; ++i) {
        hdpi_lease_choice_look(&list->entries[i], &choice->candidates[i],
                               folder);
        list->info.free_count += list->entries[i].state == HDP_LEASE_FREE;
    }
    list->info.size = sizeof list->info;
    list->info.device_count = choice->count;
    list->info.scope = folder->scope;
    (void)hdpi_text_copy(list->info.directory, sizeof list->info.directory,
                         folder->path);
    (void)hdpi_text_copy(list->info.note, sizeof list->info.note, folder->note);
}

static void list_free(hdp_lease_list *list)
{
    if (list)
        free(list->entries);
    free(list);
}

static hdp_status list_new(hdp_lease_list **out, int32_t devices)
{
    hdp_lease_list *list = hdpi_alloc(1, sizeof *list, "list of leases");

    if (!list)
        return HDP_ERR_MEMORY;
    list->entries =
        hdpi_alloc((size_t)devices, sizeof *list->entries, "its entries");
    if (!list->entries) {
        free(list);
        return HDP_ERR_MEMORY;
    }
    hdpi_object_init(&list->object, HDPI_LEASE_LIST);
    *out = list;
    return HDP_OK;
}

static hdp_status create(hdp_lease_list **out, hdp_context *context,
                         const char *spec, const hdp_lease_options *own)
{
    struct hdpi_lease_choice choice = { 0 };
    struct hdpi_lease_folder folder = { .fd = -1 };
    struct hdpi_lease_wish wish;
    hdp_lease_list *list = NULL;
    hdp_status status;

    HDPI_TRY(hdpi_lease_choice_make(&choice, context, spec, own));
    HDPI_TRY(list_new(&list, choice.count));
    hdpi_lease_wish_make(&wish, context, own->directory);
    HDPI_TRY(hdpi_lease_folder_open(&folder, &wish, &context->log));
    look(list, &choice, &folder);
    *out = list;
    list = NULL;
out:
    list_free(list);
    if (folder.fd >= 0)
        (void)close(folder.fd);
    hdpi_lease_choice_finish(&choice);
    return status;
}

hdp_status hdp_lease_list_create(hdp_lease_list **out, hdp_context *context,
                                 const char *spec,
                                 const hdp_lease_options *options)
{
    hdp_lease_options own;

    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    HDPI_RETURN_IF(hdpi_context_check(context));
    HDPI_RETURN_IF(
        hdpi_options_read(&own, sizeof own, options, "hdp_lease_options"));
    own.policy = HDP_LEASE_FIRST; /* nothing is chosen */
    return create(out, context, spec, &own);
}

hdp_status hdp_lease_list_get(hdp_lease_list_info *out,
                              const hdp_lease_list *list)
{
    HDPI_RETURN_IF(hdpi_object_check(list, HDPI_LEASE_LIST, "list"));
    return hdpi_options_write(out, &list->info, sizeof list->info,
                              "hdp_lease_list_info");
}

hdp_status hdp_lease_list_entry(hdp_lease_entry *out,
                                const hdp_lease_list *list, int32_t index)
{
    HDPI_RETURN_IF(hdpi_object_check(list, HDPI_LEASE_LIST, "list"));
    if (index < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "index is %" PRId32, index);
    if (index >= list->info.device_count)
        return hdpi_fail(HDP_ERR_NOT_FOUND,
                         "index is %" PRId32 ", but there are %" PRId32, index,
                         list->info.device_count);
    return hdpi_options_write(out, &list->entries[index], sizeof *list->entries,
                              "hdp_lease_entry");
}

void hdp_lease_list_destroy(hdp_lease_list *list)
{
    if (hdpi_object_release((struct hdpi_object *)list, HDPI_LEASE_LIST))
        list_free(list);
}
