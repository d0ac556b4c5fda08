/* SPDX-License-Identifier: Apache-2.0 */
/* Weights whose shape, type and contents do not go together. */
#include "malformed.h"

#define HUGE_EXTENT ((int64_t)1 << 40)

static struct pb of_tensor(struct pb tensor)
{
    struct pb graph = {NULL, 0, 0}, node = ox_node("Add", "x w", "y");
    struct pb x = ox_value("x", VT_F32, 1, (int64_t[]){4}), y = ox_value("y", VT_F32, -1, NULL);
    pb_text(&node, 3, "bad_node");
    pb_message(&graph, OX_INPUT, &x);
    pb_message(&graph, OX_INITIALIZER, &tensor);
    pb_message(&graph, OX_NODE, &node);
    pb_message(&graph, OX_OUTPUT, &y);
    return ox_model(17, &graph);
}

static struct pb raw(int dtype, int rank, const int64_t *dim, size_t n)
{
    static const char zeroes[1024];
    return of_tensor(ox_tensor_raw("w", dtype, rank, dim, zeroes, n));
}

static void shapes(void)
{
    const int64_t four[] = {4}, huge[] = {HUGE_EXTENT}, most[] = {INT64_MAX}, negative[] = {-4};
    const int64_t wraps[] = {(int64_t)1 << 32, (int64_t)1 << 32};
    const int64_t wraps_to_zero[] = {(int64_t)1 << 32, (int64_t)1 << 32, 4};
    const int64_t bytes_wrap[] = {((int64_t)1 << 62) + 1}, squares[] = {-4, -1};
    const int64_t wraps_small[] = {((int64_t)1 << 62) + 1, 4}, least[] = {INT64_MIN};
    const int64_t zero_times[] = {0, -1}, zero_huge[] = {INT64_MAX, INT64_MAX, 0};
    int64_t many[300];
    for (int i = 0; i < 300; i++) {
        many[i] = 1;
    }
    refused("raw data shorter than the shape", raw(VT_F32, 1, four, 12), "16 bytes", "\"w\"");
    refused("raw data longer than the shape", raw(VT_F32, 1, four, 20), "16 bytes", "\"w\"");
    refused("raw data of another type", raw(VT_F32, 1, four, 32), "16 bytes", "\"w\"");
    refused("empty raw data", raw(VT_F32, 1, four, 0), "16 bytes", "\"w\"");
    refused("raw data for no element", raw(VT_F32, 1, (int64_t[]){0}, 4), "0 bytes", "\"w\"");
    refused("an extent of 2^40", raw(VT_F32, 1, huge, 16), "bytes", "\"w\"");
    refused("an extent of 2^63-1", raw(VT_F32, 1, most, 16), "overflows", "\"w\"");
    refused("an extent of 2^63-1 bytes", raw(VT_U8, 1, most, 16), "bytes", "\"w\"");
    refused("a negative extent", raw(VT_F32, 1, negative, 16), "negative", "\"w\"");
    refused("two negative extents", raw(VT_F32, 2, squares, 16), "negative", "\"w\"");
    refused("the smallest extent", raw(VT_F32, 1, least, 16), "negative", "\"w\"");
    refused("a negative extent beside 0", raw(VT_F32, 2, zero_times, 0), "negative", "\"w\"");
    refused("extents that overflow", raw(VT_F32, 2, wraps, 16), "overflows", "\"w\"");
    refused("extents that overflow to 0", raw(VT_F32, 3, wraps_to_zero, 0), "overflows", "\"w\"");
    refused("extents that overflow to 4", raw(VT_U8, 2, wraps_small, 4), "overflows", "\"w\"");
    refused("bytes that overflow to 4", raw(VT_F32, 1, bytes_wrap, 4), "overflows", "\"w\"");
    refused("an overflow beside 0", raw(VT_F32, 3, zero_huge, 4), "", "\"w\"");
    refused("9 dimensions", raw(VT_F32, 9, many, 4), "dimensions", "\"w\"");
    refused("300 dimensions", raw(VT_F32, 300, many, 4), "dimensions", "\"w\"");
}

