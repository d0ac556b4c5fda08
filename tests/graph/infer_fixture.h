/* SPDX-License-Identifier: Apache-2.0 */
/* One node whose inputs are told by hand, for tests of shape inference. */
#ifndef VT_TESTS_GRAPH_INFER_FIXTURE_H
#define VT_TESTS_GRAPH_INFER_FIXTURE_H

#include "graph/graph.h"
#include "onnx_writer.h"

#define OPEN -1

/* A node (freed) with these inputs, whose outputs are read after run(). */
struct one {
    struct pb bytes;
    struct vt_model *model;
    const struct vt_node *node;
    struct vt_shape_info inputs[8];
    struct vt_shape_info outputs[8];
    struct vt_tensor values[8];
    int64_t numbers[8][16];
    struct vt_error err;
};

/* The model of one node; without a model, and with the error, where it is refused. */
static inline struct one prepare_any(int64_t opset, struct pb node)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct one one = {.err = VT_ERROR_INIT};
    struct pb graph = {NULL, 0, 0};

    pb_message(&graph, OX_NODE, &node);
    for (int i = 0; i < 8; i++) {
        struct pb info = ox_value(names[i], 0, -1, NULL);
        pb_message(&graph, OX_INPUT, &info);
        one.inputs[i] = (struct vt_shape_info){.rank = VT_RANK_UNKNOWN};
    }
    one.bytes = ox_model(opset, &graph);
    if (vt_model_import_memory("m", one.bytes.bytes, one.bytes.size, NULL, &one.err, &one.model) ==
        VT_OK) {
        one.node = &vt_model_graph(one.model)->nodes[0];
    }
    return one;
}

static inline struct one prepare(int64_t opset, struct pb node)
{
    struct one one = prepare_any(opset, node);
    if (one.model == NULL) {
        fail_msg("%s", one.err.text);
    }
    return one;
}

static inline void shape(struct one *one, int i, enum vt_dtype dtype, uint32_t rank,
                         const int64_t *dim)
{
    one->inputs[i] = (struct vt_shape_info){.dtype = dtype, .rank = rank};
    for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
        one->inputs[i].dim[d] = one->inputs[i].bound[d] = d < rank ? dim[d] : -1;
    }
}

/* A list of int64 (rank 1) as input i, its contents known. */
static inline void list(struct one *one, int i, int64_t n, const int64_t *numbers)
{
    shape(one, i, VT_I64, 1, &n);
    memcpy(one->numbers[i], numbers, (size_t)n * sizeof(*numbers));
    one->values[i] =
        (struct vt_tensor){.dtype = VT_I64, .rank = 1, .dim = {n}, .data = one->numbers[i]};
    one->inputs[i].value = &one->values[i];
}

static inline void scales(struct one *one, int i, int64_t n, const float *numbers)
{
    shape(one, i, VT_F32, 1, &n);
    one->values[i] = (struct vt_tensor){
        .dtype = VT_F32, .rank = 1, .dim = {n}, .data = (void *)(uintptr_t)numbers};
    one->inputs[i].value = &one->values[i];
}

static inline enum vt_status run(struct one *one)
{
    const struct vt_shape_info *inputs[8] = {NULL};

    for (uint32_t i = 0; i < one->node->n_inputs; i++) {
        if (one->node->inputs[i] != VT_NO_VALUE) {
            inputs[i] = &one->inputs[i];
        }
    }
    const struct vt_infer infer = {one->model, one->node, inputs, one->outputs, &one->err};
    one->err = (struct vt_error)VT_ERROR_INIT;
    return vt_infer_node(&infer);
}

static inline void finish(struct one *one)
{
    vt_model_free(one->model);
    pb_free(&one->bytes);
}

static inline void expect(struct one *one, uint32_t output, uint32_t rank, const int64_t *dim)
{
    char found[128], wanted[128];

    if (run(one) != VT_OK) {
        fail_msg("%s", one->err.text);
    }
    const struct vt_shape_info *out = &one->outputs[output];
    assert_int_equal(out->rank, rank);
    (void)vt_shape_text(out->dim, rank, NULL, found, sizeof(found));
    (void)vt_shape_text(dim, rank, NULL, wanted, sizeof(wanted));
    assert_string_equal(found, wanted);
}

static inline void expect_refused(struct one *one, enum vt_status status, const char *word)
{
    assert_int_equal(run(one), status);
    if (strstr(one->err.text, word) == NULL || strstr(one->err.text, one->node->op) == NULL) {
        fail_msg("%s (wanted %s)", one->err.text, word);
    }
}

#define D(...) ((const int64_t[]){__VA_ARGS__})

#endif
