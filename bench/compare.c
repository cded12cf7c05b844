/* The changed machine is a profile made of the members' own texts: those that
 * stay, and those of a group of what is added. So a member can join a machine
 * file, which no specification could say, and nothing is measured twice. */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

struct comparison {
    struct bench *bench;
    json_t *json;     /* the base's profile, then the changed one */
    json_t *added;    /* devices, as in `devices` */
    hdp_group *group; /* of what is added; NULL: nothing is */
    hdp_profile *theirs;
    int simulated; /* any member, of either machine */
    int32_t stay;  /* members of the base that do */
};

static int remove_ranks(struct comparison *self)
{
    const struct options *options = &self->bench->options;
    json_t *members = json_object_get(self->json, "members");
    json_t *kept = json_array();
    size_t i, count = json_array_size(members);
    json_t *member;

    for (int r = 0; r < options->remove_count; ++r)
        if (options->remove[r] >= (int64_t)count) {
            json_decref(kept);
            return failure_usage(&self->bench->failure, "--remove", 0,
                                 "--remove %lld: the ranks are 0 to %zu",
                                 (long long)options->remove[r], count - 1);
        }
    json_array_foreach(members, i, member)
    {
        int gone = 0;
        for (int r = 0; r < options->remove_count; ++r)
            gone |= options->remove[r] == (int64_t)i;
        if (!gone)
            json_array_append(kept, member);
    }
    self->stay = (int32_t)json_array_size(kept);
    json_object_set_new(self->json, "members", kept);
    if (self->stay == 0 && !options->add[0])
        return failure_usage(&self->bench->failure, "--remove", 0,
                             "--remove: no member is left");
    return EXIT_OK;
}

static int describe_added(struct comparison *self)
{
    FILE *out = self->bench->document.text;
    hdp_group_info info;

    hdp_options_init(&info, sizeof info);
    int code = library_try(self->bench, hdp_group_get(&info, self->group));
    for (int32_t m = 0; !code && m < info.member_count; ++m) {
        hdp_device device;
        char text[128];
        hdp_options_init(&device, sizeof device);
        code =
            library_try(self->bench, hdp_group_device(&device, self->group, m));
        if (code)
            break;
        const char *slow = library_slowdown(&device, text, sizeof text);
        fprintf(out, "%s# added: %s, %s\n", m ? "" : "\n", device.spec,
                slow ? slow : device.name);
        self->simulated |= device.kind == HDP_SIM;
        json_array_append_new(self->added, library_device_json(&device));
    }
    return code;
}

/* By the probe and the type of the base: other figures do not compare. */
static int measure_added(struct comparison *self, const hdp_profile *base)
{
    struct bench *bench = self->bench;
    hdp_calibrate_options options;
    hdp_group_options group;
    hdp_profile_info info;

    hdp_options_init(&info, sizeof info);
    hdp_options_init(&options, sizeof options);
    hdp_options_init(&group, sizeof group);
    int code = library_try(bench, hdp_profile_get(&info, base));
    if (code)
        return code;
    if (info.probe == HDP_PROBE_WORK)
        return failure_usage(&bench->failure, "--add", 0,
                             "--add: a profile of a work cannot be compared "
                             "with a member that has not run it; --probe gemm "
                             "can");
    group.timeout_ns = bench->options.timeout_ns;
    code =
        library_try(bench, hdp_group_create_spec(&self->group, bench->context,
                                                 bench->options.add, &group));
    options.probe = info.probe;
    options.dtype = info.dtype;
    options.budget_ns = bench->options.budget_ns;
    if (!code)
        code = library_try(bench,
                           hdp_calibrate(&self->theirs, self->group, &options));
    return code ? code : describe_added(self);
}

/* Members of two profiles share no memory: their domains must not meet. */
static int append_added(struct comparison *self)
{
    json_t *ours = json_object_get(self->json, "members"), *member;
    json_t *json = measure_json(self->bench, self->theirs);
    json_int_t last = 0;
    size_t i;

    if (!json)
        return self->bench->failure.exit_code;
    json_array_foreach(ours, i, member)
    {
        json_int_t domain =
            json_integer_value(json_object_get(member, "memory_domain"));
        last = domain > last ? domain : last;
    }
    json_array_foreach(json_object_get(json, "members"), i, member)
    {
        json_int_t domain =
            json_integer_value(json_object_get(member, "memory_domain"));
        if (domain > 0)
            json_object_set_new(member, "memory_domain",
                                json_integer(domain + last));
        json_array_append(ours, member);
    }
    json_decref(json);
    return EXIT_OK;
}

static int changed_profile(struct comparison *self, hdp_profile **out)
{
    char *text = json_dumps(self->json, JSON_REAL_PRECISION(17));

    if (!text)
        return library_no_memory(self->bench);
    int code = library_try(self->bench,
                           hdp_profile_from_json(out, text, strlen(text)));
    free(text);
    return code;
}

/* ---- the answer ---------------------------------------------------------- */

static void name_change(const struct options *options, char *out, size_t size)
{
    int used = 0;

    if (options->add[0])
        used = snprintf(out, size, "with %.256s%s", options->add,
                        options->remove_count ? " in place of " : "");
    else
        used = snprintf(out, size, "without ");
    for (int i = 0; i < options->remove_count; ++i)
        used += snprintf(out + used, size - (size_t)used, "%s%lld",
                         i                           ? ", "
                         : options->remove_count > 1 ? "ranks "
                                                     : "rank ",
                         (long long)options->remove[i]);
}

