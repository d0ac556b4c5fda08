/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: what flows between workload, sut and engine.
 *
 * A `struct vt_tensor` is a view. It never owns its data: who does is said wherever one is handed
 * over. All tensors are dense and row-major (the last dimension varies fastest), little-endian.
 * A view of a batch has the batch in dimension 0.
 *
 * A `struct vt_port` describes an input or output of a model before shapes are known: an extent
 * is a positive number, or -1 where the model leaves it open (then `symbol` names it, if the
 * model does).
 */
#ifndef VATIO_TENSOR_H
#define VATIO_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VT_RANK_MAX 8

/*
 * Element types; the values are those of ONNX TensorProto.DataType.
 * X(NAME, value, bytes an element (0: not addressable), "name")
 */
#define VT_DTYPE_MAP(X)                                                                            \
    X(UNDEFINED, 0, 0, "undefined")                                                                \
    X(F32, 1, 4, "float32")                                                                        \
    X(U8, 2, 1, "uint8")                                                                           \
    X(I8, 3, 1, "int8")                                                                            \
    X(U16, 4, 2, "uint16")                                                                         \
    X(I16, 5, 2, "int16")                                                                          \
    X(I32, 6, 4, "int32")                                                                          \
    X(I64, 7, 8, "int64")                                                                          \
    X(STRING, 8, 0, "string")                                                                      \
    X(BOOL, 9, 1, "bool")                                                                          \
    X(F16, 10, 2, "float16")                                                                       \
    X(F64, 11, 8, "float64")                                                                       \
    X(U32, 12, 4, "uint32")                                                                        \
    X(U64, 13, 8, "uint64")                                                                        \
    X(C64, 14, 8, "complex64")                                                                     \
    X(C128, 15, 16, "complex128")                                                                  \
    X(BF16, 16, 2, "bfloat16")

enum vt_dtype {
#define VT_DTYPE_ENUM(name, value, bytes, text) VT_##name = (value),
    VT_DTYPE_MAP(VT_DTYPE_ENUM)
#undef VT_DTYPE_ENUM
};

enum vt_memory {
    VT_MEMORY_HOST = 0,
    VT_MEMORY_PINNED = 1, /* host memory that a device can reach by DMA */
    VT_MEMORY_DEVICE = 2, /* not addressable by the CPU */
};

struct vt_tensor {
    enum vt_dtype dtype;
    enum vt_memory memory;
    uint32_t rank; /* 0 for a scalar */
    int64_t dim[VT_RANK_MAX];
    void *data;   /* borrowed */
    size_t bytes; /* of the elements: vt_tensor_bytes() of the shape */
};

struct vt_port {
    const char *name;
    enum vt_dtype dtype;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];        /* -1: open */
    const char *symbol[VT_RANK_MAX]; /* NULL where fixed or nameless */
};

/* What a model takes and gives. Owned by whoever returned it, constant as long as that lives. */
struct vt_signature {
    const struct vt_port *inputs;
    const struct vt_port *outputs;
    uint32_t n_inputs;
    uint32_t n_outputs;
};

/* Bytes an element, 0 for strings and values outside the list. */
VT_API size_t vt_dtype_bytes(enum vt_dtype dtype);
/* "float32"; "unknown" for a value outside the list. Static storage. */
VT_API const char *vt_dtype_name(enum vt_dtype dtype);
/* The type of that name; VT_UNDEFINED when there is none. */
VT_API enum vt_dtype vt_dtype_from_name(const char *name);

/*
 * The number of elements of a shape: the product of its extents, 1 for rank 0. False when an
 * extent is negative or the product exceeds INT64_MAX.
 */
VT_API bool vt_shape_elements(const int64_t *dim, uint32_t rank, int64_t *ret_elements);
/* The bytes of a shape's elements; false as above, and for a type without a size. */
VT_API bool vt_shape_bytes(enum vt_dtype dtype, const int64_t *dim, uint32_t rank,
                           size_t *ret_bytes);
/*
 * Writes "1x3x224x224" ("scalar" for rank 0, "?" or the symbol for an open extent; `symbol` may
 * be NULL) into text, cut at `size` - 1 bytes. Returns text.
 */
VT_API char *vt_shape_text(const int64_t *dim, uint32_t rank, const char *const *symbol, char *text,
                           size_t size);

/*
 * Fills *ret with a view of `data`. Errors: VT_ERR_LIMIT when the rank is above VT_RANK_MAX or
 * the size overflows, VT_ERR_USAGE on a negative extent or a type without a size.
 */
VT_API enum vt_status vt_tensor_init(struct vt_tensor *ret, enum vt_dtype dtype, uint32_t rank,
                                     const int64_t *dim, void *data,
                                     struct vt_error *err) VT_NODISCARD;
/* Whether type, rank and extents agree. */
VT_API bool vt_tensor_same_shape(const struct vt_tensor *a, const struct vt_tensor *b);

#ifdef __cplusplus
}
#endif
#endif
