/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators, and what can be checked about a node without knowing a shape.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "graph/import.h"
#include "graph/infer.h"

static const struct vt_operator operators[] = {
#define X(name, min, max, in_min, in_max, out_min, out_max, function, cost, types, remark)         \
    {#name, "", min, max, in_min, in_max, out_min, out_max, vt_infer_##function, VT_TYPES_##types, \
     remark},
#define X_CONTROL(name, min, max, in_min, in_max, out_min, out_max, types, remark)                 \
    {#name, "", min, max, in_min, in_max, out_min, out_max, NULL, VT_TYPES_##types, remark},
#include "graph/operators.inc"
#undef X
#undef X_CONTROL
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

const struct vt_operator *vt_operator_table(size_t *ret_n)
{
    *ret_n = N_OPERATORS;
    return operators;
}

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct vt_operator *)entry)->name);
}

const struct vt_operator *vt_operator_find(const char *domain, const char *name)
{
    if (domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0) {
        return NULL;
    }
    return bsearch(name, operators, N_OPERATORS, sizeof(operators[0]), compare_name);
}

const char *vt_operator_nearest(const char *name)
{
    const char *names[N_OPERATORS];

    for (size_t i = 0; i < N_OPERATORS; i++) {
        names[i] = operators[i].name;
    }
    return strlen(name) < 64 ? vt_nearest_name(name, names, N_OPERATORS) : NULL;
}

/* The types of attributes. ONNX uses a name with one type throughout; the value of Pad and the seed
 * of Dropout are apart. */
static const struct {
    const char *name;
    enum vt_attr_type type;
} attr_types[] = {
    {"activation_alpha", VT_ATTR_FLOATS},
    {"activation_beta", VT_ATTR_FLOATS},
    {"activations", VT_ATTR_STRINGS},
    {"align_corners", VT_ATTR_INT},
    {"allowzero", VT_ATTR_INT},
    {"alpha", VT_ATTR_FLOAT},
    {"antialias", VT_ATTR_INT},
    {"approximate", VT_ATTR_STRING},
    {"auto_pad", VT_ATTR_STRING},
    {"axes", VT_ATTR_INTS},
    {"axis", VT_ATTR_INT},
    {"batch_axis", VT_ATTR_INT},
    {"batch_dims", VT_ATTR_INT},
    {"beta", VT_ATTR_FLOAT},
    {"bias", VT_ATTR_FLOAT},
    {"block_size", VT_ATTR_INT},
    {"blocksize", VT_ATTR_INT},
    {"body", VT_ATTR_GRAPH},
    {"broadcast", VT_ATTR_INT},
    {"ceil_mode", VT_ATTR_INT},
    {"center_point_box", VT_ATTR_INT},
    {"clip", VT_ATTR_FLOAT},
    {"consumed_inputs", VT_ATTR_INTS},
    {"coordinate_transformation_mode", VT_ATTR_STRING},
    {"count_include_pad", VT_ATTR_INT},
    {"cubic_coeff_a", VT_ATTR_FLOAT},
    {"detect_negative", VT_ATTR_INT},
    {"detect_positive", VT_ATTR_INT},
    {"dilations", VT_ATTR_INTS},
    {"direction", VT_ATTR_STRING},
    {"directions", VT_ATTR_INTS},
    {"dtype", VT_ATTR_INT},
    {"else_branch", VT_ATTR_GRAPH},
    {"end", VT_ATTR_INT},
    {"ends", VT_ATTR_INTS},
    {"epsilon", VT_ATTR_FLOAT},
    {"equation", VT_ATTR_STRING},
    {"exclude_outside", VT_ATTR_INT},
    {"exclusive", VT_ATTR_INT},
    {"extrapolation_value", VT_ATTR_FLOAT},
    {"fmod", VT_ATTR_INT},
    {"gamma", VT_ATTR_FLOAT},
    {"group", VT_ATTR_INT},
    {"hidden_size", VT_ATTR_INT},
    {"high", VT_ATTR_FLOAT},
    {"ignore_index", VT_ATTR_INT},
    {"input_forget", VT_ATTR_INT},
    {"interleaved", VT_ATTR_INT},
    {"inverse", VT_ATTR_INT},
    {"is_causal", VT_ATTR_INT},
    {"is_test", VT_ATTR_INT},
    {"k", VT_ATTR_INT},
    {"keep_aspect_ratio_policy", VT_ATTR_STRING},
    {"keepdims", VT_ATTR_INT},
    {"kernel_shape", VT_ATTR_INTS},
    {"kv_num_heads", VT_ATTR_INT},
    {"lambd", VT_ATTR_FLOAT},
    {"largest", VT_ATTR_INT},
    {"layout", VT_ATTR_INT},
    {"left_window_size", VT_ATTR_INT},
    {"linear_before_reset", VT_ATTR_INT},
    {"low", VT_ATTR_FLOAT},
    {"max", VT_ATTR_FLOAT},
    {"mean", VT_ATTR_FLOAT},
    {"min", VT_ATTR_FLOAT},
    {"mode", VT_ATTR_STRING},
    {"momentum", VT_ATTR_FLOAT},
    {"nearest_mode", VT_ATTR_STRING},
    {"new_axis", VT_ATTR_INT},
    {"noop_with_empty_axes", VT_ATTR_INT},
    {"num_groups", VT_ATTR_INT},
    {"num_heads", VT_ATTR_INT},
    {"num_outputs", VT_ATTR_INT},
    {"num_scan_inputs", VT_ATTR_INT},
    {"offset_group", VT_ATTR_INT},
    {"onesided", VT_ATTR_INT},
    {"output_datatype", VT_ATTR_INT},
    {"output_dtype", VT_ATTR_INT},
    {"output_height", VT_ATTR_INT},
    {"output_padding", VT_ATTR_INTS},
    {"output_sequence", VT_ATTR_INT},
    {"output_shape", VT_ATTR_INTS},
    {"output_width", VT_ATTR_INT},
    {"p", VT_ATTR_INT},
    {"padding_mode", VT_ATTR_STRING},
    {"pads", VT_ATTR_INTS},
    {"periodic", VT_ATTR_INT},
    {"perm", VT_ATTR_INTS},
    {"pooled_shape", VT_ATTR_INTS},
    {"q_num_heads", VT_ATTR_INT},
    {"qk_matmul_output_mode", VT_ATTR_INT},
    {"ratio", VT_ATTR_FLOAT},
    {"reduction", VT_ATTR_STRING},
    {"reverse", VT_ATTR_INT},
    {"right_window_size", VT_ATTR_INT},
    {"rotary_embedding_dim", VT_ATTR_INT},
    {"sample_size", VT_ATTR_INT},
    {"sampling_ratio", VT_ATTR_INT},
    {"saturate", VT_ATTR_INT},
    {"scale", VT_ATTR_FLOAT},
    {"scales", VT_ATTR_FLOATS},
    {"scan_input_axes", VT_ATTR_INTS},
    {"scan_input_directions", VT_ATTR_INTS},
    {"scan_output_axes", VT_ATTR_INTS},
    {"scan_output_directions", VT_ATTR_INTS},
    {"seed", VT_ATTR_INT},
    {"select_last_index", VT_ATTR_INT},
    {"shape", VT_ATTR_INTS},
    {"size", VT_ATTR_INT},
    {"softcap", VT_ATTR_FLOAT},
    {"softmax_precision", VT_ATTR_INT},
    {"sorted", VT_ATTR_INT},
    {"spatial", VT_ATTR_INT},
    {"spatial_scale", VT_ATTR_FLOAT},
    {"split", VT_ATTR_INTS},
    {"start", VT_ATTR_INT},
    {"starts", VT_ATTR_INTS},
    {"stash_type", VT_ATTR_INT},
    {"storage_order", VT_ATTR_INT},
    {"strides", VT_ATTR_INTS},
    {"then_branch", VT_ATTR_GRAPH},
    {"time_axis", VT_ATTR_INT},
    {"to", VT_ATTR_INT},
    {"training_mode", VT_ATTR_INT},
    {"transA", VT_ATTR_INT},
    {"transB", VT_ATTR_INT},
    {"upper", VT_ATTR_INT},
    {"value", VT_ATTR_TENSOR},
    {"value_float", VT_ATTR_FLOAT},
    {"value_floats", VT_ATTR_FLOATS},
    {"value_int", VT_ATTR_INT},
    {"value_ints", VT_ATTR_INTS},
};

