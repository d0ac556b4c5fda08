/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that move a step into the one before it: fuse-bias, fuse-norm, fuse-residual,
 * fuse-activation; and operands, which moves one into the step behind it. */
#include "pass_graph.h"

static void a_row_becomes_the_bias_of_a_product(void **state)
{
    (void)state;
    pass_becomes("x : 2x3x4\n"
                 "w = random 4x5\n"
                 "b = random 5\n"
                 "p = MatMul(x, w)\n"
                 "y = Add(b, p)\n"
                 "-> y",
                 "fuse-bias", "MatMul+Bias");
    /* The row need not be a constant. */
    pass_becomes("x : 3x4\n"
                 "w : 4x5\n"
                 "b : 1x5\n"
                 "p = MatMul(x, w)\n"
                 "y = Add(p, b)\n"
                 "-> y",
                 "fuse-bias", "MatMul+Bias");
    pass_becomes("x : 7x4\n"
                 "w = random 40x4\n"
                 "b = random 40\n"
                 "p = Gemm(x, w; transB=1, alpha=0.5)\n"
                 "y = Add(p, b)\n"
                 "-> y",
                 "fuse-bias", "Gemm");
    /* Bias, residual and activation together; a batch of products. */
    pass_becomes("x : 2x3x4\n"
                 "w : 2x4x5\n"
                 "b = random 5\n"
                 "r : 2x3x5\n"
                 "p = MatMul(x, w)\n"
                 "s = Add(p, b)\n"
                 "t = Add(r, s)\n"
                 "y = Relu(t)\n"
                 "-> y",
                 "fuse-bias+fuse-residual+fuse-activation", "MatMul+Bias+Add+Relu");
}

static void other_sums_are_no_bias(void **state)
{
    (void)state;
    static const char *const added[] = {"b = random 3x1", "b = random 2x1x1", "b = random 2x3x5",
                                        "b = random 1x2x3x5"};
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "x : 2x3x4\n"
                 "w = random 4x5\n"
                 "%s\n"
                 "p = MatMul(x, w)\n"
                 "y = Add(p, b)\n"
                 "-> y",
                 added[i]);
        pass_leaves(text, "fuse-bias");
    }
    /* Someone else looks at the product. */
    pass_leaves("x : 3x4\n"
                "w = random 4x5\n"
                "b = random 5\n"
                "p = MatMul(x, w)\n"
                "y = Add(p, b)\n"
                "-> y, p",
                "fuse-bias");
    /* There is a C already. */
    pass_leaves("x : 3x4\n"
                "w = random 4x5\n"
                "c = random 5\n"
                "b = random 5\n"
                "p = Gemm(x, w, c)\n"
                "y = Add(p, b)\n"
                "-> y",
                "fuse-bias");
}

static void a_channel_row_becomes_the_bias_of_a_convolution(void **state)
{
    (void)state;
    pass_becomes("x : 1x2x5x5\n"
                 "w = random 3x2x3x3\n"
                 "b = random 3x1x1\n"
                 "c = Conv(x, w; pads=[1,1,1,1])\n"
                 "y = Add(c, b)\n"
                 "-> y",
                 "fuse-bias", "Conv");
    /* Behind it a normalisation follows too. */
    pass_becomes("x : 1x2x5x5\n"
                 "w = random 3x2x3x3\n"
                 "b = random 1x3x1x1\n"
                 "g = random 3\n"
                 "m = random 3\n"
                 "v = fill 3 2\n"
                 "c = Conv(x, w)\n"
                 "s = Add(b, c)\n"
                 "n = BatchNormalization(s, g, m, m, v)\n"
                 "y = Relu(n)\n"
                 "-> y",
                 "fuse-bias+fuse-norm+fuse-activation", "Conv+Norm+Relu");
    /* A row along the width is none of channels. */
    pass_leaves("x : 1x2x5x5\n"
                "w = random 3x2x3x3\n"
                "b = random 3\n"
                "c = Conv(x, w)\n"
                "y = Add(c, b)\n"
                "-> y",
                "fuse-bias");
    /* One that is not constant would have to be packed by each run. */
    pass_leaves("x : 1x2x5x5\n"
                "w = random 3x2x3x3\n"
                "b : 3x1x1\n"
                "c = Conv(x, w)\n"
                "y = Add(c, b)\n"
                "-> y",
                "fuse-bias");
}

