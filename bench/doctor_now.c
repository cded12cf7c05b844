/* What the GPUs do at this moment: who uses them, how they reach each other,
 * how fast their clocks are and why not faster. */
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "table.h"

static const char USERS[] = "users", LINKS[] = "links", CLOCKS[] = "clocks";

/* ---- users ----------------------------------------------------------------- */

static const char *process_name(const struct doctor *self, int64_t pid,
                                char *out, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%lld/comm", (long long)pid);
    if (!doctor_read(self, path, out, size))
        return "of another user or container";
    out[strcspn(out, "\n")] = 0;
    return out;
}

static int say_processes(struct doctor *self, const json_t *state)
{
    const json_t *list = json_object_get(state, "processes");
    int told = 0;

    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *process = json_array_get(list, i);
        int64_t pid = document_number(process, "pid");
        int64_t bytes = document_number(process, "bytes");
        char name[64], held[24];
        if (pid == getpid())
            continue;
        doctor_say(self, USERS, DOCTOR_NOTE,
                   told++ ? NULL
                          : "claim devices before use: hdp_bench lease --gpus "
                            "1 -- COMMAND",
                   "%s is used by process %lld (%s)%s%s",
                   document_text(state, "spec"), (long long)pid,
                   process_name(self, pid, name, sizeof name),
                   bytes < 0 ? "" : ", which holds ",
                   bytes < 0 ? "" : table_bytes(held, (double)bytes));
    }
    return told;
}

static void say_mode(struct doctor *self, const json_t *state, int others)
{
    const char *mode = document_text(state, "compute_mode");
    const char *spec = document_text(state, "spec");

    if (strcmp(mode, "prohibited") == 0)
        doctor_say(self, USERS, DOCTOR_ERROR,
                   "nvidia-smi -c DEFAULT, by an administrator",
                   "%s is closed to computing (compute mode prohibited)", spec);
    else if (strncmp(mode, "exclusive", 9) == 0 && others)
        doctor_say(self, USERS, DOCTOR_WARNING,
                   "wait for that process, or leave the device out with -d or "
                   "CUDA_VISIBLE_DEVICES",
                   "%s is busy: one process at a time may use it (compute mode "
                   "%s)",
                   spec, mode);
    else if (strncmp(mode, "exclusive", 9) == 0)
        doctor_say(self, USERS, DOCTOR_NOTE, NULL,
                   "%s takes one process at a time (compute mode %s)", spec,
                   mode);
}

/* Memory that somebody has, also where nobody says who. */
static void say_tenant(struct doctor *self, const json_t *state, int others)
{
    int64_t all = document_number(state, "memory_bytes");
    int64_t left = document_number(state, "free_bytes");
    char held[24], of[24];

    if (others || all <= 0 || left < 0 || all - left < all / 10)
        return;
    doctor_say(self, USERS, DOCTOR_NOTE,
               "nvidia-smi as an administrator names the processes",
               "%s: %s of %s are taken, and nobody says by whom",
               document_text(state, "spec"),
               table_bytes(held, (double)(all - left)),
               table_bytes(of, (double)all));
}

/* ---- clocks ---------------------------------------------------------------- */

static enum severity severity_of(const char *reason)
{
    return strstr(reason, "heat") || strstr(reason, "hardware") ||
                   strstr(reason, "brake")
               ? DOCTOR_WARNING
               : DOCTOR_NOTE;
}

static const char *remedy_of(const char *reason)
{
    if (strstr(reason, "heat"))
        return "look after fans, dust and the air around; hdp follows the "
               "clocks and gives it less";
    if (strstr(reason, "power limit"))
        return "nothing, where the limit is meant; else nvidia-smi -pl WATTS, "
               "by an administrator";
    if (strstr(reason, "brake"))
        return "look after the power supply";
    if (strstr(reason, "administrator"))
        return "nvidia-smi -rgc gives the clocks back, by an administrator";
    return NULL;
}

