/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a product of the weights and of patches, one a column. Step of four k of it is
 * (four channels, tap). First the images are laid out anew, four channels of a pixel beside each
 * other and the padding in place, so that a tap of neighbouring pixels is copied in one piece.
 * That takes a pass over the image, where patches taken from the channels would take one a tap.
 *
 * A pointwise convolution needs no second copy: the panels come from the channels at once.
 */
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/conv8/ways.h"

#define NR VT_GEMM8_NR
/* Pixels of a channel that are packed one after the other, several panels of them. */
#define STRIP ((int64_t)4 * NR)
/* Pixels that are copied at once, and bytes that this may read behind the last image. */
#define PIECE 8
#define SLACK 64
/* Images that are laid out together, so that threads meet less often. */
#define CHUNK_BYTES ((int64_t)1 << 20)

struct product {
    const struct vt_conv8 *conv;
    const struct vt_conv8_data *data;
    int64_t first; /* image of the chunk */
    uint8_t *laid; /* [image][group][four][z][y][x][4] */
};

static int64_t laid_bytes(const struct vt_conv8 *conv)
{
    return conv->groups * conv8_fours(conv) * conv8_span(conv, 0) * conv8_span(conv, 1) *
           conv8_span(conv, 2) * 4;
}

/* How many images make a chunk. */
static int64_t chunk_of(const struct vt_conv8 *conv)
{
    const int64_t image = laid_bytes(conv);
    int64_t n = image > 0 ? CHUNK_BYTES / image : 1;
    n = n < 1 ? 1 : n;
    return n < conv->batch ? n : conv->batch;
}

/* --- laying out ----------------------------------------------------------------------------- */

static void fill(uint8_t *out, int64_t pixels, uint8_t zero)
{
    const uint8_t four[4] = {zero, zero, zero, zero};
    if (pixels > 16) {
        memset(out, zero, (size_t)pixels * 4);
        return;
    }
    /* Mostly one or two: a call would take longer. */
    for (int64_t i = 0; i < pixels; i++) {
        memcpy(out + 4 * i, four, 4);
    }
}

/* Steps beyond the last channel are 0, so that columns' sums are right. */
static void clear_missing(uint8_t *out, int64_t pixels, int64_t channels)
{
    for (int64_t i = 0; i < pixels; i++) {
        for (int64_t j = channels; j < 4; j++) {
            out[4 * i + j] = 0;
        }
    }
}

/* One row of pixels, four channels of it; `row` is NULL outside of the image. */
static void lay_row(const struct vt_conv8 *conv, const uint8_t *row, int64_t channels, uint8_t *out)
{
    const int64_t plane = conv8_volume(conv->in), span = conv8_span(conv, 2);
    const int64_t before = conv->pad[2] < span ? conv->pad[2] : span;
    const int64_t n = span - before < conv->in[2] ? span - before : conv->in[2];
    const uint8_t zero = conv8_zero(conv);

    if (row == NULL) {
        fill(out, span, zero);
    } else {
        const uint8_t *rows[4];
        for (int64_t j = 0; j < 4; j++) {
            rows[j] = row + (j < channels ? j : 0) * plane;
        }
        fill(out, before, zero);
        vt_u8_interleave(rows, n, conv8_flip(conv), out + before * 4);
        fill(out + (before + n) * 4, span - before - n, zero);
    }
    if (channels < 4) {
        clear_missing(out, span, channels);
    }
}

static void lay_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct product *p = ctx;
    const struct vt_conv8 *conv = p->conv;
    const int64_t fours = conv8_fours(conv), ins = conv8_ins(conv), plane = conv8_volume(conv->in);
    const int64_t depth = conv8_span(conv, 0), height = conv8_span(conv, 1);
    const int64_t row_bytes = conv8_span(conv, 2) * 4;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t four = item % fours, group = item / fours % conv->groups;
        const int64_t image = p->first + item / fours / conv->groups;
        const int64_t channel = image * conv->in_channels + group * ins + four * 4;
        const uint8_t *in = (const uint8_t *)p->data->input + channel * plane;
        uint8_t *out = p->laid + item * depth * height * row_bytes;
        for (int64_t i = 0; i < depth * height; i++, out += row_bytes) {
            const int64_t z = i / height - conv->pad[0], y = i % height - conv->pad[1];
            const bool inside = z >= 0 && z < conv->in[0] && y >= 0 && y < conv->in[1];
            lay_row(conv, inside ? in + (z * conv->in[1] + y) * conv->in[2] : NULL,
                    ins - four * 4 < 4 ? ins - four * 4 : 4, out);
        }
    }
}

