/* A process as far as CUDA goes: it begins on a described machine, hears what
 * the library warns of, and leaves nothing behind. */
#ifndef LIFE_H
#define LIFE_H
#include <stdlib.h>
#include <string.h>
#include "fakecuda/fake.h"
#include "scenario/scene.h"

enum { LIFE_LOG = 8192 }; /* bytes of warnings kept */

/* NULL: not set. */
static inline void life_variable(const char *name, const char *value)
{
    if (value)
        assert_int_equal(setenv(name, value, 1), 0);
    else
        assert_int_equal(unsetenv(name), 0);
}

/* `words` describe the machine, as FAKE_CUDA does. */
static inline void life_start(const char *words)
{
    if (fake_start(words) != 0)
        fail_msg("fake_start(\"%s\"): %s", words, fake_words());
}

/* Every handle is back, and no rule was broken. */
static inline void life_end(const char *when)
{
    if (fake_alive()[0])
        fail_msg("%s: expected nothing alive, got %s", when, fake_alive());
    if (fake_breach())
        fail_msg("%s: expected no broken rule, got: %s", when, fake_breach());
}

/* A sink: user is a char[LIFE_LOG] that gets a line each. */
static inline void life_note(int32_t level, const char *line, void *user)
{
    char *log = user;
    size_t used = strlen(log);

    (void)level;
    if (strncmp(line, "environment: ", 13) == 0)
        return; /* the harness's variables */
    (void)snprintf(log + used, LIFE_LOG - used, "%s\n", line);
}

/* A context whose cuBLAS and NVML are the fake's; warnings go to the log. */
static inline hdp_context *life_context(char *log)
{
    const char *library = getenv("HDP_FAKE_CUDA");
    const hdp_context_options options = { .size = sizeof options,
                                          .log = life_note,
                                          .log_user = log,
                                          .log_level = HDP_LOG_WARN,
                                          .cublas_path = library,
                                          .nvml_path = library };
    hdp_context *context = NULL;

    expect_ok(hdp_context_create(&context, &options));
    return context;
}
#endif
