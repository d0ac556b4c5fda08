/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last convolution as a matrix product: patches, one a row, times weights. Step k of the
 * product is (tap, channel), so a tap's channels are copied from one place. A pointwise convolution
 * has its patches in memory already: the rows of the image. Transposed convolutions are carried out
 * likewise, over the taps that reach an output.
 */
#include <string.h>

#include "kernels/conv/ways.h"

static bool is_pointwise(const struct vt_conv *conv)
{
    for (int i = 0; i < VT_CONV_DIMS; i++) {
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->in[i] != conv->out[i]) {
            return false;
        }
    }
    return true;
}

/* The input position that a tap brings to output `o`; -1: none. */
static int64_t source_of(const struct vt_conv *conv, int axis, int64_t o, int64_t tap)
{
    int64_t i = o * conv->stride[axis] - conv->pad[axis] + tap * conv->dilation[axis];
    if (conv->transposed) {
        const int64_t reach = o + conv->pad[axis] - tap * conv->dilation[axis];
        i = reach >= 0 && reach % conv->stride[axis] == 0 ? reach / conv->stride[axis] : -1;
    }
    return i < conv->in[axis] ? i : -1;
}

/* An output, and the group's channels of its image. */
struct output {
    const float *image;
    int64_t z, y, x;
};

/* A line of the image under a line of taps; NULL: outside. `line` counts those of all kz. */
static const float *line_of(const struct vt_conv *conv, const struct output *o, int64_t line)
{
    const int64_t z = source_of(conv, 0, o->z, line / conv->kernel[1]);
    const int64_t y = source_of(conv, 1, o->y, line % conv->kernel[1]);
    return z < 0 || y < 0 ? NULL
                          : o->image + (z * conv->in[1] + y) * conv->in[2] * conv->in_channels;
}

static void copy_floats(float *out, const float *from, int64_t n)
{
    if (n > 0) {
        memcpy(out, from, (size_t)n * sizeof(float));
    }
}

static void clear_floats(float *out, int64_t n)
{
    if (n > 0) {
        memset(out, 0, (size_t)n * sizeof(float));
    }
}

