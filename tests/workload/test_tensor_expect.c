/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor workload: comparison with what is expected. */
#include <math.h>

#include "tensor_fixture.h"
#include "workload/tensor_compare.h"

static void test_compare(void **state)
{
    (void)state;
    const struct vt_tolerance tolerance = {1e-3, 1e-4};
    struct vt_difference difference;
    const float inf = INFINITY, nan = NAN;
    const float b[6] = {1, 0, 100, inf, nan, -3};
    float a[6];
    memcpy(a, b, sizeof a);
    vt_tensor_compare(VT_F32, a, VT_F32, b, 6, &tolerance, &difference);
    assert_int_equal(difference.beyond, 0);
    assert_int_equal(difference.elements, 6);
    assert_near(difference.ratio, 0, 0);
    a[0] = 1.001f;  /* 1e-3 of the allowed 1.1e-3 */
    a[1] = 0.9e-4f; /* of 1e-4 */
    a[2] = 100.2f;  /* twice 0.1001 */
    vt_tensor_compare(VT_F32, a, VT_F32, b, 6, &tolerance, &difference);
    assert_int_equal(difference.beyond, 1);
    assert_int_equal(difference.worst, 2);
    assert_near(difference.ratio, 0.2 / 0.1001, 1e-3);
    assert_near(vt_tolerance_allowed(&tolerance, -100), 0.1001, 1e-12);
    a[5] = nan;
    vt_tensor_compare(VT_F32, a, VT_F32, b, 6, &tolerance, &difference);
    assert_int_equal(difference.beyond, 2);
    assert_int_equal(difference.worst, 5);
    assert_true(isinf(difference.ratio));
    a[5] = -3;
    a[3] = -inf;
    vt_tensor_compare(VT_F32, a, VT_F32, b, 6, &tolerance, &difference);
    assert_int_equal(difference.worst, 3);
    /* No tolerance at all; other types. */
    const struct vt_tolerance none = {0, 0};
    const int64_t whole[2] = {5, 7};
    const uint8_t bytes[2] = {5, 8};
    vt_tensor_compare(VT_U8, bytes, VT_I64, whole, 2, &none, &difference);
    assert_int_equal(difference.beyond, 1);
    assert_int_equal(difference.worst, 1);
    assert_near(difference.found, 8, 0);
    assert_near(difference.expected, 7, 0);
}

/* Two samples of two outputs against files; `shift` is added to one element of sample 1. */
static enum vt_status run(const struct vt_workload_config *config,
                          const struct vt_signature *signature, float shift, struct vt_error *err,
                          struct vt_quality *ret_quality)
{
    void *tensors = open_ok(config, signature);
    struct vt_response responses[2];
    uint8_t response[2][VT_RESPONSE_MAX];
    for (uint64_t i = 0; i < 2; i++) {
        float y[6], z[1];
        for (int e = 0; e < 6; e++) {
            y[e] = (float)(i * 6) + (float)e + (i == 1 && e == 4 ? shift : 0);
        }
        z[0] = (float)i;
        struct vt_tensor outputs[2] = {
            {.dtype = VT_F32, .rank = 3, .dim = {1, 2, 3}, .data = y, .bytes = sizeof y},
            {.dtype = VT_F32, .rank = 2, .dim = {1, 1}, .data = z, .bytes = sizeof z}};
        responses[i] = (struct vt_response){.index = i, .data = response[i]};
        assert_int_equal(ops->finish(tensors, i, outputs, 2, response[i], &responses[i].bytes, err),
                         VT_OK);
        assert_in_range(responses[i].bytes, 1, VT_RESPONSE_MAX);
    }
    enum vt_status status = ops->score(tensors, responses, 2, err, ret_quality);
    ops->close(tensors);
    return status;
}