static void normalisation_moves_into_the_convolution(void **state)
{
    (void)state;
    pass_becomes("x : 2x2x4x4\n"
                 "w = random 3x2x1x1\n"
                 "g = random 3\n"
                 "b = random 3\n"
                 "m = random 3\n"
                 "v = fill 3 0.5\n"
                 "c = Conv(x, w)\n"
                 "y = BatchNormalization(c, g, b, m, v; epsilon=0.001)\n"
                 "-> y",
                 "fuse-norm", "Conv+Norm");
    pass_leaves("x : 2x2x4x4\n"
                "w = random 3x2x1x1\n"
                "g : 3\n" /* not known while planning */
                "b = random 3\n"
                "v = fill 3 0.5\n"
                "c = Conv(x, w)\n"
                "y = BatchNormalization(c, g, b, b, v)\n"
                "-> y",
                "fuse-norm");
    pass_leaves("x : 2x2x4x4\n"
                "w : 3x2x1x1\n"
                "b = random 3\n"
                "v = fill 3 0.5\n"
                "c = Conv(x, w)\n"
                "y = BatchNormalization(c, b, b, b, v)\n"
                "-> y",
                "fuse-norm");
}

static void residual_moves_into_the_later_term(void **state)
{
    (void)state;
    pass_becomes("x : 1x2x4x4\n"
                 "w = random 2x2x1x1\n"
                 "u = random 2x2x1x1\n"
                 "a = Conv(x, w)\n"
                 "b = Conv(x, u)\n"
                 "y = Add(b, a)\n"
                 "-> y",
                 "fuse-residual", "Conv Conv+Add");
    /* Not of one shape; twice the same; looked at by another. */
    pass_leaves("x : 1x2x4x4\n"
                "w = random 2x2x1x1\n"
                "r : 1x2x1x4\n"
                "a = Conv(x, w)\n"
                "b = Add(a, r)\n"
                "c = Conv(x, w)\n"
                "d = Add(c, c)\n"
                "e = Conv(x, w)\n"
                "f = Add(e, x)\n"
                "-> b, d, e, f",
                "fuse-residual");
}

static void activation_moves_into_the_step_before(void **state)
{
    (void)state;
    static const char *const activations[] = {"Relu(p)", "LeakyRelu(p; alpha=0.2)",
                                              "Clip(p, low, high)", "Sigmoid(p)"};
    static const char *const steps[] = {"MatMul+Relu", "MatMul+LeakyRelu", "MatMul+Clip",
                                        "MatMul+Sigmoid"};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "x : 3x4\n"
                 "w = random 4x5\n"
                 "low = fill - -0.25\n"
                 "high = fill - 0.5\n"
                 "p = MatMul(x, w)\n"
                 "y = %s\n"
                 "-> y",
                 activations[i]);
        pass_becomes(text, "fuse-activation", steps[i]);
    }
    pass_leaves("x : 3x4\n"
                "w = random 4x5\n"
                "low : -\n" /* a bound that only a run knows */
                "p = MatMul(x, w)\n"
                "y = Clip(p, low)\n"
                "q = MatMul(x, w)\n"
                "z = Relu(q)\n"
                "-> y, z, q",
                "fuse-activation");
}

