/* Leases that pass from program to program, parts of GPUs, and where the
 * environment has a say: this program is started again in a role of its own. */
#include <sys/auxv.h>
#include "child.h"
#include "lease_room.h"

#define TWO "sim:0/uuid=GPU-a+sim:1/uuid=GPU-b"

static struct room room;

/* ---- handing over ----------------------------------------------------------- */

/* Starts this program in a role, with the lease; what it says comes through
 * the descriptor returned. */
static pid_t give_to(const hdp_lease *lease, const char *role, const char *text,
                     int *out_report)
{
    hdp_lease_info info = { .size = sizeof info };
    int ends[2];

    expect_ok(hdp_lease_get(&info, lease));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = room_fork();
    if (child == 0) {
        struct child given = { .role = role, .argument = text };
        for (int32_t i = 0; i < info.descriptor_count; ++i) {
            int32_t fd = -1;
            /* a forked child is refused; the numbers are in the text */
            (void)hdp_lease_descriptor(&fd, lease, i);
            if (fd != -1)
                _exit(119);
        }
        for (const char *at = text; *at;) {
            (void)fcntl((int)strtol(at, NULL, 10), F_SETFD, 0);
            at += strcspn(at, ",");
            at += *at == ',';
        }
        child_become(&given, ends[1]);
    }
    (void)close(ends[1]);
    *out_report = ends[0];
    return child;
}

static void hear(int report, char *text, size_t size)
{
    ssize_t got = read(report, text, size - 1);

    text[got > 0 ? got : 0] = '\0';
}

static void a_lease_lives_with_the_job(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    hdp_lease_entry entry;
    char text[128], said[256];
    int report;

    (void)state;
    expect_ok(room_claim(&lease, &room, TWO, 0, 0));
    expect_ok(hdp_lease_hand_over(lease, text, sizeof text, NULL));
    pid_t child = give_to(lease, "adopt", text, &report);
    hear(report, said, sizeof said);
    assert_string_equal(said, "adopted GPU-a,GPU-b");
    hdp_lease_destroy(lease); /* closes, and lifts nothing */
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, TWO, 1, 0));
    room_look(&entry, &room, TWO);
    expect_number(HDP_LEASE_HELD, entry.state, "state");
    expect_number(child, entry.pid, "the adopter named");
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
    (void)close(report);
    expect_ok(room_claim(&other, &room, TWO, 2, 0));
    hdp_lease_destroy(other);
}

/* A program that knows nothing of leases keeps it just as well. */
static void a_plain_job_keeps_it(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    hdp_lease_entry entry;
    char text[128], said[64];
    int report;

    (void)state;
    expect_ok(room_claim(&lease, &room, TWO, 0, 0));
    expect_ok(hdp_lease_hand_over(lease, text, sizeof text, NULL));
    pid_t child = give_to(lease, "plain", text, &report);
    expect_ok(hdp_lease_name_holder(lease, child));
    hear(report, said, sizeof said);
    assert_string_equal(said, "here");
    hdp_lease_destroy(lease);
    room_look(&entry, &room, TWO);
    expect_number(HDP_LEASE_HELD, entry.state, "state");
    expect_number(child, entry.pid, "the job named");
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, TWO, 2, 0));
    (void)kill(child, SIGKILL);
    (void)room_child_answer(child);
    (void)close(report);
    expect_ok(room_claim(&other, &room, TWO, 2, 0));
    hdp_lease_destroy(other);
}

/* The name of a process that is no more, whose job goes on. */
static void a_gone_holder_is_said_to_be_gone(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    hdp_lease_entry entry;

    (void)state;
    pid_t child = room_fork();
    if (child == 0)
        _exit(0);
    (void)room_child_answer(child);
    expect_ok(room_claim(&lease, &room, TWO, 0, 0));
    expect_ok(hdp_lease_name_holder(lease, child));
    room_look(&entry, &room, TWO);
    expect_number(child, entry.pid, "its number");
    expect_number(1, entry.gone, "gone");
    assert_string_equal(entry.command, "");
    expect_status(HDP_ERR_BUSY, room_claim(&other, &room, TWO, 1, 0));
    expect_has(hdp_last_error(), "(ended, its job has not)");
    hdp_lease_destroy(lease);
}

