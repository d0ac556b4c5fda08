/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of four by four numbers of 32 bits, turned in registers. */
#ifndef VT_KERNELS_ATTENTION_TURN_H
#define VT_KERNELS_ATTENTION_TURN_H

typedef float vt_four __attribute__((vector_size(16)));

/* Four rows become four columns. Moves bits only, so that any 32-bit type may pass. */
static inline __attribute__((always_inline)) void vt_turn_four(vt_four x[4])
{
    const vt_four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    const vt_four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    const vt_four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    const vt_four d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

#endif
