/* One thing that doctor --test tries in a child of this program: its command
 * line, which is also what people type to see it again, and how it ended. */
#ifndef BENCH_DOCTOR_CHECK_H
#define BENCH_DOCTOR_CHECK_H
#include "child.h"
#include "doctor.h"

enum check_kind {
    CHECK_MEMORY,
    CHECK_KERNEL,
    CHECK_PRODUCTS,
    CHECK_COPIES,
    CHECK_WAYS,
    CHECK_STAGED,
    CHECK_REDUCE,
    CHECK_REDUCE_PEER,
    CHECK_KINDS
};

enum check_state { CHECK_WAITS, CHECK_OK, CHECK_FAILED, CHECK_SKIPPED };

enum { CHECK_WORDS_MAX = 40, CHECK_LINE_MAX = 2048, CHECK_CAUSE_MAX = 400 };

struct check {
    enum check_kind kind;
    int first, second; /* devices; second -1: one alone; first -1: all */
    enum check_state state;
    char line[CHECK_LINE_MAX]; /* for people */
    char text[CHECK_LINE_MAX]; /* the child's words, one NUL behind each */
    char *words[CHECK_WORDS_MAX];
    struct child child;
    json_t *reply; /* its document; NULL: none */
    char cause[CHECK_CAUSE_MAX];
    int vendor_code;
    int told; /* its failure stands in a finding */
};

/** "memory", "kernel", ...: for programs, and what it is about for people. */
const char *check_name(enum check_kind kind);

/** Writes the command line; spec: the devices joined by '+'. */
void check_prepare(struct check *check, const struct bench *bench,
                   const char *spec, int64_t timeout_ns);

/** Makes a state and a cause of how the child ended. */
void check_judge(struct check *check);

/** Gives memory back; a child that still runs is killed. */
void check_drop(struct check *check);

/* All of them, and the devices that they are of. */
struct checks {
    char (*specs)[64];
    int devices;
    struct check *all;
    int count;
};

/** Sections `tests` and `matrix`, a finding for each cause, the matrix for
 *  people (doctor_report.c). EXIT_CHECK when something failed. */
int check_report(struct doctor *doctor, const struct checks *checks);
#endif