/* --- panels --------------------------------------------------------------------------------- */

/* Neighbouring outputs of a row: where their pixels begin in the laid image, and their lanes. */
struct run {
    const uint8_t *from;
    int64_t lane, count;
};

/* Outputs [n, n + lanes) as runs, by lanes; returns how many. */
static int find_runs(const struct vt_conv8 *conv, const uint8_t *laid, int64_t n, int64_t lanes,
                     struct run ret[NR])
{
    const int64_t width = conv8_span(conv, 2) * 4, height = conv8_span(conv, 1) * width;
    int count = 0;
    for (int64_t lane = 0; lane < lanes; count++) {
        const int64_t at = n + lane, x = at % conv->out[2], y = at / conv->out[2] % conv->out[1];
        const int64_t z = at / conv->out[2] / conv->out[1];
        const int64_t left = conv->out[2] - x;
        ret[count] = (struct run){laid + z * conv->stride[0] * height +
                                      y * conv->stride[1] * width + x * conv->stride[2] * 4,
                                  lane, left < lanes - lane ? left : lanes - lane};
        lane += ret[count].count;
    }
    return count;
}

static void copy_pixels(const uint8_t *from, int64_t stride, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + 4 * i, from + 4 * stride * i, 4);
    }
}

/* The same in larger pieces. May write what up to PIECE - 1 more pixels take, and read SLACK. */
static void copy_pieces(const uint8_t *from, int64_t stride, int64_t n, uint8_t *to)
{
    if (stride == 1) {
        for (int64_t i = 0; i < n; i += PIECE) {
            memcpy(to + 4 * i, from + 4 * i, (size_t)4 * PIECE);
        }
        return;
    }
#if defined(__SSE2__)
    if (stride == 2) {
        for (int64_t i = 0; i < n; i += 4) {
            const __m128 a = _mm_castsi128_ps(_mm_loadu_si128((const void *)(from + 8 * i)));
            const __m128 b = _mm_castsi128_ps(_mm_loadu_si128((const void *)(from + 8 * i + 16)));
            _mm_storeu_si128((void *)(to + 4 * i), _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)));
        }
        return;
    }
#endif
    copy_pixels(from, stride, n, to);
}

/* One step of a panel. What pieces write too much is of a later lane or of the next step, which
 * come after it. */
static void pack_step(const struct run *runs, int count, int64_t offset, int64_t stride, bool last,
                      uint8_t *to)
{
    for (int i = 0; i < count; i++) {
        const uint8_t *from = runs[i].from + offset;
        if (last) {
            copy_pixels(from, stride, runs[i].count, to + runs[i].lane * 4);
        } else {
            copy_pieces(from, stride, runs[i].count, to + runs[i].lane * 4);
        }
    }
}

static void pack_panel(const struct vt_conv8 *conv, const struct run *runs, int count, uint8_t *to)
{
    const int64_t width = conv8_span(conv, 2) * 4;
    const int64_t height = conv8_span(conv, 1) * width, depth = conv8_span(conv, 0) * height;
    int64_t left = conv8_fours(conv) * conv8_volume(conv->kernel);
    for (int64_t image = 0; left > 0; image += depth) {
        for (int64_t kz = 0; kz < conv->kernel[0]; kz++) {
            for (int64_t ky = 0; ky < conv->kernel[1]; ky++) {
                const int64_t row =
                    image + kz * conv->dilation[0] * height + ky * conv->dilation[1] * width;
                for (int64_t kx = 0; kx < conv->kernel[2]; kx++, to += (ptrdiff_t)4 * NR) {
                    pack_step(runs, count, row + kx * conv->dilation[2] * 4, conv->stride[2],
                              --left == 0, to);
                }
            }
        }
    }
}

