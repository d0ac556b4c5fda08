/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound models: what is read out of them.
 */
#include "graph/graph.h"
#include "onnx_writer.h"
#include "vt_torture.h"

static struct vt_model *import(const struct pb *bytes)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    enum vt_status status =
        vt_model_import_memory("m.onnx", bytes->bytes, bytes->size, NULL, &err, &model);
    if (status != VT_OK) {
        fail_msg("%s", err.text);
    }
    return model;
}

static uint32_t find(const struct vt_model *model, const char *name)
{
    for (uint32_t i = 0; i < vt_model_value_count(model); i++) {
        if (strcmp(vt_model_values(model)[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no value %s", name);
    return VT_NO_VALUE;
}

static const struct vt_tensor *constant(const struct vt_model *model, const char *name)
{
    const struct vt_tensor *tensor = vt_model_values(model)[find(model, name)].constant;
    assert_non_null(tensor);
    return tensor;
}

static void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

/* x [A, 3] -> Relu -> y, with a producer and a node's name and attributes. */
static void test_plain(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0};
    struct pb node = ox_node("LeakyRelu", "x", "y");

    pb_text(&node, 3, "act");
    ox_attr_float(&node, "alpha", 0.25f);
    pb_text(&graph, 2, "main");
    add(&graph, OX_NODE, node);
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, (int64_t[]){-1, 3}));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, 2, (int64_t[]){-1, 3}));
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);
    const struct vt_graph *main_graph = vt_model_graph(model);

    assert_string_equal(vt_model_name(model), "m.onnx");
    assert_string_equal(vt_model_producer(model), "test");
    assert_int_equal(vt_model_opset(model), 13);
    assert_int_equal(vt_model_ir_version(model), 7);
    assert_string_equal(main_graph->name, "main");
    assert_int_equal(main_graph->n_nodes, 1);
    assert_int_equal(main_graph->n_inputs, 1);
    assert_int_equal(main_graph->n_outputs, 1);
    const struct vt_node *read = &main_graph->nodes[0];
    assert_string_equal(read->name, "act");
    assert_string_equal(read->op, "LeakyRelu");
    assert_int_equal(read->opset, 13);
    assert_ptr_equal(read->operator, vt_operator_find("", "LeakyRelu"));
    assert_true(vt_node_float(read, "alpha", 0.0f) == 0.25f);
    assert_true(vt_node_float(read, "beta", 7.0f) == 7.0f);
    const struct vt_value *x = &vt_model_values(model)[main_graph->inputs[0]];
    assert_int_equal(x->kind, VT_VALUE_INPUT);
    assert_int_equal(x->dtype, VT_F32);
    assert_int_equal(x->rank, 2);
    assert_int_equal(x->dim[0], -1);
    assert_string_equal(x->symbol[0], "A");
    assert_int_equal(x->dim[1], 3);
    const struct vt_value *y = &vt_model_values(model)[main_graph->outputs[0]];
    assert_int_equal(y->kind, VT_VALUE_NODE);
    assert_int_equal(y->rank, 2);
    vt_model_free(model);
    pb_free(&bytes);
}

