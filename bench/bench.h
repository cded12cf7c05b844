/* One run of the program: the options, what it found and what it hands back.
 * Commands return an exit code, 0 or the one recorded in `failure`. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
#include <hdp/hdp.h>

#include "document.h"
#include "failure.h"
#include "notes.h"
#include "options.h"
#include "outfile.h"
#include "work/gpu.h"
#include "work/work.h"

struct bench {
    struct options options;
    struct failure failure;
    struct notes notes;
    struct document document;
    struct outfile out[OPTIONS_OUT_MAX]; /* of --out; demo: none */

    hdp_context *context;
    hdp_group *group;
    hdp_device *devices; /* one a member */
    int32_t members;
    int simulated;          /* a member's time is a model's */
    int abandoned;          /* what library_settle() waited for in vain */
    json_t *pictured;       /* what .svg files show; NULL: the document */
    json_t *runtime;        /* of library_runtime(); NULL: not asked yet */
    struct gpu_image image; /* of the workloads' kernels */
    struct gpu *gpu; /* the members that are GPUs; NULL: none, or not asked */
    char json_path[1024]; /* where demo wants the document; empty: nowhere */
    int pipe_ignored;     /* SIGPIPE was, when the program was started */
    int job_code;         /* what lease's command ended with */
};

/* ---- library.c: the library's live objects ------------------------------- */

int library_open(struct bench *bench); /* context, versions */

/** Group and the `devices` section; says every slowdown in words. spec NULL:
 *  what -d gave, or auto. */
int library_group(struct bench *bench, const char *spec);
/** Its two halves: sets bench->group, where nothing is recorded yet; and the
 *  rest, once there is one. */
hdp_status library_create(struct bench *bench, const char *spec);
int library_describe(struct bench *bench);
/** What a table calls a device: "sim:0 NVIDIA GeForce RTX 3090", or its
 *  specification where it has no name of its own. May use `text`. */
const char *library_label(const hdp_device *device, char *text, size_t size);
/** A comment line a member, for the head of a table. */
void library_say_devices(struct bench *bench);
void library_close(struct bench *bench);

/** Sets bench->gpu where a member is a GPU, for the works that follow; products:
 *  with cuBLAS. The group is idle. */
int library_gpus(struct bench *bench, int products);
/** The same of another group; gpu_close() releases *out. */
int library_gpus_of(struct bench *bench, hdp_group *group,
                    const hdp_device *devices, int32_t members, int products,
                    struct gpu **out);

/** A workload of the group, in the type of --dtype. The caller sets kind,
 *  capacity and reduce_bytes of `spec`; library_end_work() releases *out. */
int library_work(struct bench *bench, struct workload_spec *spec,
                 struct workload **out);
/** What --dtype means for a work on such members; a failure where it has not
 *  got that type. */
int library_work_dtype(struct bench *bench, int32_t kind,
                       const hdp_device *devices, int32_t members,
                       int32_t *out);

/** 1: what was lent to the group may be freed. After a deadline a function may
 *  be inside still, or a device at work, so this waits for it once, seconds at
 *  most; 0: it never came, which a warning says. */
int library_settle(struct bench *bench);

/** Destroys a workload (or NULL) once no function is inside it; else leaves it
 *  to the end of the process. */
void library_end_work(struct bench *bench, struct workload *workload);

/** EXIT_OK, or the failure of the library's last call. */
int library_try(struct bench *bench, hdp_status status);

/** The program's own lack of memory. */
int library_no_memory(struct bench *bench);

/** A declared slowdown or a simulation in words; NULL: neither. */
const char *library_slowdown(const hdp_device *device, char *text, size_t size);

/** One entry of the `devices` section. */
json_t *library_device_json(const hdp_device *device);

/** A document of hdp_info(); NULL (and no failure) when there is none. */
json_t *library_info(int32_t what);

/** HDP_INFO_RUNTIME, asked once and from then on part of the document: it starts
 *  the driver and NVML, so what needs no real device leaves it alone. The
 *  bench's own; JSON's null: it cannot be told. */
const json_t *library_runtime(struct bench *bench);
/** The file of a library that it names: the workloads use that very copy. NULL
 *  in groups without a real device, for which it is not asked. */
const char *library_path(const struct bench *bench, const char *name);

/** Monotonic nanoseconds. */
int64_t library_now(void);

/* ---- measure.c: profiles by the options ---------------------------------- */

struct measure {
    int32_t probe;
    struct workload *workload; /* of HDP_PROBE_WORK */
    const int64_t *items;      /* sizes; NULL: the library's choice */
    int32_t item_count;
    int64_t budget_ns;
};

/** A profile of the group: measured, or --profile; --save is obeyed. */
int measure_profile(struct bench *bench, const struct measure *measure,
                    hdp_profile **out);

/** The same with the probe that was asked for, or GEMM, and its workload. */
int measure_by_options(struct bench *bench, hdp_profile **out);

/** The `profile` section, from the noun's own JSON. */
int measure_section(struct bench *bench, const hdp_profile *profile);

/** The noun's own JSON; NULL on failure, which is recorded. */
json_t *measure_json(struct bench *bench, const hdp_profile *profile);

/** The profile's table for people. */
int measure_table(struct bench *bench, const hdp_profile *profile);

/* ---- plans.c ------------------------------------------------------------- */

/** The command line's options of a split under one rule. */
int plans_options(struct bench *bench, const hdp_profile *profile, int32_t rule,
                  hdp_split_options *split);

/** The split under one rule with every option of the command line. */
int plans_split(struct bench *bench, const hdp_profile *profile, int32_t rule,
                int64_t total, hdp_plan **out);

/** NULL when memory is short. */
json_t *plans_json(const struct bench *bench, const hdp_plan *plan);

/** Shares and reasons, a line a rank. */
void plans_table(struct bench *bench, const hdp_profile *profile,
                 const hdp_plan *plan);

/** Why a rank's share is what it is, in words. */
const char *plans_reason(const hdp_plan_info *info, int rank);

/* ---- cmd_discover.c ------------------------------------------------------ */

/** What the library's name of a mask entry's verdict says to people. */
const char *discover_verdict(const char *name);

/* ---- the commands -------------------------------------------------------- */

int command_demo(struct bench *bench);
int command_discover(struct bench *bench);
int command_calibrate(struct bench *bench);
int command_split(struct bench *bench);
int command_run(struct bench *bench);
int command_reduce(struct bench *bench);
int command_lease(struct bench *bench);
int command_plot(struct bench *bench);
int command_doctor(struct bench *bench);
int command_watch(struct bench *bench);
#endif
