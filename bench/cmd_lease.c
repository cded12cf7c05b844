/* lease: GPUs for one command, or who holds which. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_lease.h"
#include "table.h"

static const char *scope_name(int32_t scope)
{
    static const char *const names[] = { "chosen", "system", "scheduled",
                                         "user" };

    return scope >= HDP_LEASE_CHOSEN && scope <= HDP_LEASE_USER
               ? names[scope - HDP_LEASE_CHOSEN]
               : "?";
}

static json_t *number_or_null(int64_t value, int known)
{
    return known ? json_integer(value) : json_null();
}

/* Where and for whom; the same of a lease and of a list. */
static void say_folder(json_t *json, const char *directory, int32_t scope,
                       const char *note)
{
    json_object_set_new(json, "directory", document_text_or_null(directory));
    json_object_set_new(json, "scope", json_string(scope_name(scope)));
    json_object_set_new(json, "note",
                        document_text_or_null(note[0] ? note : NULL));
}

static int is_simulated(const char *spec)
{
    return strncmp(spec, "sim:", 4) == 0;
}

/* ---- the list ------------------------------------------------------------ */

static const struct {
    const char *name, *words; /* by state, from HDP_LEASE_FREE */
} states[] = {
    { "free", "free" },          { "held", "held" },
    { "partly", "partly held" }, { "refused", "not trusted" },
    { "unknown", "not known" },
};

static size_t state_index(int32_t state)
{
    return state >= HDP_LEASE_FREE && state <= HDP_LEASE_UNKNOWN
               ? (size_t)(state - HDP_LEASE_FREE)
               : 4;
}

/* For people; the number where it has no name. */
static void name_user(char *out, size_t size, int64_t uid)
{
    const struct passwd *entry = uid < 0 ? NULL : getpwuid((uid_t)uid);

    if (uid < 0)
        snprintf(out, size, "%s", "");
    else if (entry)
        snprintf(out, size, "%s", entry->pw_name);
    else
        snprintf(out, size, "%lld", (long long)uid);
}

static json_t *entry_json(const hdp_lease_entry *entry)
{
    json_t *json = json_object();
    char user[64];

    name_user(user, sizeof user, entry->uid);
    json_object_set_new(json, "device", document_text_or_null(entry->spec));
    json_object_set_new(json, "uuid", document_text_or_null(entry->uuid));
    json_object_set_new(json, "state",
                        json_string(states[state_index(entry->state)].name));
    json_object_set_new(json, "pid",
                        number_or_null(entry->pid, entry->pid > 0));
    json_object_set_new(json, "uid",
                        number_or_null(entry->uid, entry->uid >= 0));
    json_object_set_new(json, "user",
                        document_text_or_null(user[0] ? user : NULL));
    json_object_set_new(
        json, "since",
        document_text_or_null(entry->since[0] ? entry->since : NULL));
    json_object_set_new(
        json, "command",
        document_text_or_null(entry->command[0] ? entry->command : NULL));
    json_object_set_new(json, "other_container",
                        json_boolean(entry->elsewhere));
    json_object_set_new(json, "process_ended", json_boolean(entry->gone));
    json_object_set_new(json, "file", document_text_or_null(entry->file));
    json_object_set_new(
        json, "reason",
        document_text_or_null(entry->reason[0] ? entry->reason : NULL));
    json_object_set_new(json, "simulated",
                        json_boolean(is_simulated(entry->spec)));
    return json;
}

static void entry_cells(struct table *table, const hdp_lease_entry *entry)
{
    char user[64];

    name_user(user, sizeof user, entry->uid);
    table_cell(table, "%.60s", entry->spec);
    table_cell(table, "%s", entry->uuid);
    table_cell(table, "%s", states[state_index(entry->state)].words);
    if (entry->pid > 0)
        table_cell(table, "%d", (int)entry->pid);
    else
        table_cell(table, "-");
    table_cell(table, "%.32s", user[0] ? user : "-");
    table_cell(table, "%s", entry->since[0] ? entry->since : "-");
    table_cell(table, "%.70s",
               entry->reason[0]    ? entry->reason
               : entry->elsewhere  ? "in another container"
               : entry->gone       ? "ended; what it started holds on"
               : entry->command[0] ? entry->command
                                   : "");
}

