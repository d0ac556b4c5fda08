/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded trace of arrivals: a text file of seconds, one number a line, ascending. The first
 * line may be a header; empty lines are passed over. The first time becomes 0.
 */
#ifndef VT_RUN_ARRIVALS_H
#define VT_RUN_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_ARRIVALS_FILE_MAX ((size_t)1 << 30)
/* 63 years, as all times of a run. */
#define VT_ARRIVALS_NS_MAX INT64_C(2000000000000000000)

struct vt_arrival_trace {
    int64_t *ns; /* from 0, ascending; owned */
    uint64_t n;
};

/* VT_ERR_FORMAT with name:line and the reason. On success the caller releases the trace. */
enum vt_status vt_arrival_trace_parse(const char *text, size_t length, const char *name,
                                      struct vt_error *err,
                                      struct vt_arrival_trace *ret_trace) VT_NODISCARD;
/* The same from a file. VT_ERR_NOT_FOUND, VT_ERR_READ; VT_ERR_LIMIT above VT_ARRIVALS_FILE_MAX. */
enum vt_status vt_arrival_trace_read(const char *path, struct vt_error *err,
                                     struct vt_arrival_trace *ret_trace) VT_NODISCARD;
void vt_arrival_trace_release(struct vt_arrival_trace *trace); /* accepts a zeroed one */

#endif
