/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures with bindings, and what can be told of a model without running it.
 */
#include "graph/inspect.h"
#include "onnx_writer.h"
#include "vt_torture.h"

static void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

/* x [A, 3, C, C'] -> Conv 8 of 3x3 -> Relu -> GlobalAveragePool -> Flatten -> y; C' is "D". */
static struct pb network(void)
{
    static const float weights[8 * 3 * 3 * 3];
    struct pb graph = {NULL, 0, 0}, node = ox_node("Conv", "x w b", "c");

    ox_attr_ints(&node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    add(&graph, OX_NODE, node);
    add(&graph, OX_NODE, ox_node("Relu", "c", "r"));
    add(&graph, OX_NODE, ox_node("GlobalAveragePool", "r", "p"));
    add(&graph, OX_NODE, ox_node("Flatten", "p", "y"));
    add(&graph, OX_INITIALIZER,
        ox_tensor_raw("w", VT_F32, 4, (int64_t[]){8, 3, 3, 3}, weights, sizeof(weights)));
    add(&graph, OX_INITIALIZER, ox_tensor_raw("b", VT_F32, 1, (int64_t[]){8}, weights, 32));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 4, (int64_t[]){-1, 3, -1, -1}));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, 2, (int64_t[]){-1, 8}));
    return ox_model(13, &graph);
}

static struct vt_model *import(const struct pb *bytes)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    if (vt_model_import_memory("m.onnx", bytes->bytes, bytes->size, NULL, &err, &model) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return model;
}

static void test_bindings(void **state)
{
    (void)state;
    struct pb bytes = network();
    struct vt_model *model = import(&bytes);
    struct vt_signature signature;
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(vt_model_signature(model, NULL, 0, &err, &signature), VT_OK);
    assert_int_equal(signature.n_inputs, 1);
    assert_int_equal(signature.inputs[0].dim[0], -1);
    assert_string_equal(signature.inputs[0].symbol[0], "A");
    assert_int_equal(signature.outputs[0].rank, 2);
    vt_signature_release(&signature);

    /* The symbol is bound wherever it stands. */
    const struct vt_shape_binding batch = {"A", 1, {5}};
    assert_int_equal(vt_model_signature(model, &batch, 1, &err, &signature), VT_OK);
    assert_int_equal(signature.inputs[0].dim[0], 5);
    assert_int_equal(signature.outputs[0].dim[0], 5);
    assert_int_equal(signature.inputs[0].dim[2], -1);
    vt_signature_release(&signature);

    const struct vt_shape_binding whole[] = {{"x", 4, {2, 3, 16, 20}}, {"D", 1, {20}}};
    assert_int_equal(vt_model_signature(model, whole, 2, &err, &signature), VT_OK);
    assert_int_equal(signature.inputs[0].dim[3], 20);
    assert_int_equal(signature.outputs[0].dim[0], 2);
    vt_signature_release(&signature);

    static const struct {
        struct vt_shape_binding binding[2];
        uint32_t n;
        const char *word;
    } wrong[] = {
        {{{"z", 1, {5}}}, 1, "no input and no open extent"},
        {{{"x", 3, {2, 3, 16}}}, 1, "3 extents"},
        {{{"x", 4, {2, 4, 16, 16}}}, 1, "cannot be 4"},
        {{{"x", 4, {2, 3, 0, 16}}}, 1, "at least 1"},
        {{{"A", 1, {-1}}}, 1, "at least 1"},
        {{{"A", 2, {1, 2}}}, 1, "one extent"},
        {{{"A", 1, {5}}, {"A", 1, {6}}}, 2, "given before"},
        {{{"A", 1, {5}}, {"x", 4, {6, 3, 8, 8}}}, 2, "cannot be 6"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        assert_int_equal(vt_model_signature(model, wrong[i].binding, wrong[i].n, &err, &signature),
                         VT_ERR_USAGE);
        if (strstr(err.text, wrong[i].word) == NULL) {
            fail_msg("%zu: %s", i, err.text);
        }
    }
    vt_model_free(model);
    pb_free(&bytes);
}

/* An input without a shape needs one; an output without one is inferred, else left open. */
static void test_undeclared(void **state)
{
    (void)state;
    const struct vt_shape_binding binding = {"x", 2, {3, 4}};
    struct pb graph = {NULL, 0, 0};
    struct vt_signature signature;
    struct vt_error err = VT_ERROR_INIT;

    add(&graph, OX_INPUT, ox_value("x", VT_F32, -1, NULL));
    add(&graph, OX_INPUT, ox_value("s", VT_I64, 1, (int64_t[]){-1}));
    add(&graph, OX_NODE, ox_node("Relu", "x", "y"));
    add(&graph, OX_NODE, ox_node("Reshape", "x s", "z"));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    add(&graph, OX_OUTPUT, ox_value("z", VT_F32, -1, NULL));
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);

    assert_int_equal(vt_model_signature(model, NULL, 0, &err, &signature), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "--shape x="));
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_model_signature(model, &binding, 1, &err, &signature), VT_OK);
    assert_int_equal(signature.outputs[0].rank, 2);
    assert_int_equal(signature.outputs[0].dim[1], 4);
    assert_int_equal(signature.outputs[1].rank, 1);
    assert_int_equal(signature.outputs[1].dim[0], -1);
    assert_string_equal(signature.outputs[1].symbol[0], "...");
    vt_signature_release(&signature);
    vt_model_free(model);
    pb_free(&bytes);
}

static void test_inspect(void **state)
{
    (void)state;
    const struct vt_shape_binding binding[] = {{"C", 1, {16}}, {"D", 1, {20}}};
    struct pb bytes = network();
    struct vt_model *model = import(&bytes);
    struct vt_model_summary summary;
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(vt_model_inspect(model, binding, 2, &err, &summary), VT_OK);
    assert_int_equal(summary.n_nodes, 4);
    assert_int_equal(summary.n_operators, 4);
    assert_string_equal(summary.operators[0].name, "Conv"); /* equally many: by name */
    assert_int_equal(summary.parameters, 8 * 27 + 8);
    assert_int_equal(summary.constant_bytes, 4 * (8 * 27 + 8));
    assert_int_equal(summary.n_constants, 2);
    assert_int_equal(summary.uncounted_nodes, 0);
    /* One sample: the convolution's 27 multiply-adds and a bias, a maximum, a sum for the mean. */
    const double pixels = 16.0 * 20.0 * 8.0;
    assert_true(summary.flops == pixels * (2 * 27 + 1) + pixels + pixels);
    vt_model_summary_release(&summary);

    assert_int_equal(vt_model_inspect(model, NULL, 0, &err, &summary), VT_OK);
    assert_int_equal(summary.uncounted_nodes, 3); /* all but the last, whose input is known */
    vt_model_summary_release(&summary);
    vt_model_free(model);
    pb_free(&bytes);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct pb bytes = network();
    struct vt_model *model = import(&bytes);
    bool done = false;

    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_model_summary summary;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_model_inspect(model, NULL, 0, &err, &summary);
        if (status == VT_OK) {
            vt_model_summary_release(&summary);
            done = true;
        }
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
    }
    vt_model_free(model);
    pb_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_undeclared),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
