/* Calibrations on the fake CUDA, for tests: a machine started, a group of it
 * measured, and what its file says that the result must be. */
#ifndef MEASURED_H
#define MEASURED_H
#include <math.h>
#include <jansson.h>
#include "life.h"

struct measured {
    hdp_context *context;
    hdp_group *group;
    char log[LIFE_LOG]; /* warnings, a line each */
};

/* A new process on the machine, and a group of it. */
static inline void measured_open(struct measured *own, const char *words,
                                 const char *spec)
{
    memset(own, 0, sizeof *own);
    life_start(words);
    own->context = life_context(own->log);
    expect_ok(hdp_group_create_spec(&own->group, own->context, spec, NULL));
}

static inline void measured_close(struct measured *own)
{
    hdp_group_destroy(own->group);
    hdp_context_destroy(own->context);
    life_end("closed");
}

static inline hdp_profile *measured_profile(struct measured *own, int32_t probe,
                                            int32_t dtype, int32_t compute)
{
    const hdp_calibrate_options options = { .size = sizeof options,
                                            .probe = probe,
                                            .dtype = dtype,
                                            .compute = compute };
    hdp_profile *profile = NULL;

    expect_ok(hdp_calibrate(&profile, own->group, &options));
    return profile;
}

static inline double measured_ratio(const hdp_profile *profile, int32_t rank)
{
    double ratio = -1;

    expect_ok(hdp_profile_ratio(&ratio, profile, rank));
    return ratio;
}

/* A member of a profile's JSON, and a number of it; -1: it has none. */
static inline double measured_figure(const hdp_profile *profile, int32_t rank,
                                     const char *name)
{
    static char text[1 << 20];
    json_t *root, *figure;
    double value;

    expect_ok(hdp_profile_to_json(profile, text, sizeof text, NULL));
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    figure = json_object_get(
        json_array_get(json_object_get(root, "members"), (size_t)rank), name);
    value = json_is_number(figure) ? json_number_value(figure) : -1;
    json_decref(root);
    return value;
}

/* ---- the machine's file --------------------------------------------------- */

static inline json_t *measured_file(const char *machine)
{
    char path[512];
    json_t *root;

    (void)snprintf(path, sizeof path, "%s/examples/machines/%s.json",
                   getenv("HDP_SOURCE_DIR"), machine);
    root = json_load_file(path, 0, NULL);
    if (!root)
        fail_msg("%s cannot be read", path);
    return root;
}

static inline int measured_says(const json_t *profile, const char *name,
                                const char *value)
{
    const char *text = json_string_value(json_object_get(profile, name));

    return text && strcmp(text, value) == 0;
}

/* What the file says of a device's products: FLOP a second; 0: none. */
static inline double measured_flops(const char *machine, int device,
                                    const char *dtype, const char *compute)
{
    json_t *root = measured_file(machine), *profile;
    double flops = 0;
    size_t i;

    json_array_foreach(json_object_get(root, "profiles"), i, profile)
    {
        const json_t *member =
            json_array_get(json_object_get(profile, "members"), (size_t)device);
        if (measured_says(profile, "probe", "gemm") &&
            measured_says(profile, "dtype", dtype) &&
            measured_says(profile, "compute", compute))
            flops = json_number_value(json_object_get(member, "rate_flops"));
    }
    json_decref(root);
    return flops;
}

/* A number of a device's line in the file's profile of a probe. */
static inline double measured_line(const char *machine, int device,
                                   const char *probe, const char *name)
{
    json_t *root = measured_file(machine), *profile;
    double value = 0;
    size_t i;

    json_array_foreach(json_object_get(root, "profiles"), i,
                       profile) if (measured_says(profile, "probe", probe))
        value = json_number_value(json_object_get(
            json_array_get(json_object_get(profile, "members"), (size_t)device),
            name));
    json_decref(root);
    return value;
}

/* Says expected and got. */
static inline void expect_near(double want, double got, double off,
                               const char *what)
{
    if (!(fabs(got / want - 1) <= off))
        fail_msg("%s: expected %g within %g %%, got %g (%+.2f %%)", what, want,
                 100 * off, got, 100 * (got / want - 1));
}

/* Each member's part of all throughput is as the file has it. */
static inline void expect_ratios(const hdp_profile *profile,
                                 const char *machine, int members,
                                 const char *dtype, const char *compute,
                                 double off)
{
    double sum = 0;
    char what[96];

    for (int m = 0; m < members; ++m)
        sum += measured_flops(machine, m, dtype, compute);
    for (int m = 0; m < members; ++m) {
        (void)snprintf(what, sizeof what, "%s, %s in %s, member %d", machine,
                       dtype, compute, m);
        expect_near(measured_flops(machine, m, dtype, compute) / sum,
                    measured_ratio(profile, m), off, what);
    }
}
#endif
