/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to compute attention, and what the block-wise one needs of an instruction set. */
#ifndef VT_KERNELS_ATTENTION_FLASH_H
#define VT_KERNELS_ATTENTION_FLASH_H

#include "kernels/attention/attention.h"

/*
 * A strip: as many queries as a panel of the matrix product has columns (`lanes`), against a block
 * of keys. Scores stand as [keys][lanes], so that they are a packed factor of the second product
 * and all that is done to a query happens within a lane.
 */
struct vt_attention_strip {
    int64_t keys, lanes;
    float *scores; /* become exp(score - max) */
    float softcap; /* 0: none */
    /* Added to the score at [key · bias_step + lane · bias_lanes]; NULL: nothing. */
    const float *bias;
    int64_t bias_step;
    bool bias_by_lane;         /* else one number a key */
    const int32_t *low, *high; /* by lane: keys low <= k < high are seen; NULL: all */
    float *max, *sum;          /* by lane, of the blocks so far; updated */
    float *out;                /* [v_size][lanes], scaled to the new maximum */
    int64_t v_size;
};
struct vt_attention_way {
    void (*strip)(const struct vt_attention_strip *strip);
    /* to[i · to_step + j] = from[j][i] · scale for i < n, j < rows <= unit; zeros up to unit. */
    void (*turn)(const float *const *from, int64_t rows, int64_t n, float scale, int64_t unit,
                 float *to);
    /* to[j][i] = from[i · lanes + j] · scale[j] for i < n, j < rows. */
    void (*turn_back)(const float *from, int64_t lanes, int64_t rows, int64_t n, const float *scale,
                      float *const *to);
};
extern const struct vt_attention_way vt_attention_way_portable;
#if defined(__x86_64__)
extern const struct vt_attention_way vt_attention_way_avx2;
extern const struct vt_attention_way vt_attention_way_avx512;
#endif

/* Row t of a head's keys or values, of the past or of the new ones. */
const float *vt_attention_row(const struct vt_attention *a, const float *past, const float *fresh,
                              int64_t size, int64_t batch, int64_t head, int64_t t);

size_t vt_attention_flash_floats(const struct vt_attention *a, uint32_t threads);
void vt_attention_flash(const struct vt_attention *a, const struct vt_attention_data *data,
                        struct vt_pool *pool, float *workspace);
void vt_attention_rows(const struct vt_attention *a, const struct vt_attention_data *data,
                       struct vt_pool *pool, float *workspace);

#endif
