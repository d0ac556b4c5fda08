/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RetinaNet (Lin et al., 2017) over ResNeXt50-32x4d with a feature pyramid: 37.1 M parameters,
 * 402 GFLOP an image of 800x800 with 264 classes.
 *
 * Everything up to the detections is in the graph: in each level of the pyramid the scores above a
 * threshold, at most 1,000 of them, their boxes from anchors and regression; then non-maximum
 * suppression within each class over all levels.
 */
#include <math.h>

#include "zoo/networks.h"
#include "zoo/resnet.h"

enum {
    IMAGE,
    CHANNELS,
    GROUPS,
    BLOCKS1,
    BLOCKS2,
    BLOCKS3,
    BLOCKS4,
    PYRAMID,
    CLASSES,
    SPREAD,
    TOP,
    KEEP
};

static const struct vt_zoo_parameter parameters[] = {
    [IMAGE] = {"image", 800, 128, 64, 4096, "height and width of an image"},
    [CHANNELS] = {"channels", 64, 16, 4, 512, "of the first convolution; later ones follow"},
    [GROUPS] = {"groups", 32, 8, 1, 512, "of the 3x3 convolutions of the backbone"},
    [BLOCKS1] = {"blocks1", 3, 1, 1, 64, "bottlenecks in the first stage"},
    [BLOCKS2] = {"blocks2", 4, 1, 1, 64, "in the second"},
    [BLOCKS3] = {"blocks3", 6, 1, 1, 64, "in the third"},
    [BLOCKS4] = {"blocks4", 3, 1, 1, 64, "in the fourth"},
    [PYRAMID] = {"pyramid", 256, 32, 8, 2048, "channels of the pyramid and the heads"},
    [CLASSES] = {"classes", 264, 16, 1, 10000, "of objects"},
    [SPREAD] = {"spread", 45, 110, 1, 1000,
                "deviation of a score before its sigmoid, in hundredths: more spread, more boxes"},
    [TOP] = {"top", 1000, 100, 1, 100000, "candidates that a level keeps"},
    [KEEP] = {"keep", 300, 50, 1, 100000, "detections of an image at most"},
};

#define LEVELS         5
#define FIRST_LEVEL    3 /* P3, at 1/8 */
#define ANCHORS        9 /* three shapes in three sizes at each place */
#define HEAD_DEPTH     4
#define SCORE_LEAST    0.05F
#define OVERLAP_MOST   0.5F
#define LOG_SCALE_MOST 4.135166556742356F /* log(1000 / 16): a box grows by so much at most */
/* log((1 - p) / p) for p = 0.01, the score that everything starts from. */
#define SCORE_BIAS  (-4.59511985013459)
#define SHIFT_POWER 0.05

/* The side of an anchor for each level and size: 32 … 512 times 1, 2^(1/3), 2^(2/3), cut. */
static const int64_t sides[LEVELS][3] = {
    {32, 40, 50}, {64, 80, 101}, {128, 161, 203}, {256, 322, 406}, {512, 645, 812}};

struct level {
    int number;   /* 3 … 7 */
    int64_t grid; /* height and width */
    int64_t image;
};

/* Centres and sizes of the anchors in the order place, shape, size. */
static void fill_anchors(const struct level *level, float *centres, float *sizes)
{
    const int64_t stride = level->image / level->grid;
    size_t n = 0;

    for (int64_t y = 0; y < level->grid; y++) {
        for (int64_t x = 0; x < level->grid; x++) {
            for (int a = 0; a < ANCHORS; a++) {
                const double ratios[] = {0.5, 1, 2};
                double side = (double)sides[level->number - FIRST_LEVEL][a % 3];
                double tall = sqrt(ratios[a / 3]);
                centres[2 * n] = (float)(x * stride);
                centres[2 * n + 1] = (float)(y * stride);
                /* Corners lie on whole pixels. */
                sizes[2 * n] = (float)(2 * rint(side / tall / 2));
                sizes[2 * n + 1] = (float)(2 * rint(side * tall / 2));
                n++;
            }
        }
    }
}