/* Every way in which elements are stored gives the same numbers. */
static void test_typed_data(void **state)
{
    (void)state;
    const int64_t two[] = {2};
    const double doubles[] = {1.25, -3.0};
    const float floats[] = {0.5f, 2.0f};
    struct pb graph = {NULL, 0, 0}, tensor;

    tensor = ox_tensor("f32", VT_F32, 1, two);
    pb_float(&tensor, 4, 0.5f); /* unpacked */
    pb_float(&tensor, 4, 2.0f);
    add(&graph, OX_INITIALIZER, tensor);
    tensor = ox_tensor("f32p", VT_F32, 1, two);
    pb_bytes(&tensor, 4, floats, sizeof(floats)); /* packed */
    add(&graph, OX_INITIALIZER, tensor);
    tensor = ox_tensor("f64", VT_F64, 1, two);
    pb_bytes(&tensor, 10, doubles, sizeof(doubles));
    add(&graph, OX_INITIALIZER, tensor);
    tensor = ox_tensor("i64", VT_I64, 1, two);
    pb_varint(&tensor, 7, INT64_MIN);
    pb_varint(&tensor, 7, 5);
    add(&graph, OX_INITIALIZER, tensor);
    tensor = ox_tensor("u64", VT_U64, 1, two);
    pb_varint(&tensor, 11, -1);
    pb_varint(&tensor, 11, 5);
    add(&graph, OX_INITIALIZER, tensor);
    tensor = ox_tensor("u32", VT_U32, 1, two);
    pb_varint(&tensor, 11, UINT32_MAX);
    pb_varint(&tensor, 11, 5);
    add(&graph, OX_INITIALIZER, tensor);
    static const struct {
        const char *name;
        enum vt_dtype dtype;
        int64_t low, high;
    } small[] = {
        {"i32", VT_I32, INT32_MIN, INT32_MAX},
        {"i16", VT_I16, -32768, 32767},
        {"u16", VT_U16, 0, 65535},
        {"i8", VT_I8, -128, 127},
        {"u8", VT_U8, 0, 255},
        {"bool", VT_BOOL, 0, 1},
        {"f16", VT_F16, 0x3c00, 0xc000},
        {"bf16", VT_BF16, 0x3f80, 0xc000},
    };
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        tensor = ox_tensor(small[i].name, (int)small[i].dtype, 1, two);
        pb_varint(&tensor, 5, small[i].low);
        pb_varint(&tensor, 5, small[i].high);
        add(&graph, OX_INITIALIZER, tensor);
    }
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);

    assert_memory_equal(constant(model, "f32")->data, floats, sizeof(floats));
    assert_memory_equal(constant(model, "f32p")->data, floats, sizeof(floats));
    assert_memory_equal(constant(model, "f64")->data, doubles, sizeof(doubles));
    assert_true(((const int64_t *)constant(model, "i64")->data)[0] == INT64_MIN);
    assert_true(((const uint64_t *)constant(model, "u64")->data)[0] == UINT64_MAX);
    assert_true(((const uint32_t *)constant(model, "u32")->data)[0] == UINT32_MAX);
    assert_true(((const int32_t *)constant(model, "i32")->data)[0] == INT32_MIN);
    assert_int_equal(((const int16_t *)constant(model, "i16")->data)[0], -32768);
    assert_int_equal(((const uint16_t *)constant(model, "u16")->data)[1], 65535);
    assert_int_equal(((const int8_t *)constant(model, "i8")->data)[0], -128);
    assert_int_equal(((const uint8_t *)constant(model, "u8")->data)[1], 255);
    assert_int_equal(((const uint8_t *)constant(model, "bool")->data)[1], 1);
    assert_int_equal(((const uint16_t *)constant(model, "f16")->data)[0], 0x3c00);
    assert_int_equal(((const uint16_t *)constant(model, "bf16")->data)[1], 0xc000);
    vt_model_free(model);
    pb_free(&bytes);
}

/* Raw data are a view where they are aligned and a copy where not; both read the same. */
static void test_raw_data(void **state)
{
    (void)state;
    const float floats[] = {1.0f, 2.0f, 3.0f};
    struct pb graph = {NULL, 0, 0};
    unsigned views = 0;

    for (char name[] = "a"; name[0] < 'm'; name[0]++) {
        /* Names of growing length shift the data by a byte each. */
        char padded[16] = "x";
        memset(padded, name[0], (size_t)(name[0] - 'a' + 1));
        add(&graph, OX_INITIALIZER,
            ox_tensor_raw(padded, VT_F32, 1, (int64_t[]){3}, floats, sizeof(floats)));
    }
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);
    assert_int_equal(vt_model_value_count(model), 12);
    for (uint32_t i = 0; i < 12; i++) {
        const struct vt_tensor *tensor = vt_model_values(model)[i].constant;
        const uint8_t *data = tensor->data;
        assert_int_equal((uintptr_t)data % sizeof(float), 0);
        assert_memory_equal(data, floats, sizeof(floats));
        views += data >= bytes.bytes && data < bytes.bytes + bytes.size;
    }
    assert_true(views >= 1 && views <= 6);
    vt_model_free(model);
    pb_free(&bytes);
}

