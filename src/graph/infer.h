/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools of shape inference, shared by the families (infer_*.c). Private to the room.
 *
 * An extent that is not known is -1, with an upper bound or -1; arithmetic on extents keeps both
 * and refuses to overflow. "Ranked" means that at least the rank is known.
 */
#ifndef VT_GRAPH_INFER_H
#define VT_GRAPH_INFER_H

#include "graph/graph.h"

/* Sets of element types. */
#define VT_TYPE_BIT(type) (1u << (type))
#define VT_TYPES_FLOAT                                                                             \
    (VT_TYPE_BIT(VT_F16) | VT_TYPE_BIT(VT_BF16) | VT_TYPE_BIT(VT_F32) | VT_TYPE_BIT(VT_F64))
#define VT_TYPES_SIGNED                                                                            \
    (VT_TYPE_BIT(VT_I8) | VT_TYPE_BIT(VT_I16) | VT_TYPE_BIT(VT_I32) | VT_TYPE_BIT(VT_I64))
#define VT_TYPES_UNSIGNED                                                                          \
    (VT_TYPE_BIT(VT_U8) | VT_TYPE_BIT(VT_U16) | VT_TYPE_BIT(VT_U32) | VT_TYPE_BIT(VT_U64))
#define VT_TYPES_INTEGER      (VT_TYPES_SIGNED | VT_TYPES_UNSIGNED)
#define VT_TYPES_NUMBER       (VT_TYPES_FLOAT | VT_TYPES_INTEGER)
#define VT_TYPES_BOOL         VT_TYPE_BIT(VT_BOOL)
#define VT_TYPES_INDEX        (VT_TYPE_BIT(VT_I32) | VT_TYPE_BIT(VT_I64))
#define VT_TYPES_BYTE         (VT_TYPE_BIT(VT_I8) | VT_TYPE_BIT(VT_U8))
#define VT_TYPES_F32          VT_TYPE_BIT(VT_F32)
#define VT_TYPES_SINGLE       (VT_TYPE_BIT(VT_F16) | VT_TYPE_BIT(VT_BF16) | VT_TYPE_BIT(VT_F32))
#define VT_TYPES_NUMBER_BOOL  (VT_TYPES_NUMBER | VT_TYPES_BOOL)
#define VT_TYPES_COMPLEX      (VT_TYPE_BIT(VT_C64) | VT_TYPE_BIT(VT_C128))
#define VT_TYPES_ANY          (VT_TYPES_NUMBER_BOOL | VT_TYPES_COMPLEX)
#define VT_TYPES_LARGE_SIGNED (VT_TYPES_FLOAT | VT_TYPES_INDEX)
#define VT_TYPES_LARGE        (VT_TYPES_LARGE_SIGNED | VT_TYPE_BIT(VT_U32) | VT_TYPE_BIT(VT_U64))
#define VT_TYPES_POOLED       (VT_TYPES_SINGLE | VT_TYPES_BYTE)
/* What a quantised value or its sum may have. */
#define VT_TYPES_QUANTISED                                                                         \
    (VT_TYPES_BYTE | VT_TYPE_BIT(VT_I16) | VT_TYPE_BIT(VT_U16) | VT_TYPE_BIT(VT_I32))

/* An extent, known (dim >= 0) or not. */
struct vt_extent {
    int64_t dim, bound;
};
static inline struct vt_extent vt_extent_of(int64_t dim)
{
    return (struct vt_extent){dim, dim};
}
static inline struct vt_extent vt_extent_unknown(int64_t bound)
{
    return (struct vt_extent){-1, bound};
}
/* Its largest possible value, -1 when nobody knows. */
static inline int64_t vt_extent_most(struct vt_extent extent)
{
    return extent.dim >= 0 ? extent.dim : extent.bound;
}
struct vt_extent vt_extent_get(const struct vt_shape_info *info, uint32_t axis);
void vt_extent_put(struct vt_shape_info *info, uint32_t axis, struct vt_extent extent);
/* False when a known extent overflows; a bound that overflows becomes unknown. */
bool vt_extent_add(struct vt_extent a, struct vt_extent b, struct vt_extent *ret);
bool vt_extent_mul(struct vt_extent a, struct vt_extent b, struct vt_extent *ret);

