/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time: the monotonic clock in signed 64-bit nanoseconds, behind a small seam so that a test can
 * put a clock of its own in the place of the machine's.
 *
 * Waiting is sleep, then a bounded spin: the kernel wakes a sleeper late by tens of microseconds,
 * so the sleep ends `spin_ns` early and the rest is spun. Where the processor is wanted by
 * something else, spin_ns is 0.
 */
#ifndef VT_BASE_CLOCK_H
#define VT_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_NS_PER_US INT64_C(1000)
#define VT_NS_PER_MS INT64_C(1000000)
#define VT_NS_PER_S  INT64_C(1000000000)
/* A deadline that never comes. */
#define VT_NEVER INT64_MAX

struct vt_clock {
    int64_t (*now_ns)(void *ctx);
    /* Returns at `deadline_ns` or later, at once when that has passed; earlier only when a signal
     * arrived, so that the caller can look whether to stop. */
    void (*sleep_until_ns)(void *ctx, int64_t deadline_ns, int64_t spin_ns);
    void *ctx;
    /* The wall clock, milliseconds since 1970, for logs only. NULL: the machine's. */
    int64_t (*unix_ms)(void *ctx);
};

/* The machine's CLOCK_MONOTONIC. Static storage. */
const struct vt_clock *vt_clock_monotonic(void);

/* The wall clock, of `clock` or, where that has none or is NULL, of the machine. It may be stepped
 * at any moment: nothing is measured with it. */
int64_t vt_clock_unix_ms(const struct vt_clock *clock);

/* Straight to the machine's clock, for code that needs no double. */
VT_API int64_t vt_now_ns(void);
void vt_sleep_until_ns(int64_t deadline_ns, int64_t spin_ns);
/* What the calling thread has computed so far: stands still while it waits or is made to. */
int64_t vt_thread_cpu_ns(void);

/*
 * Asks the kernel to wake the calling thread with a slack of so many ns: 1 in place of the usual
 * 50 µs (PR_SET_TIMERSLACK). Returns what it was, to be set again later; -1 where that is refused.
 */
int64_t vt_clock_set_slack(int64_t slack_ns);
/* The same with 1 ns, for threads that stay so. */
bool vt_clock_tighten_slack(void);

/* One step of a spin: tells the processor that this is one. */
static inline void vt_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif
