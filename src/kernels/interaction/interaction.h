/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recommender does between its embedding tables and its last layers: a sample's features,
 * rows of tables or of a tensor, are multiplied in pairs, and some of the products stand behind a
 * row of the sample's own. The features of a few samples alone are put side by side.
 *
 *     y[s] = x[s], then feature i of s · feature j of s for the pairs (i, j) that are wanted
 */
#ifndef VT_KERNELS_INTERACTION_INTERACTION_H
#define VT_KERNELS_INTERACTION_INTERACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

#define VT_INTERACTION_FEATURES_MAX 64
#define VT_INTERACTION_BLOCK        4 /* features are multiplied so many by so many */
#define VT_INTERACTION_STEPS        16

/* Rows of floats: row number `places[s]` belongs to sample s; without places row number s does. */
struct vt_interaction_feature {
    const float *rows;
    int64_t n_rows;
    const void *places; /* int64 or int32, below 0 from the end; NULL: none */
    bool places_64;
};

/* Products of every row with itself and those before it, n rows of `steps` floats one behind the
 * other: that of i and j < i is at [i * VT_INTERACTION_FEATURES_MAX + j]. Rows are there up to a
 * multiple of VT_INTERACTION_BLOCK, and floats of VT_INTERACTION_STEPS; what the rows behind the
 * n-th give is undefined. */
typedef void (*vt_interaction_pairs_func)(const float *rows, uint32_t n, int64_t steps,
                                          float *ret_products);
/* The best for a set of enum vt_cpu_feature. */
vt_interaction_pairs_func vt_interaction_pairs_find(uint32_t features);

struct vt_interaction {
    vt_interaction_pairs_func pairs;
    uint32_t n_features; /* at most VT_INTERACTION_FEATURES_MAX */
    int64_t samples, width;
    int64_t x_width;        /* 0: there is no x */
    const uint32_t *wanted; /* where the products of a sample stand, as vt_interaction_at says */
    int64_t n_wanted;
};

/* Where the product of features i and j stands among a sample's. */
static inline uint32_t vt_interaction_at(uint32_t i, uint32_t j)
{
    return i > j ? i * VT_INTERACTION_FEATURES_MAX + j : j * VT_INTERACTION_FEATURES_MAX + i;
}

/* Scratch that vt_interaction_run needs with that many threads; aligned to 64 bytes. */
size_t vt_interaction_workspace_bytes(const struct vt_interaction *interaction, uint32_t threads);

/* Fills y. Returns -1, or, having computed nothing, feature * samples + s where the place of sample
 * s is no row of the feature. */
int64_t vt_interaction_run(const struct vt_interaction *interaction,
                           const struct vt_interaction_feature *features, const float *x, float *y,
                           struct vt_pool *pool, void *workspace);

/* The kernels of all instruction sets. */
void vt_f32_pairs__portable(const float *rows, uint32_t n, int64_t steps, float *ret_products);
#if defined(__x86_64__)
void vt_f32_pairs__avx2(const float *rows, uint32_t n, int64_t steps, float *ret_products);
void vt_f32_pairs__avx512(const float *rows, uint32_t n, int64_t steps, float *ret_products);
#endif

#endif
