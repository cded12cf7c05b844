/* Every option once: who takes it, what its value is, where it is stored and
 * what the help says. */
#include "optiontable.h"

#include <stdint.h>

#define C(name) (1u << COMMAND_##name)
#define EVERY ((1u << COMMAND_COUNT) - 1)
#define RUNNING (EVERY & ~C(PLOT))
#define PLANNING (C(SPLIT) | C(RUN))
#define MEASURING (C(CALIBRATE) | C(SPLIT) | C(RUN))
#define AT(field) offsetof(struct options, field)
#define ANY INT64_MAX

const char *const option_rules[] = { "finish", "proportional", "equal",
                                     "single", "manual",       NULL };
const char *const option_formats[] = { "table", "json", "jsonl",
                                       "csv",   "md",   NULL };
static const char *const progresses[] = { "auto", "always", "never", "jsonl",
                                          NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };
static const char *const dtypes[] = { "f32", "tf32", "f16", "bf16", "f64",
                                      "i32", "i64",  "u8",  "i8",   NULL };
static const char *const dtypes_of_products[] = { "f32",  "tf32", "f16",
                                                  "bf16", "f64",  NULL };
static const char *const probes[] = { "gemm", "copy", "launch", "link",
                                      "work", "all",  NULL };
static const char *const works[] = { "mlp",   "gemm",  "copy",
                                     "mixed", "empty", NULL };
static const char *const threads[] = { "member", "caller", NULL };
static const char *const plots[] = { "timeline", "rates",  "scaling",
                                     "busbw",    "shares", NULL };
static const char *const policies[] = { "first", "fastest", "memory", "idle",
                                        NULL };
static const char *const ops[] = { "mean",           "sum", "min", "max",
                                   "sum_over_total", NULL };

const struct option_command option_commands[COMMAND_COUNT] = {
    [COMMAND_DEMO] = { "demo", "the tour: a real network on unequal devices",
                       "Finds the devices, measures every GPU (one beside the "
                       "host; without any two host members, the second "
                       "declared half as fast), trains a small network "
                       "on handwritten digits under every rule, checks "
                       "every gradient against one device, and writes "
                       "hdp-demo.svg and hdp-demo.json into the current "
                       "folder (--out DIR: elsewhere). Under a minute.",
                       NULL, NULL },
    [COMMAND_DISCOVER] = { "discover", "the devices and every identity",
                           "Lists the devices, and how CUDA_VISIBLE_DEVICES is "
                           "read, entry by entry.",
                           NULL, NULL },
    [COMMAND_CALIBRATE] = { "calibrate", "rates and throughput ratios",
                            "Measures all devices at once and says what ended "
                            "the measurement.",
                            NULL, NULL },
    [COMMAND_SPLIT] = { "split", "the plan, without running it",
                        "Divides -N items so that all devices finish together, "
                        "and says what bound each share, against equal shares "
                        "and the best single device.",
                        NULL, NULL },
    [COMMAND_RUN] = { "run", "steps of a built-in workload under several rules",
                      "Runs the rules interleaved, round by round, and "
                      "compares "
                      "with the best split over curves measured in the same "
                      "run. --work empty measures the step itself, --adapt "
                      "what an executor learns, --dynamic where independent "
                      "batches go.",
                      NULL, NULL },
    [COMMAND_REDUCE] = { "reduce", "all-reduce over a range of sizes",
                         "Columns as in nccl-tests. Data whose sums are exact: "
                         "#wrong counts elements that differ from a "
                         "reference in f64.",
                         NULL, NULL },
    [COMMAND_PLOT] = { "plot", "a picture of a saved document",
                       "Draws what a saved document (-o json, --out x.json; a "
                       "saved profile too) holds, as SVG: to --out x.svg, else "
                       "to stdout. FILE - is standard input. The other "
                       "commands draw the same with --out x.svg.",
                       "FILE", NULL },
    [COMMAND_LEASE] = { .name = "lease",
                        .summary = "claim GPUs and run a command on them",
                        .text =
                            "lease --gpus N [options] -- COMMAND: claims "
                            "GPUs that nobody else holds a lease on, sets "
                            "CUDA_VISIBLE_DEVICES to their UUIDs for the "
                            "command alone, and ends with its exit code. A "
                            "process that the command leaves behind keeps "
                            "the lease as long as it has the descriptors that "
                            "it inherited. lease --list: who holds what.",
                        .rest = "-- COMMAND" },
    [COMMAND_DOCTOR] = { "doctor", "why something is missing or slow",
                         "Looks at driver, libraries, masks, devices, who else "
                         "uses them, links, container, scheduler, memory and "
                         "clocks; each finding with its remedy. Ends with 0 "
                         "whatever it finds. --test tries every device, "
                         "every pair and all together, each in a process of "
                         "its own with a deadline, within half a minute; ends "
                         "with 1 when something failed.",
                         NULL, NULL },
    [COMMAND_WATCH] = { "watch", "what the GPUs do, once a second",
                        "Use, memory, clocks and why they are low, link and "
                        "processes of each GPU, until Ctrl-C or --count; on a "
                        "terminal in place. -o jsonl: a line a GPU as it "
                        "comes. Without a GPU it says why and shows the host.",
                        NULL, NULL },
};

