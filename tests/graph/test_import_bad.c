/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsound and unsupported models: each is refused with one line that says what is wrong and where.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph.h"
#include "onnx_writer.h"

static void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

/* The bytes (freed) are refused with that status and a text that holds each of the words. */
static void refused(struct pb bytes, const struct vt_import_limits *limits, enum vt_status wanted,
                    const char *word, const char *other)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    enum vt_status status =
        vt_model_import_memory("bad.onnx", bytes.bytes, bytes.size, limits, &err, &model);

    pb_free(&bytes);
    if (status != wanted || strstr(err.text, word) == NULL || strstr(err.text, other) == NULL) {
        fail_msg("%s: \"%s\" (wanted %s, \"%s\", \"%s\")", vt_status_name(status), err.text,
                 vt_status_name(wanted), word, other);
    }
    assert_null(model);
    assert_int_equal(strncmp(err.text, "bad.onnx: ", 10), 0);
    assert_null(strchr(err.text, '\n'));
}

/* A graph of one node of x. */
static struct pb one_node(struct pb node)
{
    struct pb graph = {NULL, 0, 0};
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_NODE, node);
    return graph;
}

static struct pb model_of(int64_t opset, struct pb graph)
{
    return ox_model(opset, &graph);
}

static struct pb of_text(const char *text)
{
    struct pb bytes = {NULL, 0, 0};
    pb_raw(&bytes, text, strlen(text));
    return bytes;
}

static void test_not_a_model(void **state)
{
    (void)state;
    struct pb bytes = {NULL, 0, 0}, graph = {NULL, 0, 0};

    refused(bytes, NULL, VT_ERR_FORMAT, "empty", "");
    refused(of_text("%PDF-1.4 this is something else"), NULL, VT_ERR_FORMAT, "byte", "");
    pb_varint(&bytes, 1, 7);
    refused(bytes, NULL, VT_ERR_FORMAT, "no graph", "");
    bytes = ox_model(13, &graph);
    pb_text(&bytes, 7, "");
    refused(bytes, NULL, VT_ERR_FORMAT, "second main graph", "");
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model *model = NULL;
        uint8_t random[256];
        for (size_t i = 0; i < sizeof(random); i++) {
            seed = seed * 1664525u + 1013904223u;
            random[i] = (uint8_t)(seed >> 24);
        }
        assert_int_not_equal(
            vt_model_import_memory("random", random, sizeof(random), NULL, &err, &model), VT_OK);
    }
}

static void test_opsets(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, bytes = {NULL, 0, 0};

    refused(model_of(0, one_node(ox_node("Relu", "x", "y"))), NULL, VT_ERR_UNSUPPORTED,
            "names no version", "1 to 25");
    refused(model_of(26, one_node(ox_node("Relu", "x", "y"))), NULL, VT_ERR_UNSUPPORTED, "opset 26",
            "1 to 25");
    pb_message(&bytes, 7, &graph);
    refused(bytes, NULL, VT_ERR_UNSUPPORTED, "names no version", "1 to 25");
    refused(model_of(10, one_node(ox_node("Upsample", "x s", "y"))), NULL, VT_ERR_UNSUPPORTED,
            "Upsample is supported at opset 7 to 9", "#0");
    refused(model_of(16, one_node(ox_node("LayerNormalization", "x s", "y"))), NULL,
            VT_ERR_UNSUPPORTED, "17 to 25", "opset 16");
}

static void test_unknown_operator(void **state)
{
    (void)state;
    struct pb node = ox_node("Reluu", "x", "y");

    pb_text(&node, 3, "block1/act");
    refused(model_of(13, one_node(node)), NULL, VT_ERR_UNSUPPORTED, "\"block1/act\"", "\"Reluu\"");
    refused(model_of(13, one_node(ox_node("Reluu", "x", "y"))), NULL, VT_ERR_UNSUPPORTED,
            "node #0: ", "opset 13");
    refused(model_of(13, one_node(ox_node("Reluu", "x", "y"))), NULL, VT_ERR_UNSUPPORTED, "1 to 25",
            "nearest is Relu");
    node = ox_node("Relu", "x", "y");
    pb_text(&node, 7, "com.example");
    refused(model_of(13, one_node(node)), NULL, VT_ERR_UNSUPPORTED, "\"com.example\"", "");
    /* A name that would break the line or fill the message is tamed. */
    char name[600];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    name[0] = '\n';
    refused(model_of(13, one_node(ox_node(name, "x", "y"))), NULL, VT_ERR_UNSUPPORTED, "\"?nn",
            "1 to 25");
}

