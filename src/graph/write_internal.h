/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the writer share. */
#ifndef VT_GRAPH_WRITE_INTERNAL_H
#define VT_GRAPH_WRITE_INTERNAL_H

#include "core/ports.h"
#include "graph/write.h"
#include "graph/write_proto.h"

/* Fields of the ONNX messages that are written here. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER_NAME = 2,
    MODEL_DOC_STRING = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    MODEL_METADATA = 14,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_T = 5,
    ATTR_FLOATS = 7,
    ATTR_INTS = 8,
    ATTR_STRINGS = 9,
    ATTR_TYPE = 20,
    ATTR_TYPE_FLOAT = 1,
    ATTR_TYPE_INT = 2,
    ATTR_TYPE_STRING = 3,
    ATTR_TYPE_TENSOR = 4,
    ATTR_TYPE_FLOATS = 6,
    ATTR_TYPE_INTS = 7,
    ATTR_TYPE_STRINGS = 8,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_DOC_STRING = 12,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14,
    DATA_LOCATION_EXTERNAL = 1,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEMENT = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
};

struct weight {
    struct vt_proto head; /* its TensorProto without doc string and contents */
    uint64_t elements;
    uint64_t bytes;
    size_t element_bytes;
    vt_weight_fill fill; /* NULL: `contents` */
    const void *ctx;
    void *contents; /* owned */
    /* of the file that is being written */
    bool external;
    uint64_t offset; /* in the file of external data */
    uint32_t padding;
    uint64_t message_bytes;
};

struct vt_model_writer {
    struct vt_proto model; /* everything but the graph */
    struct vt_proto graph; /* everything but the weights */
    struct vt_proto node;  /* the one that is being described */
    struct weight *weights;
    size_t n_weights, capacity;
    uint64_t weight_bytes;
    bool failed; /* out of memory, where no buffer says it */
};

#endif