static void products_read_transposed_operands(void **state)
{
    (void)state;
    pass_becomes("x : 2x3x4x5\n"
                 "k : 2x3x6x5\n"
                 "t = Transpose(k; perm=[0,1,3,2])\n"
                 "y = MatMul(x, t)\n"
                 "-> y",
                 "operands", "MatMul");
    /* Both, from another order of the axes, with a broadcast batch. */
    pass_becomes("x : 2x4x3x5\n"
                 "k : 6x1x3x5\n"
                 "a = Transpose(x; perm=[0,2,1,3])\n"
                 "b = Transpose(k; perm=[1,2,3,0])\n"
                 "y = MatMul(a, b)\n"
                 "-> y",
                 "operands", "MatMul");
    /* One matrix for all of a transposed batch. */
    pass_becomes("x : 4x2x5\n"
                 "w = random 5x3\n"
                 "a = Transpose(x; perm=[1,0,2])\n"
                 "y = MatMul(a, w)\n"
                 "-> y",
                 "operands", "MatMul");
    pass_becomes("x : 5x4\n"
                 "w : 3x5\n"
                 "c = random 3\n"
                 "a = Transpose(x)\n"
                 "b = Transpose(w; perm=[1,0])\n"
                 "y = Gemm(a, b, c; alpha=2.0, beta=0.5)\n"
                 "-> y",
                 "operands", "Gemm");
    pass_becomes("x : 5x4\n"
                 "w : 5x3\n"
                 "a = Transpose(w)\n"
                 "y = Gemm(x, a; transA=1, transB=1)\n"
                 "-> y",
                 "operands", "Gemm");
    /* Others look at what is transposed. */
    pass_leaves("x : 3x5\n"
                "k : 4x5\n"
                "t = Transpose(k)\n"
                "y = MatMul(x, t)\n"
                "-> y, t",
                "operands");
}

/* What is added lies where the sum will: two matrices are enough, of a product of one block of
 * steps and of one of several. */
static void a_sum_takes_the_place_of_its_term(void **state)
{
    static const char *const widths[] = {"64", "520"};
    static float numbers[96 * 520];
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        numbers[i] = (float)(i % 7) * 0.01f - 0.03f;
    }
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        char text[512];
        struct fixture f;
        struct vt_plan_info info;
        const int width = i == 0 ? 64 : 520;
        const struct vt_tensor input = view(VT_F32, numbers, 96, width, -1);
        snprintf(text, sizeof(text),
                 "x : 96x%s\nv = random %sx%s\nw = random %sx%s\n"
                 "h = Relu(x)\na = MatMul(h, v)\nb = MatMul(a, w)\n"
                 "y = Add(b, h)\n-> y",
                 widths[i], widths[i], widths[i], widths[i], widths[i]);
        pass_becomes(text, "fuse-residual+fuse-activation", "Relu MatMul MatMul+Add");
        pass_open(&f, PASS_OPSET, text);
        fixture_plan(&f, &input, 1);
        vt_plan_info(f.plan, &info);
        assert_true(info.arena_bytes <= 2 * input.bytes + 4096);
        fixture_close(&f);
    }
    /* Convolutions: a pointwise one, and one that transforms tiles. */
    pass_becomes("x : 2x16x9x7\nw = random 16x16x1x1\n"
                 "a = Relu(x)\nb = Conv(a, w)\nc = Relu(b)\nd = Conv(c, w)\ne = Add(d, a)\n"
                 "y = Relu(e)\n-> y",
                 "fuse-residual+fuse-activation", "Relu Conv+Relu Conv+Add+Relu");
    pass_becomes("x : 2x16x9x7\nw = random 16x16x1x1\nv = random 16x16x3x3\n"
                 "a = Relu(x)\nb = Conv(a, w)\nd = Conv(b, v; pads=[1,1,1,1])\ne = Add(d, a)\n"
                 "y = Relu(e)\n-> y",
                 "fuse-residual+fuse-activation", "Relu Conv Conv+Add+Relu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_becomes_the_bias_of_a_product),
        cmocka_unit_test(other_sums_are_no_bias),
        cmocka_unit_test(a_channel_row_becomes_the_bias_of_a_convolution),
        cmocka_unit_test(normalisation_moves_into_the_convolution),
        cmocka_unit_test(residual_moves_into_the_later_term),
        cmocka_unit_test(activation_moves_into_the_step_before),
        cmocka_unit_test(products_read_transposed_operands),
        cmocka_unit_test(a_sum_takes_the_place_of_its_term),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
