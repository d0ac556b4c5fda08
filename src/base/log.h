/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leveled log. The library speaks only at debug and trace; what a user must know travels in
 * `struct vt_error` and in results. The program speaks at info and above. Nothing is written
 * unless a sink is set. Never called on a hot path.
 */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H

#include "vatio/status.h"

enum vt_log_level {
    VT_LOG_ERROR,
    VT_LOG_WARNING,
    VT_LOG_INFO,
    VT_LOG_DEBUG,
    VT_LOG_TRACE,
};

/* Receives whole lines without a newline. Called from any thread, one call at a time. */
typedef void (*vt_log_sink_func)(void *ctx, enum vt_log_level level, const char *line);

/* sink = NULL silences. Lines above `level` are dropped before they are formatted. */
VT_API void vt_log_set(vt_log_sink_func sink, void *ctx, enum vt_log_level level);
VT_API void vt_log(enum vt_log_level level, const char *fmt, ...) VT_PRINTF(2, 3);

#endif
