/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/quant/quant.h"

#include <math.h>

bool vt_quant_knows(enum vt_dtype dtype)
{
    return dtype == VT_I8 || dtype == VT_U8 || dtype == VT_I16 || dtype == VT_U16 ||
           dtype == VT_I32;
}

static int32_t load(enum vt_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case VT_I8:
        return ((const int8_t *)x)[i];
    case VT_U8:
        return ((const uint8_t *)x)[i];
    case VT_I16:
        return ((const int16_t *)x)[i];
    case VT_U16:
        return ((const uint16_t *)x)[i];
    default:
        return ((const int32_t *)x)[i];
    }
}

/* Stores a number that is whole already, saturated. A NaN becomes the least. */
static void store(enum vt_dtype dtype, void *y, int64_t i, float value)
{
    const float low = dtype == VT_I8 ? -128.0f : (dtype == VT_I16 ? -32768.0f : 0.0f);
    const float high = dtype == VT_I8    ? 127.0f
                       : dtype == VT_U8  ? 255.0f
                       : dtype == VT_I16 ? 32767.0f
                                         : 65535.0f;
    value = value > low ? value : low;
    value = value < high ? value : high;
    switch (dtype) {
    case VT_I8:
        ((int8_t *)y)[i] = (int8_t)value;
        return;
    case VT_U8:
        ((uint8_t *)y)[i] = (uint8_t)value;
        return;
    case VT_I16:
        ((int16_t *)y)[i] = (int16_t)value;
        return;
    default:
        ((uint16_t *)y)[i] = (uint16_t)value;
        return;
    }
}

/* Which scale belongs to element (o, a, i). */
static int64_t scale_at(const struct vt_quant_scales *s, int64_t o, int64_t a, int64_t i)
{
    if (s->blocks == 0) {
        return 0;
    }
    return s->full ? (o * s->blocks + a / s->block) * s->inner + i : a / s->block;
}

void vt_quantize_run(const struct vt_quant_scales *s, enum vt_dtype x_dtype, const void *x,
                     enum vt_dtype y_dtype, void *y)
{
    int64_t at = 0;
    for (int64_t o = 0; o < s->outer; o++) {
        for (int64_t a = 0; a < s->n; a++) {
            for (int64_t i = 0; i < s->inner; i++, at++) {
                const int64_t k = scale_at(s, o, a, i);
                const float zero = s->zero != NULL ? (float)load(y_dtype, s->zero, k) : 0.0f;
                const float value =
                    x_dtype == VT_F32 ? ((const float *)x)[at] : (float)((const int32_t *)x)[at];
                store(y_dtype, y, at, rintf(value / s->scale[k]) + zero);
            }
        }
    }
}

void vt_dequantize_run(const struct vt_quant_scales *s, enum vt_dtype x_dtype, const void *x,
                       float *y)
{
    int64_t at = 0;
    for (int64_t o = 0; o < s->outer; o++) {
        for (int64_t a = 0; a < s->n; a++) {
            for (int64_t i = 0; i < s->inner; i++, at++) {
                const int64_t k = scale_at(s, o, a, i);
                const int64_t zero = s->zero != NULL ? load(x_dtype, s->zero, k) : 0;
                y[at] = (float)(load(x_dtype, x, at) - zero) * s->scale[k];
            }
        }
    }
}

void vt_quantize_dynamic(const float *x, int64_t n, uint8_t *y, float *ret_scale, uint8_t *ret_zero)
{
    float low = 0.0f, high = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    const float scale = (high - low) / 255.0f;
    uint8_t zero = 0;
    if (scale > 0.0f) {
        store(VT_U8, &zero, 0, rintf(-low / scale));
    }
    for (int64_t i = 0; i < n; i++) {
        /* All are 0 where nothing is spanned. */
        store(VT_U8, y, i, scale > 0.0f ? rintf(x[i] / scale) + (float)zero : 0.0f);
    }
    *ret_scale = scale;
    *ret_zero = zero;
}

void vt_quant_center(const struct vt_quant_center *c, const void *x, int16_t *y)
{
    const enum vt_dtype dtype = c->is_signed ? VT_I8 : VT_U8;
    int64_t at = 0;
    for (int64_t r = 0; r < c->rows; r++) {
        for (int64_t j = 0; j < c->columns; j++, at++) {
            const int64_t k = c->by_row ? r : (c->by_column ? j : 0);
            const int32_t zero = c->zero != NULL ? load(dtype, c->zero, k) : 0;
            y[at] = (int16_t)(load(dtype, x, at) - zero);
        }
    }
}

/* --- products ---------------------------------------------------------------------------- */

struct matmul {
    int64_t n, k;
    const int16_t *a, *b;
    int32_t *c;
};