static void test_names(void **state)
{
    (void)state;
    struct pb graph = one_node(ox_node("Relu", "x", "y"));

    add(&graph, OX_NODE, ox_node("Abs", "x", "y"));
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "named \"y\"", "two values");
    graph = one_node(ox_node("Relu", "x", "x"));
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "named \"x\"", "two values");
    graph = one_node(ox_node("Relu", "x", "y"));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 0, NULL));
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "named \"x\"", "two values");
    graph = (struct pb){NULL, 0, 0};
    for (int i = 0; i < 2; i++) {
        add(&graph, OX_INITIALIZER,
            ox_tensor_raw("w", VT_F32, 0, NULL, i == 0 ? "\0\0\0\0" : "\0\0\0\1", 4));
    }
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "named \"w\"", "two values");

    refused(model_of(13, one_node(ox_node("Add", "x ghost", "y"))), NULL, VT_ERR_FORMAT,
            "\"ghost\"", "#0 (Add)");
    graph = one_node(ox_node("Relu", "x", "y"));
    add(&graph, OX_OUTPUT, ox_value("ghost", VT_F32, 0, NULL));
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "\"ghost\"", "output");
    graph = one_node(ox_node("Relu", "x", "y"));
    pb_bytes(&graph, 2, "a\0b", 3);
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "zero byte", "");
}

static void test_cycles(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0}, branch[2] = {{NULL, 0, 0}, {NULL, 0, 0}};

    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    for (int i = 0; i < 3; i++) {
        static const char *const inputs[] = {"x c", "x a", "x b"};
        static const char *const outputs[] = {"a", "b", "c"};
        struct pb node = ox_node("Add", inputs[i], outputs[i]);
        pb_text(&node, 3, i == 0 ? "first" : i == 1 ? "second" : "third");
        add(&graph, OX_NODE, node);
    }
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "cycle of 3 nodes", "\"second\" (Add)");
    refused(model_of(13, one_node(ox_node("Add", "x y", "y"))), NULL, VT_ERR_FORMAT,
            "cycle of 1 nodes", "#0 (Add) -> #0");

    /* Through a branch: the If needs what it makes. */
    struct pb node = ox_node("If", "c", "y");
    for (int i = 0; i < 2; i++) {
        add(&branch[i], OX_NODE, ox_node("Neg", "y", "r"));
        add(&branch[i], OX_OUTPUT, ox_value("r", VT_F32, -1, NULL));
    }
    ox_attr_message(&node, "then_branch", OX_GRAPH, &branch[0]);
    ox_attr_message(&node, "else_branch", OX_GRAPH, &branch[1]);
    graph = one_node(node);
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "cycle of 1 nodes", "(If)");
}

static void test_counts_and_attributes(void **state)
{
    (void)state;
    struct pb node, body = {NULL, 0, 0};

    refused(model_of(13, one_node(ox_node("Add", "x", "y"))), NULL, VT_ERR_FORMAT, "1 inputs",
            "2 are allowed");
    refused(model_of(13, one_node(ox_node("Relu", "x", "y z"))), NULL, VT_ERR_FORMAT, "2 outputs",
            "1 are allowed");
    refused(model_of(13, one_node(ox_node("Add", "x -", "y"))), NULL, VT_ERR_FORMAT, "input 1",
            "omitted");
    node = ox_node("Softmax", "x", "y");
    ox_attr_float(&node, "axis", 1.0f);
    refused(model_of(13, one_node(node)), NULL, VT_ERR_FORMAT, "\"axis\"", "wrong type");
    node = ox_node("Softmax", "x", "y");
    ox_attr_int(&node, "axis", 0);
    ox_attr_int(&node, "axis", 0);
    refused(model_of(13, one_node(node)), NULL, VT_ERR_FORMAT, "two attributes", "\"axis\"");
    refused(model_of(13, one_node(ox_node("If", "x", "y"))), NULL, VT_ERR_FORMAT, "then_branch",
            "missing");
    refused(model_of(13, one_node(ox_node("Loop", "x x", "y"))), NULL, VT_ERR_FORMAT, "body",
            "missing");
    node = ox_node("Loop", "x x x", "y");
    ox_attr_message(&node, "body", OX_GRAPH, &body);
    refused(model_of(13, one_node(node)), NULL, VT_ERR_FORMAT, "0 inputs", "as many");
    node = ox_node("Constant", "", "y");
    ox_attr_text(&node, "value_string", "text");
    refused(model_of(13, one_node(node)), NULL, VT_ERR_UNSUPPORTED, "Constant", "value_float");
    refused(model_of(13, one_node(ox_node("Constant", "", "y"))), NULL, VT_ERR_UNSUPPORTED,
            "Constant", "value_float");
}

