/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the built-in model: 360 images of handwritten digits that the network was not
 * trained on, part of the program. The file's form is in README.md beside this one.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "workload/classify.h"
#include "workload/room.h"

#define HEADER_BYTES 16
#define SIDE         8
#define PIXELS       64 /* SIDE squared */
/* One point below the accuracy of the network as trained, 98.33 %. */
#define TARGET_PERCENT 97.3

struct digits {
    const struct vt_port *input;
    struct vt_class_output output;
    uint64_t count;
    uint64_t performance_count;
    float (*pixels)[PIXELS];
    int64_t *labels;
};

static uint32_t u32_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* One input for one image: all its extents but the batch must be 1, 1, 8, 8 in some layout. */
static enum vt_status check_input(const struct vt_signature *signature, struct vt_error *err)
{
    const struct vt_port *port = signature->inputs;
    char shape[96];

    if (signature->n_inputs != 1) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "digits needs a model with one input, this one has %u",
                            signature->n_inputs);
    }
    int64_t pixels = 1;
    for (uint32_t i = 1; i < port->rank && i < VT_RANK_MAX; i++) {
        bool fits = port->dim[i] == 1 || port->dim[i] == SIDE || port->dim[i] == PIXELS;
        pixels = fits ? pixels * port->dim[i] : -1;
    }
    if (port->dtype != VT_F32 || port->rank < 2 || pixels != PIXELS ||
        (port->dim[0] != 1 && port->dim[0] != -1)) {
        return vt_error_set(
            err, VT_ERR_UNSUPPORTED, "digits needs an input float32 Nx1x8x8, '%s' is %s %s",
            port->name, vt_dtype_name(port->dtype),
            vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
    }
    return VT_OK;
}

static void digits_close(void *workload)
{
    struct digits *digits = workload;

    if (digits != NULL) {
        vt_free(digits->pixels);
        vt_free(digits->labels);
        vt_free(digits);
    }
}

static enum vt_status unpack(struct digits *digits, struct vt_error *err)
{
    const unsigned char *labels = vt_digits_test.bytes + HEADER_BYTES;

    digits->pixels = vt_calloc(digits->count, sizeof digits->pixels[0]);
    digits->labels = vt_calloc(digits->count, sizeof digits->labels[0]);
    if (digits->pixels == NULL || digits->labels == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the images of digits");
    }
    const unsigned char *images = labels + u32_at(vt_digits_test.bytes + 8);
    for (uint64_t i = 0; i < digits->count; i++) {
        digits->labels[i] = labels[i];
        for (size_t p = 0; p < PIXELS; p++) {
            digits->pixels[i][p] = images[i * (size_t)PIXELS + p];
        }
    }
    return VT_OK;
}

static enum vt_status digits_open(const struct vt_workload_config *config,
                                  const struct vt_signature *signature, struct vt_error *err,
                                  void **ret_workload)
{
    struct vt_class_output output;
    enum vt_status status;

    if (config->dataset != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "digits brings its own images: --dataset '%s' goes with --workload "
                            "image-classification",
                            config->dataset);
    }
    if ((status = check_input(signature, err)) != VT_OK ||
        (status = vt_class_output_find(signature, err, &output)) != VT_OK) {
        return status;
    }
    uint64_t total = u32_at(vt_digits_test.bytes + 8);
    if (memcmp(vt_digits_test.bytes, "VTDIGIT1", 8) != 0 ||
        u32_at(vt_digits_test.bytes + 12) != PIXELS ||
        vt_digits_test.size != HEADER_BYTES + total * (1 + PIXELS)) {
        return vt_error_set(err, VT_ERR_FORMAT, "the images of digits in the program are damaged");
    }
    struct digits *digits = vt_calloc(1, sizeof *digits);
    if (digits == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for digits");
    }
    digits->input = signature->inputs;
    digits->output = output;
    digits->count =
        config->sample_count > 0 && config->sample_count < total ? config->sample_count : total;
    digits->performance_count = vt_workload_performance_count(
        digits->count, config->performance_count, sizeof digits->pixels[0]);
    status = unpack(digits, err);
    if (status != VT_OK) {
        digits_close(digits);
        return status;
    }
    *ret_workload = digits;
    return VT_OK;
}

static void digits_info(void *workload, struct vt_workload_info *ret_info)
{
    const struct digits *digits = workload;
    struct vt_workload_info info = {.name = vt_workload_digits.name,
                                    .total_count = digits->count,
                                    .performance_count = digits->performance_count,
                                    .has_quality = true};

    (void)snprintf(info.description, sizeof info.description,
                   "%llu held-out images of handwritten digits, 8x8 grey, raw 0..16",
                   (unsigned long long)digits->count);
    *ret_info = info;
}

/* The images are in memory from open to close. */
static enum vt_status digits_load(void *workload, const uint64_t *indices, size_t n,
                                  struct vt_error *err)
{
    const struct digits *digits = workload;

    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= digits->count) {
            return vt_error_set(err, VT_ERR_USAGE, "sample %llu of %llu",
                                (unsigned long long)indices[i], (unsigned long long)digits->count);
        }
    }
    return VT_OK;
}

static void digits_unload(void *workload, const uint64_t *indices, size_t n)
{
    (void)workload;
    (void)indices;
    (void)n;
}

static void digits_sample(void *workload, uint64_t index, struct vt_tensor *ret_inputs)
{
    struct digits *digits = workload;
    struct vt_tensor tensor = {.dtype = VT_F32,
                               .rank = digits->input->rank,
                               .data = digits->pixels[index],
                               .bytes = sizeof digits->pixels[index]};

    for (uint32_t i = 0; i < tensor.rank; i++) {
        tensor.dim[i] = i == 0 ? 1 : digits->input->dim[i];
    }
    ret_inputs[0] = tensor;
}

static enum vt_status digits_finish(void *workload, uint64_t index, const struct vt_tensor *outputs,
                                    uint32_t n_outputs, void *ret_response, size_t *ret_bytes,
                                    struct vt_error *err)
{
    const struct digits *digits = workload;

    (void)index;
    return vt_class_output_finish(&digits->output, outputs, n_outputs, ret_response, ret_bytes,
                                  err);
}

static enum vt_status digits_score(void *workload, const struct vt_response *responses, size_t n,
                                   struct vt_error *err, struct vt_quality *ret_quality)
{
    const struct digits *digits = workload;
    struct vt_quality quality;
    enum vt_status status =
        vt_class_score(digits->labels, digits->count, 0, responses, n, err, &quality);

    if (status != VT_OK) {
        return status;
    }
    /* The target is for all the images, not for a choice of them. */
    quality.has_target = quality.count == u32_at(vt_digits_test.bytes + 8);
    quality.target = TARGET_PERCENT;
    quality.pass = !quality.has_target || quality.value >= quality.target;
    (void)snprintf(quality.detail, sizeof quality.detail, "on %llu held-out images",
                   (unsigned long long)quality.count);
    *ret_quality = quality;
    return VT_OK;
}

const struct vt_workload_ops vt_workload_digits = {
    .api_version = VT_WORKLOAD_API_VERSION,
    .struct_size = sizeof(struct vt_workload_ops),
    .name = "digits",
    .summary = "handwritten digits, part of the program; top-1 on 360 held-out images",
    .open = digits_open,
    .close = digits_close,
    .info = digits_info,
    .load = digits_load,
    .unload = digits_unload,
    .sample = digits_sample,
    .finish = digits_finish,
    .score = digits_score,
};
