/* What the ranks of one process share: a ring of slots, one a collective.
 *
 * Ticket t lives in slot (t - 1) mod SLOTS. A rank posts its part by writing
 * its own place and counting up `posted`; the last one opens the slot: it
 * judges the parts and cuts the data into chunks. Any rank that waits claims
 * chunks through `cursor` and counts down `left`; the last one completes the
 * slot and moves `done`. Slots complete in the order of their tickets, so a
 * rank that posts ticket t finds t - SLOTS finished by all. */
#ifndef HDPI_COMM_LOCAL_H
#define HDPI_COMM_LOCAL_H
#include <stdatomic.h>
#include "comm/comm.h"

enum { LOCAL_SLOTS = 64, LOCAL_LINE = 64, LOCAL_TEXT = 200 };

/* Why a collective, or all of them, failed, as the ranks that are well see
 * it. `claimed` lets the first of several causes write. */
struct local_fault {
    _Atomic int32_t claimed;
    hdp_status status; /* HDP_OK: none */
    int32_t rank;      /* whose fault; -1: nobody's alone */
    char text[LOCAL_TEXT];
};

struct local_part {
    struct hdpi_comm_call *call; /* the rank's until the slot is done */
    hdp_status status;           /* why this rank failed; HDP_OK */
};

/* What is done with a chunk. */
enum { LOCAL_NOTHING = 0, LOCAL_COMBINE, LOCAL_COPY, LOCAL_POISON };

struct local_slot {
    _Alignas(LOCAL_LINE) _Atomic uint64_t posted; /* in all generations */
    _Alignas(LOCAL_LINE) _Atomic uint64_t cursor; /* ticket << 32 | unclaimed */
    _Alignas(LOCAL_LINE) _Atomic uint32_t left;   /* chunks not finished */
    _Atomic int32_t broken;                       /* a chunk failed */
    /* Written by the rank that opens, constant until the slot is done. */
    int32_t action;
    uint32_t chunks;
    int64_t elements, step; /* of all tensors; of a chunk */
    int64_t total;          /* of the weights */
    struct local_part *parts;
    /* One a generation's parity: the one before may still be read. */
    struct local_fault faults[2];
};

/* A rank as the others see it; a line each, so that none disturbs another. */
struct local_rank {
    _Alignas(LOCAL_LINE) _Atomic uint64_t posted; /* its last ticket */
    _Atomic int32_t working; /* 1: may be inside anybody's data */
    _Atomic int32_t state;   /* LOCAL_* below */
};

enum { LOCAL_ABSENT = 0, LOCAL_JOINED = 1, LOCAL_LEFT = 2 };

struct local_shared {
    /* One line: who wakes by the first looks at the second. */
    struct hdpi_park park; /* a slot was opened or completed, or it is over */
    _Atomic uint64_t done; /* last completed ticket */
    _Alignas(LOCAL_LINE) _Atomic int32_t dead; /* 1: `death` is valid */
    struct local_fault death;
    _Atomic int32_t references; /* the id and each open rank */
    int32_t size;
    struct local_rank *ranks;
    struct local_slot slots[LOCAL_SLOTS];
};

/* A rank's own state. */
struct local {
    struct hdpi_comm base;
    struct local_shared *shared;
    uint64_t posted, seen; /* last ticket posted; last whose end was noted */
    int64_t elements;      /* of the call being posted */
    /* Failures noted but not yet told: the first, and the last ticket. */
    uint64_t first_failed, last_failed;
    struct local_fault failed;
    hdp_status failed_own; /* this rank's own status in it */
    hdp_error own;         /* this rank's own last error, of own_ticket */
    uint64_t own_ticket;
    /* Where this rank stands in the tensors of the slot it works on. */
    uint64_t at_ticket;
    int32_t at_tensor;
    int64_t at_base;
    const void **sources; /* room for the parts of a job, `size` each */
    void **targets;
    int64_t *counts;
};

static inline struct local_slot *local_slot_of(struct local_shared *shared,
                                               uint64_t ticket)
{
    return &shared->slots[(ticket - 1) % LOCAL_SLOTS];
}

/** The fault record of a ticket; stays readable until all ranks have posted
 *  the slot's next ticket. */
static inline struct local_fault *local_fault_of(struct local_shared *shared,
                                                 uint64_t ticket)
{
    return &local_slot_of(shared, ticket)
                ->faults[(ticket - 1) / LOCAL_SLOTS % 2];
}

/** Writes a fault unless one is there; 1 when it was written. */
int local_fault_set(struct local_fault *fault, hdp_status status, int32_t rank,
                    const char *format, ...) HDPI_PRINTF(4, 5);

/** Puts this rank's part in its place; the last rank opens the slot, and does
 *  the whole work at once where it is too small to call the others. */
void local_slot_post(struct local *self, struct hdpi_comm_call *call,
                     hdp_status failed);

/** Works on opened slots up to ticket until there is nothing to claim. */
void local_slot_work(struct local *self, uint64_t ticket);

/** Keeps this thread's error as the rank's own, of that ticket. */
void local_keep_error(struct local *self, uint64_t ticket, hdp_status status);
#endif