/* IR 3 lists initialisers among the inputs: those are no inputs. */
static void test_initialisers_among_inputs(void **state)
{
    (void)state;
    const float one = 1.0f;
    struct pb graph = {NULL, 0, 0};

    add(&graph, OX_INPUT, ox_value("w", VT_F32, 1, (int64_t[]){1}));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_NODE, ox_node("Mul", "x w", "y"));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_INITIALIZER, ox_tensor_raw("w", VT_F32, 1, (int64_t[]){1}, &one, 4));
    struct pb bytes = ox_model(8, &graph);
    struct vt_model *model = import(&bytes);
    assert_int_equal(vt_model_graph(model)->n_inputs, 1);
    assert_int_equal(vt_model_graph(model)->inputs[0], find(model, "x"));
    assert_int_equal(vt_model_values(model)[find(model, "w")].kind, VT_VALUE_CONSTANT);
    vt_model_free(model);
    pb_free(&bytes);
}

static void test_constant_nodes(void **state)
{
    (void)state;
    const int64_t ints[] = {4, 5, 6};
    const int32_t raw[] = {9, 8};
    struct pb graph = {NULL, 0, 0}, node, attr = {NULL, 0, 0};

    node = ox_node("Constant", "", "a");
    ox_attr_int(&node, "value_int", -7);
    add(&graph, OX_NODE, node);
    node = ox_node("Constant", "", "b");
    ox_attr_float(&node, "value_float", 2.5f);
    add(&graph, OX_NODE, node);
    node = ox_node("Constant", "", "c");
    ox_attr_ints(&node, "value_ints", ints, 3);
    add(&graph, OX_NODE, node);
    node = ox_node("Constant", "", "d");
    pb_text(&attr, 1, "value_floats");
    pb_float(&attr, 7, 1.0f);
    pb_varint(&attr, 20, 6);
    pb_message(&node, 5, &attr);
    add(&graph, OX_NODE, node);
    node = ox_node("Constant", "", "e");
    struct pb tensor = ox_tensor_raw("", VT_I32, 2, (int64_t[]){1, 2}, raw, sizeof(raw));
    ox_attr_message(&node, "value", OX_TENSOR, &tensor);
    add(&graph, OX_NODE, node);
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);

    assert_int_equal(vt_model_graph(model)->n_nodes, 0);
    assert_int_equal(constant(model, "a")->rank, 0);
    assert_int_equal(*(const int64_t *)constant(model, "a")->data, -7);
    assert_true(*(const float *)constant(model, "b")->data == 2.5f);
    assert_int_equal(constant(model, "c")->dim[0], 3);
    assert_memory_equal(constant(model, "c")->data, ints, sizeof(ints));
    assert_int_equal(constant(model, "d")->rank, 1);
    assert_int_equal(constant(model, "e")->rank, 2);
    assert_memory_equal(constant(model, "e")->data, raw, sizeof(raw));
    vt_model_free(model);
    pb_free(&bytes);
}

/* Nodes in the wrong order, one of them needed only inside a branch. */
static void test_order(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, branch[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    struct pb node = ox_node("If", "c", "y");

    for (int i = 0; i < 2; i++) {
        add(&branch[i], OX_NODE, ox_node("Neg", i == 0 ? "inner" : "x", "r"));
        add(&branch[i], OX_OUTPUT, ox_value("r", VT_F32, -1, NULL));
    }
    ox_attr_message(&node, "then_branch", OX_GRAPH, &branch[0]);
    ox_attr_message(&node, "else_branch", OX_GRAPH, &branch[1]);
    add(&graph, OX_NODE, node);
    add(&graph, OX_NODE, ox_node("Abs", "early", "inner"));
    add(&graph, OX_NODE, ox_node("Exp", "x", "early"));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);
    const struct vt_graph *main_graph = vt_model_graph(model);

    assert_int_equal(main_graph->n_nodes, 3);
    assert_string_equal(main_graph->nodes[0].op, "Exp");
    assert_string_equal(main_graph->nodes[1].op, "Abs");
    assert_string_equal(main_graph->nodes[2].op, "If");
    const struct vt_graph *then_branch = vt_node_attr(&main_graph->nodes[2], "then_branch")->graph;
    const struct vt_graph *else_branch = vt_node_attr(&main_graph->nodes[2], "else_branch")->graph;
    assert_ptr_equal(then_branch->parent, main_graph);
    assert_int_equal(then_branch->nodes[0].inputs[0], find(model, "inner"));
    /* Both branches have a value r: one name, two numbers. */
    assert_int_not_equal(then_branch->outputs[0], else_branch->outputs[0]);
    vt_model_free(model);
    pb_free(&bytes);
}

