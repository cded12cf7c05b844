/* Pictures of any saved document: it is refused with a clean word, or each kind
 * is drawn, the same twice, as SVG whose elements end and whose figures are
 * figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz/fuzz.h"
#include "plot.h"
#include "saved.h"

static void check_refused(const struct failure *failure, int code)
{
    FUZZ_CHECK(code == EXIT_USAGE && failure->exit_code == code,
               "refused with %d, recorded %d", code, failure->exit_code);
    FUZZ_CHECK(strncmp(failure->error.text, "fuzz: ", 6) == 0 &&
                   fuzz_is_clean(failure->error.text),
               "refused with '%s'", failure->error.text);
}

/* Every < opens or closes an element, in order; nothing stands outside. */
static void check_elements(const char *svg)
{
    int depth = 0;

    for (const char *at = strchr(svg, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        FUZZ_CHECK(end, "an element that does not end: %.40s", at);
        FUZZ_CHECK(!memchr(at + 1, '<', (size_t)(end - at - 1)),
                   "an element in an element: %.40s", at);
        depth += at[1] == '/' ? -1 : end[-1] == '/' ? 0 : 1;
        FUZZ_CHECK(depth > 0 || strcmp(at, "</svg>\n") == 0,
                   "closed too early: %.40s", at);
    }
    FUZZ_CHECK(depth == 0, "%d elements are left open", depth);
}

static char *draw(json_t *root, int32_t kind)
{
    struct failure failure = { 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    int code = plot_draw(out, root, kind, "fuzz", &failure);
    fclose(out);
    if (code == EXIT_OK)
        return text;
    check_refused(&failure, code);
    FUZZ_CHECK(size == 0, "refused after %zu bytes", size);
    free(text);
    return NULL;
}

static void check_kind(json_t *root, int32_t kind)
{
    char *first = draw(root, kind), *second = draw(root, kind);

    FUZZ_CHECK(!first == !second, "drawn once, refused once");
    if (first) {
        FUZZ_CHECK(strcmp(first, second) == 0, "other bytes the second time");
        FUZZ_CHECK(plot_can(root, kind), "drawn of nothing");
        FUZZ_CHECK(!strstr(first, "\"nan") && !strstr(first, "\"inf") &&
                       !strstr(first, "\"-nan") && !strstr(first, "\"-inf"),
                   "a coordinate that is no number");
        check_elements(first);
    }
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct failure failure = { 0 };
    char *text = fuzz_copy(data, size, 0);
    json_t *root = saved_parse(text, size, "fuzz", &failure);

    free(text);
    if (!root) {
        check_refused(&failure, failure.exit_code);
        return 0;
    }
    for (int32_t kind = 0; kind < PLOT_KINDS; ++kind)
        check_kind(root, kind);
    json_decref(root);
    return 0;
}
