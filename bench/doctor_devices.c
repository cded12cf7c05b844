/* Which GPUs there are, which of them this process sees, and which of those
 * this build can run. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "table.h"

static const char MASK[] = "visibility", DEVICES[] = "devices";

/* ---- the mask -------------------------------------------------------------- */

static void say_entry(struct doctor *self, const json_t *entry)
{
    const char *text = document_text(entry, "text");
    const char *verdict = document_text(entry, "verdict");
    const char *device = document_text(entry, "device");

    if (strcmp(verdict, "accepted") == 0)
        doctor_say(self, MASK, DOCTOR_OK, NULL, "'%s' is %s", text, device);
    else
        doctor_say(self, MASK, DOCTOR_WARNING,
                   "write numbers from 0, or UUIDs in full; hdp_bench discover "
                   "--mask TEXT explains a mask without setting it",
                   "'%s': %s", text, discover_verdict(verdict));
}

/* All that CUDA shows is one MIG instance, as it does where there are any. */
static int is_instance(const struct doctor *self)
{
    const json_t *devices = json_object_get(self->topology, "devices");
    int found = 0;

    for (size_t i = 0; i < json_array_size(devices); ++i)
        found |= strncmp(document_text(json_array_get(devices, i), "uuid"),
                         "MIG-", 4) == 0;
    return found && self->gpus == 1;
}

static void say_mask(struct doctor *self, const json_t *visibility)
{
    const char *mask = getenv("CUDA_VISIBLE_DEVICES");
    const json_t *entries = json_object_get(visibility, "entries");
    const char *error = document_text(visibility, "error");
    int alone = is_instance(self);

    if (!mask)
        doctor_say(self, MASK, DOCTOR_OK, NULL,
                   "CUDA_VISIBLE_DEVICES is not set%s",
                   alone ? "" : ": every GPU can be seen");
    else if (!*mask)
        doctor_say(self, MASK, DOCTOR_WARNING, "unset CUDA_VISIBLE_DEVICES",
                   "CUDA_VISIBLE_DEVICES is empty: no GPU can be seen");
    else
        doctor_say(self, MASK, DOCTOR_NOTE, NULL,
                   "CUDA_VISIBLE_DEVICES is '%.128s'%s", mask,
                   json_array_size(entries) || self->gpus
                       ? ""
                       : "; there is no GPU that it could be about");
    for (size_t i = 0; i < json_array_size(entries); ++i)
        say_entry(self, json_array_get(entries, i));
    if (*error)
        doctor_say(self, MASK, DOCTOR_ERROR,
                   "set a mask that the driver takes, or none",
                   "with this mask every call of CUDA fails: %s", error);
    if (alone)
        doctor_say(self, MASK, DOCTOR_NOTE,
                   "export CUDA_VISIBLE_DEVICES=MIG-UUID chooses another one "
                   "(nvidia-smi -L), or a GPU that is not cut",
                   "a process sees one MIG instance and no other GPU");
    if (json_is_true(json_object_get(visibility, "mask_changed")))
        doctor_say(self, MASK, DOCTOR_WARNING,
                   "set it before the program starts",
                   "CUDA_VISIBLE_DEVICES was changed after the driver had "
                   "read it");
}

static int models_differ(const struct doctor *self)
{
    const json_t *devices = json_object_get(self->topology, "devices");
    const char *first = NULL;

    for (size_t i = 0; i < json_array_size(devices); ++i) {
        const json_t *device = json_array_get(devices, i);
        if (strcmp(document_text(device, "backend"), "cuda") != 0)
            continue;
        if (first && strcmp(first, document_text(device, "name")) != 0)
            return 1;
        first = document_text(device, "name");
    }
    return 0;
}

static void say_order(struct doctor *self)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");

    if (order && strcmp(order, "PCI_BUS_ID") != 0 &&
        strcmp(order, "FASTEST_FIRST") != 0)
        doctor_say(self, MASK, DOCTOR_ERROR,
                   "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
                   "CUDA_DEVICE_ORDER is '%.64s', which the driver does not "
                   "take: every call of CUDA fails",
                   order);
    else if (order)
        doctor_say(self, MASK, DOCTOR_OK, NULL, "CUDA_DEVICE_ORDER is %s",
                   order);
    else if (models_differ(self))
        doctor_say(self, MASK, DOCTOR_NOTE,
                   "export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name devices by "
                   "UUID (hdp_bench discover)",
                   "CUDA_DEVICE_ORDER is not set: CUDA numbers these unlike "
                   "GPUs by speed, nvidia-smi by their place on the bus");
}

