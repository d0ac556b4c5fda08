/* SPDX-License-Identifier: Apache-2.0 */
/* A volume cut into windows, and the windows' outputs blended into one. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "plan/windows.h"

/* Windows below so many elements are computed several at once: a layer of one would be too little
 * work for the threads to share. */
#define FEW_ELEMENTS 32768
/* Bytes that a thread copies at a time, about. */
#define COPY_BYTES (INT64_C(256) << 10)
/* Elements of all windows along an axis at most: seconds of adding up their weights. */
#define AXIS_ELEMENTS (INT64_C(1) << 32)

/* Always three of them: those that the window does not have are of extent 1. */
struct axis {
    int64_t extent, length, stride;
    int64_t n;      /* windows */
    double *weight; /* [length] of an element of a window */
    double *sum;    /* [extent] of the weights of all windows that hold an element */
    size_t sum_capacity;
    float *share; /* [length] of the window that is being blended: weight over sum */
};

struct memory {
    void *data;
    size_t bytes;
};

struct vt_volume {
    struct vt_windows windows;
    struct vt_pool *pool;
    uint32_t most;          /* windows in a run */
    struct vt_tensor input; /* the shape that was begun with; rank 0: none */
    struct axis axes[VT_WINDOWS_AXES];
    int64_t n_windows, in_run; /* of all samples; that the model computes at once */
    struct vt_tensor cut;
    struct memory cut_memory;
    uint32_t n_outputs;
    struct vt_tensor *outputs;
    struct memory *output_memory;
};

/* --- making
 * ------------------------------------------------------------------------------------------ */

void vt_volume_free(struct vt_volume *volume)
{
    if (volume == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VT_WINDOWS_AXES; i++) {
        vt_free(volume->axes[i].weight);
        vt_free(volume->axes[i].sum);
        vt_free(volume->axes[i].share);
    }
    for (uint32_t i = 0; volume->output_memory != NULL && i < volume->n_outputs; i++) {
        vt_free(volume->output_memory[i].data);
    }
    vt_free(volume->cut_memory.data);
    vt_free(volume->outputs);
    vt_free(volume->output_memory);
    vt_free(volume);
}

static void weigh(const struct vt_windows *windows, struct axis *axis)
{
    const double middle = (double)(axis->length - 1) / 2.0, spread = (double)axis->length / 8.0;
    for (int64_t i = 0; i < axis->length; i++) {
        const double at = ((double)i - middle) / spread;
        axis->weight[i] = windows->blend == VT_BLEND_GAUSSIAN ? exp(-at * at / 6.0) : 1.0;
    }
}

static bool make_axes(struct vt_volume *volume)
{
    const struct vt_windows *windows = &volume->windows;
    for (uint32_t i = 0; i < VT_WINDOWS_AXES; i++) {
        struct axis *axis = &volume->axes[i];
        const uint32_t missing = VT_WINDOWS_AXES - windows->axes;
        axis->length = i < missing ? 1 : windows->dim[i - missing];
        axis->stride = i < missing ? 1 : vt_windows_stride(windows, i - missing);
        axis->weight = vt_calloc((size_t)axis->length, sizeof(*axis->weight));
        axis->share = vt_calloc((size_t)axis->length, sizeof(*axis->share));
        if (axis->weight == NULL || axis->share == NULL) {
            return false;
        }
        weigh(windows, axis);
    }
    return true;
}

/* Without a bound of the user's: one at a time, or so many small ones as are enough work. */
static uint32_t most_in_run(const struct vt_windows *windows, uint32_t most)
{
    int64_t elements = 1, wanted = windows->batch;
    for (uint32_t i = 0; i < windows->axes && elements < FEW_ELEMENTS; i++) {
        elements *= windows->dim[i];
    }
    if (wanted == 0) {
        wanted = FEW_ELEMENTS / elements;
        wanted = wanted < 1 ? 1 : (wanted > 16 ? 16 : wanted);
    }
    return wanted < most ? (uint32_t)wanted : most;
}

enum vt_status vt_volume_new(const struct vt_windows *windows, uint32_t most, uint32_t n_outputs,
                             struct vt_pool *pool, struct vt_error *err,
                             struct vt_volume **ret_volume)
{
    struct vt_volume *volume = vt_calloc(1, sizeof(*volume));
    bool made = volume != NULL;
    if (made) {
        volume->windows = *windows;
        volume->pool = pool;
        volume->most = most_in_run(windows, most > 0 ? most : 1);
        volume->n_outputs = n_outputs;
        volume->outputs = vt_calloc((size_t)n_outputs + 1, sizeof(*volume->outputs));
        volume->output_memory = vt_calloc((size_t)n_outputs + 1, sizeof(*volume->output_memory));
        made = volume->outputs != NULL && volume->output_memory != NULL && make_axes(volume);
    }
    if (!made) {
        vt_volume_free(volume);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for windows");
    }
    *ret_volume = volume;
    return VT_OK;
}