static struct pb tensor_model(struct pb tensor)
{
    struct pb graph = {NULL, 0, 0};
    add(&graph, OX_INITIALIZER, tensor);
    return ox_model(13, &graph);
}

static void test_tensors(void **state)
{
    (void)state;
    const int64_t four[] = {4}, negative[] = {-4}, wrap[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    const int64_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {INT64_C(1) << 40};
    struct pb tensor;

    refused(tensor_model(ox_tensor_raw("w", VT_F32, 1, four, "abc", 3)), NULL, VT_ERR_FORMAT,
            "\"w\"", "16 bytes, the file holds 3");
    refused(tensor_model(ox_tensor("w", VT_F32, 1, four)), NULL, VT_ERR_FORMAT, "4 elements",
            "holds 0");
    refused(tensor_model(ox_tensor("w", VT_F32, 1, huge)), NULL, VT_ERR_FORMAT, "elements",
            "holds 0");
    refused(tensor_model(ox_tensor("w", VT_F32, 1, negative)), NULL, VT_ERR_FORMAT, "negative", "");
    refused(tensor_model(ox_tensor("w", VT_F32, 2, wrap)), NULL, VT_ERR_LIMIT, "overflows", "");
    refused(tensor_model(ox_tensor("w", VT_F32, 9, nine)), NULL, VT_ERR_LIMIT, "dimensions", "8");
    refused(tensor_model(ox_tensor("w", VT_STRING, 1, four)), NULL, VT_ERR_UNSUPPORTED, "string",
            "");
    refused(tensor_model(ox_tensor("w", 99, 1, four)), NULL, VT_ERR_UNSUPPORTED, "99", "");
    refused(tensor_model(ox_tensor("w", 0, 1, four)), NULL, VT_ERR_UNSUPPORTED, "undefined", "");
    refused(tensor_model(ox_tensor_raw("", VT_F32, 0, NULL, "\0\0\0\0", 4)), NULL, VT_ERR_FORMAT,
            "without a name", "");
    refused(tensor_model(ox_tensor_raw("w", VT_BOOL, 1, four, "\0\1\2\1", 4)), NULL, VT_ERR_FORMAT,
            "truth value", "");
    tensor = ox_tensor("w", VT_U8, 1, (int64_t[]){1});
    pb_varint(&tensor, 5, 256);
    refused(tensor_model(tensor), NULL, VT_ERR_FORMAT, "does not fit", "");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_text(&tensor, 3, "");
    refused(tensor_model(tensor), NULL, VT_ERR_UNSUPPORTED, "segments", "");
}

static void test_inputs(void **state)
{
    (void)state;
    const int64_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct pb graph = {NULL, 0, 0}, info = {NULL, 0, 0}, type = {NULL, 0, 0};

    add(&graph, OX_INPUT, ox_value("x", VT_F32, 9, nine));
    refused(ox_model(13, &graph), NULL, VT_ERR_LIMIT, "\"x\"", "8");
    graph = (struct pb){NULL, 0, 0};
    pb_text(&info, 1, "x");
    pb_text(&type, 4, ""); /* a sequence */
    pb_message(&info, 2, &type);
    add(&graph, OX_INPUT, info);
    refused(ox_model(13, &graph), NULL, VT_ERR_UNSUPPORTED, "\"x\"", "no tensor");
    graph = (struct pb){NULL, 0, 0};
    pb_text(&graph, 15, "");
    refused(ox_model(13, &graph), NULL, VT_ERR_UNSUPPORTED, "sparse", "");
}

/* Branches in branches in branches. */
static void test_nesting(void **state)
{
    (void)state;
    struct pb graph = {NULL, 0, 0};

    for (int level = 0; level < 40; level++) {
        struct pb node = ox_node("If", "c", "y"), other = {NULL, 0, 0}, outer = {NULL, 0, 0};
        add(&graph, OX_NODE, ox_node("Identity", "c", "o"));
        add(&graph, OX_OUTPUT, ox_value("o", VT_BOOL, 0, NULL));
        add(&other, OX_NODE, ox_node("Identity", "c", "o"));
        add(&other, OX_OUTPUT, ox_value("o", VT_BOOL, 0, NULL));
        ox_attr_message(&node, "then_branch", OX_GRAPH, &graph);
        ox_attr_message(&node, "else_branch", OX_GRAPH, &other);
        add(&outer, OX_NODE, node);
        graph = outer;
    }
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    refused(ox_model(13, &graph), NULL, VT_ERR_FORMAT, "nested too deeply", "byte");

    /* Messages that nobody asks for are not followed, however deep they go. */
    struct pb nest = {NULL, 0, 0};
    for (int level = 0; level < 1000; level++) {
        struct pb outer = {NULL, 0, 0};
        pb_message(&outer, 6, &nest); /* an attribute's graph */
        nest = outer;
    }
    graph = (struct pb){NULL, 0, 0};
    pb_message(&graph, 1, &nest);
    refused(ox_model(13, &graph), NULL, VT_ERR_UNSUPPORTED, "operator", "");
}

static void test_limits(void **state)
{
    (void)state;
    const struct vt_import_limits few_nodes = {.max_nodes = 3};
    const struct vt_import_limits few_values = {.max_values = 3};
    const struct vt_import_limits little = {.max_metadata_bytes = 4096};
    struct pb graph[3];

    for (int i = 0; i < 3; i++) {
        graph[i] = (struct pb){NULL, 0, 0};
        add(&graph[i], OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
        for (int k = 0; k < (i == 2 ? 100 : 4); k++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "y%d", k);
            add(&graph[i], OX_NODE, ox_node("Relu", "x", name));
        }
    }
    refused(ox_model(13, &graph[0]), &few_nodes, VT_ERR_LIMIT, "more than 3 nodes", "");
    refused(ox_model(13, &graph[1]), &few_values, VT_ERR_LIMIT, "more than 3 values", "");
    refused(ox_model(13, &graph[2]), &little, VT_ERR_LIMIT, "memory", "");
}

/* Files. */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/vt_graph_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"in/m.onnx", "in/data",  "in/link", "in/out", "in/sub/data",
                                        "in/sub",    "in/empty", "in",      "secret", "secrets"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[160];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    return remove(folder);
}

