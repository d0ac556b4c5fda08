/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of single nodes: what changed with the opset, and every operator at every opset. */
#include "infer_fixture.h"

/* Axes and the like are attributes first and inputs later. */
static void test_opset_switches(void **state)
{
    (void)state;
    struct pb node = ox_node("Squeeze", "a", "y");
    ox_attr_ints(&node, "axes", D(0, 2), 2);
    struct one one = prepare(11, node);
    shape(&one, 0, VT_F32, 3, D(1, 5, 1));
    expect(&one, 0, 1, D(5));
    shape(&one, 0, VT_F32, 3, D(2, 5, 1));
    expect_refused(&one, VT_ERR_FORMAT, "cannot be squeezed");
    finish(&one);

    one = prepare(13, ox_node("Unsqueeze", "a b", "y"));
    shape(&one, 0, VT_F32, 2, D(3, 4));
    list(&one, 1, 2, D(-1, 0));
    expect(&one, 0, 4, D(1, 3, 4, 1));
    list(&one, 1, 2, D(0, 0));
    expect_refused(&one, VT_ERR_FORMAT, "named twice");
    finish(&one);

    node = ox_node("Slice", "a", "y");
    ox_attr_ints(&node, "starts", D(1), 1);
    ox_attr_ints(&node, "ends", D(100), 1);
    one = prepare(9, node);
    shape(&one, 0, VT_F32, 2, D(3, 4));
    expect(&one, 0, 2, D(2, 4));
    finish(&one);

    one = prepare(9, ox_node("Slice", "a b c", "y"));
    shape(&one, 0, VT_F32, 2, D(3, 4));
    expect_refused(&one, VT_ERR_FORMAT, "before opset 10");
    finish(&one);

    node = ox_node("TopK", "a", "v i");
    ox_attr_int(&node, "k", 2);
    one = prepare(9, node);
    shape(&one, 0, VT_F32, 2, D(3, 4));
    expect(&one, 1, 2, D(3, 2));
    finish(&one);
    one = prepare(11, ox_node("TopK", "a b", "v i"));
    shape(&one, 0, VT_F32, 2, D(3, 4));
    list(&one, 1, 1, D(5));
    expect_refused(&one, VT_ERR_FORMAT, "k is 5");
    shape(&one, 1, VT_I64, 1, D(1));
    expect(&one, 0, 2, D(3, OPEN));
    assert_int_equal(one.outputs[0].bound[1], 4);
    finish(&one);

    node = ox_node("Pad", "a", "y");
    ox_attr_ints(&node, "pads", D(0, 1, 2, -1), 4);
    one = prepare(8, node);
    shape(&one, 0, VT_F32, 2, D(3, 4));
    expect(&one, 0, 2, D(5, 4));
    finish(&one);
    one = prepare(18, ox_node("Pad", "a b - c", "y"));
    shape(&one, 0, VT_F32, 2, D(3, 4));
    list(&one, 1, 2, D(5, 6));
    list(&one, 3, 1, D(-1));
    expect(&one, 0, 2, D(3, 15));
    finish(&one);
}

