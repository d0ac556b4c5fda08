/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and their attributes. */
#include "graph/write_internal.h"

void vt_write_node_begin(struct vt_model_writer *writer, const char *op, const char *name)
{
    vt_proto_text(&writer->node, NODE_NAME, name);
    vt_proto_text(&writer->node, NODE_OP_TYPE, op);
}

void vt_write_node_input(struct vt_model_writer *writer, const char *value)
{
    vt_proto_text(&writer->node, NODE_INPUT, value);
}

void vt_write_node_output(struct vt_model_writer *writer, const char *value)
{
    vt_proto_text(&writer->node, NODE_OUTPUT, value);
}

void vt_write_attr_int(struct vt_model_writer *writer, const char *name, int64_t value)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    vt_proto_int(&attr, ATTR_I, value);
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_INT);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_attr_float(struct vt_model_writer *writer, const char *name, float value)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    vt_proto_float(&attr, ATTR_F, value);
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_FLOAT);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_attr_text(struct vt_model_writer *writer, const char *name, const char *value)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    vt_proto_text(&attr, ATTR_S, value);
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_STRING);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_attr_ints(struct vt_model_writer *writer, const char *name, const int64_t *values,
                        size_t n)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    for (size_t i = 0; i < n; i++) {
        vt_proto_int(&attr, ATTR_INTS, values[i]);
    }
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_INTS);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_node_end(struct vt_model_writer *writer)
{
    vt_proto_message(&writer->graph, GRAPH_NODE, &writer->node);
}

void vt_write_attr_floats(struct vt_model_writer *writer, const char *name, const float *values,
                          size_t n)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    for (size_t i = 0; i < n; i++) {
        vt_proto_float(&attr, ATTR_FLOATS, values[i]);
    }
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_FLOATS);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_attr_texts(struct vt_model_writer *writer, const char *name,
                         const char *const *values, size_t n)
{
    struct vt_proto attr = {0};

    vt_proto_text(&attr, ATTR_NAME, name);
    for (size_t i = 0; i < n; i++) {
        vt_proto_text(&attr, ATTR_STRINGS, values[i]);
    }
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_STRINGS);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}

void vt_write_attr_tensor(struct vt_model_writer *writer, const char *name,
                          const struct vt_tensor *value)
{
    struct vt_proto attr = {0}, tensor = {0};

    for (uint32_t d = 0; d < value->rank; d++) {
        vt_proto_int(&tensor, TENSOR_DIMS, value->dim[d]);
    }
    vt_proto_int(&tensor, TENSOR_DATA_TYPE, (int64_t)value->dtype);
    vt_proto_bytes(&tensor, TENSOR_RAW_DATA, value->data, value->bytes);
    vt_proto_text(&attr, ATTR_NAME, name);
    vt_proto_message(&attr, ATTR_T, &tensor);
    vt_proto_int(&attr, ATTR_TYPE, ATTR_TYPE_TENSOR);
    vt_proto_message(&writer->node, NODE_ATTRIBUTE, &attr);
}
