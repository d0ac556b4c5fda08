/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system under test: takes queries from load, batches their samples, and keeps the lanes of an
 * engine fed. Batching lives here and nowhere else.
 *
 *   Offline       whole batches from one queue, drawn by every lane
 *   Server        a lane takes what waits, at most `batch`, and lets a batch that is not full wait
 *                 for `batch_delay_ns` at most
 *   Single-,      computed in place on the issuing thread when there is one lane (no hand-over),
 *   MultiStream   else through the lanes
 *
 * Threading: one thread a lane, owned here. See core/query.h for who calls what.
 */
#ifndef VT_SUT_SUT_H
#define VT_SUT_SUT_H

#include "core/query.h"
#include "core/stages.h"
#include "core/workload.h"

struct vt_batching_sut;

struct vt_sut_options {
    uint32_t batch;         /* samples in a request at most; at least 1 */
    bool batch_auto;        /* warm-up lowers `batch` to the size with the best throughput */
    uint32_t lanes;         /* at least 1 */
    int64_t batch_delay_ns; /* Server: how long a batch waits to fill; 0: not at all */
    int64_t
        request_timeout_ns; /* an engine silent for so long has lost a request; VT_NEVER: none */
};

/*
 * Opens the lanes and their input buffers and starts their threads. `engine` is open; it, the
 * signature and the workload are borrowed until vt_sut_free. The name is copied.
 */
enum vt_status vt_sut_new(const struct vt_engine_ops *ops, void *engine,
                          const struct vt_signature *signature,
                          const struct vt_workload_ops *workload_ops, void *workload,
                          const char *name, const struct vt_sut_options *options,
                          struct vt_error *err, struct vt_batching_sut **ret_sut) VT_NODISCARD;
void vt_sut_free(struct vt_batching_sut *sut); /* accepts NULL; no run is on */

/* The seam for load; valid until vt_sut_free. */
const struct vt_sut *vt_sut_seam(struct vt_batching_sut *sut);

struct vt_warm_up {
    int64_t single_ns; /* a request with one sample */
    uint32_t batch;    /* the batch in effect from now on */
    int64_t batch_ns;  /* a request of that many samples */
};

/*
 * Runs requests made of the loaded sample `index` through every lane, untimed for the run, in the
 * sizes that can occur up to 16 and then the powers of two: what an engine builds on first use is
 * built now. Larger sizes are left out once `budget_ns` is used up. Not while a run is on.
 */
enum vt_status vt_sut_warm_up(struct vt_batching_sut *sut, uint64_t index, int64_t budget_ns,
                              struct vt_error *err, struct vt_warm_up *ret_warm_up) VT_NODISCARD;

/* Sums since the last start(). */
struct vt_sut_counts {
    uint64_t requests;
    uint64_t samples;
    int64_t queue_ns;   /* sum over samples: admission to batch taken */
    int64_t compute_ns; /* sum over requests: engine's start to end */
};
/*
 * Whether the stages of samples are stamped from the next start() on: a further look at the clock
 * or two a request. Off at first. Not while a run is on; forgets what was stamped before.
 * VT_ERR_MEMORY.
 */
enum vt_status vt_sut_stamp_stages(struct vt_batching_sut *sut, bool on,
                                   struct vt_error *err) VT_NODISCARD;
/* Since the last start(), while no run is on; no samples where stages were not stamped. */
void vt_sut_stage_times(const struct vt_batching_sut *sut, struct vt_stage_times *ret_times);

void vt_sut_counts(const struct vt_batching_sut *sut, struct vt_sut_counts *ret_counts);

#endif
