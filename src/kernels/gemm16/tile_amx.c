/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled with AMX tile and bf16: called only where the processor has them and the kernel of the
 * operating system gives the tiles' registers.
 *
 * A tile register holds 16 rows of 64 bytes: of A 16 rows by 32 steps of k, of B 16 pairs of steps
 * by 16 columns. Two of each make 32 by 32 sums in four more.
 */
#include <immintrin.h>

#include "kernels/gemm16/kernels.h"

#define B_ROW  ((ptrdiff_t)4 * VT_GEMM16_NR) /* bytes */
#define C_ROW  ((ptrdiff_t)4 * VT_GEMM16_NR)
#define C_HALF ((ptrdiff_t)16 * VT_GEMM16_NR) /* 16 rows on */

static inline __attribute__((always_inline)) const char *ask(const char *ahead, uint32_t lines)
{
    for (uint32_t i = 0; i < lines; i++, ahead += 64) {
        __builtin_prefetch(ahead, 0, 2);
    }
    return ahead;
}

static void sum_2x2(const struct vt_gemm16_tile *t)
{
    const uint16_t *a = t->a, *b = t->b;
    const ptrdiff_t row = t->a_stride * 2;
    const char *ahead = t->prefetch;
    if (t->accumulate) {
        _tile_loadd(0, t->sums, C_ROW);
        _tile_loadd(1, t->sums + 16, C_ROW);
        _tile_loadd(2, t->sums + C_HALF, C_ROW);
        _tile_loadd(3, t->sums + C_HALF + 16, C_ROW);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t k = 0; k < t->k; k += VT_GEMM16_KU) {
        _tile_loadd(6, b, B_ROW);
        _tile_loadd(4, a, row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + 32, B_ROW);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + 16 * t->a_stride, row);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        ahead = ask(ahead, t->prefetch_lines);
        a += VT_GEMM16_KU;
        b += (ptrdiff_t)VT_GEMM16_KU * VT_GEMM16_NR;
    }
    _tile_stored(0, t->sums, C_ROW);
    _tile_stored(1, t->sums + 16, C_ROW);
    _tile_stored(2, t->sums + C_HALF, C_ROW);
    _tile_stored(3, t->sums + C_HALF + 16, C_ROW);
}

/* 16 rows by 32 columns. */
static void sum_1x2(const struct vt_gemm16_tile *t)
{
    const uint16_t *a = t->a, *b = t->b;
    const ptrdiff_t row = t->a_stride * 2;
    const char *ahead = t->prefetch;
    if (t->accumulate) {
        _tile_loadd(0, t->sums, C_ROW);
        _tile_loadd(1, t->sums + 16, C_ROW);
    } else {
        _tile_zero(0);
        _tile_zero(1);
    }
    for (int64_t k = 0; k < t->k; k += VT_GEMM16_KU) {
        _tile_loadd(4, a, row);
        _tile_loadd(6, b, B_ROW);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + 32, B_ROW);
        _tile_dpbf16ps(1, 4, 7);
        ahead = ask(ahead, t->prefetch_lines);
        a += VT_GEMM16_KU;
        b += (ptrdiff_t)VT_GEMM16_KU * VT_GEMM16_NR;
    }
    _tile_stored(0, t->sums, C_ROW);
    _tile_stored(1, t->sums + 16, C_ROW);
}

/* 32 rows by 16 columns. */
static void sum_2x1(const struct vt_gemm16_tile *t)
{
    const uint16_t *a = t->a, *b = t->b;
    const ptrdiff_t row = t->a_stride * 2;
    if (t->accumulate) {
        _tile_loadd(0, t->sums, C_ROW);
        _tile_loadd(2, t->sums + C_HALF, C_ROW);
    } else {
        _tile_zero(0);
        _tile_zero(2);
    }
    for (int64_t k = 0; k < t->k; k += VT_GEMM16_KU) {
        _tile_loadd(6, b, B_ROW);
        _tile_loadd(4, a, row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + 16 * t->a_stride, row);
        _tile_dpbf16ps(2, 5, 6);
        a += VT_GEMM16_KU;
        b += (ptrdiff_t)VT_GEMM16_KU * VT_GEMM16_NR;
    }
    _tile_stored(0, t->sums, C_ROW);
    _tile_stored(2, t->sums + C_HALF, C_ROW);
}

void vt_bf16_gemm_32x32__amx(const struct vt_gemm16_tile *tile)
{
    /* The loads are not known to the compiler as reads of memory. */
    __asm__ volatile("" ::: "memory");
    if (tile->rows <= 16) {
        sum_1x2(tile);
    } else if (tile->cols <= 16) {
        sum_2x1(tile);
    } else {
        sum_2x2(tile);
    }
    __asm__ volatile("" ::: "memory");
}
