/* Whether a step of a net was right: rows of all shares and gradients of all
 * members against one device, and that one against f64. */
#ifndef BENCH_WORK_NETCHECK_H
#define BENCH_WORK_NETCHECK_H
#include "netmember.h"
#include "work.h"

struct netcheck;

/** The members are the caller's; the first one, which keeps results, is the one
 *  device. NULL: no room. */
struct netcheck *netcheck_create(const struct netdata *data,
                                 struct netmember *const *members,
                                 int32_t count);
void netcheck_destroy(struct netcheck *self); /* accepts NULL */
/** Of host memory, beside what grows with the number of members. */
double netcheck_bytes(const struct netdata *data, int32_t members);

/** Looks at the last step, which gave the members `items`, and takes its
 *  results away. */
void netcheck_step(struct netcheck *self, const int64_t *items, int64_t total,
                   struct workload_check *out);
#endif
