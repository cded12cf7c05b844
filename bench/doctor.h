/* What is missing or slow on this machine: findings, each with its remedy, and
 * the parts that look for them. */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H
#include "bench.h"

enum severity { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_ERROR };
enum { DOCTOR_SEVERITIES = 4 };

struct doctor {
    struct bench *bench;
    const char *root; /* where the machine's files begin: "" */
    json_t *findings;
    int counts[DOCTOR_SEVERITIES];
    const char *section;   /* of the last finding; NULL: none yet */
    json_t *build;         /* of hdp_info(); NULL: not told */
    const json_t *runtime; /* likewise, the bench's */
    json_t *now;           /* HDP_INFO_DEVICES */
    json_t *topology;
    int cards;      /* of NVIDIA on the PCI bus */
    int has_module; /* the driver's kernel part is loaded */
    int gpus;       /* that the process sees */
    int contained;  /* it runs in a container */
};

/** One finding. remedy: what to do or to type, or NULL. */
void doctor_say(struct doctor *self, const char *section,
                enum severity severity, const char *remedy, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* ---- files of the machine (doctor_files.c); paths begin with '/' ---------- */

/** At most `size` - 1 bytes of a file, ended by NUL; 0: not there. */
int doctor_read(const struct doctor *self, const char *path, char *out,
                size_t size);
int doctor_exists(const struct doctor *self, const char *path);
/** Whether this process may read and write it. */
int doctor_usable(const struct doctor *self, const char *path);
/** Entries of a folder but for '.' and '..'; each is told to `each`, which may
 *  be NULL. -1: no such folder. */
int doctor_list(struct doctor *self, const char *path,
                void (*each)(struct doctor *self, const char *name));

/* ---- the parts, in the order in which they speak -------------------------- */

void doctor_driver(struct doctor *self);
void doctor_libraries(struct doctor *self);
void doctor_visibility(struct doctor *self);
void doctor_devices(struct doctor *self);
void doctor_now(struct doctor *self);   /* who uses them, links, clocks */
void doctor_place(struct doctor *self); /* container, scheduler, WSL2 */
void doctor_memory(struct doctor *self);

/** Tries the devices; the section `tests`. EXIT_CHECK when one failed. */
int doctor_test(struct doctor *self);
#endif
