/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no sound protobuf, or whose outermost message is not that of a model. */
#include "malformed.h"

static struct pb empty(void)
{
    return (struct pb){NULL, 0, 0};
}

/* A sound graph: x, a weight, an Add and a Relu. */
static struct pb small_graph(void)
{
    struct pb graph = empty();
    struct pb value = ox_value("x", VT_F32, 1, (int64_t[]){2});
    struct pb weight = ox_tensor_raw("w", VT_F32, 1, (int64_t[]){2}, "\0\0\0\0\0\0\0\0", 8);
    struct pb add = ox_node("Add", "x w", "sum"), relu = ox_node("Relu", "sum", "y");
    pb_message(&graph, OX_INPUT, &value);
    pb_message(&graph, OX_INITIALIZER, &weight);
    ox_attr_int(&relu, "unused", 1);
    pb_message(&graph, OX_NODE, &add);
    pb_message(&graph, OX_NODE, &relu);
    value = ox_value("y", VT_F32, 1, (int64_t[]){2});
    pb_message(&graph, OX_OUTPUT, &value);
    return graph;
}

static struct pb opset_of(const char *domain, int64_t version)
{
    struct pb import = empty();
    pb_text(&import, 1, domain);
    pb_varint(&import, 2, version);
    return import;
}

/* The model with these operator sets, whose graph comes last. */
static struct pb with_opsets(struct pb *imports, unsigned n)
{
    struct pb model = empty(), graph = small_graph();
    pb_varint(&model, 1, 8);
    for (unsigned i = 0; i < n; i++) {
        pb_message(&model, 8, &imports[i]);
    }
    pb_message(&model, 7, &graph);
    return model;
}

static struct pb with_opset(const char *domain, int64_t version)
{
    struct pb import = opset_of(domain, version);
    return with_opsets(&import, 1);
}

static struct pb of_bytes(const char *bytes, size_t n)
{
    struct pb model = empty();
    pb_raw(&model, bytes, n);
    return model;
}

static void no_models(void)
{
    static const char *const others[][2] = {
        {"a PDF", "%PDF-1.7\n%\xe2\xe3\xcf\xd3 1 0 obj"},
        {"a picture", "\x89PNG\r\n\x1a\n IHDR"},
        {"an archive", "PK\x03\x04 model.pt"},
        {"a text of JSON", "{\"graph\": {\"node\": []}}"},
        {"a script", "#!/usr/bin/env python3\nimport onnx\n"},
        {"a page of HTML", "<!DOCTYPE html><html><head>Not found</head></html>"},
        {"a pointer to large files", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7"},
    };
    refused("an empty file", empty(), "is empty", "bad.onnx");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        refused(others[i][0], of_bytes(others[i][1], strlen(others[i][1])), "", "bad.onnx");
    }
    static const char zeroes[4096];
    refused("a file of zeroes", of_bytes(zeroes, sizeof(zeroes)), "byte 1", "bad.onnx");
    struct pb ones = empty();
    for (int i = 0; i < 4096; i++) {
        pb_raw(&ones, "\xff", 1);
    }
    refused("a file of ones", ones, "byte 0", "bad.onnx");
    struct pb only_version = empty();
    pb_varint(&only_version, 1, 8);
    refused("a model without a graph", only_version, "no graph", "bad.onnx");
}

static void wire_faults(void)
{
    struct pb model = with_opset("", 17);
    pb_raw(&model, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
    refused("a length of 2^63", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x12\xff\xff\xff\xff\x0f zz", 9);
    refused("a length of 4 GiB", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    refused("a number of more than 64 bits", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x02\x01", 2);
    refused("a field 0", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x0f\x01", 2);
    refused("a wire type 7", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x0e\x01", 2);
    refused("a wire type 6", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x1c", 1);
    refused("an end of a group that never began", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x1b\x08\x01", 3);
    refused("a group that never ends", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    for (int i = 0; i < 100000; i++) {
        pb_raw(&model, "\x1b", 1);
    }
    refused("groups nested 100000 deep", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x38\x05", 2);
    refused("a number for the graph", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x10\x05", 2);
    refused("a number for the producer", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\x40\x05", 2);
    refused("a number for an operator set", model, "byte", "bad.onnx");
    model = with_opset("", 17);
    pb_raw(&model, "\xca\x01\x7f", 3);
    refused("a function that is cut off", model, "byte", "bad.onnx");
    struct pb graph = small_graph();
    model = with_opset("", 17);
    pb_message(&model, 7, &graph);
    refused("two main graphs", model, "second main graph", "bad.onnx");
    model = with_opset("", 17);
    pb_bytes(&model, 2, "a\0b", 3);
    refused("a producer with a zero byte", model, "zero byte", "bad.onnx");
}

static void versions(void)
{
    static const int64_t opsets[] = {0, -1, 26, 1000, INT64_MAX, INT64_MIN, (int64_t)1 << 32 | 17};
    for (size_t i = 0; i < sizeof(opsets) / sizeof(opsets[0]); i++) {
        char kind[64];
        (void)snprintf(kind, sizeof(kind), "opset %lld", (long long)opsets[i]);
        refused(kind, with_opset("", opsets[i]), "1 to 25", "bad.onnx");
    }
    refused("no operator set", with_opsets(NULL, 0), "names no version", "bad.onnx");
    refused("a foreign operator set only", with_opset("com.example", 1), "names no version",
            "bad.onnx");
    struct pb imports[80] = {opset_of("", 17), opset_of("ai.onnx", 18)};
    refused("one operator set twice", with_opsets(imports, 2), "twice", "bad.onnx");
    for (unsigned i = 0; i < 80; i++) {
        char domain[16];
        (void)snprintf(domain, sizeof(domain), "domain%u", i);
        imports[i] = opset_of(domain, 1);
    }
    refused("80 operator sets", with_opsets(imports, 80), "more than 64", "bad.onnx");
    struct pb import = empty();
    pb_text(&import, 1, "");
    pb_float(&import, 2, 17.0f);
    refused("an opset of the wrong wire type", with_opsets(&import, 1), "", "bad.onnx");
    import = empty();
    pb_varint(&import, 1, 3);
    refused("a number for a domain", with_opsets(&import, 1), "byte", "bad.onnx");
    static const int64_t irs[] = {-1, INT64_MIN, 15, 1000, INT64_MAX};
    for (size_t i = 0; i < sizeof(irs) / sizeof(irs[0]); i++) {
        char kind[64];
        struct pb graph = small_graph(), model = empty();
        import = opset_of("", 17);
        pb_varint(&model, 1, irs[i]);
        pb_message(&model, 8, &import);
        pb_message(&model, 7, &graph);
        (void)snprintf(kind, sizeof(kind), "IR version %lld", (long long)irs[i]);
        refused(kind, model, "IR version", "bad.onnx");
    }
}

/* A file cut at every byte, those between two fields among them. The graph stands last. */
static void truncations(void)
{
    struct pb whole = with_opset("", 17);
    for (size_t n = 1; n < whole.size; n++) {
        refused("a file that is cut off", of_bytes((const char *)whole.bytes, n), "", "bad.onnx");
    }
    pb_free(&whole);
}

void kinds_of_wire(void)
{
    no_models();
    wire_faults();
    versions();
    truncations();
}
