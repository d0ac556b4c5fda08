/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tensors by their index letters, plain matrix products, and determinants. */
#ifndef VT_KERNELS_LINEAR_LINEAR_H
#define VT_KERNELS_LINEAR_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

#define VT_CONTRACT_LABELS (2 * VT_RANK_MAX)
#define VT_CONTRACT_TERMS  16

/*
 * out[kept…] = sum over summed… of the product of all terms. The terms' steps are in elements, 0
 * where a term does not have the label or is broadcast along it. Floats are summed in double,
 * integers wrap.
 */
struct vt_contract {
    enum vt_dtype dtype;
    uint32_t n_terms, n_kept, n_summed;
    int64_t kept[VT_CONTRACT_LABELS], summed[VT_CONTRACT_LABELS];
    int64_t kept_step[VT_CONTRACT_TERMS][VT_CONTRACT_LABELS];
    int64_t summed_step[VT_CONTRACT_TERMS][VT_CONTRACT_LABELS];
};
/* float32, float64, int32, int64, uint32, uint64 */
bool vt_contract_knows(enum vt_dtype dtype);
void vt_contract_run(const struct vt_contract *c, const void *const *terms, void *out,
                     struct vt_pool *pool);

/* The determinants of [count] matrices of n x n, float32 or float64; `workspace` holds n² doubles.
 */
void vt_determinant_run(enum vt_dtype dtype, int64_t count, int64_t n, const void *x, void *y,
                        double *workspace);

#endif
