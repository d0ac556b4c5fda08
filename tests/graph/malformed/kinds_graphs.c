/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that do not hang together: names, order, control flow. */
#include "graphs.h"

static void names(void)
{
    struct pb graph, info;
    refused("an unknown input", one(ox_node("Add", "x ghost", "y")), "\"ghost\"", "bad_node");
    refused("an unknown output of the graph", closed(with_inputs(), "ghost"), "\"ghost\"",
            "output");
    refused("two producers", two(ox_node("Abs", "x", "y"), ox_node("Relu", "x", "y")), "\"y\"",
            "two values");
    refused("a node that makes an input", one(ox_node("Relu", "x", "x")), "\"x\"", "two values");
    refused("a node that makes one value twice", one(ox_node("Split", "x", "y y")), "\"y\"",
            "two values");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    refused("an input twice", closed(graph, "x"), "\"x\"", "two values");
    graph = with_inputs();
    for (int i = 0; i < 2; i++) {
        add(&graph, OX_INITIALIZER,
            ox_tensor_raw("w", VT_F32, 0, NULL, i == 0 ? "\0\0\0\0" : "\0\0\0\1", 4));
    }
    refused("a weight twice", closed(graph, "w"), "\"w\"", "two values");
    graph = with_inputs();
    add(&graph, OX_INITIALIZER, ox_tensor_raw("y", VT_F32, 0, NULL, "\0\0\0\0", 4));
    add(&graph, OX_NODE, ox_node("Relu", "x", "y"));
    refused("a weight that a node makes", closed(graph, "y"), "\"y\"", "two values");
    refused("an omitted input that is needed", one(ox_node("Add", "x -", "y")), "input 1",
            "bad_node");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("", VT_F32, 1, (int64_t[]){4}));
    refused("an input without a name", closed(graph, "x"), "without a name", "bad.onnx");
    graph = with_inputs();
    info = empty();
    pb_text(&info, 1, "i");
    add(&graph, OX_INPUT, info);
    refused("an input without a type", closed(graph, "x"), "", "\"i\"");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("i", 0, 1, (int64_t[]){4}));
    refused("an input of an undefined type", closed(graph, "x"), "", "\"i\"");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("i", 99, 1, (int64_t[]){4}));
    refused("an input of type 99", closed(graph, "x"), "99", "\"i\"");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("i", VT_STRING, 1, (int64_t[]){4}));
    refused("an input of text", closed(graph, "x"), "string", "\"i\"");
    info = empty();
    pb_text(&info, 1, "i");
    pb_text(&info, 2, "\x22");
    graph = with_inputs();
    add(&graph, OX_INPUT, info);
    refused("an input whose type is cut off", closed(graph, "x"), "byte", "bad.onnx");
    graph = with_inputs();
    add(&graph, OX_INPUT, ox_value("i", VT_F32, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}));
    refused("an input of 9 dimensions", closed(graph, "x"), "dimensions", "\"i\"");
    graph = with_inputs();
    add(&graph, OX_OUTPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_OUTPUT, ox_value("", VT_F32, 1, (int64_t[]){4}));
    refused("an output without a name", closed(graph, "x"), "output \"\"", "bad.onnx");
    graph = with_inputs();
    pb_text(&graph, 15, "");
    refused("a sparse weight", closed(graph, "x"), "sparse", "bad.onnx");
}

/* An input with an extent of the wrong kind, given as the bytes of its Dimension. */
static struct pb with_extent(int64_t extent)
{
    struct pb graph = empty(), info = empty(), type = empty(), tensor = empty(), shape = empty();
    struct pb dim = empty();
    pb_varint(&dim, 1, extent);
    pb_message(&shape, 1, &dim);
    pb_varint(&tensor, 1, VT_F32);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&info, 1, "x");
    pb_message(&info, 2, &type);
    add(&graph, OX_INPUT, info);
    add(&graph, OX_NODE, named("bad_node", ox_node("Relu", "x", "y")));
    return closed(graph, "y");
}

