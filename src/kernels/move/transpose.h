/* SPDX-License-Identifier: Apache-2.0 */
/* Transposition of a matrix of 4-byte elements, for each instruction set. */
#ifndef VT_KERNELS_MOVE_TRANSPOSE_H
#define VT_KERNELS_MOVE_TRANSPOSE_H

#include <stdint.h>

/* to[c * to_step + r] = from[r * from_step + c]. Steps are in elements. */
struct vt_transpose {
    int64_t rows, columns; /* of `from` */
    int64_t from_step, to_step;
};
typedef void (*vt_transpose_func)(const struct vt_transpose *t, const uint32_t *from, uint32_t *to);

void vt_x32_transpose__portable(const struct vt_transpose *t, const uint32_t *from, uint32_t *to);
#if defined(__x86_64__)
void vt_x32_transpose__avx2(const struct vt_transpose *t, const uint32_t *from, uint32_t *to);
void vt_x32_transpose__avx512(const struct vt_transpose *t, const uint32_t *from, uint32_t *to);
#endif

#endif
