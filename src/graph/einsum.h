/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The equation of Einsum, "bij,bjk->bik", taken apart. An ellipsis stands for as many dimensions as
 * its term has beyond its letters; ellipses of several terms are broadcast from their ends.
 */
#ifndef VT_GRAPH_EINSUM_H
#define VT_GRAPH_EINSUM_H

#include <stdbool.h>
#include <stdint.h>

#include "vatio/tensor.h"

#define VT_EINSUM_TERMS  16
#define VT_EINSUM_LABELS (2 * VT_RANK_MAX) /* the letters' and the ellipsis's dimensions */

struct vt_einsum {
    uint32_t n_labels, n_terms, n_out;
    uint32_t rank[VT_EINSUM_TERMS];
    uint8_t term[VT_EINSUM_TERMS][VT_RANK_MAX]; /* the label of each dimension */
    uint8_t out[VT_RANK_MAX];
};

/*
 * NULL when the equation is sound for terms of these ranks; else what is wrong. Without "->" the
 * output has the ellipsis and then, sorted, the letters that stand once.
 */
const char *vt_einsum_parse(const char *equation, uint32_t n_terms, const uint32_t *ranks,
                            struct vt_einsum *ret);

#endif
