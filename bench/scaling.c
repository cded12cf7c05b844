/* A machine of fewer devices is a profile of fewer members, split by the same
 * options: one that is merely left empty would stay in the reduce. */
#include "scaling.h"

#include <stdlib.h>
#include <string.h>

struct scaling {
    struct bench *bench;
    const hdp_profile *profile;
    json_t *json;                       /* of the profile, without samples */
    int32_t order[SCALING_MEMBERS_MAX]; /* ranks, the fastest first */
    double speed[SCALING_MEMBERS_MAX];  /* batches in a nanosecond, by rank */
    int32_t members;
};

static int measure_speeds(struct scaling *self)
{
    int64_t total = self->bench->options.total;
    json_t *members = json_object_get(self->json, "members");
    int code = EXIT_OK;

    for (int32_t r = 0; !code && r < self->members; ++r) {
        json_t *member = json_array_get(members, (size_t)r);
        double ns = 0;
        json_object_del(member, "samples");
        if (json_is_true(json_object_get(member, "lacks_dtype")))
            continue; /* its speed is 0 */
        code = library_try(self->bench,
                           hdp_profile_time(&ns, self->profile, r, total));
        self->speed[r] = ns > 0 ? 1 / ns : 0;
    }
    for (int32_t r = 0; r < self->members; ++r) { /* ties: the lower rank */
        int32_t at = r;
        for (; at > 0 && self->speed[self->order[at - 1]] < self->speed[r];
             --at)
            self->order[at] = self->order[at - 1];
        self->order[at] = r;
    }
    return code;
}

/* The profile of the fastest `count`, in the order of their ranks. */
static int subset(const struct scaling *self, int32_t count, hdp_profile **out)
{
    json_t *all = json_object_get(self->json, "members"), *few = json_array();
    json_t *root = json_copy(self->json);
    int code;

    for (int32_t r = 0; r < self->members; ++r)
        for (int32_t i = 0; i < count; ++i)
            if (self->order[i] == r)
                json_array_append(few, json_array_get(all, (size_t)r));
    json_object_set_new(root, "members", few);
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    json_decref(root);
    code = text ? library_try(self->bench,
                              hdp_profile_from_json(out, text, strlen(text)))
                : library_no_memory(self->bench);
    free(text);
    return code;
}

/* The predicted step; -1: the batch does not fit, or nobody has the type. */
static int predict(const struct scaling *self, int32_t count, int64_t *out_ns)
{
    struct bench *bench = self->bench;
    hdp_profile *few = NULL;
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    hdp_split_options split;
    int code = subset(self, count, &few);

    *out_ns = -1;
    hdp_options_init(&info, sizeof info);
    if (!code)
        code = plans_options(bench, few, HDP_RULE_FINISH, &split);
    if (!code) {
        hdp_status status = hdp_split(&plan, few, bench->options.total, &split);
        if (status != HDP_ERR_CAPACITY && status != HDP_ERR_UNSUPPORTED)
            code = library_try(bench, status);
    }
    if (!code && plan &&
        !(code = library_try(bench, hdp_plan_get(&info, plan))))
        *out_ns = info.step_ns;
    hdp_plan_destroy(plan);
    hdp_profile_destroy(few);
    return code;
}

static int predict_all(const struct scaling *self, json_t *json)
{
    json_t *steps = json_array(), *ideals = json_array(), *order = json_array();
    double speed = 0;
    int code = EXIT_OK;

    for (int32_t i = 0; !code && i < self->members; ++i) {
        int64_t ns = -1;
        speed += self->speed[self->order[i]];
        code = predict(self, i + 1, &ns);
        json_array_append_new(order, json_integer(self->order[i]));
        json_array_append_new(steps, ns < 0 ? json_null() : json_integer(ns));
        json_array_append_new(ideals,
                              speed > 0 ? document_ns(1 / speed) : json_null());
    }
    json_object_set_new(json, "rule",
                        json_string(options_rule_name(HDP_RULE_FINISH)));
    json_object_set_new(json, "total",
                        json_integer(self->bench->options.total));
    json_object_set_new(json, "predicted", json_true());
    json_object_set_new(json, "order", order);
    json_object_set_new(json, "step_ns", steps);
    json_object_set_new(json, "ideal_ns", ideals);
    return code;
}

int scaling_section(struct bench *bench, const hdp_profile *profile)
{
    struct scaling self = { .bench = bench, .profile = profile };
    hdp_profile_info info;
    json_t *json;

    hdp_options_init(&info, sizeof info);
    int code = library_try(bench, hdp_profile_get(&info, profile));
    if (code || bench->options.total < 1 || info.member_count < 1 ||
        info.member_count > SCALING_MEMBERS_MAX)
        return code;
    self.members = info.member_count;
    if (!(self.json = measure_json(bench, profile)))
        return bench->failure.exit_code;
    json = json_object();
    code = measure_speeds(&self);
    if (!code)
        code = predict_all(&self, json);
    if (!code)
        document_set(&bench->document, "scaling", json_incref(json));
    json_decref(json);
    json_decref(self.json);
    return code;
}