static void test_expect(void **state)
{
    (void)state;
    static const float x[2] = {1, 2};
    static const float y[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct vt_port input = {.name = "x", .dtype = VT_F32, .rank = 1, .dim = {OPEN}};
    struct vt_port outputs[2] = {{.name = "y", .dtype = VT_F32, .rank = 3, .dim = {OPEN, 2, OPEN}},
                                 port2("z", VT_F32, OPEN, 1)};
    struct vt_signature signature = {&input, outputs, 1, 2};
    put("x.npy", "<f4", "2,", x, sizeof x);
    put("y.npy", "<f4", "2, 2, 3", y, sizeof y);
    put("z.npy", "<f4", "2, 1", (float[]){0, 1}, 8);
    const char *in[] = {named("x", "x.npy")};
    const char *out[] = {named("z", "z.npy"), named("y", "y.npy")};
    struct vt_workload_config config = {
        .inputs = in, .n_inputs = 1, .expects = out, .n_expects = 2, .rtol = 1e-3, .atol = 1e-4};
    struct vt_quality quality;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(run(&config, &signature, 0.005f, NULL, &quality), VT_OK);
    assert_near(quality.value, 100, 0);
    assert_true(quality.pass);
    assert_int_equal(quality.count, 2);
    assert_string_equal(quality.detail,
                        "among 14 of 2 outputs, the worst at 0.5 of the allowed difference");
    assert_int_equal(run(&config, &signature, 0.02f, NULL, &quality), VT_OK);
    assert_false(quality.pass);
    assert_near(quality.value, 100.0 * 13 / 14, 1e-9);
    assert_non_null(strstr(quality.failure, "output 'y' of sample 1, element [0,1,1]: 10.0200"));
    assert_non_null(strstr(quality.failure, "1 of 14 elements"));
    assert_non_null(strstr(quality.failure, "y.npy has 10, and 0.0101 is allowed"));
    assert_non_null(strstr(quality.failure, "--rtol 0.001 --atol 0.0001"));
    assert_int_equal(run(&config, &signature, NAN, NULL, &quality), VT_OK);
    assert_false(quality.pass);
    assert_non_null(strstr(quality.failure, "nan"));
    config.rtol = 3e-3;
    assert_int_equal(run(&config, &signature, 0.02f, NULL, &quality), VT_OK);
    struct vt_workload_info info;
    void *tensors = open_ok(&config, &signature);
    ops->info(tensors, &info);
    assert_true(info.has_quality);
    assert_string_equal(info.description, "2 samples, inputs from files, 2 outputs compared");
    /* A sample that failed; an output of another shape. */
    struct vt_response lost = {.index = 1};
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(ops->score(tensors, &lost, 1, &err, &quality), VT_ERR_ENGINE);
    assert_error(&err, VT_ERR_ENGINE, "sample 1", "no outputs");
    float values[8] = {0};
    uint8_t response[VT_RESPONSE_MAX];
    size_t bytes;
    struct vt_tensor wrong[2] = {
        {.dtype = VT_F32, .rank = 3, .dim = {1, 2, 4}, .data = values, .bytes = 32},
        {.dtype = VT_F32, .rank = 2, .dim = {1, 1}, .data = values, .bytes = 4}};
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(ops->finish(tensors, 0, wrong, 2, response, &bytes, &err), VT_ERR_MISMATCH);
    assert_error(&err, VT_ERR_MISMATCH, "1x2x4", "1x2x3");
    ops->close(tensors);
}

static void test_expect_refused(void **state)
{
    (void)state;
    static const float y[12] = {0};
    struct one_to_one model;
    const struct vt_signature *signature =
        one_to_one(&model, port2("x", VT_F32, OPEN, 1), port2("y", VT_F32, OPEN, 3));
    const char *in[] = {named("x", "three.npy")};
    const char *out[] = {"w=y.npy"};
    put("three.npy", "<f4", "3, 1", y, 12);
    struct vt_workload_config config = {
        .inputs = in, .n_inputs = 1, .expects = out, .n_expects = 1, .rtol = 1e-3, .atol = 1e-4};
    assert_refused(&config, signature, VT_ERR_USAGE, "no such output 'w'", "'y'");
    put("y.npy", "<f4", "4, 3", y, sizeof y);
    out[0] = named("y", "y.npy");
    assert_refused(&config, signature, VT_ERR_USAGE, "4x3", "3 samples");
    put("y.npy", "<f4", "3, 4", y, sizeof y);
    assert_refused(&config, signature, VT_ERR_USAGE, "3x4", "Nx3");
    put("y.npy", "<f4", "12,", y, sizeof y);
    assert_refused(&config, signature, VT_ERR_USAGE, "12", "Nx3");
    put("y.npy", "<f4", "3, 3", y, 36);
    config.rtol = -1;
    assert_refused(&config, signature, VT_ERR_USAGE, "--rtol -1", "0 or more");
    config.rtol = (double)NAN;
    assert_refused(&config, signature, VT_ERR_USAGE, "--rtol", "0 or more");
    config.rtol = 0;
    ops->close(open_ok(&config, signature));
}

static void test_response_without_expect(void **state)
{
    (void)state;
    struct one_to_one model;
    struct vt_workload_config config = {0};
    struct vt_quality quality;
    float values[32];
    uint8_t response[VT_RESPONSE_MAX];
    size_t bytes = 0;
    void *tensors = open_ok(
        &config, one_to_one(&model, port2("x", VT_F32, OPEN, 1), port2("y", VT_F32, OPEN, 32)));
    struct vt_tensor output = {
        .dtype = VT_F32, .rank = 2, .dim = {1, 32}, .data = values, .bytes = sizeof values};
    for (int i = 0; i < 32; i++) {
        values[i] = (float)i;
    }
    assert_int_equal(ops->finish(tensors, 0, &output, 1, response, &bytes, NULL), VT_OK);
    assert_int_equal(bytes, VT_RESPONSE_MAX);
    assert_memory_equal(response, values, VT_RESPONSE_MAX);
    assert_int_equal(ops->score(tensors, NULL, 0, NULL, &quality), VT_ERR_USAGE);
    ops->close(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_expect),
        cmocka_unit_test(test_expect_refused),
        cmocka_unit_test(test_response_without_expect),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
