/* The inside of a stream: its queue, what the host has seen of it, and whether
 * it captures. */
#ifndef FAKE_QUEUE_H
#define FAKE_QUEUE_H
#include "state.h"

enum fake_step { FAKE_STEP_WORK, FAKE_STEP_MARK, FAKE_STEP_WAIT };

struct fake_item {
    struct fake_item *next;
    enum fake_step step;
    uint64_t place;
    int64_t issued_ns; /* it does not begin before */
    struct fake_mark *mark;
    enum fake_work_kind kind;
    double cost_ns;
    int64_t position; /* among the launches of the device, from 1 */
    int hangs, dropped;
    void (*effect)(void *argument), (*lost)(void *argument);
    void *argument, *lent; /* owned; the caller's */
};

/* Whoever sees this stream past `place` has seen the other past its own. */
struct fake_link_row {
    uint64_t place;
    CUstream other;
    uint64_t other_place;
};

struct fake_queue {
    struct fake_item *first, **last;
    int running, ended;
    int64_t end_ns; /* when what has run is over */
    uint64_t last_place, seen_place;
    struct fake_link_row *links;
    size_t link_count, link_capacity;
    int capturing, capture_mode;
    const struct fake_thread *capture_thread;
};

void fake_seen_link(CUstream stream, uint64_t place,
                    const struct fake_mark *mark);
/** The host has seen the stream go past a place. */
void fake_seen_pass(CUstream stream, uint64_t place);
#endif
