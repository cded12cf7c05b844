/*
 * hdp/lease.h: one job a GPU, across processes and users of one machine.
 *
 * For servers whose GPUs are shared. A lease is a claim on devices that ends
 * with the process that holds it, however it ends. Groups know nothing of
 * leases: take one first, then make a group of what was granted. The rules at
 * the top of hdp.h hold here too.
 *
 *     hdp_lease_options options = HDP_LEASE_OPTIONS_INIT;
 *     options.count = 2;                      // any two that are free
 *     options.timeout_ns = 600000000000;      // within ten minutes
 *     hdp_lease_acquire(&lease, context, "auto", &options);
 *     hdp_lease_spec(lease, text, sizeof text, NULL);
 *     hdp_group_create_spec(&group, context, text, NULL);
 *     ...
 *     hdp_lease_destroy(lease);
 *
 * How it works. Each device has an empty lock file named by its UUID in a
 * folder that all jobs share; to hold a device is to hold a kernel file lock
 * on it. The kernel lets go when the last descriptor is closed, so a killed
 * job leaves nothing behind, and a stopped one still owns. Nothing is ever
 * written to a lock file and none is ever deleted: not by the library, and
 * not by you, since a new file would let a second holder in. (One that is
 * deleted or swapped while held is noticed, and the device counts as held. A
 * folder that is moved away or replaced takes its leases along: those who wait
 * in it are then refused, but who holds one is not seen in the new folder.)
 * Who holds a device since when is told by the kernel together with the lock,
 * so it cannot be out of date.
 *
 * A lease is advice. It keeps out those who ask for one, nobody else; and
 * whoever may lock can keep others waiting. No queue: who asks next after a
 * release gets it. A job that was given a lease has its devices: a claim on
 * them inside it finds them held.
 *
 * Which folder, the first that applies:
 *   1. hdp_lease_options.directory; a relative one is told as an absolute one
 *   2. the variable HDP_LEASE_DIR, ignored when the process has raised rights
 *   3. inside an allocation of Slurm (SLURM_JOB_GPUS or SLURM_STEP_GPUS is set)
 *      or a pod of Kubernetes (KUBERNETES_SERVICE_HOST): the user's own, 5.
 *      The scheduler has given these GPUs to this job alone, so its word goes
 *      before that of leases of others; jobs of one user still keep apart.
 *   4. /var/lib/hdp/lease, where the administrator has made it
 *   5. /var/tmp/hdp-lease-UID, made when needed. Other users are not
 *      coordinated with; a warning says so (but not in case 3).
 * For 4, once, as root, for the members of a group of users:
 *     install -d -m 2770 -g gpu /var/lib/hdp/lease
 * A folder that everybody may write to needs the sticky bit, and a lock file
 * in it must be its user's, root's or the folder's owner's, since any other
 * owner could delete it; there root makes the files, once, by
 * `hdp_bench lease -d cuda:all -- true`. Network file systems are refused:
 * their locks are not those of this kernel.
 *
 * Containers share leases only where they share the folder: mount it into each
 * of them. hdp_lease_info.note and hdp_lease_list_info.note say in words whom
 * a lease does not reach.
 *
 * What is locked. A GPU, a MIG instance and a simulated device by their own
 * UUID. A partition of a GPU (cuda:0/sms=48) has a name of its own and shares
 * the GPU with other partitions of other names: a lease of the whole GPU and
 * one of a part of it exclude each other. How many SMs the parts have together
 * is not counted. Host members have no lasting identity and are refused.
 *
 * fork() and exec(). Descriptors are close-on-exec. In a forked child the
 * lease is refused with HDP_ERR_FORKED; hdp_lease_destroy() there closes its
 * copies, and the parent keeps the lease. The parent's hdp_lease_destroy() lets
 * go whatever its children still have open, but if it dies instead, a child
 * that has not closed them holds on until it ends. To give a lease to another
 * program on purpose: hdp_lease_hand_over() here, hdp_lease_adopt() there.
 */
#ifndef HDP_LEASE_H
#define HDP_LEASE_H
#include "hdp.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Devices held by this process until hdp_lease_destroy(). Needs no context
 *  once it is made. Immutable: getters are free for any thread. */
typedef struct hdp_lease hdp_lease;