enum vt_attr_type vt_operator_attr_type(const char *op, const char *attr)
{
    if (strcmp(attr, "value") == 0 && strcmp(op, "Pad") == 0) {
        return VT_ATTR_FLOAT;
    }
    if (strcmp(attr, "seed") == 0 && strcmp(op, "Dropout") != 0) {
        return VT_ATTR_FLOAT;
    }
    for (size_t i = 0; i < sizeof(attr_types) / sizeof(attr_types[0]); i++) {
        if (strcmp(attr_types[i].name, attr) == 0) {
            return attr_types[i].type;
        }
    }
    return 0;
}

/* "2", "1 to 5", "1 or more". */
static const char *range_text(uint32_t min, uint32_t max, char *text, size_t size)
{
    if (max == UINT32_MAX) {
        (void)snprintf(text, size, "%u or more", min);
    } else if (min == max) {
        (void)snprintf(text, size, "%u", min);
    } else {
        (void)snprintf(text, size, "%u to %u", min, max);
    }
    return text;
}

/* A branch takes nothing and gives what the node gives. */
static enum vt_status check_branch(const struct vt_node *node, const char *name,
                                   struct vt_error *err)
{
    const struct vt_attr *attr = vt_node_attr(node, name);

    if (attr == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "attribute %s is missing", name);
    }
    if (attr->graph->n_inputs != 0 || attr->graph->n_outputs != node->n_outputs) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s has %u inputs and %u outputs, 0 and %u are needed", name,
                            attr->graph->n_inputs, attr->graph->n_outputs, node->n_outputs);
    }
    return VT_OK;
}

