/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real models against the outputs that another runtime stored: alone and in batches, with one and
 * two threads, and twice in a row.
 */
#include "plan_fixture.h"
#include "vt_npy.h"

static const char *data;

static char *folder(const char *part)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", data, part);
    return path;
}

/* Plans for the inputs' batch, runs twice and compares; `expected` has one tensor an output. */
static void check(struct fixture *f, const struct vt_tensor *inputs, uint32_t n_inputs,
                  const struct vt_tensor *expected)
{
    fixture_plan(f, inputs, n_inputs);
    float *first = NULL;
    for (int run = 0; run < 2; run++) {
        fixture_run(f, inputs, n_inputs);
        for (uint32_t i = 0; i < f->n_outputs; i++) {
            assert_true(vt_tensor_same_shape(&f->outputs[i], &expected[i]));
            assert_close(&f->outputs[i], expected[i].data, expected[i].bytes / sizeof(float));
        }
        if (run == 0) {
            first = vt_alloc(f->outputs[0].bytes);
            memcpy(first, f->outputs[0].data, f->outputs[0].bytes);
        } else {
            assert_memory_equal(first, f->outputs[0].data, f->outputs[0].bytes);
        }
    }
    vt_free(first);
}

/* The rows [row, row + n) of a batch. */
static struct vt_tensor rows(const struct vt_tensor *batch, int64_t row, int64_t n)
{
    struct vt_tensor part = *batch;
    size_t bytes = batch->bytes / (size_t)batch->dim[0];
    part.dim[0] = n;
    part.bytes = bytes * (size_t)n;
    part.data = (uint8_t *)batch->data + (size_t)row * bytes;
    return part;
}

/* A batch of `n` from `n_sources` single samples, again and again. */
static struct vt_tensor repeated(const struct vt_tensor *sources, int64_t n_sources, int64_t n)
{
    struct vt_tensor batch = sources[0];
    batch.dim[0] = n;
    batch.bytes = sources[0].bytes * (size_t)n;
    batch.data = vt_alloc(batch.bytes);
    assert_non_null(batch.data);
    for (int64_t i = 0; i < n; i++) {
        memcpy((uint8_t *)batch.data + (size_t)i * sources[0].bytes, sources[i % n_sources].data,
               sources[0].bytes);
    }
    return batch;
}

static void report(const struct fixture *f, const char *name)
{
    struct vt_plan_info info;
    vt_plan_info(f->plan, &info);
    print_message("%s: %u steps (%u dynamic), %u folded, %u fused, arena %zu of %zu KiB, %.4g "
                  "MFLOP\n",
                  name, info.steps, info.dynamic_steps, info.folded_nodes, info.fused_nodes,
                  info.arena_bytes >> 10, info.unshared_bytes >> 10, info.flops / 1e6);
    assert_true(info.arena_bytes <= info.unshared_bytes);
}

static void resnet8(uint32_t threads)
{
    struct fixture f;
    fixture_open(&f, folder("classification"), "resnet8_cifar10.onnx", threads);
    struct vt_tensor input = vt_npy_read(folder("classification/expected"), "resnet8_input_0.npy");
    struct vt_tensor output =
        vt_npy_read(folder("classification/expected"), "resnet8_output_0.npy");
    check(&f, &input, 1, &output);
    report(&f, "resnet8, batch 8");
    for (int64_t i = 0; i < 8; i++) {
        struct vt_tensor one = rows(&input, i, 1), wanted = rows(&output, i, 1);
        check(&f, &one, 1, &wanted);
    }
    vt_free(input.data);
    vt_free(output.data);
    fixture_close(&f);
}

static void test_resnet8(void **state)
{
    (void)state;
    resnet8(1);
    resnet8(2);
}

/* The model's input of a stored picture: blue first, 0..1. */
static struct vt_tensor from_picture(const char *name)
{
    struct vt_tensor picture = vt_npy_read(folder("detection/expected"), name);
    const int64_t pixels = picture.dim[0] * picture.dim[1];
    float *planes = vt_alloc((size_t)pixels * 3 * sizeof(float));
    assert_non_null(planes);
    for (int64_t c = 0; c < 3; c++) {
        for (int64_t i = 0; i < pixels; i++) {
            planes[c * pixels + i] = (float)((const uint8_t *)picture.data)[i * 3 + 2 - c] / 255.0f;
        }
    }
    struct vt_tensor input =
        view(VT_F32, planes, 1, 3, (int)picture.dim[0], (int)picture.dim[1], -1);
    vt_free(picture.data);
    return input;
}

