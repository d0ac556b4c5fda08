/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product in fp32, C = act(A·B + bias + residual), blocked for the caches and spread over a
 * thread pool.
 *
 * B reaches the micro-kernel packed as panels of `nr` columns ([k][nr]), A as rows in memory or as
 * panels of `mr` rows ([k][mr]). Packed factors are cut into blocks of VT_GEMM_KC along k and
 * padded with zeros. A factor that is constant is packed once by the caller; one that is not is
 * packed block by block into the workspace, A only where its rows cannot be read in place. Where a
 * factor is only implied (the patches of a convolution) the caller brings the function that makes a
 * block of it, so the whole of it never exists.
 *
 * A batch is a number of products of the same size; `locate` says where each one's operands are.
 */
#ifndef VT_KERNELS_GEMM_GEMM_H
#define VT_KERNELS_GEMM_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "kernels/activation.h"

#define VT_GEMM_KC     512 /* k steps between two visits of C */
#define VT_GEMM_MR_MAX 14  /* over all micro-kernels */
#define VT_GEMM_NR_MAX 32

/* What is done to a tile before it is stored. */
struct vt_gemm_finish {
    enum vt_activation activation;
    float alpha, beta;
};

/* One call of a micro-kernel: up to mr rows by nr columns. */
struct vt_gemm_tile {
    int64_t k;
    const float *a;   /* [k][mr]; of the kernel `rows`, rows of k elements, a_stride apart */
    int64_t a_stride; /* floats */
    const float *b;   /* [k][nr]; unused by the indirect kernel */
    int64_t b_stride; /* floats between steps of B; 0: nr, as it is packed */
    /* Columns that C, column bias and residual have; 0: nr. Fewer only where the kernel masks. B
     * always has nr. */
    uint32_t cols;
    /* Asked for while the kernel runs, that many bytes a step (0: 64); NULL: nothing. */
    const void *prefetch;
    int64_t prefetch_pace;
    /* Kernel `lines`: A comes as n_lines, at least one, of k steps each, all of which go over one B
     * of n_lines * k steps, packed. Row i of a line is at line + i * a_stride. */
    const float *const *lines;
    int64_t n_lines;
    /* Indirect kernel: row k of B is at rows[k] + column. */
    const float *const *rows;
    int64_t column;
    float *c;
    float *next_c; /* C of the tile after this one, fetched meanwhile; NULL: none */
    int64_t ldc;
    bool accumulate; /* start from C */
    /* NULL stores the plain sum; else the rest is looked at, each NULL where there is none. */
    const struct vt_gemm_finish *finish;
    const float *row_bias, *col_bias, *residual; /* of this tile; residual has C's ldc */
};
typedef void (*vt_gemm_tile_func)(const struct vt_gemm_tile *tile, uint32_t rows);

/* Packs `lanes` rows or columns whose elements lie side by side, lane_stride floats apart, into one
 * panel [kc][unit]; lanes that are missing become zeros. */
typedef void (*vt_gemm_turn_func)(const float *source, int64_t lane_stride, int64_t lanes,
                                  int64_t kc, uint32_t unit, float *ret_panel);

/* C = A·B for up to VT_GEMM_SUMS_ROWS rows of A, B row by row. */
#define VT_GEMM_SUMS_ROWS 4
struct vt_gemm_sums {
    int64_t m, n, k;
    const float *a;
    int64_t a_row_stride, a_col_stride;
    const float *b;
    int64_t b_stride;
    float *c;
    int64_t ldc;
};

struct vt_gemm_kernel {
    uint32_t mr, nr;
    bool paces; /* prefetches at another pace than 64 bytes a step */
    bool masks; /* takes fewer than nr columns without touching what lies beyond */
    vt_gemm_tile_func packed;
    vt_gemm_tile_func rows; /* A in place */
    vt_gemm_tile_func lines;
    vt_gemm_tile_func indirect;
    vt_gemm_turn_func turn;
    /* x[i] = act(x[i]) */
    void (*activate)(const struct vt_gemm_finish *finish, float *x, uint32_t n);
    void (*sums)(const struct vt_gemm_sums *sums);
    /* y[j * y_stride] = sum of x[i] * b[j * b_stride + i] over k */
    void (*dots)(const float *x, const float *b, int64_t b_stride, int64_t n, int64_t k, float *y,
                 int64_t y_stride);
};

