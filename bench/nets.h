/* `--net LAYERSxWIDTH[/train]`: read, written, and whether its memory is there. */
#ifndef BENCH_NETS_H
#define BENCH_NETS_H
#include "parse.h"
#include "work/net.h"

struct bench;

enum { NETS_TEXT_MAX = 32 };

/** Pure; as parse.h. */
int nets_read(const char *text, struct net_shape *out,
              struct parse_error *error);

/** As it was written; "" where there is none. */
const char *nets_text(const struct net_shape *shape, char text[NETS_TEXT_MAX]);

/** EXIT_OK, or the failure: what `spec` (kind, net, capacity) takes of a
 *  device's memory, or the host's, when it has not got that. */
int nets_fit(struct bench *bench, const struct workload_spec *spec);
#endif