/** Which devices are held, by whom and since when, at one moment; a noun. */
typedef struct hdp_lease_list hdp_lease_list;

/** Which of several free devices (hdp_lease_options.policy). */
enum {
    HDP_LEASE_FIRST = 0,   /**< in the order of the specification */
    HDP_LEASE_FASTEST = 1, /**< by the rates of a profile; what it does not
                            *   know comes last */
    HDP_LEASE_MEMORY = 2,  /**< most free memory, as discovery found it */
    HDP_LEASE_IDLE = 3     /**< least used, then most free memory; asks the
                            *   management library (NVML) at each try */
};

/** Whom a folder's leases keep apart (hdp_lease_info.scope). */
enum {
    HDP_LEASE_CHOSEN = 1,    /**< all who chose the same folder */
    HDP_LEASE_SYSTEM = 2,    /**< all users of the system's folder */
    HDP_LEASE_SCHEDULED = 3, /**< jobs of this user; a scheduler keeps the
                              *   others out */
    HDP_LEASE_USER = 4       /**< jobs of this user alone */
};

/** How a device stands (hdp_lease_entry.state). */
enum {
    HDP_LEASE_FREE = 1,    /**< nobody holds it */
    HDP_LEASE_HELD = 2,    /**< somebody does */
    HDP_LEASE_PARTLY = 3,  /**< parts of it are held; other parts may be free */
    HDP_LEASE_REFUSED = 4, /**< its lock file is not to be trusted: reason */
    HDP_LEASE_UNKNOWN = 5  /**< this kernel or folder cannot tell */
};

/** Options of hdp_lease_acquire() and hdp_lease_list_create(). */
typedef struct hdp_lease_options {
    size_t size;           /**< sizeof(hdp_lease_options) */
    const char *directory; /**< the folder of lock files; NULL: see above */
    const char *mask;      /**< claim within this mask, for a described machine;
                            *   as in hdp_discover_options. Of real GPUs only
                            *   those are claimed that the process sees */
    const char *order;     /**< in place of CUDA_DEVICE_ORDER, likewise */
    const hdp_profile *profile; /**< rates for HDP_LEASE_FASTEST; else unused */
    int64_t timeout_ns;         /**< wait so long for devices; 0: not at all,
                                 *   INT64_MAX: for ever. Monotonic clock */
    int32_t count;  /**< so many of the devices named; 0: all of them */
    int32_t policy; /**< which: HDP_LEASE_FIRST, ... */
} hdp_lease_options;

/** A lease in numbers and words. */
typedef struct hdp_lease_info {
    size_t size;              /**< sizeof(hdp_lease_info) */
    int32_t device_count;     /**< for hdp_lease_device() */
    int32_t descriptor_count; /**< for hdp_lease_descriptor() */
    int32_t scope;            /**< HDP_LEASE_CHOSEN, ...; adopted: CHOSEN */
    int32_t adopted;          /**< 1: came from hdp_lease_adopt() */
    int64_t waited_ns;        /**< until it was granted */
    char directory[256];      /**< the folder of lock files */
    char note[256];           /**< whom it does not reach; "": nobody known */
} hdp_lease_info;

/** A device of a lease. */
typedef struct hdp_lease_device_info {
    size_t size;      /**< sizeof(hdp_lease_device_info) */
    char uuid[64];    /**< of the GPU, MIG instance or simulated device */
    char spec[64];    /**< the item that asks for it again; "" when adopted */
    char file[96];    /**< name of its lock file */
    int32_t shared;   /**< 1: a partition, other parts may be held by others */
    int32_t reserved; /**< 0 */
} hdp_lease_device_info;

/** A list in numbers and words. */
typedef struct hdp_lease_list_info {
    size_t size;          /**< sizeof(hdp_lease_list_info) */
    int32_t device_count; /**< for hdp_lease_list_entry() */
    int32_t free_count;   /**< of them in state HDP_LEASE_FREE */
    int32_t scope;        /**< HDP_LEASE_CHOSEN, ... */
    int32_t reserved;     /**< 0 */
    char directory[256];  /**< the folder of lock files */
    char note[256];       /**< whom its leases do not reach; "": nobody known */
} hdp_lease_list_info;

