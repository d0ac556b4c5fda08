/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/resize/resize.h"

#include <math.h>
#include <string.h>

#include "base/topology.h"
#include "kernels/resize/mix.h"

/* What one output position along an axis reads. */
struct tap {
    int64_t *at; /* in elements of the input */
    float *weight;
    bool outside; /* tf_crop_and_resize beyond the image */
};

struct job {
    const struct vt_resize *r;
    int64_t taps[VT_RANK_MAX];
    struct tap *axis[VT_RANK_MAX];
    size_t bytes;
    const char *x;
    char *y;
    vt_mix_func mix;
};

/* Rows that are mixed into one: up to 4 taps along each of up to 3 axes. */
#define MIX_ROWS 64

static double coordinate_of(const struct vt_resize *r, uint32_t axis, int64_t i)
{
    const double scale = r->scale[axis], x = (double)i;
    const double in = (double)r->in[axis], out = (double)r->out[axis];
    switch (r->coordinate) {
    case VT_RESIZE_HALF_PIXEL:
        return (x + 0.5) / scale - 0.5;
    case VT_RESIZE_PYTORCH_HALF_PIXEL:
        return out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
    case VT_RESIZE_ALIGN_CORNERS: {
        /* The scale may be fractional: the resized length before it was cut to an integer. */
        const double length = in * scale;
        return length > 1 ? x * (in - 1) / (length - 1) : 0.0;
    }
    case VT_RESIZE_ASYMMETRIC:
        return x / scale;
    case VT_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return (x + 0.5) / scale;
    case VT_RESIZE_TF_CROP_AND_RESIZE: {
        const double start = r->roi_start[axis], end = r->roi_end[axis];
        if (out > 1) {
            return start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);
        }
        return 0.5 * (start + end) * (in - 1);
    }
    case VT_RESIZE_HALF_PIXEL_SYMMETRIC: {
        const double cut = out / (in * scale);
        return in / 2 * (1 - cut) + (x + 0.5) / scale - 0.5;
    }
    }
    return x;
}

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : (i >= n ? n - 1 : i);
}

static int64_t nearest_of(enum vt_resize_nearest mode, double x)
{
    switch (mode) {
    case VT_RESIZE_ROUND_PREFER_FLOOR:
        return (int64_t)ceil(x - 0.5);
    case VT_RESIZE_ROUND_PREFER_CEIL:
        return (int64_t)floor(x + 0.5);
    case VT_RESIZE_FLOOR:
        return (int64_t)floor(x);
    case VT_RESIZE_CEIL:
        return (int64_t)ceil(x);
    }
    return 0;
}

static double cubic_weight(double a, double distance)
{
    const double d = fabs(distance);
    if (d <= 1) {
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    }
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
}

/* How much the filter is stretched along an axis: 1, or less where it shrinks. */
static double stretch_of(const struct vt_resize *r, uint32_t axis)
{
    return r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1;
}

/* Taps of every output position along an axis. */
static int64_t taps_of(const struct vt_resize *r, uint32_t axis)
{
    const double reach = (r->mode == VT_RESIZE_CUBIC ? 2 : 1) / stretch_of(r, axis);
    if (r->mode == VT_RESIZE_NEAREST) {
        return 1;
    }
    /* No further than the whole axis, and what lies just outside, is ever of use. */
    const double most = 2 * ((double)r->in[axis] + 4);
    return 2 * (int64_t)ceil(reach < most ? reach : most);
}

static double weight_of(const struct vt_resize *r, double distance)
{
    if (r->mode == VT_RESIZE_CUBIC) {
        return cubic_weight((double)r->cubic_a, distance);
    }
    const double d = fabs(distance);
    return d < 1 ? 1 - d : 0;
}

/* Weights of the positions around x; those outside read the nearest one inside. */
static void fill_filter(const struct vt_resize *r, uint32_t axis, double x, int64_t n_taps,
                        struct tap *tap)
{
    const int64_t n = r->in[axis], base = (int64_t)floor(x) - n_taps / 2 + 1;
    const double stretch = stretch_of(r, axis);
    const bool normalise = r->exclude_outside || stretch < 1;
    double sum = 0;
    for (int64_t k = 0; k < n_taps; k++) {
        const int64_t at = base + k;
        const bool dropped = r->exclude_outside && (at < 0 || at >= n);
        const double weight = dropped ? 0 : weight_of(r, (x - (double)at) * stretch);
        sum += weight;
        tap->weight[k] = (float)weight;
        tap->at[k] = clamp(at, n);
    }
    for (int64_t k = 0; k < n_taps && normalise; k++) {
        tap->weight[k] = (float)((double)tap->weight[k] / sum);
    }
}

