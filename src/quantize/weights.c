/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants of a layer: with the BatchNormalization taken in,
 *
 *     w' = w·s, b' = (b - mean)·s + beta   with s = gamma / sqrt(variance + epsilon) a channel,
 *
 * and quantised: symmetric, a scale an output channel. The bias is int32 in the scale of the sums,
 * the input's times the weights'; where it would not fit, the channel's scale is made larger.
 */
#include <math.h>
#include <stdint.h>

#include "quantize/internal.h"

#define WEIGHT_MOST 127.0
#define BIAS_MOST   1073741824.0 /* half of what fits: sums are added to it */

struct layer {
    const struct vt_tensor *weights;
    const struct vt_tensor *bias; /* NULL: none */
    int64_t channels, inner;      /* element i belongs to channel i / inner % channels */
    double *gain;                 /* of the norm, by channel; 1 without */
    double *biases;               /* with the norm's */
    bool has_bias;
    float *scales;
    void *out;
};

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory while quantising weights");
}

static void layer_release(struct layer *l)
{
    vt_free(l->gain);
    vt_free(l->biases);
    vt_free(l->scales);
    vt_free(l->out);
}

static double row_at(const struct vt_quantizer *q, const struct vt_node *norm, uint32_t i,
                     int64_t c)
{
    return (double)((const float *)vt_q_floats(q, norm->inputs[i])->data)[c];
}

static void take_norm(const struct vt_quantizer *q, const struct vt_node *norm, struct layer *l)
{
    const double epsilon = norm != NULL ? (double)vt_node_float(norm, "epsilon", 1e-5f) : 0.0;
    for (int64_t c = 0; c < l->channels; c++) {
        const double bias = l->bias != NULL ? (double)((const float *)l->bias->data)[c] : 0.0;
        l->gain[c] = 1.0;
        l->biases[c] = bias;
        if (norm != NULL) {
            l->gain[c] = row_at(q, norm, 1, c) / sqrt(row_at(q, norm, 4, c) + epsilon);
            l->biases[c] = (bias - row_at(q, norm, 3, c)) * l->gain[c] + row_at(q, norm, 2, c);
        }
    }
    l->has_bias = l->bias != NULL || norm != NULL;
}

static enum vt_status layer_init(const struct vt_quantizer *q, uint32_t n, struct vt_error *err,
                                 struct layer *l)
{
    const struct vt_node *node = &q->graph->nodes[n];
    const uint32_t norm = q->nodes[n].norm, axis = vt_q_weight_axis(node);
    *l = (struct layer){.weights = vt_q_floats(q, node->inputs[1]), .inner = 1};
    l->channels = l->weights->dim[axis];
    for (uint32_t d = axis + 1; d < l->weights->rank; d++) {
        l->inner *= l->weights->dim[d];
    }
    if (node->n_inputs > 2 && node->inputs[2] != VT_NO_VALUE && !vt_q_is(node, "MatMul")) {
        const struct vt_tensor *bias = vt_q_floats(q, node->inputs[2]);
        l->bias = bias != NULL && bias->bytes == (size_t)l->channels * sizeof(float) ? bias : NULL;
    }
    l->gain = vt_calloc((size_t)l->channels, sizeof(double));
    l->biases = vt_calloc((size_t)l->channels, sizeof(double));
    l->scales = vt_calloc((size_t)l->channels, sizeof(float));
    l->out = vt_alloc(l->weights->bytes > (size_t)l->channels * 4 ? l->weights->bytes
                                                                  : (size_t)l->channels * 4);
    if (l->gain == NULL || l->biases == NULL || l->scales == NULL || l->out == NULL) {
        layer_release(l);
        return out_of_memory(err);
    }
    take_norm(q, norm != VT_NO_NODE ? &q->graph->nodes[norm] : NULL, l);
    return VT_OK;
}

static int64_t count_of(const struct layer *l)
{
    return (int64_t)(l->weights->bytes / sizeof(float));
}

static double weight_at(const struct layer *l, int64_t i)
{
    return (double)((const float *)l->weights->data)[i] * l->gain[i / l->inner % l->channels];
}

static void find_scales(struct layer *l, float input_scale)
{
    for (int64_t i = 0; i < count_of(l); i++) {
        const double w = fabs(weight_at(l, i));
        float *most = &l->scales[i / l->inner % l->channels];
        if (isfinite(w) && w > (double)*most) {
            *most = (float)w;
        }
    }
    for (int64_t c = 0; c < l->channels; c++) {
        double scale = (double)l->scales[c] / WEIGHT_MOST;
        const double least = fabs(l->biases[c]) / ((double)input_scale * BIAS_MOST);
        scale = scale > least ? scale : least;
        l->scales[c] = scale >= 1e-30 ? (float)scale : 1.0f;
    }
}

