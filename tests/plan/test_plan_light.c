/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nine well-known topologies with weights from ConstantOfShape: every node is planned and run, the
 * outputs are those that come with the models.
 */
#include "conformance_tensor.h"
#include "plan_fixture.h"

static const char *data;

static void check(const char *name)
{
    struct fixture f;
    char part[512], path[1024];
    struct vt_tensor input, expected;
    snprintf(part, sizeof(part), "%s/conformance/light", data);
    snprintf(path, sizeof(path), "light_%s.onnx", name);
    fixture_open(&f, part, path, 2);
    snprintf(path, sizeof(path), "%s/input_0.pb", part);
    assert_true(conformance_tensor_read(path, &input));
    snprintf(path, sizeof(path), "%s/light_%s_output_0.pb", part, name);
    assert_true(conformance_tensor_read(path, &expected));
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    double worst = assert_close(&f.outputs[0], expected.data, expected.bytes / sizeof(float));
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    print_message("%-14s %3u steps, %3u folded, %3u fused, arena %6zu of %7zu KiB, %.4g GFLOP, "
                  "worst difference %.2g\n",
                  name, info.steps, info.folded_nodes, info.fused_nodes, info.arena_bytes >> 10,
                  info.unshared_bytes >> 10, info.flops / 1e9, worst);
    assert_int_equal(info.dynamic_steps, 0);
    vt_free(input.data);
    vt_free(expected.data);
    fixture_close(&f);
}

static void test_light(void **state)
{
    static const char *const names[] = {"bvlc_alexnet", "densenet121", "inception_v1",
                                        "inception_v2", "resnet50",    "shufflenet",
                                        "squeezenet",   "vgg19",       "zfnet512"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check(names[i]);
    }
}

int main(void)
{
    data = vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_light)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