static void fill_linear(int64_t n, double x, struct tap *tap)
{
    x = x < 0 ? 0 : (x > (double)(n - 1) ? (double)(n - 1) : x);
    const int64_t base = (int64_t)x;
    tap->at[0] = base;
    tap->at[1] = clamp(base + 1, n);
    tap->weight[1] = (float)(x - (double)base);
    tap->weight[0] = 1.0f - tap->weight[1];
}

static void fill_axis(const struct vt_resize *r, uint32_t axis, int64_t stride, int64_t n_taps,
                      struct tap *taps)
{
    const int64_t n = r->in[axis];
    for (int64_t i = 0; i < r->out[axis]; i++) {
        struct tap *tap = &taps[i];
        double x = coordinate_of(r, axis, i);
        memset(tap->at, 0, (size_t)n_taps * sizeof(*tap->at));
        memset(tap->weight, 0, (size_t)n_taps * sizeof(*tap->weight));
        tap->outside =
            r->coordinate == VT_RESIZE_TF_CROP_AND_RESIZE && (x < 0 || x > (double)(n - 1));
        /* What is further out reads the same; a bound keeps the rounding below defined. */
        x = x >= -4 ? x : -4;
        x = x <= (double)n + 4 ? x : (double)n + 4;
        if (r->in[axis] == r->out[axis] && r->scale[axis] == 1.0 &&
            r->coordinate != VT_RESIZE_TF_CROP_AND_RESIZE) {
            tap->at[0] = i;
            tap->weight[0] = 1;
        } else if (r->mode == VT_RESIZE_NEAREST) {
            tap->at[0] = clamp(nearest_of(r->nearest, x), n);
        } else if (r->mode == VT_RESIZE_LINEAR && n_taps == 2 && !r->exclude_outside) {
            fill_linear(n, x, tap);
        } else {
            fill_filter(r, axis, x, n_taps, tap);
        }
        for (int64_t k = 0; k < n_taps; k++) {
            tap->at[k] *= stride;
        }
    }
}

/* A weighted sum over all axes from `axis` on. */
static float mix(const struct job *job, const struct tap *const *taps, uint32_t axis,
                 const float *x)
{
    const struct tap *tap = taps[axis];
    const bool last = axis + 1 == job->r->rank;
    float sum = 0.0f;
    for (int64_t k = 0; k < job->taps[axis]; k++) {
        if (tap->weight[k] == 0.0f) {
            continue;
        }
        sum += tap->weight[k] * (last ? x[tap->at[k]] : mix(job, taps, axis + 1, x + tap->at[k]));
    }
    return sum;
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_resize *r = job->r;
    const uint32_t last = r->rank - 1;
    const int64_t width = r->out[last];
    const struct tap *taps[VT_RANK_MAX];

    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, offset = 0;
        bool outside = false;
        for (uint32_t i = last; i-- > 0;) {
            taps[i] = &job->axis[i][rest % r->out[i]];
            rest /= r->out[i];
            offset += taps[i]->at[0];
            outside = outside || taps[i]->outside;
        }
        for (int64_t x = 0; x < width; x++) {
            taps[last] = &job->axis[last][x];
            char *y = job->y + (row * width + x) * (int64_t)job->bytes;
            if (outside || taps[last]->outside) {
                memcpy(y, &r->extrapolation, job->bytes < 4 ? job->bytes : 4);
            } else if (r->mode == VT_RESIZE_NEAREST) {
                memcpy(y, job->x + (offset + taps[last]->at[0]) * (int64_t)job->bytes, job->bytes);
            } else {
                const float value = mix(job, taps, 0, (const float *)(const void *)job->x);
                memcpy(y, &value, sizeof(value));
            }
        }
    }
}

/* Whether the last axis stays as it is and few enough rows make one. */
static bool keeps_last(const struct job *job)
{
    const struct vt_resize *r = job->r;
    const uint32_t last = r->rank - 1;
    int64_t rows = 1;
    for (uint32_t i = 0; i < last && rows <= MIX_ROWS; i++) {
        rows *= job->taps[i] <= MIX_ROWS ? job->taps[i] : MIX_ROWS + 1;
    }
    return r->in[last] == r->out[last] && r->scale[last] == 1.0 && last > 0 && rows <= MIX_ROWS &&
           r->coordinate != VT_RESIZE_TF_CROP_AND_RESIZE;
}

