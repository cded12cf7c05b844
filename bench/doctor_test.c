/* doctor --test: every device, every pair, all together. No device is in two
 * children at once, since others may hold it exclusively; devices apart from
 * each other are tried side by side. */
#include <stdlib.h>
#include <string.h>

#include "doctor_check.h"
#include "interrupt.h"

enum { SIDE_BY_SIDE = 8, DEVICES_MAX = 64 };
static const int64_t second_ns = 1000000000;
static const int64_t patience_ns = 8000000000, whole_ns = 28000000000;

struct test {
    struct doctor *doctor;
    struct bench *bench;
    char specs[DEVICES_MAX][64];
    int is_gpu[DEVICES_MAX], devices;
    struct check *checks;
    int count;
    int64_t timeout_ns, end_ns;
};

/* ---- what is tried --------------------------------------------------------- */

static void take_device(struct test *self, const hdp_device *device)
{
    if (self->devices == DEVICES_MAX || !device->spec[0])
        return;
    snprintf(self->specs[self->devices], sizeof self->specs[0], "%s",
             device->spec);
    self->is_gpu[self->devices++] = device->kind == HDP_CUDA;
}

/* Those of -d, else every GPU that this build can run. */
static int find_devices(struct test *self)
{
    struct bench *bench = self->bench;
    const char *spec = bench->options.spec;
    hdp_discover_options options;
    hdp_topology *topology = NULL;
    hdp_topology_info info;

    hdp_options_init(&options, sizeof options);
    hdp_options_init(&info, sizeof info);
    options.machine = spec[0] ? spec : NULL;
    int code =
        library_try(bench, hdp_discover(&topology, bench->context, &options));
    if (!code)
        code = library_try(bench, hdp_topology_get(&info, topology));
    for (int32_t i = 0; !code && i < info.device_count; ++i) {
        hdp_device device;
        hdp_options_init(&device, sizeof device);
        code = library_try(bench, hdp_topology_device(&device, topology, i));
        if (!code && (spec[0] || (device.kind == HDP_CUDA && device.runnable)))
            take_device(self, &device);
    }
    hdp_topology_destroy(topology);
    return code;
}

static void add_check(struct test *self, enum check_kind kind, int first,
                      int second)
{
    struct check *check = &self->checks[self->count++];
    char spec[DEVICES_MAX * 66] = "";

    check->kind = kind;
    check->first = first;
    check->second = second;
    for (int i = 0; i < self->devices; ++i)
        if (first < 0 || i == first || i == second)
            snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "%s%s",
                     spec[0] ? "+" : "", self->specs[i]);
    check_prepare(check, self->bench, spec, self->timeout_ns);
}

static int add_checks(struct test *self)
{
    size_t n = (size_t)self->devices;
    int gpus = 0;

    for (int i = 0; i < self->devices; ++i)
        gpus += self->is_gpu[i];
    self->checks = calloc(4 * n + n * n + 2, sizeof *self->checks);
    if (!self->checks)
        return library_no_memory(self->bench);
    for (int kind = CHECK_MEMORY; kind <= CHECK_COPIES; ++kind)
        for (int i = 0; i < self->devices; ++i)
            add_check(self, (enum check_kind)kind, i, -1);
    for (int i = 0; i < self->devices; ++i)
        for (int k = i + 1; k < self->devices; ++k) {
            if (self->is_gpu[i] && self->is_gpu[k])
                add_check(self, CHECK_WAYS, i, k);
            add_check(self, CHECK_STAGED, i, k);
        }
    if (self->devices > 1)
        add_check(self, CHECK_REDUCE, -1, -1);
    if (gpus > 1)
        add_check(self, CHECK_REDUCE_PEER, -1, -1);
    return EXIT_OK;
}

/* ---- what must not be tried ------------------------------------------------ */

static int touches(const struct check *check, int device)
{
    return check->first < 0 || check->first == device ||
           check->second == device;
}

static void skip(struct check *check, const char *why)
{
    check->state = CHECK_SKIPPED;
    snprintf(check->cause, sizeof check->cause, "not tried: %s", why);
}

