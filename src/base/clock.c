/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

int64_t vt_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * VT_NS_PER_S + now.tv_nsec;
}

int64_t vt_thread_cpu_ns(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * VT_NS_PER_S + now.tv_nsec;
}

void vt_sleep_until_ns(int64_t deadline_ns, int64_t spin_ns)
{
    int64_t wake = deadline_ns - spin_ns;
    int64_t now = vt_now_ns();

    while (now < wake) {
        struct timespec at = {.tv_sec = (time_t)(wake / VT_NS_PER_S),
                              .tv_nsec = (long)(wake % VT_NS_PER_S)};
        /* A signal may cut the sleep short: the caller's loop sees to it, so return. */
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
            return;
        }
        now = vt_now_ns();
    }
    while (now < deadline_ns) {
        vt_spin_pause();
        now = vt_now_ns();
    }
}

static int64_t monotonic_now(void *ctx)
{
    (void)ctx;
    return vt_now_ns();
}

static void monotonic_sleep(void *ctx, int64_t deadline_ns, int64_t spin_ns)
{
    (void)ctx;
    vt_sleep_until_ns(deadline_ns, spin_ns);
}

const struct vt_clock *vt_clock_monotonic(void)
{
    static const struct vt_clock clock = {monotonic_now, monotonic_sleep, NULL, NULL};
    return &clock;
}

int64_t vt_clock_unix_ms(const struct vt_clock *clock)
{
    if (clock != NULL && clock->unix_ms != NULL) {
        return clock->unix_ms(clock->ctx);
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / VT_NS_PER_MS;
}

int64_t vt_clock_set_slack(int64_t slack_ns)
{
    int before = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    if (before < 0 || prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0UL, 0UL, 0UL) != 0) {
        return -1;
    }
    return before;
}

bool vt_clock_tighten_slack(void)
{
    return vt_clock_set_slack(1) >= 0;
}
