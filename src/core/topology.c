/* A machine as rows. Adapters append while a verb collects them; from then on
 * nothing changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/text.h"
#include "core/machine.h"
#include "core/topology.h"

enum { REASON_MAX = 512, DEVICES_MAX = 1 << 20 };

hdp_status hdpi_topology_new(hdp_topology **out)
{
    hdp_topology *topology = hdpi_alloc(1, sizeof *topology, "a topology");
    *out = topology;
    if (!topology)
        return HDP_ERR_MEMORY;
    hdpi_object_init(&topology->object, HDPI_TOPOLOGY);
    topology->info.size = sizeof topology->info;
    return HDP_OK;
}

void hdpi_topology_free(hdp_topology *topology)
{
    if (!topology)
        return;
    free(topology->devices);
    free(topology->mask);
    free(topology->mask_uuids);
    free(topology->links);
    free(topology->notes);
    hdpi_machine_free(topology->machine);
    free(topology);
}

struct hdpi_device_row *hdpi_topology_append(hdp_topology *topology)
{
    int32_t count = topology->info.device_count;
    if (count >= DEVICES_MAX) {
        hdpi_fail(HDP_ERR_MEMORY, "a topology holds %d devices at most",
                  DEVICES_MAX);
        return NULL;
    }
    if (hdpi_grow(&topology->devices, &topology->device_capacity,
                  (size_t)count + 1, sizeof *topology->devices,
                  "the devices of a topology") != HDP_OK)
        return NULL;
    struct hdpi_device_row *row = &topology->devices[count];
    /* an adapter that took rows back has left them filled */
    *row = (struct hdpi_device_row){
        .info = { .size = sizeof row->info, .logical_id = -1 },
        .ask = { .logical_id = -1, .margin_bytes = -1 },
        .place = -1
    };
    topology->info.device_count++;
    return row;
}

hdp_status hdpi_topology_note(hdp_topology *topology, const char *adapter,
                              const char *reason)
{
    char line[REASON_MAX];
    hdpi_text_escape(line, sizeof line, reason, strlen(reason));
    /* adapter ": " line "\n" and the end of the string */
    size_t more = strlen(adapter) + strlen(line) + 3;
    HDPI_RETURN_IF(hdpi_grow(&topology->notes, &topology->note_capacity,
                             topology->note_bytes + more + 1, 1,
                             "the notes of a topology"));
    snprintf(topology->notes + topology->note_bytes, more + 1, "%s: %s\n",
             adapter, line);
    topology->note_bytes += more;
    return HDP_OK;
}

void hdpi_device_key(char *out, size_t capacity, const hdp_device *info)
{
    hdpi_text_copy(out, capacity, info->uuid[0] ? info->uuid : info->spec);
    size_t used = strlen(out);
    if (info->partition_sms || info->duty_percent != 100 ||
        info->kind == HDP_HOST)
        snprintf(out + used, capacity - used, "/sms=%d/t=%d/duty=%d",
                 (int)info->partition_sms, (int)info->thread_count,
                 (int)info->duty_percent);
}

static int ends(const char *text, size_t capacity)
{
    return memchr(text, '\0', capacity) != NULL;
}

static int valid_device(const hdp_device *info)
{
    return info->size == sizeof *info && info->kind >= HDP_HOST &&
           info->kind <= HDP_SIM && info->logical_id >= -1 &&
           info->sm_count >= 0 && info->thread_count >= 0 &&
           info->memory_bytes >= 0 && info->free_bytes >= 0 &&
           info->partition_sms >= 0 && info->duty_percent >= 1 &&
           info->duty_percent <= 100 && info->compute_major >= 0 &&
           info->compute_minor >= 0 && ends(info->uuid, sizeof info->uuid) &&
           ends(info->pci, sizeof info->pci) &&
           ends(info->name, sizeof info->name) &&
           ends(info->spec, sizeof info->spec);
}

static int valid_mask(const hdp_topology *topology)
{
    for (int32_t i = 0; i < topology->info.mask_count; i++) {
        const hdp_mask_entry *entry = &topology->mask[i];
        if (entry->size != sizeof *entry ||
            entry->verdict < HDP_MASK_ACCEPTED ||
            entry->verdict > HDP_MASK_OTHER_KIND || entry->device < -1 ||
            entry->device >= topology->info.device_count ||
            !ends(entry->text, sizeof entry->text))
            return 0;
        if (topology->mask_uuids &&
            !ends(topology->mask_uuids[i], sizeof *topology->mask_uuids))
            return 0;
    }
    return 1;
}

int hdpi_topology_is_valid(const hdp_topology *topology)
{
    const hdp_topology_info *info = &topology->info;
    size_t count = (size_t)info->device_count;
    if (topology->object.tag != HDPI_TOPOLOGY || info->size != sizeof *info ||
        info->device_count < 0 || count > topology->device_capacity ||
        info->mask_count < 0 ||
        (size_t)info->mask_count > topology->mask_capacity)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!valid_device(&topology->devices[i].info) ||
            topology->devices[i].place < -1)
            return 0;
    for (size_t i = 0; topology->links && i < count * count; i++)
        if (topology->links[i].bytes_per_second < 0)
            return 0;
    if (topology->notes ? topology->note_bytes >= topology->note_capacity ||
                              topology->notes[topology->note_bytes] != '\0'
                        : topology->note_bytes != 0)
        return 0;
    return valid_mask(topology);
}
