/* An executor on paced members whose truth the test knows: straight lines, each
 * times a factor that changes with the steps. The optimum is worked out here,
 * by trying times, and shares no code with the library. */
#ifndef LEARNING_H
#define LEARNING_H
#include <string.h>
#include "paced.h"

enum { LEARN_MEMBERS_MAX = 8, LEARN_LINES_MAX = 64 };

struct line {
    double fixed_ns, item_ns, factor;
};

struct learner {
    struct paced paced;
    hdp_context *context;
    hdp_executor *executor;
    hdp_work work;
    struct line truth[LEARN_MEMBERS_MAX];
    int32_t members;
    int64_t total;
    /* of the last step, and of all since learner_reset() */
    int64_t shares[LEARN_MEMBERS_MAX];
    int32_t is_new[LEARN_MEMBERS_MAX], cause[LEARN_MEMBERS_MAX];
    int64_t compute_ns[LEARN_MEMBERS_MAX];
    double step_ns, worth; /* worth: the optimum over the shares' true time */
    double took_ns;        /* sum of steps */
    double lost; /* steps' time beyond the optimum, in optimal steps */
    int64_t steps, resplits;
    /* the log */
    int slow_lines, resplit_lines;
    char warning[256];
};

static inline int32_t learner_nothing(const hdp_shard *shard, void *user)
{
    (void)shard;
    (void)user;
    return 0;
}

PACED(learner_nothing)

static inline void learner_log(int32_t level, const char *line, void *user)
{
    struct learner *self = user;

    if (level == HDP_LOG_INFO && strstr(line, "divided anew"))
        self->resplit_lines++;
    if (level != HDP_LOG_WARN)
        return;
    if (strstr(line, "times as long per item"))
        self->slow_lines++;
    (void)snprintf(self->warning, sizeof self->warning, "%s", line);
}

/* ---- the truth ------------------------------------------------------------- */

static inline double line_ns(const struct line *line, int64_t items)
{
    if (items == 0)
        return 0;
    return (line->fixed_ns + line->item_ns * (double)items) * line->factor;
}

/* Most items within a time; a hair above it counts, as times are rounded. */
static inline int64_t line_items(const struct line *line, double ns)
{
    double items =
        (ns * (1 + 1e-9) / line->factor - line->fixed_ns) / line->item_ns;

    return items < 1 ? 0 : (int64_t)items;
}

/* The least time in which all hold the total. */
static inline double learner_optimum(const struct learner *self)
{
    double low = 0, high = 1e15;
    int round;

    for (round = 0; round < 120; ++round) {
        double middle = (low + high) / 2;
        int64_t held = 0;
        int32_t m;
        for (m = 0; m < self->members; ++m)
            held += line_items(&self->truth[m], middle);
        if (held >= self->total)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static inline double shares_ns(const struct learner *self)
{
    double worst = 0;
    int32_t m;

    for (m = 0; m < self->members; ++m) {
        double ns = line_ns(&self->truth[m], self->shares[m]);
        worst = ns > worst ? ns : worst;
    }
    return worst;
}

/* ---- the executor ---------------------------------------------------------- */

/* Starts from the profile that `known` says, which need not be the truth; NULL:
 * it is. Each step is one launch of every member. */
static inline void learner_open(struct learner *self, const char *spec,
                                const struct line *truth, int32_t members,
                                int64_t total, const struct line *known,
                                const hdp_executor_options *more)
{
    hdp_context_options context = { .size = sizeof context };
    hdp_executor_options options = { .size = sizeof options };
    hdp_model models[LEARN_MEMBERS_MAX];
    hdp_profile *profile = NULL;
    int32_t m;

    memset(self, 0, sizeof *self);
    paced_open(&self->paced, spec);
    self->members = members;
    self->total = total;
    memset(models, 0, sizeof models);
    for (m = 0; m < members; ++m) {
        self->truth[m] = truth[m];
        models[m].size = sizeof models[m];
        models[m].fixed_ns = (known ? known : truth)[m].fixed_ns;
        models[m].item_ns = (known ? known : truth)[m].item_ns;
    }
    context.log = learner_log;
    context.log_user = self;
    context.log_level = HDP_LOG_INFO;
    expect_ok(hdp_options_init(&self->work, sizeof self->work));
    self->work.host = learner_nothing;
    self->work.cuda = learner_nothing_paced;
    self->work.flags = HDP_WORK_EMPTY_TOO;
    expect_ok(hdp_context_create(&self->context, &context));
    expect_ok(hdp_profile_create(&profile, models, members));
    if (more)
        options = *more;
    options.profile = profile;
    expect_ok(hdp_executor_create(&self->executor, self->context,
                                  self->paced.spec, &options));
    hdp_profile_destroy(profile);
}

static inline void learner_close(struct learner *self)
{
    hdp_executor_destroy(self->executor);
    hdp_context_destroy(self->context);
    paced_close();
}

/* From here on sums begin anew, at a factor that changes now. */
static inline void learner_change(struct learner *self, int32_t member,
                                  double factor)
{
    self->truth[member].factor = factor;
    self->took_ns = self->lost = 0;
    self->steps = self->resplits = 0;
}

/* A step of GPUs takes the time of this machine; its members' is told. */
static inline double learner_took(const struct learner *self,
                                  const hdp_report_info *info)
{
    int64_t longest_ns = 0;
    int32_t m;

    if (self->paced.count == 0)
        return (double)info->step_ns;
    for (m = 0; m < self->members; ++m)
        if (info->compute_ns[m] > longest_ns)
            longest_ns = info->compute_ns[m];
    return (double)longest_ns;
}

static inline void learner_step(struct learner *self)
{
    size_t bytes = (size_t)self->members * sizeof(int64_t);
    hdp_report_info info = { .size = sizeof info };
    hdp_report *report = NULL;
    double optimum = learner_optimum(self);
    int32_t m;

    expect_ok(
        hdp_executor_run(&report, self->executor, self->total, &self->work));
    expect_ok(hdp_report_get(&info, report));
    self->resplits += memcmp(self->shares, info.items, bytes) != 0 &&
                      self->shares[0] + self->shares[1] > 0;
    for (m = 0; m < self->members; ++m) {
        self->shares[m] = info.items[m];
        self->is_new[m] = info.first_at_share[m];
        self->cause[m] = info.cause[m];
        self->compute_ns[m] = info.compute_ns[m];
    }
    self->step_ns = learner_took(self, &info);
    self->worth = optimum / shares_ns(self);
    self->took_ns += self->step_ns;
    self->lost += self->step_ns > optimum ? self->step_ns / optimum - 1 : 0;
    self->steps++;
    hdp_report_destroy(report);
}

/* Steps until shares were worth `goal` of the optimum; `most` + 1: not yet. */
static inline int learner_steps_to(struct learner *self, double goal, int most)
{
    int step;

    for (step = 0; step <= most; ++step) {
        learner_step(self);
        if (self->worth >= goal)
            return step;
    }
    return most + 1;
}
#endif
