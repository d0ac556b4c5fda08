/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the micro-kernels in assembly are called with: one structure, whose offsets both sides
 * include. A function computes a fixed number of rows,
 *
 *     C = clamp(bias of the columns + bias of the rows + A·B + C before + residual)
 *
 * with all sums in registers from the first to the last step. Everything after A·B may be left out.
 */
#ifndef VT_KERNELS_GEMM_CALL_H
#define VT_KERNELS_GEMM_CALL_H

#define VT_CALL_A          0
#define VT_CALL_B          8
#define VT_CALL_C          16
#define VT_CALL_LDC        24
#define VT_CALL_K          32
#define VT_CALL_A_STRIDE   40
#define VT_CALL_B_STRIDE   48
#define VT_CALL_COL_BIAS   56
#define VT_CALL_ROW_BIAS   64
#define VT_CALL_RESIDUAL   72
#define VT_CALL_PREFETCH   80
#define VT_CALL_ROWS       88
#define VT_CALL_LOW        96
#define VT_CALL_HIGH       100
#define VT_CALL_COLUMNS    104
#define VT_CALL_ACCUMULATE 108
#define VT_CALL_CLAMP      109
#define VT_CALL_LINES      112
#define VT_CALL_N_LINES    120
#define VT_CALL_PACE       128
#define VT_CALL_NEXT_C     136

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct vt_gemm_call {
    const float *a, *b;
    float *c;
    int64_t ldc_bytes;
    int64_t k;
    int64_t a_stride_bytes; /* between rows of A, where A is not packed */
    int64_t b_stride_bytes; /* between steps of B; with `rows`, the column in bytes */
    const float *col_bias, *row_bias, *residual; /* NULL: none */
    const void *prefetch; /* never NULL: a cache line of it is asked for at each step */
    const float *const *rows;
    float low, high;    /* of clamp; a NaN stays one */
    uint32_t columns;   /* a bit for each that is there; AVX-512 only */
    uint8_t accumulate; /* add to what C holds */
    uint8_t clamp;
    /* A comes as lines of k steps one after the other: row i of a line is i strides behind its
     * first. At least one. */
    const float *const *lines;
    int64_t n_lines;
    int64_t prefetch_pace; /* bytes from one step's request to the next's; AVX-512 only, else 64 */
    float *next_c; /* the tile after this one, so many rows too: fetched meanwhile; never NULL */
};

#define VT_CALL_ASSERT(offset, member)                                                             \
    _Static_assert(offsetof(struct vt_gemm_call, member) == (offset), "as in the assembly")
VT_CALL_ASSERT(VT_CALL_A, a);
VT_CALL_ASSERT(VT_CALL_B, b);
VT_CALL_ASSERT(VT_CALL_C, c);
VT_CALL_ASSERT(VT_CALL_LDC, ldc_bytes);
VT_CALL_ASSERT(VT_CALL_K, k);
VT_CALL_ASSERT(VT_CALL_A_STRIDE, a_stride_bytes);
VT_CALL_ASSERT(VT_CALL_B_STRIDE, b_stride_bytes);
VT_CALL_ASSERT(VT_CALL_COL_BIAS, col_bias);
VT_CALL_ASSERT(VT_CALL_ROW_BIAS, row_bias);
VT_CALL_ASSERT(VT_CALL_RESIDUAL, residual);
VT_CALL_ASSERT(VT_CALL_PREFETCH, prefetch);
VT_CALL_ASSERT(VT_CALL_ROWS, rows);
VT_CALL_ASSERT(VT_CALL_LOW, low);
VT_CALL_ASSERT(VT_CALL_HIGH, high);
VT_CALL_ASSERT(VT_CALL_COLUMNS, columns);
VT_CALL_ASSERT(VT_CALL_ACCUMULATE, accumulate);
VT_CALL_ASSERT(VT_CALL_CLAMP, clamp);
VT_CALL_ASSERT(VT_CALL_LINES, lines);
VT_CALL_ASSERT(VT_CALL_N_LINES, n_lines);
VT_CALL_ASSERT(VT_CALL_PACE, prefetch_pace);
VT_CALL_ASSERT(VT_CALL_NEXT_C, next_c);

typedef void (*vt_gemm_call_func)(const struct vt_gemm_call *call);

#endif
#endif
