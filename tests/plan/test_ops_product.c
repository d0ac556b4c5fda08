/* SPDX-License-Identifier: Apache-2.0 */
/* Conv, ConvTranspose, MatMul and Gemm as steps: what the planner fuses into them, weights that
 * are constant or not, and what they refuse. */
#include "op_harness.h"

#include <math.h>

#define N 2
#define C 3
#define M 4
#define S 5

static float x[N * C * S * S], w[M * C * 9], bias[M], scale[M], shift[M], residual[N * M * S * S];
static float y[N * M * S * S];

static void fill(float *values, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)((i * 37 + seed * 101) % 65) / 32.0f - 1.0f;
}

static void fill_all(void)
{
    fill(x, sizeof(x) / sizeof(float), 1);
    fill(w, sizeof(w) / sizeof(float), 2);
    fill(bias, M, 3);
    fill(scale, M, 4);
    fill(shift, M, 5);
    fill(residual, sizeof(residual) / sizeof(float), 6);
    memset(y, 0, sizeof(y));
}

/* The plain 3x3 convolution with padding 1 at one output. */
static double convolve(int64_t n, int64_t m, int64_t oy, int64_t ox)
{
    double sum = 0;
    for (int64_t c = 0; c < C; c++) {
        for (int64_t k = 0; k < 9; k++) {
            const int64_t iy = oy - 1 + k / 3, ix = ox - 1 + k % 3;
            if (iy >= 0 && iy < S && ix >= 0 && ix < S)
                sum += (double)x[((n * C + c) * S + iy) * S + ix] * (double)w[(m * C + c) * 9 + k];
        }
    }
    return sum;
}

/* bits: constant weights, bias given, affine, residual, activation. */
static void conv_case(unsigned bits)
{
    const int64_t x_dim[4] = {N, C, S, S}, w_dim[4] = {M, C, 3, 3}, y_dim[4] = {N, M, S, S};
    const int64_t b_dim[1] = {M}, pads[4] = {1, 1, 1, 1};
    const bool constant = bits & 1, has_bias = bits & 2, affine = bits & 4, rest = bits & 8;
    const bool relu = bits & 16;
    struct harness h;
    fill_all();
    harness_init(&h, "Conv", 13);
    harness_input(&h, false, VT_F32, 4, x_dim, x);
    harness_input(&h, constant, VT_F32, 4, w_dim, w);
    if (has_bias)
        harness_input(&h, constant, VT_F32, 1, b_dim, bias);
    if (rest)
        harness_input(&h, false, VT_F32, 4, y_dim, residual);
    harness_output(&h, VT_F32, 4, y_dim, y);
    harness_ints(&h, "pads", 4, pads);
    h.epilogue.has_residual = rest;
    h.epilogue.activation = relu ? VT_ACT_RELU : VT_ACT_NONE;
    if (affine)
        h.affine = (struct vt_channel_affine){scale, shift};
    assert_int_equal(harness_run(&h), VT_OK);
    for (int64_t i = 0; i < N * M * S * S; i++) {
        const int64_t m = i / (S * S) % M;
        double want = convolve(i / (M * S * S), m, i / S % S, i % S);
        want += has_bias ? (double)bias[m] : 0;
        if (affine)
            want = want * (double)scale[m] + (double)shift[m];
        want += rest ? (double)residual[i] : 0;
        want = relu && want < 0 ? 0 : want;
        assert_true(fabs((double)y[i] - want) < 1e-5);
    }
}

static void test_conv_fusions(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 32; bits++)
        conv_case(bits);
}

static void test_conv_refuses(void **state)
{
    const int64_t x_dim[4] = {N, C, S, S}, w_dim[4] = {M, C, 3, 3}, y_dim[4] = {N, M, 3, 3};
    const int64_t strides[1] = {1};
    struct harness h;
    (void)state;
    harness_init(&h, "Conv", 13);
    harness_input(&h, false, VT_F32, 4, x_dim, x);
    harness_input(&h, true, VT_F32, 4, w_dim, w);
    harness_output(&h, VT_F32, 4, y_dim, y);
    harness_int(&h, "group", 2);
    assert_int_equal(harness_run(&h), VT_ERR_FORMAT);
    assert_non_null(strstr(h.err.text, "node 'tested' (Conv, opset 13)"));
    assert_non_null(strstr(h.err.text, "group is 2"));

    harness_init(&h, "Conv", 13);
    harness_input(&h, false, VT_F64, 4, x_dim, x);
    harness_input(&h, true, VT_F32, 4, w_dim, w);
    harness_output(&h, VT_F32, 4, y_dim, y);
    assert_int_equal(harness_run(&h), VT_ERR_UNSUPPORTED);
    assert_non_null(strstr(h.err.text, "float64"));

    harness_init(&h, "Conv", 13);
    harness_input(&h, false, VT_F32, 4, x_dim, x);
    harness_input(&h, true, VT_F32, 4, w_dim, w);
    harness_output(&h, VT_F32, 4, y_dim, y);
    harness_ints(&h, "strides", 1, strides);
    assert_int_equal(harness_run(&h), VT_ERR_FORMAT);
    assert_non_null(strstr(h.err.text, "'strides' has 1 entries"));

    harness_init(&h, "Conv", 13);
    harness_input(&h, false, VT_F32, 4, x_dim, x);
    harness_input(&h, true, VT_F32, 4, w_dim, w);
    harness_output(&h, VT_F32, 4, y_dim, y);
    harness_string(&h, "auto_pad", "SAME");
    assert_int_equal(harness_run(&h), VT_ERR_FORMAT);
    assert_non_null(strstr(h.err.text, "auto_pad is 'SAME'"));
}