static void extents(void)
{
    refused("an input extent of 2^50", with_extent((int64_t)1 << 50), "this machine", "'y'");
    refused("an input extent of 2^61", with_extent((int64_t)1 << 61), "", "x");
    refused("an input extent of 2^63-1", with_extent(INT64_MAX), "", "x");
    struct pb graph = empty();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 3, (int64_t[]){1 << 30, 1 << 30, 1 << 30}));
    refused("an input whose extents overflow", closed(graph, "x"), "", "x");
    graph = empty();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, (int64_t[]){1 << 16, 1 << 16}));
    add(&graph, OX_INPUT, ox_value("z", VT_F32, 2, (int64_t[]){1 << 16, 1 << 16}));
    struct pb node = named("bad_node", ox_node("Einsum", "x z", "y"));
    ox_attr_text(&node, "equation", "ab,cd->abcd");
    add(&graph, OX_NODE, node);
    refused("an outer product of 2^66 bytes", closed(graph, "y"), "too large", "bad_node");
    graph = empty();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, (int64_t[]){1 << 23, 1}));
    add(&graph, OX_NODE, named("turn", ox_node("Transpose", "x", "t")));
    add(&graph, OX_NODE, named("bad_node", ox_node("MatMul", "x t", "y")));
    refused("a product of 256 TiB", closed(graph, "y"), "this machine", "'y'");
    graph = empty();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_NODE, named("bad_node", ox_node("Relu", "x", "y")));
    add(&graph, OX_OUTPUT, ox_value("y", VT_I64, 1, (int64_t[]){4}));
    refused("an output declared with another type", ox_model(17, &graph), "int64", "y");
}

static void long_names(void)
{
    const size_t n = 1 << 20;
    char *name = malloc(n + 1);
    assert_non_null(name);
    memset(name, 'n', n);
    name[n] = '\0';
    refused("an operator's name of a megabyte", one(ox_node(name, "x", "y")), "nnn", "bad_node");
    refused("an input's name of a megabyte", one(ox_node("Add", name, "y")), "", "bad_node");
    struct pb node = ox_node("Reluu", "x", "y");
    pb_text(&node, 3, name);
    struct pb graph = with_inputs();
    add(&graph, OX_NODE, node);
    refused("a node's name of a megabyte", closed(graph, "y"), "Reluu", "nnn");
    node = ox_node("Relu", "x", "y");
    pb_text(&node, 7, name);
    refused("a domain of a megabyte", one(node), "nnn", "bad_node");
    graph = with_inputs();
    add(&graph, OX_NODE, ox_node("MatMul", "x x", name));
    add(&graph, OX_NODE, ox_node("Relu", name, "t"));
    node = ox_node("Conv", "t", "y");
    pb_text(&node, 1, name);
    add(&graph, OX_NODE, node);
    refused("a value's name of a megabyte", closed(graph, "y"), "", "\"y\"");
    /* The same where it is the plan that refuses. */
    struct pb conv = ox_node("Conv", "x x", "y");
    pb_text(&conv, 3, name);
    graph = with_inputs();
    add(&graph, OX_NODE, conv);
    refused("a node's name of a megabyte in the plan", closed(graph, "y"), "", "nnn");
    free(name);
    static const char *const wild[][2] = {{"control characters", "bad_node\r\n\x1b[31mred\x07"},
                                          {"no UTF-8", "bad_node\xff\xfe\xc0\x80"},
                                          {"half a character", "bad_node\xe2\x82"},
                                          {"a second line", "bad_node\nerror: all is well"},
                                          {"C1 controls", "bad_node\xc2\x9b"},
                                          {"formats", "bad_node%s%n%999999d"}};
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
        static const char *const ops[] = {"Reluu", "Conv", "Add", "If"};
        static const char *const inputs[] = {"x", "x x", "x ghost", "c"};
        for (size_t k = 0; k < 4; k++) {
            char kind[64];
            (void)snprintf(kind, sizeof(kind), "a node's name of %s (%s)", wild[i][0], ops[k]);
            node = ox_node(ops[k], inputs[k], "y");
            pb_text(&node, 3, wild[i][1]);
            graph = with_inputs();
            add(&graph, OX_NODE, node);
            refused(kind, closed(graph, "y"), "", "bad_node");
        }
        char kind[64];
        (void)snprintf(kind, sizeof(kind), "a value's name of %s", wild[i][0]);
        graph = with_inputs();
        node = ox_node("Conv", "x x", "");
        pb_text(&node, 2, wild[i][1]);
        add(&graph, OX_NODE, node);
        refused(kind, closed(graph, "x"), "", "bad_node");
    }
}

static void cycles(void)
{
    refused("a node that needs itself", one(ox_node("Add", "x y", "y")), "cycle of 1", "bad_node");
    refused("two nodes that need each other",
            two(ox_node("Add", "x b", "y"), ox_node("Relu", "y", "b")), "cycle of 2", "bad_node");
    struct pb graph = with_inputs();
    for (int i = 0; i < 5000; i++) {
        char in[32], out[32];
        (void)snprintf(in, sizeof(in), "v%d", (i + 1) % 5000);
        (void)snprintf(out, sizeof(out), "v%d", i);
        add(&graph, OX_NODE, ox_node("Relu", in, out));
    }
    refused("a cycle of 5000 nodes", closed(graph, "v0"), "cycle of 5000", "#");
    struct pb node = ox_node("If", "c", "y");
    for (int i = 0; i < 2; i++) {
        struct pb branch = empty();
        add(&branch, OX_NODE, ox_node("Neg", "y", "r"));
        add(&branch, OX_OUTPUT, ox_value("r", VT_F32, -1, NULL));
        ox_attr_message(&node, i == 0 ? "then_branch" : "else_branch", OX_GRAPH, &branch);
    }
    refused("a branch that needs its own If", one(node), "cycle of 1", "bad_node");
}