/*
 * Loop(trips, condition, v…) with a body (iteration, condition, v…) -> (condition, v…, scan…) and
 * outputs (v…, scan…).
 */
static enum vt_status check_loop(const struct vt_node *node, struct vt_error *err)
{
    const struct vt_attr *attr = vt_node_attr(node, "body");

    if (attr == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "attribute body is missing");
    }
    const struct vt_graph *body = attr->graph;
    if (body->n_inputs != node->n_inputs) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "its body has %u inputs, the node has %u: they must be as many",
                            body->n_inputs, node->n_inputs);
    }
    if (body->n_outputs != node->n_outputs + 1 || node->n_outputs + 2 < node->n_inputs) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "its body has %u outputs, the node %u and %u carried values: the body "
                            "has one more than the node, the node at least the carried values",
                            body->n_outputs, node->n_outputs, node->n_inputs - 2);
    }
    for (uint32_t i = 2; i < node->n_inputs; i++) {
        if (node->inputs[i] == VT_NO_VALUE) {
            return vt_error_set(err, VT_ERR_FORMAT, "carried value %u is omitted", i - 2);
        }
    }
    return VT_OK;
}

/*
 * Attributes that came later than their operator and on which extents depend. Before that opset a
 * model that has one is no model, and whoever took it at its word would disagree with whoever did
 * not. An operator's name may be the beginning of several.
 */
static const struct late_attr {
    const char *op, *attr;
    int64_t since;
} late_attrs[] = {
    {"BatchNormalization", "training_mode", 14},
    {"DequantizeLinear", "block_size", 21},
    {"DequantizeLinear", "output_dtype", 23},
    {"GatherND", "batch_dims", 12},
    {"GRU", "layout", 14},
    {"LSTM", "layout", 14},
    {"QuantizeLinear", "block_size", 21},
    {"QuantizeLinear", "output_dtype", 21},
    {"ReduceSum", "noop_with_empty_axes", 13},
    {"Reduce", "noop_with_empty_axes", 18},
    {"Reshape", "allowzero", 14},
    {"Resize", "axes", 18},
    {"Resize", "keep_aspect_ratio_policy", 18},
    {"RNN", "layout", 14},
    {"Scatter", "reduction", 16},
    {"Shape", "end", 15},
    {"Shape", "start", 15},
    {"Split", "num_outputs", 18},
};

/* ReduceSum alone, not ReduceSumSquare. */
static bool is_named(const struct late_attr *late, const char *op)
{
    return strcmp(late->op, op) == 0 ||
           ((strcmp(late->op, "Reduce") == 0 || strcmp(late->op, "Scatter") == 0) &&
            strncmp(late->op, op, strlen(late->op)) == 0 && strcmp(op, "ReduceSum") != 0);
}

static enum vt_status check_attributes(const struct vt_node *node, struct vt_error *err)
{
    for (size_t i = 0; i < sizeof(late_attrs) / sizeof(late_attrs[0]); i++) {
        const struct late_attr *late = &late_attrs[i];
        if (node->opset < late->since && is_named(late, node->op) &&
            vt_node_attr(node, late->attr) != NULL) {
            return vt_error_set(err, VT_ERR_FORMAT,
                                "attribute '%s' exists from opset %lld on, the model uses %lld",
                                late->attr, (long long)late->since, (long long)node->opset);
        }
    }
    return VT_OK;
}

enum vt_status vt_operator_check(const struct vt_node *node, struct vt_error *err)
{
    const struct vt_operator *op = node->operator;
    char text[32];

    if (node->n_inputs < op->min_inputs || node->n_inputs > op->max_inputs) {
        return vt_error_set(err, VT_ERR_FORMAT, "has %u inputs, %s are allowed", node->n_inputs,
                            range_text(op->min_inputs, op->max_inputs, text, sizeof(text)));
    }
    if (node->n_outputs < op->min_outputs || node->n_outputs > op->max_outputs) {
        return vt_error_set(err, VT_ERR_FORMAT, "has %u outputs, %s are allowed", node->n_outputs,
                            range_text(op->min_outputs, op->max_outputs, text, sizeof(text)));
    }
    /* Of a list of inputs none may be missing. */
    const uint32_t needed = op->max_inputs == UINT32_MAX ? node->n_inputs : op->min_inputs;
    const bool counts = op->infer != NULL || vt_import_is_sequence(op->name);
    for (uint32_t i = 0; counts && i < needed; i++) {
        if (node->inputs[i] == VT_NO_VALUE) {
            return vt_error_set(err, VT_ERR_FORMAT, "input %u is omitted but needed", i);
        }
    }
    enum vt_status status = check_attributes(node, err);
    if (status != VT_OK) {
        return status;
    }
    if (strcmp(op->name, "If") == 0) {
        status = node->inputs[0] != VT_NO_VALUE
                     ? check_branch(node, "then_branch", err)
                     : vt_error_set(err, VT_ERR_FORMAT, "its condition is omitted");
        return status != VT_OK ? status : check_branch(node, "else_branch", err);
    }
    return strcmp(op->name, "Loop") == 0 ? check_loop(node, err) : VT_OK;
}
