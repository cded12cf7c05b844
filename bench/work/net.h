/* The mlp at a size of choice: LAYERS square layers of WIDTH x WIDTH without
 * biases, ReLU between them. Rows lie on the members from the start, and their
 * results stay there: what a step takes is compute and, in training, reduce. */
#ifndef BENCH_WORK_NET_H
#define BENCH_WORK_NET_H
#include <stdint.h>

struct workload;
struct workload_spec;

enum {
    NET_LAYERS_MAX = 1000,
    NET_WIDTH_UNIT = 8, /* rows begin on 16 bytes in every type */
    NET_WIDTH_MAX = 65536
};

struct net_shape {
    int32_t layers; /* 0: no net, the digits */
    int32_t width;
    int32_t train; /* 1: backward and the reduce of all gradients as well */
};

/** Multiplications and additions that an item takes: backward makes no
 *  gradient of the rows, so that the first layer has one product less. */
double net_item_flops(const struct net_shape *shape);

/** What a training step reduces; 0 for one that does not train. */
int64_t net_reduce_bytes(const struct net_shape *shape, int32_t dtype);

/** Bytes that a member of `spec` keeps of its device's memory, or of the host's
 *  where it is no GPU: weights, rows, results, gradients. */
double net_member_bytes(const struct workload_spec *spec, int32_t member);

/** NULL when memory is short, on the host or on a device. */
struct workload *net_create(const struct workload_spec *spec);
#endif
