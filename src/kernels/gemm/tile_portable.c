/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel in plain C: four lanes as one value, what any 128-bit unit takes. */
#include <string.h>

#include "kernels/gemm/kernels.h"

#define MR 4
#define VL 4
#define NR 8

typedef float vec __attribute__((vector_size(VL * sizeof(float))));

enum mode {
    PACKED,
    ROWS,
    LINES,
    INDIRECT,
};

static inline vec load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void store(float *p, vec v)
{
    memcpy(p, &v, sizeof(v));
}

static inline vec splat(float x)
{
    return (vec){x, x, x, x};
}

static void finish_row(const struct vt_gemm_tile *tile, int row, vec sum[2])
{
    float *c = tile->c + row * tile->ldc;
    for (int64_t j = 0; j < 2; j++) {
        vec x = sum[j];
        if (tile->row_bias != NULL) {
            x += splat(tile->row_bias[row]);
        }
        if (tile->col_bias != NULL) {
            x += load(tile->col_bias + j * VL);
        }
        if (tile->residual != NULL) {
            x += load(tile->residual + row * tile->ldc + j * VL);
        }
        store(c + j * VL, x);
    }
    vt_f32_activate__portable(tile->finish, c, NR);
}

static inline __attribute__((always_inline)) void compute(const struct vt_gemm_tile *tile,
                                                          const int rows, const enum mode mode)
{
    vec sum[MR][2];
    for (int i = 0; i < rows; i++) {
        sum[i][0] = sum[i][1] = splat(0.0f);
    }
    const float *b = tile->b;
    const bool in_rows = mode == ROWS || mode == LINES;
    const int64_t a_row = in_rows ? tile->a_stride : 1, a_step = in_rows ? 1 : MR;
    const int64_t b_step = tile->b_stride == 0 ? NR : tile->b_stride;
    const int64_t n_lines = mode == LINES ? tile->n_lines : 1;
    for (int64_t line = 0; line < n_lines; line++) {
        const float *a = mode == LINES ? tile->lines[line] : tile->a;
        for (int64_t k = 0; k < tile->k; k++, a += a_step) {
            if (mode == INDIRECT) {
                b = tile->rows[k] + tile->column;
            }
            const vec b0 = load(b), b1 = load(b + VL);
            for (int64_t i = 0; i < rows; i++) {
                const vec x = splat(a[i * a_row]);
                sum[i][0] += x * b0;
                sum[i][1] += x * b1;
            }
            if (mode != INDIRECT) {
                b += b_step;
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        float *c = tile->c + i * tile->ldc;
        if (tile->accumulate) {
            sum[i][0] += load(c);
            sum[i][1] += load(c + VL);
        }
        if (tile->finish != NULL) {
            finish_row(tile, i, sum[i]);
        } else {
            store(c, sum[i][0]);
            store(c + VL, sum[i][1]);
        }
    }
}

/* A copy for each number of rows, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void run(const struct vt_gemm_tile *tile,
                                                      uint32_t rows, const enum mode mode)
{
    switch (rows) {
    case 1:
        compute(tile, 1, mode);
        break;
    case 2:
        compute(tile, 2, mode);
        break;
    case 3:
        compute(tile, 3, mode);
        break;
    default:
        compute(tile, 4, mode);
        break;
    }
}

void vt_f32_gemm_packed_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows)
{
    run(tile, rows, PACKED);
}

void vt_f32_gemm_rows_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows)
{
    run(tile, rows, ROWS);
}

void vt_f32_gemm_lines_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows)
{
    run(tile, rows, LINES);
}

void vt_f32_gemm_indirect_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows)
{
    run(tile, rows, INDIRECT);
}

void vt_f32_turn__portable(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                           uint32_t unit, float *ret_panel)
{
    for (int64_t l = 0; l < unit; l++) {
        const float *lane = source + l * lane_stride;
        for (int64_t k = 0; k < kc; k++) {
            ret_panel[k * unit + l] = l < lanes ? lane[k] : 0.0f;
        }
    }
}
