/* The devices that a claim is about, the names of their lock files, and in
 * which order those that are free are chosen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/spec.h"
#include "leases.h"

/* ---- names --------------------------------------------------------------- */

/* A partition is known by its size; of several alike in one claim each has a
 * number. Every claim numbers alike, so two claims of the same parts meet. */
static hdp_status name_candidate(struct hdpi_lease_choice *choice, int32_t at)
{
    struct hdpi_lease_candidate *own = &choice->candidates[at];
    const hdp_device *info = &own->info;
    int32_t twins = 0;

    if (!hdpi_lease_name_ok(info->uuid, strlen(info->uuid)) ||
        strchr(info->uuid, '+'))
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "%s: \"%s\" is no lasting identity that a lock file "
                         "could be named by (letters, digits, '-', '_', '.')",
                         info->spec, info->uuid);
    if (info->partition_sms == 0) {
        (void)snprintf(own->name, sizeof own->name, "%s.lease", info->uuid);
        return HDP_OK;
    }
    for (int32_t i = 0; i < at; ++i)
        twins +=
            strcmp(choice->candidates[i].info.uuid, info->uuid) == 0 &&
            choice->candidates[i].info.partition_sms == info->partition_sms;
    (void)snprintf(own->whole, sizeof own->whole, "%s.lease", info->uuid);
    (void)snprintf(own->name, sizeof own->name, "%s+sms%d.%d.lease", info->uuid,
                   (int)info->partition_sms, (int)twins);
    return HDP_OK;
}

static hdp_status check_repeats(const struct hdpi_lease_choice *choice)
{
    const struct hdpi_lease_candidate *own = choice->candidates;

    for (int32_t i = 0; i < choice->count; ++i)
        for (int32_t j = 0; j < i; ++j)
            if (strcmp(own[i].name, own[j].name) == 0 ||
                strcmp(own[i].whole, own[j].name) == 0 ||
                strcmp(own[i].name, own[j].whole) == 0)
                return hdpi_fail(HDP_ERR_ARGUMENT,
                                 "%s and %s are the same device, %s, or one is "
                                 "a part of the other",
                                 own[j].info.spec, own[i].info.spec,
                                 own[i].info.uuid);
    return HDP_OK;
}

/* ---- finding ------------------------------------------------------------- */

/* Whether the text leaves it to us which devices: hosts are then no mistake. */
static hdp_status read_spec(int *out_any, const char *spec)
{
    struct hdpi_spec parsed = { 0 };
    hdp_status status;

    HDPI_TRY(hdpi_spec_parse(&parsed, spec));
    *out_any = parsed.automatic || parsed.machine[0];
out:
    hdpi_spec_finish(&parsed);
    return status;
}

static hdp_status take_device(struct hdpi_lease_choice *choice,
                              const hdp_device *info, int any)
{
    if (info->kind == HDP_HOST && any)
        return HDP_OK;
    if (info->kind == HDP_HOST)
        return hdpi_fail(HDP_ERR_UNSUPPORTED,
                         "%s: cores of the host are not leased, only GPUs",
                         info->spec);
    choice->candidates[choice->count].info = *info;
    choice->count++;
    return name_candidate(choice, choice->count - 1);
}

static hdp_status take_devices(struct hdpi_lease_choice *choice,
                               const hdp_topology *topology, int any)
{
    size_t count = (size_t)topology->info.device_count;

    choice->candidates =
        hdpi_alloc(count, sizeof *choice->candidates, "devices to claim");
    choice->order = hdpi_alloc(count, sizeof *choice->order, "their order");
    if (!choice->candidates || !choice->order)
        return HDP_ERR_MEMORY;
    for (size_t i = 0; i < count; ++i)
        if (!any || !topology->devices[i].barred[0])
            HDPI_RETURN_IF(
                take_device(choice, &topology->devices[i].info, any));
    if (choice->count > 0)
        return check_repeats(choice);
    const char *why = topology->notes && topology->notes[0] ? topology->notes
                      : topology->info.mask_set
                          ? "the mask lets none of the devices through"
                          : "there are only hosts";
    return hdpi_fail(HDP_ERR_NOT_FOUND, "no GPU to claim: %.*s",
                     (int)strcspn(why, "\n"), why);
}