/* Imports a model in in/ with one tensor of 4 floats in that file, at that place. */
static enum vt_status import_external(const char *location, const char *offset, const char *length,
                                      struct vt_error *err, float *ret)
{
    const char *const pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    struct pb graph = {NULL, 0, 0}, tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){4});
    struct vt_model *model = NULL;
    char path[160];

    for (int i = 0; i < 3; i++) {
        struct pb entry = {NULL, 0, 0};
        if (pairs[i][1] != NULL) {
            pb_text(&entry, 1, pairs[i][0]);
            pb_text(&entry, 2, pairs[i][1]);
            pb_message(&tensor, 13, &entry);
        }
    }
    pb_varint(&tensor, 14, 1);
    pb_message(&graph, OX_INITIALIZER, &tensor);
    struct pb bytes = ox_model(13, &graph);
    write_file("in/m.onnx", bytes.bytes, bytes.size);
    pb_free(&bytes);
    (void)snprintf(path, sizeof(path), "%s/in/m.onnx", folder);
    *err = (struct vt_error)VT_ERROR_INIT;
    enum vt_status status = vt_model_import(path, NULL, err, &model);
    if (status == VT_OK) {
        *ret = *(const float *)vt_model_values(model)[0].constant->data;
    }
    vt_model_free(model);
    return status;
}