/* A device that failed would only fail again, and hide what is asked here. */
static int spoils(const struct check *earlier, const struct check *check)
{
    if (earlier->state != CHECK_FAILED || earlier->kind >= check->kind)
        return 0;
    if (earlier->kind <= CHECK_COPIES)
        return (touches(check, earlier->first) && check->kind > CHECK_COPIES &&
                (earlier->kind == CHECK_MEMORY || check->kind != CHECK_WAYS)) ||
               (earlier->kind == CHECK_MEMORY &&
                earlier->first == check->first);
    return check->kind == CHECK_REDUCE_PEER ||
           (check->kind == CHECK_REDUCE && earlier->kind == CHECK_STAGED);
}

static int is_spoiled(struct test *self, struct check *check)
{
    char why[256];

    for (const struct check *other = self->checks; other < check; ++other) {
        if (!spoils(other, check))
            continue;
        snprintf(why, sizeof why, "%s%s%s failed (%s)",
                 self->specs[other->first], other->second < 0 ? "" : " and ",
                 other->second < 0 ? "" : self->specs[other->second],
                 check_name(other->kind));
        skip(check, why);
        return 1;
    }
    return 0;
}

/* ---- running them ---------------------------------------------------------- */

static int runs(const struct check *check)
{
    return check->child.end == CHILD_RUNS;
}

/* 1: the next in line may begin; pairs come after every device, the whole after
 * every pair. */
static int may_begin(const struct test *self, const struct check *check)
{
    for (int i = 0; i < self->count; ++i) {
        const struct check *other = &self->checks[i];
        int before = check->kind > CHECK_COPIES && other->kind <= CHECK_COPIES;
        before |= check->first < 0 && other->first >= 0;
        if (before && other->state == CHECK_WAITS)
            return 0;
        if (!runs(other))
            continue;
        if (other->first < 0 || check->first < 0 ||
            touches(other, check->first) ||
            (check->second >= 0 && touches(other, check->second)))
            return 0;
    }
    return 1;
}

static void begin(struct test *self)
{
    int running = 0;

    for (int i = 0; i < self->count; ++i)
        running += runs(&self->checks[i]);
    for (int i = 0; i < self->count && running < SIDE_BY_SIDE; ++i) {
        struct check *check = &self->checks[i];
        int64_t now = library_now(), deadline = now + self->timeout_ns;
        if (check->state != CHECK_WAITS || runs(check) ||
            !may_begin(self, check) || is_spoiled(self, check))
            continue;
        if (now >= self->end_ns || interrupt_seen()) {
            skip(check, "the time was up");
            continue;
        }
        child_start(&check->child, check->words,
                    deadline < self->end_ns ? deadline : self->end_ns);
        if (runs(check))
            running++;
        else
            check_judge(check);
    }
}

static int settle(struct test *self)
{
    struct child *children[SIDE_BY_SIDE];
    struct check *checks[SIDE_BY_SIDE];
    int n = 0, done = 0;

    for (int i = 0; i < self->count && n < SIDE_BY_SIDE; ++i)
        if (runs(&self->checks[i])) {
            checks[n] = &self->checks[i];
            children[n++] = &self->checks[i].child;
        }
    (void)child_wait(children, n);
    for (int i = 0; i < n; ++i)
        if (!runs(checks[i]))
            check_judge(checks[i]);
    for (int i = 0; i < self->count; ++i)
        done += self->checks[i].state != CHECK_WAITS;
    notes_progress(&self->bench->notes, "checks", done, self->count);
    return done;
}

static void run_all(struct test *self)
{
    do
        begin(self);
    while (settle(self) < self->count);
}

int doctor_test(struct doctor *doctor)
{
    static struct test self; /* large */
    int64_t asked_ns = doctor->bench->options.timeout_ns;
    int code;

    self.doctor = doctor;
    self.bench = doctor->bench;
    self.timeout_ns = asked_ns > 0 ? asked_ns : patience_ns;
    self.end_ns =
        library_now() +
        (asked_ns > patience_ns ? 3 * asked_ns + 4 * second_ns : whole_ns);
    code = find_devices(&self);
    if (!code && self.devices == 0) {
        doctor_say(doctor, "test", DOCTOR_NOTE,
                   "name others with -d, such as host:0-1/threads=1",
                   "there is no GPU to try");
        return EXIT_OK;
    }
    if (!code)
        code = add_checks(&self);
    if (!code) {
        run_all(&self);
        code =
            check_report(doctor, &(struct checks){ self.specs, self.devices,
                                                   self.checks, self.count });
    }
    for (int i = 0; i < self.count; ++i)
        check_drop(&self.checks[i]);
    free(self.checks);
    return code;
}
