/* SPDX-License-Identifier: Apache-2.0 */
/* What operators refuse, while they are prepared or because of the data that they meet: one clear
 * line each, and nothing read or written out of bounds (the sanitizer builds watch that). */
#include "op_harness.h"

#include "plan/ops/ops.h"

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static float out[16];

static void expect(struct harness *h, enum vt_status status, const char *text)
{
    assert_int_equal(harness_run(h), status);
    if (strstr(h->err.text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", h->err.text, text);
}

static void test_gather_index(void **state)
{
    const int64_t dim[2] = {2, 3}, n[1] = {2}, y_dim[2] = {2, 3};
    const int64_t bad[2][2] = {{0, 2}, {-3, 0}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct harness h;
        harness_init(&h, "Gather", 13);
        harness_input(&h, false, VT_F32, 2, dim, numbers);
        harness_input(&h, false, VT_I64, 1, n, bad[i]);
        harness_output(&h, VT_F32, 2, y_dim, out);
        expect(&h, VT_ERR_FORMAT,
               i == 0 ? "index 2 (at position 1) is out of range"
                      : "index -3 (at position 0) is out of range");
    }
}

static void test_scatter_index(void **state)
{
    const int64_t dim[2] = {2, 3}, index_dim[2] = {1, 2}, update_dim[1] = {1};
    const int64_t bad[2] = {1, 3};
    struct harness h;
    (void)state;
    harness_init(&h, "ScatterND", 16);
    harness_input(&h, false, VT_F32, 2, dim, numbers);
    harness_input(&h, false, VT_I64, 2, index_dim, bad);
    harness_input(&h, false, VT_F32, 1, update_dim, numbers);
    harness_output(&h, VT_F32, 2, dim, out);
    expect(&h, VT_ERR_FORMAT, "index 3 (at position 1) is out of range");
}

static void test_modes(void **state)
{
    const int64_t dim[1] = {6};
    struct harness h;
    (void)state;
    harness_init(&h, "Pad", 13);
    harness_input(&h, false, VT_F32, 1, dim, numbers);
    harness_output(&h, VT_F32, 1, dim, out);
    harness_string(&h, "mode", "mirror");
    expect(&h, VT_ERR_UNSUPPORTED, "mode is 'mirror'");

    harness_init(&h, "Resize", 18);
    harness_input(&h, false, VT_F32, 1, dim, numbers);
    harness_output(&h, VT_F32, 1, dim, out);
    harness_string(&h, "coordinate_transformation_mode", "half_pixel_askew");
    expect(&h, VT_ERR_UNSUPPORTED, "half_pixel_askew");

    harness_init(&h, "Softmax", 13);
    harness_input(&h, false, VT_F32, 1, dim, numbers);
    harness_output(&h, VT_F32, 1, dim, out);
    harness_int(&h, "axis", 1);
    expect(&h, VT_ERR_FORMAT, "axis 1 is outside [-1, 1)");
}

static void test_types(void **state)
{
    const int64_t dim[1] = {3};
    struct harness h;
    (void)state;
    harness_init(&h, "Exp", 13);
    harness_input(&h, false, VT_I32, 1, dim, numbers);
    harness_output(&h, VT_I32, 1, dim, out);
    expect(&h, VT_ERR_UNSUPPORTED, "int32");

    /* A value to pad with, and updates, of another type than the data. */
    static const int64_t one[1] = {1}, pads[2] = {1, 1}, index[3] = {0, 1, 2};
    harness_init(&h, "Pad", 13);
    harness_input(&h, false, VT_F64, 1, dim, numbers);
    harness_input(&h, true, VT_I64, 1, (const int64_t[]){2}, pads);
    harness_input(&h, false, VT_F32, 1, one, numbers);
    harness_output(&h, VT_F64, 1, (const int64_t[]){5}, out);
    expect(&h, VT_ERR_UNSUPPORTED, "float32");

    harness_init(&h, "ScatterElements", 16);
    harness_input(&h, false, VT_F64, 1, dim, numbers);
    harness_input(&h, false, VT_I64, 1, dim, index);
    harness_input(&h, false, VT_F32, 1, dim, numbers);
    harness_output(&h, VT_F64, 1, dim, out);
    expect(&h, VT_ERR_UNSUPPORTED, "float32");

    harness_init(&h, "Add", 13);
    harness_input(&h, false, VT_F32, 1, dim, numbers);
    harness_input(&h, false, VT_I32, 1, dim, numbers);
    harness_output(&h, VT_F32, 1, dim, out);
    expect(&h, VT_ERR_UNSUPPORTED, "float32 and int32");
}

/* Integer arithmetic that C leaves undefined has a value here. */
static void test_integer_edges(void **state)
{
    const int64_t dim[1] = {4};
    const int32_t a[4] = {INT32_MIN, INT32_MIN, 7, -7}, b[4] = {-1, 0, 0, 2};
    const int32_t quotients[4] = {INT32_MIN, 0, 0, -3}, remainders[4] = {0, 0, 0, 1};
    int32_t got[4];
    struct harness h;
    (void)state;
    harness_init(&h, "Div", 14);
    harness_input(&h, false, VT_I32, 1, dim, a);
    harness_input(&h, false, VT_I32, 1, dim, b);
    harness_output(&h, VT_I32, 1, dim, got);
    assert_int_equal(harness_run(&h), VT_OK);
    assert_memory_equal(got, quotients, sizeof(got));
    h.node.op = "Mod";
    assert_int_equal(harness_run(&h), VT_OK);
    assert_memory_equal(got, remainders, sizeof(got));
}

/* Every operator stands in one table, with what its flags promise. */
static void test_tables(void **state)
{
    static const char *const names[] = {"Conv", "MatMul", "Relu", "NonZero", "LSTM", "Resize"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(vt_op_find("", names[i])->name, names[i]);
    assert_null(vt_op_find("", "NoSuchOperator"));
    assert_null(vt_op_find("com.example", "Conv"));
    size_t n = 0;
    const struct vt_operator *table = vt_operator_table(&n);
    for (size_t i = 0; i < n; i++) {
        const struct vt_op *op = vt_op_find(table[i].domain, table[i].name);
        assert_true((op == NULL) == (table[i].infer == NULL)); /* control flow has none */
        if (op != NULL)
            assert_true((op->run == NULL) == ((op->flags & VT_OP_VIEW) != 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_index),  cmocka_unit_test(test_scatter_index),
        cmocka_unit_test(test_modes),         cmocka_unit_test(test_types),
        cmocka_unit_test(test_integer_edges), cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