const char option_promise[] =
    "stdout carries the chosen format only; progress and warnings go to "
    "stderr.";
const struct option_note option_exits[] = {
    { "0", "ok" },
    { "1", "a check or threshold failed, or the total does not fit" },
    { "2", "the command line is wrong" },
    { "3", "no such device, library or file, or no permission" },
    { "4", "the work failed or is not supported here" },
    { "5", "a deadline passed" },
    { "130", "interrupted by SIGINT; what was done until then is reported" },
    { "126, 127", "lease: the command could not be started, or is not there" },
    { "the command's", "lease: once it has started; 128 and the signal's "
                       "number when it was killed" },
    { NULL, NULL },
};
const struct option_note option_values[] = {
    { "SPEC",
      "devices with their keys, joined by + or ;: host:0-1/threads=1/duty=50, "
      "sim:0/fixed=500us/item=10us/mem=8GiB/link=12GB, cuda:0, auto; or a "
      "machine's, simulated: @NAME, @./FILE. A wrong key or name is answered "
      "with all that there are" },
    { "TIME", "a number and ns, us, ms, s or m, as 300ms" },
    { "SIZE", "bytes, or a number and kB, MB, GB, KiB, MiB or GiB, as 4KiB" },
    { NULL, NULL },
};
const struct option_note option_environment[] = {
    { "HDP_DEVICES", "devices that `auto` stands for" },
    { "CUDA_VISIBLE_DEVICES",
      "which GPUs the process sees, and in which order" },
    { "CUDA_DEVICE_ORDER", "PCI_BUS_ID or FASTEST_FIRST" },
    { "HDP_LEASE_DIR", "lease: the folder of lock files" },
    { "HDP_LEASE_FDS", "a lease that was handed over; lease sets it" },
    { "SLURM_JOB_GPUS", "or SLURM_STEP_GPUS, KUBERNETES_SERVICE_HOST: a "
                        "scheduler gave the GPUs, so leases keep apart the "
                        "jobs of one user alone" },
    { NULL, NULL },
};

const struct options option_defaults = {
    .command = COMMAND_DEMO,
    .help_for = COMMAND_COUNT,
    .total = -1,
    .quantum = 0,
    .dtype = -1,
    .probe = -1,
    .steps = -1,
    .warmup = -1,
    .budget_ns = 0,
    .batches = -1,
    .begin_bytes = 8,
    .end_bytes = 32 << 20,
    .factor = 2,
    .iterations = 20,
    .verify = 1,
    .op = -1,
    .seed = 1,
    .gpus = -1,
    .count = -1,
    .kind = -1,
};