/* A vt_gemm8_pack_func: the batch is (image of the chunk, group). */
static void pack_patches(const void *ctx, int64_t batch, int64_t n0, int64_t nc,
                         uint8_t *ret_packed)
{
    const struct product *p = ctx;
    const struct vt_conv8 *conv = p->conv;
    const uint8_t *laid = p->laid + batch * (laid_bytes(conv) / conv->groups);
    const int64_t steps = conv8_fours(conv) * conv8_volume(conv->kernel);
    const int64_t panel_bytes = vt_gemm8_k4(conv->gemm, steps * 4) * 4 * NR;
    struct run runs[NR];
    for (int64_t n = 0; n < nc; n += NR, ret_packed += panel_bytes) {
        const int64_t lanes = nc - n < NR ? nc - n : NR;
        const int64_t used = lanes < NR ? 0 : steps * 4 * NR;
        memset(ret_packed + used, 0, (size_t)(panel_bytes - used));
        pack_panel(conv, runs, find_runs(conv, laid, n0 + n, lanes, runs), ret_packed);
    }
}

/* Step `four` of a panel's `lanes` pixels at `in`, of a pointwise convolution. */
static void pack_four(const struct vt_conv8 *conv, const uint8_t *in, int64_t four, int64_t lanes,
                      uint8_t *to)
{
    const int64_t plane = conv8_volume(conv->in), left = conv8_ins(conv) - four * 4;
    const uint8_t *rows[4];
    if (left <= 0 || lanes < NR) {
        memset(to, 0, (size_t)4 * NR);
    }
    if (left <= 0) {
        return;
    }
    for (int64_t j = 0; j < 4; j++) {
        rows[j] = in + (four * 4 + (j < left ? j : 0)) * plane;
    }
    vt_u8_interleave(rows, lanes, conv8_flip(conv), to);
    if (left < 4) {
        clear_missing(to, lanes, left);
    }
}

/* The same for a pointwise convolution, from the channels. The batch is (image, group). Some panels
 * at a time: channels lie far apart, what is taken of each should be lines of the cache. */
static void pack_pixels(const void *ctx, int64_t batch, int64_t n0, int64_t nc, uint8_t *ret_packed)
{
    const struct product *p = ctx;
    const struct vt_conv8 *conv = p->conv;
    const int64_t k4 = vt_gemm8_k4(conv->gemm, conv8_fours(conv) * 4), panel = k4 * 4 * NR;
    const uint8_t *in =
        (const uint8_t *)p->data->input + batch * conv8_ins(conv) * conv8_volume(conv->in) + n0;
    for (int64_t n = 0; n < nc; n += STRIP) {
        const int64_t end = nc - n < STRIP ? nc : n + STRIP;
        for (int64_t four = 0; four < k4; four++) {
            uint8_t *to = ret_packed + n / NR * panel + four * 4 * NR;
            for (int64_t at = n; at < end; at += NR, to += panel) {
                pack_four(conv, in + at, four, end - at < NR ? end - at : NR, to);
            }
        }
    }
}

/* --- the product ---------------------------------------------------------------------------- */

static void locate(const void *ctx, int64_t batch, struct vt_gemm8_place *ret)
{
    const struct product *p = ctx;
    const struct vt_conv8 *conv = p->conv;
    const int64_t group = batch % conv->groups, outs = conv8_outs(conv);
    const int64_t image = p->first + batch / conv->groups;
    const int64_t at = (image * conv->out_channels + group * outs) * conv8_volume(conv->out);
    ret->a = (const char *)p->data->packed + group * conv->group_bytes;
    ret->output = (char *)p->data->output + (size_t)at * vt_dtype_bytes(p->data->finish->output);
    ret->residual = p->data->residual != NULL ? (const char *)p->data->residual + at : NULL;
    ret->row = group * outs;
}

static int64_t steps_of(const struct vt_conv8 *conv)
{
    return conv8_fours(conv) * conv8_volume(conv->kernel) * 4;
}

static void product_init(struct vt_gemm8 *gemm, const struct vt_conv8 *conv,
                         const struct product *product, int64_t images)
{
    *gemm = (struct vt_gemm8){.kernel = conv->gemm,
                              .m = conv8_outs(conv),
                              .n = conv8_volume(conv->out),
                              .k = steps_of(conv),
                              .batches = images * conv->groups,
                              .row_stride = conv8_volume(conv->out),
                              .col_stride = 1,
                              .pack_b =
                                  conv->way == &vt_conv8_way_pointwise ? pack_pixels : pack_patches,
                              .locate = locate,
                              .ctx = product};
}