/* Lists the rows that make one, with the products of their axes' weights. */
static int64_t list_rows(const struct job *job, const struct tap *const *taps, const float **row,
                         float *weight)
{
    int64_t n = 1;
    row[0] = (const float *)(const void *)job->x;
    weight[0] = 1.0f;
    for (uint32_t i = 0; i + 1 < job->r->rank; i++) {
        const struct tap *tap = taps[i];
        int64_t used = 0;
        for (int64_t k = job->taps[i]; k-- > 0;) {
            used += tap->weight[k] != 0.0f;
        }
        /* From behind, so that what is multiplied out is not overwritten before it is read. */
        for (int64_t j = n; j-- > 0;) {
            const float *base = row[j];
            const float before = weight[j];
            int64_t at = (j + 1) * used;
            for (int64_t k = job->taps[i]; k-- > 0;) {
                if (tap->weight[k] != 0.0f) {
                    at--;
                    row[at] = base + tap->at[k];
                    weight[at] = before * tap->weight[k];
                }
            }
        }
        n *= used;
    }
    return n;
}

/* Whole rows of the last axis, channels for the most part. */
static void run_kept_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_resize *r = job->r;
    const uint32_t last = r->rank - 1;
    const int64_t width = r->out[last], bytes = width * (int64_t)job->bytes;
    const struct tap *taps[VT_RANK_MAX];
    const float *source[MIX_ROWS];
    float weight[MIX_ROWS];

    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, offset = 0;
        for (uint32_t i = last; i-- > 0;) {
            taps[i] = &job->axis[i][rest % r->out[i]];
            rest /= r->out[i];
            offset += taps[i]->at[0];
        }
        char *y = job->y + row * bytes;
        if (r->mode == VT_RESIZE_NEAREST) {
            memcpy(y, job->x + offset * (int64_t)job->bytes, (size_t)bytes);
            continue;
        }
        const int64_t n = list_rows(job, taps, source, weight);
        job->mix(source, weight, n, width, (float *)(void *)y);
    }
}

static vt_mix_func mix_find(void)
{
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX512) {
        return vt_f32_mix__avx512;
    }
    if (vt_topology()->features & VT_CPU_AVX2) {
        return vt_f32_mix__avx2;
    }
#endif
    return vt_f32_mix__portable;
}

size_t vt_resize_workspace_bytes(const struct vt_resize *resize)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < resize->rank; i++) {
        const size_t taps = (size_t)taps_of(resize, i);
        bytes += (size_t)resize->out[i] *
                 (sizeof(struct tap) + taps * (sizeof(int64_t) + sizeof(float)));
    }
    return bytes;
}

/* Cuts the tables of an axis out of the workspace: first all that is 8 bytes wide. */
static void place_tables(struct job *job, void *workspace)
{
    const struct vt_resize *r = job->r;
    struct tap *tap = workspace;
    for (uint32_t i = 0; i < r->rank; i++) {
        job->axis[i] = tap;
        tap += r->out[i];
    }
    int64_t *at = (int64_t *)(void *)tap;
    for (uint32_t i = 0; i < r->rank; i++) {
        for (int64_t k = 0; k < r->out[i]; k++, at += job->taps[i]) {
            job->axis[i][k].at = at;
        }
    }
    float *weight = (float *)(void *)at;
    for (uint32_t i = 0; i < r->rank; i++) {
        for (int64_t k = 0; k < r->out[i]; k++, weight += job->taps[i]) {
            job->axis[i][k].weight = weight;
        }
    }
}

void vt_resize_run(const struct vt_resize *resize, size_t bytes, const void *x, void *y,
                   struct vt_pool *pool, void *workspace)
{
    struct job job = {.r = resize, .bytes = bytes, .x = x, .y = y};
    int64_t rows = 1, stride = 1;
    for (uint32_t i = 0; i < resize->rank; i++) {
        job.taps[i] = taps_of(resize, i);
    }
    place_tables(&job, workspace);
    for (uint32_t i = resize->rank; i-- > 0;) {
        fill_axis(resize, i, stride, job.taps[i], job.axis[i]);
        stride *= resize->in[i];
        rows *= i + 1 < resize->rank ? resize->out[i] : 1;
    }
    const int64_t width = resize->out[resize->rank - 1];
    if (rows * width > 0) {
        job.mix = mix_find();
        vt_pool_run(pool, rows, 1 + 2048 / width, keeps_last(&job) ? run_kept_rows : run_rows,
                    &job);
    }
}