static void many(void)
{
    struct pb node = empty(), graph;
    for (int i = 0; i < 20000; i++) {
        pb_text(&node, 1, "x");
    }
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "Relu");
    refused("an operator with 20000 inputs", one(node), "20000 inputs", "bad_node");
    node = ox_node("Relu", "x", "");
    for (int i = 0; i < 20000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "o%d", i);
        pb_text(&node, 2, name);
    }
    refused("an operator with 20000 outputs", one(node), "\"y\"", "bad.onnx");
    node = ox_node("Relu", "x", "y");
    for (int i = 0; i < 20000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a%d", i);
        ox_attr_int(&node, name, i);
    }
    ox_attr_int(&node, "a19999", 1);
    refused("an operator with 20000 attributes", one(node), "at most 256", "bad_node");
    graph = with_inputs();
    for (int i = 0; i < 20000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "i%d", i);
        add(&graph, OX_INPUT, ox_value(name, VT_F32, 1, (int64_t[]){4}));
    }
    add(&graph, OX_NODE, named("bad_node", ox_node("Add", "i19999 ghost", "y")));
    refused("a graph with 20000 inputs", closed(graph, "y"), "\"ghost\"", "bad_node");
    refused("no inputs", one(ox_node("Relu", "", "y")), "0 inputs", "bad_node");
    refused("no outputs", one(ox_node("Relu", "x", "")), "\"y\"", "bad.onnx");
    refused("one input too few", one(ox_node("Add", "x", "y")), "1 inputs", "bad_node");
    refused("one output too many", one(ox_node("Relu", "x", "y z")), "2 outputs", "bad_node");
    node = empty();
    pb_text(&node, 1, "x");
    pb_text(&node, 2, "y");
    refused("a node without an operator", one(node), "operator", "bad_node");
    node = ox_node("Relu", "x", "y");
    pb_varint(&node, 1, 7);
    refused("a number for an input's name", one(node), "byte", "bad.onnx");
    graph = with_inputs();
    pb_varint(&graph, OX_NODE, 7);
    refused("a number for a node", closed(graph, "x"), "byte", "bad.onnx");
}

/* A graph of one Identity of that value, with so many outputs. */
static struct pb branch_of(const char *value, int outputs)
{
    struct pb branch = empty();
    add(&branch, OX_NODE, ox_node("Identity", value, "r"));
    for (int i = 0; i < outputs; i++) {
        add(&branch, OX_OUTPUT, ox_value("r", VT_F32, -1, NULL));
    }
    return branch;
}

static struct pb if_of(const char *condition, struct pb then_branch, struct pb else_branch)
{
    struct pb node = ox_node("If", condition, "y");
    ox_attr_message(&node, "then_branch", OX_GRAPH, &then_branch);
    ox_attr_message(&node, "else_branch", OX_GRAPH, &else_branch);
    return node;
}

static void branches(void)
{
    struct pb node;
    refused("an If without branches", one(ox_node("If", "c", "y")), "then_branch", "bad_node");
    node = ox_node("If", "c", "y");
    struct pb branch = branch_of("x", 1);
    ox_attr_message(&node, "then_branch", OX_GRAPH, &branch);
    refused("an If with one branch", one(node), "else_branch", "bad_node");
    refused("a branch without outputs", one(if_of("c", branch_of("x", 1), branch_of("x", 0))),
            "output", "bad_node");
    refused("a branch with two outputs", one(if_of("c", branch_of("x", 2), branch_of("x", 1))),
            "output", "bad_node");
    refused("empty branches", one(if_of("c", empty(), empty())), "output", "bad_node");
    refused("a branch that names nothing",
            one(if_of("c", branch_of("ghost", 1), branch_of("x", 1))), "\"ghost\"", "Identity");
    branch = branch_of("x", 1);
    add(&branch, OX_INPUT, ox_value("i", VT_F32, -1, NULL));
    refused("a branch with an input", one(if_of("c", branch, branch_of("x", 1))), "input",
            "bad_node");
    refused("a condition that is no truth value",
            one(if_of("x", branch_of("x", 1), branch_of("x", 1))), "condition", "bad_node");
    refused("branches of different types", one(if_of("c", branch_of("x", 1), branch_of("c", 1))),
            "type", "bad_node");
    node = ox_node("If", "c", "y");
    ox_attr_int(&node, "then_branch", 1);
    ox_attr_int(&node, "else_branch", 1);
    refused("branches that are numbers", one(node), "wrong type", "bad_node");
    refused("an outer name for a branch's output",
            two(if_of("c", empty(), empty()), ox_node("Relu", "x", "r")), "output", "bad_node");
}

