/* Meetings of streams. Each party has a mark of its own that its stream waits
 * for, so that one can go while the others stay. */
#include <stdlib.h>
#include <string.h>
#include "meet.h"
#include "queue.h"

enum phase {
    OPEN,
    RUNNING,
    OVER,
    BROKEN, /* somebody left: it will not be */
    ENDED   /* for all, without an effect */
};

struct party {
    CUstream stream;
    struct fake_mark *came; /* where the stream stood when it came */
    struct fake_mark *over; /* what it waits for */
    uint64_t place;         /* of its coming */
};

struct fake_meeting {
    struct fake_meeting *next, *before;
    struct fake_meeting_plan plan;
    enum phase phase;
    int references, come;
    int stuck; /* one of the parties is */
    struct party *parties;
};

/* What the stream does when its turn has come. */
struct coming {
    int count, stuck;
    struct fake_seat seats[];
};

static struct fake_meeting *meetings;

/* ---- life ----------------------------------------------------------------- */

struct fake_meeting *fake_meeting_new(const struct fake_meeting_plan *plan)
{
    struct fake_meeting *meeting = calloc(1, sizeof *meeting);

    if (!meeting)
        abort();
    meeting->plan = *plan;
    meeting->references = 1;
    meeting->parties = calloc((size_t)plan->parties, sizeof *meeting->parties);
    if (!meeting->parties)
        abort();
    meeting->next = meetings;
    if (meeting->next)
        meeting->next->before = meeting;
    meetings = meeting;
    return meeting;
}

static void destroy(struct fake_meeting *meeting)
{
    if (meeting->next)
        meeting->next->before = meeting->before;
    if (meeting->before)
        meeting->before->next = meeting->next;
    else
        meetings = meeting->next;
    for (int i = 0; i < meeting->plan.parties; i++) {
        fake_mark_drop(meeting->parties[i].came);
        fake_mark_drop(meeting->parties[i].over);
    }
    if (meeting->plan.release)
        meeting->plan.release(meeting->plan.argument);
    free(meeting->parties);
    free(meeting);
}

void fake_meeting_keep(struct fake_meeting *meeting)
{
    meeting->references++;
}

void fake_meeting_drop(struct fake_meeting *meeting)
{
    if (--meeting->references == 0)
        destroy(meeting);
}

/* ---- its course ----------------------------------------------------------- */

static void let_go(struct party *party, int64_t ns)
{
    if (!party->over || party->over->done)
        return;
    party->over->time_ns = ns;
    party->over->done = 1;
}

/* Whoever sees one stream behind the meeting knows that all have come to it. */
static void link_all(struct fake_meeting *meeting)
{
    const struct party *parties = meeting->parties;

    for (int i = 0; i < meeting->plan.parties; i++)
        for (int k = 0; k < meeting->plan.parties; k++)
            if (i != k)
                fake_seen_link(parties[i].stream, parties[i].place,
                               parties[k].came);
}

static void take_place(struct fake_meeting *meeting)
{
    int64_t ns = 0;

    meeting->phase = RUNNING;
    for (int i = 0; i < meeting->plan.parties; i++)
        if (meeting->parties[i].came->time_ns > ns)
            ns = meeting->parties[i].came->time_ns;
    ns += (int64_t)meeting->plan.cost_ns;
    fake_unlock();
    meeting->plan.effect(meeting->plan.argument);
    fake_lock();
    meeting->phase = OVER;
    link_all(meeting);
    for (int i = 0; i < meeting->plan.parties; i++)
        let_go(&meeting->parties[i], ns);
    pthread_cond_broadcast(&fake.moved);
}

static void come(void *argument)
{
    const struct coming *coming = argument;

    fake_lock();
    for (int i = 0; i < coming->count && !coming->stuck; i++) {
        struct fake_meeting *meeting = coming->seats[i].meeting;
        meeting->come++;
        if (meeting->phase == OPEN && meeting->come == meeting->plan.parties)
            take_place(meeting);
    }
    for (int i = 0; i < coming->count; i++)
        fake_meeting_drop(coming->seats[i].meeting);
    fake_unlock();
}