/* --- an input
 * ---------------------------------------------------------------------------------------- */

static enum vt_status reserve(struct memory *memory, size_t bytes, const char *what,
                              struct vt_error *err)
{
    const uint64_t machine = vt_topology()->memory_bytes;
    if (machine > 0 && bytes > machine) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s of %zu MiB, but this machine has %llu MiB", what,
                            bytes >> 20, (unsigned long long)(machine >> 20));
    }
    if (bytes <= memory->bytes && memory->data != NULL) {
        return VT_OK;
    }
    /* Not both at once: it may be most of the memory that there is. */
    vt_free(memory->data);
    memory->bytes = 0;
    memory->data = vt_alloc(bytes);
    if (memory->data == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %s of %zu MiB", what,
                            bytes >> 20);
    }
    memory->bytes = bytes;
    return VT_OK;
}

/* Where window k of the axis begins: the last one is moved inside. */
static int64_t begin_of(const struct axis *axis, int64_t k)
{
    return k + 1 < axis->n ? k * axis->stride : axis->extent - axis->length;
}

static enum vt_status lay_axis(struct axis *axis, int64_t extent, int64_t n, struct vt_error *err)
{
    if (axis->extent == extent) {
        return VT_OK;
    }
    if (n > AXIS_ELEMENTS / axis->length) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "%lld windows along an axis of %lld are too many: choose less overlap",
                            (long long)n, (long long)extent);
    }
    axis->extent = 0;
    if ((size_t)extent > axis->sum_capacity) {
        vt_free(axis->sum);
        axis->sum_capacity = 0;
        axis->sum = vt_calloc((size_t)extent, sizeof(*axis->sum));
        if (axis->sum == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for an axis of %lld",
                                (long long)extent);
        }
        axis->sum_capacity = (size_t)extent;
    }
    axis->extent = extent;
    axis->n = n;
    memset(axis->sum, 0, (size_t)extent * sizeof(*axis->sum));
    for (int64_t k = 0; k < axis->n; k++) {
        double *sum = axis->sum + begin_of(axis, k);
        for (int64_t i = 0; i < axis->length; i++) {
            sum[i] += axis->weight[i];
        }
    }
    return VT_OK;
}

static enum vt_status check_input(const struct vt_volume *volume, const struct vt_tensor *input,
                                  struct vt_error *err)
{
    const struct vt_windows *windows = &volume->windows;
    const uint32_t rank = input->rank;
    const uint64_t machine = vt_topology()->memory_bytes;
    char size[64], shape[96] = "of more axes";
    size_t bytes = 0;
    bool fits = rank == windows->axes + 2 && input->dim[0] > 0 && input->dim[1] > 0;
    for (uint32_t i = 0; fits && i < windows->axes; i++) {
        fits = input->dim[2 + i] >= windows->dim[i];
    }
    if (rank <= VT_RANK_MAX) {
        vt_shape_text(input->dim, rank, NULL, shape, sizeof(shape));
    }
    if (!fits) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "windows of %s need an input of batch, channels and extents that are "
                            "not smaller, but it is %s: pad it",
                            vt_shape_text(windows->dim, windows->axes, NULL, size, sizeof(size)),
                            shape);
    }
    if (!vt_shape_bytes(input->dtype, input->dim, rank, &bytes) ||
        (machine > 0 && bytes > machine)) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "an input of %s %s is more than the memory of this machine",
                            vt_dtype_name(input->dtype), shape);
    }
    return VT_OK;
}

static enum vt_status count_windows(struct vt_volume *volume, const struct vt_tensor *input,
                                    struct vt_error *err)
{
    int64_t windows = input->dim[0];
    for (uint32_t i = 0; i < VT_WINDOWS_AXES; i++) {
        if (__builtin_mul_overflow(windows, volume->axes[i].n, &windows)) {
            return vt_error_set(err, VT_ERR_LIMIT,
                                "the windows are too many to be counted: choose "
                                "less overlap");
        }
    }
    int64_t in_run = volume->most < windows ? volume->most : windows;
    while (windows % in_run != 0) {
        in_run--;
    }
    volume->n_windows = windows;
    volume->in_run = in_run;
    return VT_OK;
}