/* A Loop over a body with that many inputs and outputs, the first two being those of every loop. */
static struct pb loop_of(const char *inputs, const char *outputs, int n_inputs, int n_outputs)
{
    struct pb node = ox_node("Loop", inputs, outputs), body = empty();
    for (int i = 0; i < n_inputs; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "b%d", i);
        add(&body, OX_INPUT,
            ox_value(name,
                     i == 0   ? VT_I64
                     : i == 1 ? VT_BOOL
                              : VT_F32,
                     i < 2 ? 0 : -1, NULL));
    }
    add(&body, OX_NODE, ox_node("Identity", "c", "go_on"));
    add(&body, OX_NODE, ox_node("Relu", "x", "r"));
    for (int i = 0; i < n_outputs; i++) {
        add(&body, OX_OUTPUT, ox_value(i == 0 ? "go_on" : "r", VT_UNDEFINED, -1, NULL));
    }
    ox_attr_message(&node, "body", OX_GRAPH, &body);
    return node;
}

static void loops(void)
{
    refused("a Loop without a body", one(ox_node("Loop", "n c x", "y")), "body", "bad_node");
    refused("a body with too few inputs", one(loop_of("n c x", "y", 2, 2)), "2 inputs", "bad_node");
    refused("a body with too many inputs", one(loop_of("n c x", "y", 4, 2)), "4 inputs",
            "bad_node");
    refused("a body without outputs", one(loop_of("n c x", "y", 3, 0)), "outputs", "bad_node");
    refused("a body with too few outputs", one(loop_of("n c x", "y", 3, 1)), "outputs", "bad_node");
    refused("a body with too many outputs", one(loop_of("n c x", "y", 3, 4)), "outputs",
            "bad_node");
    refused("a body of nothing", one(loop_of("n c x", "y", 0, 0)), "0 inputs", "bad_node");
    refused("turns that are no whole number", one(loop_of("x c x", "y", 3, 2)), "", "bad_node");
    refused("a Loop's condition of the wrong type", one(loop_of("n x x", "y", 3, 2)), "",
            "bad_node");
    refused("a carried value that is omitted", one(loop_of("n c -", "y", 3, 2)), "", "bad_node");
    struct pb node = ox_node("Loop", "n c x", "y"), body = empty();
    add(&body, OX_INPUT, ox_value("i", VT_I64, 0, NULL));
    add(&body, OX_INPUT, ox_value("go", VT_BOOL, 0, NULL));
    add(&body, OX_INPUT, ox_value("v", VT_F32, -1, NULL));
    add(&body, OX_OUTPUT, ox_value("go", VT_BOOL, 0, NULL));
    add(&body, OX_OUTPUT, ox_value("i", VT_I64, 0, NULL));
    ox_attr_message(&node, "body", OX_GRAPH, &body);
    refused("a carried value that changes its type", one(node), "int64", "bad_node");
    node = ox_node("Scan", "x x", "y");
    body = branch_of("x", 1);
    ox_attr_message(&node, "body", OX_GRAPH, &body);
    refused("a Scan without a number of inputs", one(node), "num_scan_inputs", "bad_node");
    static const int64_t counts[] = {-1, 0, 3, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char kind[64];
        (void)snprintf(kind, sizeof(kind), "a Scan over %lld inputs", (long long)counts[i]);
        node = ox_node("Scan", "x x", "y");
        body = branch_of("x", 1);
        ox_attr_message(&node, "body", OX_GRAPH, &body);
        ox_attr_int(&node, "num_scan_inputs", counts[i]);
        refused(kind, one(node), "", "bad_node");
    }
}

static void nesting(void)
{
    struct pb graph = branch_of("x", 1);
    for (int level = 0; level < 60; level++) {
        struct pb node = if_of("c", graph, branch_of("x", 1));
        graph = empty();
        add(&graph, OX_NODE, node);
        add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    }
    struct pb outer = with_inputs();
    pb_raw(&outer, graph.bytes, graph.size);
    pb_free(&graph);
    refused("branches nested 60 deep", ox_model(17, &outer), "nested too deeply", "bad.onnx");
    struct pb nest = empty();
    for (int level = 0; level < 2000; level++) {
        struct pb deeper = empty();
        pb_message(&deeper, level % 2 == 0 ? 6 : 5, &nest);
        nest = deeper;
    }
    graph = empty();
    pb_message(&graph, 1, &nest);
    refused("messages nested 2000 deep", ox_model(17, &graph), "", "bad.onnx");
}

void kinds_of_graphs(void)
{
    names();
    extents();
    long_names();
    cycles();
    many();
    branches();
    loops();
    nesting();
}
