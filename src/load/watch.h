/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latencies of a run that is still on, for those who watch it: read from its records by the thread
 * that asks, so that the run itself does nothing for it.
 */
#ifndef VT_LOAD_WATCH_H
#define VT_LOAD_WATCH_H

#include "load/load.h"
#include "load/recorder.h"

struct vt_watched {
    const struct vt_recorder *recorder; /* borrowed */
    uint64_t width;                     /* samples of a query */
};

/* From here on until the close, `watched` may be read. */
void vt_watch_open(struct vt_load_control *control, const struct vt_watched *watched);
/* Waits for those who are reading. Without an open it does nothing. */
void vt_watch_close(struct vt_load_control *control);

#endif
