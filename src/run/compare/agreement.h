/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an output is equal to another engine's: |a - b| <= atol + rtol * |b| for every element;
 * whole numbers and truth values have to be the same.
 */
#ifndef VT_RUN_AGREEMENT_H
#define VT_RUN_AGREEMENT_H

#include "result/comparison.h"

/* What an agreement is made of, over the samples so far. Zeroed before the first. */
struct vt_agreement_sums {
    double squares, errors; /* of b, of a - b */
    double worst_ratio;     /* of |a - b| to what is allowed */
};

/* Adds one sample's output `a` and the first engine's `b`. `agreement` starts as agreeing. */
void vt_agreement_add(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                      uint64_t sample, const struct vt_tensor *a, const struct vt_tensor *b,
                      double rtol, double atol);

#endif
