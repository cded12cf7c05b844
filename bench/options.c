/* The command line: rows of one table, a reader that walks it and a help text
 * printed from it, so that the three cannot differ. */
#include "options.h"

#include <stddef.h>
#include <string.h>

#include "nets.h"
#include "optiontable.h"
#include "parse.h"
#include "work/work.h"

static const struct option_row *find_long(const char *name, size_t length,
                                          enum command command, int *elsewhere)
{
    for (const struct option_row *row = option_rows; row->name; ++row) {
        if (strlen(row->name) != length || strncmp(row->name, name, length))
            continue;
        if (row->commands & 1u << command)
            return row;
        *elsewhere = 1;
    }
    return NULL;
}

static const struct option_row *find_letter(char letter, enum command command,
                                            int *elsewhere)
{
    for (const struct option_row *row = option_rows; row->name; ++row) {
        if (row->letter != letter)
            continue;
        if (row->commands & 1u << command)
            return row;
        *elsewhere = 1;
    }
    return NULL;
}

static int refuse_value(const char *option, const char *value,
                        const struct parse_error *error,
                        struct failure *failure)
{
    if (error->position > 0)
        return failure_usage(failure, option, error->position,
                             "%s '%.64s': character %d: %s", option, value,
                             error->position, error->text);
    return failure_usage(failure, option, 0, "%s '%.64s': %s", option, value,
                         error->text);
}

/* Joined to what `spec` holds, of OPTIONS_SPEC_MAX characters. */
static int add_spec(char *spec, const char *option, const char *value,
                    struct failure *failure)
{
    size_t used = strlen(spec), length = strlen(value);

    if (!length)
        return failure_usage(failure, option, 1, "%s '': no device named",
                             option);
    if (used && (spec[0] == '@' || value[0] == '@'))
        return failure_usage(failure, option, 0,
                             "%s '%.64s' beside '%.64s': a machine stands "
                             "alone; split --add SPEC joins devices to it, "
                             "--add @NAME a machine to devices",
                             option, value, spec);
    if (used + length + 2 > OPTIONS_SPEC_MAX)
        return failure_usage(failure, option, 0,
                             "%s: longer than %d characters", option,
                             OPTIONS_SPEC_MAX - 2);
    if (used)
        spec[used++] = '+';
    memcpy(spec + used, value, length + 1);
    return EXIT_OK;
}

/* finish, equal ... or manual=3/2; several in one value by commas. */
static int add_rule(struct options *out, const char *option, const char *value,
                    struct failure *failure)
{
    const char *p = value;

    for (;;) {
        size_t length = strcspn(p, ",="), rule = 0;
        int position = (int)(p - value) + 1;
        while (option_rules[rule] && (strlen(option_rules[rule]) != length ||
                                      strncmp(option_rules[rule], p, length)))
            ++rule;
        if (!option_rules[rule])
            return failure_usage(failure, option, position,
                                 "%s '%.64s': character %d: unknown rule; "
                                 "finish, proportional, equal, single or "
                                 "manual=3/2",
                                 option, value, position);
        if (out->rule_count == OPTIONS_RULES_MAX)
            return failure_usage(failure, option, position,
                                 "%s: more than %d rules", option,
                                 OPTIONS_RULES_MAX);
        out->rules[out->rule_count++] = (int32_t)rule;
        p += length;
        if ((rule == HDP_RULE_MANUAL) != (*p == '='))
            return failure_usage(failure, option, (int)(p - value) + 1,
                                 "%s '%.64s': character %d: %s", option, value,
                                 (int)(p - value) + 1,
                                 rule == HDP_RULE_MANUAL
                                     ? "manual needs ratios, manual=3/2"
                                     : "only manual takes ratios");
        if (*p == '=') { /* ratios reach to the end of the value */
            struct parse_error error;
            if (!parse_ratios(p + 1, out->ratios, OPTIONS_RATIOS_MAX,
                              &out->ratio_count, &error)) {
                if (error.position)
                    error.position += (int)(p + 1 - value);
                return refuse_value(option, value, &error, failure);
            }
            return EXIT_OK;
        }
        if (!*p)
            return EXIT_OK;
        ++p;
    }
}