static int show_entries(struct bench *bench, const hdp_lease_list *list,
                        int32_t count)
{
    static const char *const titles[] = { "device",  "uuid", "state",
                                          "process", "user", "since",
                                          "command", NULL };
    json_t *rows = json_array();
    struct table table;
    int code = EXIT_OK;

    table_open(&table, "lllrlll", titles);
    for (int32_t i = 0; !code && i < count; ++i) {
        hdp_lease_entry entry;
        hdp_options_init(&entry, sizeof entry);
        code = library_try(bench, hdp_lease_list_entry(&entry, list, i));
        if (code)
            break;
        json_array_append_new(rows, entry_json(&entry));
        entry_cells(&table, &entry);
    }
    table_close(&table, bench->document.text);
    document_set(&bench->document, "leases", rows);
    return code;
}

static int list_leases(struct bench *bench, const char *spec,
                       const hdp_lease_options *options)
{
    hdp_lease_list *list = NULL;
    hdp_lease_list_info info;
    json_t *folder = json_object();

    hdp_options_init(&info, sizeof info);
    int code = library_try(
        bench, hdp_lease_list_create(&list, bench->context, spec, options));
    if (!code)
        code = library_try(bench, hdp_lease_list_get(&info, list));
    if (!code) {
        say_folder(folder, info.directory, info.scope, info.note);
        json_object_set_new(folder, "free", json_integer(info.free_count));
        json_object_set_new(folder, "devices", json_integer(info.device_count));
        document_set(&bench->document, "folder", json_incref(folder));
        fprintf(bench->document.text,
                "# hdp_bench %s lease --list\n# folder %s%s%s\n\n",
                hdp_version(), info.directory, info.note[0] ? "; " : "",
                info.note);
        code = show_entries(bench, list, info.device_count);
    }
    json_decref(folder);
    hdp_lease_list_destroy(list);
    return code;
}

/* ---- the command --------------------------------------------------------- */

/* A claim that has to wait says what for; then it waits. */
static int claim(struct bench *bench, hdp_lease **out, const char *spec,
                 hdp_lease_options *options)
{
    hdp_status status;

    options->timeout_ns = 0;
    status = hdp_lease_acquire(out, bench->context, spec, options);
    if (status == HDP_ERR_BUSY && bench->options.wait_ns > 0) {
        notes_line(&bench->notes, "waiting", hdp_last_error());
        options->timeout_ns = bench->options.wait_ns;
        status = hdp_lease_acquire(out, bench->context, spec, options);
    }
    int code = library_try(bench, status);
    if (status == HDP_ERR_BUSY) /* no such device, for now */
        code = bench->failure.exit_code = EXIT_ENVIRONMENT;
    return code;
}

/* As hdp_lease_hand_over() takes its lease, not const. */
static hdp_status mask_of(hdp_lease *lease, char *text, size_t capacity,
                          size_t *needed)
{
    return hdp_lease_mask(lease, text, capacity, needed);
}

/* One of the lease's texts; the caller frees it. */
static int take_text(struct bench *bench, char **out, hdp_lease *lease,
                     hdp_status (*ask)(hdp_lease *, char *, size_t, size_t *))
{
    size_t needed = 0;
    int code = library_try(bench, ask(lease, NULL, 0, &needed));

    if (code)
        return code;
    *out = malloc(needed);
    if (!*out)
        return library_no_memory(bench);
    return library_try(bench, ask(lease, *out, needed, NULL));
}

static int prepare(struct bench *bench, struct job *job, hdp_lease *lease,
                   const hdp_lease_info *info)
{
    int code = take_text(bench, &job->mask, lease, mask_of);

    if (!code)
        code = take_text(bench, &job->fds, lease, hdp_lease_hand_over);
    job->words = bench->options.job;
    job->lease = lease;
    job->directory = info->directory;
    job->descriptors =
        calloc((size_t)info->descriptor_count, sizeof *job->descriptors);
    if (!code && !job->descriptors)
        return library_no_memory(bench);
    for (int32_t i = 0; !code && i < info->descriptor_count; ++i) {
        code = library_try(
            bench, hdp_lease_descriptor(&job->descriptors[i], lease, i));
        job->descriptor_count = i + 1;
    }
    return code;
}

