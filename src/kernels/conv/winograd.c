/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last 3x3 and 3x3x3 convolution by Winograd's minimal filtering over the two inner axes.
 *
 * A work item is a block of tiles, some output channels and, where the kernel has a depth, a range
 * of output slices. Its tiles are transformed into V[xi][tile][channel]; for each xi of the
 * (m + 2)² positions V[xi] · U[xi] gives M[xi][tile][output channel]; and M's tiles are transformed
 * back. A kernel of depth 3 needs each transformed slice for three outputs: V then holds the slices
 * of a step and two more, and the product sums the depth's taps. Blocks are sized so that V and a
 * chunk of M stay in the second-level cache; the transformed weights U pass by once a block.
 */
#include <string.h>

#include "base/topology.h"
#include "kernels/conv/ways.h"
#include "kernels/conv/winograd.h"

/* Work items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4
/* Floats between two planes of V or M beyond what they hold: planes a multiple of 4 KB apart would
 * compete for the same lines of the cache. */
#define SKEW 16
/* Output slices of a block at most: each block transforms two slices that another one has, too. */
#define RANGE 16
/* Output channels that an item has at least if they are cut. */
#define PART_MIN 64
/* Output channels whose M is held. */
#define CHUNK 128
/* Rows of a product at least, where there are as many: weights pass by once for so many. */
#define ROWS_MIN       36
#define ROWS_MIN_DEPTH 64
/* Of a core whose second-level cache is not known. */
#define L2_BYTES 1048576

const struct vt_winograd_kernel *vt_winograd_kernel_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return &vt_f32_winograd__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &vt_f32_winograd__avx2;
    }
#else
    (void)features;
#endif
    return &vt_f32_winograd__portable;
}