static int store_choice(const struct option_row *row, const char *option,
                        const char *value, int32_t *out,
                        struct failure *failure)
{
    char list[160];
    size_t used = 0;
    int index = parse_choice(value, row->choices);

    if (index >= 0 && index < row->usable) {
        *out = index;
        return EXIT_OK;
    }
    if (index >= 0)
        return failure_usage(failure, option, 0,
                             "%s %s: not in this version yet", option, value);
    for (int i = 0; i < row->usable && row->choices[i]; ++i)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i ? ", " : "", row->choices[i]);
    return failure_usage(failure, option, 1, "%s '%.64s': expected %s", option,
                         value, list);
}

static int no_file(const char *option, struct failure *failure)
{
    return failure_usage(failure, option, 1, "%s '': no file named", option);
}

static int add_out(struct options *out, const char *option, const char *value,
                   struct failure *failure)
{
    if (!*value)
        return no_file(option, failure);
    if (out->out_count == OPTIONS_OUT_MAX)
        return failure_usage(failure, option, 0, "%s: more than %d files",
                             option, OPTIONS_OUT_MAX);
    out->out[out->out_count++] = value;
    return EXIT_OK;
}

static int add_remove(struct options *out, const char *option,
                      const char *value, const struct option_row *row,
                      struct failure *failure)
{
    struct parse_error error;
    int64_t rank = 0;

    if (!parse_int(value, row->min, row->max, &rank, &error))
        return refuse_value(option, value, &error, failure);
    if (out->remove_count == OPTIONS_REMOVE_MAX)
        return failure_usage(failure, option, 0, "%s: more than %d ranks",
                             option, OPTIONS_REMOVE_MAX);
    for (int i = 0; i < out->remove_count; ++i)
        if (out->remove[i] == rank)
            return failure_usage(failure, option, 0, "%s %lld: given twice",
                                 option, (long long)rank);
    out->remove[out->remove_count++] = rank;
    return EXIT_OK;
}

static int add_slow(struct options *out, const char *option, const char *value,
                    struct failure *failure)
{
    struct parse_error error = { 0, "" };

    if (out->slow_count == SLOWS_MAX)
        return failure_usage(failure, option, 0, "%s: more than %d changes",
                             option, SLOWS_MAX);
    if (!slows_read(value, &out->slows[out->slow_count], &error))
        return refuse_value(option, value, &error, failure);
    out->slow_count++;
    return EXIT_OK;
}

static int add_net(struct options *out, const char *option, const char *value,
                   struct failure *failure)
{
    struct parse_error error = { 0, "" };

    return nets_read(value, &out->net, &error)
               ? EXIT_OK
               : refuse_value(option, value, &error, failure);
}

/* The kinds whose value is one number, or a list of them. */
static int store_number(struct options *out, const struct option_row *row,
                        const char *option, const char *value,
                        struct failure *failure)
{
    void *field = (char *)out + row->offset;
    struct parse_error error = { 0, "" };
    int ok = 1;

    if (row->kind == OPTION_QUANTUM && strcmp(value, "auto") == 0)
        *(int64_t *)field = -1;
    else if (row->kind == OPTION_INT || row->kind == OPTION_QUANTUM)
        ok = parse_int(value, row->min, row->max, field, &error);
    else if (row->kind == OPTION_SIZE || row->kind == OPTION_NCCL_SIZE)
        ok = parse_size(value, row->kind == OPTION_NCCL_SIZE, field, &error);
    else if (row->kind == OPTION_DURATION)
        ok = parse_duration(value, field, &error);
    else
        ok = parse_ratios(value, out->weights, OPTIONS_RATIOS_MAX,
                          &out->weight_count, &error);
    return ok ? EXIT_OK : refuse_value(option, value, &error, failure);
}

