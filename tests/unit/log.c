/* The one sink: who hears what, and that each line is one clean line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/log.h"

struct heard {
    int32_t lines, level;
    char last[2048];
};

static void hear(int32_t level, const char *line, void *user)
{
    struct heard *heard = user;
    heard->lines++;
    heard->level = level;
    snprintf(heard->last, sizeof heard->last, "%s", line);
    errno = ERANGE; /* a callback may do anything */
}

static void levels(void **state)
{
    (void)state;
    for (int32_t set = 0; set <= HDP_LOG_TRACE; set++)
        for (int32_t level = HDP_LOG_ERROR; level <= HDP_LOG_TRACE; level++) {
            struct heard heard = { 0 };
            struct hdpi_log log = { hear, &heard, set };
            int32_t wanted = level <= (set ? set : HDP_LOG_WARN);
            hdpi_log(&log, level, "line %d", (int)level);
            if (heard.lines != wanted)
                fail_msg("level %d of %d: expected %d lines, got %d",
                         (int)level, (int)set, (int)wanted, (int)heard.lines);
            if (wanted)
                assert_int_equal(heard.level, level);
        }
    assert_int_equal(HDP_LOG_ERROR, HDP_LOG_ERROR);
    assert_int_equal(HDP_LOG_TRACE, HDP_LOG_TRACE);
}

static void silence(void **state)
{
    struct hdpi_log none = { NULL, NULL, HDP_LOG_TRACE };
    (void)state;
    hdpi_log(NULL, HDP_LOG_ERROR, "to nobody");
    hdpi_log(&none, HDP_LOG_ERROR, "to nobody");
}

static void lines_are_clean(void **state)
{
    struct heard heard = { 0 };
    struct hdpi_log log = { hear, &heard, HDP_LOG_INFO };
    char word[3000];
    (void)state;
    errno = EXDEV;
    hdpi_log(&log, HDP_LOG_INFO, "%s: %d", "a\nforged\x1b[2J", 3);
    assert_string_equal(heard.last, "a\\x0aforged\\x1b[2J: 3");
    assert_int_equal(errno, EXDEV);
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    hdpi_log(&log, HDP_LOG_INFO, "%s", word);
    assert_int_equal(strlen(heard.last), 1023);
    assert_string_equal(heard.last + 1019, "x...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(silence),
        cmocka_unit_test(lines_are_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
