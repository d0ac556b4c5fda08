/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a 32-bit word to change, without a lock: spin a bounded while, then sleep in the
 * kernel. The waker pays a system call only if somebody sleeps (callers keep a count of sleepers
 * where that matters).
 */
#ifndef VT_BASE_FUTEX_H
#define VT_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true as soon as *word != expected, false when `deadline_ns` (monotonic; VT_NEVER: none)
 * has passed first. Spins for at most spin_ns before it sleeps.
 */
bool vt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns, int64_t spin_ns);
/* Wakes up to n sleepers on the word. */
void vt_futex_wake(_Atomic uint32_t *word, int n);

#endif
