/* Work that several streams do together: each comes to it in its turn, it
 * happens once all have come, and is over for all at the same time. The lock is
 * held in every call. */
#ifndef FAKE_MEET_H
#define FAKE_MEET_H
#include "state.h"

struct fake_meeting;

struct fake_meeting_plan {
    int parties;
    double cost_ns; /* from when the last has come */
    /* Runs once, on the stream that came last and without the lock. */
    void (*effect)(void *argument);
    void (*release)(void *argument); /* when nobody needs it any more */
    void *argument;
};

/** Never NULL; a reference for the caller. */
struct fake_meeting *fake_meeting_new(const struct fake_meeting_plan *plan);
void fake_meeting_keep(struct fake_meeting *meeting);
void fake_meeting_drop(struct fake_meeting *meeting);

/* A party's place in a meeting. */
struct fake_seat {
    struct fake_meeting *meeting;
    int party;
};

/**
 * A stream comes to some meetings at once and goes on when all are over.
 *
 * @param stuck  1: it is there but takes no part: nobody goes on before he
 *               leaves, or fake_calm() ends these meetings.
 * @return Where the stream stands then; a reference for the caller.
 */
struct fake_mark *fake_meet(CUstream stream, const struct fake_seat *seats,
                            int count, int stuck);

/** 1: the party goes on, since it is over, was left, or was ended. */
int fake_meeting_over(const struct fake_seat *seat);
/**
 * The party's stream waits no longer; if the meeting has not taken place it
 * never will, and the others wait for ever. Waits while it does take place.
 * 1: the stream had come to it in vain.
 */
int fake_meeting_leave(const struct fake_seat *seat);

/** Those that are stuck end, without an effect. */
void fake_meetings_calm(void);
/** The process ends: nobody waits any longer. */
void fake_meetings_end(void);
/** Once no stream runs. */
void fake_meetings_forget(void);
#endif
