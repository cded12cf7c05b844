/* The monotonic clock, and deadlines on it. */
#ifndef HDPI_CLOCK_H
#define HDPI_CLOCK_H
#include <stdint.h>

/** CLOCK_MONOTONIC in ns; wall clock jumps do not move it. */
int64_t hdpi_clock_ns(void);

/** now + timeout_ns without wrapping; INT64_MAX means never. */
int64_t hdpi_deadline_ns(int64_t timeout_ns);
#endif
