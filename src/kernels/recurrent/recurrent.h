/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers in float32: LSTM, GRU and the plain RNN, in one or both directions.
 *
 * The part of every gate that comes from the input is one matrix product over all time steps; only
 * the product with the hidden state is left to each step. For a small batch that one is bound by
 * the weights' way through the caches, so its panels are read once a step, in one stream.
 */
#ifndef VT_KERNELS_RECURRENT_RECURRENT_H
#define VT_KERNELS_RECURRENT_RECURRENT_H

#include <stdbool.h>

#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/gemm.h"

enum vt_recurrent_kind {
    VT_RECURRENT_LSTM, /* gates i, o, f, c */
    VT_RECURRENT_GRU,  /* gates z, r, h */
    VT_RECURRENT_RNN,  /* one gate */
};

/* The loops of an instruction set over a step. */
struct vt_recurrent_way;
/* The best for a set of enum vt_cpu_feature. Static storage. */
const struct vt_recurrent_way *vt_recurrent_way_find(uint32_t features);
bool vt_recurrent_knows_half(const struct vt_recurrent_way *way);

struct vt_recurrent {
    enum vt_recurrent_kind kind;
    const struct vt_gemm_kernel *gemm;
    const struct vt_recurrent_way *way;
    bool half_weights; /* the state's weights are kept as float16, where the way knows it */
    uint32_t directions;
    bool reverse;     /* the first (or only) direction runs backwards */
    bool batch_first; /* layouts [batch][time] and [batch][direction] */
    int64_t time, batch, inputs, hidden;
    struct vt_unary_params activation[2][3]; /* by direction: f, g, h */
    float clip;                              /* of what goes into an activation; 0: none */
    bool input_forget;                       /* LSTM: forget gate = 1 - input gate */
    bool linear_before_reset;                /* GRU */
};

/* The weights of one direction, packed as one block of floats. */
size_t vt_recurrent_packed_floats(const struct vt_recurrent *r);
/* w: [gates · hidden][inputs], r: [gates · hidden][hidden]. */
void vt_recurrent_pack(const struct vt_recurrent *layer, const float *w, const float *r,
                       float *ret_packed);

struct vt_recurrent_data {
    const float *x;
    const float *packed[2];
    const float
        *bias; /* [directions][2 · gates · hidden], of the input and of the state; NULL: 0 */
    const float *peephole;      /* LSTM: [directions][3 · hidden], gates i, o, f; NULL: none */
    const int32_t *lengths;     /* [batch]; NULL: all of time */
    const float *h, *c;         /* first states; NULL: 0 */
    float *y, *last_h, *last_c; /* each may be NULL */
};
size_t vt_recurrent_workspace_bytes(const struct vt_recurrent *r, uint32_t threads);
void vt_recurrent_run(const struct vt_recurrent *r, const struct vt_recurrent_data *data,
                      struct vt_pool *pool, void *workspace);

#endif