/** How one device stands. */
typedef struct hdp_lease_entry {
    size_t size;       /**< sizeof(hdp_lease_entry) */
    int32_t state;     /**< HDP_LEASE_FREE, ... */
    int32_t pid;       /**< who took it, or was named; 0: not known */
    int64_t uid;       /**< that process's effective user; -1: not known */
    int64_t since_s;   /**< since when, wall clock, Unix time; 0: not known */
    int32_t elsewhere; /**< 1: pid is counted in another container */
    int32_t gone;      /**< 1: pid has ended, a job that it started holds on */
    char since[32];    /**< since_s as RFC 3339 UTC; "": not known */
    char command[32];  /**< name of that process now, one line; "" */
    char uuid[64];     /**< of the device */
    char spec[64];     /**< the item that asks for it again */
    char file[96];     /**< name of its lock file */
    char reason[256];  /**< REFUSED and UNKNOWN: why; else "" */
} hdp_lease_entry;

/**
 * Claims devices, all or none of them.
 *
 * With count 0 exactly the devices named, else count of them, whichever are
 * free, chosen by policy. Nothing is kept of a claim that is not granted, and
 * nobody is disturbed by one: before anything is locked, the devices are
 * looked at. Locks are taken in the order of their names, so crossed claims
 * cannot block each other. Two threads compete like two processes.
 *
 * @param out      Receives the lease; hdp_lease_destroy().
 * @param context  Borrowed for the call.
 * @param spec     Devices, as for hdp_group_create_spec(). NULL and "auto":
 *                 HDP_DEVICES, else every GPU of this process. "@NAME" and
 *                 "auto" leave hosts out; a host that is named is refused.
 * @param options  NULL for defaults: all of them, now or never.
 * @return HDP_OK; HDP_ERR_BUSY when too few are free, HDP_ERR_TIMEOUT when
 *         still so at the deadline (the error's severity is HDP_RETRY; its text
 *         names the holders); HDP_ERR_NOT_FOUND without devices;
 *         HDP_ERR_ARGUMENT for a malformed spec, more wanted than named, or a
 *         policy without its figures; HDP_ERR_UNSUPPORTED for hosts, a network
 *         file system, or figures that nobody has here; HDP_ERR_SYSTEM for a
 *         folder or lock file that cannot be used or trusted, named with the
 *         reason, errno in vendor_code.
 * @blocks Until granted, at most options->timeout_ns. A device that becomes
 *         free is taken within 50 ms.
 * @thread Any.
 * @since  0.1
 */
HDP_API hdp_status hdp_lease_acquire(hdp_lease **out, hdp_context *context,
                                     const char *spec,
                                     const hdp_lease_options *options);

/**
 * Takes over a lease that another program handed over: its descriptors are
 * open in this process.
 *
 * Checks that they are what they claim to be and hold what they claim to hold.
 * They become close-on-exec, and from now on this process is named as holder.
 * The lease goes on as if handed over: it ends when no process has the
 * descriptors any more.
 *
 * @param out      Receives the lease; hdp_lease_destroy().
 * @param context  Borrowed for the call.
 * @param text     What hdp_lease_hand_over() gave; NULL: the variable
 *                 HDP_LEASE_FDS, which `hdp_bench lease` sets for its job.
 * @return HDP_OK; HDP_ERR_NOT_FOUND when text is NULL and there is no such
 *         variable; HDP_ERR_ARGUMENT for a malformed text, with the position;
 *         HDP_ERR_SYSTEM for a descriptor that is not open, or not of a lock
 *         file; HDP_ERR_STATE for one that is close-on-exec: adopted before,
 *         or opened here; HDP_ERR_BUSY when another process holds the device.
 * @blocks Never.
 * @thread Any; the same text by one thread, once.
 * @since  0.1
 */
HDP_API hdp_status hdp_lease_adopt(hdp_lease **out, hdp_context *context,
                                   const char *text);

/* Accessors of a lease. `out` is the caller's, size set; it gets copies. An
 * index past the end is HDP_ERR_NOT_FOUND. HDP_ERR_FORKED in a forked child. */

/** The counts, the folder and whom the lease does not reach. */
HDP_API hdp_status hdp_lease_get(hdp_lease_info *out, const hdp_lease *lease);

