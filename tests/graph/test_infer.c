/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of single nodes: what is not known yet, what cannot be. */
#include "infer_fixture.h"

static void test_broadcast(void **state)
{
    (void)state;
    struct one one = prepare(13, ox_node("Add", "a b", "y"));

    shape(&one, 0, VT_F32, 3, D(8, 1, 6));
    shape(&one, 1, VT_F32, 2, D(7, 1));
    expect(&one, 0, 3, D(8, 7, 6));
    shape(&one, 1, VT_F32, 0, NULL);
    expect(&one, 0, 3, D(8, 1, 6));
    shape(&one, 1, VT_F32, 2, D(OPEN, 6));
    expect(&one, 0, 3, D(8, OPEN, 6));
    shape(&one, 1, VT_F32, 2, D(1, OPEN)); /* must be 1 or 6: 6 either way */
    expect(&one, 0, 3, D(8, 1, 6));
    shape(&one, 1, VT_F32, 1, D(5));
    expect_refused(&one, VT_ERR_FORMAT, "8x1x6 and 5");
    shape(&one, 1, VT_I64, 1, D(6));
    expect_refused(&one, VT_ERR_FORMAT, "float32 and int64");
    one.inputs[1] = (struct vt_shape_info){.rank = VT_RANK_UNKNOWN};
    assert_int_equal(run(&one), VT_OK);
    assert_int_equal(one.outputs[0].rank, VT_RANK_UNKNOWN);
    assert_int_equal(one.outputs[0].dtype, VT_F32);
    /* An extent of 0 is an extent like others. */
    shape(&one, 0, VT_F32, 1, D(0));
    shape(&one, 1, VT_F32, 1, D(1));
    expect(&one, 0, 1, D(0));
    finish(&one);
}

static void test_conv(void **state)
{
    (void)state;
    struct pb node = ox_node("Conv", "a b c", "y");
    ox_attr_ints(&node, "strides", D(2, 2), 2);
    ox_attr_ints(&node, "pads", D(0, 0, 1, 1), 4);
    ox_attr_ints(&node, "dilations", D(2, 1), 2);
    struct one one = prepare(11, node);

    shape(&one, 0, VT_F32, 4, D(2, 3, 32, 32));
    shape(&one, 1, VT_F32, 4, D(16, 3, 3, 3));
    shape(&one, 2, VT_F32, 1, D(16));
    expect(&one, 0, 4, D(2, 16, 15, 16)); /* (33 - 5) / 2 + 1, (33 - 3) / 2 + 1 */
    shape(&one, 0, VT_F32, 4, D(OPEN, 3, 32, OPEN));
    one.inputs[0].bound[3] = 32;
    expect(&one, 0, 4, D(OPEN, 16, 15, OPEN));
    assert_int_equal(one.outputs[0].bound[3], 16);
    shape(&one, 0, VT_F32, 4, D(2, 4, 32, 32));
    expect_refused(&one, VT_ERR_FORMAT, "input channels");
    shape(&one, 0, VT_F32, 4, D(2, 3, 3, 32));
    expect_refused(&one, VT_ERR_FORMAT, "larger than its padded input");
    shape(&one, 0, VT_F32, 3, D(2, 3, 32));
    expect_refused(&one, VT_ERR_FORMAT, "strides has 2 numbers, 1 are needed");
    shape(&one, 0, VT_F32, 4, D(2, 3, 32, 32));
    shape(&one, 2, VT_F32, 1, D(15));
    expect_refused(&one, VT_ERR_FORMAT, "bias");
    shape(&one, 0, VT_F32, 4, D(2, 3, INT64_MAX, 32));
    shape(&one, 2, VT_F32, 1, D(16));
    expect_refused(&one, VT_ERR_LIMIT, "overflow");
    finish(&one);

    node = ox_node("Conv", "a b", "y");
    ox_attr_text(&node, "auto_pad", "SAME_UPPER");
    ox_attr_ints(&node, "strides", D(3), 1);
    ox_attr_int(&node, "group", 4);
    one = prepare(11, node);
    shape(&one, 0, VT_F32, 3, D(1, 8, 10));
    shape(&one, 1, VT_F32, 3, D(12, 2, 5));
    expect(&one, 0, 3, D(1, 12, 4));
    shape(&one, 1, VT_F32, 3, D(10, 2, 5));
    expect_refused(&one, VT_ERR_FORMAT, "4 groups");
    finish(&one);
}