static bool any_fits(const struct vt_conv8 *conv)
{
    (void)conv;
    return true;
}

static bool pointwise_fits(const struct vt_conv8 *conv)
{
    for (int i = 0; i < VT_CONV8_DIMS; i++) {
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->in[i] != conv->out[i]) {
            return false;
        }
    }
    return true;
}

static size_t packed_bytes(const struct vt_conv8 *conv)
{
    size_t bytes = 0;
    return vt_gemm8_packed_size(conv->gemm, conv8_outs(conv), steps_of(conv), &bytes) ? bytes : 0;
}

/* The weight at a place of the product's A: row o, step k. */
static int8_t weight_at(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                        int64_t o, int64_t k)
{
    const int64_t taps = conv8_volume(conv->kernel), ins = conv8_ins(conv);
    const int64_t tap = k / 4 % taps, channel = k / 4 / taps * 4 + k % 4;
    return channel < ins ? (int8_t)(weights[(o * ins + channel) * taps + tap] ^ flip) : 0;
}

static void pack(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                 void *ret_packed)
{
    const struct vt_gemm8_kernel *kernel = conv->gemm;
    const int64_t k = steps_of(conv), ku = kernel->ku, outs = conv8_outs(conv);
    const int64_t panel = vt_gemm8_k4(kernel, k) * 4 * kernel->mr * kernel->a_bytes;
    memset(ret_packed, 0, packed_bytes(conv));
    for (int64_t o = 0; o < outs; o++) {
        char *row = (char *)ret_packed + o / kernel->mr * panel;
        for (int64_t i = 0; i < k; i++) {
            const int8_t w = weight_at(conv, weights, flip, o, i);
            vt_gemm8_put(kernel, row, o % kernel->mr, i / ku, i % ku, w);
        }
    }
}

static size_t workspace_bytes(const struct vt_conv8 *conv, bool weight_zeros, uint32_t threads)
{
    static const int32_t some = 0;
    struct vt_gemm8 gemm;
    const bool pointwise = conv->way == &vt_conv8_way_pointwise;
    const int64_t images = pointwise ? conv->batch : chunk_of(conv);
    product_init(&gemm, conv, NULL, images);
    gemm.finish.a_zero = weight_zeros ? &some : NULL;
    const size_t laid = pointwise ? 0 : (size_t)(images * laid_bytes(conv) + SLACK + 63) / 64 * 64;
    /* The last chunk has fewer images, which are cut smaller. */
    size_t most = vt_gemm8_workspace_bytes(&gemm, threads);
    if (conv->batch % images != 0) {
        gemm.batches = conv->batch % images * conv->groups;
        const size_t last = vt_gemm8_workspace_bytes(&gemm, threads);
        most = last > most ? last : most;
    }
    return laid + most;
}

static void run(const struct vt_conv8 *conv, const struct vt_conv8_data *data, struct vt_pool *pool,
                void *workspace)
{
    const bool pointwise = conv->way == &vt_conv8_way_pointwise;
    const int64_t chunk = pointwise ? conv->batch : chunk_of(conv);
    const size_t laid = pointwise ? 0 : (size_t)(chunk * laid_bytes(conv) + SLACK + 63) / 64 * 64;
    struct product product = {conv, data, 0, workspace};
    struct vt_gemm8 gemm;
    for (; product.first < conv->batch; product.first += chunk) {
        const int64_t left = conv->batch - product.first, images = left < chunk ? left : chunk;
        product_init(&gemm, conv, &product, images);
        gemm.finish = *data->finish;
        if (!pointwise) {
            vt_pool_run(pool, images * conv->groups * conv8_fours(conv), 1, lay_items, &product);
        }
        vt_gemm8_run(&gemm, pool, (char *)workspace + laid);
    }
}

const struct vt_conv8_way vt_conv8_way_pointwise = {
    "pointwise", true, pointwise_fits, packed_bytes, pack, workspace_bytes, run};
const struct vt_conv8_way vt_conv8_way_rows = {"rows",          true, any_fits, packed_bytes, pack,
                                               workspace_bytes, run};
