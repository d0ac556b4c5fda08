/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one operator through its struct vt_op, on a node that is built by hand. Which inputs are
 * constants is the test's choice, as it decides what prepare() may see and pack.
 */
#ifndef OP_HARNESS_H
#define OP_HARNESS_H

#include "vt_test.h"

#include "base/alloc.h"
#include "plan/op.h"

#define HARNESS_MAX 8

struct harness {
    struct vt_attr attrs[HARNESS_MAX];
    uint32_t values[HARNESS_MAX];
    struct vt_node node;
    struct vt_tensor inputs[HARNESS_MAX], shown[HARNESS_MAX];
    const struct vt_tensor *pointers[HARNESS_MAX];
    bool constant[HARNESS_MAX];
    struct vt_tensor outputs[2];
    struct vt_epilogue epilogue;
    struct vt_channel_affine affine;
    struct vt_pool *pool;
    uint32_t n_inputs;
    struct vt_error err;
};

static inline void harness_init(struct harness *h, const char *op, int64_t opset)
{
    memset(h, 0, sizeof(*h));
    h->node.name = "tested";
    h->node.op = op;
    h->node.domain = "";
    h->node.opset = opset;
    h->node.attrs = h->attrs;
    h->node.inputs = h->node.outputs = h->values;
    h->node.n_outputs = 1;
}

static inline struct vt_tensor harness_tensor(enum vt_dtype dtype, uint32_t rank,
                                              const int64_t *dim, void *data)
{
    struct vt_tensor t;
    assert_int_equal(vt_tensor_init(&t, dtype, rank, dim, data, NULL), VT_OK);
    return t;
}

static inline void harness_input(struct harness *h, bool constant, enum vt_dtype dtype,
                                 uint32_t rank, const int64_t *dim, const void *data)
{
    h->constant[h->n_inputs] = constant;
    h->inputs[h->n_inputs++] = harness_tensor(dtype, rank, dim, (void *)(uintptr_t)data);
    h->node.n_inputs = h->n_inputs;
}

static inline void harness_output(struct harness *h, enum vt_dtype dtype, uint32_t rank,
                                  const int64_t *dim, void *data)
{
    h->outputs[0] = harness_tensor(dtype, rank, dim, data);
}

static inline struct vt_attr *harness_attr(struct harness *h, const char *name,
                                           enum vt_attr_type type, size_t n)
{
    struct vt_attr *attr = &h->attrs[h->node.n_attrs++];
    attr->name = name;
    attr->type = type;
    attr->n = n;
    return attr;
}

static inline void harness_int(struct harness *h, const char *name, int64_t value)
{
    harness_attr(h, name, VT_ATTR_INT, 0)->i = value;
}

static inline void harness_float(struct harness *h, const char *name, float value)
{
    harness_attr(h, name, VT_ATTR_FLOAT, 0)->f = value;
}

static inline void harness_string(struct harness *h, const char *name, const char *value)
{
    harness_attr(h, name, VT_ATTR_STRING, strlen(value))->s = value;
}

static inline void harness_ints(struct harness *h, const char *name, size_t n,
                                const int64_t *values)
{
    harness_attr(h, name, VT_ATTR_INTS, n)->ints = values;
}

/* prepare() and, when that is well, run(). The text of a failure is in h->err. */
static inline enum vt_status harness_run(struct harness *h)
{
    const struct vt_op *op = vt_op_find("", h->node.op);
    struct vt_weights *weights = NULL;
    size_t workspace_bytes = 0;
    enum vt_status status = VT_OK;
    assert_non_null(op);
    assert_int_equal(vt_weights_new(NULL, NULL, &weights), VT_OK);
    void *state = vt_calloc(1, op->state_bytes + 1);
    struct vt_tensor outputs[2] = {h->outputs[0], h->outputs[1]};
    struct vt_op_context ctx = {.node = &h->node,
                                .weights = weights,
                                .pool = h->pool,
                                .epilogue = &h->epilogue,
                                .affine = &h->affine,
                                .inputs = h->pointers,
                                .n_inputs = h->n_inputs,
                                .outputs = outputs,
                                .n_outputs = h->node.n_outputs,
                                .state = state,
                                .err = &h->err};
    for (uint32_t i = 0; i < h->n_inputs; i++) {
        h->shown[i] = h->inputs[i];
        if (!h->constant[i])
            h->shown[i].data = NULL;
        h->pointers[i] = &h->shown[i];
    }
    outputs[0].data = outputs[1].data = NULL;
    if (op->prepare != NULL)
        status = op->prepare(&ctx, &workspace_bytes);
    if (status == VT_OK) {
        for (uint32_t i = 0; i < h->n_inputs; i++)
            h->pointers[i] = &h->inputs[i];
        ctx.outputs = h->outputs;
        ctx.workspace = vt_alloc(workspace_bytes);
        status = op->run(&ctx);
        vt_free(ctx.workspace);
    }
    vt_free(state);
    vt_weights_free(weights);
    return status;
}

#endif
