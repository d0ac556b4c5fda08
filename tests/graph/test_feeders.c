/* SPDX-License-Identifier: Apache-2.0 */
/* What decisions rest on, and a model that shows it. */
#include "base/alloc.h"
#include "graph/feeders.h"
#include "onnx_writer.h"
#include "vt_torture.h"

static void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

/*
 * x → Relu → a → Softmax → p → ArgMax → class → Cast → back
 *              → Exp → e ────────── Mul ─────────── scaled
 */
static struct pb classifier(void)
{
    struct pb graph = {NULL, 0, 0};
    add(&graph, OX_NODE, ox_node("Relu", "x", "a"));
    add(&graph, OX_NODE, ox_node("Softmax", "a", "p"));
    add(&graph, OX_NODE, ox_node("ArgMax", "p", "class"));
    struct pb cast = ox_node("Cast", "class", "back");
    ox_attr_int(&cast, "to", VT_F32);
    add(&graph, OX_NODE, cast);
    add(&graph, OX_NODE, ox_node("Exp", "a", "e"));
    add(&graph, OX_NODE, ox_node("Mul", "back e", "scaled"));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, (int64_t[]){1, 3}));
    add(&graph, OX_OUTPUT, ox_value("class", VT_I64, -1, NULL));
    add(&graph, OX_OUTPUT, ox_value("scaled", VT_F32, -1, NULL));
    add(&graph, OX_OUTPUT, ox_value("p", VT_F32, -1, NULL));
    return ox_model(13, &graph);
}

static struct vt_model *import(const void *bytes, size_t size)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    if (vt_model_import_memory("m.onnx", bytes, size, NULL, &err, &model) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return model;
}

/* The names of the feeders of output `index`, joined by blanks. */
static const char *feeders_of(const struct vt_model *model, uint32_t index)
{
    static char text[256];
    uint32_t *values = NULL, n = 0;
    uint32_t output = vt_model_graph(model)->outputs[index];
    assert_int_equal(vt_model_feeders(model, output, NULL, &values, &n), VT_OK);
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                       vt_model_values(model)[values[i]].name);
    }
    vt_free(values);
    return text;
}

static void decisions_are_traced_back(void **state)
{
    (void)state;
    struct pb bytes = classifier();
    struct vt_model *model = import(bytes.bytes, bytes.size);
    assert_string_equal(feeders_of(model, 0), "p");
    assert_string_equal(feeders_of(model, 1), "p e");
    assert_string_equal(feeders_of(model, 2), "");
    vt_model_free(model);
    pb_free(&bytes);
}

/* Whole numbers and extents are the same everywhere: comparing them is no decision. */
static void exact_numbers_decide_nothing(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0};
    add(&graph, OX_NODE, ox_node("Equal", "ids pad", "mask"));
    add(&graph, OX_NODE, ox_node("Shape", "x", "extents"));
    add(&graph, OX_NODE, ox_node("Equal", "extents extents", "same"));
    add(&graph, OX_INPUT, ox_value("ids", VT_I64, 1, (int64_t[]){4}));
    add(&graph, OX_INPUT, ox_value("pad", VT_I64, 1, (int64_t[]){1}));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_OUTPUT, ox_value("mask", VT_BOOL, -1, NULL));
    add(&graph, OX_OUTPUT, ox_value("same", VT_BOOL, -1, NULL));
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(bytes.bytes, bytes.size);
    assert_string_equal(feeders_of(model, 0), "");
    assert_string_equal(feeders_of(model, 1), "");
    vt_model_free(model);
    pb_free(&bytes);
}