static void test_external_data(void **state)
{
    (void)state;
    const float floats[] = {1, 2, 3, 4, 5, 6, 7, 8};
    char path[160], target[160];
    struct vt_error err;
    float first = 0;

    (void)snprintf(path, sizeof(path), "%s/in", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/in/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("in/data", floats, sizeof(floats));
    write_file("in/sub/data", floats, sizeof(floats));
    write_file("in/empty", "", 0);
    write_file("secret", floats, sizeof(floats));
    (void)snprintf(target, sizeof(target), "%s/secret", folder);
    (void)snprintf(path, sizeof(path), "%s/in/out", folder);
    assert_int_equal(symlink(target, path), 0);
    (void)snprintf(path, sizeof(path), "%s/in/link", folder);
    assert_int_equal(symlink("sub/data", path), 0);

    assert_int_equal(import_external("data", "8", "16", &err, &first), VT_OK);
    assert_true(first == 3.0f);
    assert_int_equal(import_external("data", NULL, NULL, &err, &first), VT_OK);
    assert_true(first == 1.0f);
    assert_int_equal(import_external("sub/data", "16", NULL, &err, &first), VT_OK);
    assert_true(first == 5.0f);
    assert_int_equal(import_external("link", "4", "16", &err, &first), VT_OK);
    assert_true(first == 2.0f);

    /* A place beyond 2 GiB and beyond 4 GiB; the file is mostly a hole. */
    for (int shift = 31; shift <= 32; shift++) {
        char offset[32];
        (void)snprintf(path, sizeof(path), "%s/in/large", folder);
        (void)snprintf(offset, sizeof(offset), "%lld", (1LL << shift) + 8);
        const int fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        const ssize_t written = pwrite(fd, floats + 4, 16, (off_t)((1LL << shift) + 8));
        assert_int_equal(close(fd), 0);
        if (written != 16)
            break; /* this file system has no room for large files */
        assert_int_equal(import_external("large", offset, "16", &err, &first), VT_OK);
        assert_true(first == 5.0f);
        assert_int_equal(remove(path), 0);
    }

    static const struct {
        const char *location, *offset, *length, *text;
        enum vt_status status;
    } cases[] = {
        {"../secret", NULL, NULL, "model's folder", VT_ERR_FORMAT},
        {"sub/../../secret", NULL, NULL, "model's folder", VT_ERR_FORMAT},
        {"/etc/passwd", NULL, NULL, "model's folder", VT_ERR_FORMAT},
        {"", NULL, NULL, "model's folder", VT_ERR_FORMAT},
        {"out", NULL, NULL, "model's folder", VT_ERR_FORMAT},
        {"sub", NULL, NULL, "no file", VT_ERR_FORMAT},
        {"nothing", NULL, NULL, "no such file", VT_ERR_NOT_FOUND},
        {"data", "20", NULL, "which has 32", VT_ERR_FORMAT},
        {"data", "18446744073709551615", NULL, "which has 32", VT_ERR_FORMAT},
        {"data", "18446744073709551616", NULL, "whole numbers", VT_ERR_FORMAT},
        {"data", "-4", NULL, "whole numbers", VT_ERR_FORMAT},
        {"data", "4x", NULL, "whole numbers", VT_ERR_FORMAT},
        {"data", "0", "32", "takes 16 bytes", VT_ERR_FORMAT},
        {"empty", NULL, NULL, "which has 0", VT_ERR_FORMAT},
        {NULL, NULL, NULL, "without a location", VT_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum vt_status status =
            import_external(cases[i].location, cases[i].offset, cases[i].length, &err, &first);
        if (status != cases[i].status || strstr(err.text, cases[i].text) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

/* A model whose only function is made of these nodes, called once. */
static struct pb calling(const char *name, struct pb *nodes, int n_nodes)
{
    struct pb call = ox_node(name, "x", "y");
    pb_text(&call, 7, "local");
    struct pb graph = one_node(call), function = {NULL, 0, 0};
    pb_text(&function, 1, "f");
    pb_text(&function, 4, "x");
    pb_text(&function, 5, "y");
    for (int i = 0; i < n_nodes; i++)
        pb_message(&function, 7, &nodes[i]);
    struct pb opset = {NULL, 0, 0};
    pb_text(&opset, 1, "");
    pb_varint(&opset, 2, 13);
    pb_message(&function, 9, &opset);
    pb_text(&function, 10, "local");
    struct pb model = ox_model(13, &graph);
    pb_message(&model, 25, &function);
    return model;
}

static struct pb local_node(const char *inputs, const char *outputs)
{
    struct pb node = ox_node("f", inputs, outputs);
    pb_text(&node, 7, "local");
    return node;
}

static void test_functions(void **state)
{
    (void)state;
    struct pb nodes[2];

    nodes[0] = ox_node("Relu", "x", "z");
    refused(calling("f", nodes, 1), NULL, VT_ERR_FORMAT, "function \"f\"", "nothing produces");
    nodes[0] = ox_node("Relu", "outer", "y");
    refused(calling("f", nodes, 1), NULL, VT_ERR_FORMAT, "\"outer\"", "nothing produces");
    nodes[0] = ox_node("Relu", "x", "y");
    refused(calling("g", nodes, 1), NULL, VT_ERR_UNSUPPORTED, "\"g\"", "\"local\"");
    /* A function that calls itself, once and twice a call. */
    nodes[0] = local_node("x", "y");
    refused(calling("f", nodes, 1), NULL, VT_ERR_LIMIT, "themselves", "function");
    nodes[0] = local_node("x", "a");
    nodes[1] = local_node("a", "y");
    refused(calling("f", nodes, 2), NULL, VT_ERR_LIMIT, "themselves", "function");
    nodes[0] = ox_node("Relu", "a", "y");
    nodes[1] = ox_node("Relu", "y", "a");
    refused(calling("f", nodes, 2), NULL, VT_ERR_FORMAT, "cycle", "");
}

static void test_omitted_inputs(void **state)
{
    (void)state;
    refused(model_of(13, one_node(ox_node("Sum", "x - x", "y"))), NULL, VT_ERR_FORMAT,
            "input 1 is omitted", "Sum");
    refused(model_of(13, one_node(ox_node("Pad", "-", "y"))), NULL, VT_ERR_FORMAT,
            "input 0 is omitted", "Pad");
}

static void test_sequences(void **state)
{
    (void)state;
    struct pb graph = one_node(ox_node("SequenceAt", "s at", "y"));
    struct pb made = ox_node("SequenceConstruct", "x", "s");

    /* The position is no constant. */
    add(&graph, OX_INPUT, ox_value("at", VT_I64, 0, NULL));
    pb_message(&graph, OX_NODE, &made);
    refused(model_of(13, graph), NULL, VT_ERR_UNSUPPORTED, "SequenceAt", "known from the model");
    /* A sequence where a tensor belongs. */
    graph = (struct pb){NULL, 0, 0};
    made = ox_node("SequenceConstruct", "x", "s");
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 0, NULL));
    pb_message(&graph, OX_NODE, &made);
    made = ox_node("Relu", "s", "y");
    pb_message(&graph, OX_NODE, &made);
    refused(model_of(13, graph), NULL, VT_ERR_UNSUPPORTED, "Relu", "sequence");
    /* One that is an output. */
    graph = (struct pb){NULL, 0, 0};
    made = ox_node("SequenceConstruct", "x", "s");
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 0, NULL));
    pb_message(&graph, OX_NODE, &made);
    add(&graph, OX_OUTPUT, ox_value("s", VT_F32, 0, NULL));
    refused(model_of(13, graph), NULL, VT_ERR_UNSUPPORTED, "output", "sequence");
    /* A position beyond the end. */
    graph = (struct pb){NULL, 0, 0};
    made = ox_node("SequenceConstruct", "x", "s");
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 0, NULL));
    add(&graph, OX_INITIALIZER, ox_tensor_raw("at", VT_I64, 0, NULL, "\1\0\0\0\0\0\0\0", 8));
    pb_message(&graph, OX_NODE, &made);
    made = ox_node("SequenceAt", "s at", "y");
    pb_message(&graph, OX_NODE, &made);
    refused(model_of(13, graph), NULL, VT_ERR_FORMAT, "SequenceAt", "out of range");
}

