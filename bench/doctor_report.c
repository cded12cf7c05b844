/* What the checks say together: failures of one cause are one finding, and the
 * ways between the devices a matrix. */
#include <string.h>

#include "doctor_check.h"
#include "table.h"

static const char TEST[] = "test";

/* ---- findings -------------------------------------------------------------- */

/* A device alone, a pair, all. */
static int scope(const struct check *check)
{
    return check->first < 0 ? 2 : check->second >= 0;
}

static int same_subject(const struct check *a, const struct check *b)
{
    return a->first == b->first && a->second == b->second;
}

/* The first failure of the same device: what failed after it is its doing. Of a
 * pair each is told by itself. */
static const struct check *lead(const struct checks *checks,
                                const struct check *check)
{
    for (const struct check *other = checks->all; other < check; ++other)
        if (other->state == CHECK_FAILED && scope(check) == 0 &&
            same_subject(other, check))
            return other;
    return check;
}

static int same_cause(const struct checks *checks, const struct check *a,
                      const struct check *b)
{
    if (b->state != CHECK_FAILED || scope(a) != scope(b) ||
        (scope(a) == 1 && !same_subject(a, b)))
        return 0;
    a = lead(checks, a);
    b = lead(checks, b);
    return a->kind == b->kind && a->child.end == b->child.end &&
           a->vendor_code == b->vendor_code;
}

static void name_subject(const struct checks *checks, const struct check *check,
                         char *out, size_t size)
{
    if (check->first < 0)
        snprintf(out, size, "all together");
    else if (check->second >= 0)
        snprintf(out, size, "%s and %s", checks->specs[check->first],
                 checks->specs[check->second]);
    else
        snprintf(out, size, "%s", checks->specs[check->first]);
}

static void join(char *list, size_t size, const char *word)
{
    size_t used = strlen(list), length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return; /* stands there */
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}

static const char *advice(const struct check *check)
{
    if (check->kind == CHECK_WAYS)
        return "leave peer access between them off (hdp does; NCCL: export "
               "NCCL_P2P_DISABLE=1) and look at IOMMU and ACS in the BIOS; to "
               "see it: ";
    if (check->kind == CHECK_MEMORY)
        return "see who holds the device (nvidia-smi) and the kernel's log "
               "(dmesg | grep Xid); to see it: ";
    if (check->vendor_code)
        return "look at dmesg | grep Xid and nvidia-smi -q, reset or reboot if "
               "it stays; to see it: ";
    return "to see it: ";
}

static void tell(struct doctor *doctor, const struct checks *checks,
                 struct check *first)
{
    char subjects[512] = "", names[128] = "", one[160];
    char remedy[CHECK_LINE_MAX + 256];

    for (struct check *check = first; check < checks->all + checks->count;
         ++check) {
        if (check->told || !same_cause(checks, first, check))
            continue;
        check->told = 1;
        name_subject(checks, check, one, sizeof one);
        join(subjects, sizeof subjects, one);
        join(names, sizeof names, check_name(check->kind));
    }
    snprintf(remedy, sizeof remedy, "%s%s", advice(first), first->line);
    doctor_say(doctor, TEST, DOCTOR_ERROR, remedy, "%s: %s: %s", subjects,
               names, first->cause);
}

/* ---- sections -------------------------------------------------------------- */

static json_t *check_json(const struct checks *checks,
                          const struct check *check)
{
    static const char *const states[] = { "waits", "ok", "failed", "skipped" };
    const struct child *child = &check->child;
    json_t *json = json_object();
    char subject[160];

    name_subject(checks, check, subject, sizeof subject);
    json_object_set_new(json, "check", json_string(check_name(check->kind)));
    json_object_set_new(json, "subject", document_text_or_null(subject));
    json_object_set_new(json, "state", json_string(states[check->state]));
    json_object_set_new(
        json, "cause",
        document_text_or_null(check->cause[0] ? check->cause : NULL));
    json_object_set_new(json, "elapsed_ns",
                        child->ended_ns > child->started_ns
                            ? json_integer(child->ended_ns - child->started_ns)
                            : json_null());
    json_object_set_new(json, "line", document_text_or_null(check->line));
    return json;
}

static const struct check *find(const struct checks *checks,
                                enum check_kind kind, int a, int b)
{
    for (int i = 0; i < checks->count; ++i) {
        const struct check *check = &checks->all[i];
        if (check->kind == kind && check->first == (a < b ? a : b) &&
            check->second == (a < b ? b : a))
            return check;
    }
    return NULL;
}