static void types(void)
{
    const int64_t four[] = {4};
    static const struct {
        int64_t type;
        const char *word;
    } types[] = {{0, "undefined"},  {8, "string"},
                 {14, "complex64"}, {15, "complex128"},
                 {17, "float8"},    {18, "float8e4m3fnuz"},
                 {21, "uint4"},     {22, "int4"},
                 {23, "float4"},    {24, "24"},
                 {99, "99"},        {-1, "-1"},
                 {INT64_MAX, ""},   {(int64_t)1 << 32 | 1, ""}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char kind[64];
        struct pb tensor = {NULL, 0, 0};
        (void)snprintf(kind, sizeof(kind), "element type %lld", (long long)types[i].type);
        pb_varint(&tensor, 1, 4);
        pb_varint(&tensor, 2, types[i].type);
        pb_text(&tensor, 8, "w");
        pb_bytes(&tensor, 9, "0123456789abcdef", 16);
        refused(kind, of_tensor(tensor), types[i].word, "\"w\"");
    }
    struct pb tensor = {NULL, 0, 0};
    pb_varint(&tensor, 1, 4);
    pb_text(&tensor, 8, "w");
    refused("no element type", of_tensor(tensor), "undefined", "\"w\"");
    refused("truth values of 2", of_tensor(ox_tensor_raw("w", VT_BOOL, 1, four, "\0\1\2\1", 4)),
            "truth value", "\"w\"");
    refused("weights of the wrong type", raw(VT_I32, 1, four, 16), "type", "bad_node");
    refused("weights of double", raw(VT_F64, 1, four, 32), "type", "bad_node");
    refused("weights that do not fit", raw(VT_F32, 1, (int64_t[]){3}, 12), "3", "bad_node");
}

static void lists(void)
{
    const int64_t four[] = {4}, one[] = {1};
    static const struct {
        int type;
        int64_t value;
        const char *kind;
    } narrow[] = {
        {VT_U8, 256, "256 for uint8"},        {VT_U8, -1, "-1 for uint8"},
        {VT_I8, 128, "128 for int8"},         {VT_I8, -129, "-129 for int8"},
        {VT_U16, 65536, "65536 for uint16"},  {VT_I16, 40000, "40000 for int16"},
        {VT_BOOL, 2, "2 for bool"},           {VT_I32, (int64_t)1 << 32, "2^32 for int32"},
        {VT_F16, 65536, "65536 for float16"}, {VT_BF16, -1, "-1 for bfloat16"}};
    struct pb tensor;
    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
        tensor = ox_tensor("w", narrow[i].type, 1, one);
        pb_varint(&tensor, 5, narrow[i].value);
        refused(narrow[i].kind, of_tensor(tensor), "does not fit", "\"w\"");
    }
    refused("no elements", of_tensor(ox_tensor("w", VT_F32, 1, four)), "holds 0", "\"w\"");
    tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){HUGE_EXTENT});
    pb_float(&tensor, 4, 1.0f);
    refused("2^40 elements of which one is there", of_tensor(tensor), "holds 1", "\"w\"");
    tensor = ox_tensor("w", VT_F32, 1, four);
    for (int i = 0; i < 5; i++) {
        pb_float(&tensor, 4, 1.0f);
    }
    refused("one element too many", of_tensor(tensor), "holds 5", "\"w\"");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_bytes(&tensor, 4, "0123456789abcde", 15);
    refused("a ragged packed list", of_tensor(tensor), "byte", "bad.onnx");
    tensor = ox_tensor("w", VT_I64, 1, four);
    pb_bytes(&tensor, 7, "\x01\x02\x03\xff", 4);
    refused("a packed list that is cut off", of_tensor(tensor), "byte", "bad.onnx");
    tensor = ox_tensor("w", VT_F32, 1, four);
    for (int i = 0; i < 4; i++) {
        pb_varint(&tensor, 4, 1);
    }
    refused("whole numbers in a list of floats", of_tensor(tensor), "byte", "bad.onnx");
    tensor = ox_tensor("w", VT_F32, 1, four);
    for (int i = 0; i < 4; i++) {
        pb_varint(&tensor, 7, 1);
    }
    refused("the list of another type", of_tensor(tensor), "holds 0", "\"w\"");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_text(&tensor, 3, "");
    refused("a segment", of_tensor(tensor), "segments", "\"w\"");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_varint(&tensor, 9, 5);
    refused("a number for raw data", of_tensor(tensor), "byte", "bad.onnx");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_text(&tensor, 1, "\x80");
    refused("extents that are cut off", of_tensor(tensor), "byte", "bad.onnx");
    tensor = ox_tensor("w", VT_F32, 1, four);
    pb_float(&tensor, 1, 1.0f);
    refused("an extent that is no whole number", of_tensor(tensor), "byte", "bad.onnx");
    refused("a weight without a name", of_tensor(ox_tensor_raw("", VT_F32, 0, NULL, "\0\0\0\0", 4)),
            "without a name", "bad.onnx");
    tensor = ox_tensor_raw("w", VT_F32, 1, four, "0123456789abcdef", 16);
    pb_bytes(&tensor, 8, "w\0w", 3);
    refused("a weight's name with a zero byte", of_tensor(tensor), "zero byte", "bad.onnx");
}

void kinds_of_tensors(void)
{
    shapes();
    types();
    lists();
}