/* A body has its own names first, then those around it. */
static void test_loop(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, body = {NULL, 0, 0};
    struct pb node = ox_node("Loop", "n - x", "y all");

    add(&body, OX_INPUT, ox_value("i", VT_I64, 0, NULL));
    add(&body, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    add(&body, OX_INPUT, ox_value("x", VT_F32, -1, NULL));
    add(&body, OX_NODE, ox_node("Identity", "c", "go"));
    add(&body, OX_NODE, ox_node("Add", "x k", "next"));
    add(&body, OX_OUTPUT, ox_value("go", VT_BOOL, 0, NULL));
    add(&body, OX_OUTPUT, ox_value("next", VT_F32, -1, NULL));
    add(&body, OX_OUTPUT, ox_value("next", VT_F32, -1, NULL));
    ox_attr_message(&node, "body", OX_GRAPH, &body);
    add(&graph, OX_INPUT, ox_value("n", VT_I64, 0, NULL));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){2}));
    add(&graph, OX_INPUT, ox_value("k", VT_F32, 1, (int64_t[]){2}));
    add(&graph, OX_NODE, node);
    add(&graph, OX_OUTPUT, ox_value("all", VT_F32, -1, NULL));
    struct pb bytes = ox_model(13, &graph);
    struct vt_model *model = import(&bytes);
    const struct vt_graph *main_graph = vt_model_graph(model);
    const struct vt_graph *read = vt_node_attr(&main_graph->nodes[0], "body")->graph;

    assert_int_equal(main_graph->nodes[0].inputs[1], VT_NO_VALUE);
    assert_int_equal(read->n_inputs, 3);
    assert_int_equal(read->nodes[1].inputs[0], read->inputs[2]);
    assert_int_not_equal(read->inputs[2], main_graph->inputs[1]);
    assert_int_equal(read->nodes[1].inputs[1], main_graph->inputs[2]);
    vt_model_free(model);
    pb_free(&bytes);
}

/* A model that goes through every part of the importer. */
static struct pb rich_model(void)
{
    const float floats[] = {1.0f, 2.0f};
    struct pb graph = {NULL, 0, 0}, branch[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    struct pb node = ox_node("If", "c", "y"), tensor = ox_tensor("t", VT_F32, 1, (int64_t[]){2});

    for (int i = 0; i < 2; i++) {
        struct pb constant_node = ox_node("Constant", "", "k");
        ox_attr_float(&constant_node, "value_float", 3.0f);
        add(&branch[i], OX_NODE, constant_node);
        add(&branch[i], OX_NODE, ox_node("Add", "z k", "r"));
        add(&branch[i], OX_OUTPUT, ox_value("r", VT_F32, -1, NULL));
    }
    ox_attr_message(&node, "then_branch", OX_GRAPH, &branch[0]);
    ox_attr_message(&node, "else_branch", OX_GRAPH, &branch[1]);
    add(&graph, OX_NODE, node);
    node = ox_node("Transpose", "x", "u");
    ox_attr_ints(&node, "perm", (int64_t[]){0}, 1);
    pb_text(&node, 3, "turn");
    add(&graph, OX_NODE, node);
    add(&graph, OX_NODE, ox_node("Mul", "u w", "v"));
    add(&graph, OX_NODE, ox_node("Add", "v t", "z"));
    pb_bytes(&tensor, 4, floats, sizeof(floats));
    add(&graph, OX_INITIALIZER, tensor);
    add(&graph, OX_INITIALIZER, ox_tensor_raw("w", VT_F32, 1, (int64_t[]){2}, floats, 8));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){-1}));
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    add(&graph, OX_VALUE_INFO, ox_value("v", VT_F32, 1, (int64_t[]){2}));
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, 1, (int64_t[]){2}));
    return ox_model(13, &graph);
}

