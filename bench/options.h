/* The command line: one table from which parsing and --help come. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H
#include <stdio.h>

#include "failure.h"
#include "slows.h"
#include "work/net.h"

enum {
    OPTIONS_RULES_MAX = 8,
    OPTIONS_RATIOS_MAX = 256,
    OPTIONS_OUT_MAX = 8,
    OPTIONS_REMOVE_MAX = 64,
    OPTIONS_SPEC_MAX = 4096
};

enum command {
    COMMAND_DEMO,
    COMMAND_DISCOVER,
    COMMAND_CALIBRATE,
    COMMAND_SPLIT,
    COMMAND_RUN,
    COMMAND_REDUCE,
    COMMAND_PLOT,
    COMMAND_LEASE,
    COMMAND_DOCTOR,
    COMMAND_WATCH,
    COMMAND_COUNT,
    COMMAND_HELP, /* text was asked for; nothing runs */
    COMMAND_MAN,
    COMMAND_VERSION
};

enum format {
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_JSONL,
    FORMAT_CSV,
    FORMAT_MD,
    FORMAT_SVG /* of files alone */
};
enum progress {
    PROGRESS_AUTO,
    PROGRESS_ALWAYS,
    PROGRESS_NEVER,
    PROGRESS_JSONL
};
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Numbers: -1 stands for "not given" unless a default is written down. */
struct options {
    enum command command;
    enum command help_for; /* of COMMAND_HELP; COMMAND_COUNT: all */
    const char *unknown;   /* a first word that is no command; NULL: it is */
    char spec[OPTIONS_SPEC_MAX];
    char add[OPTIONS_SPEC_MAX];         /* members to try beside; empty: none */
    int64_t remove[OPTIONS_REMOVE_MAX]; /* ranks to try without */
    int remove_count;
    int32_t format, progress, color, quiet, verbose;
    const char *out[OPTIONS_OUT_MAX];
    int out_count;

    int64_t total, quantum;           /* quantum 0: by the command; -1: auto */
    int32_t rules[OPTIONS_RULES_MAX]; /* HDP_RULE_* */
    int rule_count;
    double ratios[OPTIONS_RATIOS_MAX]; /* of manual */
    int ratio_count;
    int64_t item_bytes, fixed_bytes, keep_free_bytes, in_bytes, out_bytes,
        reduce_bytes;
    int32_t overlap, bench_members;

    int32_t dtype, probe; /* index into the choices; -1: by the command */
    int64_t steps, warmup, budget_ns, timeout_ns, seed;
    int64_t repeat, reference_ns, rest_ns; /* of calibrate; 0: not asked */
    const char *profile, *save, *compare, *cache;
    const char *cublas, *nvml,
        *nccl; /* files to load; NULL: the usual search */
    const char *mask, *order, *machine;
    int32_t work, threads;
    struct net_shape net;         /* of the mlp; layers 0: the digits */
    int64_t batches;              /* split: timed batches; -1: none */
    int64_t ranks;                /* split: of a made-up cluster; 0: none */
    int32_t adapt, dynamic;       /* run: what else than rules in turn */
    struct slow slows[SLOWS_MAX]; /* of adapt */
    int slow_count;
    int32_t strict;

    int64_t begin_bytes, end_bytes, factor, iterations;
    int32_t verify, op, peer; /* peer: switch the direct ways on before */
    double weights[OPTIONS_RATIOS_MAX];
    int weight_count;

    const char *input; /* the file that a command reads; NULL: none */
    int32_t kind;      /* PLOT_*; -1: by the document */

    int64_t gpus, wait_ns; /* lease; gpus -1: all that are named */
    int32_t policy;        /* HDP_LEASE_FIRST ... */
    int32_t list;
    const char *directory;

    int32_t test, pair; /* doctor: try all; only one way */
    const char *root;   /* doctor: where the machine's files are; NULL: "" */
    int64_t count;      /* watch; -1: by the format */

    char **job; /* what follows --, ended by NULL; NULL: nothing */
};

/** Reads the command line; on failure records it and returns its exit code.
 *  Fields point into argv. */
int options_read(struct options *out, int argc, char **argv,
                 struct failure *failure);

/** The last -o of a command line that is wrong, of those that are for programs;
 *  FORMAT_TABLE: none. */
int32_t options_wanted_format(int argc, char **argv);

/** Help for one command, or (COMMAND_COUNT) the overview. */
void options_help(FILE *out, enum command command);

/** The manual page, in roff. */
void options_man(FILE *out);

const char *options_command_name(enum command command);
const char *options_rule_name(int32_t rule);
const char *options_dtype_name(int32_t dtype); /* HDP_F32 ... */
const char *options_probe_name(int32_t probe);
const char *options_work_name(int32_t work);
const char *options_op_name(int32_t op);
#endif
