/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of channels-last tensors, and of rows. */
#include <math.h>

#include "kernels/norm/ways.h"

/* Parts that an image's rows are cut into for their statistics: always the same, so that results
 * do not depend on the number of threads. */
#define CHUNKS 64
/* Elements whose moments are taken in one go. */
#define BLOCK_FLOATS 8192
#define GRAIN_FLOATS 16384

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows whose moments are taken in one go. */
static int64_t block_rows(const struct vt_norm_last *norm)
{
    const int64_t rows = 1 + BLOCK_FLOATS / norm->channels;
    return rows < VT_NORM_ROWS ? rows : VT_NORM_ROWS;
}

static int64_t chunks_of(const struct vt_norm_last *norm)
{
    const int64_t blocks = div_up(norm->n, block_rows(norm));
    return blocks < CHUNKS ? blocks : CHUNKS;
}

struct job {
    const struct vt_norm_last *norm;
    const struct vt_norm_way *way;
    const float *x, *residual;
    float *y;
    int64_t chunks, chunk_rows;
    double *mean, *squares;          /* [image][chunk][channel]: mean, and squares about it */
    float *shift, *sum;              /* of a chunk: shift, sums, sums of squares */
    float *centre, *factor, *offset; /* [image][channel] */
};

static size_t moments_floats(const struct vt_norm_last *norm)
{
    return (size_t)(norm->batch * chunks_of(norm) * norm->channels);
}

size_t vt_norm_last_workspace_bytes(const struct vt_norm_last *norm)
{
    if (norm->channels < 1 || norm->n < 1) {
        return 0;
    }
    return moments_floats(norm) * (2 * sizeof(double) + 3 * sizeof(float)) +
           (size_t)(norm->batch * norm->channels) * 3 * sizeof(float);
}

/* How many rows join how many: what that needs, worked out once for all channels. */
struct weights {
    double each;  /* 1 / rows */
    double part;  /* of the new rows among all */
    double cross; /* product of both numbers over their sum */
};

static struct weights weights_of(double done, double rows)
{
    return (struct weights){1 / rows, rows / (done + rows), done * rows / (done + rows)};
}

/* Joins the moments of more rows, taken about `shift`, to those that are there. Source: T. F. Chan,
 * G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm, 1979. */
static inline void join(const struct weights *w, double shift, double sum, double squares,
                        double *mean, double *total)
{
    const double d = sum * w->each, gap = shift + d - *mean;
    *total += squares - d * sum + gap * gap * w->cross;
    *mean += gap * w->part;
}

/* Statistics of one chunk. The shift is the mean so far, at first that of a few rows. */
static void chunk_moments(const struct job *job, int64_t item)
{
    const struct vt_norm_last *norm = job->norm;
    const int64_t channels = norm->channels, image = item / job->chunks;
    const int64_t begin = item % job->chunks * job->chunk_rows;
    const int64_t end = min_i64(begin + job->chunk_rows, norm->n);
    const float *x = job->x + image * norm->n * channels;
    double *mean = job->mean + item * channels, *squares = job->squares + item * channels;
    float *shift = job->shift + item * 3 * channels, *sum = shift + channels;
    float *square = sum + channels;
    const int64_t few = min_i64(end - begin, 16);
    for (int64_t c = 0; c < channels; c++) {
        mean[c] = squares[c] = 0;
        shift[c] = 0.0f;
    }
    if (begin >= end) {
        return;
    }
    job->way->moments(x + begin * channels, few, channels, shift, sum, square);
    for (int64_t c = 0; c < channels; c++) {
        shift[c] = sum[c] / (float)few;
    }
    for (int64_t row = begin; row < end; row += block_rows(norm)) {
        const int64_t rows = min_i64(block_rows(norm), end - row);
        job->way->moments(x + row * channels, rows, channels, shift, sum, square);
        const struct weights w = weights_of((double)(row - begin), (double)rows);
        for (int64_t c = 0; c < channels; c++) {
            join(&w, (double)shift[c], (double)sum[c], (double)square[c], &mean[c], &squares[c]);
            shift[c] = (float)mean[c];
        }
    }
}

static void run_chunks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        chunk_moments(ctx, item);
    }
}

