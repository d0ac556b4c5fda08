/* SPDX-License-Identifier: Apache-2.0 */
/* Generated contents of tensors, the same for the same seed on every machine. */
#ifndef VT_WORKLOAD_TENSOR_RANDOM_H
#define VT_WORKLOAD_TENSOR_RANDOM_H

#include "vatio/tensor.h"

/* Whether there is a rule for the type: all but text and complex numbers. */
bool vt_tensor_random_possible(enum vt_dtype dtype);
/*
 * Fills the tensor:
 *   floating types   uniform in [0, 1)
 *   uint8            uniform in 0..255, as pixels are
 *   int8, 16 bits    uniform in 0..127
 *   32 and 64 bits   0 or 1: integers of that size are often places in a table or a mask, and
 *                    those two are in range of any table of two (see also below)
 *   bool             true or false
 */
void vt_tensor_random_fill(struct vt_tensor *tensor, uint64_t seed);
/* The same, but integers of 32 and 64 bits are uniform in 0..bound - 1 (bound at most 2^31). */
void vt_tensor_random_fill_below(struct vt_tensor *tensor, uint64_t seed, int64_t bound);
/* A seed that depends on all three numbers. */
uint64_t vt_tensor_random_seed(uint64_t seed, uint64_t sample, uint64_t input);

#endif