void vt_winograd_weight_matrix(int64_t m, double ret_g[VT_WINOGRAD_EDGE_MAX][3])
{
    static const float pairs[3][3] = {{1},
                                      {VT_WINOGRAD_4_P, VT_WINOGRAD_4_Q},
                                      {VT_WINOGRAD_6_P, VT_WINOGRAD_6_Q, VT_WINOGRAD_6_R}};
    double point[VT_WINOGRAD_EDGE_MAX] = {0};
    const int64_t points = m + 1;
    for (int64_t i = 1; i < points; i++) {
        point[i] = (double)pairs[m / 2 - 1][(i - 1) / 2] * (i % 2 ? 1 : -1);
    }
    for (int64_t i = 0; i < points; i++) {
        double divisor = 1;
        for (int64_t j = 0; j < points; j++) {
            divisor *= j != i ? point[i] - point[j] : 1;
        }
        ret_g[i][0] = 1 / divisor;
        ret_g[i][1] = point[i] / divisor;
        ret_g[i][2] = point[i] * point[i] / divisor;
    }
    ret_g[points][0] = ret_g[points][1] = 0;
    ret_g[points][2] = 1;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* How the work is cut. */
struct partition {
    const struct vt_winograd_kernel *kernel;
    int64_t m, edge, planes, taps;
    int64_t ins, outs, panels;              /* of a group; panels of nr output channels */
    int64_t tiles_x, slice_tiles;           /* in a row and in a slice of the output */
    int64_t sequences;                      /* that are cut into blocks of tiles each */
    int64_t positions, block, blocks;       /* tiles of a sequence, cut evenly */
    int64_t slices, range, ranges;          /* of the output, where the kernel has a depth */
    int64_t part, parts;                    /* panels of an item */
    int64_t chunk;                          /* panels whose M is held */
    int64_t v_row, v_plane, m_row, m_plane; /* floats */
};

static int64_t l2_bytes(void)
{
    const size_t known = vt_topology()->l2_bytes;
    return known != 0 ? (int64_t)known : L2_BYTES;
}

/* Blocks whose V and M take a quarter of the second-level cache, beside weights, input and output;
 * but not so small that the weights would have to come too often. */
static void cut_for_cache(struct partition *p)
{
    const int64_t mr = p->kernel->mr, nr = p->kernel->nr;
    p->ranges = div_up(p->slices, RANGE);
    p->range = div_up(p->slices, p->ranges);
    p->chunk = min_i64(p->panels, max_i64(1, CHUNK / nr));
    const int64_t v = (p->range + p->taps - 1) * p->v_row, m = p->range * p->chunk * nr;
    const int64_t rows_min = p->taps == 1 ? ROWS_MIN : ROWS_MIN_DEPTH;
    int64_t block = l2_bytes() / 4 / (int64_t)sizeof(float) / (p->planes * (v + m));
    block = max_i64(block, div_up(rows_min, p->range));
    if (p->range == 1) {
        block = block / mr * mr;
    }
    p->blocks = div_up(p->positions, block);
}

/* Cuts further until every thread gets some items. Cutting output channels comes last, since each
 * part transforms the same tiles again. */
static void cut_for_threads(struct partition *p, int64_t groups, uint32_t threads)
{
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;
    const int64_t mr = p->kernel->mr, part_min = max_i64(1, PART_MIN / p->kernel->nr);
    p->parts = 1;
    for (;;) {
        const int64_t items = groups * p->parts * p->sequences * p->ranges * p->blocks;
        const int64_t block = div_up(p->positions, p->blocks);
        if (items >= wanted) {
            break;
        }
        if (block > 1 && block * p->range >= 4 * mr) {
            p->blocks *= 2;
        } else if (p->range >= 8 && block * p->range >= 4 * mr) {
            p->ranges *= 2;
            p->range = div_up(p->slices, p->ranges);
        } else if (items < wanted / 2 && p->panels >= 2 * p->parts * part_min) {
            p->parts *= 2;
        } else {
            break;
        }
    }
    p->block = div_up(p->positions, p->blocks);
    p->blocks = div_up(p->positions, p->block);
    p->ranges = div_up(p->slices, p->range);
    p->part = div_up(p->panels, p->parts);
    p->parts = div_up(p->panels, p->part);
    p->chunk = min_i64(p->chunk, p->part);
}

static void partition_init(struct partition *p, const struct vt_conv *conv, uint32_t threads)
{
    memset(p, 0, sizeof(*p));
    p->kernel = vt_winograd_kernel_find(conv->features);
    const int64_t lanes = p->kernel->lanes, nr = p->kernel->nr;
    p->m = conv->tile;
    p->edge = p->m + 2;
    p->planes = p->edge * p->edge;
    p->taps = conv->kernel[0];
    p->ins = conv->in_channels / conv->groups;
    p->outs = conv->out_channels / conv->groups;
    p->panels = div_up(p->outs, nr);
    p->tiles_x = div_up(conv->out[2], p->m);
    p->slice_tiles = p->tiles_x * div_up(conv->out[1], p->m);
    if (p->taps == 1) { /* slices have nothing in common: all their tiles are one sequence */
        p->sequences = p->slices = 1;
        p->positions = conv->batch * conv->out[0] * p->slice_tiles;
    } else {
        p->sequences = conv->batch;
        p->slices = conv->out[0];
        p->positions = p->slice_tiles;
    }
    p->v_row = div_up(p->ins, lanes) * lanes;
    cut_for_cache(p);
    cut_for_threads(p, conv->groups, threads);
    p->m_row = p->chunk * nr;
    p->v_plane = (p->range + p->taps - 1) * p->block * p->v_row + SKEW;
    p->m_plane = p->range * p->block * p->m_row + SKEW;
}

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    struct partition part;
    const float *zeros;                                          /* of all of an image's channels */
    float *workspace;                                            /* V and M of each worker */
    int64_t offset[VT_WINOGRAD_EDGE_MAX * VT_WINOGRAD_EDGE_MAX]; /* of a tile's pixels */
};