/* after NULL: the batch does not fit any more. */
static void say_answer(const struct comparison *self,
                       const hdp_plan_info *before, const hdp_plan_info *after,
                       char *out, size_t size)
{
    const struct options *options = &self->bench->options;
    char what[384 + 24 * OPTIONS_REMOVE_MAX], from[24], to[24];
    int64_t theirs = 0;

    name_change(options, what, sizeof what);
    if (!after) {
        snprintf(out, size, "%s the batch does not fit", what);
        return;
    }
    for (int i = self->stay; i < after->rank_count; ++i)
        theirs += after->items[i];
    table_ns(from, (double)before->step_ns);
    table_ns(to, (double)after->step_ns);
    int used =
        snprintf(out, size, "%s a step takes %s instead of %s", what, to, from);
    if (after->step_ns < before->step_ns && after->step_ns > 0)
        used += snprintf(out + used, size - (size_t)used, ": %.2f x as fast",
                         (double)before->step_ns / (double)after->step_ns);
    else if (after->step_ns > before->step_ns && before->step_ns > 0)
        used += snprintf(out + used, size - (size_t)used, ": %.2f x the time",
                         (double)after->step_ns / (double)before->step_ns);
    else
        used += snprintf(out + used, size - (size_t)used, ": no gain");
    if (options->add[0])
        snprintf(out + used, size - (size_t)used,
                 "; %lld of %lld items go there", (long long)theirs,
                 (long long)after->total);
}

static void put_section(struct comparison *self, const hdp_plan_info *before,
                        const hdp_plan *plan, const hdp_plan_info *after)
{
    struct bench *bench = self->bench;
    json_t *json = json_object(), *removed = json_array();
    char answer[1024 + 24 * OPTIONS_REMOVE_MAX];

    for (int i = 0; i < bench->options.remove_count; ++i)
        json_array_append_new(removed, json_integer(bench->options.remove[i]));
    say_answer(self, before, after, answer, sizeof answer);
    fprintf(bench->document.text, "\n%s\n", answer);
    json_object_set_new(json, "answer", document_text_or_null(answer));
    json_object_set_new(json, "simulated", json_boolean(self->simulated));
    json_object_set_new(json, "rule",
                        json_string(options_rule_name(before->rule)));
    json_object_set_new(json, "before_ns", json_integer(before->step_ns));
    json_object_set_new(json, "after_ns",
                        after ? json_integer(after->step_ns) : json_null());
    json_object_set_new(
        json, "speedup",
        after && after->step_ns > 0
            ? document_real((double)before->step_ns / (double)after->step_ns)
            : json_null());
    json_object_set_new(json, "removed", removed);
    json_object_set(json, "added", self->added);
    json_object_set_new(json, "plan",
                        after ? plans_json(bench, plan) : json_null());
    document_set(&bench->document, "what_if", json);
}

static int compare_plans(struct comparison *self, const hdp_profile *base,
                         const hdp_profile *changed)
{
    struct bench *bench = self->bench;
    hdp_plan *old = NULL, *new = NULL;
    hdp_plan_info before, after;
    hdp_split_options split;
    int32_t rule = bench->options.rules[0];

    hdp_options_init(&before, sizeof before);
    hdp_options_init(&after, sizeof after);
    int code = plans_split(bench, base, rule, bench->options.total, &old);
    if (!code)
        code = library_try(bench, hdp_plan_get(&before, old));
    if (!code)
        code = plans_options(bench, changed, rule, &split);
    if (!code) {
        hdp_status status =
            hdp_split(&new, changed, bench->options.total, &split);
        if (status != HDP_ERR_CAPACITY) /* which is an answer */
            code = library_try(bench, status);
    }
    if (!code && new)
        code = library_try(bench, hdp_plan_get(&after, new));
    if (!code)
        put_section(self, &before, new, new ? &after : NULL);
    hdp_plan_destroy(old);
    hdp_plan_destroy(new);
    return code;
}

int compare_members(struct bench *bench, const hdp_profile *profile)
{
    struct comparison self = { .bench = bench,
                               .added = json_array(),
                               .simulated = bench->simulated };
    hdp_profile *changed = NULL;
    int code = EXIT_OK;

    if (bench->options.rules[0] == HDP_RULE_MANUAL)
        code = failure_usage(&bench->failure, "--rule", 0,
                             "--rule manual: its ratios are those of the "
                             "members that are there; --add and --remove need "
                             "another rule");
    if (!code && !(self.json = measure_json(bench, profile)))
        code = bench->failure.exit_code;
    if (!code)
        code = remove_ranks(&self);
    if (!code && bench->options.add[0])
        code = measure_added(&self, profile);
    if (!code && self.theirs)
        code = append_added(&self);
    if (!code)
        code = changed_profile(&self, &changed);
    if (!code)
        code = compare_plans(&self, profile, changed);
    hdp_profile_destroy(changed);
    hdp_profile_destroy(self.theirs);
    hdp_group_destroy(self.group);
    json_decref(self.added);
    json_decref(self.json);
    return code;
}
