/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in model and its images, and the registry. */
#include "fixture.h"
#include "vt_torture.h"
#include "workload/registry.h"

static const struct vt_signature *digits_signature(struct one_to_one *model)
{
    return one_to_one(model, port4("image", VT_F32, OPEN, 1, 8, 8),
                      port2("probabilities", VT_F32, OPEN, 10));
}

static void test_registry(void **state)
{
    (void)state;
    size_t n = 0;
    const struct vt_workload_ops *const *table = vt_workload_table(&n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(table[i]->api_version, VT_WORKLOAD_API_VERSION);
        assert_int_equal(table[i]->struct_size, sizeof(struct vt_workload_ops));
        assert_ptr_equal(vt_workload_find(table[i]->name), table[i]);
        assert_non_null(table[i]->summary);
        table[i]->close(NULL);
    }
    assert_null(vt_workload_find("nothing"));
    const struct vt_builtin_model *model = vt_builtin_model_find("digits");
    assert_non_null(model);
    assert_ptr_equal(vt_builtin_models(&n), model);
    assert_int_equal(n, 1);
    assert_non_null(vt_workload_find(model->workload));
    /* An ONNX file: IR version 7, by "vatio", and the parameters' 57,512 bytes are in it. */
    assert_true(model->onnx_bytes > 14378 * 4 && model->onnx_bytes < 60000);
    assert_memory_equal(model->onnx, "\x08\x07\x12\x05vatio", 9);
    assert_null(vt_builtin_model_find("digit"));
}

static void test_samples(void **state)
{
    (void)state;
    struct one_to_one model;
    const struct vt_workload_ops *ops = vt_workload_find("digits");
    struct vt_workload_config config = {0};
    struct vt_workload_info info;
    void *digits = NULL;
    assert_int_equal(ops->open(&config, digits_signature(&model), NULL, &digits), VT_OK);
    ops->info(digits, &info);
    assert_string_equal(info.name, "digits");
    assert_int_equal(info.total_count, 360);
    assert_int_equal(info.performance_count, 360);
    assert_true(info.has_quality);
    assert_non_null(strstr(info.description, "360 held-out images"));
    double sum = 0;
    for (uint64_t i = 0; i < info.total_count; i++) {
        struct vt_tensor tensor;
        assert_int_equal(ops->load(digits, &i, 1, NULL), VT_OK);
        ops->sample(digits, i, &tensor);
        assert_int_equal(tensor.dtype, VT_F32);
        assert_int_equal(tensor.rank, 4);
        assert_int_equal(tensor.dim[0], 1);
        assert_int_equal(tensor.dim[3], 8);
        assert_int_equal(tensor.bytes, 256);
        for (int p = 0; p < 64; p++) {
            float value = ((float *)tensor.data)[p];
            assert_true(value >= 0 && value <= 16 && value == (float)(int)value);
            sum += (double)value;
        }
        ops->unload(digits, &i, 1);
    }
    /* The mean of the pixels of the last 360 lines of the published file. */
    assert_near(sum / 360 / 64, 4.876128472222, 1e-9);
    struct vt_error err = VT_ERROR_INIT;
    uint64_t beyond = 360;
    assert_int_equal(ops->load(digits, &beyond, 1, &err), VT_ERR_USAGE);
    ops->close(digits);
}

/* Responses made from the labels that finish() finds in one-hot outputs. */
static void test_score(void **state)
{
    (void)state;
    /* The first ten labels of the held-out part, as published. */
    static const int first[] = {2, 3, 4, 5, 6, 7, 8, 9, 0, 9};
    struct one_to_one model;
    const struct vt_workload_ops *ops = vt_workload_find("digits");
    struct vt_workload_config config = {0};
    void *digits = NULL;
    struct vt_quality quality;
    struct vt_response responses[10];
    int32_t classes[10];
    assert_int_equal(ops->open(&config, digits_signature(&model), NULL, &digits), VT_OK);
    for (uint64_t i = 0; i < 10; i++) {
        float scores[10] = {0};
        struct vt_tensor output = {
            .dtype = VT_F32, .rank = 2, .dim = {1, 10}, .data = scores, .bytes = sizeof scores};
        uint8_t response[VT_RESPONSE_MAX];
        size_t bytes = 0;
        scores[first[i]] = 1;
        assert_int_equal(ops->finish(digits, i, &output, 1, response, &bytes, NULL), VT_OK);
        assert_int_equal(bytes, 4);
        memcpy(&classes[i], response, 4);
        assert_int_equal(classes[i], first[i]);
        responses[i] = (struct vt_response){i, &classes[i], 4};
    }
    assert_int_equal(ops->score(digits, responses, 10, NULL, &quality), VT_OK);
    assert_near(quality.value, 100, 0);
    assert_string_equal(quality.metric, "top-1");
    assert_false(quality.has_target);
    assert_int_equal(quality.count, 10);
    /* Failed samples are wrong ones. */
    responses[9].bytes = 0;
    classes[8] = -1;
    assert_int_equal(ops->score(digits, responses, 10, NULL, &quality), VT_OK);
    assert_near(quality.value, 80, 1e-12);
    responses[0].index = 360;
    assert_int_equal(ops->score(digits, responses, 10, NULL, &quality), VT_ERR_FORMAT);
    ops->close(digits);
}

