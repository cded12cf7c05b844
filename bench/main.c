/* hdp_bench: the library's verbs on the command line. Reads the options, runs
 * one command, hands out one document. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "interrupt.h"
#include "plot.h"
#include "work/workimage.h"

/* A closed descriptor would be given to the next file that is opened, and
 * messages would end up inside it. */
static void keep_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int null = open("/dev/null", fd ? O_WRONLY : O_RDONLY);
            if (null >= 0 && null != fd) {
                dup2(null, fd);
                close(null);
            }
        }
}

static int run_command(struct bench *bench)
{
    static int (*const commands[COMMAND_COUNT])(struct bench *) = {
        [COMMAND_DEMO] = command_demo,
        [COMMAND_DISCOVER] = command_discover,
        [COMMAND_CALIBRATE] = command_calibrate,
        [COMMAND_SPLIT] = command_split,
        [COMMAND_RUN] = command_run,
        [COMMAND_REDUCE] = command_reduce,
        [COMMAND_LEASE] = command_lease,
        [COMMAND_PLOT] = command_plot,
        [COMMAND_DOCTOR] = command_doctor,
        [COMMAND_WATCH] = command_watch,
    };
    int code = library_open(bench);

    if (!code)
        code = commands[bench->options.command](bench);
    if (interrupt_leave())
        code = failure_interrupted(&bench->failure);
    library_close(bench);
    return code;
}

static void put_started(struct document *document)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        document_set(document, "started", json_string(text));
}

/* Only the known names, and no host name. */
static void put_environment(struct document *document)
{
    static const char *const names[] = {
        "HDP_DEVICES",      "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
        "NCCL_P2P_DISABLE", "NCCL_DEBUG",           "HDP_LEASE_DIR",
        "HDP_LEASE_FDS",
    };
    json_t *json = json_object();

    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const char *value = getenv(names[i]);
        if (value)
            json_object_set_new(json, names[i], document_text_or_null(value));
    }
    document_set(document, "environment", json);
}

static int has_picture(const struct options *options)
{
    enum command command = options->command;

    if (command == COMMAND_RUN)
        return options->work != WORK_EMPTY;
    return command == COMMAND_CALIBRATE || command == COMMAND_SPLIT ||
           command == COMMAND_REDUCE || command == COMMAND_PLOT;
}

/* Refused before hours of measuring, not after. demo's --out is a folder. */
static int open_files(struct bench *bench)
{
    const struct options *options = &bench->options;

    if (options->command == COMMAND_DEMO && options->out_count > 1)
        return failure_usage(&bench->failure, "--out", 0,
                             "--out: demo writes into one folder");
    if (options->command == COMMAND_DEMO)
        return EXIT_OK;
    for (int i = 0; i < options->out_count; ++i)
        if (outfile_format(options->out[i]) < 0)
            return failure_usage(&bench->failure, "--out", 0,
                                 "--out '%.64s': ends in none of .json, "
                                 ".jsonl, .csv, .md, .txt and .svg",
                                 options->out[i]);
    for (int i = 0; i < options->out_count; ++i)
        if (outfile_format(options->out[i]) == FORMAT_SVG &&
            !has_picture(options))
            return failure_usage(
                &bench->failure, "--out", 0,
                "--out '%.64s': %s%s has no picture; "
                "calibrate, split, run of a work and reduce "
                "have one",
                options->out[i], options_command_name(options->command),
                options->command == COMMAND_RUN ? " --work empty" : "");
    for (int i = 0; i < options->out_count; ++i)
        if (options->save && outfile_same(options->save, options->out[i]))
            return failure_usage(&bench->failure, "--out", 0,
                                 "--out '%.64s': is the file of --save",
                                 options->out[i]);
    for (int i = 0; i < options->out_count; ++i)
        if (!outfile_open(&bench->out[i], options->out[i]))
            return failure_own(&bench->failure, EXIT_ENVIRONMENT,
                               HDP_ERR_SYSTEM, "--out %.128s: %s",
                               options->out[i], strerror(errno));
    return EXIT_OK;
}

/* The picture, or a word why there is none in what was done. */
static int draw_file(struct bench *bench, FILE *out, char *reason, size_t size)
{
    json_t *root = bench->pictured ? bench->pictured : bench->document.root;
    struct failure failure = { 0 };
    const char *name = options_command_name(bench->options.command);
    int32_t kind = bench->options.kind;

    if (plot_draw(out, root, kind, name, &failure) == EXIT_OK)
        return fflush(out) == 0;
    snprintf(reason, size, "%s", failure.error.text);
    return 0;
}

