/* The checks are the program's own commands at their smallest, so whoever
 * types the line sees what the doctor saw. */
#include "doctor_check.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *name, *words; /* of the command, behind the devices */
    const char *command;
} kinds[CHECK_KINDS] = {
    { "memory", "-b 1M -e 1M -n 1 -w 0", "reduce" },
    { "kernel", "--probe launch --budget 20ms", "calibrate" },
    { "products", "--work gemm -N 64 --steps 1 --warmup 0 --rule equal",
      "run" },
    { "copies", "--work copy -N 64 --steps 1 --warmup 0 --rule equal", "run" },
    { "ways", "--pair", "doctor" },
    { "staged", "-b 64K -e 64K -n 1 -w 0", "reduce" },
    { "reduce", "-b 64K -e 1M -f 16 -n 1 -w 0", "reduce" },
    { "reduce_peer", "-b 64K -e 1M -f 16 -n 1 -w 0 --peer", "reduce" },
};

const char *check_name(enum check_kind kind)
{
    return kinds[kind].name;
}

struct words {
    struct check *check;
    size_t used;
    int count;
};

static void add(struct words *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct words *self, const char *format, ...)
{
    size_t room = CHECK_LINE_MAX - self->used;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(self->check->text + self->used, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room ||
        self->count == CHECK_WORDS_MAX - 1)
        return;
    self->check->words[self->count++] = self->check->text + self->used;
    self->used += (size_t)length + 1;
}

static void add_all(struct words *self, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " ");
        add(self, "%.*s", (int)length, text);
        text += length + (text[length] == ' ');
    }
}

/* What a copy of the line is told besides changes nothing in what it does. */
void check_prepare(struct check *check, const struct bench *bench,
                   const char *spec, int64_t timeout_ns)
{
    const struct options *options = &bench->options;
    struct words words = { check, 0, 0 };
    size_t used = 0;

    add(&words, "hdp_bench");
    add(&words, "%s", kinds[check->kind].command);
    add(&words, "-d");
    add(&words, "%s", spec);
    add_all(&words, kinds[check->kind].words);
    if (options->cublas)
        add(&words, "--cublas=%s", options->cublas);
    if (options->nvml)
        add(&words, "--nvml=%s", options->nvml);
    for (int i = 0; i < words.count; ++i)
        used += (size_t)snprintf(check->line + used, CHECK_LINE_MAX - used,
                                 "%s%s", i ? " " : "", check->words[i]);
    add(&words, "--timeout");
    add(&words, "%lldms", (long long)(timeout_ns / 1000000));
    add_all(&words, "--progress never -q -o json");
    check->words[words.count] = NULL;
}

static void blame(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void blame(struct check *check, const char *format, ...)
{
    va_list args;

    check->state = CHECK_FAILED;
    va_start(args, format);
    vsnprintf(check->cause, sizeof check->cause, format, args);
    va_end(args);
}

/* Its own words, where it came so far: also of one that hung at its end. */
static int blame_by_reply(struct check *check)
{
    const json_t *error = json_object_get(check->reply, "error");
    const char *text = document_text(error, "text");

    if (!*text)
        return 0;
    check->vendor_code = (int)document_number(error, "vendor_code");
    blame(check, "%s", text);
    return 1;
}

void check_judge(struct check *check)
{
    const struct child *child = &check->child;
    double seconds = (double)(child->ended_ns - child->started_ns) / 1e9;

    check->reply = child->text ? json_loads(child->text, 0, NULL) : NULL;
    if (child->end == CHILD_EXITED && child->code == EXIT_OK) {
        check->state = CHECK_OK;
        return;
    }
    if (blame_by_reply(check))
        return;
    if (child->end == CHILD_LATE)
        blame(check, "has not ended in %.0f s and was killed", seconds);
    else if (child->end == CHILD_KILLED)
        blame(check, "ended by signal %d (%s)", child->code,
              strsignal(child->code));
    else if (child->end == CHILD_UNBORN)
        blame(check, "could not be started: %s", strerror(child->code));
    else
        blame(check, "exit code %d, and not a word", child->code);
}

void check_drop(struct check *check)
{
    child_drop(&check->child);
    json_decref(check->reply);
    check->reply = NULL;
}