static void test_opset_switches_of_reductions(void **state)
{
    (void)state;
    /* ReduceSum takes its axes as an input at 13, ReduceMean at 18. */
    struct one one = prepare(13, ox_node("ReduceSum", "a b", "y"));
    shape(&one, 0, VT_F32, 3, D(2, 3, 4));
    list(&one, 1, 1, D(1));
    expect(&one, 0, 3, D(2, 1, 4));
    finish(&one);
    struct pb node = ox_node("ReduceMean", "a", "y");
    ox_attr_ints(&node, "axes", D(-1), 1);
    ox_attr_int(&node, "keepdims", 0);
    one = prepare(17, node);
    shape(&one, 0, VT_F32, 3, D(2, 3, 4));
    expect(&one, 0, 2, D(2, 3));
    finish(&one);
    one = prepare(18, ox_node("ReduceMean", "a b", "y"));
    shape(&one, 0, VT_F32, 3, D(2, 3, 4));
    list(&one, 1, 2, D(0, 2));
    expect(&one, 0, 3, D(1, 3, 1));
    finish(&one);

    node = ox_node("Split", "a", "x y");
    ox_attr_ints(&node, "split", D(1, 3), 2);
    one = prepare(11, node);
    shape(&one, 0, VT_F32, 1, D(4));
    expect(&one, 1, 1, D(3));
    finish(&one);
    node = ox_node("Split", "a", "x y z");
    ox_attr_int(&node, "num_outputs", 3);
    one = prepare(18, node);
    shape(&one, 0, VT_F32, 1, D(7));
    expect(&one, 0, 1, D(3));
    expect(&one, 2, 1, D(1));
    finish(&one);
    one = prepare(13, ox_node("Split", "a", "x y"));
    shape(&one, 0, VT_F32, 1, D(7));
    expect_refused(&one, VT_ERR_FORMAT, "equal parts");
    finish(&one);

    one = prepare(9, ox_node("Gemm", "a b", "y"));
    shape(&one, 0, VT_F32, 2, D(2, 3));
    shape(&one, 1, VT_F32, 2, D(3, 4));
    assert_int_equal(run(&one), VT_ERR_FORMAT);
    finish(&one);
}

/* Nothing known gives nothing known, never an error or a crash, for every operator. */
static void test_unknown_inputs(void **state)
{
    (void)state;
    size_t n;
    const struct vt_operator *table = vt_operator_table(&n);

    for (size_t i = 0; i < n; i++) {
        static const char *const names[] = {"", "a", "a b", "a b c", "a b c d", "a b c d e"};
        char inputs[32] = "a b c d e f g h", outputs[32] = "u v w x";
        if (table[i].infer == NULL) {
            continue;
        }
        if (table[i].min_inputs <= 5) {
            (void)snprintf(inputs, sizeof(inputs), "%s", names[table[i].min_inputs]);
        }
        outputs[2 * table[i].min_outputs - 1] = '\0';
        struct pb node = ox_node(table[i].name, inputs, outputs);
        /* What some cannot do without. */
        ox_attr_int(&node, "axis", 0);
        ox_attr_int(&node, "to", VT_F32);
        ox_attr_int(&node, "blocksize", 1);
        ox_attr_int(&node, "size", 1);
        ox_attr_int(&node, "num_groups", 1);
        ox_attr_int(&node, "k", 1);
        ox_attr_ints(&node, "kernel_shape", D(1), 1);
        ox_attr_ints(&node, "pads", D(0), 1);
        ox_attr_ints(&node, "axes", D(0), 1);
        ox_attr_ints(&node, "starts", D(0), 1);
        ox_attr_ints(&node, "ends", D(0), 1);
        for (int64_t opset = table[i].min_opset; opset <= table[i].max_opset; opset++) {
            struct pb copy = {NULL, 0, 0};
            pb_raw(&copy, node.bytes, node.size);
            struct one one = prepare_any(opset, copy);
            if (one.model == NULL) {
                /* Not all of these attributes are there in every opset. */
                assert_non_null(strstr(one.err.text, "exists from opset"));
                finish(&one);
                continue;
            }
            enum vt_status status = run(&one);
            /* The few inputs that the table allows may be too few for this opset. */
            if (status != VT_OK && strstr(one.err.text, "missing") == NULL &&
                strstr(one.err.text, "needs") == NULL && strstr(one.err.text, "before") == NULL &&
                strstr(one.err.text, "attribute") == NULL) {
                fail_msg("%s", one.err.text);
            }
            finish(&one);
        }
        pb_free(&node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opset_switches),
        cmocka_unit_test(test_opset_switches_of_reductions),
        cmocka_unit_test(test_unknown_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