/* The rule for ceil_mode: a window may not start in the padding at the end. */
static void test_pool(void **state)
{
    (void)state;
    struct pb node = ox_node("MaxPool", "a", "y i");
    ox_attr_ints(&node, "kernel_shape", D(3), 1);
    ox_attr_ints(&node, "strides", D(2), 1);
    ox_attr_ints(&node, "pads", D(1, 1), 2);
    ox_attr_int(&node, "ceil_mode", 1);
    struct one one = prepare(12, node);

    shape(&one, 0, VT_F32, 3, D(1, 1, 4)); /* 2 fit; a third starts at 4 - 1 < 4: inside */
    expect(&one, 0, 3, D(1, 1, 3));
    assert_int_equal(one.outputs[1].dtype, VT_I64);
    assert_int_equal(one.outputs[1].dim[2], 3);
    shape(&one, 0, VT_F32, 3, D(1, 1, 5));
    expect(&one, 0, 3, D(1, 1, 3));
    finish(&one);

    node = ox_node("AveragePool", "a", "y");
    ox_attr_ints(&node, "kernel_shape", D(1), 1);
    ox_attr_ints(&node, "strides", D(2), 1);
    ox_attr_int(&node, "ceil_mode", 1);
    one = prepare(11, node);
    shape(&one, 0, VT_F32, 3, D(1, 1, 2)); /* PyTorch: 2, as (2 - 1) / 2 + 1 rounded up */
    expect(&one, 0, 3, D(1, 1, 1));
    finish(&one);
}

static void test_conv_transpose(void **state)
{
    (void)state;
    struct pb node = ox_node("ConvTranspose", "a b", "y");
    ox_attr_ints(&node, "strides", D(3, 2), 2);
    ox_attr_ints(&node, "output_padding", D(1, 1), 2);
    struct one one = prepare(11, node);

    /* The standard's own example. */
    shape(&one, 0, VT_F32, 4, D(1, 1, 3, 3));
    shape(&one, 1, VT_F32, 4, D(1, 2, 3, 3));
    expect(&one, 0, 4, D(1, 2, 10, 8));
    finish(&one);
}

static void test_matmul(void **state)
{
    (void)state;
    struct one one = prepare(13, ox_node("MatMul", "a b", "y"));

    shape(&one, 0, VT_F32, 3, D(5, 2, 3));
    shape(&one, 1, VT_F32, 4, D(7, 1, 3, 4));
    expect(&one, 0, 4, D(7, 5, 2, 4));
    shape(&one, 1, VT_F32, 1, D(3));
    expect(&one, 0, 2, D(5, 2));
    shape(&one, 0, VT_F32, 1, D(3));
    expect(&one, 0, 0, NULL);
    shape(&one, 1, VT_F32, 2, D(4, 4));
    expect_refused(&one, VT_ERR_FORMAT, "3 and 4");
    finish(&one);
}

static void test_reshape(void **state)
{
    (void)state;
    struct one one = prepare(13, ox_node("Reshape", "a b", "y"));

    shape(&one, 0, VT_F32, 3, D(2, 3, 4));
    list(&one, 1, 2, D(0, -1));
    expect(&one, 0, 2, D(2, 12));
    shape(&one, 0, VT_F32, 3, D(OPEN, 3, 4)); /* the open extent is copied: the rest is known */
    expect(&one, 0, 2, D(OPEN, 12));
    list(&one, 1, 2, D(-1, 6));
    one.inputs[0].bound[0] = 10;
    expect(&one, 0, 2, D(OPEN, 6));
    assert_int_equal(one.outputs[0].bound[0], 20);
    shape(&one, 0, VT_F32, 3, D(2, 3, 4));
    list(&one, 1, 2, D(-1, 5));
    expect_refused(&one, VT_ERR_FORMAT, "24 elements");
    list(&one, 1, 2, D(-1, -1));
    expect_refused(&one, VT_ERR_FORMAT, "two of the extents");
    list(&one, 1, 2, D(-2, 12));
    expect_refused(&one, VT_ERR_FORMAT, "-2");
    list(&one, 1, 2, D(INT64_C(1) << 40, INT64_C(1) << 40));
    expect_refused(&one, VT_ERR_LIMIT, "overflow");
    list(&one, 1, 9, D(1, 1, 1, 1, 1, 1, 1, 2, 12));
    expect_refused(&one, VT_ERR_LIMIT, "9 dimensions");
    one.inputs[1].value = NULL; /* only how many extents there are */
    shape(&one, 1, VT_I64, 1, D(4));
    expect(&one, 0, 4, D(OPEN, OPEN, OPEN, OPEN));
    finish(&one);

    struct pb node = ox_node("Reshape", "a b", "y");
    ox_attr_int(&node, "allowzero", 1);
    one = prepare(14, node);
    shape(&one, 0, VT_F32, 2, D(0, 4));
    list(&one, 1, 2, D(3, 0));
    expect(&one, 0, 2, D(3, 0));
    finish(&one);
}

