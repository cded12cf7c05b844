/* The environment is read once, with the context: what a program changes in it
 * later reaches the next context and no verb of this one. */
#include <stdlib.h>
#include <string.h>
#include "job.h"

static void set(const char *name, const char *value)
{
    expect_number(0, value ? setenv(name, value, 1) : unsetenv(name), "%s",
                  name);
}

static int32_t members_of_auto(hdp_context *context)
{
    hdp_group *group = NULL;
    hdp_group_info info = { .size = sizeof info };

    expect_ok(hdp_group_create_spec(&group, context, "auto", NULL));
    expect_ok(hdp_group_get(&info, group));
    hdp_group_destroy(group);
    return info.member_count;
}

static void auto_is_what_the_variable_was(void **state)
{
    hdp_context *before, *after;
    char spec[JOB_SPEC];

    (void)state;
    set("HDP_DEVICES", job_group(spec, 3));
    expect_ok(hdp_context_create(&before, NULL));
    set("HDP_DEVICES", job_group(spec, 5));
    expect_ok(hdp_context_create(&after, NULL));
    set("HDP_DEVICES", NULL);
    expect_number(3, members_of_auto(before), "members, first context");
    expect_number(5, members_of_auto(after), "members, second context");
    hdp_context_destroy(before);
    hdp_context_destroy(after);
}

/* The caller wrote "auto": where the text at fault stands is told. */
static void a_bad_variable_is_named(void **state)
{
    static const char *const bad[] = { "sim:0/itme=1", "", "sim:0+sim:0" };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        hdp_context *context;
        hdp_group *group = NULL;
        set("HDP_DEVICES", bad[i]);
        expect_ok(hdp_context_create(&context, NULL));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_group_create_spec(&group, context, "auto", NULL));
        if (strncmp(hdp_last_error(), "HDP_DEVICES: ", 13) != 0)
            fail_msg("\"%s\": expected an error of HDP_DEVICES, got \"%s\"",
                     bad[i], hdp_last_error());
        hdp_context_destroy(context);
    }
    set("HDP_DEVICES", NULL);
}

/* 1: there is a mask. *out_gpus: what the process sees with it. */
static int32_t masked(hdp_context *context, int32_t *out_gpus)
{
    hdp_topology *topology = NULL;
    hdp_topology_info info = { .size = sizeof info };
    hdp_device device = { .size = sizeof device };
    int32_t i;

    *out_gpus = 0;
    expect_ok(hdp_discover(&topology, context, NULL));
    expect_ok(hdp_topology_get(&info, topology));
    for (i = 0; i < info.device_count; ++i) {
        expect_ok(hdp_topology_device(&device, topology, i));
        *out_gpus += device.kind == HDP_CUDA;
    }
    hdp_topology_destroy(topology);
    return info.mask_set;
}

static void the_mask_is_what_the_variable_was(void **state)
{
    hdp_context *before, *after;
    int32_t gpus, left;

    (void)state;
    set("CUDA_VISIBLE_DEVICES", NULL);
    expect_ok(hdp_context_create(&before, NULL));
    (void)masked(before, &gpus); /* a driver reads the variable now */
    set("CUDA_VISIBLE_DEVICES", "-1");
    expect_ok(hdp_context_create(&after, NULL));
    expect_number(0, masked(before, &left), "a mask, first context");
    set("CUDA_VISIBLE_DEVICES", NULL);
    /* a driver that is at work already goes on without a mask */
    expect_number(gpus == 0, masked(after, &left), "a mask, second context");
    expect_number(gpus, left, "GPUs of the second context");
    hdp_context_destroy(before);
    hdp_context_destroy(after);
}

struct heard {
    int lines;
    char text[1024];
};

static void hear(int32_t level, const char *line, void *user)
{
    struct heard *heard = user;

    if (!strstr(line, "HDP_DEVCES"))
        return; /* of others, as a test's own variables */
    expect_number(HDP_LOG_WARN, level, "level");
    heard->lines++;
    (void)snprintf(heard->text, sizeof heard->text, "%s", line);
}

/* A slip of the pen would otherwise be silently without effect. */
static void an_unknown_variable_is_told_by_its_name(void **state)
{
    struct heard heard = { 0 };
    hdp_context_options options;
    hdp_context *context;
    hdp_group *group;

    (void)state;
    expect_ok(hdp_options_init(&options, sizeof options));
    options.log = hear;
    options.log_user = &heard;
    set("HDP_DEVICES", "sim:0");
    set("HDP_DEVCES", "a-secret");
    set("HDPX", "another");
    expect_ok(hdp_context_create(&context, &options));
    expect_ok(hdp_group_create_spec(&group, context, "auto", NULL));
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    expect_number(1, heard.lines, "warnings");
    if (strstr(heard.text, "HDP_DEVICES") || strstr(heard.text, "secret") ||
        strstr(heard.text, "HDPX"))
        fail_msg("expected one name and no value, got \"%s\"", heard.text);
    set("HDP_DEVCES", NULL);
    set("HDPX", NULL);
    set("HDP_DEVICES", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_what_the_variable_was),
        cmocka_unit_test(a_bad_variable_is_named),
        cmocka_unit_test(the_mask_is_what_the_variable_was),
        cmocka_unit_test(an_unknown_variable_is_told_by_its_name),
    };

    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
