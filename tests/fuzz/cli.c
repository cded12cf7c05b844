/* The command line of hdp_bench: words that end in NUL, read and never run. A
 * line that is refused says so as the program promises; one that is taken has
 * every figure in its range, and numbers are what the C library makes of them.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz/fuzz.h"
#include "options.h"
#include "parse.h"

enum { WORDS_MAX = 64 };

struct words {
    int count;
    char *word[WORDS_MAX + 2]; /* the program's name first, NULL last */
};

/* ---- numbers ------------------------------------------------------------- */

static void check_refused(const struct parse_error *error, const char *text)
{
    FUZZ_CHECK(error->text[0], "'%s' is refused without a word", text);
    FUZZ_CHECK(error->position >= 0 &&
                   (size_t)error->position <= strlen(text) + 1,
               "'%s' is refused at %d", text, error->position);
}

static void check_numbers(const char *text)
{
    struct parse_error error = { 0, "" };
    int64_t whole = 0;
    double real = 0;

    if (parse_int(text, INT64_MIN, INT64_MAX, &whole, &error)) {
        FUZZ_CHECK(whole == strtoll(text, NULL, 10), "'%s' is not %lld", text,
                   (long long)whole);
    } else {
        check_refused(&error, text);
    }
    if (parse_real(text, -1e300, 1e300, &real, &error))
        FUZZ_CHECK(isfinite(real), "'%s' is %g", text, real);
    else
        check_refused(&error, text);
    if (parse_duration(text, &whole, &error))
        FUZZ_CHECK(whole >= 0, "'%s' is %lld ns", text, (long long)whole);
    else
        check_refused(&error, text);
    for (int letters = 0; letters < 2; letters++)
        if (parse_size(text, letters, &whole, &error))
            FUZZ_CHECK(whole >= 0, "'%s' is %lld bytes", text,
                       (long long)whole);
        else
            check_refused(&error, text);
}

static void check_ratios(const double *ratios, int count)
{
    double sum = 0;

    FUZZ_CHECK(count >= 0 && count <= OPTIONS_RATIOS_MAX, "%d ratios", count);
    for (int i = 0; i < count; i++) {
        FUZZ_CHECK(isfinite(ratios[i]) && ratios[i] >= 0, "ratio %d is %g", i,
                   ratios[i]);
        sum += ratios[i];
    }
    FUZZ_CHECK(count == 0 || sum > 0, "all %d ratios are 0", count);
}

/* ---- options ------------------------------------------------------------- */

/* A value is a piece of one of the words, not a copy. */
static void check_points(const struct words *words, const char *value)
{
    int inside = value == NULL;

    for (int i = 0; i < words->count; i++)
        inside |= value >= words->word[i] &&
                  value <= words->word[i] + strlen(words->word[i]);
    FUZZ_CHECK(inside, "a value that stands in no word");
}

static void check_counts(const struct options *options)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {
        { "total", options->total, -1, INT64_MAX },
        { "quantum", options->quantum, -1, INT64_MAX },
        { "item-bytes", options->item_bytes, 0, INT64_MAX },
        { "fixed-bytes", options->fixed_bytes, 0, INT64_MAX },
        { "keep-free-bytes", options->keep_free_bytes, 0, INT64_MAX },
        { "in-bytes", options->in_bytes, 0, INT64_MAX },
        { "out-bytes", options->out_bytes, 0, INT64_MAX },
        { "reduce-bytes", options->reduce_bytes, 0, INT64_MAX },
        { "steps", options->steps, -1, 1000000 },
        { "warmup", options->warmup, -1, 1000000 },
        { "budget", options->budget_ns, 0, INT64_MAX },
        { "timeout", options->timeout_ns, 0, INT64_MAX },
        { "seed", options->seed, 0, INT64_MAX },
        { "minbytes", options->begin_bytes, 0, INT64_MAX },
        { "maxbytes", options->end_bytes, 0, INT64_MAX },
        { "stepfactor", options->factor, 2, 1024 },
        { "iters", options->iterations, 1, 1000000 },
        { "rules", options->rule_count, 0, OPTIONS_RULES_MAX },
        { "remove", options->remove_count, 0, OPTIONS_REMOVE_MAX },
        { "out", options->out_count, 0, OPTIONS_OUT_MAX },
        { "kind", options->kind, -1, 4 },
        { "count", options->count, -1, INT32_MAX },
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        FUZZ_CHECK(ranges[i].value >= ranges[i].low &&
                       ranges[i].value <= ranges[i].high,
                   "%s is %lld", ranges[i].name, (long long)ranges[i].value);
}

static void check_options(const struct options *options,
                          const struct words *words)
{
    check_counts(options);
    check_ratios(options->ratios, options->ratio_count);
    check_ratios(options->weights, options->weight_count);
    for (int i = 0; i < options->rule_count; i++)
        FUZZ_CHECK(options->rules[i] >= HDP_RULE_FINISH &&
                       options->rules[i] <= HDP_RULE_MANUAL,
                   "rule %d", (int)options->rules[i]);
    FUZZ_CHECK(memchr(options->spec, '\0', sizeof options->spec),
               "the specification does not end");
    FUZZ_CHECK(memchr(options->add, '\0', sizeof options->add),
               "the specification to add does not end");
    for (int i = 0; i < options->out_count; i++)
        check_points(words, options->out[i]);
    check_points(words, options->profile);
    check_points(words, options->save);
    check_points(words, options->compare);
    check_points(words, options->mask);
    check_points(words, options->order);
    check_points(words, options->machine);
    check_points(words, options->input);
    check_points(words, options->root);
    check_points(words, options->cublas);
    check_points(words, options->nvml);
}

static void check_read(struct words *words)
{
    struct options options;
    struct failure failure;

    memset(&failure, 0, sizeof failure);
    int code = options_read(&options, words->count, words->word, &failure);
    FUZZ_CHECK(code == failure.exit_code, "code %d, recorded %d", code,
               failure.exit_code);
    if (code != EXIT_OK) {
        FUZZ_CHECK(code == EXIT_USAGE, "a wrong line exits with %d", code);
        FUZZ_CHECK(failure.error.text[0] && failure.position >= 0,
                   "refused without a word");
        return;
    }
    FUZZ_CHECK(options.command >= COMMAND_DEMO &&
                   options.command <= COMMAND_VERSION &&
                   options.command != COMMAND_COUNT,
               "command %d", (int)options.command);
    if (options.command < COMMAND_COUNT) {
        check_options(&options, words);
        FUZZ_CHECK(options.format == FORMAT_TABLE ||
                       options_wanted_format(words->count, words->word) !=
                           FORMAT_TABLE,
                   "format %d is wanted, but a refusal would be a table",
                   (int)options.format);
    }
}

static void split_words(struct words *out, char *text, size_t size)
{
    static char program[] = "hdp_bench";

    out->word[0] = program;
    out->count = 1;
    for (size_t at = 0; at < size && out->count <= WORDS_MAX;) {
        out->word[out->count++] = text + at;
        at += strlen(text + at) + 1;
    }
    out->word[out->count] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words;
    char *text = fuzz_copy(data, size, 1);

    split_words(&words, text, size);
    check_read(&words);
    for (int i = 1; i < words.count; i++)
        check_numbers(words.word[i]);
    free(text);
    return 0;
}
