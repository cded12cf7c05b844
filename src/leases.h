/* What the files of leases share: the folder, a lock, what a lock tells of its
 * holder, and the devices that a claim is about. */
#ifndef HDPI_LEASES_H
#define HDPI_LEASES_H
#include <hdp/lease.h>
#include <sys/types.h>
#include "internal.h"

enum {
    HDPI_LEASE_NAME_MAX = 96, /* of a lock file, NUL included */
    HDPI_LEASE_PATH_MAX = 256,
    HDPI_LEASE_TEXT_MAX = 256,
    HDPI_LEASE_PID_MAX = 1 << 22 /* Linux has none above, on any machine */
};

/* ---- lease_mark.c: what the kernel keeps with a lock --------------------- */

/* Who holds a lock since when. It is the byte range of a read lock that each
 * holder keeps beside its flock, bound to the same open file description: the
 * kernel tells it to whoever asks (F_OFD_GETLK takes nothing, so asking makes
 * nobody fail, which a try of the lock itself would), it needs no write access
 * to another user's file, and it goes when the lock goes. A text in the file
 * could be stale, forged in advance, or cut. */
struct hdpi_lease_mark {
    int32_t pid;
    uint32_t uid;
    uint32_t space; /* which pid namespace counted, 7 bits of its number */
    int64_t since_s;
};

/** Range of a mark; since_s 0 to 2^40 - 2, pid below HDPI_LEASE_PID_MAX. */
void hdpi_lease_mark_pack(const struct hdpi_lease_mark *mark, int64_t *start,
                          int64_t *length);
/** 0 for a range that no mark has. */
int hdpi_lease_mark_unpack(struct hdpi_lease_mark *mark, int64_t start,
                           int64_t length);

/** This process, now. */
void hdpi_lease_mark_own(struct hdpi_lease_mark *mark);

/** Puts a mark on a lock file, in place of the description's former one. What
 *  fails is only ever telling, so it answers nothing. */
void hdpi_lease_mark_set(int fd, const struct hdpi_lease_mark *mark);
/** Takes it away for everybody who has the descriptor: a forked child that
 *  still has it would name the former holder beside the next one. */
void hdpi_lease_mark_clear(int fd);
/** The mark of another description; 1 found, 0 none, -1 cannot tell. */
int hdpi_lease_mark_get(int fd, struct hdpi_lease_mark *mark);

/* The guard: a byte of the folder for each name, locked likewise. It tells a
 * device held whose lock file was deleted or swapped meanwhile. */
void hdpi_lease_guard_set(int folder, const char *name, int shared);
/** Whether another description guards the name; 1, 0, or -1 cannot tell. */
int hdpi_lease_guarded(int folder, const char *name, int shared);
void hdpi_lease_guard_clear(int folder, const char *name, int shared);

/* ---- lease_folder.c ------------------------------------------------------ */

struct hdpi_lease_wish { /* the candidates for the folder, in order */
    const char *option, *variable;
    const char *scheduler;    /* its name; NULL: there is none */
    const char *system, *own; /* paths; own without the user's number */
};

struct hdpi_lease_folder {
    int fd; /* -1: not open; a description of its own for each lease */
    int32_t scope;
    uid_t owner;
    int open_to_all; /* others may write there: strangers' files are refused */
    char path[HDPI_LEASE_PATH_MAX];
    char note[HDPI_LEASE_TEXT_MAX];
};

/** The wish of a context and of options. */
void hdpi_lease_wish_make(struct hdpi_lease_wish *wish,
                          const hdp_context *context, const char *option);

/** Opens the first candidate and checks it. `folder->fd` is -1 on error. */
hdp_status hdpi_lease_folder_open(struct hdpi_lease_folder *folder,
                                  const struct hdpi_lease_wish *wish,
                                  const struct hdpi_log *log);

/** The same checks of a folder that is open already, as `path`. */
hdp_status hdpi_lease_folder_check(struct hdpi_lease_folder *folder);

/** Whether its path still leads to it; HDP_ERR_SYSTEM when not. */
hdp_status hdpi_lease_folder_still(const struct hdpi_lease_folder *folder);

/** Moves a new descriptor out of the way: clear of the standard three, which
 *  somebody may open anew, and where it can be of those that a job's script
 *  uses (exec 3>log). -1 and errno when it can be neither. */
int hdpi_lease_lift(int fd);

/** Name of a network file system by statfs's f_type; NULL: a local one. */
const char *hdpi_lease_network(uint64_t type);

/* ---- lease_lock.c -------------------------------------------------------- */

struct hdpi_lease_lock {
    char name[HDPI_LEASE_NAME_MAX]; /* of the file */
    int32_t shared;
    int fd; /* -1: not held */
};

/** Opens a lock file and checks it. With `make` a missing one is made;
 *  otherwise *out is -1 and HDP_OK. HDP_ERR_SYSTEM names the file and why. */
hdp_status hdpi_lease_open(int *out, const struct hdpi_lease_folder *folder,
                           const char *name, int make);

