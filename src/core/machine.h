/* A machine as a file describes it: its devices, how fast each is, and what
 * goes wrong on it. Counted and immutable: topologies and groups made from it
 * keep it, since their rows point into it. */
#ifndef HDPI_MACHINE_H
#define HDPI_MACHINE_H
#include "core/profile.h"
#include "core/topology.h"

enum {
    HDPI_MACHINE_NAME_MAX = 64,
    HDPI_MACHINE_TEXT_MAX = 512,
    HDPI_MACHINE_DEVICES_MAX = 256,
    HDPI_MACHINE_PROFILES_MAX = 64,
    HDPI_MACHINE_POINTS_MAX = 256 /* so that a calibration can take them all */
};

/* One device of a machine. */
struct hdpi_model {
    const struct hdpi_machine *machine;
    int32_t device; /* index in its topology */
};

struct hdpi_machine {
    struct hdpi_object object;
    char name[HDPI_MACHINE_NAME_MAX];
    char text[HDPI_MACHINE_TEXT_MAX]; /* for people: where its figures are
                                         from */
    hdp_topology *topology;
    hdp_profile **profiles; /* the first is the machine's own work */
    int32_t profile_count;
    struct hdpi_ask *faults; /* one a device: noise, seed, fail, drift, slow,
                                ramp, newshape; the rest is not used */
    /* made by seal: */
    struct hdpi_model *models; /* one a device */
    int32_t *members;          /* [profile * devices + device]: its member of
                                  that profile, -1: none */
};

/** An empty machine that takes over a topology, also on error. */
hdp_status hdpi_machine_new(struct hdpi_machine **out, hdp_topology *topology);

/** Makes room for so many profiles, which the caller then fills in order. */
hdp_status hdpi_machine_reserve(struct hdpi_machine *machine, size_t profiles);

/**
 * Finds each device's member in each profile: the one that bears its identity,
 * or for members without one the place.
 *
 * @return HDP_ERR_ARGUMENT naming what does not fit and where, as the readers
 *         of JSON do ("profiles[0].members[2].key: ..."); HDP_ERR_MEMORY.
 */
hdp_status hdpi_machine_seal(struct hdpi_machine *machine);

void hdpi_machine_keep(struct hdpi_machine *machine);
/** Gives a reference back; NULL is allowed. */
void hdpi_machine_free(struct hdpi_machine *machine);

int hdpi_machine_is_valid(const struct hdpi_machine *machine);
#endif