static int store(struct options *out, const struct option_row *row,
                 const char *option, const char *value, struct failure *failure)
{
    void *field = (char *)out + row->offset;

    switch (row->kind) {
    case OPTION_FLAG:
        *(int32_t *)field += 1;
        break;
    case OPTION_SPEC:
        return add_spec(field, option, value, failure);
    case OPTION_REMOVE:
        return add_remove(out, option, value, row, failure);
    case OPTION_SLOW:
        return add_slow(out, option, value, failure);
    case OPTION_NET:
        return add_net(out, option, value, failure);
    case OPTION_RULE:
        return add_rule(out, option, value, failure);
    case OPTION_OUT:
        return add_out(out, option, value, failure);
    case OPTION_CHOICE:
        return store_choice(row, option, value, field, failure);
    case OPTION_FILE:
        if (!*value)
            return no_file(option, failure);
        *(const char **)field = value;
        break;
    case OPTION_TEXT:
        *(const char **)field = value;
        break;
    case OPTION_INT:
    case OPTION_QUANTUM:
    case OPTION_SIZE:
    case OPTION_NCCL_SIZE:
    case OPTION_DURATION:
    case OPTION_WEIGHTS:
        return store_number(out, row, option, value, failure);
    case OPTION_HELP:
        out->help_for = out->command;
        out->command = COMMAND_HELP;
        break;
    case OPTION_MAN:
        out->command = COMMAND_MAN;
        break;
    case OPTION_VERSION:
        out->command = COMMAND_VERSION;
        break;
    }
    return EXIT_OK;
}

static int unknown_option(const char *option, enum command command,
                          int elsewhere, struct failure *failure)
{
    if (elsewhere)
        return failure_usage(failure, option, 0,
                             "%s is not an option of '%s'; see hdp_bench %s "
                             "--help",
                             option, options_command_name(command),
                             options_command_name(command));
    return failure_usage(failure, option, 0,
                         "unknown option %s; see hdp_bench "
                         "%s --help",
                         option, options_command_name(command));
}

/* One option with its value; *index moves past what was taken. */
static int read_option(struct options *out, enum command command, int argc,
                       char **argv, int *index, struct failure *failure)
{
    const char *word = argv[*index], *value = NULL;
    const struct option_row *row;
    char name[32];
    int elsewhere = 0;

    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        row = find_long(word + 2, length, command, &elsewhere);
        if (word[2 + length] == '=')
            value = word + 2 + length + 1;
        snprintf(name, sizeof name, "%.*s",
                 length + 2 > 31 ? 31 : (int)length + 2, word);
    } else {
        row = find_letter(word[1], command, &elsewhere);
        snprintf(name, sizeof name, "-%c", word[1]);
        if (row && word[2]) {
            if (!row->argument) /* -vv */
                for (const char *p = word + 2; *p; ++p)
                    if (*p != row->letter)
                        return failure_usage(failure, word, 0,
                                             "%s: options without a value are "
                                             "written one by one",
                                             word);
            value = row->argument ? word + 2 : NULL;
        }
    }
    if (!row)
        return unknown_option(name, command, elsewhere, failure);
    if (value && !row->argument)
        return failure_usage(failure, name, 0, "%s takes no value", name);
    if (!value && row->argument) {
        if (*index + 1 >= argc)
            return failure_usage(failure, name, 0,
                                 "%s needs a value: %s (argument %d is the "
                                 "last)",
                                 name, row->argument, *index);
        value = argv[++*index];
    }
    int times = row->argument || word[1] == '-' ? 1 : (int)strlen(word) - 1;
    for (int i = 0; i < times; ++i) {
        int code = store(out, row, name, value, failure);
        if (code)
            return code;
    }
    return EXIT_OK;
}