/** Device `index`, 0 to device_count - 1, in the order of the specification. */
HDP_API hdp_status hdp_lease_device(hdp_lease_device_info *out,
                                    const hdp_lease *lease, int32_t index);

/** The UUIDs, joined by commas, by the rule for text out: a value for
 *  CUDA_VISIBLE_DEVICES of a process that is yet to start CUDA. A GPU of which
 *  several parts are held stands there once. */
HDP_API hdp_status hdp_lease_mask(const hdp_lease *lease, char *text,
                                  size_t capacity, size_t *needed);

/** The devices joined by +, by the rule for text out: a specification for
 *  hdp_group_create_spec(). Each as hdp_device.spec tells it; of an adopted
 *  lease "cuda:" and the UUID. */
HDP_API hdp_status hdp_lease_spec(const hdp_lease *lease, char *text,
                                  size_t capacity, size_t *needed);

/**
 * Says that another program shall have the lease too, and gives what
 * hdp_lease_adopt() takes there, by the rule for text out.
 *
 * From now on the lease ends when no process has its descriptors any more:
 * hdp_lease_destroy() closes this process's and lifts nothing. The descriptors
 * stay close-on-exec: in the child, between fork() and exec(), FD_CLOEXEC is
 * cleared on the numbers that hdp_lease_descriptor() gave before (posix_spawn:
 * adddup2 onto themselves), and HDP_LEASE_FDS set to this text. A program
 * that does not adopt them keeps the lease all the same, as do its children.
 */
HDP_API hdp_status hdp_lease_hand_over(hdp_lease *lease, char *text,
                                       size_t capacity, size_t *needed);

/** Names another process as the one that holds the devices, in lists and
 *  refusals: a job that was started with the descriptors. HDP_ERR_ARGUMENT for
 *  a number that no process can have. */
HDP_API hdp_status hdp_lease_name_holder(hdp_lease *lease, int64_t pid);

/** Descriptor `index`, 0 to descriptor_count - 1; the lease's own, to be handed
 *  on and nothing else. out gets -1 on error. */
HDP_API hdp_status hdp_lease_descriptor(int32_t *out, const hdp_lease *lease,
                                        int32_t index);

/** Lets go of the devices, unless the lease was handed over or adopted; NULL is
 *  allowed. In a forked child only its copies of the descriptors are closed. */
HDP_API void hdp_lease_destroy(hdp_lease *lease);

/**
 * Looks how devices stand, without taking a lock: nobody who claims one at the
 * same moment fails because of it. No lock file is made.
 *
 * @param out      Receives the list; hdp_lease_list_destroy().
 * @param context  Borrowed for the call.
 * @param spec     As in hdp_lease_acquire().
 * @param options  Of it directory, mask and order count. NULL for defaults.
 * @return As hdp_lease_acquire(), but for BUSY and TIMEOUT. A lock file that
 *         is not to be trusted is no error here: the entry says so.
 * @blocks Never for a lease; as hdp_discover() for the devices.
 * @thread Any.
 * @since  0.1
 */
HDP_API hdp_status hdp_lease_list_create(hdp_lease_list **out,
                                         hdp_context *context, const char *spec,
                                         const hdp_lease_options *options);

/** The counts, the folder and whom its leases do not reach. */
HDP_API hdp_status hdp_lease_list_get(hdp_lease_list_info *out,
                                      const hdp_lease_list *list);

/** Device `index`, 0 to device_count - 1, in the order of the specification;
 *  past the end HDP_ERR_NOT_FOUND. out is the caller's, size set. */
HDP_API hdp_status hdp_lease_list_entry(hdp_lease_entry *out,
                                        const hdp_lease_list *list,
                                        int32_t index);

/** Gives the reference back; NULL is allowed. */
HDP_API void hdp_lease_list_destroy(hdp_lease_list *list);

#ifdef __cplusplus
}
#endif

#ifndef HDP_NO_INITIALISERS
/* clang-format off */
#define HDP_LEASE_OPTIONS_INIT \
    { sizeof(hdp_lease_options), NULL, NULL, NULL, NULL, 0, 0, 0 }
/* clang-format on */
#endif /* HDP_NO_INITIALISERS */

#endif /* HDP_LEASE_H */