/* What an item is about. */
struct item {
    int64_t group, sequence;
    int64_t panel0, panel1;
    int64_t position0, tiles; /* of the block */
    int64_t z0, slices;       /* of the output, where the kernel has a depth */
    float *v, *m;
};

/* Where tile `t` of an item's block lies: image, slice of the output, first row and column. */
struct place {
    int64_t image, z, y, x;
};

static struct place place_of(const struct job *job, const struct item *item, int64_t t, int64_t z)
{
    const struct partition *p = &job->part;
    const int64_t at = item->position0 + t, tile = at % p->slice_tiles;
    struct place place = {item->sequence, z, tile / p->tiles_x * p->m, tile % p->tiles_x * p->m};
    if (p->taps == 1) {
        place.image = at / p->slice_tiles / job->conv->out[0];
        place.z = at / p->slice_tiles % job->conv->out[0];
    }
    return place;
}

/* Transforms the tile of the input that slice z of the output meets with its kernel's first tap;
 * it stands behind the last slice where it is what later taps meet. */
static void input_tile(const struct job *job, const struct item *item, int64_t t, int64_t z,
                       struct vt_winograd_input *in)
{
    const struct vt_conv *conv = job->conv;
    const struct partition *p = &job->part;
    const struct place at = place_of(job, item, t, z);
    const int64_t pixel_stride = conv->in_channels, row_stride = conv->in[2] * pixel_stride;
    const int64_t zi = at.z - conv->pad[0], y0 = at.y - conv->pad[1], x0 = at.x - conv->pad[2];
    const bool slice = zi >= 0 && zi < conv->in[0];
    const float *image = job->data->input + item->group * p->ins +
                         (at.image * conv->in[0] + (slice ? zi : 0)) * conv->in[1] * row_stride;
    if (slice && y0 >= 0 && x0 >= 0 && y0 + p->edge <= conv->in[1] && x0 + p->edge <= conv->in[2]) {
        in->image = image + y0 * row_stride + x0 * pixel_stride;
    } else {
        in->image = NULL;
        for (int64_t i = 0; i < p->edge; i++) {
            const int64_t y = y0 + i;
            const bool row = slice && y >= 0 && y < conv->in[1];
            for (int64_t j = 0; j < p->edge; j++) {
                const int64_t x = x0 + j;
                in->pixels[i * p->edge + j] = row && x >= 0 && x < conv->in[2]
                                                  ? image + y * row_stride + x * pixel_stride
                                                  : job->zeros;
            }
        }
    }
    p->kernel->input[p->m / 2 - 1](in);
}

/* All of an item's V. */
static void input_tiles(const struct job *job, const struct item *item)
{
    const struct partition *p = &job->part;
    struct vt_winograd_input in;
    in.offset = job->offset;
    in.channels = p->ins;
    in.v_stride = p->v_plane;
    in.v = item->v;
    for (int64_t i = 0; i < item->slices + p->taps - 1; i++) {
        for (int64_t t = 0; t < item->tiles; t++) {
            input_tile(job, item, t, item->z0 + i, &in);
            in.v += p->v_row;
        }
    }
}

