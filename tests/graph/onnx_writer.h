/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ONNX bytes, for tests: sound ones and, by leaving things out, unsound ones. Running out of
 * memory ends the test. A `struct pb` that went into another as a message is freed by that.
 */
#ifndef VT_TEST_ONNX_WRITER_H
#define VT_TEST_ONNX_WRITER_H

#include "vt_test.h"

struct pb {
    uint8_t *bytes;
    size_t size, capacity;
};

static inline void pb_free(struct pb *pb)
{
    free(pb->bytes);
    *pb = (struct pb){NULL, 0, 0};
}

static inline void pb_raw(struct pb *pb, const void *bytes, size_t n)
{
    if (pb->size + n > pb->capacity) {
        pb->capacity = 2 * (pb->size + n);
        pb->bytes = realloc(pb->bytes, pb->capacity);
        if (pb->bytes == NULL) {
            abort();
        }
    }
    if (n > 0) {
        memcpy(pb->bytes + pb->size, bytes, n);
    }
    pb->size += n;
}

static inline void pb_number(struct pb *pb, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        pb_raw(pb, &byte, 1);
        value >>= 7;
    } while (value != 0);
}

static inline void pb_varint(struct pb *pb, uint32_t field, int64_t value)
{
    pb_number(pb, (uint64_t)field << 3);
    pb_number(pb, (uint64_t)value);
}

static inline void pb_float(struct pb *pb, uint32_t field, float value)
{
    pb_number(pb, (uint64_t)field << 3 | 5);
    pb_raw(pb, &value, sizeof(value));
}

static inline void pb_bytes(struct pb *pb, uint32_t field, const void *bytes, size_t n)
{
    pb_number(pb, (uint64_t)field << 3 | 2);
    pb_number(pb, n);
    pb_raw(pb, bytes, n);
}

static inline void pb_text(struct pb *pb, uint32_t field, const char *text)
{
    pb_bytes(pb, field, text, strlen(text));
}

static inline void pb_message(struct pb *pb, uint32_t field, struct pb *message)
{
    pb_bytes(pb, field, message->bytes, message->size);
    pb_free(message);
}

/* Names separated by spaces; "-" is an omitted (empty) one. */
static inline void pb_names(struct pb *pb, uint32_t field, const char *names)
{
    for (const char *at = names; *at != '\0';) {
        size_t n = strcspn(at, " ");
        pb_bytes(pb, field, at, n == 1 && at[0] == '-' ? 0 : n);
        at += n + (at[n] == ' ');
    }
}

/* A NodeProto to which attributes may be added. */
static inline struct pb ox_node(const char *op, const char *inputs, const char *outputs)
{
    struct pb node = {NULL, 0, 0};
    pb_names(&node, 1, inputs);
    pb_names(&node, 2, outputs);
    pb_text(&node, 4, op);
    return node;
}

static inline void ox_attr_int(struct pb *node, const char *name, int64_t value)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    pb_varint(&attr, 3, value);
    pb_varint(&attr, 20, 2);
    pb_message(node, 5, &attr);
}

static inline void ox_attr_float(struct pb *node, const char *name, float value)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    pb_float(&attr, 2, value);
    pb_varint(&attr, 20, 1);
    pb_message(node, 5, &attr);
}

static inline void ox_attr_text(struct pb *node, const char *name, const char *value)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    pb_text(&attr, 4, value);
    pb_varint(&attr, 20, 3);
    pb_message(node, 5, &attr);
}

static inline void ox_attr_ints(struct pb *node, const char *name, const int64_t *values, size_t n)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    for (size_t i = 0; i < n; i++) {
        pb_varint(&attr, 8, values[i]);
    }
    pb_varint(&attr, 20, 7);
    pb_message(node, 5, &attr);
}

/* A tensor (freed) or a graph (freed) as an attribute. */
static inline void ox_attr_message(struct pb *node, const char *name, int type, struct pb *message)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    pb_message(&attr, type == 5 ? 6 : 5, message);
    pb_varint(&attr, 20, type);
    pb_message(node, 5, &attr);
}
#define OX_TENSOR 4
#define OX_GRAPH  5

/* A ValueInfoProto; an extent of -1 is open, rank -1 leaves the shape out. */
static inline struct pb ox_value(const char *name, int dtype, int rank, const int64_t *dim)
{
    struct pb info = {NULL, 0, 0}, type = {NULL, 0, 0}, tensor = {NULL, 0, 0}, shape = {NULL, 0, 0};
    pb_text(&info, 1, name);
    pb_varint(&tensor, 1, dtype);
    for (int d = 0; d < rank; d++) {
        struct pb extent = {NULL, 0, 0};
        if (dim[d] >= 0) {
            pb_varint(&extent, 1, dim[d]);
        } else {
            char symbol[8] = {(char)('A' + d), '\0'};
            pb_text(&extent, 2, symbol);
        }
        pb_message(&shape, 1, &extent);
    }
    if (rank >= 0) {
        pb_message(&tensor, 2, &shape);
    }
    pb_message(&type, 1, &tensor);
    pb_message(&info, 2, &type);
    return info;
}

/* A TensorProto without elements. */
static inline struct pb ox_tensor(const char *name, int dtype, int rank, const int64_t *dim)
{
    struct pb tensor = {NULL, 0, 0};
    for (int d = 0; d < rank; d++) {
        pb_varint(&tensor, 1, dim[d]);
    }
    pb_varint(&tensor, 2, dtype);
    pb_text(&tensor, 8, name);
    return tensor;
}

static inline struct pb ox_tensor_raw(const char *name, int dtype, int rank, const int64_t *dim,
                                      const void *bytes, size_t n)
{
    struct pb tensor = ox_tensor(name, dtype, rank, dim);
    pb_bytes(&tensor, 9, bytes, n);
    return tensor;
}

/* The model around a graph (freed). */
static inline struct pb ox_model(int64_t opset, struct pb *graph)
{
    struct pb model = {NULL, 0, 0}, import = {NULL, 0, 0};
    pb_varint(&model, 1, 7);
    pb_text(&model, 2, "test");
    pb_text(&import, 1, "");
    pb_varint(&import, 2, opset);
    pb_message(&model, 8, &import);
    pb_message(&model, 7, graph);
    return model;
}

#define OX_NODE        1
#define OX_INITIALIZER 5
#define OX_INPUT       11
#define OX_OUTPUT      12
#define OX_VALUE_INFO  13

#endif
