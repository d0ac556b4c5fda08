/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real models: every .onnx file in the folder of test data is imported, and what is told about
 * some of them is what is published.
 */
#include <ftw.h>

#include "graph/inspect.h"
#include "vt_test.h"

static unsigned n_files, n_failed;

static int visit(const char *path, const struct stat *info, int type, struct FTW *at)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_summary summary;
    struct vt_model *model = NULL;
    size_t n = strlen(path);
    (void)info;
    (void)at;

    if (type != FTW_F || n < 5 || strcmp(path + n - 5, ".onnx") != 0) {
        return 0;
    }
    n_files++;
    enum vt_status status = vt_model_import(path, NULL, &err, &model);
    if (status == VT_OK) {
        status = vt_model_inspect(model, NULL, 0, &err, &summary);
    }
    if (status != VT_OK) {
        print_message("%s\n", err.text);
        n_failed++;
    } else {
        print_message("%s: %u nodes, %lld parameters, %.4g MFLOP, %u nodes not counted\n", path,
                      summary.n_nodes, (long long)summary.parameters, summary.flops / 1e6,
                      summary.uncounted_nodes);
        vt_model_summary_release(&summary);
    }
    vt_model_free(model);
    return 0;
}

static void test_all_import(void **state)
{
    assert_int_equal(nftw(*state, visit, 16, FTW_PHYS), 0);
    print_message("%u models, %u refused\n", n_files, n_failed);
    assert_true(n_files > 0);
    assert_int_equal(n_failed, 0);
}

/* Opens a model of the data, or skips the test when it is not among them. */
static struct vt_model *open_model(const char *folder, const char *name,
                                   struct vt_model_summary *ret)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    char path[1024];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    enum vt_status status = vt_model_import(path, NULL, &err, &model);
    if (status == VT_ERR_NOT_FOUND) {
        skip();
    }
    if (status != VT_OK || vt_model_inspect(model, NULL, 0, &err, ret) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return model;
}

/*
 * MLPerf Tiny's ResNet for CIFAR-10: nine convolutions. The arithmetic by hand, in multiply-adds:
 * 16 channels at 32x32 (3 to 16, then two of 16 to 16), 32 at 16x16, 64 at 8x8, two shortcuts of
 * 1x1, and 64 to 10.
 */
static void test_resnet8(void **state)
{
    struct vt_model_summary summary;
    struct vt_model *model = open_model(*state, "classification/resnet8_cifar10.onnx", &summary);
    const double adds = 32 * 32 * 16.0 * 9 * (3 + 16 + 16) + 16 * 16 * 32.0 * 9 * (16 + 32) +
                        8 * 8 * 64.0 * 9 * (32 + 64) + 16 * 16 * 32.0 * 16 + 8 * 8 * 64.0 * 32 +
                        640;

    assert_int_equal(summary.uncounted_nodes, 0);
    assert_true(summary.flops > 2 * adds);
    assert_true(summary.flops < 2.02 * adds); /* and biases, additions, activations */
    assert_true(summary.parameters > 77000 && summary.parameters < 79000);
    assert_int_equal(summary.signature.n_inputs, 1);
    assert_string_equal(summary.signature.inputs[0].name, "input");
    assert_string_equal(summary.operators[0].name, "Conv");
    assert_int_equal(summary.operators[0].count, 9);
    vt_model_summary_release(&summary);
    vt_model_free(model);
}

/* ResNet-50 takes 4.1 G multiply-adds at 224x224 in 53 convolutions. */
static void test_resnet50(void **state)
{
    struct vt_model_summary summary;
    struct vt_model *model = open_model(*state, "conformance/light/light_resnet50.onnx", &summary);

    for (uint32_t i = 0; i < summary.n_operators; i++) {
        if (strcmp(summary.operators[i].name, "Conv") == 0) {
            assert_int_equal(summary.operators[i].count, 53);
        }
    }
    assert_int_equal(summary.uncounted_nodes, 0);
    assert_true(summary.flops > 2 * 4.05e9 && summary.flops < 2 * 4.15e9);
    assert_int_equal(summary.signature.n_inputs, 1); /* IR 3: the rest are initialisers */
    vt_model_summary_release(&summary);
    vt_model_free(model);
}

int main(void)
{
    char *folder = (char *)(uintptr_t)vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_all_import, folder),
        cmocka_unit_test_prestate(test_resnet8, folder),
        cmocka_unit_test_prestate(test_resnet50, folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