static void fastestdet(uint32_t threads)
{
    struct fixture f;
    fixture_open(&f, folder("detection"), "FastestDet.onnx", threads);
    struct vt_tensor inputs[3], outputs[3];
    inputs[0] = vt_npy_read(folder("detection/expected"), "fastestdet_input_0.npy");
    inputs[1] = from_picture("fastestdet_input_1_rgb_u8.npy");
    inputs[2] = from_picture("fastestdet_input_2_rgb_u8.npy");
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof(name), "fastestdet_output_%d.npy", i);
        outputs[i] = vt_npy_read(folder("detection/expected"), name);
        check(&f, &inputs[i], 1, &outputs[i]);
    }
    report(&f, "FastestDet, batch 1");
    if (vt_model_values(f.model)[vt_model_graph(f.model)->inputs[0]].dim[0] < 0) {
        struct vt_tensor batch = repeated(inputs, 3, 8), wanted = repeated(outputs, 3, 8);
        check(&f, &batch, 1, &wanted);
        report(&f, "FastestDet, batch 8");
        vt_free(batch.data);
        vt_free(wanted.data);
    }
    for (int i = 0; i < 3; i++) {
        vt_free(inputs[i].data);
        vt_free(outputs[i].data);
    }
    fixture_close(&f);
}

static void test_fastestdet(void **state)
{
    (void)state;
    fastestdet(1);
    fastestdet(2);
}

static void meshnet5(uint32_t threads)
{
    struct fixture f;
    fixture_open(&f, folder("segmentation"), "meshnet5.onnx", threads);
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof(name), "meshnet5_input_%d.npy", i);
        struct vt_tensor input = vt_npy_read(folder("segmentation/expected"), name);
        snprintf(name, sizeof(name), "meshnet5_output_%d.npy", i);
        struct vt_tensor output = vt_npy_read(folder("segmentation/expected"), name);
        check(&f, &input, 1, &output);
        report(&f, "meshnet5, batch 1");
        if (i == 1) {
            struct vt_tensor batch = repeated(&input, 1, 8), wanted = repeated(&output, 1, 8);
            check(&f, &batch, 1, &wanted);
            vt_free(batch.data);
            vt_free(wanted.data);
        }
        vt_free(input.data);
        vt_free(output.data);
    }
    fixture_close(&f);
}

static void test_meshnet5(void **state)
{
    (void)state;
    meshnet5(1);
    meshnet5(2);
}

/* One step of the voice detector: a recurrent network inside a nested If. */
static void silero(struct fixture *f, const char *rate, int64_t hertz, int step)
{
    char name[64];
    struct vt_tensor inputs[3], wanted[2];
    snprintf(name, sizeof(name), "silero_vad_%s_step%d_input.npy", rate, step);
    inputs[0] = vt_npy_read(folder("speech/expected"), name);
    snprintf(name, sizeof(name), "silero_vad_%s_step%d_state.npy", rate, step);
    inputs[1] = vt_npy_read(folder("speech/expected"), name);
    inputs[2] = view(VT_I64, &hertz, -1);
    snprintf(name, sizeof(name), "silero_vad_%s_step%d_output.npy", rate, step);
    wanted[0] = vt_npy_read(folder("speech/expected"), name);
    snprintf(name, sizeof(name), "silero_vad_%s_step%d_stateN.npy", rate, step);
    wanted[1] = vt_npy_read(folder("speech/expected"), name);
    check(f, inputs, 3, wanted);
    for (int i = 0; i < 2; i++) {
        vt_free(inputs[i].data);
        vt_free(wanted[i].data);
    }
}

static void test_silero(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder("speech"), "silero_vad.onnx", 2);
    for (int step = 0; step < 3; step++) {
        silero(&f, "16k", 16000, step);
    }
    report(&f, "silero_vad, 16 kHz");
    for (int step = 0; step < 2; step++) {
        silero(&f, "8k", 8000, step);
    }
    fixture_close(&f);
}

int main(void)
{
    data = vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet8),
        cmocka_unit_test(test_fastestdet),
        cmocka_unit_test(test_meshnet5),
        cmocka_unit_test(test_silero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