/* Joins what the chunks and the channels of a group have found. */
static void group_factors(const struct job *job, int64_t image, int64_t group)
{
    const struct vt_norm_last *norm = job->norm;
    const int64_t channels = norm->channels / norm->groups, first = group * channels;
    double done = 0, mean = 0, squares = 0;
    for (int64_t k = 0; k < job->chunks; k++) {
        const int64_t rows = min_i64(norm->n - k * job->chunk_rows, job->chunk_rows);
        for (int64_t c = first; c < first + channels && rows > 0; c++) {
            const int64_t at = (image * job->chunks + k) * norm->channels + c;
            const struct weights w = weights_of(done, (double)rows);
            join(&w, job->mean[at], 0, job->squares[at], &mean, &squares);
            done += (double)rows;
        }
    }
    const double variance = squares > 0 ? squares / done : 0;
    const double inverse = 1.0 / sqrt(variance + (double)norm->epsilon);
    for (int64_t c = first; c < first + channels; c++) {
        const int64_t at = image * norm->channels + c;
        const double factor = inverse * (norm->scale != NULL ? (double)norm->scale[c] : 1.0);
        const double bias = norm->bias != NULL ? (double)norm->bias[c] : 0.0;
        job->centre[at] = (float)mean;
        job->factor[at] = (float)factor;
        job->offset[at] = (float)(bias - (mean - (double)job->centre[at]) * factor);
    }
}

static void run_images(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_norm_last *norm = job->norm;
    (void)worker;
    while (begin < end) {
        const int64_t image = begin / norm->n;
        const int64_t rows = min_i64((image + 1) * norm->n - begin, end - begin);
        const int64_t at = begin * norm->channels;
        const struct vt_affine_last a = {.channels = norm->channels,
                                         .centre = job->centre + image * norm->channels,
                                         .factor = job->factor + image * norm->channels,
                                         .shift = job->offset + image * norm->channels,
                                         .finish = norm->finish};
        job->way->affine(&a, rows, job->x + at, job->residual != NULL ? job->residual + at : NULL,
                         job->y + at);
        begin += rows;
    }
}

void vt_norm_last_run(const struct vt_norm_last *norm, const float *x, const float *residual,
                      float *y, struct vt_pool *pool, void *workspace)
{
    struct job job = {.norm = norm,
                      .way = vt_norm_way_find(norm->features),
                      .x = x,
                      .residual = residual,
                      .y = y};
    if (norm->batch < 1 || norm->n < 1 || norm->channels < 1) {
        return;
    }
    const size_t floats = moments_floats(norm);
    job.chunks = chunks_of(norm);
    job.chunk_rows = div_up(norm->n, job.chunks);
    job.mean = workspace;
    job.squares = job.mean + floats;
    job.shift = (float *)(void *)(job.squares + floats);
    job.centre = job.shift + 3 * floats;
    job.factor = job.centre + norm->batch * norm->channels;
    job.offset = job.factor + norm->batch * norm->channels;
    vt_pool_run(pool, norm->batch * job.chunks,
                1 + GRAIN_FLOATS / (job.chunk_rows * norm->channels + 1), run_chunks, &job);
    for (int64_t i = 0; i < norm->batch * norm->groups; i++) {
        group_factors(&job, i / norm->groups, i % norm->groups);
    }
    vt_pool_run(pool, norm->batch * norm->n, 1 + GRAIN_FLOATS / norm->channels, run_images, &job);
}

struct affine {
    const struct vt_affine_last *a;
    const struct vt_norm_way *way;
    const float *x, *residual;
    float *y;
};

static void run_affine(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct affine *job = ctx;
    /* A few rows at a time, so that many channels are walked within the cache. */
    const int64_t step = 1 + GRAIN_FLOATS / job->a->channels;
    (void)worker;
    for (int64_t row = begin; row < end; row += step) {
        const int64_t at = row * job->a->channels;
        job->way->affine(job->a, min_i64(step, end - row), job->x + at,
                         job->residual != NULL ? job->residual + at : NULL, job->y + at);
    }
}

void vt_affine_last_run(const struct vt_affine_last *affine, int64_t rows, const float *x,
                        const float *residual, float *y, struct vt_pool *pool)
{
    struct affine job = {affine, vt_norm_way_find(affine->features), x, residual, y};
    if (affine->channels > 0) {
        vt_pool_run(pool, rows, 1 + GRAIN_FLOATS / affine->channels, run_affine, &job);
    }
}

struct rows {
    const struct vt_layer_norm *norm;
    const struct vt_norm_way *way;
    const float *x, *residual;
    float *sum, *y;
};

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct rows *job = ctx;
    const struct vt_layer_norm *norm = job->norm;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = row * norm->n;
        float *sum = job->sum != NULL ? job->sum + at : job->y + at;
        float mean, inverse;
        job->way->layer(norm, job->x + at, job->residual != NULL ? job->residual + at : NULL, sum,
                        job->y + at, &mean, &inverse);
        if (norm->mean != NULL) {
            norm->mean[row] = mean;
        }
        if (norm->inverse != NULL) {
            norm->inverse[row] = inverse;
        }
    }
}

void vt_layer_norm_run(const struct vt_layer_norm *norm, const float *x, const float *residual,
                       float *sum, float *y, struct vt_pool *pool)
{
    struct rows job = {norm, vt_norm_way_find(norm->features), x, residual, sum, y};
    if (norm->n > 0) {
        vt_pool_run(pool, norm->rows, 1 + GRAIN_FLOATS / norm->n, run_rows, &job);
    }
}