static void write_anchors(struct vt_net *net, const struct level *level, const char *centre,
                          const char *size)
{
    const int64_t n = level->grid * level->grid * ANCHORS;
    float *centres = vt_calloc((size_t)n, 2 * sizeof *centres);
    float *sizes = vt_calloc((size_t)n, 2 * sizeof *sizes);

    if (centres == NULL || sizes == NULL) {
        net->failed = true;
    } else {
        fill_anchors(level, centres, sizes);
        vt_net_floats(net, centre, VT_NET_DIMS(n, 2), centres);
        vt_net_floats(net, size, VT_NET_DIMS(n, 2), sizes);
    }
    vt_free(centres);
    vt_free(sizes);
}

/* --- pyramid and heads -------------------------------------------------------------------------
 */

static struct vt_net_value pyramid_conv(struct vt_net *net, struct vt_net_value x, const char *name,
                                        int64_t in, int64_t kernel, int64_t stride)
{
    return vt_net_conv(net, x, name,
                       &(struct vt_net_conv){2, .in = in, .out = net->spec->values[PYRAMID],
                                             .kernel = kernel, .stride = stride, .bias = true});
}

static void build_pyramid(struct vt_net *net, const struct vt_resnet *resnet,
                          const struct vt_net_value *stages, struct vt_net_value *ret_levels)
{
    struct vt_net_value inner[3];
    const int64_t channels = net->spec->values[PYRAMID];

    vt_net_floats(net, "fpn.scales", VT_NET_DIMS(4), (const float[]){1, 1, 2, 2});
    for (int i = 2; i >= 0; i--) {
        inner[i] = pyramid_conv(net, stages[i + 1], vt_net_name(net, "fpn.inner%d", i + 3),
                                vt_resnet_channels(resnet, i + 1), 1, 1);
        if (i < 2) {
            const char *up = vt_net_name(net, "fpn.up%d", i + 3);
            vt_net_begin(net, "Resize", up, VT_NET_INPUTS(inner[i + 1].name, "", "fpn.scales"));
            vt_write_attr_text(net->writer, "mode", "nearest");
            vt_write_attr_text(net->writer, "coordinate_transformation_mode", "asymmetric");
            vt_write_attr_text(net->writer, "nearest_mode", "floor");
            vt_net_end(net);
            inner[i] = vt_net_add(net, inner[i], (struct vt_net_value){up, inner[i + 1].power},
                                  vt_net_name(net, "fpn.sum%d", i + 3));
        }
        ret_levels[i] =
            pyramid_conv(net, inner[i], vt_net_name(net, "fpn.p%d", i + 3), channels, 3, 1);
    }
    ret_levels[3] = pyramid_conv(net, ret_levels[2], "fpn.p6", channels, 3, 2);
    struct vt_net_value p6 = vt_net_relu(net, ret_levels[3], "fpn.p6.relu");
    ret_levels[4] = pyramid_conv(net, p6, "fpn.p7", channels, 3, 2);
}

/*
 * The weights of a head serve all levels: written with the first one, they are referred to by
 * name afterwards.
 */
