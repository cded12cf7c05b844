/* What the driver says of a way is compared with what came through it. */
#include "ways.h"

#include <string.h>

/* Whether the driver offers it: 1, 0; -1: it does not say. */
static int offered(struct bench *bench, const hdp_topology *topology,
                   int32_t from, int32_t to)
{
    const char *uuids[2] = { bench->devices[from].uuid,
                             bench->devices[to].uuid };
    int32_t places[2] = { -1, -1 };
    hdp_topology_info info;
    hdp_link link;

    hdp_options_init(&info, sizeof info);
    hdp_options_init(&link, sizeof link);
    if (hdp_topology_get(&info, topology) != HDP_OK)
        return -1;
    for (int32_t i = 0; i < info.device_count; ++i) {
        hdp_device device;
        hdp_options_init(&device, sizeof device);
        if (hdp_topology_device(&device, topology, i) != HDP_OK)
            return -1;
        for (int end = 0; end < 2; ++end)
            if (strcmp(device.uuid, uuids[end]) == 0)
                places[end] = i;
    }
    if (places[0] < 0 || places[1] < 0 ||
        hdp_topology_link(&link, topology, places[0], places[1]) != HDP_OK)
        return -1;
    return link.peer;
}

static void add_row(json_t *rows, int32_t from, int32_t to, const char *way,
                    int64_t rate)
{
    json_t *row;

    if (!rows)
        return;
    row = json_object();
    json_object_set_new(row, "from", json_integer(from));
    json_object_set_new(row, "to", json_integer(to));
    json_object_set_new(row, "way", json_string(way));
    json_object_set_new(row, "bytes_per_second",
                        rate > 0 ? json_integer(rate) : json_null());
    json_array_append_new(rows, row);
}

static int try_one(struct bench *bench, const hdp_topology *topology,
                   json_t *rows, int32_t from, int32_t to)
{
    hdp_link link;
    hdp_status status;
    int wrong;

    hdp_options_init(&link, sizeof link);
    status = hdp_group_link(&link, bench->group, from, to);
    if (status != HDP_OK) {
        int code = library_try(bench, status);
        if (status == HDP_ERR_TIMEOUT)
            bench->group = NULL; /* to end it would wait for that copy */
        add_row(rows, from, to, status == HDP_ERR_TIMEOUT ? "hangs" : "fails",
                0);
        return code;
    }
    wrong = !link.peer && offered(bench, topology, from, to) == 1;
    add_row(rows, from, to,
            link.peer ? "peer"
            : wrong   ? "wrong"
                      : "host",
            link.bytes_per_second);
    if (!wrong)
        return EXIT_OK;
    return failure_own(&bench->failure, EXIT_CHECK, HDP_OK,
                       "peer copy from %s to %s says success, but the bytes "
                       "are wrong",
                       bench->devices[from].spec, bench->devices[to].spec);
}

int ways_try(struct bench *bench, json_t *rows)
{
    hdp_topology *topology = NULL;
    int code =
        library_try(bench, hdp_discover(&topology, bench->context, NULL));

    for (int32_t from = 0; from < bench->members; ++from)
        for (int32_t to = 0; to < bench->members; ++to)
            if (from != to && bench->group &&
                bench->devices[from].kind == HDP_CUDA &&
                bench->devices[to].kind == HDP_CUDA &&
                (!code || code == EXIT_CHECK))
                code = try_one(bench, topology, rows, from, to);
    if (!code)
        code = bench->failure.exit_code;
    hdp_topology_destroy(topology);
    return code;
}
