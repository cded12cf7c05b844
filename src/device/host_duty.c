/* The declared slowdown: after each stretch of computing the member waits for
 * as long as a device of that duty would still have computed. Short waits are
 * spun, because a sleep is only right to some 50 us; long ones sleep. */
#include <errno.h>
#include <time.h>
#include "base/clock.h"
#include "device/host.h"

enum { SPIN_BELOW_NS = 2000000 };

static void wait_until(int64_t now_ns, int64_t until_ns)
{
    struct timespec at = { .tv_sec = (time_t)(until_ns / 1000000000),
                           .tv_nsec = (long)(until_ns % 1000000000) };

    if (until_ns - now_ns < SPIN_BELOW_NS) {
        while (hdpi_clock_ns() < until_ns) {
        }
        return;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
           EINTR) {
    }
}

static void pay(const struct hdpi_host_duty *duty)
{
    int64_t now_ns = hdpi_clock_ns();
    int64_t spent_ns = now_ns - duty->since_ns;
    int64_t rest = 100 - duty->percent;

    if (spent_ns > (INT64_MAX - now_ns) / 100)
        return; /* years of computing */
    wait_until(now_ns, now_ns + spent_ns * rest / duty->percent);
}

static void charge(struct hdpi_host_duty *duty)
{
    duty->charging = 1;
    duty->since_ns = hdpi_clock_ns();
}

void hdpi_host_duty_begin(struct hdpi_host_duty *duty)
{
    duty->inside = 1;
    if (duty->percent < 100)
        charge(duty);
}

void hdpi_host_duty_pause(struct hdpi_host_duty *duty)
{
    if (duty->charging)
        pay(duty);
    duty->charging = 0;
}

void hdpi_host_duty_resume(struct hdpi_host_duty *duty)
{
    if (duty->inside && !duty->charging && duty->percent < 100)
        charge(duty);
}

void hdpi_host_duty_end(struct hdpi_host_duty *duty)
{
    hdpi_host_duty_pause(duty);
    duty->inside = 0;
}