static void test_slice(void **state)
{
    (void)state;
    static const struct {
        int64_t start, end, step, n; /* of ten; the truth is Python's len(range(10)[a:b:c]) */
    } cases[] = {
        {0, 10, 1, 10},        {2, 8, 3, 2},
        {-3, INT64_MAX, 1, 3}, {9, INT64_MIN, -1, 10},
        {-1, -11, -4, 3},      {5, 5, 1, 0},
        {8, 2, 1, 0},          {20, 30, 1, 0},
        {-30, 3, 2, 2},        {INT64_MAX, INT64_MIN, -3, 4},
        {9, 0, INT64_MIN, 1},  {0, INT64_MAX, INT64_MAX, 1},
        {INT64_MIN, 5, -1, 0}, {3, -20, -2, 2},
    };
    struct one one = prepare(13, ox_node("Slice", "a b c d e", "y"));

    shape(&one, 0, VT_F32, 2, D(7, 10));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        list(&one, 1, 1, &cases[i].start);
        list(&one, 2, 1, &cases[i].end);
        list(&one, 3, 1, D(1));
        list(&one, 4, 1, &cases[i].step);
        assert_int_equal(run(&one), VT_OK);
        if (one.outputs[0].dim[1] != cases[i].n) {
            fail_msg("case %zu: %lld", i, (long long)one.outputs[0].dim[1]);
        }
        assert_int_equal(one.outputs[0].dim[0], 7);
    }
    list(&one, 4, 1, D(0));
    expect_refused(&one, VT_ERR_FORMAT, "step is 0");
    list(&one, 4, 1, D(1));
    one.inputs[2].value = NULL;
    expect(&one, 0, 2, D(7, OPEN));
    assert_int_equal(one.outputs[0].bound[1], 10);
    finish(&one);
}

static void test_resize(void **state)
{
    (void)state;
    const float twice[] = {1.0f, 1.0f, 2.0f, 1.5f}, zero[] = {1.0f, 1.0f, 0.0f, 1.0f};
    struct one one = prepare(10, ox_node("Resize", "a b", "y"));

    shape(&one, 0, VT_F32, 4, D(1, 3, 5, 7));
    scales(&one, 1, 4, twice);
    expect(&one, 0, 4, D(1, 3, 10, 10));
    scales(&one, 1, 4, zero);
    expect_refused(&one, VT_ERR_FORMAT, "scale is 0");
    finish(&one);

    one = prepare(11, ox_node("Resize", "a b c d", "y"));
    shape(&one, 0, VT_F32, 4, D(1, 3, 5, 7));
    scales(&one, 1, 0, NULL);
    scales(&one, 2, 0, NULL); /* empty is as good as omitted */
    list(&one, 3, 4, D(1, 3, 20, 20));
    expect(&one, 0, 4, D(1, 3, 20, 20));
    list(&one, 3, 4, D(1, 3, -20, 20));
    expect_refused(&one, VT_ERR_FORMAT, "-20");
    finish(&one);

    struct pb node = ox_node("Resize", "a - - b", "y");
    ox_attr_ints(&node, "axes", D(2, 3), 2);
    ox_attr_text(&node, "keep_aspect_ratio_policy", "not_larger");
    one = prepare(18, node);
    shape(&one, 0, VT_F32, 4, D(1, 3, 100, 200));
    list(&one, 3, 2, D(50, 50));
    expect(&one, 0, 4, D(1, 3, 25, 50));
    finish(&one);
}

/* Extents that only the data tell, with what bounds them. */
static void test_data_dependent(void **state)
{
    (void)state;
    struct one one = prepare(13, ox_node("NonZero", "a", "y"));
    shape(&one, 0, VT_F32, 2, D(3, 4));
    expect(&one, 0, 2, D(2, OPEN));
    assert_int_equal(one.outputs[0].bound[1], 12);
    finish(&one);

    one = prepare(11, ox_node("NonMaxSuppression", "a b c", "y"));
    shape(&one, 0, VT_F32, 3, D(2, 100, 4));
    shape(&one, 1, VT_F32, 3, D(2, 5, 100));
    list(&one, 2, 1, D(10));
    expect(&one, 0, 2, D(OPEN, 3));
    assert_int_equal(one.outputs[0].bound[0], 100);
    one.inputs[2].value = NULL;
    expect(&one, 0, 2, D(OPEN, 3));
    assert_int_equal(one.outputs[0].bound[0], 1000);
    finish(&one);

    /* Bounds travel. */
    struct pb node = ox_node("Concat", "a b", "y");
    ox_attr_int(&node, "axis", 0);
    one = prepare(13, node);
    shape(&one, 0, VT_I64, 2, D(OPEN, 3));
    shape(&one, 1, VT_I64, 2, D(4, 3));
    one.inputs[0].bound[0] = 6;
    expect(&one, 0, 2, D(OPEN, 3));
    assert_int_equal(one.outputs[0].bound[0], 10);
    finish(&one);
}

