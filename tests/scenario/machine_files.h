/* Machine files for scenarios: the shipped ones as JSON, and files of a test's
 * own. */
#ifndef MACHINE_FILES_H
#define MACHINE_FILES_H
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "scene.h"

static inline json_t *read_machine(const char *name)
{
    const char *source = getenv("HDP_SOURCE_DIR");
    char path[512];

    (void)snprintf(path, sizeof path, "%s/examples/machines/%s.json",
                   source ? source : ".", name);
    json_t *json = json_load_file(path, 0, NULL);
    if (!json)
        fail_msg("%s: expected a JSON document", path);
    return json;
}

/* A machine of the test's own, as a file; `spec` gets what names it. */
static inline void write_machine(char *spec, size_t size, const json_t *json)
{
    char path[] = "/tmp/hdp-machine-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(json_dumpfd(json, fd, JSON_COMPACT), 0);
    (void)close(fd);
    (void)snprintf(spec, size, "@%s", path);
}

static inline hdp_device device_of(const struct scene *scene, int32_t member)
{
    hdp_device device = { .size = sizeof device };

    expect_ok(hdp_group_device(&device, scene->group, member));
    return device;
}

static inline int32_t count_of(const struct scene *scene)
{
    hdp_group_info info = { .size = sizeof info };

    expect_ok(hdp_group_get(&info, scene->group));
    return info.member_count;
}

static inline hdp_status calibrate(hdp_profile **out, const struct scene *scene,
                                   int32_t probe, int32_t dtype)
{
    hdp_calibrate_options options;

    expect_ok(hdp_options_init(&options, sizeof options));
    options.probe = probe;
    options.dtype = dtype;
    return hdp_calibrate(out, scene->group, &options);
}
#endif