/* Every device of the lease, and whether any is only a model of one. */
static json_t *devices_json(const hdp_lease *lease, int32_t count,
                            int *simulated)
{
    json_t *list = json_array();

    *simulated = 0;
    for (int32_t i = 0; i < count; ++i) {
        hdp_lease_device_info device;
        hdp_options_init(&device, sizeof device);
        if (hdp_lease_device(&device, lease, i) != HDP_OK)
            continue;
        json_t *json = json_object();
        json_object_set_new(json, "spec", document_text_or_null(device.spec));
        json_object_set_new(json, "uuid", document_text_or_null(device.uuid));
        json_object_set_new(json, "file", document_text_or_null(device.file));
        json_object_set_new(json, "shared", json_boolean(device.shared));
        json_object_set_new(json, "simulated",
                            json_boolean(is_simulated(device.spec)));
        *simulated |= is_simulated(device.spec);
        json_array_append_new(list, json);
    }
    return list;
}

static void say_lease(struct bench *bench, const hdp_lease_info *info,
                      const struct job *job, int simulated)
{
    json_t *json = json_object();
    int started = job->pid > 0;

    say_folder(json, info->directory, info->scope, info->note);
    json_object_set_new(json, "waited_ns", json_integer(info->waited_ns));
    json_object_set_new(json, "mask", document_text_or_null(job->mask));
    json_object_set_new(json, "job_pid", number_or_null(job->pid, started));
    json_object_set_new(json, "job_exit_code",
                        number_or_null(job->code, started && !job->signal));
    json_object_set_new(json, "job_signal",
                        number_or_null(job->signal, started && job->signal));
    json_object_set_new(json, "simulated", json_boolean(simulated));
    document_set(&bench->document, "lease", json);
}

static int run_job(struct bench *bench, const char *spec,
                   hdp_lease_options *options)
{
    hdp_lease *lease = NULL;
    hdp_lease_info info;
    struct job job = { 0 };
    int simulated = 0;
    int code = claim(bench, &lease, spec, options);

    hdp_options_init(&info, sizeof info);
    if (!code)
        code = library_try(bench, hdp_lease_get(&info, lease));
    if (!code)
        code = prepare(bench, &job, lease, &info);
    if (!code) {
        document_set(&bench->document, "devices",
                     devices_json(lease, info.device_count, &simulated));
        if (simulated)
            document_warn(&bench->document, "simulated",
                          "simulated devices: CUDA knows none of %.200s",
                          job.mask);
        code = job_run(bench, &job);
        say_lease(bench, &info, &job, simulated);
        bench->job_code = job.code;
    }
    hdp_lease_destroy(lease);
    free(job.mask);
    free(job.fds);
    free(job.descriptors);
    return code;
}

/* ---- the door ------------------------------------------------------------ */

static int check_options(struct bench *bench)
{
    const struct options *options = &bench->options;
    struct failure *failure = &bench->failure;

    if (options->list && options->job)
        return failure_usage(failure, "--list", 0,
                             "--list runs no command; leave one of the two "
                             "out");
    if (options->list)
        return EXIT_OK;
    if (!options->job || !options->job[0])
        return failure_usage(failure, NULL, 0,
                             "lease needs a command after --, or --list: "
                             "hdp_bench lease --gpus 1 -- COMMAND");
    if (options->gpus < 0 && !options->spec[0])
        return failure_usage(failure, "--gpus", 0,
                             "lease needs --gpus N, or -d with the devices to "
                             "take; nobody means all of them by accident");
    if (options->format != FORMAT_TABLE)
        return failure_usage(failure, "-o", 0,
                             "-o: stdout is the command's; --out FILE takes "
                             "the document");
    return EXIT_OK;
}

int command_lease(struct bench *bench)
{
    const struct options *given = &bench->options;
    const char *spec = given->spec[0] ? given->spec : NULL;
    hdp_lease_options options;
    hdp_profile *profile = NULL;
    int code = check_options(bench);

    hdp_options_init(&options, sizeof options);
    options.directory = given->directory;
    options.mask = given->mask;
    options.order = given->order;
    options.count = given->gpus > 0 ? (int32_t)given->gpus : 0;
    options.policy = given->policy;
    if (!code && given->policy == HDP_LEASE_FASTEST && !given->profile)
        code = failure_usage(&bench->failure, "--policy", 0,
                             "--policy fastest needs --profile FILE, as "
                             "hdp_bench calibrate --save writes one");
    if (!code && given->profile)
        code = library_try(bench, hdp_profile_load(&profile, given->profile));
    options.profile = profile;
    if (!code)
        code = given->list ? list_leases(bench, spec, &options)
                           : run_job(bench, spec, &options);
    hdp_profile_destroy(profile);
    return code;
}