hdp_status hdpi_lease_choice_make(struct hdpi_lease_choice *choice,
                                  hdp_context *context, const char *spec,
                                  const hdp_lease_options *options)
{
    hdp_discover_options look = { .size = sizeof look };
    hdp_topology *topology = NULL;
    const char *variable = context->variables[HDPI_DEVICES];
    int named = 1, any = 0;
    hdp_status status;

    if (!spec || strcmp(spec, "auto") == 0) {
        named = variable == NULL;
        spec = variable ? variable : "auto";
    }
    status = read_spec(&any, spec);
    if (status == HDP_ERR_ARGUMENT && !named)
        hdpi_error_behind(hdpi_variables[HDPI_DEVICES]);
    HDPI_TRY(status);
    look.machine = spec;
    look.mask = options->mask;
    look.order = options->order;
    HDPI_TRY(hdp_discover(&topology, context, &look));
    choice->policy = options->policy;
    HDPI_TRY(take_devices(choice, topology, any));
    status = hdpi_lease_choice_rank(choice, context, options->profile);
out:
    hdp_topology_destroy(topology);
    return status;
}

void hdpi_lease_choice_finish(struct hdpi_lease_choice *choice)
{
    free(choice->candidates);
    free(choice->order);
    memset(choice, 0, sizeof *choice);
}

/* ---- policies ------------------------------------------------------------ */

static hdp_status rank_fastest(struct hdpi_lease_choice *choice,
                               const hdp_profile *profile)
{
    int32_t known = 0;

    if (!profile)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "policy fastest needs a profile of these devices, as "
                         "hdp_calibrate() makes one");
    for (int32_t i = 0; i < choice->count; ++i) {
        struct hdpi_lease_candidate *own = &choice->candidates[i];
        char key[HDPI_KEY_MAX];
        hdpi_device_key(key, sizeof key, &own->info);
        own->rank = 0;
        for (int32_t r = 0; r < profile->info.member_count; ++r)
            if (strcmp(profile->ranks[r].key, key) == 0) {
                own->rank = -hdpi_profile_rate(&profile->ranks[r]);
                known++;
                break;
            }
    }
    if (known > 0)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_NOT_FOUND,
                     "policy fastest: the profile knows none of these devices "
                     "(the first is %s)",
                     choice->candidates[0].info.uuid);
}

static hdp_status rank_memory(struct hdpi_lease_choice *choice)
{
    int32_t known = 0;

    for (int32_t i = 0; i < choice->count; ++i) {
        const hdp_device *info = &choice->candidates[i].info;
        choice->candidates[i].rank = -(double)info->free_bytes;
        known += info->free_bytes > 0;
    }
    if (known > 0)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_UNSUPPORTED,
                     "policy memory: nobody tells how much memory is free on "
                     "these devices (the first is %s)",
                     choice->candidates[0].info.uuid);
}

static hdp_status rank(struct hdpi_lease_choice *choice,
                       const hdp_context *context, const hdp_profile *profile)
{
    switch (choice->policy) {
    case HDP_LEASE_FASTEST:
        return rank_fastest(choice, profile);
    case HDP_LEASE_MEMORY:
        return rank_memory(choice);
    case HDP_LEASE_IDLE:
        return hdpi_lease_rank_idle(choice, context);
    default:
        return HDP_OK; /* as they stand */
    }
}

hdp_status hdpi_lease_choice_rank(struct hdpi_lease_choice *choice,
                                  const hdp_context *context,
                                  const hdp_profile *profile)
{
    HDPI_RETURN_IF(rank(choice, context, profile));
    /* Few devices, and those alike keep their places. */
    for (int32_t i = 0; i < choice->count; ++i) {
        int32_t at = i;
        for (; at > 0 && choice->candidates[choice->order[at - 1]].rank >
                             choice->candidates[i].rank;
             --at)
            choice->order[at] = choice->order[at - 1];
        choice->order[at] = i;
    }
    return HDP_OK;
}

/* ---- looking ------------------------------------------------------------- */

int32_t hdpi_lease_choice_state(const struct hdpi_lease_candidate *candidate,
                                const struct hdpi_lease_folder *folder)
{
    int32_t state;

    if (candidate->whole[0]) {
        state = hdpi_lease_state(folder, candidate->whole, 1);
        if (state != HDP_LEASE_FREE)
            return state;
    }
    return hdpi_lease_state(folder, candidate->name, 0);
}

void hdpi_lease_choice_look(hdp_lease_entry *out,
                            const struct hdpi_lease_candidate *candidate,
                            const struct hdpi_lease_folder *folder)
{
    if (candidate->whole[0])
        hdpi_lease_look(out, folder, candidate->whole, 1);
    if (!candidate->whole[0] || out->state == HDP_LEASE_FREE)
        hdpi_lease_look(out, folder, candidate->name, 0);
    (void)snprintf(out->uuid, sizeof out->uuid, "%s", candidate->info.uuid);
    (void)snprintf(out->spec, sizeof out->spec, "%s", candidate->info.spec);
}
