/* A lease folder of its own for a test, and claims in it. */
#ifndef LEASE_ROOM_H
#define LEASE_ROOM_H
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <hdp/lease.h>
#include "process.h"
#include "scene.h"

#define FOUR                                                                   \
    "sim:0/uuid=GPU-a+sim:1/uuid=GPU-b+sim:2/uuid=GPU-c+sim:3/uuid=GPU-d"

static const int64_t MS = 1000000;

struct room {
    char path[64];
    hdp_context *context;
};

static inline void room_open(struct room *room)
{
    (void)snprintf(room->path, sizeof room->path, "/tmp/hdp-lease-test-XXXXXX");
    assert_non_null(mkdtemp(room->path));
    assert_int_equal(chmod(room->path, 0755), 0); /* for another user */
    expect_ok(hdp_context_create(&room->context, NULL));
}

static inline void room_close(struct room *room)
{
    DIR *folder = opendir(room->path);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0)
            (void)unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
    if (folder)
        (void)closedir(folder);
    (void)rmdir(room->path);
    hdp_context_destroy(room->context);
}

/* A room for each test of a program that has but one. */
#define ROOM_TEST(name)                                                        \
    cmocka_unit_test_prestate_setup_teardown(name, room_setup, room_teardown,  \
                                             &room)

static inline int room_setup(void **state)
{
    room_open(*state);
    return 0;
}

static inline int room_teardown(void **state)
{
    room_close(*state);
    return 0;
}

static inline hdp_status room_claim(hdp_lease **out, const struct room *room,
                                    const char *spec, int32_t count,
                                    int64_t timeout_ns)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;

    options.directory = room->path;
    options.count = count;
    options.timeout_ns = timeout_ns;
    return hdp_lease_acquire(out, room->context, spec, &options);
}

/* How the first device of a specification stands. */
static inline void room_look(hdp_lease_entry *out, const struct room *room,
                             const char *spec)
{
    hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
    hdp_lease_list *list = NULL;

    options.directory = room->path;
    out->size = sizeof *out;
    expect_ok(hdp_lease_list_create(&list, room->context, spec, &options));
    expect_ok(hdp_lease_list_entry(out, list, 0));
    hdp_lease_list_destroy(list);
}

/* A child dies with the test. It must not use the checks of this harness: one
 * that fails there would go on as a second harness. */
static inline pid_t room_fork(void)
{
    pid_t parent = getpid(), child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(118);
    }
    return child;
}

/* What a child that ends by itself ends with. */
static inline int room_child_answer(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* In a child of root's. */
static inline void room_become(uid_t user, gid_t group)
{
    if (setgroups(0, NULL) != 0 || setgid(group) != 0 || setuid(user) != 0)
        _exit(90);
}

/* Forks a child that claims, as another user where it is one, and returns when
 * it has. */
static inline pid_t room_holder_as(const struct room *room, const char *spec,
                                   uid_t user, gid_t group)
{
    hdp_lease *lease = NULL;
    int ends[2];
    char byte = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = room_fork();
    if (child == 0) {
        if (user != geteuid())
            room_become(user, group);
        byte = room_claim(&lease, room, spec, 0, 0) == HDP_OK ? 'y' : 'n';
        if (write(ends[1], &byte, 1) == 1)
            for (;;)
                (void)pause();
        _exit(1);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    if (byte != 'y')
        fail_msg("%s: expected user %ld to get it, got '%c'", spec, (long)user,
                 byte);
    return child;
}

static inline pid_t room_holder(const struct room *room, const char *spec)
{
    return room_holder_as(room, spec, geteuid(), getegid());
}

#define expect_has(text, part)                                                 \
    do {                                                                       \
        if (!strstr((text), (part)))                                           \
            fail_msg("expected \"%s\" in \"%s\"", (part), (text));             \
    } while (0)
#endif
