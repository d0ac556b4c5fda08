/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last convolution without a matrix product: for few channels a group, and for kernels
 * that Winograd's transform does not suit.
 *
 * A unit, one group or the groups that share a vector, is carried through some rows of outputs
 * before the next. The rows of input that an output row needs are copied, only the unit's channels
 * of them, into a ring with zeros at both ends: read in place they would lie so many bytes apart
 * that they fall into a few sets of the first-level cache. The micro-kernels then find every tap of
 * neighbouring outputs at a fixed step, and taps above or below the image are left out. Where the
 * weights of a unit are large, the ring holds the input of several rows of outputs, and each block
 * of output channels is carried through them before the next.
 */
#include <string.h>

#include "kernels/conv/tiles.h"
#include "kernels/conv/ways.h"

/* Bounds of a worker's ring; beyond the lower one rows are not kept for the next row of outputs,
 * nor held for several. */
#define RING_FLOATS     (INT64_C(1) << 22)
#define RING_FEW_FLOATS (INT64_C(1) << 17)
/* Weights of a unit that may be read anew for every row of outputs. */
#define WEIGHT_FLOATS (INT64_C(1) << 17)
/* Input of the rows that all units are carried through. */
#define CHUNK_BYTES (INT64_C(1) << 19)

/* Channels of one block: of the input those that its outputs read. */
struct block {
    int64_t in_channel, in_channels;
    int64_t channel, channels;
    int64_t lanes;   /* floats of a row of packed weights */
    int64_t outputs; /* of a tile */
    int64_t weights; /* where its packed ones begin */
    int64_t rows_of_tap;
    vt_conv_tile_func func;
};

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Channels a group if the rotating kernels can do it, else 0. */
static int64_t rotates(const struct vt_conv *conv, const struct vt_conv_tiles *tiles)
{
    const int64_t ins = conv->in_channels / conv->groups;
    if (ins != conv->out_channels / conv->groups) {
        return 0;
    }
    if (ins == 4 && tiles->rotate4_outputs > 0) {
        return 4;
    }
    return ins == 8 && tiles->rotate8_outputs > 0 ? 8 : 0;
}

static int64_t blocks_of(const struct vt_conv *conv, const struct vt_conv_tiles *tiles)
{
    if (rotates(conv, tiles) > 0) {
        return div_up(conv->out_channels, tiles->lanes);
    }
    return conv->groups * div_up(conv->out_channels / conv->groups, 2 * (int64_t)tiles->lanes);
}

static void block_of(const struct vt_conv *conv, const struct vt_conv_tiles *tiles, int64_t index,
                     struct block *ret)
{
    const int64_t lanes = tiles->lanes, taps = conv_volume(conv->kernel);
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t rotated = rotates(conv, tiles);
    if (rotated > 0) {
        const int64_t first = index * lanes;
        const int64_t channels = min_i64(lanes, conv->out_channels - first);
        *ret = (struct block){first,
                              channels,
                              first,
                              channels,
                              lanes,
                              rotated == 4 ? tiles->rotate4_outputs : tiles->rotate8_outputs,
                              index * taps * rotated * lanes,
                              rotated,
                              rotated == 4 ? tiles->rotate4 : tiles->rotate8};
        return;
    }
    const int64_t a_group = div_up(outs, 2 * lanes), group = index / a_group;
    const int64_t first = index % a_group * 2 * lanes;
    const int64_t channels = min_i64(2 * lanes, outs - first);
    const int vectors = channels > lanes ? 2 : 1;
    *ret = (struct block){group * ins,
                          ins,
                          group * outs + first,
                          channels,
                          vectors * lanes,
                          tiles->splat_outputs[vectors - 1],
                          group * conv->group_floats + first * taps * ins,
                          ins,
                          tiles->splat[vectors - 1]};
}

/* How the input of a unit is kept. */
struct ring {
    int64_t width;        /* channels of a pixel */
    int64_t pixels;       /* of a row, with what is outside */
    int64_t planes, rows; /* kept, and rows of each plane; 0: one for each tap */
    int64_t row_floats;
    int64_t outputs; /* rows of outputs whose input it holds */
};

