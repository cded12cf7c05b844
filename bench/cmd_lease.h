/* lease's command: started with the lease, given what this program is sent,
 * and waited for. */
#ifndef BENCH_CMD_LEASE_H
#define BENCH_CMD_LEASE_H
#include <hdp/lease.h>

#include "bench.h"

struct job {
    char **words;          /* ended by NULL */
    char *mask;            /* for CUDA_VISIBLE_DEVICES */
    char *fds;             /* for HDP_LEASE_FDS */
    const char *directory; /* for HDP_LEASE_DIR */
    hdp_lease *lease;
    int32_t *descriptors; /* to leave open */
    int32_t descriptor_count;
    int64_t pid;
    int signal; /* that killed it; 0: none */
    int code;   /* its own, or 128 and the signal */
};

/** Runs it to its end. EXIT_OK also when it failed itself; else it could not be
 *  started, and why is recorded. */
int job_run(struct bench *bench, struct job *job);
#endif