enum vt_status vt_volume_begin(struct vt_volume *volume, const struct vt_tensor *input,
                               struct vt_error *err, struct vt_tensor *ret_windows)
{
    const struct vt_windows *windows = &volume->windows;
    if (volume->input.rank > 0 && vt_tensor_same_shape(&volume->input, input)) {
        *ret_windows = volume->cut;
        return VT_OK;
    }
    volume->input.rank = 0;
    enum vt_status status = check_input(volume, input, err);
    const uint32_t missing = VT_WINDOWS_AXES - windows->axes;
    for (uint32_t i = 0; i < VT_WINDOWS_AXES && status == VT_OK; i++) {
        const int64_t extent = i < missing ? 1 : input->dim[2 + i - missing];
        status = lay_axis(&volume->axes[i], extent,
                          i < missing ? 1 : vt_windows_along(windows, i - missing, extent), err);
    }
    if (status == VT_OK) {
        status = count_windows(volume, input, err);
    }
    if (status != VT_OK) {
        return status;
    }
    int64_t dim[VT_RANK_MAX] = {volume->most, input->dim[1]};
    memcpy(&dim[2], windows->dim, windows->axes * sizeof(dim[0]));
    /* The memory is for as many as there may be with other volumes. */
    status = vt_tensor_init(&volume->cut, input->dtype, input->rank, dim, NULL, err);
    if (status == VT_OK) {
        status = reserve(&volume->cut_memory, volume->cut.bytes, "windows", err);
    }
    if (status == VT_OK) {
        dim[0] = volume->in_run;
        status = vt_tensor_init(&volume->cut, input->dtype, input->rank, dim, NULL, err);
    }
    if (status != VT_OK) {
        return status;
    }
    volume->cut.data = volume->cut_memory.data;
    volume->input = *input;
    volume->input.data = NULL;
    *ret_windows = volume->cut;
    return VT_OK;
}

int64_t vt_volume_runs(const struct vt_volume *volume)
{
    return volume->n_windows / volume->in_run;
}

int64_t vt_volume_windows(const struct vt_volume *volume)
{
    return volume->n_windows;
}

/* Where a window begins. */
struct place {
    int64_t sample;
    int64_t at[VT_WINDOWS_AXES];
};

static struct place place_of(const struct vt_volume *volume, int64_t number)
{
    struct place place;
    for (uint32_t i = VT_WINDOWS_AXES; i > 0; i--) {
        const struct axis *axis = &volume->axes[i - 1];
        place.at[i - 1] = begin_of(axis, number % axis->n);
        number /= axis->n;
    }
    place.sample = number;
    return place;
}

/* --- cutting
 * ----------------------------------------------------------------------------------------- */

/* Planes, one for each window, channel and place along the first axis, so that threads share a
 * single window too. */
struct job {
    const struct vt_volume *volume;
    int64_t number; /* of the first window; of the one */
    int64_t channels;
    const uint8_t *from;
    uint8_t *to;
    size_t element;
};

static void cut_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct axis *axes = job->volume->axes;
    const size_t row = (size_t)axes[2].length * job->element;
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t z = plane % axes[0].length, rest = plane / axes[0].length;
        const int64_t channel = rest % job->channels;
        const struct place place = place_of(job->volume, job->number + rest / job->channels);
        const int64_t line =
            ((place.sample * job->channels + channel) * axes[0].extent + place.at[0] + z) *
                axes[1].extent +
            place.at[1];
        const uint8_t *from =
            job->from + (size_t)(line * axes[2].extent + place.at[2]) * job->element;
        uint8_t *to = job->to + (size_t)(plane * axes[1].length) * row;
        for (int64_t y = 0; y < axes[1].length; y++) {
            memcpy(to + (size_t)y * row, from + (size_t)(y * axes[2].extent) * job->element, row);
        }
    }
}

/* Planes in one chunk. */
static int64_t grain_of(const struct axis *axes, size_t element)
{
    const size_t plane = (size_t)(axes[1].length * axes[2].length) * element;
    return plane < (size_t)COPY_BYTES ? COPY_BYTES / (int64_t)plane : 1;
}

void vt_volume_cut(struct vt_volume *volume, const struct vt_tensor *input, int64_t run)
{
    const struct job job = {.volume = volume,
                            .number = run * volume->in_run,
                            .channels = input->dim[1],
                            .from = input->data,
                            .to = volume->cut.data,
                            .element = vt_dtype_bytes(input->dtype)};
    vt_pool_run(volume->pool, volume->in_run * job.channels * volume->axes[0].length,
                grain_of(volume->axes, job.element), cut_planes, (void *)(uintptr_t)&job);
}

/* --- blending
 * ---------------------------------------------------------------------------------------- */

static void clear_bytes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    (void)worker;
    memset((uint8_t *)ctx + begin, 0, (size_t)(end - begin));
}

