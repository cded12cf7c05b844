/* Machines as files: what discover has seen and what was measured there. */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H
#include <hdp/hdp.h>

struct bench;

/** The noun's own text; *out is to be free()d, also after a failure. Returns
 *  the exit code. */
int record_topology(struct bench *bench, const hdp_topology *topology,
                    char **out);

int record_profile_text(struct bench *bench, const hdp_profile *profile,
                        char **out);

/** Writes --save FILE, whole or not at all; nothing where it was not given. A
 *  machine file of the topology's text, and of a profile unless NULL. */
int record_machine(struct bench *bench, const char *topology,
                   const hdp_profile *profile);

/** The same with the devices that the group was made of; without a group the
 *  profile alone. */
int record_profile(struct bench *bench, const hdp_profile *profile);
#endif