static void test_files(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/nothing.onnx", folder);
    assert_int_equal(vt_model_import(path, NULL, &err, &model), VT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_model_import(folder, NULL, &err, &model), VT_ERR_READ);
    err = (struct vt_error)VT_ERROR_INIT;
    write_file("secrets", "", 0);
    (void)snprintf(path, sizeof(path), "%s/secrets", folder);
    assert_int_equal(vt_model_import(path, NULL, &err, &model), VT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "empty"));
    /* From memory there is no folder to look in. */
    struct pb graph = {NULL, 0, 0}, entry = {NULL, 0, 0};
    struct pb tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){4});
    pb_text(&entry, 1, "location");
    pb_text(&entry, 2, "data");
    pb_message(&tensor, 13, &entry);
    pb_varint(&tensor, 14, 1);
    pb_message(&graph, OX_INITIALIZER, &tensor);
    refused(ox_model(13, &graph), NULL, VT_ERR_UNSUPPORTED, "external data", "memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_model),      cmocka_unit_test(test_opsets),
        cmocka_unit_test(test_unknown_operator), cmocka_unit_test(test_names),
        cmocka_unit_test(test_cycles),           cmocka_unit_test(test_counts_and_attributes),
        cmocka_unit_test(test_tensors),          cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_nesting),          cmocka_unit_test(test_limits),
        cmocka_unit_test(test_external_data),    cmocka_unit_test(test_files),
        cmocka_unit_test(test_functions),        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_omitted_inputs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