/* M of panels [panel0, panel1). Later taps read V from a later slice on. */
static void products(const struct job *job, const struct item *item, int64_t panel0, int64_t panel1)
{
    const struct partition *p = &job->part;
    const int64_t nr = p->kernel->nr, panel_floats = p->taps * p->ins * nr;
    const int64_t rows = item->slices * item->tiles, groups = div_up(rows, p->kernel->mr);
    const float *weights = job->data->packed + item->group * job->conv->group_floats;
    struct vt_winograd_product product = {
        .k = p->ins, .taps = p->taps, .lda = p->v_row, .ldc = p->m_row};
    product.next_step = div_up(nr, min_i64(groups, 8));
    for (int64_t xi = 0; xi < p->planes; xi++) {
        for (int64_t panel = panel0; panel < panel1; panel++) {
            product.b = weights + (xi * p->panels + panel) * panel_floats;
            /* While a panel of weights is used, the next one is fetched, a part by each group of
             * rows. Behind the last one there is nothing: it is asked for itself again. */
            product.next = panel + 1 < panel1 ? product.b + panel_floats
                           : xi + 1 < p->planes
                               ? weights + ((xi + 1) * p->panels + panel0) * panel_floats
                               : product.b;
            int64_t row = 0;
            for (int64_t g = 0; g < groups; g++) {
                const int64_t n = div_up(rows - row, groups - g);
                for (int64_t tap = 0; tap < p->taps; tap++) {
                    product.a[tap] =
                        item->v + xi * p->v_plane + (tap * item->tiles + row) * p->v_row;
                }
                product.c = item->m + xi * p->m_plane + row * p->m_row + (panel - panel0) * nr;
                p->kernel->product(&product, (uint32_t)n);
                product.next += p->taps * p->ins * product.next_step;
                row += n;
            }
        }
    }
}

/* Transforms M of panels [panel0, panel1) back. */
static void output_tiles(const struct job *job, const struct item *item, int64_t panel0,
                         int64_t panel1)
{
    const struct vt_conv *conv = job->conv;
    const struct partition *p = &job->part;
    const int64_t nr = p->kernel->nr, first = item->group * p->outs + panel0 * nr;
    struct vt_winograd_output out = {.m_stride = p->m_plane,
                                     .row_stride = conv->out[2] * conv->out_channels,
                                     .pixel_stride = conv->out_channels,
                                     .channels = min_i64(p->outs, panel1 * nr) - panel0 * nr,
                                     .finish = &conv->finish};
    out.bias = job->data->bias != NULL ? job->data->bias + first : NULL;
    for (int64_t row = 0; row < item->slices * item->tiles; row++) {
        const struct place at =
            place_of(job, item, row % item->tiles, item->z0 + row / item->tiles);
        const int64_t offset =
            ((at.image * conv->out[0] + at.z) * conv->out[1] + at.y) * out.row_stride +
            at.x * out.pixel_stride + first;
        out.m = item->m + row * p->m_row;
        out.rows = min_i64(p->m, conv->out[1] - at.y);
        out.cols = min_i64(p->m, conv->out[2] - at.x);
        out.out = job->data->output + offset;
        out.residual = job->data->residual != NULL ? job->data->residual + offset : NULL;
        p->kernel->output[p->m / 2 - 1](&out);
    }
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct partition *p = &job->part;
    struct item item;
    item.v = job->workspace + (int64_t)worker * p->planes * (p->v_plane + p->m_plane);
    item.m = item.v + p->planes * p->v_plane;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i;
        const int64_t block = rest % p->blocks;
        rest /= p->blocks;
        const int64_t range = rest % p->ranges;
        rest /= p->ranges;
        item.sequence = rest % p->sequences;
        rest /= p->sequences;
        item.panel0 = rest % p->parts * p->part;
        item.panel1 = min_i64(item.panel0 + p->part, p->panels);
        item.group = rest / p->parts;
        item.position0 = block * p->block;
        item.tiles = min_i64(p->block, p->positions - item.position0);
        item.z0 = range * p->range;
        item.slices = min_i64(p->range, p->slices - item.z0);
        input_tiles(job, &item);
        for (int64_t panel = item.panel0; panel < item.panel1; panel += p->chunk) {
            const int64_t chunk_end = min_i64(panel + p->chunk, item.panel1);
            products(job, &item, panel, chunk_end);
            output_tiles(job, &item, panel, chunk_end);
        }
    }
}

