/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power.csv of a run: the readings of meters and of what else was watched, over time.
 *
 *     t_ns,unix_ns,series,unit,value
 *     -10000000,1796046919143000000,nvml/gpu0 instant power,W,71.2
 *
 * Kept is what a plot shows: for each series and each of VT_TRACK_BINS parts of the time the
 * lowest, the highest and the mean value, so that no peak is lost and memory does not grow with the
 * file.
 */
#ifndef VT_REPORT_TRACKS_H
#define VT_REPORT_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_TRACK_BINS      240
#define VT_TRACKS_MAX      128
#define VT_TRACK_NAME_MAX  128
#define VT_TRACK_TIME_MAX  INT64_C(4000000000000000000)
#define VT_TRACK_VALUE_MAX 1e15

struct vt_track_bin {
    double low, high, sum, first, last;
    int64_t first_ns, last_ns;
    uint64_t n; /* readings; 0: none, and nothing else holds */
};

struct vt_track {
    char name[VT_TRACK_NAME_MAX], unit[16];
    double low, high, sum;
    uint64_t n;
    struct vt_track_bin bins[VT_TRACK_BINS];
};

struct vt_tracks {
    struct vt_track *tracks; /* in order of appearance */
    uint32_t n;
    int64_t begin_ns, end_ns; /* of all readings, since the start of the run */
};

/* VT_ERR_FORMAT with name:line, VT_ERR_LIMIT, VT_ERR_MEMORY. On success the caller releases the
 * tracks. Two passes. */
enum vt_status vt_tracks_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, struct vt_tracks *ret) VT_NODISCARD;
/* Of a file; VT_ERR_NOT_FOUND where there is none. */
enum vt_status vt_tracks_read(const char *path, struct vt_error *err,
                              struct vt_tracks *ret) VT_NODISCARD;
void vt_tracks_release(struct vt_tracks *tracks); /* accepts a zeroed one */

/* The middle of bin i, in ns since the start of the run. */
double vt_tracks_time(const struct vt_tracks *tracks, uint32_t i);

#endif
