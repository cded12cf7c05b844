/* One failure, from wherever it came, and the exit code it leads to. */
#ifndef BENCH_FAILURE_H
#define BENCH_FAILURE_H
#include <hdp/hdp.h>

/* Exit codes: the program's promise to scripts. */
enum {
    EXIT_OK = 0,
    EXIT_CHECK = 1,       /* a check or threshold failed; does not fit */
    EXIT_USAGE = 2,       /* the command line is wrong */
    EXIT_ENVIRONMENT = 3, /* no such device, library, file, permission */
    EXIT_RUNTIME = 4,     /* the work failed, or is not supported here */
    EXIT_TIMEOUT = 5,
    EXIT_INTERRUPTED = 130 /* by SIGINT, as shells count it */
};

struct failure {
    int exit_code;   /* EXIT_OK: none */
    hdp_error error; /* status, text and places; -1 and 0 where unknown */
    char option[32]; /* usage: the option, as typed; empty: none */
    int position;    /* usage: character in its value, from 1; 0: none */
};

/** Exit code of a library status. */
int failure_exit_code(hdp_status status);

/** Short name of a status, "ok", "argument" ...; never NULL. */
const char *failure_status_name(hdp_status status);

/** What `failed`, `usage` ... a document's status says for an exit code. */
const char *failure_exit_name(int exit_code);

/** Replaces what is recorded: whatever failed is the interrupt's doing. */
int failure_interrupted(struct failure *failure);

/* The others record a failure, unless one is recorded already, and return the
 * exit code recorded, so that `return failure_usage(...)` reads well. */

/** From this thread's last library error. HDP_OK records nothing. */
int failure_library(struct failure *failure, hdp_status status);

int failure_usage(struct failure *failure, const char *option, int position,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

int failure_own(struct failure *failure, int exit_code, hdp_status status,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

int failure_no_memory(struct failure *failure);
#endif
