/* The wall clock jumps an hour either way while a claim waits. It waits as
 * long as it was told to, since deadlines are the monotonic clock's. */
#include <pthread.h>
#include "faketime.h"
#include "lease_room.h"

struct jump {
    const char *file, *offset;
};

static void *jump_later(void *arg)
{
    const struct jump *jump = arg;

    sleep_ns(100 * MS);
    (void)faketime_set(jump->file, jump->offset);
    return NULL;
}

static int wait_over(const struct room *room, struct jump *jump)
{
    hdp_lease *lease = NULL;
    pthread_t thread;
    time_t before = time(NULL);
    int64_t start_ns = now_ns();

    must(pthread_create(&thread, NULL, jump_later, jump) == 0, "no thread");
    hdp_status status =
        room_claim(&lease, room, "sim:0/uuid=GPU-a", 0, 400 * MS);
    int64_t took_ns = now_ns() - start_ns, jumped_s = time(NULL) - before;
    (void)pthread_join(thread, NULL);
    must(jumped_s > 3000 || jumped_s < -3000,
         "%s: expected the clock to jump, it moved %lld s", jump->offset,
         (long long)jumped_s);
    must(status == HDP_ERR_TIMEOUT, "%s: expected the time-out, got %s",
         jump->offset, hdp_status_string(status));
    must(took_ns >= 400 * MS && took_ns < 3000 * MS,
         "%s: expected 0.4 s, got %lld ms", jump->offset,
         (long long)(took_ns / MS));
    return 0;
}

static int role_clock(const char *file)
{
    struct room room;
    hdp_lease *lease = NULL;
    struct jump there = { file, "+3600" }, back = { file, "-3600" };

    room_open(&room);
    must(room_claim(&lease, &room, "sim:0/uuid=GPU-a", 0, 0) == HDP_OK, "%s",
         hdp_last_error());
    int wrong = wait_over(&room, &there);
    (void)faketime_set(file, "+0");
    wrong = wrong ? wrong : wait_over(&room, &back);
    hdp_lease_destroy(lease);
    room_close(&room);
    return wrong;
}

int main(int argc, char **argv)
{
    return faketime_main("lease_clock", argc, argv, role_clock);
}
