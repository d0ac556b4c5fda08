/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product of quantised numbers, int8 by uint8 into int32, and what is done to the sums:
 * scaled per row, rounded, saturated, added to another quantised tensor.
 *
 * The rows are the constant factor A (the weights, int8), the columns are what is computed on (B,
 * uint8): a tile is `mr` rows by VT_GEMM8_NR columns. So the sums of one output channel lie beside
 * each other, as they do in a channels-first image. k goes in steps of four: B is packed as panels
 * [k / 4][VT_GEMM8_NR][4]. int8 data become uint8 by adding 128, which moves the zero point along.
 *
 * Sums wrap in 32 bits, no step on the way saturates: every kernel gives the same bits.
 *
 * Zero points never meet the product: sum((x - zx)·w) = sum(x·w) - zx·sum(w) is part of the bias,
 * and that of the weights, where there is one, is taken off by the columns' sums.
 */
#ifndef VT_KERNELS_GEMM8_GEMM8_H
#define VT_KERNELS_GEMM8_GEMM8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

#define VT_GEMM8_NR     32
#define VT_GEMM8_MR_MAX 32

/* What becomes of sums; rows are those of A. All pointers borrowed. */
struct vt_gemm8_finish {
    enum vt_dtype output;  /* VT_U8, VT_I8, VT_F32; VT_I32: the sums as they are, with the bias */
    const int32_t *bias;   /* a row, never NULL */
    const int32_t *a_zero; /* a row: zero points of A; NULL: 0 */
    const float *factor;   /* a row */
    const float *offset;   /* a row, added behind the factor; NULL: 0 */
    /* Of a quantised result: round(…) + zero within [low, high]. Of float32: within [low, high]. */
    float zero, low, high;
    /*
     * Where a tensor of the result's shape is added, all quantised: the result so far, q, becomes
     * round((q - zero)·sum_factor + (residual·residual_factor - residual_zero·residual_factor)) +
     * sum_zero.
     */
    bool has_residual, residual_signed;
    float sum_factor, residual_factor, residual_zero;
    float sum_zero, sum_low, sum_high;
};

/* One tile of sums, finished. */
struct vt_gemm8_tile {
    const int32_t *sums; /* [rows][VT_GEMM8_NR], or one row of any length; readable up to a
                            multiple of 16 */
    uint32_t rows, cols;
    int64_t row;          /* of A, for the finish's arrays */
    void *output;         /* of the finish's type; rows are `stride` apart, columns follow */
    int64_t stride;       /* in elements */
    const void *residual; /* as the output */
};

struct vt_gemm8_kernel {
    const char *name; /* "12x32 vnni" */
    uint32_t mr;
    uint32_t ku;         /* k is padded to a multiple of it; panels of A are [k / ku][mr][ku] */
    uint32_t a_bytes;    /* of an element of A; 2: as int16, each four ordered 0 2 1 3 */
    void (*begin)(void); /* around the tiles of one thread; NULL: nothing to do */
    void (*end)(void);
    /* Sums of a panel of A and one of B, k / 4 = k4 steps; at least rows × cols of [mr][NR]. */
    void (*sum)(const void *a, const uint8_t *b, int64_t k4, uint32_t rows, uint32_t cols,
                int32_t *ret_sums);
    void (*finish)(const struct vt_gemm8_finish *finish, const struct vt_gemm8_tile *tile);
};

/* The best kernel for a set of enum vt_cpu_feature. Static storage. Thread-safe. */
const struct vt_gemm8_kernel *vt_gemm8_kernel_find(uint32_t features);

/* Steps of four that k takes, padded as the kernel wants it. */
int64_t vt_gemm8_k4(const struct vt_gemm8_kernel *kernel, int64_t k);
/* Bytes of A packed. False on overflow. */
bool vt_gemm8_packed_size(const struct vt_gemm8_kernel *kernel, int64_t m, int64_t k,
                          size_t *ret_bytes);
/* Puts one element of A into its panel: row r of it, step i of unit u. */
static inline void vt_gemm8_put(const struct vt_gemm8_kernel *kernel, void *panel, int64_t r,
                                int64_t u, int64_t i, int8_t value)
{
    static const uint8_t order[4] = {0, 2, 1, 3};
    const int64_t base = (u * kernel->mr + r) * kernel->ku;
    if (kernel->a_bytes == 2) {
        ((int16_t *)panel)[base + i / 4 * 4 + order[i % 4]] = value;
    } else {
        ((int8_t *)panel)[base + i] = value;
    }
}
/* A element at `a` is at row·row_stride + k·k_stride. `flip` is xor'ed into every one. */
void vt_gemm8_pack(const struct vt_gemm8_kernel *kernel, int64_t m, int64_t k, const uint8_t *a,
                   int64_t row_stride, int64_t k_stride, uint8_t flip, void *ret_packed);

/* Packs columns [n0, n0 + nc) of one product into panels of B, whole ones. */
typedef void (*vt_gemm8_pack_func)(const void *ctx, int64_t batch, int64_t n0, int64_t nc,
                                   uint8_t *ret_packed);
struct vt_gemm8_place {
    const void *a;        /* packed */
    void *output;         /* element (row 0, column 0) */
    const void *residual; /* likewise */
    int64_t row;          /* of the finish's arrays for row 0 */
};
typedef void (*vt_gemm8_locate_func)(const void *ctx, int64_t batch, struct vt_gemm8_place *ret);

struct vt_gemm8 {
    const struct vt_gemm8_kernel *kernel;
    int64_t m, n, k, batches;
    /* Element (row, column) of the result is at row·row_stride + column·col_stride; one is 1. */
    int64_t row_stride, col_stride;
    vt_gemm8_pack_func pack_b;
    vt_gemm8_locate_func locate;
    const void *ctx;
    struct vt_gemm8_finish finish;
};

/* Scratch that vt_gemm8_run needs with that many threads; aligned to 64 bytes. */
size_t vt_gemm8_workspace_bytes(const struct vt_gemm8 *gemm, uint32_t threads);
void vt_gemm8_run(const struct vt_gemm8 *gemm, struct vt_pool *pool, void *workspace);

/* Results of 1 or 4 bytes, [rows][VT_GEMM8_NR], so that row r of column c is at
 * to + c·stride + r·bytes. */
void vt_gemm8_turn(const void *tile, size_t bytes, uint32_t rows, uint32_t cols, void *to,
                   size_t stride);
/* out[4·i + j] = rows[j][i] ^ flip, i below n: how channels of an image become steps of four. */
void vt_u8_interleave(const uint8_t *const rows[4], int64_t n, uint8_t flip, uint8_t *out);
/* A panel of B from `cols` rows of k bytes that lie `stride` apart. */
void vt_u8_pack_rows(const uint8_t *rows, int64_t stride, uint32_t cols, int64_t k, int64_t k4,
                     uint8_t flip, uint8_t *ret_panel);

#endif
