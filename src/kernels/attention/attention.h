/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaled dot-product attention, and the rotation of positions that goes with it, in float32.
 *
 * The scores never exist as a whole: blocks of keys pass a strip of queries, with the largest score
 * and the sum of exponentials so far kept for each query (Dao et al., FlashAttention, 2022). Where
 * the scores themselves are asked for, a plain loop over the queries computes them.
 */
#ifndef VT_KERNELS_ATTENTION_ATTENTION_H
#define VT_KERNELS_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "kernels/gemm/gemm.h"

/* Which stage of the scores is asked for as an output of its own. */
enum vt_attention_stage {
    VT_SCORES_RAW,
    VT_SCORES_CAPPED,
    VT_SCORES_MASKED,
    VT_SCORES_SOFTMAX,
};

/* The loops of an instruction set over the scores. */
struct vt_attention_way;
/* The best for a set of enum vt_cpu_feature. Static storage. */
const struct vt_attention_way *vt_attention_way_find(uint32_t features);

/*
 * Queries [batch][q_heads][q_len][size] against keys and values of kv_heads heads, of which each
 * serves q_heads / kv_heads heads of queries; packed ones are [batch][len][heads · size]. A past of
 * past_len keys and values [batch][kv_heads][past_len][…] stands before the new ones.
 */
struct vt_attention {
    const struct vt_gemm_kernel *gemm;
    const struct vt_attention_way *way;
    /* Queries, keys, values and weights are rounded to bfloat16 (kernels/gemm16), where no scores
     * are kept; NULL: fp32. The way's panels have as many columns then: VT_GEMM16_NR. */
    const struct vt_gemm16_kernel *bf16;
    int64_t batch, q_heads, kv_heads, q_len, kv_len, past_len, size, v_size;
    bool packed;
    float scale, softcap; /* softcap 0: none */
    bool causal;          /* query i sees keys up to i + what stands before the queries */
    int64_t left, right;  /* how far to both sides it sees, -1: all */
    bool keeps_scores;    /* they are an output */
    enum vt_attention_stage stage;
    /* The mask: elements at b·step[0] + h·step[1] + q·step[2] + key, of mask_len keys; beyond them
     * nothing is seen. */
    bool mask_is_bool;
    int64_t mask_step[3], mask_len;
};
struct vt_attention_data {
    const float *q, *k, *v;
    const float *past_k, *past_v; /* or NULL */
    const void *mask;             /* bool or float, or NULL */
    const int64_t *valid;         /* keys that are no padding, by batch; or NULL */
    float *y;
    float *present_k, *present_v; /* or NULL */
    float *scores;                /* where keeps_scores */
};
size_t vt_attention_workspace_bytes(const struct vt_attention *a, uint32_t threads);
void vt_attention_run(const struct vt_attention *a, const struct vt_attention_data *data,
                      struct vt_pool *pool, float *workspace);

/*
 * Pairs of the first `turned` numbers of each head are rotated by the angles of their position:
 * cos and sin are [positions][turned / 2]. A pair is neighbours (interleaved) or one from each
 * half.
 */
struct vt_rotary {
    int64_t batch, heads, len, size, turned;
    bool packed; /* [batch][len][heads][size], not [batch][heads][len][size] */
    bool interleaved;
    int64_t positions;
};
/* `position` is [batch][len], or NULL: row b·len + i. Returns -1, or where a position is beyond
 * the tables. */
int64_t vt_rotary_run(const struct vt_rotary *r, const float *x, const float *cosine,
                      const float *sine, const int64_t *position, float *y);

#endif
