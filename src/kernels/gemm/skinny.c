/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/skinny.h"

#include "kernels/gemm/pack.h"

#define VT_GEMM_SUMS_ROWS 4    /* beyond, packing B pays */
#define CHUNK             1024 /* results of a work item at most: they stay in the first-level cache */
#define CHUNK_LEAST       64
#define PER_THREAD        4

enum way {
    WAY_NONE,
    WAY_SUMS,   /* rows of B, each by an element of A */
    WAY_DOTS,   /* row of A times row of B's transpose */
    WAY_COLUMN, /* row of A times the only column of B */
};

static enum way way_of(const struct vt_gemm *gemm)
{
    if (gemm->a_packed || gemm->pack_a != NULL || gemm->rows_a != NULL || gemm->pack_b != NULL) {
        return WAY_NONE;
    }
    if (gemm->n == 1 && gemm->a_col_stride == 1) {
        return WAY_COLUMN;
    }
    if (gemm->m > VT_GEMM_SUMS_ROWS || gemm->b_packed) {
        return WAY_NONE;
    }
    if (gemm->b_col_stride == 1) {
        return WAY_SUMS;
    }
    return gemm->b_row_stride == 1 && gemm->a_col_stride == 1 ? WAY_DOTS : WAY_NONE;
}

bool vt_gemm_is_skinny(const struct vt_gemm *gemm)
{
    return way_of(gemm) != WAY_NONE;
}

struct job {
    const struct vt_gemm *gemm;
    enum way way;
    int64_t results, chunk, chunks; /* along the long side of C */
    int64_t column_floats;          /* of a worker's copy of the column; 0: read in place */
    float *workspace;
};

static void job_init(struct job *job, const struct vt_gemm *gemm, uint32_t threads)
{
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * PER_THREAD;
    job->gemm = gemm;
    job->way = way_of(gemm);
    job->results = job->way == WAY_COLUMN ? gemm->m : gemm->n;
    job->chunk = gemm_min(CHUNK, gemm_round_up(job->results, CHUNK_LEAST));
    while (job->chunk > CHUNK_LEAST &&
           gemm->batches * ((job->results + job->chunk - 1) / job->chunk) < wanted) {
        job->chunk = gemm_round_up(job->chunk / 2, CHUNK_LEAST);
    }
    job->chunks = (job->results + job->chunk - 1) / job->chunk;
    job->column_floats = 0;
    if (job->way == WAY_COLUMN && (gemm->b_packed || gemm->b_row_stride != 1)) {
        job->column_floats = gemm_round_up(gemm->k, 16);
    }
}

size_t vt_gemm_skinny_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads)
{
    struct job job;
    job_init(&job, gemm, threads);
    return threads * (size_t)job.column_floats * sizeof(float);
}

/* What follows the sums, for columns [n, n + cols) of row m. */
static void finish(const struct vt_gemm *gemm, const struct vt_gemm_place *place, int64_t m,
                   int64_t n, int64_t cols)
{
    float *c = place->c + m * gemm->ldc + n;
    if (place->row_bias != NULL) {
        for (int64_t j = 0; j < cols; j++) {
            c[j] += place->row_bias[m];
        }
    }
    if (place->col_bias != NULL) {
        for (int64_t j = 0; j < cols; j++) {
            c[j] += place->col_bias[n + j];
        }
    }
    if (place->residual != NULL) {
        const float *residual = place->residual + m * gemm->ldc + n;
        for (int64_t j = 0; j < cols; j++) {
            c[j] += residual[j];
        }
    }
    gemm->kernel->activate(&gemm->finish, c, (uint32_t)cols);
}

static void compute_row_chunk(const struct job *job, const struct vt_gemm_place *place, int64_t n0,
                              int64_t cols)
{
    const struct vt_gemm *gemm = job->gemm;
    if (job->way == WAY_SUMS) {
        const struct vt_gemm_sums sums = {.m = gemm->m,
                                          .n = cols,
                                          .k = gemm->k,
                                          .a = place->a,
                                          .a_row_stride = gemm->a_row_stride,
                                          .a_col_stride = gemm->a_col_stride,
                                          .b = place->b + n0,
                                          .b_stride = gemm->b_row_stride,
                                          .c = place->c + n0,
                                          .ldc = gemm->ldc};
        gemm->kernel->sums(&sums);
    } else {
        for (int64_t m = 0; m < gemm->m; m++) {
            gemm->kernel->dots(place->a + m * gemm->a_row_stride,
                               place->b + n0 * gemm->b_col_stride, gemm->b_col_stride, cols,
                               gemm->k, place->c + m * gemm->ldc + n0, 1);
        }
    }
    for (int64_t m = 0; m < gemm->m; m++) {
        finish(gemm, place, m, n0, cols);
    }
}

static void compute_column_chunk(const struct job *job, const struct vt_gemm_place *place,
                                 int64_t m0, int64_t rows, float *column)
{
    const struct vt_gemm *gemm = job->gemm;
    const float *x = place->b;
    if (job->column_floats > 0) {
        const int64_t stride = gemm->b_packed ? gemm->kernel->nr : gemm->b_row_stride;
        for (int64_t k = 0; k < gemm->k; k++) {
            column[k] = x[k * stride];
        }
        x = column;
    }
    gemm->kernel->dots(x, place->a + m0 * gemm->a_row_stride, gemm->a_row_stride, rows, gemm->k,
                       place->c + m0 * gemm->ldc, gemm->ldc);
    for (int64_t m = m0; m < m0 + rows; m++) {
        finish(gemm, place, m, 0, 1);
    }
}

static void run_chunks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % job->chunks * job->chunk;
        const int64_t n = gemm_min(job->chunk, job->results - first);
        struct vt_gemm_place place = {0};
        job->gemm->locate(job->gemm->ctx, item / job->chunks, &place);
        if (job->way == WAY_COLUMN) {
            compute_column_chunk(job, &place, first, n,
                                 job->workspace + worker * job->column_floats);
        } else {
            compute_row_chunk(job, &place, first, n);
        }
    }
}

void vt_gemm_skinny_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace)
{
    struct job job = {.workspace = workspace};
    job_init(&job, gemm, vt_pool_threads(pool));
    vt_pool_run(pool, gemm->batches * job.chunks, 1, run_chunks, &job);
}