static void false_claims_are_not_adopted(void **state)
{
    hdp_lease *lease = NULL, *other = NULL;
    char text[128], path[128];
    int folder, file;

    (void)state;
    expect_status(HDP_ERR_NOT_FOUND,
                  hdp_lease_adopt(&other, room.context, NULL));
    expect_status(HDP_ERR_SYSTEM,
                  hdp_lease_adopt(&other, room.context, "900=.,901=GPU-a"));
    expect_has(hdp_last_error(), "descriptor 900");
    expect_ok(room_claim(&lease, &room, TWO, 0, 0));
    expect_ok(hdp_lease_hand_over(lease, text, sizeof text, NULL));
    expect_status(HDP_ERR_STATE, hdp_lease_adopt(&other, room.context, text));
    expect_has(hdp_last_error(), "close-on-exec");
    /* the lock file, opened by somebody who holds nothing */
    folder = open(room.path, O_RDONLY | O_DIRECTORY);
    (void)snprintf(path, sizeof path, "%s/GPU-a.lease", room.path);
    file = open(path, O_RDONLY);
    (void)snprintf(text, sizeof text, "%d=.,%d=GPU-a", folder, file);
    expect_status(HDP_ERR_BUSY, hdp_lease_adopt(&other, room.context, text));
    expect_has(hdp_last_error(), "GPU-a.lease: another process holds it");
    (void)snprintf(text, sizeof text, "%d=.,%d=GPU-b", folder, file);
    expect_status(HDP_ERR_SYSTEM, hdp_lease_adopt(&other, room.context, text));
    expect_has(hdp_last_error(), "not the same");
    (void)snprintf(text, sizeof text, "%d=.,%d=GPU-b", file, folder);
    expect_status(HDP_ERR_SYSTEM, hdp_lease_adopt(&other, room.context, text));
    expect_has(hdp_last_error(), "not a folder");
    expect_number(0, fcntl(file, F_GETFD),
                  "the caller's descriptor, as it was");
    (void)close(file);
    (void)close(folder);
    hdp_lease_destroy(lease);
}

static int role_adopt(const char *text)
{
    hdp_context *context = NULL;
    hdp_lease *lease = NULL, *again = NULL;
    hdp_lease_info info = { .size = sizeof info };
    char mask[128];

    must(setenv("HDP_LEASE_FDS", text, 1) == 0, "setenv");
    must(hdp_context_create(&context, NULL) == HDP_OK, "context");
    must(hdp_lease_adopt(&lease, context, NULL) == HDP_OK, "%s",
         hdp_last_error());
    must(hdp_lease_adopt(&again, context, NULL) == HDP_ERR_STATE, "again: %s",
         hdp_last_error());
    must(hdp_lease_get(&info, lease) == HDP_OK && info.adopted == 1, "info");
    must(hdp_lease_mask(lease, mask, sizeof mask, NULL) == HDP_OK, "mask");
    char spec[128];
    must(hdp_lease_spec(lease, spec, sizeof spec, NULL) == HDP_OK &&
             strcmp(spec, "cuda:GPU-a+cuda:GPU-b") == 0,
         "specification %s", spec);
    for (int32_t i = 0; i < info.descriptor_count; ++i) {
        int32_t fd = -1;
        must(hdp_lease_descriptor(&fd, lease, i) == HDP_OK &&
                 fcntl(fd, F_GETFD) == FD_CLOEXEC,
             "descriptor %d", (int)i);
    }
    child_say("adopted %s", mask);
    for (;;)
        (void)pause();
}

static _Noreturn void role_plain(void)
{
    child_say("here");
    for (;;)
        (void)pause();
}

/* ---- parts of a GPU ---------------------------------------------------------- */

/* A machine with one GPU: all of it, or parts of these sizes. */
static const char *machine_of(const char *name, const int *parts, int count)
{
    static char reference[128];
    char path[96];
    FILE *file;

    (void)snprintf(path, sizeof path, "%.48s/%s.json", room.path, name);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("{\"schema\":\"hdp.machine\",\"schema_version\":1,"
                "\"topology\":{\"schema\":\"hdp.topology\","
                "\"schema_version\":1,\"devices\":[",
                file);
    for (int i = 0; i < count; ++i)
        (void)fprintf(file,
                      "%s{\"backend\":\"sim\",\"logical_id\":%d,"
                      "\"spec\":\"sim:%d\",\"name\":\"GPU\","
                      "\"uuid\":\"GPU-x\",\"sms\":132,\"partition_sms\":%d}",
                      i ? "," : "", i, i, parts[i]);
    (void)fputs("]},\"profiles\":[],\"faults\":[]}", file);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(reference, sizeof reference, "@%s", path);
    return reference;
}