static void say_clocks(struct doctor *self, const json_t *state)
{
    const json_t *list = json_object_get(state, "low_because");
    const char *spec = document_text(state, "spec");
    int clock = (int)document_number(state, "clock_mhz");
    int most = (int)document_number(state, "clock_max_mhz"), told = 0;

    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char *reason = json_string_value(json_array_get(list, i));
        if (!reason || strcmp(reason, "idle") == 0)
            continue;
        doctor_say(self, CLOCKS, severity_of(reason), remedy_of(reason),
                   "%s runs at %d of %d MHz, %d C: %s", spec, clock, most,
                   (int)document_number(state, "temperature_celsius"), reason);
        told = 1;
    }
    if (!told && clock >= 0)
        doctor_say(self, CLOCKS, DOCTOR_OK, NULL, "%s: %d of %d MHz, %d C%s",
                   spec, clock, most,
                   (int)document_number(state, "temperature_celsius"),
                   json_array_size(list) ? ", idle" : "");
}

static void say_slot(struct doctor *self, const json_t *state)
{
    const json_t *pcie = json_object_get(state, "pcie");
    int64_t width = document_number(pcie, "width");
    int64_t most = document_number(pcie, "width_max");
    int64_t generation = document_number(pcie, "generation");
    int64_t newest = document_number(pcie, "generation_max");
    const char *spec = document_text(state, "spec");

    if (width > 0 && most > width)
        doctor_say(self, LINKS, DOCTOR_WARNING,
                   "move the card to a slot with all lanes; hdp measures the "
                   "link and plans by it",
                   "%s has x%lld of its x%lld lanes", spec, (long long)width,
                   (long long)most);
    if (generation > 0 && newest > generation)
        doctor_say(self, LINKS, DOCTOR_NOTE,
                   "it rises under load: look again with hdp_bench watch; else "
                   "see the BIOS",
                   "%s: PCIe generation %lld of %lld", spec,
                   (long long)generation, (long long)newest);
}

/* ---- links ----------------------------------------------------------------- */

static const char *spec_of(const struct doctor *self, const json_t *link,
                           const char *end)
{
    const json_t *devices = json_object_get(self->topology, "devices");
    int64_t index = document_number(link, end);

    return document_text(json_array_get(devices, (size_t)index), "spec");
}

static void say_peers(struct doctor *self)
{
    const json_t *links = json_object_get(self->topology, "links");
    char with[512] = "", without[512] = "";

    for (size_t i = 0; i < json_array_size(links); ++i) {
        const json_t *link = json_array_get(links, i);
        int peer = json_is_true(json_object_get(link, "peer"));
        char *list = peer ? with : without;
        size_t used = strlen(list);
        if (document_number(link, "from") >= document_number(link, "to") ||
            used + 140 > sizeof with)
            continue;
        snprintf(list + used, sizeof with - used, "%s%.64s and %.64s",
                 used ? ", " : "", spec_of(self, link, "from"),
                 spec_of(self, link, "to"));
    }
    if (with[0])
        doctor_say(self, LINKS, DOCTOR_OK, NULL,
                   "peer access, as the driver says: %s (--test tries it)",
                   with);
    if (without[0])
        doctor_say(self, LINKS, DOCTOR_NOTE,
                   "nothing for GeForce cards, whose driver allows none; of "
                   "others see IOMMU and ACS in the BIOS",
                   "no peer access, so copies go through the host: %s",
                   without);
}

void doctor_now(struct doctor *self)
{
    const json_t *states = json_object_get(self->now, "states");

    for (size_t i = 0; i < json_array_size(states); ++i) {
        const json_t *state = json_array_get(states, i);
        int others = say_processes(self, state);
        if (*document_text(state, "note"))
            doctor_say(self, USERS, DOCTOR_NOTE, NULL, "%s: %s",
                       document_text(state, "spec"),
                       document_text(state, "note"));
        say_mode(self, state, others);
        say_tenant(self, state, others);
    }
    say_peers(self);
    for (size_t i = 0; i < json_array_size(states); ++i)
        say_slot(self, json_array_get(states, i));
    for (size_t i = 0; i < json_array_size(states); ++i)
        say_clocks(self, json_array_get(states, i));
}
