/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine can do at best, measured in about a second. */
#ifndef VT_RUN_PEAK_H
#define VT_RUN_PEAK_H

#include <stdatomic.h>

#include "result/profile.h"

/*
 * With `threads` threads (at least 1), the best of several short stretches each. The triad takes
 * three arrays of 64 MiB together, less on a machine with less memory. Returns early when *stop is
 * set, with what was found. VT_ERR_MEMORY, VT_ERR_SYSTEM (no threads).
 */
enum vt_status vt_machine_peak_measure(uint32_t threads, const _Atomic bool *stop,
                                       struct vt_error *err,
                                       struct vt_machine_peak *ret_peak) VT_NODISCARD;

#endif
