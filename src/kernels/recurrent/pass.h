/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of one run of a recurrent layer.
 *
 * The state's weights stand in panels: a panel holds the gates of `units` neighbouring hidden
 * units, so that whoever draws it can finish these units: one parallel loop a step (a GRU needs
 * two, since its last gate looks at all units' reset gates).
 */
#ifndef VT_KERNELS_RECURRENT_PASS_H
#define VT_KERNELS_RECURRENT_PASS_H

#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/ways.h"

/* Gates first, …, first + gates - 1 of all units, in blocks of `units`. */
struct vt_recurrent_panels {
    int64_t first, gates, units, blocks;
};
struct vt_recurrent_panels vt_recurrent_early(const struct vt_recurrent *r);
struct vt_recurrent_panels vt_recurrent_late(const struct vt_recurrent *r);

/* Where the packed matrices behind the input's start, in floats. */
struct vt_recurrent_packing {
    size_t early, late, end;
};
struct vt_recurrent_packing vt_recurrent_packing(const struct vt_recurrent *r);

int64_t vt_recurrent_gates(const struct vt_recurrent *r);

/* A run's scratch, cut from the workspace. */
struct vt_recurrent_scratch {
    float *from_input; /* [time · batch][gates · hidden] */
    float *h[2];       /* [batch][hidden], before and behind a step in turn */
    float *c;          /* [batch][hidden] */
    float *update;     /* [batch][hidden], GRU */
    float *reset;      /* [batch][hidden], GRU: the gate, or the gate times the state */
    float *bias;       /* [gates · hidden] */
    float *sums;       /* a worker's [batch][width] */
    size_t sums_step;  /* from one worker to the next */
    void *gemm;
};

struct vt_recurrent_pass {
    const struct vt_recurrent *r;
    const struct vt_recurrent_data *data;
    struct vt_pool *pool;
    struct vt_recurrent_scratch s;
    uint32_t direction;
    bool backwards;
    const float *state_bias; /* of the gate that a GRU resets, or NULL */
    int64_t step;
};

int64_t vt_recurrent_length(const struct vt_recurrent_pass *p, int64_t b);
/* From h[step % 2] to the other. */
void vt_recurrent_step(const struct vt_recurrent_pass *p);

#endif