static void ring_of(const struct vt_conv *conv, const struct vt_conv_tiles *tiles, struct ring *ret)
{
    const int64_t depth = (conv->kernel[0] - 1) * conv->dilation[0] + 1;
    const int64_t height = (conv->kernel[1] - 1) * conv->dilation[1] + 1;
    ret->width =
        rotates(conv, tiles) > 0 ? (int64_t)tiles->lanes : conv->in_channels / conv->groups;
    ret->pixels =
        (conv->out[2] - 1) * conv->stride[2] + (conv->kernel[2] - 1) * conv->dilation[2] + 1;
    ret->row_floats = ret->width * ret->pixels;
    ret->planes = depth;
    ret->rows = height;
    ret->outputs = 1;
    const double plane_row = (double)depth * (double)ret->row_floats;
    if ((depth != conv->kernel[0] || height != conv->kernel[1]) &&
        plane_row * (double)height > (double)RING_FEW_FLOATS) {
        ret->planes = ret->rows = 0;
    } else if (conv->group_floats > WEIGHT_FLOATS) {
        while (ret->outputs < conv->out[1] &&
               plane_row * (double)(ret->rows + conv->stride[1]) < (double)RING_FEW_FLOATS) {
            ret->rows += conv->stride[1];
            ret->outputs++;
        }
    }
}

/* Rows of a ring: by their number in the plane, or by the tap that they belong to. */
static int64_t rows_kept(const struct vt_conv *conv, const struct ring *ring)
{
    return ring->rows > 0 ? ring->planes * ring->rows : conv->kernel[0] * conv->kernel[1];
}

/* Input channels up to which dense convolutions gain: beyond, the product over rows packs less than
 * this copies. */
#define DENSE_CHANNELS 128

static bool can(const struct vt_conv *conv)
{
    struct ring ring;
    if (!conv->channels_last || conv->transposed || conv->in_channels < 1 ||
        conv_volume(conv->out) < 1 || (conv->groups == 1 && conv_volume(conv->kernel) == 1)) {
        return false;
    }
    ring_of(conv, vt_conv_tiles_find(conv->features), &ring);
    return (double)ring.width * (double)ring.pixels * (double)rows_kept(conv, &ring) <
               (double)RING_FLOATS &&
           conv_volume(conv->kernel) < RING_FLOATS;
}

static bool fits(const struct vt_conv *conv)
{
    return (conv->groups > 1 || conv->in_channels <= DENSE_CHANNELS) && can(conv);
}

static void init(struct vt_conv *conv)
{
    const struct vt_conv_tiles *tiles = vt_conv_tiles_find(conv->features);
    const int64_t lanes = tiles->lanes, rotated = rotates(conv, tiles);
    if (rotated > 0) {
        const int64_t floats = blocks_of(conv, tiles) * conv_volume(conv->kernel) * rotated * lanes;
        conv->group_floats = div_up(floats, conv->groups);
        conv->tile = rotated;
    } else {
        const int64_t outs = div_up(conv->out_channels / conv->groups, lanes) * lanes;
        conv->group_floats = outs * conv_depth(conv);
        conv->tile = lanes;
    }
}

/* The output channel that lane `lane` of row `r` of a block's weights belongs to, -1: none. */
static int64_t lane_channel(const struct vt_conv *conv, const struct block *b, int64_t rotated,
                            int64_t r, int64_t lane)
{
    const int64_t at = rotated > 0 ? lane ^ r : lane;
    (void)conv;
    return at < b->channels && lane < b->channels ? b->channel + at : -1;
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const struct vt_conv_tiles *tiles = vt_conv_tiles_find(conv->features);
    const int64_t taps = conv_volume(conv->kernel), rotated = rotates(conv, tiles);
    const int64_t ins = conv->in_channels / conv->groups, blocks = blocks_of(conv, tiles);
    memset(ret_packed, 0, vt_conv_packed_floats(conv) * sizeof(float));
    for (int64_t index = 0; index < blocks; index++) {
        struct block b;
        block_of(conv, tiles, index, &b);
        float *out = ret_packed + b.weights;
        for (int64_t row = 0; row < taps * b.rows_of_tap; row++, out += b.lanes) {
            const int64_t tap = row / b.rows_of_tap, r = row % b.rows_of_tap;
            for (int64_t lane = 0; lane < b.lanes; lane++) {
                const int64_t channel = lane_channel(conv, &b, rotated, r, lane);
                const int64_t in = rotated > 0 ? lane % rotated : r;
                if (channel >= 0) {
                    out[lane] = weights[(channel * ins + in) * taps + tap] *
                                (channel_scale != NULL ? channel_scale[channel] : 1.0f);
                }
            }
        }
    }
}

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    const struct vt_conv_tiles *tiles;
    struct ring ring;
    char *workspace;
    size_t worker_bytes;
    int64_t rows;   /* of outputs, over all images */
    int64_t blocks; /* of output channels */
    int64_t blocks_per_unit;
    int64_t parts;      /* into which the blocks are cut */
    int64_t chunk_rows; /* that a unit is carried through before the next */
};