static double limit(double x, double most)
{
    /* NaN becomes -most. */
    return x > -most ? (x < most ? x : most) : -most;
}

/* Name_of_output.part, its scales, and a DequantizeLinear that makes of them what is returned. */
static char *dequantised(struct vt_quantizer *q, struct vt_model_writer *writer, const char *base,
                         const char *part, const struct vt_tensor *stored, const char *scale,
                         int64_t axis)
{
    char *name = vt_q_text(q, "%s.%s%s", base, part, q->suffix);
    char *result = vt_q_text(q, "%s.%s.dequantized%s", base, part, q->suffix);
    if (name == NULL || result == NULL || scale == NULL) {
        return NULL;
    }
    vt_write_constant(writer, name, stored);
    vt_write_node_begin(writer, "DequantizeLinear", result);
    vt_write_node_input(writer, name);
    vt_write_node_input(writer, scale);
    vt_write_node_output(writer, result);
    vt_write_attr_int(writer, "axis", axis);
    vt_write_node_end(writer);
    return result;
}

static struct vt_tensor row_of(enum vt_dtype dtype, int64_t n, void *data)
{
    return (struct vt_tensor){
        .dtype = dtype, .rank = 1, .dim = {n}, .data = data, .bytes = (size_t)n * 4};
}

static void write_quantised(struct vt_quantizer *q, struct vt_model_writer *writer, struct layer *l,
                            const char *base, int64_t axis, float input_scale,
                            struct vt_q_layer_names *ret)
{
    struct vt_tensor stored = *l->weights, row = row_of(VT_F32, l->channels, l->scales);
    char *scale = vt_q_text(q, "%s.weight.scale%s", base, q->suffix);
    find_scales(l, input_scale);
    if (scale != NULL) {
        vt_write_constant(writer, scale, &row);
    }
    for (int64_t i = 0; i < count_of(l); i++) {
        const double steps = weight_at(l, i) / (double)l->scales[i / l->inner % l->channels];
        ((int8_t *)l->out)[i] = (int8_t)limit(rint(steps), WEIGHT_MOST);
    }
    stored.dtype = VT_I8;
    stored.bytes = l->weights->bytes / sizeof(float);
    stored.data = l->out;
    ret->weights = dequantised(q, writer, base, "weight", &stored, scale, axis);
    if (!l->has_bias) {
        return;
    }
    for (int64_t c = 0; c < l->channels; c++) {
        l->scales[c] *= input_scale;
        const double steps = l->biases[c] / (double)l->scales[c];
        ((int32_t *)l->out)[c] = (int32_t)limit(rint(steps), BIAS_MOST);
    }
    scale = vt_q_text(q, "%s.bias.scale%s", base, q->suffix);
    if (scale != NULL) {
        vt_write_constant(writer, scale, &row);
    }
    row = row_of(VT_I32, l->channels, l->out);
    ret->bias = dequantised(q, writer, base, "bias", &row, scale, 0);
}

static void write_floats(struct vt_quantizer *q, struct vt_model_writer *writer, struct layer *l,
                         const char *base, struct vt_q_layer_names *ret)
{
    struct vt_tensor stored = *l->weights;
    ret->weights = vt_q_text(q, "%s.weight%s", base, q->suffix);
    ret->bias = vt_q_text(q, "%s.bias%s", base, q->suffix);
    if (ret->weights == NULL || ret->bias == NULL) {
        return;
    }
    for (int64_t i = 0; i < count_of(l); i++) {
        ((float *)l->out)[i] = (float)weight_at(l, i);
    }
    stored.data = l->out;
    vt_write_constant(writer, ret->weights, &stored);
    for (int64_t c = 0; c < l->channels; c++) {
        ((float *)l->out)[c] = (float)l->biases[c];
    }
    stored = row_of(VT_F32, l->channels, l->out);
    vt_write_constant(writer, ret->bias, &stored);
}

enum vt_status vt_q_write_layer_constants(struct vt_quantizer *q, struct vt_model_writer *writer,
                                          uint32_t node, bool quantised, float input_scale,
                                          struct vt_error *err, struct vt_q_layer_names *ret)
{
    struct layer l;
    const char *base = q->values[q->nodes[node].output].name;
    enum vt_status status = layer_init(q, node, err, &l);
    if (status != VT_OK) {
        return status;
    }
    *ret = (struct vt_q_layer_names){NULL, NULL};
    if (quantised) {
        write_quantised(q, writer, &l, base, vt_q_weight_axis(&q->graph->nodes[node]), input_scale,
                        ret);
    } else {
        write_floats(q, writer, &l, base, ret);
    }
    const bool complete = ret->weights != NULL && (ret->bias != NULL || !l.has_bias);
    layer_release(&l);
    return complete ? VT_OK : out_of_memory(err);
}
