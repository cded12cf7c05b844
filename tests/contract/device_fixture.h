/* One member of one adapter, made from an ask in one call and gone in one. */
#ifndef DEVICE_FIXTURE_H
#define DEVICE_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/device.h"
#include "required.h"

/* Says expected and got, and what the library said. */
#define expect_status(want, call)                                              \
    do {                                                                       \
        hdp_status got_ = (call);                                              \
        if (got_ != (want))                                                    \
            fail_msg("%s: expected %s, got %s (%s)", #call,                    \
                     hdp_status_string(want), hdp_status_string(got_),         \
                     hdp_last_error());                                        \
    } while (0)
#define expect_ok(call) expect_status(HDP_OK, call)

/* The member and rank that a fixture's member bears, for messages. */
enum { MEMBER = 3, RANK = 7 };

struct fixture {
    const struct hdpi_device_ops *ops;
    hdp_topology *topology;
    struct hdpi_device *device;
};

static inline struct hdpi_ask ask_for(int32_t kind, int32_t id)
{
    return (
        struct hdpi_ask){ .kind = kind, .logical_id = id, .margin_bytes = -1 };
}

static inline struct fixture member_of(const struct hdpi_ask *ask)
{
    struct fixture made = { hdpi_device_adapter(ask->kind), NULL, NULL };

    assert_non_null(made.ops);
    expect_ok(hdpi_topology_new(&made.topology));
    expect_ok(made.ops->enumerate(made.topology, ask, 1, NULL));
    assert_int_equal(made.topology->info.device_count, 1);
    expect_ok(hdpi_device_open(&made.device, &made.topology->devices[0], MEMBER,
                               RANK, NULL, NULL));
    assert_non_null(made.device);
    return made;
}

static inline void release(struct fixture *made)
{
    hdpi_device_close(made->device);
    hdpi_topology_free(made->topology);
}

/* The error must name this member, and say exactly that. */
static inline void expect_error(const char *text)
{
    assert_string_equal(hdp_last_error(), text);
    assert_int_equal(hdpi_error()->member, MEMBER);
    assert_int_equal(hdpi_error()->rank, RANK);
}

static inline int32_t return_user(const hdp_shard *shard, void *user)
{
    (void)shard;
    return *(int32_t *)user;
}

/* Launches a function of that many items; its code must come back. */
static inline hdp_status launch_items(struct fixture *made, int64_t items)
{
    hdp_shard shard = { .size = sizeof shard, .items = items };
    int32_t user = 0, code = -1;

    return made->ops->launch(made->device, return_user, &shard, &user, &code);
}
#endif