static void matmul_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct matmul *p = ctx;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        uint32_t *c = (uint32_t *)p->c + i * p->n;
        for (int64_t j = 0; j < p->n; j++) {
            c[j] = 0;
        }
        for (int64_t k = 0; k < p->k; k++) {
            const int32_t a = p->a[i * p->k + k];
            const int16_t *b = p->b + k * p->n;
            for (int64_t j = 0; j < p->n; j++) {
                c[j] += (uint32_t)(a * b[j]);
            }
        }
    }
}

void vt_quant_matmul(int64_t m, int64_t n, int64_t k, const int16_t *a, const int16_t *b,
                     int32_t *c, struct vt_pool *pool)
{
    struct matmul p = {n, k, a, b, c};
    if (m > 0 && n > 0) {
        vt_pool_run(pool, m, 1, matmul_rows, &p);
    }
}

struct conv_job {
    const struct vt_quant_conv *conv;
    const int16_t *x, *w;
    int32_t *y;
};

/* Output positions [*begin, *end) whose tap lies on the input; the first input position of them. */
static int64_t tap_range(const struct vt_quant_conv *c, uint32_t d, int64_t tap, int64_t *begin,
                         int64_t *end)
{
    const int64_t offset = tap * c->dilation[d] - c->pad[d], stride = c->stride[d];
    *begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *end = offset >= c->in[d] ? 0 : (c->in[d] - 1 - offset) / stride + 1;
    *end = *end > c->out[d] ? c->out[d] : *end;
    return *begin * stride + offset;
}

/* One tap of one input plane worked into one output plane. */
static void add_tap(const struct vt_quant_conv *c, const int16_t *x, int32_t weight,
                    const int64_t *tap, uint32_t *y)
{
    int64_t begin[VT_QUANT_DIMS], end[VT_QUANT_DIMS], first[VT_QUANT_DIMS];
    for (uint32_t d = 0; d < VT_QUANT_DIMS; d++) {
        first[d] = tap_range(c, d, tap[d], &begin[d], &end[d]);
    }
    for (int64_t i = begin[0]; i < end[0]; i++) {
        for (int64_t j = begin[1]; j < end[1]; j++) {
            const int64_t row = (first[0] + (i - begin[0]) * c->stride[0]) * c->in[1] + first[1] +
                                (j - begin[1]) * c->stride[1];
            const int16_t *from = x + row * c->in[2] + first[2];
            uint32_t *to = y + (i * c->out[1] + j) * c->out[2] + begin[2];
            for (int64_t k = 0; k < end[2] - begin[2]; k++) {
                to[k] += (uint32_t)(weight * from[k * c->stride[2]]);
            }
        }
    }
}

static void conv_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct conv_job *job = ctx;
    const struct vt_quant_conv *c = job->conv;
    const int64_t in_plane = c->in[0] * c->in[1] * c->in[2];
    const int64_t out_plane = c->out[0] * c->out[1] * c->out[2];
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t depth = c->in_channels / c->groups, breadth = c->out_channels / c->groups;
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t channel = plane % c->out_channels, batch = plane / c->out_channels;
        uint32_t *y = (uint32_t *)job->y + plane * out_plane;
        for (int64_t i = 0; i < out_plane; i++) {
            y[i] = 0;
        }
        for (int64_t ic = 0; ic < depth; ic++) {
            const int16_t *x =
                job->x + (batch * c->in_channels + channel / breadth * depth + ic) * in_plane;
            for (int64_t t = 0; t < taps; t++) {
                const int64_t tap[VT_QUANT_DIMS] = {t / (c->kernel[1] * c->kernel[2]),
                                                    t / c->kernel[2] % c->kernel[1],
                                                    t % c->kernel[2]};
                add_tap(c, x, job->w[(channel * depth + ic) * taps + t], tap, y);
            }
        }
    }
}

void vt_quant_conv(const struct vt_quant_conv *conv, const int16_t *x, const int16_t *w, int32_t *y,
                   struct vt_pool *pool)
{
    struct conv_job job = {conv, x, w, y};
    const int64_t planes = conv->batch * conv->out_channels;
    if (planes > 0) {
        vt_pool_run(pool, planes, 1, conv_planes, &job);
    }
}

void vt_requantize_run(const struct vt_requantize *r, const int32_t *sums, void *y)
{
    int64_t at = 0;
    for (int64_t row = 0; row < r->rows; row++) {
        const uint32_t bias = r->bias != NULL ? (uint32_t)r->bias[row] : 0;
        for (int64_t j = 0; j < r->columns; j++, at++) {
            const float factor = r->factor[r->by_row ? row : (r->by_column ? j : 0)];
            const int32_t sum = (int32_t)((uint32_t)sums[at] + bias);
            store(r->is_signed ? VT_I8 : VT_U8, y, at, rintf((float)sum * factor) + (float)r->zero);
        }
    }
}
