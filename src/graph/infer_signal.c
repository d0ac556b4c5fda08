/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of signal processing: windows, Fourier transforms, the mel scale. What they need to know
 * (a length, a step) comes as inputs.
 */
#include "graph/infer.h"

/* One whole number, from an input that may be omitted. */
struct whole {
    bool given, known;
    int64_t number;
};

static enum vt_status read_whole(const struct vt_infer *infer, uint32_t i, int64_t least,
                                 struct whole *ret)
{
    struct vt_infer_list list;

    enum vt_status status = vt_infer_input_list(infer, i, &list);
    if (status != VT_OK) {
        return status;
    }
    *ret = (struct whole){.given = list.given, .known = list.known};
    if (list.known && list.n != 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u must be one number", i);
    }
    ret->number = list.known ? list.at[0] : 0;
    if (list.known && ret->number < least) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u is %lld, it must be at least %lld", i,
                             (long long)ret->number, (long long)least);
    }
    return VT_OK;
}

/* The element type that an attribute asks for. */
static enum vt_status read_dtype(const struct vt_infer *infer, enum vt_dtype *ret)
{
    int64_t dtype = vt_node_int(infer->node, "output_datatype", VT_F32);

    if (dtype < 1 || dtype > VT_BF16 || (VT_TYPES_NUMBER & VT_TYPE_BIT(dtype)) == 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its output_datatype is no type of numbers");
    }
    *ret = (enum vt_dtype)dtype;
    return VT_OK;
}

enum vt_status vt_infer_window(const struct vt_infer *infer)
{
    struct whole size = {0};
    enum vt_dtype dtype = VT_F32;

    enum vt_status status = read_dtype(infer, &dtype);
    if (status == VT_OK) {
        status = read_whole(infer, 0, 0, &size);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, 1);
    }
    if (status == VT_OK && size.known) {
        vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_of(size.number));
    }
    return status;
}

enum vt_status vt_infer_mel_weights(const struct vt_infer *infer)
{
    struct whole mels = {0}, length = {0}, rate = {0};
    enum vt_dtype dtype = VT_F32;

    enum vt_status status = read_dtype(infer, &dtype);
    if (status == VT_OK) {
        status = read_whole(infer, 0, 1, &mels);
    }
    if (status == VT_OK) {
        status = read_whole(infer, 1, 1, &length);
    }
    if (status == VT_OK) {
        status = read_whole(infer, 2, 1, &rate);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, 2);
    }
    if (status != VT_OK) {
        return status;
    }
    if (length.known) {
        vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_of(length.number / 2 + 1));
    }
    if (mels.known) {
        vt_extent_put(vt_infer_output(infer, 0), 1, vt_extent_of(mels.number));
    }
    return VT_OK;
}

/* Bins of a transform: all, or those up to half the length. */
static struct vt_extent bins_of(const struct vt_infer *infer, int64_t one_sided,
                                struct vt_extent length)
{
    bool half = vt_node_int(infer->node, "onesided", one_sided) != 0;
    return !half || length.dim < 0 ? (half ? vt_extent_unknown(-1) : length)
                                   : vt_extent_of(length.dim / 2 + 1);
}

/* The last dimension holds a real number, or a real and an imaginary part. */
static enum vt_status check_parts(const struct vt_infer *infer, const struct vt_shape_info *x)
{
    int64_t parts = x->dim[x->rank - 1];
    if (parts >= 0 && parts != 1 && parts != 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its last extent is %lld, it must be 1 (real) or 2 (complex)",
                             (long long)parts);
    }
    return VT_OK;
}

enum vt_status vt_infer_dft(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct whole length = {0};
    struct vt_infer_list axis = {.known = true, .n = 1};
    uint32_t at = 0;

    axis.at[0] = vt_node_int(infer->node, "axis", 1);
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = read_whole(infer, 1, 1, &length);
    }
    if (status == VT_OK && infer->node->opset >= 20) {
        axis.at[0] = -2;
        if (vt_infer_input(infer, 2) != NULL) {
            status = vt_infer_input_list(infer, 2, &axis);
        }
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (x->rank < 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs two dimensions, its input has %u",
                             x->rank);
    }
    status = check_parts(infer, x);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (status != VT_OK || !axis.known || axis.n != 1) {
        return status;
    }
    status = vt_infer_axis(infer, axis.at[0], x->rank, &at);
    if (status == VT_OK && at == x->rank - 1) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its axis cannot be the last one");
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_infer_copy(infer, 0, x);
    struct vt_extent points = vt_extent_get(x, at);
    if (length.given) {
        points = length.known ? vt_extent_of(length.number) : vt_extent_unknown(-1);
    }
    bool half = vt_node_int(infer->node, "onesided", 0) != 0;
    if (half && vt_node_int(infer->node, "inverse", 0) != 0) {
        /* The first half of a spectrum becomes real numbers, twice as many but for the ends. */
        if (!length.given) {
            points = points.dim < 1 ? vt_extent_unknown(-1) : vt_extent_of(2 * (points.dim - 1));
        }
        vt_extent_put(out, at, points);
        vt_extent_put(out, x->rank - 1, vt_extent_of(1));
        return VT_OK;
    }
    vt_extent_put(out, at, bins_of(infer, 0, points));
    vt_extent_put(out, x->rank - 1, vt_extent_of(2));
    return VT_OK;
}

/* Points of a frame: the fourth input, or else as many as the window has. */
static enum vt_status frame_length(const struct vt_infer *infer, struct vt_extent *ret)
{
    const struct vt_shape_info *window = vt_infer_input(infer, 2);
    struct whole length = {0};

    *ret = vt_extent_unknown(-1);
    enum vt_status status = read_whole(infer, 3, 1, &length);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 2, 1);
    }
    if (status != VT_OK) {
        return status;
    }
    if (!length.given && window == NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs a window or a frame length");
    }
    if (vt_infer_ranked(window)) {
        *ret = vt_extent_get(window, 0);
    }
    if (length.known) {
        status = vt_infer_same_extent(infer, *ret, vt_extent_of(length.number),
                                      "the lengths of window and frame");
        *ret = vt_extent_of(length.number);
    }
    return status;
}

enum vt_status vt_infer_stft(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct whole step = {0};
    struct vt_extent length;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 3);
    }
    if (status == VT_OK) {
        status = read_whole(infer, 1, 1, &step);
    }
    if (status == VT_OK) {
        status = frame_length(infer, &length);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, 4);
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    status = check_parts(infer, x);
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 0, vt_extent_get(x, 0));
    vt_extent_put(out, 2, bins_of(infer, 1, length));
    vt_extent_put(out, 3, vt_extent_of(2));
    if (step.known && step.number > 0 && length.dim >= 0 && x->dim[1] >= 0) {
        if (length.dim < 1 || length.dim > x->dim[1]) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "a frame has %lld points, the signal %lld",
                                 (long long)length.dim, (long long)x->dim[1]);
        }
        vt_extent_put(out, 1, vt_extent_of((x->dim[1] - length.dim) / step.number + 1));
    }
    return VT_OK;
}