/* The output of one window is added to the whole. */
static void add_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct axis *axes = job->volume->axes;
    const struct place place = place_of(job->volume, job->number);
    const float *restrict share = axes[2].share;
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t z = plane % axes[0].length, channel = plane / axes[0].length;
        const int64_t line =
            ((place.sample * job->channels + channel) * axes[0].extent + place.at[0] + z) *
                axes[1].extent +
            place.at[1];
        const float *from =
            (const float *)(const void *)job->from + plane * axes[1].length * axes[2].length;
        float *to = (float *)(void *)job->to + line * axes[2].extent + place.at[2];
        for (int64_t y = 0; y < axes[1].length; y++) {
            const float *restrict a = from + y * axes[2].length;
            float *restrict b = to + y * axes[2].extent;
            const float both = axes[0].share[z] * axes[1].share[y];
            for (int64_t x = 0; x < axes[2].length; x++) {
                b[x] += a[x] * (both * share[x]);
            }
        }
    }
}

static enum vt_status check_output(const struct vt_volume *volume, int64_t run, uint32_t index,
                                   const struct vt_tensor *output, struct vt_error *err)
{
    const struct vt_tensor *cut = &volume->cut;
    if (output->dtype == VT_F32 && output->rank == cut->rank && output->dim[0] == cut->dim[0] &&
        vt_windows_are_whole(&volume->windows, output) &&
        (run == 0 || output->dim[1] == volume->outputs[index].dim[1])) {
        return VT_OK;
    }
    char made[96], wanted[96];
    return vt_error_set(
        err, VT_ERR_UNSUPPORTED,
        "output %u is %s %s for windows of %s: only float32 of the same extents, and as many "
        "channels in every window, can be blended",
        index, vt_dtype_name(output->dtype),
        vt_shape_text(output->dim, output->rank < VT_RANK_MAX ? output->rank : VT_RANK_MAX, NULL,
                      made, sizeof(made)),
        vt_shape_text(cut->dim, cut->rank, NULL, wanted, sizeof(wanted)));
}

/* A volume of zeros for every output. */
static enum vt_status clear_outputs(struct vt_volume *volume, const struct vt_tensor *outputs,
                                    struct vt_error *err)
{
    for (uint32_t i = 0; i < volume->n_outputs; i++) {
        int64_t dim[VT_RANK_MAX];
        struct vt_tensor *whole = &volume->outputs[i];
        memcpy(dim, volume->input.dim, sizeof(dim));
        dim[1] = outputs[i].dim[1];
        enum vt_status status = vt_tensor_init(whole, VT_F32, outputs[i].rank, dim, NULL, err);
        if (status == VT_OK) {
            status = reserve(&volume->output_memory[i], whole->bytes, "an output", err);
        }
        if (status != VT_OK) {
            return status;
        }
        whole->data = volume->output_memory[i].data;
        vt_pool_run(volume->pool, (int64_t)whole->bytes, COPY_BYTES, clear_bytes, whole->data);
    }
    return VT_OK;
}

static void share_window(struct vt_volume *volume, int64_t number)
{
    const struct place place = place_of(volume, number);
    for (uint32_t i = 0; i < VT_WINDOWS_AXES; i++) {
        struct axis *axis = &volume->axes[i];
        const double *sum = axis->sum + place.at[i];
        for (int64_t k = 0; k < axis->length; k++) {
            axis->share[k] = (float)(axis->weight[k] / sum[k]);
        }
    }
}

enum vt_status vt_volume_blend(struct vt_volume *volume, int64_t run,
                               const struct vt_tensor *outputs, struct vt_error *err)
{
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < volume->n_outputs && status == VT_OK; i++) {
        status = check_output(volume, run, i, &outputs[i], err);
    }
    if (status == VT_OK && run == 0) {
        status = clear_outputs(volume, outputs, err);
    }
    for (int64_t k = 0; k < volume->in_run && status == VT_OK; k++) {
        const int64_t number = run * volume->in_run + k;
        share_window(volume, number);
        for (uint32_t i = 0; i < volume->n_outputs; i++) {
            const size_t bytes = outputs[i].bytes / (size_t)volume->in_run;
            const struct job job = {.volume = volume,
                                    .number = number,
                                    .channels = outputs[i].dim[1],
                                    .from = (const uint8_t *)outputs[i].data + (size_t)k * bytes,
                                    .to = volume->outputs[i].data,
                                    .element = sizeof(float)};
            vt_pool_run(volume->pool, job.channels * volume->axes[0].length,
                        grain_of(volume->axes, job.element), add_planes, (void *)(uintptr_t)&job);
        }
    }
    return status;
}

const struct vt_tensor *vt_volume_outputs(const struct vt_volume *volume)
{
    return volume->outputs;
}