static void whole_and_part_exclude_each_other(void **state)
{
    hdp_lease *whole = NULL, *part = NULL, *second = NULL, *pair = NULL;
    hdp_lease_device_info device = { .size = sizeof device };
    hdp_lease_entry entry;
    char all[96], small[96], large[96], both[96];

    (void)state;
    (void)strcpy(all, machine_of("all", (int[]){ 0 }, 1));
    (void)strcpy(small, machine_of("small", (int[]){ 48 }, 1));
    (void)strcpy(large, machine_of("large", (int[]){ 84 }, 1));
    (void)strcpy(both, machine_of("both", (int[]){ 48, 84 }, 2));
    expect_ok(room_claim(&whole, &room, all, 0, 0));
    expect_status(HDP_ERR_BUSY, room_claim(&part, &room, small, 0, 0));
    hdp_lease_destroy(whole);
    expect_ok(room_claim(&part, &room, small, 0, 0));
    expect_ok(hdp_lease_device(&device, part, 0));
    assert_string_equal(device.file, "GPU-x+sms48.0.lease");
    assert_string_equal(device.uuid, "GPU-x");
    expect_number(1, device.shared, "shared");
    expect_status(HDP_ERR_BUSY, room_claim(&whole, &room, all, 0, 0));
    room_look(&entry, &room, all);
    expect_number(HDP_LEASE_PARTLY, entry.state, "the whole");
    expect_number(getpid(), entry.pid, "by whom");
    expect_status(HDP_ERR_BUSY, room_claim(&second, &room, small, 0, 0));
    expect_ok(room_claim(&second, &room, large, 0, 0));
    hdp_lease_destroy(part);
    expect_status(HDP_ERR_BUSY, room_claim(&whole, &room, all, 0, 0));
    hdp_lease_destroy(second);
    expect_ok(room_claim(&pair, &room, both, 0, 0));
    char mask[64];
    expect_ok(hdp_lease_mask(pair, mask, sizeof mask, NULL));
    assert_string_equal(mask, "GPU-x");
    expect_status(HDP_ERR_BUSY, room_claim(&part, &room, small, 0, 0));
    hdp_lease_destroy(pair);
    expect_ok(room_claim(&whole, &room, all, 0, 0));
    hdp_lease_destroy(whole);
    expect_status(HDP_ERR_ARGUMENT,
                  room_claim(&whole, &room,
                             machine_of("mixed", (int[]){ 0, 48 }, 2), 0, 0));
}

/* ---- the environment --------------------------------------------------------- */

/* Says where leases would be. */
static int role_where(void)
{
    hdp_context *context = NULL;
    hdp_lease_list *list = NULL;
    hdp_lease_list_info info = { .size = sizeof info };

    must(hdp_context_create(&context, NULL) == HDP_OK, "context");
    must(hdp_lease_list_create(&list, context, TWO, NULL) == HDP_OK, "%s",
         hdp_last_error());
    must(hdp_lease_list_get(&info, list) == HDP_OK, "info");
    child_say("%s%s", getauxval(AT_SECURE) ? "raised " : "", info.directory);
    hdp_lease_list_destroy(list);
    hdp_context_destroy(context);
    return 0;
}

static void the_variable_names_the_folder(void **state)
{
    struct child child = { .role = "where", .limit_ns = 10 * SECOND_NS };
    char set[96];

    (void)state;
    (void)snprintf(set, sizeof set, "HDP_LEASE_DIR=%.64s", room.path);
    child.set[0] = set;
    child.set[1] = "SLURM_JOB_GPUS=0"; /* what was chosen goes before it */
    expect_child(0, &child);
    assert_string_equal(child.text, room.path);
}

/* A program that runs with more rights than its caller believes no variable of
 * the caller's. */
static int copy_program(const char *path)
{
    char block[65536];
    ssize_t got;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

    while ((got = read(from, block, sizeof block)) > 0)
        if (write(to, block, (size_t)got) != got)
            got = -1;
    int bad = got != 0 || fchown(to, 0, 54323) != 0 || fchmod(to, 02755) != 0;
    (void)close(from);
    (void)close(to);
    return bad;
}

static void raised_rights_ignore_it(void **state)
{
    char path[96], set[96], said[256];
    int ends[2];

    (void)state;
    if (geteuid() != 0 || SANITIZED)
        skip();
    (void)snprintf(path, sizeof path, "%.64s/raised", room.path);
    (void)snprintf(set, sizeof set, "HDP_LEASE_DIR=%.64s", room.path);
    assert_int_equal(copy_program(path), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = room_fork();
    if (child == 0) {
        char *const words[] = { path, (char *)(uintptr_t) "where", NULL };
        char *const variables[] = { set, NULL };
        if (dup2(ends[1], CHILD_REPORT) < 0 || setgid(54322) != 0 ||
            setuid(54322) != 0)
            _exit(120);
        (void)execve(path, words, variables);
        _exit(122);
    }
    (void)close(ends[1]);
    hear(ends[0], said, sizeof said);
    (void)close(ends[0]);
    expect_number(0, room_child_answer(child), "the raised program: %s", said);
    (void)rmdir("/var/tmp/hdp-lease-54322");
    if (strncmp(said, "raised ", 7) != 0)
        skip(); /* a disk where no program is raised */
    if (strstr(said, room.path))
        fail_msg("expected the variable ignored, got %s", said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ROOM_TEST(a_lease_lives_with_the_job),
        ROOM_TEST(a_plain_job_keeps_it),
        ROOM_TEST(a_gone_holder_is_said_to_be_gone),
        ROOM_TEST(false_claims_are_not_adopted),
        ROOM_TEST(whole_and_part_exclude_each_other),
        ROOM_TEST(the_variable_names_the_folder),
        ROOM_TEST(raised_rights_ignore_it),
    };

    if (argc > 1 && strcmp(argv[1], "where") == 0)
        return role_where();
    if (argc > 1 && strcmp(argv[1], "plain") == 0)
        role_plain();
    if (argc > 2 && strcmp(argv[1], "adopt") == 0)
        return role_adopt(argv[2]);
    return cmocka_run_group_tests_name("lease_given", tests, NULL, NULL);
}