static int write_form(struct bench *bench, FILE *out, int32_t format,
                      char *reason, size_t size)
{
    if (format == FORMAT_SVG)
        return draw_file(bench, out, reason, size);
    return document_write(&bench->document, format, out);
}

/* A failure; beside an earlier one, which wins, at least a warning. */
static void write_file(struct bench *bench, struct outfile *out,
                       const char *path)
{
    char reason[512] = "";

    if (out->file &&
        write_form(bench, out->file, outfile_format(path), reason,
                   sizeof reason) &&
        outfile_commit(out))
        return;
    if (!reason[0])
        snprintf(reason, sizeof reason, "%s", strerror(errno));
    if (bench->failure.exit_code)
        document_warn(&bench->document, "not_written", "%.128s: %s", path,
                      reason);
    failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM, "%.128s: %s",
                path, reason);
    outfile_drop(out);
}

static void write_files(struct bench *bench)
{
    struct outfile demo = { 0 };

    if (bench->json_path[0]) {
        outfile_open(&demo, bench->json_path);
        write_file(bench, &demo, bench->json_path);
    }
    if (bench->options.command == COMMAND_DEMO)
        return;
    for (int i = 0; i < bench->options.out_count; ++i)
        write_file(bench, &bench->out[i], bench->options.out[i]);
}

static void say_failure(struct bench *bench, int32_t format)
{
    const struct failure *failure = &bench->failure;

    /* A table's stdout does not say it. */
    if (format != FORMAT_TABLE && bench->options.quiet)
        return;
    notes_error(&bench->notes, failure->error.text);
}

/* Hands out the document; a failure to write it is a failure too. */
static int deliver(struct bench *bench, int32_t format)
{
    int had_failed = bench->failure.exit_code;

    if (had_failed)
        say_failure(bench, format);
    document_finish(&bench->document, &bench->failure);
    if (had_failed == EXIT_OK || had_failed == EXIT_CHECK ||
        had_failed == EXIT_INTERRUPTED)
        write_files(bench);
    document_end(&bench->document, &bench->failure); /* a file may lack */
    if (!document_write(&bench->document, format, stdout))
        failure_own(&bench->failure, EXIT_ENVIRONMENT, HDP_ERR_SYSTEM,
                    "stdout: %s", strerror(errno));
    if (bench->failure.exit_code && !had_failed)
        say_failure(bench, format);
    return bench->failure.exit_code;
}

static int answer_question(const struct options *options)
{
    if (options->command == COMMAND_HELP)
        options_help(stdout, options->help_for);
    else if (options->command == COMMAND_MAN)
        options_man(stdout);
    else
        printf("hdp_bench %s\n", hdp_version());
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_ENVIRONMENT;
}

int main(int argc, char **argv)
{
    static struct bench bench; /* large, and zero from the start */

    keep_standard_descriptors();
    bench.image.data = hdpw_image_data;
    bench.image.bytes = hdpw_image_bytes;
    /* A closed pipe is a failed write. */
    bench.pipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    options_read(&bench.options, argc, argv, &bench.failure);
    int32_t format = bench.failure.exit_code ? options_wanted_format(argc, argv)
                                             : bench.options.format;
    if (!bench.failure.exit_code && bench.options.command > COMMAND_COUNT)
        return answer_question(&bench.options);

    notes_open(&bench.notes, &bench.options);
    if (!document_open(&bench.document,
                       bench.options.unknown
                           ? bench.options.unknown
                           : options_command_name(bench.options.command),
                       &bench.notes)) {
        fputs("hdp_bench: out of memory\n", stderr);
        return EXIT_RUNTIME;
    }
    put_started(&bench.document);
    put_environment(&bench.document);
    if (!bench.failure.exit_code && !open_files(&bench)) {
        if (bench.options.command != COMMAND_LEASE) /* it forwards them */
            interrupt_open();
        run_command(&bench);
    }
    int code = deliver(&bench, format);
    for (int i = 0; i < OPTIONS_OUT_MAX; ++i) /* of a run that failed */
        outfile_drop(&bench.out[i]);
    json_decref(bench.pictured);
    document_close(&bench.document);
    notes_close(&bench.notes);
    return bench.job_code ? bench.job_code : code;
}