/* A body reads what lies around it. */
static void control_flow_decides(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, then_graph = {NULL, 0, 0}, else_graph = {NULL, 0, 0};
    add(&graph, OX_NODE, ox_node("Relu", "x", "a"));
    add(&graph, OX_NODE, ox_node("Exp", "x", "b"));
    add(&graph, OX_NODE, ox_node("ReduceSum", "a", "s"));
    struct pb cast = ox_node("Cast", "s", "c");
    ox_attr_int(&cast, "to", VT_BOOL);
    add(&graph, OX_NODE, cast);
    add(&then_graph, OX_NODE, ox_node("Neg", "b", "t"));
    add(&then_graph, OX_OUTPUT, ox_value("t", VT_F32, -1, NULL));
    add(&else_graph, OX_NODE, ox_node("Abs", "a", "f"));
    add(&else_graph, OX_OUTPUT, ox_value("f", VT_F32, -1, NULL));
    struct pb branch = ox_node("If", "c", "y");
    ox_attr_message(&branch, "then_branch", OX_GRAPH, &then_graph);
    ox_attr_message(&branch, "else_branch", OX_GRAPH, &else_graph);
    add(&graph, OX_NODE, branch);
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    struct pb bytes = ox_model(12, &graph);
    struct vt_model *model = import(bytes.bytes, bytes.size);
    const char *names = feeders_of(model, 0);
    assert_non_null(strstr(names, "a"));
    assert_non_null(strstr(names, "b"));
    assert_non_null(strstr(names, "c"));
    assert_null(strstr(names, "t"));
    vt_model_free(model);
    pb_free(&bytes);
}

static void outputs_are_added(void **state)
{
    (void)state;
    struct pb bytes = classifier();
    const char *const names[] = {"e", "a"};
    uint8_t *more = NULL;
    size_t size = 0;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(
        vt_model_bytes_with_outputs(bytes.bytes, bytes.size, names, 2, &err, &more, &size), VT_OK);
    struct vt_model *model = import(more, size);
    const struct vt_graph *graph = vt_model_graph(model);
    assert_int_equal(graph->n_outputs, 5);
    assert_string_equal(vt_model_values(model)[graph->outputs[0]].name, "class");
    assert_string_equal(vt_model_values(model)[graph->outputs[3]].name, "e");
    assert_string_equal(vt_model_values(model)[graph->outputs[4]].name, "a");
    assert_int_equal(graph->n_nodes, 6);
    assert_int_equal(vt_model_opset(model), 13);
    vt_model_free(model);
    vt_free(more);
    pb_free(&bytes);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    struct pb bytes = classifier();
    const char *const names[] = {"e"};
    uint8_t *more = NULL;
    size_t size = 0;
    assert_int_equal(vt_model_bytes_with_outputs("", 0, names, 1, NULL, &more, &size),
                     VT_ERR_FORMAT);
    for (size_t n = 0; n < bytes.size; n++) {
        /* An end within the graph's field or behind it, never a crash. */
        enum vt_status status =
            vt_model_bytes_with_outputs(bytes.bytes, n, names, 1, NULL, &more, &size);
        assert_int_equal(status, VT_ERR_FORMAT);
    }
    pb_free(&bytes);
}

static void want_of_memory(void **state)
{
    (void)state;
    struct pb bytes = classifier();
    struct vt_model *model = import(bytes.bytes, bytes.size);
    const char *const names[] = {"e"};
    int done = 0;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        uint32_t *values = NULL, n = 0;
        uint8_t *more = NULL;
        size_t size = 0;
        vt_torture_begin(&torture, allowed);
        enum vt_status first =
            vt_model_feeders(model, vt_model_graph(model)->outputs[1], NULL, &values, &n);
        enum vt_status second =
            vt_model_bytes_with_outputs(bytes.bytes, bytes.size, names, 1, NULL, &more, &size);
        vt_free(values);
        vt_free(more);
        int leaked = vt_torture_end(&torture);
        assert_int_equal(leaked, 0);
        done = first == VT_OK && second == VT_OK;
    }
    vt_model_free(model);
    pb_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_traced_back), cmocka_unit_test(exact_numbers_decide_nothing),
        cmocka_unit_test(control_flow_decides),      cmocka_unit_test(outputs_are_added),
        cmocka_unit_test(damaged_files_are_refused), cmocka_unit_test(want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