static struct vt_net_value head_conv(struct vt_net *net, struct vt_net_value x, const char *name,
                                     const char *weights, bool first, int64_t out, double power,
                                     double bias)
{
    const int64_t in = net->spec->values[PYRAMID];
    const char *weight = vt_net_name(net, "%s.weight", weights);
    const char *shift = vt_net_name(net, "%s.bias", weights);

    if (first) {
        vt_net_normal(net, weight, VT_NET_DIMS(out, in, 3, 3), 0,
                      sqrt(power / ((double)(in * 9) * x.power)));
        vt_net_normal(net, shift, VT_NET_DIMS(out), bias, 0.02);
    }
    vt_net_begin(net, "Conv", name, VT_NET_INPUTS(x.name, weight, shift));
    vt_write_attr_ints(net->writer, "kernel_shape", (int64_t[]){3, 3}, 2);
    vt_write_attr_ints(net->writer, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

/* Head "cls" or "box" of a level: [places * ANCHORS, numbers] of `numbers` an anchor. */
static struct vt_net_value build_head(struct vt_net *net, struct vt_net_value x,
                                      const struct level *level, const char *head, int64_t numbers,
                                      double power, double bias)
{
    const bool first = level->number == FIRST_LEVEL;
    const int64_t grid = level->grid, width = net->spec->values[PYRAMID];

    for (int i = 0; i < HEAD_DEPTH; i++) {
        x = head_conv(net, x, vt_net_name(net, "%s%d.conv%d", head, level->number, i),
                      vt_net_name(net, "%s.conv%d", head, i), first, width, 1, 0);
        x = vt_net_relu(net, x, vt_net_name(net, "%s%d.relu%d", head, level->number, i));
    }
    x = head_conv(net, x, vt_net_name(net, "%s%d.out", head, level->number),
                  vt_net_name(net, "%s.out", head), first, ANCHORS * numbers, power, bias);
    x = vt_net_reshape(net, x, vt_net_name(net, "%s%d.view", head, level->number), 5,
                       (int64_t[]){1, ANCHORS, numbers, grid, grid});
    x = vt_net_transpose(net, x, vt_net_name(net, "%s%d.permute", head, level->number), 5,
                         (int64_t[]){0, 3, 4, 1, 2});
    return vt_net_reshape(net, x, vt_net_name(net, "%s%d.rows", head, level->number), 2,
                          (int64_t[]){-1, numbers});
}

/* --- detections --------------------------------------------------------------------------------
 */

/* Columns [from, from + 2) of [rows, 4]. */
static const char *columns(struct vt_net *net, const char *x, const char *name, const char *from,
                           const char *to)
{
    return vt_net_node(net, "Slice", name, VT_NET_INPUTS(x, from, to, "one"));
}

/* The corners of the boxes of the chosen anchors: [rows, 4], cut at the image's edge. */
static const char *decode(struct vt_net *net, const struct level *level, const char *shifts,
                          const char *anchor)
{
    const int p = level->number;
#define NAME(text) vt_net_name(net, "det%d." text, p)
    const char *centres = NAME("centres"), *sizes = NAME("sizes");

    write_anchors(net, level, centres, sizes);
    const char *shift = vt_net_gather(net, shifts, anchor, NAME("shift"), 0, 1).name;
    const char *centre = vt_net_gather(net, centres, anchor, NAME("centre"), 0, 1).name;
    const char *size = vt_net_gather(net, sizes, anchor, NAME("size"), 0, 1).name;
    const char *move = columns(net, shift, NAME("move"), "zero", "two");
    const char *grow = columns(net, shift, NAME("grow"), "two", "four");
    move = vt_net_node(net, "Mul", NAME("moved"), VT_NET_INPUTS(move, size));
    move = vt_net_node(net, "Add", NAME("middle"), VT_NET_INPUTS(move, centre));
    grow = vt_net_node(net, "Min", NAME("bounded"), VT_NET_INPUTS(grow, "log_scale_most"));
    grow = vt_net_node(net, "Exp", NAME("factor"), VT_NET_INPUTS(grow));
    grow = vt_net_node(net, "Mul", NAME("extent"), VT_NET_INPUTS(grow, size));
    grow = vt_net_node(net, "Mul", NAME("half"), VT_NET_INPUTS(grow, "half"));
    const char *low = vt_net_node(net, "Sub", NAME("low"), VT_NET_INPUTS(move, grow));
    const char *high = vt_net_node(net, "Add", NAME("high"), VT_NET_INPUTS(move, grow));
    const char *corners = vt_net_concat(net, NAME("corners"), 1, 1, VT_NET_INPUTS(low, high)).name;
    return vt_net_node(net, "Clip", NAME("boxes"), VT_NET_INPUTS(corners, "edge0", "edge1"));
}

struct candidates {
    const char *boxes[LEVELS + 1], *scores[LEVELS + 1], *labels[LEVELS + 1];
};

/* The best candidates of a level. */
static void choose(struct vt_net *net, const struct level *level, const char *logits,
                   const char *shifts, struct candidates *candidates)
{
    const int p = level->number, i = p - FIRST_LEVEL;
    const char *score = vt_net_node(net, "Sigmoid", NAME("sigmoid"), VT_NET_INPUTS(logits));

    score = vt_net_node(net, "Reshape", NAME("flat"), VT_NET_INPUTS(score, "all"));
    const char *above = vt_net_node(net, "Greater", NAME("above"), VT_NET_INPUTS(score, "least"));
    const char *where = vt_net_node(net, "NonZero", NAME("nonzero"), VT_NET_INPUTS(above));
    where = vt_net_node(net, "Squeeze", NAME("where"), VT_NET_INPUTS(where, "zero"));
    score = vt_net_gather(net, score, where, NAME("score"), 0, 1).name;
    const char *count = vt_net_node(net, "Shape", NAME("count"), VT_NET_INPUTS(score));
    count = vt_net_node(net, "Min", NAME("k"), VT_NET_INPUTS(count, "top"));
    const char *order = NAME("order");
    candidates->scores[i] = NAME("best");
    vt_net_begin(net, "TopK", candidates->scores[i], VT_NET_INPUTS(score, count));
    vt_write_node_output(net->writer, order);
    vt_write_attr_int(net->writer, "axis", 0);
    vt_net_end(net);
    const char *place = vt_net_gather(net, where, order, NAME("place"), 0, 1).name;
    const char *anchor = vt_net_node(net, "Div", NAME("anchor"), VT_NET_INPUTS(place, "classes"));
    candidates->labels[i] = vt_net_node(net, "Mod", NAME("label"), VT_NET_INPUTS(place, "classes"));
    candidates->boxes[i] = decode(net, level, shifts, anchor);
#undef NAME
}

static void write_detection_constants(struct vt_net *net)
{
    const int64_t *v = net->spec->values;

    vt_net_ints(net, "zero", 1, (int64_t[]){0});
    vt_net_ints(net, "one", 1, (int64_t[]){1});
    vt_net_ints(net, "two", 1, (int64_t[]){2});
    vt_net_ints(net, "four", 1, (int64_t[]){4});
    vt_net_ints(net, "all", 1, (int64_t[]){-1});
    vt_net_ints(net, "zero_one", 2, (int64_t[]){0, 1});
    vt_net_ints(net, "top", 1, &v[TOP]);
    vt_net_ints(net, "keep", 1, &v[KEEP]);
    vt_net_ints(net, "classes", 1, &v[CLASSES]);
    vt_net_ints(net, "no_limit", 1, (int64_t[]){INT64_MAX});
    vt_net_scalar(net, "least", SCORE_LEAST);
    vt_net_scalar(net, "half", 0.5F);
    vt_net_scalar(net, "log_scale_most", LOG_SCALE_MOST);
    vt_net_scalar(net, "edge0", 0);
    vt_net_scalar(net, "edge1", (float)v[IMAGE]);
    vt_net_scalar(net, "class_distance", (float)(v[IMAGE] + 1));
    vt_net_floats(net, "overlap", VT_NET_DIMS(1), (const float[]){OVERLAP_MOST});
}

/* Boxes of different classes are moved apart so that they never overlap; then one suppression
 * serves all classes. */
static void suppress(struct vt_net *net, struct candidates *candidates)
{
    const char *boxes = vt_net_concat(net, "nms.boxes", 0, 1, candidates->boxes).name;
    const char *scores = vt_net_concat(net, "nms.scores", 0, 1, candidates->scores).name;
    const char *labels = vt_net_concat(net, "nms.labels", 0, 1, candidates->labels).name;

    vt_net_begin(net, "Cast", "nms.class", VT_NET_INPUTS(labels));
    vt_write_attr_int(net->writer, "to", VT_F32);
    vt_net_end(net);
    vt_net_node(net, "Mul", "nms.offset", VT_NET_INPUTS("nms.class", "class_distance"));
    vt_net_node(net, "Unsqueeze", "nms.column", VT_NET_INPUTS("nms.offset", "one"));
    vt_net_node(net, "Add", "nms.apart", VT_NET_INPUTS(boxes, "nms.column"));
    vt_net_node(net, "Unsqueeze", "nms.boxes3", VT_NET_INPUTS("nms.apart", "zero"));
    vt_net_node(net, "Unsqueeze", "nms.scores3", VT_NET_INPUTS(scores, "zero_one"));
    vt_net_node(net, "NonMaxSuppression", "nms.selected",
                VT_NET_INPUTS("nms.boxes3", "nms.scores3", "no_limit", "overlap"));
    vt_net_gather(net, "nms.selected", "two", "nms.index", 1, 1);
    vt_net_node(net, "Squeeze", "nms.list", VT_NET_INPUTS("nms.index", "one"));
    vt_net_node(net, "Slice", "nms.kept", VT_NET_INPUTS("nms.list", "zero", "keep"));
    vt_net_gather(net, boxes, "nms.kept", "boxes", 0, 1);
    vt_net_gather(net, scores, "nms.kept", "scores", 0, 1);
    vt_net_gather(net, labels, "nms.kept", "labels", 0, 1);
    vt_net_output(net, "boxes", VT_F32, VT_NET_DIMS(-1, 4), "detections");
    vt_net_output(net, "scores", VT_F32, VT_NET_DIMS(-1), "detections");
    vt_net_output(net, "labels", VT_I64, VT_NET_DIMS(-1), "detections");
}

/* Pixels in 0..1 to the mean and deviation of ImageNet's. */
static struct vt_net_value normalise(struct vt_net *net, struct vt_net_value x)
{
    vt_net_floats(net, "pixel.mean", VT_NET_DIMS(1, 3, 1, 1),
                  (const float[]){0.485F, 0.456F, 0.406F});
    vt_net_floats(net, "pixel.deviation", VT_NET_DIMS(1, 3, 1, 1),
                  (const float[]){0.229F, 0.224F, 0.225F});
    vt_net_node(net, "Sub", "pixel.centred", VT_NET_INPUTS(x.name, "pixel.mean"));
    vt_net_node(net, "Div", "pixel.normal", VT_NET_INPUTS("pixel.centred", "pixel.deviation"));
    return (struct vt_net_value){"pixel.normal", 1.5};
}

static enum vt_status build(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const struct vt_resnet resnet = {
        v[CHANNELS], v[GROUPS], 2, {v[BLOCKS1], v[BLOCKS2], v[BLOCKS3], v[BLOCKS4]}};
    struct vt_net_value stages[VT_RESNET_STAGES], pyramid[LEVELS];
    struct candidates candidates = {0};
    const double spread = (double)v[SPREAD] / 100;

    if (v[IMAGE] % 32 != 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "retinanet: image=%lld, a multiple of 32 is needed, so that the levels "
                            "of the pyramid fit onto each other",
                            (long long)v[IMAGE]);
    }
    if (2 * v[CHANNELS] % v[GROUPS] != 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "retinanet: groups=%lld does not divide the %lld channels of the "
                            "first 3x3 convolution (twice `channels`)",
                            (long long)v[GROUPS], (long long)(2 * v[CHANNELS]));
    }
    write_detection_constants(net);
    struct vt_net_value x =
        vt_net_input(net, "images", VT_F32, VT_NET_DIMS(1, 3, v[IMAGE], v[IMAGE]), 1);
    vt_resnet_build(net, normalise(net, x), &resnet, stages);
    build_pyramid(net, &resnet, stages, pyramid);
    int64_t grid = v[IMAGE] / 8;
    for (int i = 0; i < LEVELS; i++) {
        const struct level level = {FIRST_LEVEL + i, grid, v[IMAGE]};
        const char *logits =
            build_head(net, pyramid[i], &level, "cls", v[CLASSES], spread * spread, SCORE_BIAS)
                .name;
        const char *shifts = build_head(net, pyramid[i], &level, "box", 4, SHIFT_POWER, 0).name;
        choose(net, &level, logits, shifts, &candidates);
        grid = (grid + 1) / 2;
    }
    suppress(net, &candidates);
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_retinanet = {
    .name = "retinanet",
    .benchmark = "retinanet",
    .summary = "RetinaNet, ResNeXt50-32x4d-FPN: images 3x800x800, 264 classes; 37.1 M parameters",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"", build}},
    .n_graphs = 1,
};
