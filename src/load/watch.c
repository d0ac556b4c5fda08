/* SPDX-License-Identifier: Apache-2.0 */
#include "load/watch.h"

#include <sched.h>
#include <stdlib.h>

/* Queries that are looked at: 40 of them are above p99. */
#define LOOKS 4096

void vt_watch_open(struct vt_load_control *control, const struct vt_watched *watched)
{
    atomic_store(&control->watched, watched);
}

/*
 * Who reads counts itself first and looks for `watched` then; who closes takes it away first and
 * looks at the count then. All of it is sequentially consistent, so one of the two sees the other.
 */
void vt_watch_close(struct vt_load_control *control)
{
    atomic_store(&control->watched, NULL);
    while (atomic_load(&control->watchers) != 0) {
        (void)sched_yield();
    }
}

/* The latency of the query that begins at a sample; below 0 while it is not complete. */
static int64_t latency_at(const struct vt_track *track, uint64_t sequence, uint64_t width)
{
    int64_t done = 0;

    for (uint64_t i = sequence; i < sequence + width; i++) {
        int64_t at = __atomic_load_n(&track->records[i].done_ns, __ATOMIC_RELAXED);
        if (at == VT_RECORD_LOST) {
            return -1;
        }
        done = at > done ? at : done;
    }
    return done - track->records[sequence].scheduled_ns;
}

/* Queries of a track, evenly spread. Returns how many values there are now. */
static size_t look_at(const struct vt_track *track, uint64_t width, uint64_t share,
                      int64_t values[LOOKS], size_t n)
{
    uint64_t issued = atomic_load_explicit(&track->issued, memory_order_acquire);
    uint64_t queries = issued / width;
    uint64_t step = queries / (share > 0 ? share : 1) + 1;

    for (uint64_t query = 0; query < queries && n < LOOKS; query += step) {
        int64_t latency = latency_at(track, query * width, width);
        if (latency >= 0) {
            values[n++] = latency;
        }
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t vt_load_latency_so_far(struct vt_load_control *control, double fraction)
{
    int64_t values[LOOKS];
    size_t n = 0;

    atomic_fetch_add(&control->watchers, 1);
    const struct vt_watched *watched = atomic_load(&control->watched);
    for (uint32_t i = 0; watched != NULL && i < watched->recorder->n_tracks; i++) {
        n = look_at(&watched->recorder->tracks[i], watched->width,
                    LOOKS / watched->recorder->n_tracks, values, n);
    }
    atomic_fetch_sub(&control->watchers, 1);
    if (n == 0) {
        return -1;
    }
    qsort(values, n, sizeof values[0], ascending);
    size_t at = (size_t)((double)n * fraction);
    return values[at < n ? at : n - 1];
}
