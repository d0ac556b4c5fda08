/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that unfold to much, functions, and sequences. */
#include "graphs.h"

/*
 * Loops in loops, each of which carries a value that grows, and what that was a turn before: what
 * the planner assumes about them does not hold, once for each, at any level.
 */
static struct pb growing_loops(int levels)
{
    struct pb body = empty();
    for (int level = levels; level > 0; level--) {
        static const char one_float[4];
        char in[16], out[16], inner[16];
        struct pb outer = empty(), node, concat;
        (void)snprintf(in, sizeof(in), "in%d", level);
        (void)snprintf(out, sizeof(out), "out%d", level);
        (void)snprintf(inner, sizeof(inner), "result%d", level);
        add(&body, OX_INPUT, ox_value("i", VT_I64, 0, NULL));
        add(&body, OX_INPUT, ox_value("go", VT_BOOL, 0, NULL));
        add(&body, OX_INPUT, ox_value(in, VT_F32, -1, NULL));
        add(&body, OX_INPUT, ox_value("late", VT_F32, -1, NULL));
        concat = ox_node("Concat", in, out);
        pb_text(&concat, 1, "x");
        ox_attr_int(&concat, "axis", 0);
        add(&body, OX_NODE, concat);
        add(&body, OX_OUTPUT, ox_value("go", VT_BOOL, 0, NULL));
        add(&body, OX_OUTPUT, ox_value(out, VT_F32, -1, NULL));
        add(&body, OX_NODE, ox_node("Neg", in, "before"));
        add(&body, OX_OUTPUT, ox_value("before", VT_F32, -1, NULL));
        node = ox_node("Loop", "n c start start", inner);
        pb_text(&node, 2, "later");
        ox_attr_message(&node, "body", OX_GRAPH, &body);
        add(&outer, OX_INITIALIZER,
            ox_tensor_raw("start", VT_F32, 1, (int64_t[]){1}, one_float, 4));
        add(&outer, OX_NODE, node);
        body = outer;
    }
    return body;
}

/* With an output that says enough about itself for nothing to be inferred before the plan is made.
 */
static struct pb planned(struct pb graph)
{
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, 1, (int64_t[]){-1}));
    return ox_model(17, &graph);
}

static void blow_ups(void)
{
    struct pb graph = growing_loops(16);
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    add(&graph, OX_INPUT, ox_value("n", VT_I64, 0, NULL));
    add(&graph, OX_NODE, named("bad_node", ox_node("Conv", "result1 x", "y")));
    refused("16 growing loops in each other", planned(graph), "", "bad_node");
    /* Each function calls the one before twice: 2^30 nodes. */
    struct pb model = empty(), import = empty(), call = named("bad_node", ox_node("f30", "x", "y"));
    graph = with_inputs();
    pb_text(&call, 7, "local");
    add(&graph, OX_NODE, call);
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    model = ox_model(17, &graph);
    for (int i = 0; i <= 30; i++) {
        char name[16], before[16];
        struct pb function = empty();
        (void)snprintf(name, sizeof(name), "f%d", i);
        (void)snprintf(before, sizeof(before), "f%d", i - 1);
        pb_text(&function, 1, name);
        pb_text(&function, 4, "p");
        pb_text(&function, 5, "q");
        for (int k = 0; k < 2; k++) {
            struct pb node =
                ox_node(i > 0 ? before : "Relu", k == 0 ? "p" : "m", k == 0 ? "m" : "q");
            pb_text(&node, 7, i > 0 ? "local" : "");
            pb_message(&function, 7, &node);
        }
        import = empty();
        pb_varint(&import, 2, 17);
        pb_message(&function, 9, &import);
        pb_text(&function, 10, "local");
        pb_message(&model, 25, &function);
    }
    refused("functions that call each other 2^30 times", model, "more than", "bad.onnx");
    /* Constants out of nothing: 20 of 64 MiB each, which the planner could compute. */
    graph = with_inputs();
    for (int i = 0; i < 20; i++) {
        char name[16];
        const int64_t extent = (16 << 20) - i;
        struct pb node, value = ox_tensor_raw("", VT_F32, 1, (int64_t[]){1}, "\0\0\0\0", 4);
        (void)snprintf(name, sizeof(name), "s%d", i);
        add(&graph, OX_INITIALIZER, ox_tensor_raw(name, VT_I64, 1, (int64_t[]){1}, &extent, 8));
        node = ox_node("ConstantOfShape", name, "");
        (void)snprintf(name, sizeof(name), "big%d", i);
        pb_text(&node, 2, name);
        ox_attr_message(&node, "value", OX_TENSOR, &value);
        add(&graph, OX_NODE, node);
    }
    add(&graph, OX_NODE, named("bad_node", ox_node("Conv", "x big19", "y")));
    refused("20 constants of 64 MiB", planned(graph), "", "bad_node");
}