const struct option_row option_rows[] = {
    { RUNNING & ~C(DEMO) & ~C(DISCOVER) & ~C(WATCH), 'd', "devices", "SPEC",
      OPTION_SPEC, AT(spec), 0, 0, NULL, 0,
      "devices, joined when repeated: cuda:0, host:0-1/threads=1, "
      "sim:0/item=10us, @desk, auto (default)" },
    { EVERY, 'o', "format", "FORMAT", OPTION_CHOICE, AT(format), 0, 0,
      option_formats, 5,
      "what goes to stdout, also on failure: table (default), json (one "
      "document), jsonl (a line a row), csv (the main rows) or md" },
    { EVERY, 0, "out", "FILE", OPTION_OUT, AT(out), 0, 0, NULL, 0,
      "also write there, repeatable; the suffix decides: .json, .jsonl, "
      ".csv, .md, .txt or .svg (a picture: calibrate, split, run, reduce, "
      "plot); demo: the folder" },
    { C(PLOT), 0, "kind", "KIND", OPTION_CHOICE, AT(kind), 0, 0, plots, 5,
      "timeline (results, plans), rates (profile), scaling (split), busbw "
      "(reduce) or shares (run --adapt); default: by what the document "
      "holds" },

    { C(SPLIT), 'N', "total", "N", OPTION_INT, AT(total), 0, ANY, NULL, 0,
      "items of the batch, all devices together; must be given" },
    { C(RUN), 'N', "total", "N", OPTION_INT, AT(total), 1, ANY, NULL, 0,
      "items of the batch, all devices together (default 4096)" },
    { C(SPLIT), 0, "add", "SPEC", OPTION_SPEC, AT(add), 0, 0, NULL, 0,
      "would these devices help? compares with the plan that has them too" },
    { C(SPLIT), 0, "remove", "RANK", OPTION_REMOVE, AT(remove), 0, INT32_MAX,
      NULL, 0, "and without this rank; may repeat" },
    { PLANNING, 0, "quantum", "Q|auto", OPTION_QUANTUM, AT(quantum), 1, ANY,
      NULL, 0,
      "shares are multiples of Q (default 1); auto: of what each device's "
      "curve prefers" },
    { PLANNING, 0, "rule", "RULE", OPTION_RULE, AT(rules), 0, 0, NULL, 0,
      "finish, proportional, equal, single or manual=3/2; repeat or "
      "join by commas (default: split finish, run all but manual)" },
    { PLANNING, 0, "item-bytes", "SIZE", OPTION_SIZE, AT(item_bytes), 0, 0,
      NULL, 0, "device memory an item takes" },
    { PLANNING, 0, "fixed-bytes", "SIZE", OPTION_SIZE, AT(fixed_bytes), 0, 0,
      NULL, 0, "device memory a replica takes" },
    { PLANNING, 0, "keep-free-bytes", "SIZE", OPTION_SIZE, AT(keep_free_bytes),
      0, 0, NULL, 0, "device memory to leave alone" },
    { PLANNING, 0, "in-bytes", "SIZE", OPTION_SIZE, AT(in_bytes), 0, 0, NULL, 0,
      "bytes an item sends to its device" },
    { PLANNING, 0, "out-bytes", "SIZE", OPTION_SIZE, AT(out_bytes), 0, 0, NULL,
      0, "bytes an item sends back" },
    { PLANNING, 0, "reduce-bytes", "SIZE", OPTION_SIZE, AT(reduce_bytes), 0, 0,
      NULL, 0,
      "bytes reduced in a step; run reduces so many, mlp its gradients: the "
      "digits' 76840, those of --net with /train" },
    { PLANNING, 0, "overlap", NULL, OPTION_FLAG, AT(overlap), 0, 0, NULL, 0,
      "copies run under compute" },
    { PLANNING, 0, "bench-members", NULL, OPTION_FLAG, AT(bench_members), 0, 0,
      NULL, 0,
      "a device may be left out of the reduce as well; only planned yet" },

    { MEASURING, 0, "dtype", "TYPE", OPTION_CHOICE, AT(dtype), 0, 0,
      dtypes_of_products, 5,
      "of the library's probes: f32 (default), tf32, f16, bf16 or f64; works "
      "on GPUs alone take all but f64" },
    { C(REDUCE), 0, "dtype", "TYPE", OPTION_CHOICE, AT(dtype), 0, 0, dtypes, 9,
      "f32 (default), tf32, f16, bf16, f64, i32, i64, u8 or i8" },
    { MEASURING, 0, "probe", "PROBE", OPTION_CHOICE, AT(probe), 0, 0, probes, 6,
      "gemm (default), work (default of run; see --work), copy, link (host to "
      "device and back), launch, or all: curves from gemm, figures from the "
      "others" },
    { MEASURING, 0, "budget", "TIME", OPTION_DURATION, AT(budget_ns), 0, 0,
      NULL, 0, "time for measuring, 300ms by default" },
    { C(DEMO), 0, "budget", "TIME", OPTION_DURATION, AT(budget_ns), 0, 0, NULL,
      0, "time for one run of measured rounds (default 8s)" },
    { PLANNING | C(CALIBRATE), 0, "profile", "FILE", OPTION_FILE, AT(profile),
      0, 0, NULL, 0, "use this saved profile instead of measuring" },
    { MEASURING, 0, "cache", "FILE", OPTION_FILE, AT(cache), 0, 0, NULL, 0,
      "take what was measured of these devices before from there, else measure "
      "and keep it there; not for --probe work" },
    { MEASURING, 0, "save", "FILE", OPTION_FILE, AT(save), 0, 0, NULL, 0,
      "record the devices and this profile there, for --profile FILE and "
      "-d @./FILE" },
    { C(CALIBRATE), 0, "check", "FILE", OPTION_FILE, AT(compare), 0, 0, NULL, 0,
      "compare with this saved profile; exit 1 when a time, ratio or rate "
      "moved by more than 5 % beyond its spread" },
    { C(CALIBRATE), 0, "repeat", "N", OPTION_INT, AT(repeat), 2, 1000, NULL, 0,
      "measure N times and tell how far the ratios lie apart" },
    { C(CALIBRATE), 0, "reference", "TIME", OPTION_DURATION, AT(reference_ns),
      0, 0, NULL, 0,
      "with --repeat: at last measure so long, and tell how far each was from "
      "the mean of that" },
    { C(CALIBRATE), 0, "rest", "TIME", OPTION_DURATION, AT(rest_ns), 0, 0, NULL,
      0, "with --repeat: wait so long before each" },
    { C(DISCOVER), 0, "save", "FILE", OPTION_FILE, AT(save), 0, 0, NULL, 0,
      "record the devices there, for --machine; their speed is what "
      "calibrate --save adds" },
    { C(DISCOVER), 0, "mask", "TEXT", OPTION_TEXT, AT(mask), 0, 0, NULL, 0,
      "explain this CUDA_VISIBLE_DEVICES instead of the real one" },
    { C(DISCOVER), 0, "order", "TEXT", OPTION_TEXT, AT(order), 0, 0, NULL, 0,
      "explain under this CUDA_DEVICE_ORDER" },
    { C(DISCOVER), 0, "machine", "FILE|SPEC", OPTION_FILE, AT(machine), 0, 0,
      NULL, 0,
      "a described machine instead of this one: a file (with a '/' or ending "
      "in "
      ".json), @NAME or a device SPEC" },

    { MEASURING, 0, "work", "WORK", OPTION_CHOICE, AT(work), 0, 0, works, 5,
      "what run runs and --probe work measures: mlp (default), gemm, copy, "
      "mixed or empty" },
    { MEASURING, 0, "net", "LxW[/train]", OPTION_NET, AT(net), 0, 0, NULL, 0,
      "the mlp as L square layers of W x W in place of the digits: 4x8192; "
      "/train: backward and the reduce of all gradients as well" },
    { C(RUN), 0, "adapt", NULL, OPTION_FLAG, AT(adapt), 0, 0, NULL, 0,
      "steps by an executor that learns, instead of rules in turn: shares, "
      "re-splits and how soon the optimum is reached" },
    { C(RUN), 0, "slow", "DEV=Fx@STEP", OPTION_SLOW, AT(slows), 0, 0, NULL, 0,
      "with --adapt: from that step on (the first is 0) the member takes F "
      "times its time, 1x: as before; DEV is its number or the beginning of "
      "its spec, 0 or host:1; may repeat" },
    { C(RUN), 0, "dynamic", NULL, OPTION_FLAG, AT(dynamic), 0, 0, NULL, 0,
      "independent batches of random size, placed where they will end first, "
      "against taking turns: --steps of them (default 1000), of -N items at "
      "most (default 256)" },
    { C(RUN), 0, "steps", "N", OPTION_INT, AT(steps), 1, 1000000, NULL, 0,
      "measured rounds (default 20; empty: 20000 steps; --adapt: 100 after the "
      "last --slow, 200 without)" },
    { C(RUN), 0, "warmup", "N", OPTION_INT, AT(warmup), 0, 1000000, NULL, 0,
      "rounds before (default 3; --adapt: 0)" },
    { C(RUN) | C(REDUCE) | C(CALIBRATE) | C(SPLIT), 0, "threads",
      "member|caller", OPTION_CHOICE, AT(threads), 0, 0, threads, 2,
      "which thread calls a work function" },
    { C(SPLIT), 0, "bench", "N", OPTION_INT, AT(batches), 1, 1000000, NULL, 0,
      "time the split itself: N batches of 100" },
    { C(SPLIT), 0, "ranks", "N", OPTION_INT, AT(ranks), 1, 10000000, NULL, 0,
      "with --bench: also among N ranks like these, each a little different" },
    { C(DEMO), 0, "check", NULL, OPTION_FLAG, AT(strict), 0, 0, NULL, 0,
      "exit 1 also when finish is less than 1.25 x as fast as equal or reaches "
      "less than 0.90 of the optimum" },
    { C(SPLIT), 0, "check", NULL, OPTION_FLAG, AT(strict), 0, 0, NULL, 0,
      "with --bench: exit 1 when a split takes more than 2 us, one among "
      "--ranks more than 20 ns a rank, or a balancer's step of up to 1000 "
      "ranks more than 50 us" },
    { C(RUN), 0, "check", NULL, OPTION_FLAG, AT(strict), 0, 0, NULL, 0,
      "exit 1 also when finish reaches less than 0.90 of the optimum; --adapt: "
      "when a change takes more than 4 steps (real members: 10) or 3 re-splits "
      "to make good; --dynamic: when placing takes more than 1.03 of the least "
      "time (real: more than taking turns); empty: when a real step costs more "
      "than 2 us or 3 bare loops" },

    { C(REDUCE), 'b', "minbytes", "SIZE", OPTION_NCCL_SIZE, AT(begin_bytes), 0,
      0, NULL, 0, "first size; K, M, G are powers of 1024 (default 8)" },
    { C(REDUCE), 'e', "maxbytes", "SIZE", OPTION_NCCL_SIZE, AT(end_bytes), 0, 0,
      NULL, 0, "last size (default 32M)" },
    { C(REDUCE), 'f', "stepfactor", "N", OPTION_INT, AT(factor), 2, 1024, NULL,
      0, "next size is N times as large (default 2)" },
    { C(REDUCE), 'n', "iters", "N", OPTION_INT, AT(iterations), 1, 1000000,
      NULL, 0, "measured iterations (default 20)" },
    { C(REDUCE), 'w', "warmup_iters", "N", OPTION_INT, AT(warmup), 0, 1000000,
      NULL, 0, "iterations before (default 2)" },
    { C(REDUCE), 'c', "check", "0|1", OPTION_INT, AT(verify), 0, 1, NULL, 0,
      "check every element (default 1)" },
    { C(REDUCE), 0, "peer", NULL, OPTION_FLAG, AT(peer), 0, 0, NULL, 0,
      "first try the direct ways between the GPUs, and leave those on that "
      "work" },
    { C(REDUCE), 0, "op", "OP", OPTION_CHOICE, AT(op), 0, 0, ops, 5,
      "mean, sum (default), min, max, sum_over_total" },
    { C(REDUCE), 0, "weights", "W/W", OPTION_WEIGHTS, AT(weights), 0, 0, NULL,
      0, "items behind each member's mean, 3/1; implies --op mean" },

    { C(LEASE), 0, "gpus", "N", OPTION_INT, AT(gpus), 1, 4096, NULL, 0,
      "so many of the devices, whichever are free (default: all that -d "
      "names)" },
    { C(LEASE), 0, "wait", "TIME", OPTION_DURATION, AT(wait_ns), 0, 0, NULL, 0,
      "wait so long for them (default: not at all)" },
    { C(LEASE), 0, "policy", "POLICY", OPTION_CHOICE, AT(policy), 0, 0,
      policies, 4,
      "which of those that are free: first (default), fastest (by --profile), "
      "memory (most free) or idle (least used; needs NVML)" },
    { C(LEASE), 0, "profile", "FILE", OPTION_FILE, AT(profile), 0, 0, NULL, 0,
      "of --policy fastest: what calibrate --save wrote" },
    { C(LEASE), 0, "mask", "TEXT", OPTION_TEXT, AT(mask), 0, 0, NULL, 0,
      "claim within this mask, of a described machine; of real GPUs only those "
      "that CUDA_VISIBLE_DEVICES lets through are claimed anyway" },
    { C(LEASE), 0, "order", "TEXT", OPTION_TEXT, AT(order), 0, 0, NULL, 0,
      "under this CUDA_DEVICE_ORDER, likewise" },
    { C(LEASE), 0, "list", NULL, OPTION_FLAG, AT(list), 0, 0, NULL, 0,
      "say who holds which device since when; takes nothing" },
    { C(LEASE), 0, "directory", "DIR", OPTION_FILE, AT(directory), 0, 0, NULL,
      0, "the folder of lock files, in place of HDP_LEASE_DIR" },

    { C(DOCTOR), 0, "test", NULL, OPTION_FLAG, AT(test), 0, 0, NULL, 0,
      "try the devices of -d (default: every GPU): memory, kernel, products, "
      "checked copies, checked ways between each two, a checked reduce" },
    { C(DOCTOR), 0, "timeout", "TIME", OPTION_DURATION, AT(timeout_ns), 0, 0,
      NULL, 0, "with --test: deadline of one check (default 8s)" },
    /* what --test runs, and tells people to type */
    { C(DOCTOR), 0, "pair", NULL, OPTION_FLAG, AT(pair), 0, 0, NULL, 0,
      "only the direct way from the first device of -d to the second, and "
      "back" },
    { C(DOCTOR), 0, "root", "DIR", OPTION_FILE, AT(root), 0, 0, NULL, 0, NULL },
    { C(WATCH), 0, "count", "N", OPTION_INT, AT(count), 1, INT32_MAX, NULL, 0,
      "so many times (default: without end; json, csv and md: once)" },

    { C(RUN) | C(REDUCE) | C(DEMO), 0, "seed", "N", OPTION_INT, AT(seed), 0,
      ANY, NULL, 0, "of random data and weights (default 1)" },
    { RUNNING & ~C(DOCTOR) & ~C(WATCH), 0, "timeout", "TIME", OPTION_DURATION,
      AT(timeout_ns), 0, 0, NULL, 0, "deadline of a step (default 10m)" },
    { RUNNING, 0, "cublas", "FILE", OPTION_FILE, AT(cublas), 0, 0, NULL, 0,
      "load this cuBLAS instead of what the usual search finds" },
    { RUNNING, 0, "nvml", "FILE", OPTION_FILE, AT(nvml), 0, 0, NULL, 0,
      "likewise this NVML" },
    { RUNNING, 0, "nccl", "FILE", OPTION_FILE, AT(nccl), 0, 0, NULL, 0,
      "likewise this NCCL" },
    { EVERY, 0, "progress", "WHEN", OPTION_CHOICE, AT(progress), 0, 0,
      progresses, 4,
      "auto (on a terminal), always, never or jsonl; to stderr" },
    { EVERY, 0, "color", "WHEN", OPTION_CHOICE, AT(color), 0, 0, colors, 3,
      "auto (on a terminal), always or never" },
    { EVERY, 'q', "quiet", NULL, OPTION_FLAG, AT(quiet), 0, 0, NULL, 0,
      "no progress, no warnings on stderr" },
    { EVERY, 'v', "verbose", NULL, OPTION_FLAG, AT(verbose), 0, 0, NULL, 0,
      "the library's log on stderr; twice: all of it" },
    { EVERY, 0, "version", NULL, OPTION_VERSION, 0, 0, 0, NULL, 0,
      "print the version" },
    { EVERY, 'h', "help", NULL, OPTION_HELP, 0, 0, 0, NULL, 0,
      "print this text" },
    { EVERY, 0, "help-man", NULL, OPTION_MAN, 0, 0, 0, NULL, 0, NULL },
    { 0, 0, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL, 0, NULL },
};

const char *options_command_name(enum command command)
{
    return command < COMMAND_COUNT ? option_commands[command].name : "help";
}

const char *options_rule_name(int32_t rule)
{
    return rule >= 0 && rule <= HDP_RULE_MANUAL ? option_rules[rule] : "?";
}

const char *options_dtype_name(int32_t dtype)
{
    return dtype >= HDP_F32 && dtype <= HDP_I8 ? dtypes[dtype - 1] : "none";
}

const char *options_probe_name(int32_t probe)
{
    return probe >= 0 && probe <= HDP_PROBE_ALL ? probes[probe] : "?";
}

const char *options_work_name(int32_t work)
{
    return work >= 0 && work < 5 ? works[work] : "?";
}

const char *options_op_name(int32_t op)
{
    return op >= 0 && op <= HDP_OP_SUM_OVER_TOTAL ? ops[op] : "?";
}
