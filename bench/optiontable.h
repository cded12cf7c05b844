/* The rows that options.c reads and options_help() prints. */
#ifndef BENCH_OPTIONTABLE_H
#define BENCH_OPTIONTABLE_H
#include <stddef.h>

#include "options.h"

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_FILE, /* a text, not empty */
    OPTION_INT,
    OPTION_QUANTUM, /* an integer or auto */
    OPTION_SIZE,
    OPTION_NCCL_SIZE,
    OPTION_DURATION,
    OPTION_CHOICE,
    OPTION_SPEC,
    OPTION_REMOVE,
    OPTION_SLOW,
    OPTION_NET,
    OPTION_RULE,
    OPTION_WEIGHTS,
    OPTION_OUT,
    OPTION_HELP,
    OPTION_MAN,
    OPTION_VERSION
};

struct option_row {
    unsigned commands; /* bit 1 << COMMAND_* */
    char letter;       /* 0: none */
    const char *name;
    const char *argument; /* NULL: a flag */
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    int64_t min, max;
    const char *const *choices;
    int usable;       /* choices after that many come in a later version */
    const char *help; /* NULL: in no help text */
};

struct option_command {
    const char *name, *summary, *text;
    const char *operand; /* a word that is no option; NULL: none */
    const char *rest;    /* what ends the options; NULL: nothing does */
};

/* A name and what it means; lists end with name NULL. */
struct option_note {
    const char *name, *text;
};

extern const struct option_note option_exits[];
extern const struct option_note option_values[]; /* by option_row.argument */
extern const struct option_note option_environment[];
extern const char option_promise[];           /* what stdout carries */
extern const struct option_row option_rows[]; /* ends with name NULL */
extern const struct option_command option_commands[COMMAND_COUNT];
extern const char *const option_rules[];   /* by HDP_RULE_* */
extern const char *const option_formats[]; /* by FORMAT_* */
extern const struct options option_defaults;
#endif