/* What the pair's child said of this way; NULL: nothing. */
static const char *told_way(const struct check *check, int forward)
{
    const json_t *ways = check ? json_object_get(check->reply, "ways") : NULL;

    for (size_t i = 0; i < json_array_size(ways); ++i) {
        const json_t *row = json_array_get(ways, i);
        if (document_number(row, "from") == !forward)
            return document_text(row, "way");
    }
    return NULL;
}

static const char *device_word(const struct checks *checks, int device)
{
    int tried = 0;

    for (int i = 0; i < checks->count; ++i) {
        const struct check *check = &checks->all[i];
        if (check->first != device || check->second >= 0)
            continue;
        if (check->state == CHECK_FAILED)
            return "fails";
        tried |= check->state == CHECK_OK;
    }
    return tried ? "ok" : "-";
}

static const char *way_word(const struct checks *checks, int from, int to)
{
    const struct check *direct = find(checks, CHECK_WAYS, from, to);
    const struct check *staged = find(checks, CHECK_STAGED, from, to);
    const char *way = told_way(direct, from < to);

    if (from == to)
        return device_word(checks, from);
    if (way && strcmp(way, "host") != 0)
        return way;
    if (!way && direct && direct->state == CHECK_FAILED)
        return json_object_get(direct->reply, "ways") ? "-" /* after a hang */
               : direct->child.end == CHILD_LATE      ? "hangs"
                                                      : "fails";
    if (staged && staged->state == CHECK_FAILED)
        return "fails";
    return staged && staged->state == CHECK_OK ? "host" : "-";
}

static void show_matrix(struct doctor *doctor, const struct checks *checks)
{
    enum { COLUMNS = 9 };
    FILE *out = doctor->bench->document.text;
    json_t *list = json_array();
    int shown = checks->devices <= COLUMNS;

    if (shown)
        fprintf(out, "\n  from \\ to %6s", "");
    for (int to = 0; shown && to < checks->devices; ++to)
        fprintf(out, " %8.8s", checks->specs[to]);
    for (int from = 0; from < checks->devices; ++from) {
        if (shown)
            fprintf(out, "\n  %-16.16s", checks->specs[from]);
        for (int to = 0; to < checks->devices; ++to) {
            const char *word = way_word(checks, from, to);
            json_t *row = json_object();
            json_object_set_new(row, "from",
                                document_text_or_null(checks->specs[from]));
            json_object_set_new(row, "to",
                                document_text_or_null(checks->specs[to]));
            json_object_set_new(row, "way", json_string(word));
            json_array_append_new(list, row);
            if (shown)
                fprintf(out, " %8s", word);
        }
    }
    fputs(shown ? "\n  peer: directly; host: through the host's memory; wrong: "
                  "bytes are lost\n"
                : "",
          out);
    document_set(&doctor->bench->document, "matrix", list);
}

int check_report(struct doctor *doctor, const struct checks *checks)
{
    json_t *list = json_array();
    int ok = 0, failed = 0, skipped = 0;

    for (int i = 0; i < checks->count; ++i) {
        const struct check *check = &checks->all[i];
        json_array_append_new(list, check_json(checks, check));
        ok += check->state == CHECK_OK;
        failed += check->state == CHECK_FAILED;
        skipped += check->state == CHECK_SKIPPED;
    }
    document_set(&doctor->bench->document, "tests", list);
    doctor_say(doctor, TEST, DOCTOR_OK, NULL,
               "%d checks of %d devices: %d passed, %d failed, %d not tried",
               checks->count, checks->devices, ok, failed, skipped);
    for (int i = 0; i < checks->count; ++i)
        if (checks->all[i].state == CHECK_FAILED && !checks->all[i].told)
            tell(doctor, checks, &checks->all[i]);
    if (skipped)
        doctor_say(doctor, TEST, failed ? DOCTOR_NOTE : DOCTOR_WARNING,
                   "name fewer devices with -d, or mend what failed and try "
                   "again; -o json lists each with its reason",
                   "%d checks were not tried: they need what failed, or the "
                   "time was up",
                   skipped);
    show_matrix(doctor, checks);
    if (!failed)
        return EXIT_OK;
    return failure_own(&doctor->bench->failure, EXIT_CHECK, HDP_OK,
                       "%d of %d checks failed; the findings say which and "
                       "what to do",
                       failed, checks->count);
}