/* A worker's. */
struct scratch {
    struct vt_conv_tap *taps;
    int64_t *kept; /* which row of the image stands in each row of the ring, -1: none */
    float *ring;   /* [row][pixel][channel] */
};

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t taps_bytes(const struct vt_conv *conv)
{
    return align64((size_t)conv_volume(conv->kernel) * sizeof(struct vt_conv_tap));
}

static size_t kept_bytes(const struct vt_conv *conv, const struct ring *ring)
{
    return align64((size_t)rows_kept(conv, ring) * sizeof(int64_t));
}

static size_t worker_bytes(const struct vt_conv *conv)
{
    struct ring ring;
    ring_of(conv, vt_conv_tiles_find(conv->features), &ring);
    return taps_bytes(conv) + kept_bytes(conv, &ring) +
           align64((size_t)(rows_kept(conv, &ring) * ring.row_floats) * sizeof(float));
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    return threads * worker_bytes(conv);
}

/* The input position under a tap, or -1. */
static int64_t source_of(const struct vt_conv *conv, int axis, int64_t o, int64_t tap)
{
    const int64_t i = o * conv->stride[axis] - conv->pad[axis] + tap * conv->dilation[axis];
    return i >= 0 && i < conv->in[axis] ? i : -1;
}

/* Copies the channels [first, first + n) of a row of the input, zeros around them. */
static void copy_row(const struct job *job, int64_t row, int64_t first, int64_t n, float *ret)
{
    const struct vt_conv *conv = job->conv;
    const int64_t width = job->ring.width, before = min_i64(conv->pad[2], job->ring.pixels);
    const int64_t inside = min_i64(conv->in[2], job->ring.pixels - before);
    const float *from = job->data->input + row * conv->in[2] * conv->in_channels + first;
    memset(ret, 0, (size_t)(before * width) * sizeof(float));
    ret += before * width;
    job->tiles->copy(from, conv->in_channels, inside, n, width, ret);
    ret += inside * width;
    memset(ret, 0, (size_t)((job->ring.pixels - before - inside) * width) * sizeof(float));
}

/* Brings the rows that a row of outputs needs into the ring and lists its taps. */
static int64_t gather_rows(const struct job *job, const struct block *b, int64_t row,
                           const struct scratch *s)
{
    const struct vt_conv *conv = job->conv;
    const int64_t y = row % conv->out[1], z = row / conv->out[1] % conv->out[0];
    const int64_t image = row / conv->out[1] / conv->out[0];
    struct vt_conv_tap *tap = s->taps;
    for (int64_t k = 0; k < conv->kernel[0] * conv->kernel[1]; k++) {
        const int64_t iz = source_of(conv, 0, z, k / conv->kernel[1]);
        const int64_t iy = source_of(conv, 1, y, k % conv->kernel[1]);
        if (iz < 0 || iy < 0) {
            continue;
        }
        const int64_t from = (image * conv->in[0] + iz) * conv->in[1] + iy;
        const int64_t at =
            job->ring.rows > 0 ? iz % job->ring.planes * job->ring.rows + iy % job->ring.rows : k;
        if (s->kept[at] != from) {
            copy_row(job, from, b->in_channel, b->in_channels, s->ring + at * job->ring.row_floats);
            s->kept[at] = from;
        }
        for (int64_t kx = 0; kx < conv->kernel[2]; kx++, tap++) {
            tap->x = at * job->ring.row_floats + kx * conv->dilation[2] * job->ring.width;
            tap->w = k * conv->kernel[2] + kx;
        }
    }
    return tap - s->taps;
}