/** Takes a lock without waiting: the flock, then proof that file and folder
 *  still are what was locked. HDP_ERR_BUSY (no text) when another has it. */
hdp_status hdpi_lease_take(struct hdpi_lease_lock *lock,
                           const struct hdpi_lease_folder *folder);

/** The same of a descriptor that holds the lock already: `lock->fd` is the
 *  caller's, also after an error. */
hdp_status hdpi_lease_verify(struct hdpi_lease_lock *lock,
                             const struct hdpi_lease_folder *folder);

/** Lets go, for everybody who has the descriptor, and closes it. */
void hdpi_lease_drop(struct hdpi_lease_lock *lock,
                     const struct hdpi_lease_folder *folder);

/** How a name stands, by its guard alone: FREE, HELD, PARTLY, UNKNOWN. */
int32_t hdpi_lease_state(const struct hdpi_lease_folder *folder,
                         const char *name, int shared);

/** The same and who holds it; fills all but uuid and spec. Never fails: what
 *  is wrong is state REFUSED. */
void hdpi_lease_look(hdp_lease_entry *out,
                     const struct hdpi_lease_folder *folder, const char *name,
                     int shared);

/* ---- lease.c ------------------------------------------------------------- */

struct hdp_lease {
    struct hdpi_object object;
    pid_t creator;
    _Atomic int32_t handed; /* 1: others may hold on; lift nothing */
    struct hdpi_lease_folder folder;
    struct hdpi_lease_lock *locks; /* in the order of their names */
    int32_t lock_count;
    hdp_lease_device_info *devices;
    hdp_lease_info info;
};

/** An empty lease with room for so many devices and their locks. */
hdp_status hdpi_lease_new(hdp_lease **out, size_t devices);
/** Lets go of all its locks, for everybody. */
void hdpi_lease_drop_all(hdp_lease *lease);
/** Frees it; its locks are gone already, or another's. */
void hdpi_lease_free(hdp_lease *lease);
/** Once it holds all it shall hold. */
void hdpi_lease_fill_info(hdp_lease *lease);

/* ---- lease_choice.c ------------------------------------------------------ */

struct hdpi_lease_candidate {
    hdp_device info;
    char name[HDPI_LEASE_NAME_MAX];  /* of the lock file that is its own */
    char whole[HDPI_LEASE_NAME_MAX]; /* a partition: of its GPU's; else "" */
    double rank;                     /* chosen from the smallest on */
};

struct hdpi_lease_choice {
    struct hdpi_lease_candidate *candidates; /* in the specification's order */
    int32_t count;
    int32_t *order; /* of choosing: indices */
    int32_t policy;
};

/** Finds the devices; release with hdpi_lease_choice_finish(), also after an
 *  error. `choice` is zeroed by the caller. */
hdp_status hdpi_lease_choice_make(struct hdpi_lease_choice *choice,
                                  hdp_context *context, const char *spec,
                                  const hdp_lease_options *options);
void hdpi_lease_choice_finish(struct hdpi_lease_choice *choice);

/** Puts candidates in the order of the policy; again for figures that
 *  change. */
hdp_status hdpi_lease_choice_rank(struct hdpi_lease_choice *choice,
                                  const hdp_context *context,
                                  const hdp_profile *profile);

/** Looks at one candidate, its own name and its GPU's; and the same for its
 *  state alone, quickly. */
void hdpi_lease_choice_look(hdp_lease_entry *out,
                            const struct hdpi_lease_candidate *candidate,
                            const struct hdpi_lease_folder *folder);
int32_t hdpi_lease_choice_state(const struct hdpi_lease_candidate *candidate,
                                const struct hdpi_lease_folder *folder);

/* ---- lease_idle.c -------------------------------------------------------- */

/** Ranks by use and free memory, as the management library tells them now.
 *  HDP_ERR_UNSUPPORTED with the reason where it does not. */
hdp_status hdpi_lease_rank_idle(struct hdpi_lease_choice *choice,
                                const hdp_context *context);

/* ---- lease_text.c -------------------------------------------------------- */

/* "7=.,8=GPU-ab,9=~GPU-cd": the folder's descriptor, then a lock each; ~ is a
 * shared one. */

/* Two for each device that a specification can have. */
enum { HDPI_LEASE_LOCKS_MAX = 8192 };

struct hdpi_lease_fds {
    int folder;
    struct hdpi_lease_lock *locks;
    int32_t count;
};

/** Length without NUL; writes at most capacity bytes, always terminated. */
size_t hdpi_lease_text_write(char *out, size_t capacity,
                             const struct hdpi_lease_fds *fds);
/** HDP_ERR_ARGUMENT with the 1-based position; HDP_ERR_MEMORY. The caller frees
 *  locks, NULL on error. */
hdp_status hdpi_lease_text_read(struct hdpi_lease_fds *out, const char *text);

/** 1 for what can be the name of a device in a file's name. */
int hdpi_lease_name_ok(const char *name, size_t length);

/** RFC 3339 in UTC; "" for 0 and for what no calendar has. */
void hdpi_lease_time(char out[32], int64_t unix_s);
#endif
