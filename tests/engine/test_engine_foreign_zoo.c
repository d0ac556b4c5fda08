/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks of the zoo at their small scale: outputs on ONNX Runtime and OpenVINO against those
 * of vatio's own engine, all in fp32. Compiled once for each of the two.
 */
#include "foreign.h"

#include <unistd.h>

#include "zoo/zoo.h"

/* One sample of a port's shape: numbers from -1 to 1, integers 1 and 0. vt_free(ret.data). */
static struct vt_tensor made_up(const struct vt_port *port, uint32_t seed)
{
    struct vt_tensor tensor = {.dtype = port->dtype, .rank = port->rank};
    for (uint32_t d = 0; d < port->rank; d++) {
        tensor.dim[d] = port->dim[d] >= 0 ? port->dim[d] : d == 0 ? 1 : 6;
    }
    assert_true(vt_shape_bytes(tensor.dtype, tensor.dim, tensor.rank, &tensor.bytes));
    tensor.data = vt_calloc(1, tensor.bytes + 1);
    assert_non_null(tensor.data);
    size_t n = tensor.bytes / vt_dtype_bytes(tensor.dtype);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        switch (tensor.dtype) {
        case VT_F32:
            ((float *)tensor.data)[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
            break;
        case VT_I64:
            ((int64_t *)tensor.data)[i] = i == 0 ? 1 : (int64_t)(seed >> 31);
            break;
        case VT_I32:
            ((int32_t *)tensor.data)[i] = i == 0 ? 1 : (int32_t)(seed >> 31);
            break;
        default:
            fail_msg("%s is of type %s", port->name, vt_dtype_name(port->dtype));
        }
    }
    return tensor;
}

/* Numbers that are not all the same, or the comparison would be none. */
static void says_something(const char *name, const struct vt_tensor *tensor)
{
    const float *y = tensor->data;
    bool differs = tensor->dtype != VT_F32 || tensor->bytes <= sizeof(float);
    for (size_t i = 1; !differs && i < tensor->bytes / sizeof(float); i++) {
        differs = y[i] != y[0];
    }
    if (!differs) {
        fail_msg("%s: all outputs are %g", name, (double)y[0]);
    }
}

static void compare(const char *name, const char *path)
{
    enum { INPUTS_MAX = 64 };
    struct vt_engine_config config = fixture_config();
    struct engine_fixture mine, theirs;
    struct vt_tensor inputs[INPUTS_MAX];
    double worst = 0;
    fixture_open(&mine, "native", path, &config);
    fixture_open(&theirs, VT_TEST_ENGINE, path, &config);
    uint32_t n = mine.signature.n_inputs;
    assert_true(n <= INPUTS_MAX);
    assert_int_equal(theirs.signature.n_inputs, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(theirs.signature.inputs[i].name, mine.signature.inputs[i].name);
        inputs[i] = made_up(&mine.signature.inputs[i], 7 + i);
    }
    struct vt_event a = fixture_run(&mine, 0, 1, 1, inputs, n);
    struct vt_event b = fixture_run(&theirs, 0, 1, 1, inputs, n);
    if (a.kind != VT_EVENT_FINAL || b.kind != VT_EVENT_FINAL) {
        fail_msg("%s: %s", name, a.kind != VT_EVENT_FINAL ? a.text : b.text);
    }
    for (uint32_t i = 0; i < a.n_outputs; i++) {
        says_something(name, &a.outputs[i]);
        double difference = foreign_close(&b.outputs[i], &a.outputs[i]);
        worst = difference > worst ? difference : worst;
    }
    print_message("%s: worst difference to native %.2g\n", name, worst);
    for (uint32_t i = 0; i < n; i++) {
        vt_free(inputs[i].data);
    }
    fixture_close(&mine);
    fixture_close(&theirs);
}

static void test_zoo(void **state)
{
    char folder[] = "/tmp/vatio-zoo-XXXXXX", path[128], name[64];
    size_t n = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n);
    assert_true(n >= 6);
    for (size_t i = 0; i < n; i++) {
        struct vt_zoo_spec spec;
        struct vt_error err = VT_ERROR_INIT;
        assert_int_equal(vt_zoo_spec_init(&spec, networks[i], true, VT_ZOO_SEED, NULL, &err),
                         VT_OK);
        for (size_t g = 0; g < networks[i]->n_graphs; g++) {
            snprintf(name, sizeof(name), "%s %s", networks[i]->name, networks[i]->graphs[g].name);
            snprintf(path, sizeof(path), "%s/model.onnx", folder);
            assert_int_equal(vt_zoo_write_graph(&spec, g, path, &err), VT_OK);
            compare(name, path);
            assert_int_equal(unlink(path), 0);
        }
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    foreign_or_skip();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zoo)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
