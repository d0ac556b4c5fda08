/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every pass alone, all of them and none give equal outputs: on the networks of the zoo at their
 * small scale, and on the real models where VATIO_TEST_DATA has them.
 */
#include <unistd.h>

#include "../plan_fixture.h"
#include "zoo/zoo.h"

#define INPUTS_MOST 3u

struct subject {
    struct fixture f;
    struct vt_tensor inputs[INPUTS_MOST], wanted[FIXTURE_OUTPUTS];
    uint32_t n_inputs;
};

/* The hertz of the voice detector, the only scalar. */
#define RATE 16000

/* Open extents are taken from the list, the last one again and again; places are those of the first
 * two rows, which every table has. */
static void make_inputs(struct subject *s, const int64_t *shapes)
{
    const struct vt_graph *graph = vt_model_graph(s->f.model);
    s->n_inputs = graph->n_inputs;
    assert_true(s->n_inputs <= INPUTS_MOST);
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const struct vt_value *value = &vt_model_values(s->f.model)[graph->inputs[i]];
        struct vt_tensor *input = &s->inputs[i];
        uint32_t state = 12345 + i;
        input->dtype = value->dtype;
        input->rank = value->rank;
        for (uint32_t d = 0; d < value->rank; d++) {
            input->dim[d] = value->dim[d] >= 0 ? value->dim[d] : *shapes;
            shapes += value->dim[d] < 0 && shapes[1] != 0 ? 1 : 0;
        }
        assert_true(vt_shape_bytes(input->dtype, input->dim, input->rank, &input->bytes));
        input->data = calloc(1, input->bytes + 1);
        assert_non_null(input->data);
        for (size_t k = 0; k < input->bytes / vt_dtype_bytes(input->dtype); k++) {
            state = state * 1664525u + 1013904223u;
            if (input->dtype == VT_F32) {
                ((float *)input->data)[k] = (float)(state >> 8) / 16777216.0f;
            } else {
                assert_int_equal(input->dtype, VT_I64);
                ((int64_t *)input->data)[k] = input->rank == 0 ? RATE : state >> 31;
            }
        }
    }
}

static void compare(const struct subject *s, const char *what)
{
    for (uint32_t i = 0; i < s->f.n_outputs; i++) {
        const struct vt_tensor *got = &s->f.outputs[i], *wanted = &s->wanted[i];
        if (!vt_tensor_same_shape(got, wanted)) {
            fail_msg("%s: output %u has another shape", what, i);
        }
        for (size_t k = 0; got->dtype == VT_F32 && k < got->bytes / sizeof(float); k++) {
            const double x = (double)((const float *)got->data)[k];
            const double y = (double)((const float *)wanted->data)[k];
            if (!(fabs(x - y) <= 1e-4 + 1e-3 * fabs(y))) {
                fail_msg("%s: output %u, element %zu is %.9g, without passes %.9g", what, i, k, x,
                         y);
            }
        }
    }
}

static void each_pass(struct subject *s, const char *name)
{
    s->f.options.without = VT_PLAN_NO_PASSES;
    fixture_plan(&s->f, s->inputs, s->n_inputs);
    fixture_run(&s->f, s->inputs, s->n_inputs);
    for (uint32_t i = 0; i < s->f.n_outputs; i++) {
        s->wanted[i] = s->f.outputs[i];
        s->wanted[i].data = malloc(s->wanted[i].bytes + 1);
        assert_non_null(s->wanted[i].data);
        memcpy(s->wanted[i].data, s->f.outputs[i].data, s->wanted[i].bytes);
    }
    for (uint32_t pass = 0; pass <= vt_plan_pass_count(); pass++) {
        const bool alone = pass < vt_plan_pass_count();
        char what[128];
        snprintf(what, sizeof(what), "%s, %s", name, alone ? vt_plan_pass_name(pass) : "all");
        s->f.options.without = alone ? ~(UINT64_C(1) << pass) : 0;
        fixture_plan(&s->f, s->inputs, s->n_inputs);
        fixture_run(&s->f, s->inputs, s->n_inputs);
        compare(s, what);
    }
    for (uint32_t i = 0; i < s->f.n_outputs; i++) {
        free(s->wanted[i].data);
    }
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        free(s->inputs[i].data);
    }
    fixture_close(&s->f);
}