static int read_command(struct options *out, const char *word,
                        struct failure *failure)
{
    for (int i = 0; i < COMMAND_COUNT; ++i)
        if (strcmp(word, option_commands[i].name) == 0) {
            out->command = (enum command)i;
            return EXIT_OK;
        }
    if (strcmp(word, "help") == 0) {
        out->command = COMMAND_HELP;
        return EXIT_OK;
    }
    out->unknown = word;
    return failure_usage(failure, word, 0,
                         "unknown command '%.32s': demo, discover, calibrate, "
                         "split, run, reduce, plot, lease, doctor or watch",
                         word);
}

/* A net is what --work mlp or --probe work is about. */
static int check_net(const struct options *options, struct failure *failure)
{
    char text[NETS_TEXT_MAX];

    if (options->net.layers == 0 || options->command >= COMMAND_COUNT)
        return EXIT_OK;
    nets_text(&options->net, text);
    if (options->work != WORK_MLP)
        return failure_usage(failure, "--net", 0,
                             "--net %s: a net is an mlp, not --work %s", text,
                             options_work_name(options->work));
    if (options->command != COMMAND_RUN && options->probe != HDP_PROBE_WORK)
        return failure_usage(failure, "--net", 0,
                             "--net %s: only with --probe work, which "
                             "measures it",
                             text);
    return EXIT_OK;
}

static int unexpected(const char *word, int index, struct failure *failure)
{
    for (int i = 0; i < COMMAND_COUNT; ++i)
        if (strcmp(word, option_commands[i].name) == 0)
            return failure_usage(failure, word, 0,
                                 "argument %d: the command comes first, "
                                 "hdp_bench %s ...",
                                 index, word);
    return failure_usage(failure, word, 0, "argument %d: unexpected '%.64s'",
                         index, word);
}

int options_read(struct options *out, int argc, char **argv,
                 struct failure *failure)
{
    int index = 1, code;

    *out = option_defaults;
    if (argc > 1 && argv[1][0] != '-') {
        if ((code = read_command(out, argv[1], failure)))
            return code;
        index = 2;
    }
    if (out->command == COMMAND_HELP && index < argc && argv[index][0] != '-') {
        struct options which = option_defaults;
        if ((code = read_command(&which, argv[index], failure)))
            return code;
        out->help_for = which.command;
        return EXIT_OK;
    }
    enum command command = out->command;
    if (command == COMMAND_HELP)
        command = COMMAND_DEMO;
    for (; index < argc; ++index) {
        const char *word = argv[index];
        if (command == COMMAND_LEASE && strcmp(word, "--") == 0) {
            out->job = argv + index + 1; /* its options are its own */
            break;
        }
        if (word[0] != '-' || !word[1]) {
            if (!option_commands[command].operand || out->input)
                return unexpected(word, index, failure);
            out->input = word;
            continue;
        }
        code = read_option(out, command, argc, argv, &index, failure);
        if (code)
            return code;
        if (out->command > COMMAND_COUNT)
            break; /* the rest does not matter */
    }
    if (out->command == COMMAND_HELP && (argc < 2 || argv[1][0] == '-'))
        out->help_for = COMMAND_COUNT;
    return check_net(out, failure);
}

int32_t options_wanted_format(int argc, char **argv)
{
    static const char *const spellings[] = { "-o", "--format=" };
    int32_t found = FORMAT_TABLE;

    for (int i = 1; i < argc; ++i) {
        const char *value = NULL;
        if (strcmp(argv[i], "--") == 0)
            break; /* what follows is a job's */
        for (int s = 0; s < 2; ++s)
            if (strncmp(argv[i], spellings[s], strlen(spellings[s])) == 0)
                value = argv[i] + strlen(spellings[s]);
        if (strcmp(argv[i], "--format") == 0 || (value && !*value))
            value = i + 1 < argc ? argv[i + 1] : NULL;
        int format = value ? parse_choice(value, option_formats) : -1;
        found = format > FORMAT_TABLE ? format : found;
    }
    return found;
}