static int64_t limit(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Steps [begin, end) of a line of taps that lie side by side in the image: one copy. */
static void copy_line(const struct vt_conv *conv, const float *line, int64_t x, int64_t begin,
                      int64_t end, float *out)
{
    const int64_t channels = conv->in_channels;
    /* The part of the line that the image has. */
    const int64_t first = line == NULL ? end : limit(-x * channels, begin, end);
    const int64_t last = line == NULL ? end : limit((conv->in[2] - x) * channels, first, end);
    clear_floats(out, first - begin);
    if (last > first) {
        copy_floats(out + first - begin, line + x * channels + first, last - first);
    }
    clear_floats(out + last - begin, end - last);
}

/* The same where taps stand apart, one copy a tap. */
static void copy_taps(const struct vt_conv *conv, const float *line, int64_t x, int64_t begin,
                      int64_t end, float *out)
{
    const int64_t channels = conv->in_channels / conv->groups;
    for (int64_t k = begin, tap = k / channels; k < end; tap++) {
        const int64_t c = k - tap * channels;
        const int64_t n = channels - c < end - k ? channels - c : end - k;
        const int64_t at = source_of(conv, 2, x, tap);
        if (line == NULL || at < 0) {
            clear_floats(out, n);
        } else {
            copy_floats(out, line + at * conv->in_channels + c, n);
        }
        out += n;
        k += n;
    }
}

static void copy_patch(const struct vt_conv *conv, const struct output *o, int64_t k0, int64_t kc,
                       float *out)
{
    const bool adjacent = !conv->transposed && conv->groups == 1 && conv->dilation[2] == 1;
    const int64_t steps = conv->kernel[2] * (conv->in_channels / conv->groups);
    const int64_t x = o->x * conv->stride[2] - conv->pad[2];
    int64_t line = k0 / steps, begin = k0 - line * steps;
    for (int64_t left = kc; left > 0; line++, begin = 0) {
        const int64_t end = steps - begin < left ? steps : begin + left;
        if (adjacent) {
            copy_line(conv, line_of(conv, o, line), x, begin, end, out);
        } else {
            copy_taps(conv, line_of(conv, o, line), o->x, begin, end, out);
        }
        out += end - begin;
        left -= end - begin;
    }
}

/* A vt_gemm_rows_func: rows are outputs. */
static void copy_rows(const void *ctx, int64_t batch, int64_t k0, int64_t kc, int64_t m0,
                      int64_t rows, int64_t stride, float *ret_rows)
{
    const struct vt_conv_product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t image_floats = conv_volume(conv->in) * conv->in_channels;
    struct output o = {.x = m0 % conv->out[2],
                       .y = m0 / conv->out[2] % conv->out[1],
                       .z = m0 / conv->out[2] / conv->out[1] % conv->out[0],
                       .image = p->data->input + batch * (conv->in_channels / conv->groups) +
                                m0 / conv_volume(conv->out) * image_floats};
    for (int64_t m = 0; m < rows; m++, ret_rows += stride) {
        copy_patch(conv, &o, k0, kc, ret_rows);
        if (++o.x == conv->out[2]) {
            o.x = 0;
            if (++o.y == conv->out[1]) {
                o.y = 0;
                if (++o.z == conv->out[0]) {
                    o.z = 0;
                    o.image += image_floats;
                }
            }
        }
    }
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct vt_conv_product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t offset = batch * (conv->out_channels / conv->groups);
    ret->a = p->data->input + batch * (conv->in_channels / conv->groups);
    ret->b = p->data->packed + batch * conv->group_floats;
    ret->c = p->data->output + offset;
    ret->col_bias = p->data->bias != NULL ? p->data->bias + offset : NULL;
    ret->residual = p->data->residual != NULL ? p->data->residual + offset : NULL;
}

void vt_conv_rows_product(struct vt_gemm *gemm, const struct vt_conv *conv,
                          const struct vt_conv_product *product)
{
    *gemm = (struct vt_gemm){.kernel = conv->gemm,
                             .m = conv->batch * conv_volume(conv->out),
                             .n = conv->out_channels / conv->groups,
                             .k = conv_depth(conv),
                             .batches = conv->groups,
                             .ldc = conv->out_channels,
                             .b_packed = true,
                             .a_row_stride = conv->in_channels,
                             .a_col_stride = 1,
                             .rows_a = is_pointwise(conv) ? NULL : copy_rows,
                             .locate = locate,
                             .ctx = product,
                             .finish = conv->finish};
}

static bool fits(const struct vt_conv *conv)
{
    return conv->channels_last;
}

static void init(struct vt_conv *conv)
{
    size_t floats = 0;
    (void)vt_gemm_packed_b_size(conv->gemm, conv_depth(conv), conv->out_channels / conv->groups,
                                &floats);
    conv->group_floats = (int64_t)floats;
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t depth = conv_depth(conv), nr = conv->gemm->nr;
    const int64_t padded = (outs + nr - 1) / nr * nr;
    for (int64_t g = 0; g < conv->groups; g++) {
        const float *group = weights + g * depth * outs;
        for (int64_t k = 0; k < depth; k++) {
            const int64_t k0 = k / VT_GEMM_KC * VT_GEMM_KC;
            const int64_t kc = depth - k0 < VT_GEMM_KC ? depth - k0 : VT_GEMM_KC;
            float *row = ret_packed + g * conv->group_floats + k0 * padded + (k - k0) * nr;
            for (int64_t o = 0; o < padded; o++) {
                const float scale =
                    channel_scale != NULL && o < outs ? channel_scale[g * outs + o] : 1.0f;
                row[o / nr * nr * kc + o % nr] =
                    o < outs ? group[conv_weight_at(conv, k % ins, o, k / ins)] * scale : 0.0f;
            }
        }
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct vt_gemm gemm;
    vt_conv_rows_product(&gemm, conv, NULL);
    return vt_gemm_workspace_bytes(&gemm, threads);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    const struct vt_conv_product product = {conv, data};
    struct vt_gemm gemm;
    vt_conv_rows_product(&gemm, conv, &product);
    vt_gemm_run(&gemm, pool, workspace);
}

const struct vt_conv_way vt_conv_way_rows = {
    "rows", true, fits, init, pack, workspace_bytes, run, .over_residual = true};