/* Floats of zeros that stand for a pixel outside, in whole cache lines. */
static int64_t zero_floats(const struct partition *p)
{
    return div_up(p->ins, 16) * 16;
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {.conv = conv, .data = data, .zeros = workspace};
    partition_init(&job.part, conv, vt_pool_threads(pool));
    const struct partition *p = &job.part;
    memset(workspace, 0, (size_t)zero_floats(p) * sizeof(float));
    job.workspace = (float *)workspace + zero_floats(p);
    for (int64_t i = 0; i < p->planes; i++) {
        job.offset[i] = (i / p->edge * conv->in[2] + i % p->edge) * conv->in_channels;
    }
    vt_pool_run(pool, conv->groups * p->parts * p->sequences * p->ranges * p->blocks, 1, run_items,
                &job);
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct partition p;
    partition_init(&p, conv, threads);
    return (size_t)(zero_floats(&p) + threads * p.planes * (p.v_plane + p.m_plane)) * sizeof(float);
}

static bool is_possible(const struct vt_conv *conv)
{
    if (!conv->channels_last || conv->transposed || conv->kernel[1] != 3 || conv->kernel[2] != 3 ||
        (conv->kernel[0] != 1 && conv->kernel[0] != 3)) {
        return false;
    }
    for (int i = 0; i < VT_CONV_DIMS; i++) {
        if (conv->stride[i] != 1 || conv->dilation[i] != 1) {
            return false;
        }
    }
    return conv->batch > 0 && conv->in_channels > 0 && conv->out_channels > 0 &&
           conv_volume(conv->out) > 0;
}

/*
 * The rule by which F(2,3), F(4,3), F(6,3) or none of them is chosen: an estimate of the cycles of
 * one core, in double because it need not be exact.
 *
 *  - The product takes a multiply-add a lane in each of two units, and as many cycles as STEPS
 * steps of k for every tile of it.
 *  - Weights that do not fit the second-level cache pass by for every block, at WEIGHT_BYTES a
 *    cycle; the product waits if that takes longer.
 *  - The transforms take TRANSFORM cycles a vector of V or M, those of F(6,3) half as many again.
 *  - The product over rows that Winograd has to beat reaches three quarters of its peak, and takes
 * a cycle to pack an element of a patch.
 *  - F(6,3) loses two bits more to rounding: it has to be a tenth faster.
 *
 * Measured on a Xeon with AVX-512 and 2 MB of second-level cache: F(2,3) for 512 channels of 7x7 at
 * batch 1, F(6,3) for maps from about 60x60 on, F(4,3) in between.
 */
#define STEPS        8
#define WEIGHT_BYTES 8
#define TRANSFORM    5
/* Input channels of a group: other ways are made for smaller ones. */
#define GROUP_MIN 16

static double winograd_cycles(const struct vt_conv *conv, int64_t m)
{
    struct vt_conv with = *conv;
    struct partition p;
    with.tile = m;
    partition_init(&p, &with, 1);
    const double lanes = p.kernel->lanes, nr = p.kernel->nr;
    const double groups = (double)conv->groups, panels = (double)p.panels;
    const double slices = p.taps == 1 ? 1 : (double)p.slices;
    const double rows = (double)p.positions * (double)p.sequences * slices * groups;
    const double steps = (double)(p.ins * p.taps), planes = (double)p.planes;
    const double product = rows * planes * panels * nr * (steps + STEPS) / (2 * lanes);
    const double bytes = planes * steps * panels * nr * (double)sizeof(float);
    const double passes = groups * (double)(p.blocks * p.sequences * p.ranges);
    const double weights = bytes > (double)l2_bytes() / 2 ? passes * bytes / WEIGHT_BYTES : 0;
    const double vectors = rows * planes * ((double)p.v_row + panels * nr) / lanes;
    const double cycles =
        (product > weights ? product : weights) + vectors * (m == 6 ? 1.5 * TRANSFORM : TRANSFORM);
    return m == 6 ? 1.1 * cycles : cycles;
}