/* Whatever is cut off or changed, there is a clean answer; the sanitizers watch. */
static void test_every_truncation(void **state)
{
    (void)state;
    struct pb bytes = rich_model();
    unsigned refused = 0;

    for (size_t size = 0; size < bytes.size; size++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model *model = NULL;
        uint8_t *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, bytes.bytes, size);
        enum vt_status status = vt_model_import_memory("cut.onnx", copy, size, NULL, &err, &model);
        if (status != VT_OK) {
            refused++;
            assert_null(model);
            assert_int_equal(err.status, status);
            assert_int_equal(strncmp(err.text, "cut.onnx: ", 10), 0);
        }
        vt_model_free(model);
        free(copy);
    }
    assert_int_equal(refused, bytes.size); /* the graph comes last: no part of it is a model */
    pb_free(&bytes);
}

static void test_every_changed_byte(void **state)
{
    (void)state;
    struct pb bytes = rich_model();

    for (size_t at = 0; at < bytes.size; at++) {
        static const uint8_t masks[] = {0x01, 0x08, 0x80, 0xff};
        for (size_t m = 0; m < sizeof(masks); m++) {
            struct vt_error err = VT_ERROR_INIT;
            struct vt_model *model = NULL;
            bytes.bytes[at] ^= masks[m];
            enum vt_status status =
                vt_model_import_memory("bad.onnx", bytes.bytes, bytes.size, NULL, &err, &model);
            assert_true((status == VT_OK) == (model != NULL));
            assert_int_equal(err.status, status);
            vt_model_free(model);
            bytes.bytes[at] ^= masks[m];
        }
    }
    pb_free(&bytes);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct pb bytes = rich_model();
    bool done = false;
    int allowed;

    for (allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model *model = NULL;
        vt_torture_begin(&torture, allowed);
        enum vt_status status =
            vt_model_import_memory("m.onnx", bytes.bytes, bytes.size, NULL, &err, &model);
        vt_model_free(model);
        int lost = vt_torture_end(&torture);
        assert_int_equal(lost, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
        done = status == VT_OK;
    }
    assert_true(allowed > 4);
    pb_free(&bytes);
}

/* The table is searched by halving. */
static void test_operator_table(void **state)
{
    (void)state;
    size_t n;
    const struct vt_operator *table = vt_operator_table(&n);

    assert_true(n > 120);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || strcmp(table[i - 1].name, table[i].name) < 0);
        assert_ptr_equal(vt_operator_find("", table[i].name), &table[i]);
        assert_ptr_equal(vt_operator_find("ai.onnx", table[i].name), &table[i]);
        assert_true(table[i].min_opset >= 1 && table[i].min_opset <= table[i].max_opset);
        assert_true(table[i].max_opset <= 25 && table[i].types != 0);
    }
    assert_null(vt_operator_find("", "Nothing"));
    assert_null(vt_operator_find("com.example", "Add"));
}

/* The same initialiser twice over, a field of a later version of the format, an input that
 * nobody uses, and a node's name that stands twice. */
static void test_what_exporters_write(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, node;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;

    pb_varint(&graph, 0x7ff, 1); /* a field of a later version */
    for (int i = 0; i < 2; i++) {
        struct pb tensor = ox_tensor_raw("w", VT_F32, 0, NULL, "\0\0\200?", 4);
        pb_message(&graph, OX_INITIALIZER, &tensor);
    }
    for (int i = 0; i < 2; i++) {
        struct pb input = ox_value(i == 0 ? "x" : "unused", VT_F32, 0, NULL);
        pb_message(&graph, OX_INPUT, &input);
        node = ox_node("Add", i == 0 ? "x w" : "s w", i == 0 ? "s" : "y");
        pb_text(&node, 3, "add");
        pb_message(&graph, OX_NODE, &node);
    }
    struct pb output = ox_value("y", VT_F32, 0, NULL);
    pb_message(&graph, OX_OUTPUT, &output);
    struct pb bytes = ox_model(13, &graph);
    if (vt_model_import_memory("m", bytes.bytes, bytes.size, NULL, &err, &model) != VT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(vt_model_graph(model)->n_inputs, 2);
    assert_int_equal(vt_model_graph(model)->n_nodes, 2);
    vt_model_free(model);
    pb_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_typed_data),
        cmocka_unit_test(test_raw_data),
        cmocka_unit_test(test_initialisers_among_inputs),
        cmocka_unit_test(test_constant_nodes),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_what_exporters_write),
        cmocka_unit_test(test_operator_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
