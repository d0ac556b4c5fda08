/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include "core/query.h"
#include "vatio/tensor.h"

static void types_have_names_and_sizes(void **state)
{
    (void)state;
    assert_int_equal(vt_dtype_bytes(VT_F32), 4);
    assert_int_equal(vt_dtype_bytes(VT_STRING), 0);
    assert_int_equal(vt_dtype_bytes((enum vt_dtype)999), 0);
    assert_string_equal(vt_dtype_name(VT_BF16), "bfloat16");
    assert_int_equal(vt_dtype_from_name("int64"), VT_I64);
    assert_int_equal(vt_dtype_from_name("real"), VT_UNDEFINED);
    /* Numbers of ONNX TensorProto.DataType. */
    assert_int_equal(VT_F32, 1);
    assert_int_equal(VT_I64, 7);
    assert_int_equal(VT_BF16, 16);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    int64_t elements;
    size_t bytes;
    const int64_t usual[] = {2, 3, 4};
    const int64_t huge[] = {INT64_MAX / 2, 3};
    const int64_t empty[] = {INT64_MAX, INT64_MAX, 0};
    const int64_t open[] = {-1, 3};
    const int64_t edge[] = {INT64_MAX / 2};

    assert_true(vt_shape_elements(usual, 3, &elements));
    assert_int_equal(elements, 24);
    assert_true(vt_shape_elements(usual, 0, &elements));
    assert_int_equal(elements, 1);
    assert_false(vt_shape_elements(huge, 2, &elements));
    assert_true(vt_shape_elements(empty, 3, &elements));
    assert_int_equal(elements, 0);
    assert_false(vt_shape_elements(open, 2, &elements));
    assert_true(vt_shape_bytes(VT_F64, usual, 3, &bytes));
    assert_int_equal(bytes, 192);
    assert_false(vt_shape_bytes(VT_F64, edge, 1, &bytes));
    assert_false(vt_shape_bytes(VT_STRING, usual, 3, &bytes));
}

static void shapes_read_well(void **state)
{
    (void)state;
    char text[64];
    const int64_t dim[] = {-1, 3, 224, -1};
    const char *symbol[] = {"N", NULL, NULL, NULL};

    assert_string_equal(vt_shape_text(dim, 4, symbol, text, sizeof text), "Nx3x224x?");
    assert_string_equal(vt_shape_text(dim, 4, NULL, text, sizeof text), "?x3x224x?");
    assert_string_equal(vt_shape_text(dim, 0, NULL, text, sizeof text), "scalar");
    assert_string_equal(vt_shape_text(dim + 1, 2, NULL, text, 4), "3x2");
}

static void a_view_is_checked(void **state)
{
    (void)state;
    struct vt_tensor a, b;
    struct vt_error err = VT_ERROR_INIT;
    float data[6];
    const int64_t dim[] = {2, 3};
    const int64_t other[] = {3, 2};
    const int64_t negative[] = {2, -3};
    const int64_t huge[] = {INT64_MAX, 2};

    assert_int_equal(vt_tensor_init(&a, VT_F32, 2, dim, data, &err), VT_OK);
    assert_int_equal(a.bytes, sizeof data);
    assert_int_equal(vt_tensor_init(&b, VT_F32, 2, other, data, &err), VT_OK);
    assert_true(vt_tensor_same_shape(&a, &a));
    assert_false(vt_tensor_same_shape(&a, &b));
    assert_int_equal(vt_tensor_init(&b, VT_F32, 2, negative, data, &err), VT_ERR_USAGE);
    err.status = VT_OK;
    assert_int_equal(vt_tensor_init(&b, VT_F32, 2, huge, data, &err), VT_ERR_LIMIT);
    err.status = VT_OK;
    assert_int_equal(vt_tensor_init(&b, VT_F32, 9, dim, data, &err), VT_ERR_LIMIT);
    err.status = VT_OK;
    assert_int_equal(vt_tensor_init(&b, VT_STRING, 2, dim, data, &err), VT_ERR_USAGE);
}

static void scenarios_have_names(void **state)
{
    (void)state;
    assert_string_equal(vt_scenario_name(VT_SINGLESTREAM), "SingleStream");
    assert_string_equal(vt_scenario_key(VT_MULTISTREAM), "multistream");
    assert_string_equal(vt_scenario_name((enum vt_scenario)77), "?");
    assert_string_equal(vt_mode_key(VT_ACCURACY), "accuracy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names_and_sizes), cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(shapes_read_well),           cmocka_unit_test(a_view_is_checked),
        cmocka_unit_test(scenarios_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
