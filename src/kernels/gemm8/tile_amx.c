/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled with AMX tile and int8: called only where the processor has them and the kernel of the
 * operating system gives the tiles' registers.
 *
 * A tile register holds 16 rows of 64 bytes: of A 16 rows by 64 steps of k, of B 16 steps of four
 * by 16 columns. Two of each make 32 by 32 sums in four more.
 */
#include <immintrin.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/gemm8/kernels.h"

/* arch_prctl: ask for a register set that is allocated on demand; 18 are the tiles' data. */
#define REQUEST_XCOMP_PERMISSION 0x1023
#define XFEATURE_TILE_DATA       18

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool permitted;

static void ask(void)
{
    permitted =
        syscall(SYS_arch_prctl, (long)REQUEST_XCOMP_PERMISSION, (long)XFEATURE_TILE_DATA) == 0;
}

bool vt_amx_permitted(void)
{
    (void)pthread_once(&once, ask);
    return permitted;
}

void vt_amx_begin(void)
{
    _Alignas(64) struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config;
    memset(&config, 0, sizeof(config));
    config.palette = 1;
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    /* The loads below are not known to the compiler as reads of memory. */
    __asm__ volatile("" ::: "memory");
    _tile_loadconfig(&config);
}

void vt_amx_end(void)
{
    _tile_release();
}

#define A_ROW  64
#define B_ROW  ((ptrdiff_t)4 * VT_GEMM8_NR)
#define UNIT   16 /* steps of four in a tile */
#define C_ROW  ((ptrdiff_t)4 * VT_GEMM8_NR)
#define A_STEP ((ptrdiff_t)32 * A_ROW)
#define B_STEP ((ptrdiff_t)UNIT * B_ROW)
/* 16 rows on in A and in the sums. */
#define A_HALF ((ptrdiff_t)16 * A_ROW)
#define C_HALF ((ptrdiff_t)16 * VT_GEMM8_NR)

static void sum_2x2(const int8_t *a, const uint8_t *b, int64_t units, int32_t *ret)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t u = 0; u < units; u++, a += A_STEP, b += B_STEP) {
        _tile_loadd(6, b, B_ROW);
        _tile_loadd(4, a, A_ROW);
        _tile_dpbsud(0, 4, 6);
        _tile_loadd(7, b + 64, B_ROW);
        _tile_dpbsud(1, 4, 7);
        _tile_loadd(5, a + A_HALF, A_ROW);
        _tile_dpbsud(2, 5, 6);
        _tile_dpbsud(3, 5, 7);
    }
    _tile_stored(0, ret, C_ROW);
    _tile_stored(1, ret + 16, C_ROW);
    _tile_stored(2, ret + C_HALF, C_ROW);
    _tile_stored(3, ret + C_HALF + 16, C_ROW);
}

/* 16 rows by 32 columns. */
static void sum_1x2(const int8_t *a, const uint8_t *b, int64_t units, int32_t *ret)
{
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t u = 0; u < units; u++, a += A_STEP, b += B_STEP) {
        _tile_loadd(4, a, A_ROW);
        _tile_loadd(6, b, B_ROW);
        _tile_dpbsud(0, 4, 6);
        _tile_loadd(7, b + 64, B_ROW);
        _tile_dpbsud(1, 4, 7);
    }
    _tile_stored(0, ret, C_ROW);
    _tile_stored(1, ret + 16, C_ROW);
}

/* 32 rows by 16 columns. */
static void sum_2x1(const int8_t *a, const uint8_t *b, int64_t units, int32_t *ret)
{
    _tile_zero(0);
    _tile_zero(2);
    for (int64_t u = 0; u < units; u++, a += A_STEP, b += B_STEP) {
        _tile_loadd(6, b, B_ROW);
        _tile_loadd(4, a, A_ROW);
        _tile_dpbsud(0, 4, 6);
        _tile_loadd(5, a + A_HALF, A_ROW);
        _tile_dpbsud(2, 5, 6);
    }
    _tile_stored(0, ret, C_ROW);
    _tile_stored(2, ret + C_HALF, C_ROW);
}

void vt_s8_gemm_32x32__amx(const void *a, const uint8_t *b, int64_t k4, uint32_t rows,
                           uint32_t cols, int32_t *ret_sums)
{
    const int64_t units = k4 / UNIT;
    __asm__ volatile("" ::: "memory");
    if (rows <= 16) {
        sum_1x2(a, b, units, ret_sums);
    } else if (cols <= 16) {
        sum_2x1(a, b, units, ret_sums);
    } else {
        sum_2x2(a, b, units, ret_sums);
    }
    __asm__ volatile("" ::: "memory");
}