/* Batches that are broadcast either way, with constant and with computed factors. */
static void test_matmul_broadcast(void **state)
{
    enum { P = 2, Q = 3, ROWS = 4, K = 5, COLS = 6 };
    const int64_t a_dim[4] = {P, 1, ROWS, K}, b_dim[3] = {Q, K, COLS};
    const int64_t y_dim[4] = {P, Q, ROWS, COLS};
    float a[P * ROWS * K], b[Q * K * COLS], got[P * Q * ROWS * COLS];
    (void)state;
    fill(a, P * ROWS * K, 7);
    fill(b, Q * K * COLS, 8);
    for (int constant = 0; constant < 2; constant++) {
        struct harness h;
        harness_init(&h, "MatMul", 13);
        harness_input(&h, false, VT_F32, 4, a_dim, a);
        harness_input(&h, constant, VT_F32, 3, b_dim, b);
        harness_output(&h, VT_F32, 4, y_dim, got);
        assert_int_equal(harness_run(&h), VT_OK);
        for (int i = 0; i < P * Q * ROWS * COLS; i++) {
            const int p = i / (Q * ROWS * COLS), q = i / (ROWS * COLS) % Q;
            const int row = i / COLS % ROWS, col = i % COLS;
            double want = 0;
            for (int k = 0; k < K; k++)
                want += (double)a[(p * ROWS + row) * K + k] * (double)b[(q * K + k) * COLS + col];
            assert_true(fabs((double)got[i] - want) < 1e-5);
        }
    }
}

/* Every shape of C, with and without factors, transposition and a fused residual. */
static void test_gemm(void **state)
{
    enum { ROWS = 3, K = 4, COLS = 5 };
    static const int64_t c_shapes[6][2] = {{1, 1},       {1, COLS}, {ROWS, 1},
                                           {ROWS, COLS}, {0, COLS}, {0, 1}};
    const int64_t y_dim[2] = {ROWS, COLS};
    float a[ROWS * K], b[K * COLS], c[ROWS * COLS], rest[ROWS * COLS], got[ROWS * COLS];
    (void)state;
    fill(a, ROWS * K, 9);
    fill(b, K * COLS, 10);
    fill(c, ROWS * COLS, 11);
    fill(rest, ROWS * COLS, 12);
    for (unsigned bits = 0; bits < 6 * 16; bits++) {
        const int64_t *shape = c_shapes[bits / 16];
        const bool ta = bits & 1, tb = bits & 2, scaled = bits & 4, fused = bits & 8;
        const int64_t a_dim[2] = {ta ? K : ROWS, ta ? ROWS : K};
        const int64_t b_dim[2] = {tb ? COLS : K, tb ? K : COLS};
        const bool vector = shape[0] == 0;
        struct harness h;
        harness_init(&h, "Gemm", 13);
        harness_input(&h, false, VT_F32, 2, a_dim, a);
        harness_input(&h, bits % 3 == 0, VT_F32, 2, b_dim, b);
        harness_input(&h, true, VT_F32, vector ? 1 : 2, shape + (vector ? 1 : 0), c);
        if (fused)
            harness_input(&h, false, VT_F32, 2, y_dim, rest);
        harness_output(&h, VT_F32, 2, y_dim, got);
        harness_int(&h, "transA", ta);
        harness_int(&h, "transB", tb);
        harness_float(&h, "alpha", scaled ? 0.5f : 1.0f);
        harness_float(&h, "beta", scaled ? 2.0f : 1.0f);
        h.epilogue = (struct vt_epilogue){VT_ACT_CLIP, -1.0f, 1.5f, fused};
        assert_int_equal(harness_run(&h), VT_OK);
        for (int i = 0; i < ROWS * COLS; i++) {
            const int row = i / COLS, col = i % COLS;
            const int64_t c_rows = vector ? 1 : shape[0], c_cols = shape[1];
            double want = 0;
            for (int k = 0; k < K; k++)
                want += (double)a[ta ? k * ROWS + row : row * K + k] *
                        (double)b[tb ? col * K + k : k * COLS + col];
            want = want * (scaled ? 0.5 : 1) +
                   (scaled ? 2 : 1) *
                       (double)c[(c_rows == 1 ? 0 : row) * c_cols + (c_cols == 1 ? 0 : col)];
            want += fused ? (double)rest[i] : 0;
            want = fmin(fmax(want, -1), 1.5);
            assert_true(fabs((double)got[i] - want) < 1e-5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_fusions),
        cmocka_unit_test(test_conv_refuses),
        cmocka_unit_test(test_matmul_broadcast),
        cmocka_unit_test(test_gemm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