/* Whether the whole set with so many wrong answers passes. */
static void test_target(void **state)
{
    (void)state;
    struct one_to_one model;
    const struct vt_workload_ops *ops = vt_workload_find("digits");
    struct vt_workload_config config = {0};
    void *digits = NULL;
    static struct vt_response responses[360];
    static int32_t classes[360];
    struct vt_quality quality;
    assert_int_equal(ops->open(&config, digits_signature(&model), NULL, &digits), VT_OK);
    /* Finds each label by asking for the score of one answer. */
    for (uint64_t i = 0; i < 360; i++) {
        responses[i] = (struct vt_response){i, &classes[i], 4};
        for (classes[i] = 0; classes[i] < 10; classes[i]++) {
            assert_int_equal(ops->score(digits, &responses[i], 1, NULL, &quality), VT_OK);
            if (quality.value > 0) {
                break;
            }
        }
        assert_true(classes[i] < 10);
    }
    for (int wrong = 0; wrong < 20; wrong++) {
        assert_int_equal(ops->score(digits, responses, 360, NULL, &quality), VT_OK);
        assert_true(quality.has_target);
        assert_near(quality.target, 97.3, 0);
        assert_near(quality.value, 100.0 * (360 - wrong) / 360, 1e-9);
        assert_int_equal(quality.pass, wrong <= 9);
        assert_string_equal(quality.detail, "on 360 held-out images");
        classes[wrong] = 11;
    }
    ops->close(digits);
}

static void test_refused(void **state)
{
    (void)state;
    struct one_to_one model;
    const struct vt_workload_ops *ops = vt_workload_find("digits");
    struct vt_workload_config config = {0};
    struct vt_error err = VT_ERROR_INIT;
    void *digits = NULL;
    const struct vt_signature *signature =
        one_to_one(&model, port4("x", VT_F32, OPEN, 3, 32, 32), port2("y", VT_F32, OPEN, 10));
    assert_int_equal(ops->open(&config, signature, &err, &digits), VT_ERR_UNSUPPORTED);
    assert_error(&err, VT_ERR_UNSUPPORTED, "'x'", "Nx3x32x32");
    err = (struct vt_error)VT_ERROR_INIT;
    signature = one_to_one(&model, port4("x", VT_F32, OPEN, 1, 8, 8),
                           port4("boxes", VT_F32, 1, 85, 22, 22));
    assert_int_equal(ops->open(&config, signature, &err, &digits), VT_ERR_UNSUPPORTED);
    assert_error(&err, VT_ERR_UNSUPPORTED, "'boxes'", "1x85x22x22");
    err = (struct vt_error)VT_ERROR_INIT;
    config.dataset = "pictures";
    assert_int_equal(ops->open(&config, digits_signature(&model), &err, &digits), VT_ERR_USAGE);
    assert_error(&err, VT_ERR_USAGE, "pictures", "image-classification");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct one_to_one model;
    const struct vt_signature *signature = digits_signature(&model);
    const struct vt_workload_ops *ops = vt_workload_find("digits");
    struct vt_workload_config config = {.performance_count = 5, .sample_count = 7};
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        void *digits = NULL;
        vt_torture_begin(&torture, allowed);
        done = ops->open(&config, signature, &err, &digits) == VT_OK;
        ops->close(digits);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_int_equal(err.status, done ? VT_OK : VT_ERR_MEMORY);
        assert_true(allowed < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry), cmocka_unit_test(test_samples),
        cmocka_unit_test(test_score),    cmocka_unit_test(test_target),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
