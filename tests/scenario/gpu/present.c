/* Runs a scenario on this machine's GPUs: says in TEST_GPUS how many there are
 * and how large they are, and becomes the program. Where there is none the test
 * is skipped; HDP_REQUIRE=cuda makes that a failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hdp/hdp.h>
#include "required.h"

enum { SKIPPED = 77, WANTED = 8 /* members of a scenario, at most */ };

static int without(const char *why)
{
    int required = is_required("cuda");

    (void)printf("%s: %s\n", required ? "required" : "skipped", why);
    return required ? 1 : SKIPPED;
}

/* GPUs that run the library's code, from the first on; the SMs of each. */
static int32_t count_gpus(hdp_context *context, int32_t *out_sms)
{
    hdp_topology *topology = NULL;
    hdp_device device = { .size = sizeof device };
    int32_t count = 0;

    if (hdp_discover(&topology, context, NULL) != HDP_OK)
        return 0;
    for (int32_t i = 0; hdp_topology_device(&device, topology, i) == HDP_OK;
         ++i) {
        if (device.kind != HDP_CUDA || device.logical_id != count ||
            !device.runnable)
            continue;
        if (count++ == 0 || device.sm_count < *out_sms)
            *out_sms = device.sm_count;
    }
    hdp_topology_destroy(topology);
    return count;
}

/* Few GPUs stand in for many by parts of them. */
static int can_be_divided(hdp_context *context)
{
    hdp_group *group = NULL;
    hdp_status status =
        hdp_group_create_spec(&group, context, "cuda:0/sms=8", NULL);

    hdp_group_destroy(group);
    return status == HDP_OK;
}

/* NULL, or why the scenario cannot be run here. */
static const char *look(hdp_context *context, char *text, size_t capacity)
{
    int32_t sms = 0, gpus = count_gpus(context, &sms);

    (void)snprintf(text, capacity, "%dx%d", (int)gpus, (int)sms);
    if (gpus == 0)
        return "no GPU that the library can run on";
    if (gpus < WANTED && !can_be_divided(context))
        return "few GPUs, and they cannot be divided";
    return NULL;
}

int main(int count, char **arguments)
{
    hdp_context *context = NULL;
    const char *why;
    char text[64];

    if (count < 2) {
        (void)printf("usage: present PROGRAM [ARGUMENTS]\n");
        return 2;
    }
    if (hdp_context_create(&context, NULL) != HDP_OK)
        return without(hdp_last_error());
    why = look(context, text, sizeof text);
    hdp_context_destroy(context);
    if (why)
        return without(why);
    if (setenv("TEST_GPUS", text, 1) == 0)
        (void)execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 1;
}