/* One row of outputs of one block; the taps' weights are counted in taps. */
static void row_run(const struct job *job, const struct block *b, int64_t row, int64_t n_taps,
                    const struct scratch *s)
{
    const struct vt_conv *conv = job->conv;
    const int64_t at = row * conv->out[2] * conv->out_channels + b->channel;
    struct vt_conv_tile tile = {.taps = s->taps,
                                .n_taps = n_taps,
                                .tap_floats = b->rows_of_tap * b->lanes,
                                .x_step = conv->stride[2] * job->ring.width,
                                .depth = b->in_channels,
                                .w = job->data->packed + b->weights,
                                .bias =
                                    job->data->bias != NULL ? job->data->bias + b->channel : NULL,
                                .y_step = conv->out_channels,
                                .channels = b->channels,
                                .finish = &conv->finish};
    for (int64_t x = 0; x < conv->out[2]; x += b->outputs) {
        tile.x = s->ring + x * tile.x_step;
        tile.y = job->data->output + at + x * tile.y_step;
        tile.residual =
            job->data->residual != NULL ? job->data->residual + at + x * tile.y_step : NULL;
        b->func(&tile, (uint32_t)min_i64(b->outputs, conv->out[2] - x));
    }
}

/* Blocks [begin, end) of one unit through n rows of outputs. */
static void unit_run(const struct job *job, int64_t begin, int64_t end, int64_t row, int64_t n,
                     const struct scratch *s)
{
    for (int64_t i = 0; i < rows_kept(job->conv, &job->ring); i++) {
        s->kept[i] = -1;
    }
    for (int64_t last = row + n; row < last; row += n) {
        n = min_i64(job->ring.outputs, last - row);
        for (int64_t i = begin; i < end; i++) {
            struct block b;
            block_of(job->conv, job->tiles, i, &b);
            for (int64_t r = row; r < row + n; r++) {
                row_run(job, &b, r, gather_rows(job, &b, r, s), s);
            }
        }
    }
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    char *at = job->workspace + worker * job->worker_bytes;
    struct scratch s;
    s.taps = (struct vt_conv_tap *)(void *)at;
    at += taps_bytes(job->conv);
    s.kept = (int64_t *)(void *)at;
    at += kept_bytes(job->conv, &job->ring);
    s.ring = (float *)(void *)at;
    while (begin < end) {
        const int64_t part = begin / job->rows, row = begin % job->rows;
        const int64_t n = min_i64(min_i64(job->rows - row, end - begin), job->chunk_rows);
        const int64_t last = (part + 1) * job->blocks / job->parts;
        for (int64_t i = part * job->blocks / job->parts; i < last;) {
            const int64_t next =
                min_i64((i / job->blocks_per_unit + 1) * job->blocks_per_unit, last);
            unit_run(job, i, next, row, n, &s);
            i = next;
        }
        begin += n;
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {.conv = conv,
                      .data = data,
                      .tiles = vt_conv_tiles_find(conv->features),
                      .workspace = workspace,
                      .worker_bytes = worker_bytes(conv),
                      .rows = conv->batch * conv->out[0] * conv->out[1]};
    const int64_t threads = vt_pool_threads(pool), wanted = threads > 1 ? 4 * threads : 1;
    const int64_t row_bytes = conv->in[2] * conv->in_channels * conv->stride[1] * 4;
    ring_of(conv, job.tiles, &job.ring);
    job.blocks = blocks_of(conv, job.tiles);
    job.blocks_per_unit = rotates(conv, job.tiles) > 0 ? 1 : job.blocks / conv->groups;
    job.chunk_rows =
        job.blocks_per_unit == job.blocks ? job.rows : 1 + CHUNK_BYTES / (row_bytes + 1);
    /* Threads share out rows, or channels where there is more to read of weights than of input. */
    job.parts =
        min_i64(job.blocks, conv->group_floats > WEIGHT_FLOATS ? wanted : div_up(wanted, job.rows));
    const int64_t items = job.rows * job.parts;
    vt_pool_run(pool, items, min_i64(div_up(items, wanted), job.chunk_rows), run_items, &job);
}

const struct vt_conv_way vt_conv_way_direct_last = {"direct last",   false, fits,      init, pack,
                                                    workspace_bytes, run,   .can = can};
