/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/half.h"

#include <math.h>

#include "base/topology.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/pack.h"

#define NR          VT_GEMM_HALF_NR
#define ROWS        VT_GEMM_HALF_ROWS
#define ROWS_MOST   16       /* beyond, computing takes longer than reading */
#define WORTH       16384    /* numbers of B: fewer are in the caches anyway */
#define HALF_BEYOND 65520.0f /* from here on it rounds to infinity */
#define PER_THREAD  4

vt_gemm_half_func vt_gemm_half_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return vt_f16_sums__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return vt_f16_sums__avx2;
    }
#else
    (void)features;
#endif
    return vt_f16_sums__portable;
}

void vt_f16_sums__portable(const struct vt_gemm_half_tile *tile)
{
    for (uint32_t r = 0; r < tile->rows; r++) {
        float *sums = tile->sums + (size_t)r * NR;
        for (int j = 0; j < NR; j++) {
            sums[j] = 0.0f;
        }
        for (int64_t k = 0; k < tile->k; k++) {
            const float x = tile->a[r * tile->a_row_stride + k * tile->a_col_stride];
            for (int j = 0; j < NR; j++) {
                sums[j] += x * vt_half_to_float(tile->b[k * NR + j]);
            }
        }
    }
}

bool vt_gemm_half_pays(const struct vt_gemm *gemm)
{
    return gemm->b_packed && gemm->batches == 1 && gemm->m <= ROWS_MOST &&
           gemm->n * gemm->k >= WORTH;
}

bool vt_gemm_half_holds(const float *x, int64_t n)
{
    bool holds = true;
    for (int64_t i = 0; i < n; i++) {
        holds = holds && !(isfinite(x[i]) && fabsf(x[i]) >= HALF_BEYOND);
    }
    return holds;
}

bool vt_gemm_half_size(int64_t k, int64_t n, size_t *ret_bytes)
{
    size_t elements;
    return !__builtin_mul_overflow((size_t)gemm_round_up(n, NR), (size_t)k, &elements) &&
           !__builtin_mul_overflow(elements, sizeof(uint16_t), ret_bytes);
}

void vt_gemm_half_pack(int64_t k, int64_t n, const struct vt_gemm_matrix *b, uint16_t *ret_packed)
{
    for (int64_t j = 0; j < gemm_round_up(n, NR); j++) {
        uint16_t *to = ret_packed + j / NR * NR * k + j % NR;
        for (int64_t i = 0; i < k; i++) {
            to[i * NR] =
                j < n ? vt_float_to_half(b->data[i * b->row_stride + j * b->col_stride]) : 0;
        }
    }
}

struct job {
    const struct vt_gemm *gemm;
    struct vt_gemm_place place;
};

/* What follows the sums of one row. */
static void finish_row(const struct job *job, float *sums, int64_t m, int64_t n, int64_t cols)
{
    const struct vt_gemm *gemm = job->gemm;
    const struct vt_gemm_place *place = &job->place;
    float *c = place->c + m * gemm->ldc + n;
    const float bias = place->row_bias != NULL ? place->row_bias[m] : 0.0f;
    for (int64_t j = 0; j < cols; j++) {
        float x = sums[j] + bias;
        x = place->col_bias != NULL ? x + place->col_bias[n + j] : x;
        c[j] = place->residual != NULL ? x + place->residual[m * gemm->ldc + n + j] : x;
    }
    gemm->kernel->activate(&gemm->finish, c, (uint32_t)cols);
}

static void run_panels(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_gemm *gemm = job->gemm;
    _Alignas(64) float sums[ROWS * NR];
    (void)worker;
    for (int64_t panel = begin; panel < end; panel++) {
        const uint16_t *b = (const uint16_t *)(const void *)job->place.b + panel * NR * gemm->k;
        for (int64_t m = 0; m < gemm->m; m += ROWS) {
            const struct vt_gemm_half_tile tile = {
                .a = job->place.a + m * gemm->a_row_stride,
                .a_row_stride = gemm->a_row_stride,
                .a_col_stride = gemm->a_col_stride,
                .b = b,
                .k = gemm->k,
                .rows = (uint32_t)gemm_min(ROWS, gemm->m - m),
                .sums = sums,
            };
            gemm->half(&tile);
            for (uint32_t r = 0; r < tile.rows; r++) {
                finish_row(job, sums + (size_t)r * NR, m + r, panel * NR,
                           gemm_min(NR, gemm->n - panel * NR));
            }
        }
    }
}

void vt_gemm_half_run(const struct vt_gemm *gemm, struct vt_pool *pool)
{
    struct job job = {.gemm = gemm};
    gemm->locate(gemm->ctx, 0, &job.place);
    const int64_t panels = gemm_round_up(gemm->n, NR) / NR;
    const int64_t chunk = panels / ((int64_t)vt_pool_threads(pool) * PER_THREAD);
    vt_pool_run(pool, panels, chunk > 1 ? chunk : 1, run_panels, &job);
}
