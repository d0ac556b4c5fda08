/* SPDX-License-Identifier: Apache-2.0 */
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Looks at the clock once in so many steps of a spin: reading it costs as much as some steps. */
#define SPINS_BETWEEN_LOOKS 32

static bool changed(_Atomic uint32_t *word, uint32_t expected)
{
    return atomic_load_explicit(word, memory_order_acquire) != expected;
}

static bool spin(_Atomic uint32_t *word, uint32_t expected, int64_t until_ns)
{
    do {
        for (int i = 0; i < SPINS_BETWEEN_LOOKS; i++) {
            if (changed(word, expected)) {
                return true;
            }
            vt_spin_pause();
        }
    } while (vt_now_ns() < until_ns);
    return changed(word, expected);
}

bool vt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns, int64_t spin_ns)
{
    if (changed(word, expected)) {
        return true;
    }
    if (spin_ns > 0) {
        int64_t until = vt_now_ns() + spin_ns;
        if (spin(word, expected, until < deadline_ns ? until : deadline_ns)) {
            return true;
        }
    }
    while (!changed(word, expected)) {
        struct timespec at = {.tv_sec = (time_t)(deadline_ns / VT_NS_PER_S),
                              .tv_nsec = (long)(deadline_ns % VT_NS_PER_S)};
        /* FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock. */
        (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                      deadline_ns == VT_NEVER ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);
        if (deadline_ns != VT_NEVER && vt_now_ns() >= deadline_ns) {
            return changed(word, expected);
        }
    }
    return true;
}

void vt_futex_wake(_Atomic uint32_t *word, int n)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}
