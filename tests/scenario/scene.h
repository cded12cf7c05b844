/* A group with a plan, for scenarios: made in one call, gone in one. */
#ifndef SCENE_H
#define SCENE_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>
#include <hdp/hdp.h>

struct scene {
    hdp_context *context;
    hdp_group *group;
    hdp_plan *plan;
};

/* Says expected and got, and what the library said. */
#define expect_status(want, call)                                              \
    do {                                                                       \
        hdp_status got_ = (call);                                              \
        if (got_ != (want))                                                    \
            fail_msg("%s: expected %s, got %s (%s)", #call,                    \
                     hdp_status_string(want), hdp_status_string(got_),         \
                     hdp_last_error());                                        \
    } while (0)
#define expect_ok(call) expect_status(HDP_OK, call)

/* Two whole numbers are one. What comes after them says which, as printf. */
#define expect_number(want, got, ...)                                          \
    scene_compare((want), (got), __FILE__, __LINE__, __VA_ARGS__)

static inline void scene_compare(int64_t want, int64_t got, const char *file,
                                 int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static inline void scene_compare(int64_t want, int64_t got, const char *file,
                                 int line, const char *format, ...)
{
    va_list arguments;
    char text[256];

    if (want == got)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s: expected %lld, got %lld\n", text, (long long)want,
                (long long)got);
    _fail(file, line);
}

static inline void scene_open(struct scene *scene, const char *spec,
                              const int64_t *items, int32_t count,
                              const hdp_group_options *options)
{
    scene->context = NULL;
    scene->group = NULL;
    scene->plan = NULL;
    expect_ok(hdp_context_create(&scene->context, NULL));
    expect_ok(
        hdp_group_create_spec(&scene->group, scene->context, spec, options));
    if (items)
        expect_ok(hdp_plan_create(&scene->plan, items, count));
}

static inline void scene_close(struct scene *scene)
{
    hdp_plan_destroy(scene->plan);
    hdp_group_destroy(scene->group);
    hdp_context_destroy(scene->context);
}
#endif