void doctor_visibility(struct doctor *self)
{
    say_mask(self, json_object_get(self->topology, "visibility"));
    say_order(self);
}

/* ---- what there is --------------------------------------------------------- */

static void say_left_out(struct doctor *self, const json_t *device)
{
    int major = (int)document_number(device, "compute_major");
    int minor = (int)document_number(device, "compute_minor");

    doctor_say(self, DEVICES, DOCTOR_WARNING,
               major < 7 || (major == 7 && minor < 5)
                   ? "build with CUDA 12, the last that compiles for it: "
                     "cmake -DCUDAToolkit_ROOT=/usr/local/cuda-12.9"
                   : "build with a CUDA Toolkit that knows it",
               "%s %s is left out: this build has no code for sm_%d%d",
               document_text(device, "spec"), document_text(device, "name"),
               major, minor);
}

static void say_device(struct doctor *self, const json_t *device)
{
    char bytes[24];

    if (!json_is_true(json_object_get(device, "runnable"))) {
        say_left_out(self, device);
        return;
    }
    doctor_say(
        self, DEVICES, DOCTOR_OK, NULL, "%s %s, %s, %s, %s",
        document_text(device, "spec"), document_text(device, "name"),
        table_bytes(bytes, (double)document_number(device, "memory_bytes")),
        document_text(device, "pci"), document_text(device, "uuid"));
    if (json_is_true(json_object_get(device, "display")))
        doctor_say(self, DEVICES, DOCTOR_NOTE,
                   "let another GPU drive the display where there is one",
                   "%s drives a display, which slows both; kernels that take "
                   "seconds are ended by the driver",
                   document_text(device, "spec"));
}

/* How many the driver has, whatever a mask says. */
static void say_hidden(struct doctor *self)
{
    int there = doctor_list(self, "/proc/driver/nvidia/gpus", NULL);
    int hidden;

    if (there < 0)
        there = self->cards;
    hidden = there - self->gpus;
    if (hidden <= 0 || !self->has_module)
        return;
    if (getenv("CUDA_VISIBLE_DEVICES"))
        doctor_say(self, DEVICES, DOCTOR_NOTE,
                   "unset CUDA_VISIBLE_DEVICES, where a scheduler has not set "
                   "it",
                   "%d of %d GPUs of this machine are hidden by the mask",
                   hidden, there);
    else
        doctor_say(self, DEVICES, DOCTOR_WARNING,
                   "look at the permissions of /dev/nvidia*, at what the "
                   "container or the scheduler gives, and at the kernel's log "
                   "(dmesg | grep NVRM)",
                   "%d of %d GPUs of this machine cannot be seen, and no mask "
                   "hides them",
                   hidden, there);
}

static void say_node(struct doctor *self, const char *path, const char *remedy)
{
    if (!doctor_exists(self, path))
        doctor_say(self, DEVICES, DOCTOR_ERROR,
                   self->contained ? "start the container with --gpus all "
                                     "(NVIDIA Container Toolkit)"
                                   : remedy,
                   "%s is missing", path);
    else if (!doctor_usable(self, path))
        doctor_say(self, DEVICES, DOCTOR_ERROR,
                   "join the group that owns it (often video or render)",
                   "%s may not be opened by this user", path);
}

void doctor_devices(struct doctor *self)
{
    const json_t *devices = json_object_get(self->topology, "devices");

    self->contained = doctor_exists(self, "/.dockerenv") ||
                      doctor_exists(self, "/run/.containerenv");
    for (size_t i = 0; i < json_array_size(devices); ++i) {
        const json_t *device = json_array_get(devices, i);
        if (strcmp(document_text(device, "backend"), "cuda") == 0)
            say_device(self, device);
    }
    say_hidden(self);
    if (self->has_module) {
        say_node(self, "/dev/nvidiactl", "nvidia-modprobe -c 0");
        say_node(self, "/dev/nvidia-uvm", "nvidia-modprobe -u -c 0");
    }
    if (self->gpus == 0)
        doctor_say(self, DEVICES, DOCTOR_NOTE, NULL,
                   "%d cores for host members; simulated devices always work",
                   (int)document_number(self->runtime, "cores_allowed"));
}
