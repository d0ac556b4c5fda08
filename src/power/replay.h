/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded curve of power, from a CSV file of two columns: seconds and watts.
 *
 *     # comment
 *     time,watts
 *     0.0,14.2
 *     1.0,15.1
 *
 * Times ascend; the first need not be 0. A heading and lines that begin with '#' are passed over.
 */
#ifndef VT_POWER_REPLAY_H
#define VT_POWER_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_REPLAY_FILE_MAX    (64u << 20)
#define VT_REPLAY_SECONDS_MAX 1e9
#define VT_REPLAY_WATTS_MAX   1e9

struct vt_replay_curve {
    double *seconds; /* from 0, ascending */
    double *watts;   /* 0 and more */
    size_t n;        /* 2 and more */
};

/* VT_ERR_FORMAT with name:line; VT_ERR_MEMORY. On success the caller releases the curve. */
enum vt_status vt_replay_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, struct vt_replay_curve *ret) VT_NODISCARD;
void vt_replay_release(struct vt_replay_curve *curve); /* accepts a zeroed one */

#endif