static void test_hostile_extents(void **state)
{
    (void)state;
    struct one one = prepare(13, ox_node("Tile", "a b", "y"));
    shape(&one, 0, VT_F32, 2, D(1 << 20, 1 << 20));
    list(&one, 1, 2, D(INT64_C(1) << 50, 1));
    expect_refused(&one, VT_ERR_LIMIT, "overflow");
    list(&one, 1, 2, D(1 << 20, 1 << 20));
    expect_refused(&one, VT_ERR_LIMIT, "too large");
    list(&one, 1, 2, D(-1, 1));
    expect_refused(&one, VT_ERR_FORMAT, "-1");
    finish(&one);

    one = prepare(13, ox_node("ConstantOfShape", "a", "y"));
    list(&one, 0, 2, D(INT64_C(1) << 40, INT64_C(1) << 40));
    expect_refused(&one, VT_ERR_LIMIT, "too large");
    list(&one, 0, 1, D(-5));
    expect_refused(&one, VT_ERR_FORMAT, "-5");
    finish(&one);

    struct pb node = ox_node("Concat", "a b", "y");
    ox_attr_int(&node, "axis", 0);
    one = prepare(13, node);
    shape(&one, 0, VT_F32, 1, D(INT64_MAX));
    shape(&one, 1, VT_F32, 1, D(INT64_MAX));
    expect_refused(&one, VT_ERR_LIMIT, "overflow");
    finish(&one);

    one = prepare(13, ox_node("Range", "a b c", "y"));
    const int64_t from = 0, to = INT64_MAX, none = 0, minus = -1;
    for (int i = 0; i < 3; i++) {
        list(&one, i, 1, i == 0 ? &from : i == 1 ? &to : &none);
    }
    expect_refused(&one, VT_ERR_FORMAT, "step is 0");
    list(&one, 2, 1, &minus);
    expect(&one, 0, 1, D(0));
    finish(&one);

    node = ox_node("Gather", "a b", "y");
    ox_attr_int(&node, "axis", INT64_MIN);
    one = prepare(13, node);
    shape(&one, 0, VT_F32, 2, D(3, 4));
    shape(&one, 1, VT_I64, 1, D(2));
    expect_refused(&one, VT_ERR_FORMAT, "out of range");
    finish(&one);
}

static void test_lstm(void **state)
{
    (void)state;
    struct pb node = ox_node("LSTM", "a b c - - d", "y y_h y_c");
    ox_attr_int(&node, "hidden_size", 6);
    ox_attr_text(&node, "direction", "bidirectional");
    struct one one = prepare(11, node);

    shape(&one, 0, VT_F32, 3, D(OPEN, 2, 5));
    shape(&one, 1, VT_F32, 3, D(2, 24, 5));
    shape(&one, 2, VT_F32, 3, D(2, 24, 6));
    shape(&one, 5, VT_F32, 3, D(2, 2, 6)); /* the sixth input, whatever its name */
    expect(&one, 0, 4, D(OPEN, 2, 2, 6));
    expect(&one, 1, 3, D(2, 2, 6));
    expect(&one, 2, 3, D(2, 2, 6));
    shape(&one, 5, VT_F32, 3, D(1, 2, 6));
    expect_refused(&one, VT_ERR_FORMAT, "initial state");
    shape(&one, 1, VT_F32, 3, D(2, 18, 5));
    expect_refused(&one, VT_ERR_FORMAT, "weights");
    finish(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast),      cmocka_unit_test(test_conv),
        cmocka_unit_test(test_pool),           cmocka_unit_test(test_conv_transpose),
        cmocka_unit_test(test_matmul),         cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_slice),          cmocka_unit_test(test_resize),
        cmocka_unit_test(test_data_dependent), cmocka_unit_test(test_hostile_extents),
        cmocka_unit_test(test_lstm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
