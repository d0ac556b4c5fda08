/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes that a model takes window by window: a volume larger than the model's input is cut into
 * windows that overlap, the model computes each of them, and the outputs are blended into one
 * volume of the same extents.
 *
 * The definition is that of MLPerf's 3D U-Net on KiTS19 (mlcommons/inference, inference_utils.py):
 * out(x) = sum of w(x - p) y_p(x - p) over the windows p that hold x, divided by the sum of the
 * same w(x - p). Windows begin at multiples of the stride, window x (1 - overlap) rounded down.
 * Where the last of them would reach beyond the volume it is moved inside. (MLPerf's
 * pre-processing pads and crops volumes to multiples of the stride, so that there nothing is
 * moved.) The Gaussian weight is the cube root of a product over the axes of
 * exp(-((i - (n - 1) / 2) / s)^2 / 2), s = n / 8; constant is 1.
 *
 * Weights are products over axes and windows stand on a grid, so the sum is a product of sums over
 * axes: nothing as large as the volume holds it, and every window is weighted with w over that
 * sum. A voxel in one window alone keeps the model's value bit for bit.
 *
 * Inputs are batch x channels x axes, of any type of known size; outputs are float32, batch x
 * channels x the same axes.
 *
 * Threading: a volume is used by one thread at a time; its pool does the copying.
 */
#ifndef VT_PLAN_WINDOWS_H
#define VT_PLAN_WINDOWS_H

#include "base/pool.h"
#include "graph/graph.h"

#define VT_WINDOWS_AXES      3u
#define VT_WINDOWS_BATCH_MAX 64u

enum vt_window_blend { VT_BLEND_CONSTANT, VT_BLEND_GAUSSIAN };

struct vt_windows {
    uint32_t axes; /* the input's last ones, 1 to VT_WINDOWS_AXES; 0: no windows */
    int64_t dim[VT_WINDOWS_AXES];
    double overlap; /* of neighbours, 0 <= overlap < 1 */
    enum vt_window_blend blend;
    uint32_t batch; /* windows that the model computes at once, at most; 0: by rule */
};

/* "128x128x128" as the extents of a window. VT_ERR_USAGE. */
enum vt_status vt_windows_read(const char *text, struct vt_error *err,
                               struct vt_windows *windows) VT_NODISCARD;

/*
 * The model's signature for volumes, the bindings applied: the axes are open (as "D", "H", "W"
 * where the model has no names for them) unless they are bound. VT_ERR_USAGE on bindings below the
 * window, on another window than the model's own fixed extents, on several inputs, on inputs and
 * outputs without these axes; VT_ERR_UNSUPPORTED on outputs of other types than float32.
 */
enum vt_status vt_windows_signature(const struct vt_windows *windows, const struct vt_model *model,
                                    const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                    struct vt_error *err, struct vt_signature *ret) VT_NODISCARD;

/* Where windows begin along an axis of this extent, which is not smaller than they are: every so
 * many elements, and how often (the last one is moved inside). */
int64_t vt_windows_stride(const struct vt_windows *windows, uint32_t axis);
int64_t vt_windows_along(const struct vt_windows *windows, uint32_t axis, int64_t extent);
/* What the model gets for a window of one sample of a signature's input; false while its channels
 * are open. And how many windows a sample has: 0 while extents are open, or beyond counting. */
bool vt_windows_binding(const struct vt_windows *windows, const struct vt_port *input,
                        struct vt_shape_binding *ret_binding);
int64_t vt_windows_count(const struct vt_windows *windows, const struct vt_port *input);

/* Whether the input has the window's extents: then the model computes it as it is. */
bool vt_windows_are_whole(const struct vt_windows *windows, const struct vt_tensor *input);

struct vt_volume;

/* `most` bounds the windows that the model computes at once besides the window's own bound. The
 * pool, which may be NULL, outlives the volume. VT_ERR_MEMORY. */
enum vt_status vt_volume_new(const struct vt_windows *windows, uint32_t most, uint32_t n_outputs,
                             struct vt_pool *pool, struct vt_error *err,
                             struct vt_volume **ret_volume) VT_NODISCARD;
void vt_volume_free(struct vt_volume *volume); /* accepts NULL */

/*
 * Takes up an input. *ret_windows has the shape, and the memory, of what the model gets in a run:
 * as many windows as go evenly into all of them. Allocates where an input is larger than those
 * before. The input's data are not looked at. VT_ERR_USAGE when the input is smaller than a window
 * or has other axes, VT_ERR_LIMIT beyond this machine's memory, VT_ERR_MEMORY.
 */
enum vt_status vt_volume_begin(struct vt_volume *volume, const struct vt_tensor *input,
                               struct vt_error *err, struct vt_tensor *ret_windows) VT_NODISCARD;
/* How often the model runs, and on how many windows in all. */
int64_t vt_volume_runs(const struct vt_volume *volume);
int64_t vt_volume_windows(const struct vt_volume *volume);
/* Cuts the windows of a run out of the input, which has the shape that was begun with, into the
 * memory of ret_windows. */
void vt_volume_cut(struct vt_volume *volume, const struct vt_tensor *input, int64_t run);
/* Takes in what the model made of a run; runs in their order from 0. Allocates at run 0 where
 * outputs are larger than before. VT_ERR_UNSUPPORTED when an output is not as said above,
 * VT_ERR_LIMIT, VT_ERR_MEMORY. */
enum vt_status vt_volume_blend(struct vt_volume *volume, int64_t run,
                               const struct vt_tensor *outputs, struct vt_error *err) VT_NODISCARD;
/* After the last run: the outputs, valid until the next vt_volume_blend. */
const struct vt_tensor *vt_volume_outputs(const struct vt_volume *volume);

#endif
