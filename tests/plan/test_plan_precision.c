/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real models in other precisions: what they lose beside fp32 is bounded, they lose something (so
 * that precision did reach the kernels), results are the same from run to run, and running
 * allocates nothing.
 */
#include "plan_fixture.h"
#include "vt_npy.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/topology.h"
#include "kernels/gemm16/gemm16.h"

static const char *data;

static char *folder(const char *part)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", data, part);
    return path;
}

static _Atomic int allocations;

static void *counting_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)ctx;
    atomic_fetch_add(&allocations, 1);
    alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void counting_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

struct kernels {
    const char *wanted;
    int found;
};

static void count_kernel(void *ctx, const struct vt_step_profile *step)
{
    struct kernels *kernels = ctx;
    kernels->found += strstr(step->kernel, kernels->wanted) != NULL;
}

/* Relative RMS of the difference over all outputs. */
static double rms(const struct fixture *f, const struct vt_tensor *want)
{
    double errors = 0, squares = 0;
    for (uint32_t o = 0; o < f->n_outputs; o++) {
        assert_true(vt_tensor_same_shape(&f->outputs[o], &want[o]));
        for (size_t i = 0; i < want[o].bytes / sizeof(float); i++) {
            const double x = (double)((const float *)want[o].data)[i];
            const double e = (double)((const float *)f->outputs[o].data)[i] - x;
            errors += e * e;
            squares += x * x;
        }
    }
    return sqrt(errors / squares);
}

/* What a model may lose, and in how many steps at least a kernel of that precision stands. */
struct bound {
    enum vt_precision precision;
    const char *kernel;
    double least, most;
    int kernels;
};

static void check(const char *part, const char *model, const struct vt_tensor *inputs, uint32_t n,
                  const struct vt_tensor *expected, const struct bound *bound)
{
    struct fixture f;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        fixture_open(&f, folder(part), model, threads);
        f.options.precision = bound->precision;
        fixture_plan(&f, inputs, n);
        struct kernels kernels = {bound->kernel, 0};
        vt_plan_each_step(f.plan, count_kernel, &kernels);
        assert_true(kernels.found >= bound->kernels);
        fixture_run(&f, inputs, n);
        fixture_run(&f, inputs, n);
        const double lost = rms(&f, expected);
        print_message("%s in %s: RMS %.3g, %d kernels\n", model,
                      vt_precision_name(bound->precision), lost, kernels.found);
        if (!(lost >= bound->least && lost <= bound->most))
            fail_msg("%s: RMS %g is not within %g to %g", model, lost, bound->least, bound->most);
        void *first = vt_alloc(f.outputs[0].bytes);
        memcpy(first, f.outputs[0].data, f.outputs[0].bytes);
        const int counted = atomic_load(&allocations);
        for (int run = 0; run < 5; run++)
            fixture_run(&f, inputs, n);
        assert_int_equal(atomic_load(&allocations), counted);
        assert_memory_equal(first, f.outputs[0].data, f.outputs[0].bytes);
        vt_free(first);
        fixture_close(&f);
    }
}

static bool has_bf16(void)
{
    return vt_gemm16_kernel_find(vt_topology()->features) != NULL;
}

static void resnet8(void **state)
{
    (void)state;
    const struct bound half = {VT_PRECISION_FP16W, "fp16", 0, 1e-4, 0};
    const struct bound bf16 = {VT_PRECISION_BF16, "bf16", 1e-5, 0.02, 4};
    struct vt_tensor input = vt_npy_read(folder("classification/expected"), "resnet8_input_0.npy");
    struct vt_tensor output =
        vt_npy_read(folder("classification/expected"), "resnet8_output_0.npy");
    check("classification", "resnet8_cifar10.onnx", &input, 1, &output, &half);
    if (has_bf16())
        check("classification", "resnet8_cifar10.onnx", &input, 1, &output, &bf16);
    vt_free(input.data);
    vt_free(output.data);
}

static void fastestdet(void **state)
{
    (void)state;
    const struct bound half = {VT_PRECISION_FP16W, "fp16", 0, 1e-4, 0};
    const struct bound bf16 = {VT_PRECISION_BF16, "bf16", 1e-5, 0.03, 10};
    struct vt_tensor input = vt_npy_read(folder("detection/expected"), "fastestdet_input_0.npy");
    struct vt_tensor output = vt_npy_read(folder("detection/expected"), "fastestdet_output_0.npy");
    check("detection", "FastestDet.onnx", &input, 1, &output, &half);
    if (has_bf16())
        check("detection", "FastestDet.onnx", &input, 1, &output, &bf16);
    vt_free(input.data);
    vt_free(output.data);
}

/* Five channels: bfloat16 has nothing to offer, and nothing is lost. */
static void meshnet(void **state)
{
    (void)state;
    const struct bound half = {VT_PRECISION_FP16W, "fp16", 0, 1e-4, 0};
    const struct bound bf16 = {VT_PRECISION_BF16, "bf16", 0, 0.02, 0};
    struct vt_tensor input = vt_npy_read(folder("segmentation/expected"), "meshnet5_input_1.npy");
    struct vt_tensor output = vt_npy_read(folder("segmentation/expected"), "meshnet5_output_1.npy");
    check("segmentation", "meshnet5.onnx", &input, 1, &output, &half);
    if (has_bf16())
        check("segmentation", "meshnet5.onnx", &input, 1, &output, &bf16);
    vt_free(input.data);
    vt_free(output.data);
}

static void silero(void **state)
{
    (void)state;
    const bool half_known = (vt_topology()->features & VT_CPU_AVX2) != 0;
    const struct bound half = {VT_PRECISION_FP16W, "fp16 weights", half_known ? 1e-7 : 0, 1e-3,
                               half_known ? 1 : 0};
    const struct bound bf16 = {VT_PRECISION_BF16, "bf16", 1e-6, 0.03, 1};
    const int64_t hertz = 16000;
    struct vt_tensor inputs[3] = {
        vt_npy_read(folder("speech/expected"), "silero_vad_16k_step0_input.npy"),
        vt_npy_read(folder("speech/expected"), "silero_vad_16k_step0_state.npy"),
        view(VT_I64, &hertz, -1)};
    struct vt_tensor wanted[2] = {
        vt_npy_read(folder("speech/expected"), "silero_vad_16k_step0_output.npy"),
        vt_npy_read(folder("speech/expected"), "silero_vad_16k_step0_stateN.npy")};
    check("speech", "silero_vad.onnx", inputs, 3, wanted, &half);
    if (has_bf16())
        check("speech", "silero_vad.onnx", inputs, 3, wanted, &bf16);
    for (int i = 0; i < 2; i++) {
        vt_free(inputs[i].data);
        vt_free(wanted[i].data);
    }
}

static void what_the_processor_lacks_is_refused(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_precision_check(VT_PRECISION_FP32, &err), VT_OK);
    assert_int_equal(vt_precision_check(VT_PRECISION_FP16W, &err), VT_OK);
    const enum vt_status status = vt_precision_check(VT_PRECISION_BF16, &err);
    assert_int_equal(status, has_bf16() ? VT_OK : VT_ERR_UNSUPPORTED);
    if (!has_bf16())
        assert_non_null(strstr(err.text, "fp16w"));
}

int main(void)
{
    const struct vt_allocator counting = {counting_alloc, counting_free, NULL};
    (void)vt_allocator_set(&counting);
    data = vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet8),
        cmocka_unit_test(fastestdet),
        cmocka_unit_test(meshnet),
        cmocka_unit_test(silero),
        cmocka_unit_test(what_the_processor_lacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
