/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/sample/sample.h"

#define SAMPLES_MAX 65536 /* along a bin; a region that needs more is an error */

/* The four pixels around a position, and their weights; all weights 0 outside the image. */
struct corners {
    int64_t at[4];
    float weight[4];
};

static void find_corners(const int64_t *in, float y, float x, struct corners *c)
{
    *c = (struct corners){{0}, {0}};
    if (!(y >= -1.0f && y <= (float)in[0] && x >= -1.0f && x <= (float)in[1])) {
        return;
    }
    const float at[2] = {y > 0.0f ? y : 0.0f, x > 0.0f ? x : 0.0f};
    int64_t low[2], high[2];
    float t[2];
    for (int d = 0; d < 2; d++) {
        low[d] = (int64_t)at[d];
        t[d] = at[d] - (float)low[d];
        if (low[d] >= in[d] - 1) {
            low[d] = in[d] - 1;
            t[d] = 0.0f;
        }
        high[d] = low[d] + 1 < in[d] ? low[d] + 1 : low[d];
    }
    c->at[0] = low[0] * in[1] + low[1];
    c->at[1] = low[0] * in[1] + high[1];
    c->at[2] = high[0] * in[1] + low[1];
    c->at[3] = high[0] * in[1] + high[1];
    c->weight[0] = (1.0f - t[0]) * (1.0f - t[1]);
    c->weight[1] = (1.0f - t[0]) * t[1];
    c->weight[2] = t[0] * (1.0f - t[1]);
    c->weight[3] = t[0] * t[1];
}

/* A region in pixels: where it starts, how large a bin is, how many samples a bin takes. */
struct region {
    float start[2], bin[2];
    int64_t samples[2];
};

static bool read_region(const struct vt_roi_align *r, const float *numbers, struct region *ret)
{
    const float offset = r->half_pixel ? 0.5f : 0.0f;
    for (int d = 0; d < 2; d++) {
        const float first = numbers[1 - d] * r->scale - offset;
        float size = numbers[3 - d] * r->scale - offset - first;
        if (!r->half_pixel) {
            size = size > 1.0f ? size : 1.0f;
        }
        ret->start[d] = first;
        ret->bin[d] = size / (float)r->out[d];
        const float wanted = ceilf(size / (float)r->out[d]);
        if (r->sampling == 0 && !(wanted <= SAMPLES_MAX)) {
            return false;
        }
        ret->samples[d] = r->sampling > 0 ? r->sampling : (wanted > 0.0f ? (int64_t)wanted : 0);
    }
    return true;
}

static float read_bin(const struct vt_roi_align *r, const struct region *region, const float *x,
                      int64_t row, int64_t column)
{
    const int64_t n = region->samples[0] * region->samples[1];
    float result = 0.0f;
    bool first = true;
    for (int64_t i = 0; i < n; i++) {
        const int64_t sy = i / region->samples[1], sx = i % region->samples[1];
        const float y = region->start[0] + (float)row * region->bin[0] +
                        ((float)sy + 0.5f) * region->bin[0] / (float)region->samples[0];
        const float at = region->start[1] + (float)column * region->bin[1] +
                         ((float)sx + 0.5f) * region->bin[1] / (float)region->samples[1];
        struct corners c;
        find_corners(r->in, y, at, &c);
        for (int k = 0; k < 4; k++) {
            const float value = c.weight[k] * x[c.at[k]];
            if (!r->maximum) {
                result += value;
            } else if (first || value > result) {
                result = value;
            }
            first = false;
        }
    }
    return r->maximum || n == 0 ? result : result / (float)n;
}

bool vt_roi_align_run(const struct vt_roi_align *r, const float *x, const float *regions,
                      const int64_t *images, float *y, int64_t *ret_bad)
{
    const int64_t plane = r->in[0] * r->in[1];
    for (int64_t i = 0; i < r->regions; i++) {
        struct region region;
        if (!read_region(r, regions + i * 4, &region)) {
            *ret_bad = i;
            return false;
        }
        for (int64_t c = 0; c < r->channels; c++) {
            const float *from = x + (images[i] * r->channels + c) * plane;
            for (int64_t row = 0; row < r->out[0]; row++) {
                for (int64_t column = 0; column < r->out[1]; column++) {
                    *y++ = plane > 0 ? read_bin(r, &region, from, row, column) : 0.0f;
                }
            }
        }
    }
    return true;
}
