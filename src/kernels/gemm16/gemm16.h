/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product whose factors are rounded to bfloat16 and whose sums are float32: the same
 * struct vt_gemm as the product in fp32, with `bf16` set.
 *
 * Rounding is to nearest, ties to even, whatever the thread's rounding mode is; subnormal numbers
 * become zeros of their sign, a NaN stays one (quiet, the upper half of its payload kept): what the
 * processors' own instructions do, so every kernel works on the same factors. A product of two is
 * exact in float32 but for underflow; sums are float32 in the kernel's own order, in which
 * subnormal intermediate sums may be taken for zero.
 *
 * A is converted to rows [k padded to VT_GEMM16_KU] in the workspace, B is packed as panels
 * [k / 2][VT_GEMM16_NR][2] one behind another, by the caller (vt_gemm16_pack_b) or, where it is no
 * constant, panel by panel into the workspace.
 */
#ifndef VT_KERNELS_GEMM16_GEMM16_H
#define VT_KERNELS_GEMM16_GEMM16_H

#include "kernels/gemm/gemm.h"

#define VT_GEMM16_NR     32
#define VT_GEMM16_KU     32 /* k is padded to a multiple of it, with zeros */
#define VT_GEMM16_MR_MAX 32

/* A tile: up to mr rows by VT_GEMM16_NR columns. */
struct vt_gemm16_tile {
    const uint16_t *a; /* rows a_stride apart; there are mr of them, whatever `rows` says */
    int64_t a_stride;
    const uint16_t *b; /* [k / 2][VT_GEMM16_NR][2] */
    int64_t k;         /* a multiple of VT_GEMM16_KU */
    uint32_t rows, cols;
    bool accumulate; /* onto the sums that are there */
    /* Asked for while the kernel runs, so many cache lines each VT_GEMM16_KU steps. */
    const void *prefetch;
    uint32_t prefetch_lines;
    float *sums; /* [mr][VT_GEMM16_NR] */
};

/* Sums, finished into C. */
struct vt_gemm16_finish {
    float *sums; /* [rows][VT_GEMM16_NR]; overwritten */
    uint32_t rows, cols;
    float *c;
    int64_t ldc;
    const float *row_bias, *col_bias, *residual; /* of this tile, or NULL */
    const struct vt_gemm_finish *activation;
    void (*activate)(const struct vt_gemm_finish *finish, float *x, uint32_t n);
};

struct vt_gemm16_kernel {
    const char *name; /* "32x32 amx" */
    uint32_t mr;
    void (*begin)(void); /* around the tiles of one thread; NULL: nothing to do */
    void (*end)(void);
    void (*sum)(const struct vt_gemm16_tile *tile);
    /* to[0 .. padded): the n numbers rounded, then zeros. */
    void (*narrow)(const float *from, int64_t n, int64_t padded, uint16_t *to);
    /* A panel of B from n rows of VT_GEMM16_NR numbers that lie `stride` apart; rows from there to
     * `padded`, which is even, are zeros. */
    void (*pair)(const float *rows, int64_t stride, int64_t n, int64_t padded, uint16_t *ret_panel);
    void (*finish)(const struct vt_gemm16_finish *finish);
};

/* The fastest kernel for a set of enum vt_cpu_feature; NULL: the processor has no instructions for
 * bfloat16. Static storage. Thread-safe. */
const struct vt_gemm16_kernel *vt_gemm16_kernel_find(uint32_t features);
/* All of them, for tests: number i, or NULL. The first is portable C. */
const struct vt_gemm16_kernel *vt_gemm16_kernel_at(uint32_t features, uint32_t i);

/* The reference of the rounding. */
uint16_t vt_bf16_round(float x);
static inline float vt_bf16_widen(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    __builtin_memcpy(&f, &bits, sizeof(f));
    return f;
}

/* Bytes of B packed; false on overflow. */
bool vt_gemm16_packed_b_size(int64_t k, int64_t n, size_t *ret_bytes);
void vt_gemm16_pack_b(int64_t k, int64_t n, const struct vt_gemm_matrix *b, uint16_t *ret_packed);
/* Where element (k, n) of B stands in its packed form. */
static inline int64_t vt_gemm16_place_of(int64_t k_padded, int64_t k, int64_t n)
{
    return n / VT_GEMM16_NR * VT_GEMM16_NR * k_padded + k / 2 * (2 * VT_GEMM16_NR) +
           n % VT_GEMM16_NR * 2 + k % 2;
}
static inline int64_t vt_gemm16_pad(int64_t k)
{
    return (k + VT_GEMM16_KU - 1) / VT_GEMM16_KU * VT_GEMM16_KU;
}

/* Whether it pays at all: products of a few steps or columns are faster in fp32. */
bool vt_gemm16_pays(const struct vt_gemm *gemm);

/* As vt_gemm_workspace_bytes and vt_gemm_run, which come here where gemm->bf16 is set. A is in
 * memory or made row by row (rows_a), not packed. */
size_t vt_gemm16_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads);
void vt_gemm16_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace);

#endif
