/* The manual page, printed from the table of options: hdp_bench.1 of a build
 * is what its own hdp_bench says. Without a date, so that the same sources give
 * the same page. */
#include <hdp/hdp.h>

#include <string.h>

#include "optiontable.h"

/* Text for roff: nothing in it may be taken for a request or an escape. */
static void put(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; ++text)
        switch (*text) {
        case '\\':
            fputs("\\e", out);
            break;
        case '-':
            fputs("\\-", out);
            break;
        case '`':
            fputs("\\(ga", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void put_line(FILE *out, const char *text)
{
    put(out, text);
    fputc('\n', out);
}

/* Only of these commands; every command goes without saying. */
static void put_takers(FILE *out, unsigned commands)
{
    const char *before = "Of ";

    if (commands == (1u << COMMAND_COUNT) - 1)
        return;
    for (int i = 0; i < COMMAND_COUNT; ++i)
        if (commands & 1u << i) {
            fprintf(out, "%s\\fB%s\\fR", before, option_commands[i].name);
            before = ", ";
        }
    fputs(": ", out);
}

static void put_option(FILE *out, const struct option_row *row)
{
    fputs(".TP\n\\fB", out);
    if (row->letter)
        fprintf(out, "\\-%c\\fR, \\fB", row->letter);
    fputs("\\-\\-", out);
    put(out, row->name);
    fputs("\\fR", out);
    if (row->argument) {
        fputs(" \\fI", out);
        put(out, row->argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_takers(out, row->commands);
    put_line(out, row->help);
}

static void put_notes(FILE *out, const char *title,
                      const struct option_note *note)
{
    fprintf(out, ".SH %s\n", title);
    for (; note->name; ++note) {
        fputs(".TP\n\\fB", out);
        put(out, note->name);
        fputs("\\fR\n", out);
        put_line(out, note->text);
    }
}

static void put_commands(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (int i = 0; i < COMMAND_COUNT; ++i) {
        const char *operand = option_commands[i].operand;
        fprintf(out, ".TP\n\\fB%s\\fR%s%s%s\n", option_commands[i].name,
                operand ? " \\fI" : "", operand ? operand : "",
                operand ? "\\fR" : "");
        put(out, option_commands[i].summary);
        fputs(i == COMMAND_DEMO ? " (default).\n" : ".\n", out);
        put_line(out, option_commands[i].text);
    }
}

void options_man(FILE *out)
{
    fprintf(out,
            ".TH HDP_BENCH 1 \"\" \"hdp %s\" \"User Commands\"\n"
            ".SH NAME\n"
            "hdp_bench \\- one batch on several unequal devices\n"
            ".SH SYNOPSIS\n"
            "\\fBhdp_bench\\fR [\\fIcommand\\fR] [\\fIoption\\fR ...]\n"
            ".br\n"
            "\\fBhdp_bench\\fR \\fIcommand\\fR \\fB\\-\\-help\\fR\n"
            ".SH DESCRIPTION\n"
            "Runs one batch on several unequal devices as if they were one: "
            "finds the devices, measures them, divides the items so that all "
            "finish together, runs the work, reduces with weights and checks "
            "every result.\n"
            ".PP\n",
            hdp_version());
    put_line(out, option_promise);
    put_commands(out);
    fputs(".SH OPTIONS\n", out);
    for (const struct option_row *row = option_rows; row->name; ++row)
        if (row->help)
            put_option(out, row);
    put_notes(out, "VALUES", option_values);
    put_notes(out, "\"EXIT STATUS\"", option_exits);
    put_notes(out, "ENVIRONMENT", option_environment);
    fputs(".SH EXAMPLES\n"
          ".nf\n"
          "hdp_bench split \\-d @desk \\-N 256 \\-o csv\n"
          "hdp_bench run \\-\\-work gemm \\-N 8192 \\-\\-out result.json\n"
          "hdp_bench reduce \\-d host:0\\-1/threads=1 \\-\\-weights 3/1\n"
          "hdp_bench plot result.json \\-\\-out result.svg\n"
          ".fi\n",
          out);
}