static void zoo_network(const char *name, size_t graph)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec = {0};
    char path[] = "/tmp/vt_pass_XXXXXX";
    const int64_t batch[] = {2, 0};
    struct subject s = {.n_inputs = 0};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(vt_zoo_spec_init(&spec, vt_zoo_find(name), true, VT_ZOO_SEED, NULL, &err),
                     VT_OK);
    if (vt_zoo_write_graph(&spec, graph, path, &err) != VT_OK) {
        fail_msg("%s: %s", name, err.text);
    }
    fixture_open(&s.f, "", path, 1);
    unlink(path);
    make_inputs(&s, batch);
    each_pass(&s, name);
}

static void zoo_networks(void **state)
{
    (void)state;
    zoo_network("resnet50", 0);
    zoo_network("unet3d", 0);
    zoo_network("rnnt", 0);
    zoo_network("rnnt", 1);
    zoo_network("rnnt", 2);
    zoo_network("bert-large", 0);
    zoo_network("dlrm", 0);
}

static void real_model(const char *file, const int64_t *shapes)
{
    const char *data = getenv("VATIO_TEST_DATA");
    struct subject s = {.n_inputs = 0};
    fixture_open(&s.f, data, file, 1);
    make_inputs(&s, shapes);
    each_pass(&s, file);
}

static void real_models(void **state)
{
    (void)state;
    const char *data = getenv("VATIO_TEST_DATA");
    if (data == NULL || data[0] == '\0') {
        skip();
    }
    real_model("classification/resnet8_cifar10.onnx", (const int64_t[]){3, 0});
    real_model("detection/FastestDet.onnx", (const int64_t[]){1, 0});
    real_model("segmentation/meshnet5.onnx", (const int64_t[]){1, 16, 16, 16, 0});
    /* Samples, state: [batch][samples], [2][batch][128]. */
    real_model("speech/silero_vad.onnx", (const int64_t[]){1, 576, 1, 0});
}

/* Names, and how sets of them are written. */
static void passes_have_names(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    uint64_t without = 1;
    const uint32_t n = vt_plan_pass_count(), gelu = vt_plan_pass_find("gelu");
    assert_true(n > 0 && gelu < n);
    assert_string_equal(vt_plan_pass_name(gelu), "gelu");
    assert_non_null(vt_plan_pass_summary(gelu));
    assert_null(vt_plan_pass_name(n));
    assert_int_equal(vt_plan_pass_find("shapes"), n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(vt_plan_pass_find(vt_plan_pass_name(i)), i);
    }
    assert_int_equal(vt_plan_passes_read("all", &err, &without), VT_OK);
    assert_true(without == 0);
    assert_int_equal(vt_plan_passes_read("none", &err, &without), VT_OK);
    assert_true(without == VT_PLAN_NO_PASSES);
    assert_int_equal(vt_plan_passes_read("gelu+softmax", &err, &without), VT_OK);
    assert_true((without >> gelu & 1) == 0);
    assert_true((without >> vt_plan_pass_find("softmax") & 1) == 0);
    assert_true((without >> vt_plan_pass_find("common") & 1) == 1);
    assert_int_equal(vt_plan_passes_read("-gelu", &err, &without), VT_OK);
    assert_true(without == UINT64_C(1) << gelu);
    static const char *const wrong[] = {"",
                                        "-",
                                        "+",
                                        "gelu+",
                                        "gelu++softmax",
                                        "shapes",
                                        "-all",
                                        "a-name-that-is-longer-than-that-of-any-pass"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        assert_int_equal(vt_plan_passes_read(wrong[i], &err, &without), VT_ERR_USAGE);
        assert_true(err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_have_names),
        cmocka_unit_test(zoo_networks),
        cmocka_unit_test(real_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