/* A model with one function, in the domain "local", that is called once. */
static struct pb calling(const char *called, struct pb *nodes, int n, const char *inputs,
                         int64_t opset)
{
    struct pb graph = with_inputs(), function = empty(), import = empty();
    struct pb call = named("bad_node", ox_node(called, inputs, "y"));
    pb_text(&call, 7, "local");
    add(&graph, OX_NODE, call);
    pb_text(&function, 1, "f");
    pb_text(&function, 4, "p");
    pb_text(&function, 5, "q");
    for (int i = 0; i < n; i++) {
        pb_message(&function, 7, &nodes[i]);
    }
    pb_varint(&import, 2, opset);
    pb_message(&function, 9, &import);
    pb_text(&function, 10, "local");
    add(&graph, OX_OUTPUT, ox_value("y", VT_F32, -1, NULL));
    struct pb model = ox_model(17, &graph);
    pb_message(&model, 25, &function);
    return model;
}

/* No element, but 2^61 rows of none: sound, and done at once. */
static void empty_rows(void)
{
    static const char *const ops[] = {"Trilu", "Relu", "Softmax", "CumSum", "Transpose", "Reshape"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct pb graph = empty();
        const int64_t rows[] = {(int64_t)1 << 61, 0}, axis = 1;
        add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, rows));
        add(&graph, OX_INITIALIZER, ox_tensor_raw("axis", VT_I64, 0, NULL, &axis, 8));
        add(&graph, OX_INITIALIZER,
            ox_tensor_raw("shape", VT_I64, 1, (int64_t[]){2}, (int64_t[]){0, 0}, 16));
        add(&graph, OX_NODE, ox_node(ops[i], i == 3 ? "x axis" : i == 5 ? "x shape" : "x", "y"));
        struct pb model = closed(graph, "y");
        opens_or_is_refused(ops[i], &model);
        pb_free(&model);
    }
}

static void functions(void)
{
    struct pb nodes[3];
    nodes[0] = ox_node("Relu", "p", "q");
    refused("a function that is not there", calling("g", nodes, 1, "x", 17), "\"g\"", "bad_node");
    nodes[0] = ox_node("Relu", "p", "q");
    refused("a function with too many inputs", calling("f", nodes, 1, "x x", 17), "input",
            "bad_node");
    nodes[0] = ox_node("Relu", "p", "z");
    refused("a function whose output nothing makes", calling("f", nodes, 1, "x", 17), "\"y\"",
            "\"f\"");
    refused("a function without nodes", calling("f", nodes, 0, "x", 17), "\"y\"", "\"f\"");
    nodes[0] = ox_node("Add", "p x", "q");
    refused("a function that looks outside", calling("f", nodes, 1, "x", 17), "\"x\"", "");
    for (int n = 1; n <= 3; n++) {
        for (int i = 0; i < n; i++) {
            static const char *const out[] = {"q", "s", "t"};
            nodes[i] = ox_node("f", "p", out[i]);
            pb_text(&nodes[i], 7, "local");
        }
        refused("a function that calls itself", calling("f", nodes, n, "x", 17), "themselves",
                "function");
    }
    nodes[0] = ox_node("Relu", "t", "q");
    nodes[1] = ox_node("Relu", "q", "t");
    refused("a function with a cycle", calling("f", nodes, 2, "x", 17), "cycle", "");
    nodes[0] = ox_node("Relu", "p", "q");
    nodes[1] = ox_node("Abs", "p", "q");
    refused("a function that makes a value twice", calling("f", nodes, 2, "x", 17), "\"q\"", "");
    nodes[0] = ox_node("Relu", "p", "q");
    refused("a function at opset 26", calling("f", nodes, 1, "x", 26), "26", "");
    nodes[0] = ox_node("Reluu", "p", "q");
    refused("a function with an unknown operator", calling("f", nodes, 1, "x", 17), "Reluu", "");
}

static void sequences(void)
{
    struct pb empty_one = ox_node("SequenceEmpty", "", "s"), at = ox_node("SequenceAt", "s n", "y");
    refused("an element of an empty sequence", two(at, empty_one), "", "bad_node");
    refused("a tensor for a sequence", one(ox_node("SequenceAt", "x n", "y")), "", "bad_node");
    refused("a sequence for a tensor",
            two(ox_node("Relu", "s", "y"), ox_node("SequenceConstruct", "x x", "s")), "", "node");
    refused("a sequence of nothing", one(ox_node("SequenceConstruct", "", "y")), "0 inputs",
            "bad_node");
    static const char *const omitted[][2] = {
        {"SplitToSequence", "-"},   {"SplitToSequence", "- n"},  {"SequenceInsert", "s -"},
        {"SequenceInsert", "- x"},  {"SequenceAt", "s -"},       {"SequenceErase", "-"},
        {"SequenceLength", "-"},    {"ConcatFromSequence", "-"}, {"SequenceConstruct", "- x"},
        {"SequenceInsert", "s - n"}};
    for (size_t i = 0; i < sizeof(omitted) / sizeof(omitted[0]); i++) {
        char kind[64];
        (void)snprintf(kind, sizeof(kind), "%s of %s", omitted[i][0], omitted[i][1]);
        struct pb node = ox_node(omitted[i][0], omitted[i][1], "y");
        ox_attr_int(&node, "axis", 0);
        refused(kind, two(node, ox_node("SequenceConstruct", "x x", "s")), "omitted", "bad_node");
    }
    struct pb graph = with_inputs();
    add(&graph, OX_NODE, named("bad_node", ox_node("SequenceConstruct", "x x", "y")));
    refused("a sequence as the graph's output", closed(graph, "y"), "", "y");
}

void kinds_of_calls(void)
{
    blow_ups();
    empty_rows();
    functions();
    sequences();
}