static double rows_cycles(const struct vt_conv *conv)
{
    const struct vt_winograd_kernel *kernel = vt_winograd_kernel_find(conv->features);
    const int64_t nr = kernel->nr, outs = div_up(conv->out_channels / conv->groups, nr) * nr;
    const double outputs =
        (double)conv->batch * (double)conv_volume(conv->out) * (double)conv->groups;
    const double product = (double)(outs * (conv_depth(conv) + STEPS)) / (2.0 * kernel->lanes);
    return outputs * (product / 0.75 + (double)conv_depth(conv));
}

/* 2, 4 or 6; 0 where the convolution is none for this way or another is faster. */
static int64_t choose_tile(const struct vt_conv *conv)
{
    int64_t tile = 0;
    if (!is_possible(conv) || (conv->groups > 1 && conv->in_channels / conv->groups < GROUP_MIN)) {
        return 0;
    }
    double least = rows_cycles(conv);
    for (int64_t m = 2; m <= 6; m += 2) {
        const double cycles = winograd_cycles(conv, m);
        if (cycles < least) {
            least = cycles;
            tile = m;
        }
    }
    return tile;
}

static bool fits(const struct vt_conv *conv)
{
    return choose_tile(conv) != 0;
}

static void init(struct vt_conv *conv)
{
    const int64_t nr = vt_winograd_kernel_find(conv->features)->nr;
    if (conv->tile == 0) { /* else somebody has measured */
        conv->tile = choose_tile(conv);
    }
    conv->group_floats = (conv->tile + 2) * (conv->tile + 2) * conv->kernel[0] *
                         (conv->in_channels / conv->groups) *
                         div_up(conv->out_channels / conv->groups, nr) * nr;
}

/* U[panel] of one 3x3 filter: its (m + 2)² values are `stride` apart. */
static void pack_filter(const double g[VT_WINOGRAD_EDGE_MAX][3], int64_t edge, const float *filter,
                        double scale, int64_t stride, float *ret)
{
    double rows[VT_WINOGRAD_EDGE_MAX][3];
    for (int64_t i = 0; i < edge; i++) {
        for (int j = 0; j < 3; j++) {
            rows[i][j] = g[i][0] * (double)filter[j] + g[i][1] * (double)filter[3 + j] +
                         g[i][2] * (double)filter[6 + j];
        }
    }
    for (int64_t i = 0; i < edge; i++) {
        for (int64_t j = 0; j < edge; j++) {
            ret[(i * edge + j) * stride] =
                (float)((rows[i][0] * g[j][0] + rows[i][1] * g[j][1] + rows[i][2] * g[j][2]) *
                        scale);
        }
    }
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t edge = conv->tile + 2, taps = conv->kernel[0];
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t nr = vt_winograd_kernel_find(conv->features)->nr, panels = div_up(outs, nr);
    const int64_t plane = panels * taps * ins * nr;
    double g[VT_WINOGRAD_EDGE_MAX][3];
    vt_winograd_weight_matrix(conv->tile, g);
    if (outs % nr != 0) {
        memset(ret_packed, 0, vt_conv_packed_floats(conv) * sizeof(float));
    }
    for (int64_t channel = 0; channel < conv->out_channels; channel++) {
        const int64_t group = channel / outs, o = channel % outs;
        const double scale = channel_scale != NULL ? (double)channel_scale[channel] : 1;
        for (int64_t c = 0; c < ins; c++) {
            for (int64_t tap = 0; tap < taps; tap++) {
                float *to = ret_packed + group * conv->group_floats +
                            ((o / nr * taps + tap) * ins + c) * nr + o % nr;
                pack_filter(g, edge, weights + ((channel * ins + c) * taps + tap) * 9, scale, plane,
                            to);
            }
        }
    }
}

const struct vt_conv_way vt_conv_way_winograd = {"winograd",
                                                 false,
                                                 fits,
                                                 init,
                                                 pack,
                                                 workspace_bytes,
                                                 run,
                                                 .can = is_possible,
                                                 .over_residual = true,
                                                 .tiles = {2, 4, 6}};
