/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearConv, ConvInteger, QLinearMatMul and MatMulInteger with constant weights, which take the
 * fast kernels, against the same with weights that come as an input, which do not: the same bits.
 */
#include "vt_test.h"

#include "base/alloc.h"
#include "graph/write.h"
#include "plan/plan.h"

#define MOST 4096
static uint64_t seed;

static uint8_t draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)(seed >> 40);
}

struct operand {
    const char *name;
    enum vt_dtype dtype;
    uint32_t rank;
    int64_t dim[4];
};

static void fill(void *data, const struct operand *o, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (o->dtype == VT_F32)
            ((float *)data)[i] = 0.004F + (float)draw() * 1e-5F;
        else if (o->dtype == VT_I32)
            ((int32_t *)data)[i] = draw() * 20 - 2560;
        else
            ((uint8_t *)data)[i] = draw();
    }
}

static struct vt_tensor tensor_of(const struct operand *o, void *data)
{
    struct vt_tensor t = {.dtype = o->dtype, .rank = o->rank, .data = data};
    memcpy(t.dim, o->dim, sizeof o->dim);
    assert_true(vt_shape_bytes(t.dtype, t.dim, t.rank, &t.bytes));
    assert_true(t.bytes <= (size_t)MOST * 4);
    fill(data, o, (int64_t)(t.bytes / vt_dtype_bytes(t.dtype)));
    return t;
}

static struct vt_port port_of(const struct operand *o)
{
    struct vt_port port = {.name = o->name, .dtype = o->dtype, .rank = o->rank};
    memcpy(port.dim, o->dim, sizeof o->dim);
    return port;
}

/* Runs the operator; `inputs` of the operands are graph inputs, the first one always. */
static void run(const char *op, const struct operand *operands, uint32_t n, uint32_t weights,
                bool constant, enum vt_dtype result, uint32_t rank, int64_t group, void *ret,
                size_t *ret_bytes)
{
    static float data[10][MOST];
    struct vt_model_writer *w = NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor in[2], out;
    struct vt_model *model = NULL;
    struct vt_weights *packed = NULL;
    struct vt_plan *plan = NULL;
    const struct vt_port y = {.name = "y", .dtype = result, .rank = rank, .dim = {-1, -1, -1, -1}};
    uint32_t n_in = 0;
    void *bytes;
    size_t size;
    seed = 5;
    assert_int_equal(vt_model_writer_new("t", "g", 13, NULL, &w), VT_OK);
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_tensor t = tensor_of(&operands[i], data[i]);
        if (i == 0 || (i == weights && !constant)) {
            const struct vt_port port = port_of(&operands[i]);
            vt_write_input(w, &port);
            in[n_in++] = t;
        } else {
            vt_write_constant(w, operands[i].name, &t);
        }
    }
    vt_write_output(w, &y);
    vt_write_node_begin(w, op, op);
    for (uint32_t i = 0; i < n; i++)
        vt_write_node_input(w, operands[i].name);
    vt_write_node_output(w, "y");
    if (group > 0) {
        const int64_t pads[4] = {1, 0, 2, 1};
        vt_write_attr_ints(w, "pads", pads, 4);
        vt_write_attr_int(w, "group", group);
    }
    vt_write_node_end(w);
    if (vt_model_writer_to_memory(w, &err, &bytes, &size) != VT_OK ||
        vt_model_import_memory("m", bytes, size, NULL, &err, &model) != VT_OK ||
        vt_weights_new(model, &err, &packed) != VT_OK ||
        vt_plan_new(model, packed, NULL, in, n_in, NULL, &err, &plan) != VT_OK ||
        vt_plan_run(plan, in, n_in, &err, &out, 1) != VT_OK)
        fail_msg("%s: %s", op, err.text);
    assert_true(out.bytes > 0 && out.bytes <= (size_t)MOST * 4);
    memcpy(ret, out.data, out.bytes);
    *ret_bytes = out.bytes;
    vt_plan_free(plan);
    vt_weights_free(packed);
    vt_model_free(model);
    vt_free(bytes);
    vt_model_writer_free(w);
}

static void check(const char *op, const struct operand *operands, uint32_t n, uint32_t weights,
                  enum vt_dtype result, uint32_t rank, int64_t group)
{
    static uint8_t fast[MOST * 4], slow[MOST * 4];
    size_t n_fast, n_slow;
    run(op, operands, n, weights, true, result, rank, group, fast, &n_fast);
    run(op, operands, n, weights, false, result, rank, group, slow, &n_slow);
    assert_int_equal(n_fast, n_slow);
    assert_memory_equal(fast, slow, n_fast);
}

static void test_convolutions(void **state)
{
    static const enum vt_dtype bytes[] = {VT_U8, VT_I8};
    (void)state;
    for (int i = 0; i < 16; i++) {
        const enum vt_dtype x = bytes[i & 1], w = bytes[i >> 1 & 1], y = bytes[i >> 2 & 1];
        const bool depthwise = (i >> 3 & 1) != 0;
        const int64_t ins = depthwise ? 1 : 6;
        const struct operand linear[] = {
            {"x", x, 4, {2, 6, 7, 9}},   {"xs", VT_F32, 0, {0}}, {"xz", x, 0, {0}},
            {"w", w, 4, {6, ins, 3, 3}}, {"ws", VT_F32, 1, {6}}, {"wz", w, 1, {6}},
            {"ys", VT_F32, 0, {0}},      {"yz", y, 0, {0}},      {"b", VT_I32, 1, {6}},
        };
        check("QLinearConv", linear, 9, 3, y, 4, depthwise ? 6 : 1);
        const struct operand plain[] = {linear[0], linear[3], linear[2], {"wz", w, 0, {0}}};
        check("ConvInteger", plain, 4, 1, VT_I32, 4, depthwise ? 6 : 1);
    }
}

static void test_products(void **state)
{
    static const enum vt_dtype bytes[] = {VT_U8, VT_I8};
    (void)state;
    for (int i = 0; i < 8; i++) {
        const enum vt_dtype a = bytes[i & 1], b = bytes[i >> 1 & 1], y = bytes[i >> 2 & 1];
        const struct operand linear[] = {
            {"a", a, 3, {2, 5, 37}}, {"as", VT_F32, 0, {0}}, {"az", a, 0, {0}},
            {"b", b, 2, {37, 41}},   {"bs", VT_F32, 0, {0}}, {"bz", b, 0, {0}},
            {"ys", VT_F32, 0, {0}},  {"yz", y, 0, {0}},
        };
        check("QLinearMatMul", linear, 8, 3, y, 3, 0);
        const struct operand plain[] = {linear[0], linear[3], linear[2], {"bz", b, 1, {41}}};
        check("MatMulInteger", plain, 4, 1, VT_I32, 3, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
