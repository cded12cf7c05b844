/* Waiting for another thread: look a while, then sleep in the kernel. One
 * 32-bit event count a waiter; nothing is allocated and no wake is lost. */
#ifndef HDPI_PARK_H
#define HDPI_PARK_H
#include <stdatomic.h>
#include <stdint.h>

struct hdpi_park {
    _Atomic uint32_t word;     /* counts events */
    _Atomic uint32_t sleepers; /* threads in the kernel on `word` */
};

/* How long to look before sleeping, and whether each look gives the core
 * away: with more threads than cores spinning only delays the other side. */
struct hdpi_patience {
    int64_t look_ns;
    int32_t yield;
};

/** The event count to pass to hdpi_park_wait(); read it BEFORE testing the
 *  condition that the event announces. */
uint32_t hdpi_park_read(const struct hdpi_park *park);

/** Announces an event: changes the word and wakes every sleeper. Release. The
 *  park must outlive the call: who looks sees the word change, and may go on,
 *  before this has asked for sleepers. */
void hdpi_park_signal(struct hdpi_park *park);

/** Returns 1 once the word differs from `seen`, 0 when the deadline
 *  (hdpi_clock_ns() time; INT64_MAX: never) passed. May wake early with 1. */
int hdpi_park_wait(struct hdpi_park *park, uint32_t seen,
                   const struct hdpi_patience *patience, int64_t deadline_ns);

/** Cores this process may use (affinity mask), at least 1. */
int32_t hdpi_cores_allowed(void);
#endif