/* The best kernel for a set of enum vt_cpu_feature. Static storage. */
const struct vt_gemm_kernel *vt_gemm_kernel_find(uint32_t features);

/* Runs a tile of up to nr columns, where the kernel has no masks through a scratch tile; nothing
 * beyond them is touched. */
void vt_gemm_tile_narrow(const struct vt_gemm_kernel *kernel, vt_gemm_tile_func func,
                         const struct vt_gemm_tile *tile, uint32_t rows, uint32_t cols);

struct vt_gemm16_kernel;
struct vt_gemm_half_tile;

/* A factor in memory: element (i, j) is at data[i * row_stride + j * col_stride]. */
struct vt_gemm_matrix {
    const float *data;
    int64_t row_stride, col_stride;
};

/* Packed sizes in floats; false on overflow. */
bool vt_gemm_packed_a_size(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                           size_t *ret_floats);
bool vt_gemm_packed_b_size(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                           size_t *ret_floats);
/* Packs a whole factor. `row_scale` multiplies the rows of A; NULL: none. */
void vt_gemm_pack_a(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                    const struct vt_gemm_matrix *a, const float *row_scale, float *ret_packed);
void vt_gemm_pack_b(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                    const struct vt_gemm_matrix *b, float *ret_packed);

/*
 * Packs steps [k0, k0 + kc) and lanes [l0, l0 + lanes), columns of B or rows of A, of one product
 * of the batch: panels of `unit` lanes, each [kc][unit], the last padded with zeros.
 */
typedef void (*vt_gemm_pack_func)(const void *ctx, uint32_t unit, int64_t batch, int64_t k0,
                                  int64_t kc, int64_t l0, int64_t lanes, float *ret_packed);

/* Writes steps [k0, k0 + kc) of rows [m0, m0 + rows) of A, a row `stride` floats apart. */
typedef void (*vt_gemm_rows_func)(const void *ctx, int64_t batch, int64_t k0, int64_t kc,
                                  int64_t m0, int64_t rows, int64_t stride, float *ret_rows);

/* Where one product's operands are: packed or not as struct vt_gemm says. */
struct vt_gemm_place {
    const float *a, *b;
    float *c; /* row-major, rows ldc apart */
    const float *row_bias, *col_bias, *residual;
};
typedef void (*vt_gemm_locate_func)(const void *ctx, int64_t batch, struct vt_gemm_place *ret);

struct vt_gemm {
    const struct vt_gemm_kernel *kernel;
    int64_t m, n, k, batches;
    int64_t ldc;
    bool a_packed, b_packed;
    int64_t a_row_stride, a_col_stride; /* where A is neither packed nor implied */
    int64_t b_row_stride, b_col_stride; /* where B is */
    vt_gemm_pack_func pack_a, pack_b;   /* that factor is implied; NULL: it is in memory */
    vt_gemm_rows_func rows_a;           /* A is implied and made row by row: faster than panels */
    vt_gemm_locate_func locate;
    const void *ctx; /* of both functions */
    struct vt_gemm_finish finish;
    /* Factors are rounded to bfloat16 (kernels/gemm16/gemm16.h), B is packed so; NULL: fp32. */
    const struct vt_gemm16_kernel *bf16;
    /* B is kept as float16 (kernels/gemm/half.h); NULL: it is not. */
    void (*half)(const struct vt_gemm_half_tile *tile);
};

/* Scratch that vt_gemm_run needs with that many threads; aligned to 64 bytes. */
size_t vt_gemm_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads);
/* Whether C may be the residual: a product's `residual` is then its `c`. */
bool vt_gemm_over_residual(const struct vt_gemm *gemm);
/* Computes all products. C must not overlap the other operands, but for that. */
void vt_gemm_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace);

#endif
