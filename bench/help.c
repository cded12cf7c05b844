/* The help text, printed from the table of options. */
#include "optiontable.h"

#include <string.h>

enum { HELP_COLUMN = 25, HELP_WIDTH = 79 };

/* Words of a text, each line from `column` on; `used` columns are taken. */
static void flow(FILE *out, const char *text, int used, int column)
{
    int start = 1;

    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!start && used + 1 + length > HELP_WIDTH) {
            fputc('\n', out);
            used = 0;
            start = 1;
        }
        if (start)
            fprintf(out, "%*s", column > used ? column - used : 0, "");
        else
            fputc(' ', out);
        used = start ? column : used + 1;
        fwrite(text, 1, (size_t)length, out);
        used += length;
        start = 0;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct option_row *row)
{
    char left[64];
    int used = snprintf(
        left, sizeof left, "  %c%c%s--%s%s%s", row->letter ? '-' : ' ',
        row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
        row->argument ? " " : "", row->argument ? row->argument : "");

    fputs(left, out);
    if (used >= HELP_COLUMN) {
        fputc('\n', out);
        used = 0;
    }
    flow(out, row->help, used, HELP_COLUMN);
}

static void print_options(FILE *out, enum command command)
{
    fputs("\noptions:\n", out);
    for (const struct option_row *row = option_rows; row->name; ++row)
        if (row->help && row->commands & 1u << command)
            print_row(out, row);
}

static void print_notes(FILE *out, const struct option_note *note)
{
    for (; note->name; ++note) {
        int used = fprintf(out, "  %s", note->name);
        flow(out, note->text, used, HELP_COLUMN);
    }
}

/* What a command's arguments stand for; of no command: all of them. */
static void print_values(FILE *out, enum command command)
{
    const char *heading = "\nvalues:\n";

    for (const struct option_note *note = option_values; note->name; ++note) {
        const struct option_row *row = option_rows;
        while (row->name &&
               !(row->argument && strstr(row->argument, note->name) &&
                 (command == COMMAND_COUNT || row->commands & 1u << command)))
            ++row;
        if (!row->name)
            continue;
        fputs(heading, out);
        heading = "";
        flow(out, note->text, fprintf(out, "  %s", note->name), HELP_COLUMN);
    }
}

static void print_promises(FILE *out)
{
    fputs("\nexit:\n", out);
    print_notes(out, option_exits);
    fputc('\n', out);
    flow(out, option_promise, 0, 0);
}

void options_help(FILE *out, enum command command)
{
    if (command < COMMAND_COUNT) {
        const char *operand = option_commands[command].operand;
        const char *rest = option_commands[command].rest;
        fprintf(out, "usage: hdp_bench %s%s%s [options]%s%s\n\n",
                option_commands[command].name, operand ? " " : "",
                operand ? operand : "", rest ? " " : "", rest ? rest : "");
        flow(out, option_commands[command].text, 0, 0);
        print_options(out, command);
        print_values(out, command);
        print_promises(out);
        return;
    }
    fputs("usage: hdp_bench [command] [options]\n\n"
          "Runs one batch on several unequal devices as if they were one.\n\n"
          "commands:\n",
          out);
    for (int i = 0; i < COMMAND_COUNT; ++i)
        fprintf(out, "  %-11s%s%s\n", option_commands[i].name,
                option_commands[i].summary,
                i == COMMAND_DEMO ? " (default)" : "");
    fputs("\nhdp_bench COMMAND --help lists a command's options.\n", out);
    print_values(out, COMMAND_COUNT);
    fputs("\nenvironment, read by the library once:\n", out);
    print_notes(out, option_environment);
    print_promises(out);
}
