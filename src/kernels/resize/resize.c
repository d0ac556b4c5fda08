/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/resize/resize.h"

#include <math.h>
#include <string.h>

#define TAPS_MAX 4

/* What one output position along an axis reads. */
struct tap {
    int64_t at[TAPS_MAX]; /* in elements of the input */
    float weight[TAPS_MAX];
    bool outside; /* tf_crop_and_resize beyond the image */
};

struct job {
    const struct vt_resize *r;
    int taps;
    struct tap *axis[VT_RANK_MAX];
    size_t bytes;
    const char *x;
    char *y;
};

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

static void fill_cubic(const struct vt_resize *r, int64_t n, double x, struct tap *tap)
{
    const int64_t base = (int64_t)floor(x);
    double weight[TAPS_MAX], sum = 0;
    for (int k = 0; k < TAPS_MAX; k++) {
        const int64_t at = base - 1 + k;
        weight[k] = cubic_weight((double)r->cubic_a, x - (double)at);
        if (r->exclude_outside && (at < 0 || at >= n)) {
            weight[k] = 0;
        }
        sum += weight[k];
        tap->at[k] = clamp(at, n);
    }
    for (int k = 0; k < TAPS_MAX; k++) {
        tap->weight[k] = (float)(r->exclude_outside ? weight[k] / sum : weight[k]);
    }
}

static void fill_axis(const struct vt_resize *r, uint32_t axis, int64_t stride, struct tap *taps)
{
    const int64_t n = r->in[axis];
    for (int64_t i = 0; i < r->out[axis]; i++) {
        struct tap *tap = &taps[i];
        double x = coordinate_of(r, axis, i);
        memset(tap, 0, sizeof(*tap));
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
        } else if (r->mode == VT_RESIZE_LINEAR) {
            x = x < 0 ? 0 : (x > (double)(n - 1) ? (double)(n - 1) : x);
            const int64_t base = (int64_t)x;
            tap->at[0] = base;
            tap->at[1] = clamp(base + 1, n);
            tap->weight[1] = (float)(x - (double)base);
            tap->weight[0] = 1.0f - tap->weight[1];
        } else {
            fill_cubic(r, n, x, tap);
        }
        for (int k = 0; k < TAPS_MAX; k++) {
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
    for (int k = 0; k < job->taps; k++) {
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

size_t vt_resize_workspace_bytes(const struct vt_resize *resize)
{
    size_t n = 0;
    for (uint32_t i = 0; i < resize->rank; i++) {
        n += (size_t)resize->out[i];
    }
    return n * sizeof(struct tap);
}

void vt_resize_run(const struct vt_resize *resize, size_t bytes, const void *x, void *y,
                   struct vt_pool *pool, void *workspace)
{
    struct job job = {.r = resize, .bytes = bytes, .x = x, .y = y};
    struct tap *next = workspace;
    int64_t rows = 1, stride = 1;
    job.taps = resize->mode == VT_RESIZE_NEAREST ? 1 : (resize->mode == VT_RESIZE_LINEAR ? 2 : 4);
    for (uint32_t i = resize->rank; i-- > 0;) {
        job.axis[i] = next;
        fill_axis(resize, i, stride, next);
        next += resize->out[i];
        stride *= resize->in[i];
        rows *= i + 1 < resize->rank ? resize->out[i] : 1;
    }
    const int64_t width = resize->out[resize->rank - 1];
    if (rows * width > 0) {
        vt_pool_run(pool, rows, 1 + 2048 / width, run_rows, &job);
    }
}