static void end(struct fake_meeting *meeting)
{
    if (meeting->phase == RUNNING || meeting->phase == OVER)
        return;
    meeting->phase = ENDED;
    for (int i = 0; i < meeting->plan.parties; i++)
        let_go(&meeting->parties[i], 0);
}

/* It was to come, and never will: what hung, and stood behind it, is gone. */
static void miss(void *argument)
{
    const struct coming *coming = argument;

    for (int i = 0; i < coming->count; i++) {
        end(coming->seats[i].meeting);
        fake_meeting_drop(coming->seats[i].meeting);
    }
}

/* ---- parties -------------------------------------------------------------- */

static void seat(CUstream stream, const struct fake_seat *at,
                 struct fake_mark *came, uint64_t place)
{
    struct party *party = &at->meeting->parties[at->party];
    struct fake_mark *over = calloc(1, sizeof *over);

    if (!over)
        abort();
    over->references = 1;
    over->stream = stream; /* its own place tells the host nothing */
    over->done = at->meeting->phase == ENDED;
    over->stuck = at->meeting->stuck;
    came->references++;
    party->stream = stream;
    party->came = came;
    party->over = over;
    party->place = place;
    at->meeting->references++;
}

static void stick(struct fake_meeting *meeting)
{
    meeting->stuck = 1;
    for (int i = 0; i < meeting->plan.parties; i++)
        if (meeting->parties[i].over)
            meeting->parties[i].over->stuck = 1;
}

struct fake_mark *fake_meet(CUstream stream, const struct fake_seat *seats,
                            int count, int stuck)
{
    size_t bytes = sizeof(struct coming) + (size_t)count * sizeof seats[0];
    struct coming *coming = calloc(1, bytes);
    struct fake_work work = { .kind = FAKE_WORK_COPY,
                              .effect = come,
                              .lost = miss,
                              .argument = coming,
                              .argument_bytes = bytes };
    struct fake_mark *came, *after;

    if (!coming)
        abort();
    coming->count = count;
    coming->stuck = stuck;
    memcpy(coming->seats, seats, (size_t)count * sizeof seats[0]);
    fake_streams_hold(1);
    came = fake_mark_new(stream);
    for (int i = 0; i < count; i++) {
        if (stuck)
            stick(seats[i].meeting);
        seat(stream, &seats[i], came, came->place + 1);
    }
    (void)fake_enqueue(stream, &work);
    for (int i = 0; i < count; i++)
        fake_mark_wait(stream, seats[i].meeting->parties[seats[i].party].over);
    after = fake_mark_new(stream);
    fake_mark_drop(came);
    fake_streams_hold(-1);
    free(coming);
    return after;
}

int fake_meeting_over(const struct fake_seat *seat)
{
    const struct fake_mark *over = seat->meeting->parties[seat->party].over;

    return over && over->done;
}

int fake_meeting_leave(const struct fake_seat *seat)
{
    struct fake_meeting *meeting = seat->meeting;
    struct party *party = &meeting->parties[seat->party];

    fake.waiters++;
    while (meeting->phase == RUNNING)
        pthread_cond_wait(&fake.moved, &fake.lock);
    if (--fake.waiters == 0)
        pthread_cond_broadcast(&fake.moved);
    if (meeting->phase == OVER || meeting->phase == ENDED)
        return 0;
    meeting->phase = BROKEN;
    let_go(party, fake_host_ns());
    fake_streams_hold(0); /* see what may go on */
    return party->came->done;
}

void fake_meetings_calm(void)
{
    for (struct fake_meeting *at = meetings; at; at = at->next)
        if (at->stuck)
            end(at);
}

/* ---- the end of the process ----------------------------------------------- */

void fake_meetings_end(void)
{
    for (struct fake_meeting *at = meetings; at; at = at->next)
        end(at);
}

void fake_meetings_forget(void)
{
    while (meetings)
        destroy(meetings);
}
