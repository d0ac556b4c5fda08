/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a Winograd convolution F(m x m, 3x3) that depend on the instruction set; winograd.c
 * puts them together.
 *
 * The minimal algorithm F(m, 3) computes m outputs of a 3-tap correlation y = A^T [(G g) (B^T d)]
 * (elementwise product in the middle) with m + 2 products instead of 3m; nested over two axes it
 * costs (m + 2)² instead of 9m². The matrices follow from Cook and Toom's way to multiply
 * polynomials by evaluating them at m + 1 points p and "at infinity", transposed:
 *
 *     A^T  column of p: 1, p, p², … p^(m-1);         of infinity: 0, … 0, 1
 *     G    row of p: (1, p, p²) / product of (p - q) over the other points q;    of infinity: 0 0 1
 *     B^T  row of p: coefficients, from x^0, of the product of (x - q) over the other points q;
 *          of infinity: those of the product over all points
 *
 * The points are 0 and pairs ±p, for F(2,3) ±1; their squares and products are exact in fp32. Those
 * of F(4,3) were found by searching multiples of 1/16 for the least RMS error: a third of the error
 * of 0, ±1, ±2.
 */
#ifndef VT_KERNELS_CONV_WINOGRAD_H
#define VT_KERNELS_CONV_WINOGRAD_H

#include "kernels/gemm/gemm.h"

#define VT_WINOGRAD_4_P 0.625f
#define VT_WINOGRAD_4_Q 1.375f
#define VT_WINOGRAD_6_P 0.5f
#define VT_WINOGRAD_6_Q 1.0f
#define VT_WINOGRAD_6_R 2.0f

#define VT_WINOGRAD_EDGE_MAX  8 /* m + 2 of the largest tile */
#define VT_WINOGRAD_TAPS_MAX  3 /* along depth */
#define VT_WINOGRAD_LANES_MAX 16

/* The points' matrix G, [m + 2][3]. */
void vt_winograd_weight_matrix(int64_t m, double ret_g[VT_WINOGRAD_EDGE_MAX][3]);

/* One tile of (m + 2)² pixels: v[xi][channel] = (B^T d B)[xi]. */
struct vt_winograd_input {
    /* Inside the image: the first pixel, and how far behind it each pixel is. */
    const float *image;
    const int64_t *offset;
    /* Over an edge: image is NULL and every pixel is here, those outside as zeros. */
    const float *pixels[VT_WINOGRAD_EDGE_MAX * VT_WINOGRAD_EDGE_MAX];
    int64_t channels;
    float *v; /* rounded up to whole vectors */
    int64_t v_stride;
};

/* One tile of m² outputs: act(A^T M A + bias + residual). */
struct vt_winograd_output {
    const float *m; /* m[xi][channel], rounded up to whole vectors */
    int64_t m_stride;
    int64_t rows, cols; /* that lie inside the output */
    float *out;
    const float *residual; /* of the strides of `out`, or NULL */
    int64_t row_stride, pixel_stride;
    const float *bias; /* or NULL */
    int64_t channels;
    const struct vt_gemm_finish *finish;
};

/* C = the sum over taps of A[tap] · B[tap] for some rows and exactly nr columns. A's rows are read
 * in place: the transform writes a tile's channels side by side, as it has them in registers. */
struct vt_winograd_product {
    int64_t k, taps;
    const float *a[VT_WINOGRAD_TAPS_MAX];
    int64_t lda;
    const float *b; /* [taps][k][nr] */
    /* Of each step of k that many floats from here are fetched into the second-level cache. */
    const float *next;
    int64_t next_step;
    float *c;
    int64_t ldc;
};

struct vt_winograd_kernel {
    uint32_t lanes, mr, nr;
    void (*input[3])(const struct vt_winograd_input *input); /* of m = 2, 4, 6 */
    void (*output[3])(const struct vt_winograd_output *output);
    void (*product)(const struct vt_winograd_product *product, uint32_t rows);
};

extern const struct vt_winograd_kernel vt_f32_winograd__portable;
#if defined(__x86_64__)
extern const struct vt_winograd_kernel vt_f32_winograd__avx2;
extern const struct vt_winograd_kernel vt_f32_winograd__avx512;
#endif

/* The best kernel for a set of enum vt_cpu_feature. */
const struct vt_winograd_kernel *vt_winograd_kernel_find(uint32_t features);

#endif