/* Sets the error, to which vt_infer_node adds file, node and operator. Returns `status`. */
enum vt_status vt_infer_fail(const struct vt_infer *infer, enum vt_status status, const char *fmt,
                             ...) VT_PRINTF(3, 4);
/* The error for an extent that overflows. */
enum vt_status vt_infer_overflow(const struct vt_infer *infer);

/* An input, or NULL where it is omitted or there are fewer. */
const struct vt_shape_info *vt_infer_input(const struct vt_infer *infer, uint32_t i);
static inline bool vt_infer_ranked(const struct vt_shape_info *info)
{
    return info != NULL && info->rank != VT_RANK_UNKNOWN;
}
/* An output, or NULL when the node has fewer. */
struct vt_shape_info *vt_infer_output(const struct vt_infer *infer, uint32_t i);

/* Output i gets the type and, where known, shape of `info`, not its contents. */
void vt_infer_copy(const struct vt_infer *infer, uint32_t i, const struct vt_shape_info *info);
/* Output i gets a type and a rank, all extents unknown. VT_ERR_LIMIT above VT_RANK_MAX. */
enum vt_status vt_infer_set(const struct vt_infer *infer, uint32_t i, enum vt_dtype dtype,
                            uint32_t rank);
/* The number of elements, perhaps only a bound. */
struct vt_extent vt_infer_elements(const struct vt_shape_info *info);

/* Input i, where it is there and its type is known, is one of `types`. */
enum vt_status vt_infer_types(const struct vt_infer *infer, uint32_t i, uint32_t types);
/* All inputs from `first` on have one element type, which is one of `types`. */
enum vt_status vt_infer_same_types(const struct vt_infer *infer, uint32_t first, uint32_t last,
                                   uint32_t types);
/* Inputs a and b, where both are there and their types known, are of one type. */
enum vt_status vt_infer_alike(const struct vt_infer *infer, uint32_t a, uint32_t b);
/* Input i, where ranked, has this rank. */
enum vt_status vt_infer_rank(const struct vt_infer *infer, uint32_t i, uint32_t rank);
/* Two extents, where known, are the same; `what` names them in the message. */
enum vt_status vt_infer_same_extent(const struct vt_infer *infer, struct vt_extent a,
                                    struct vt_extent b, const char *what);

/* An axis from the end when negative; in [0, rank), or VT_ERR_FORMAT. */
enum vt_status vt_infer_axis(const struct vt_infer *infer, int64_t axis, uint32_t rank,
                             uint32_t *ret_axis);

/* A short list of whole numbers. */
struct vt_infer_list {
    bool given; /* there is such an attribute or input */
    bool known; /* its numbers are known */
    size_t n;
    int64_t at[2 * VT_RANK_MAX];
};
enum vt_status vt_infer_attr_list(const struct vt_infer *infer, const char *name,
                                  struct vt_infer_list *ret);
/* An int32 or int64 input of rank 0 or 1. When its contents are not known but their number is, n
 * is set; otherwise n is 0. */
enum vt_status vt_infer_input_list(const struct vt_infer *infer, uint32_t i,
                                   struct vt_infer_list *ret);
/* The attribute before opset `since`, the input from then on; the other of the two is refused. */
enum vt_status vt_infer_either_list(const struct vt_infer *infer, int64_t since, const char *name,
                                    uint32_t i, struct vt_infer_list *ret);
/* Makes a list of known axes non-negative; VT_ERR_FORMAT when one is out of range or double. */
enum vt_status vt_infer_axes(const struct vt_infer *infer, uint32_t rank,
                             struct vt_infer_list *list);

/* Multidirectional broadcast of n inputs from `first` on (omitted ones are passed over) into
 * output 0, whose type becomes `dtype`. */
enum vt_status vt_infer_broadcast(const struct vt_infer *infer, uint32_t first, uint32_t n,
                                  enum vt_dtype dtype);

/* The functions that the operator table names. */
#define X(name, min, max, in_min, in_max, out_min, out_max, function, cost, types, remark)         \
    enum vt_status vt_infer_##function(const struct vt_infer *infer);
#define X_CONTROL(name, min, max, in_min, in_max, out_min, out_max, types, remark)
#include "graph/operators.inc"
#undef X
#undef X_CONTROL

#endif
