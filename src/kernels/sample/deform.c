/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>

#include "kernels/sample/sample.h"

/* Between four pixels; what lies outside the image counts as 0. */
static float read_between(const float *image, int64_t height, int64_t width, float y, float x)
{
    if (!(y > -1.0f && y < (float)height && x > -1.0f && x < (float)width)) {
        return 0.0f;
    }
    const int64_t top = (int64_t)floorf(y), left = (int64_t)floorf(x);
    const float down = y - (float)top, right = x - (float)left;
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) {
        const int64_t row = top + k / 2, column = left + k % 2;
        const float weight =
            (k / 2 == 0 ? 1.0f - down : down) * (k % 2 == 0 ? 1.0f - right : right);
        if (row >= 0 && row < height && column >= 0 && column < width) {
            sum += weight * image[row * width + column];
        }
    }
    return sum;
}

/* What the taps of one output position read, [in_channels][taps]. */
static void read_patch(const struct vt_deform_conv *d, const float *x, const float *offset,
                       const float *mask, int64_t row, int64_t column, float *patch)
{
    const int64_t taps = d->kernel[0] * d->kernel[1], place = row * d->out[1] + column;
    const int64_t plane = d->out[0] * d->out[1];
    for (int64_t c = 0; c < d->in_channels; c++) {
        const int64_t group = c / (d->in_channels / d->offset_groups);
        for (int64_t t = 0; t < taps; t++) {
            const int64_t k = group * taps + t;
            const int64_t down = t / d->kernel[1] * d->dilation[0] - d->pad[0];
            const int64_t right = t % d->kernel[1] * d->dilation[1] - d->pad[1];
            const float y = (float)(row * d->stride[0] + down) + offset[2 * k * plane + place];
            const float at =
                (float)(column * d->stride[1] + right) + offset[(2 * k + 1) * plane + place];
            const float factor = mask != NULL ? mask[k * plane + place] : 1.0f;
            patch[c * taps + t] =
                factor * read_between(x + c * d->in[0] * d->in[1], d->in[0], d->in[1], y, at);
        }
    }
}

void vt_deform_conv_run(const struct vt_deform_conv *d, const struct vt_deform_data *data,
                        float *workspace)
{
    const int64_t taps = d->kernel[0] * d->kernel[1], plane = d->out[0] * d->out[1];
    const int64_t depth = d->in_channels / d->groups * taps;
    for (int64_t n = 0; n < d->batch; n++) {
        const float *x = data->x + n * d->in_channels * d->in[0] * d->in[1];
        const float *offset = data->offset + n * d->offset_groups * taps * 2 * plane;
        const float *mask =
            data->mask != NULL ? data->mask + n * d->offset_groups * taps * plane : NULL;
        for (int64_t place = 0; place < plane; place++) {
            read_patch(d, x, offset, mask, place / d->out[1], place % d->out[1], workspace);
            for (int64_t o = 0; o < d->out_channels; o++) {
                const float *patch = workspace + o / (d->out_channels / d->groups) * depth;
                float sum = data->bias != NULL ? data->bias[o] : 0.0f;
                for (int64_t i = 0; i < depth; i++) {
                    sum += data->weights[o * depth + i] * patch[i];
                }
                data->y[(n * d->out_channels + o) * plane + place] = sum;
            }
        }
    }
}

void vt_affine_grid_run(const struct vt_affine_grid *g, const float *theta, float *y)
{
    const uint32_t n = g->dims;
    int64_t points = 1;
    for (uint32_t d = 0; d < n; d++) {
        points *= g->out[d];
    }
    for (int64_t i = 0; i < g->batch * points; i++) {
        const float *matrix = theta + i / points * n * (n + 1);
        float at[VT_SAMPLE_DIMS]; /* the last extent's position first */
        int64_t rest = i % points;
        for (uint32_t d = n; d-- > 0;) {
            const float index = (float)(rest % g->out[d]), extent = (float)g->out[d];
            rest /= g->out[d];
            at[n - 1 - d] = g->align_corners
                                ? (extent > 1.0f ? 2.0f * index / (extent - 1.0f) - 1.0f : 0.0f)
                                : (2.0f * index + 1.0f) / extent - 1.0f;
        }
        for (uint32_t row = 0; row < n; row++) {
            float sum = matrix[row * (n + 1) + n];
            for (uint32_t column = 0; column < n; column++) {
                sum += matrix[row * (n + 1) + column] * at[column];
            }
            *y++ = sum;
        }
    }
}
