/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorProto: where its elements are, and how they become a tensor.
 *
 * Raw bytes that are aligned for their type stay views of the mapped file. Unaligned ones are
 * copied, and the typed lists (float_data and its kin) are decoded, into memory of the model's:
 * never more than eight times the bytes they take in the file.
 */
#include <string.h>

#include "graph/import.h"

/* Fields of TensorProto and StringStringEntryProto. */
enum {
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOAT_DATA = 4,
    TENSOR_INT32_DATA = 5,
    TENSOR_STRING_DATA = 6,
    TENSOR_INT64_DATA = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_DOUBLE_DATA = 10,
    TENSOR_UINT64_DATA = 11,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    LOCATION_EXTERNAL = 1,
};

/* What the fields of one TensorProto say. */
struct draft {
    const char *name;
    size_t rank; /* may be more than `dim` holds */
    int64_t dim[VT_RANK_MAX];
    int64_t data_type;
    bool has_raw, has_segment, is_external;
    const uint8_t *raw;
    size_t raw_size;
    const char *location, *offset, *length;
};

/* How the elements of a type are kept in a typed list. */
struct typed_list {
    uint32_t field;
    enum vt_wire_type type;
    int64_t minimum, maximum; /* of one number; both 0: any */
};

static bool typed_list_of(enum vt_dtype dtype, struct typed_list *ret)
{
    switch (dtype) {
    case VT_F32:
        *ret = (struct typed_list){TENSOR_FLOAT_DATA, VT_WIRE_FIXED32, 0, 0};
        return true;
    case VT_F64:
        *ret = (struct typed_list){TENSOR_DOUBLE_DATA, VT_WIRE_FIXED64, 0, 0};
        return true;
    case VT_I64:
        *ret = (struct typed_list){TENSOR_INT64_DATA, VT_WIRE_VARINT, 0, 0};
        return true;
    case VT_U64:
        *ret = (struct typed_list){TENSOR_UINT64_DATA, VT_WIRE_VARINT, 0, 0};
        return true;
    case VT_U32:
        *ret = (struct typed_list){TENSOR_UINT64_DATA, VT_WIRE_VARINT, 0, UINT32_MAX};
        return true;
    case VT_I32:
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, INT32_MIN, INT32_MAX};
        return true;
    case VT_I16:
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, INT16_MIN, INT16_MAX};
        return true;
    case VT_I8:
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, INT8_MIN, INT8_MAX};
        return true;
    case VT_U8:
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, 0, UINT8_MAX};
        return true;
    case VT_BOOL:
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, 0, 1};
        return true;
    case VT_U16:
    case VT_F16:
    case VT_BF16: /* the bits of the half as a number */
        *ret = (struct typed_list){TENSOR_INT32_DATA, VT_WIRE_VARINT, 0, UINT16_MAX};
        return true;
    default:
        return false;
    }
}

static enum vt_status fail(struct vt_import *import, const struct draft *draft,
                           enum vt_status status, const char *problem)
{
    return vt_import_fail(import, status, "tensor %s: %s", vt_quote(draft->name).text, problem);
}

static enum vt_status read_dims(struct vt_import *import, struct vt_wire *wire,
                                const struct vt_wire_field *field, struct draft *draft)
{
    struct vt_wire_numbers numbers;
    size_t n;

    if (!vt_wire_numbers(wire, field, VT_WIRE_VARINT, &numbers, &n)) {
        return vt_import_malformed(import, wire);
    }
    for (size_t i = 0; i < n && draft->rank + i < VT_RANK_MAX; i++) {
        draft->dim[draft->rank + i] = (int64_t)vt_wire_number(&numbers);
    }
    draft->rank += n;
    return VT_OK;
}

/* One key and value of the description of external data. */
static enum vt_status read_external(struct vt_import *import, struct vt_wire *wire,
                                    struct draft *draft)
{
    const char *key = "", *value = "";
    struct vt_wire_field field;
    enum vt_status status = VT_OK;

    while (status == VT_OK && vt_wire_next(wire, &field)) {
        if (field.number == ENTRY_KEY) {
            status = vt_import_text(import, wire, &field, &key);
        } else if (field.number == ENTRY_VALUE) {
            status = vt_import_text(import, wire, &field, &value);
        }
    }
    if (status != VT_OK) {
        return status;
    }
    if (wire->problem != NULL) {
        return vt_import_malformed(import, wire);
    }
    if (strcmp(key, "location") == 0) {
        draft->location = value;
    } else if (strcmp(key, "offset") == 0) {
        draft->offset = value;
    } else if (strcmp(key, "length") == 0) {
        draft->length = value;
    }
    return VT_OK;
}

static enum vt_status read_draft(struct vt_import *import, struct vt_wire *wire,
                                 struct draft *draft)
{
    struct vt_wire_field field;
    struct vt_wire inner;
    enum vt_status status = VT_OK;

    while (status == VT_OK && vt_wire_next(wire, &field)) {
        switch (field.number) {
        case TENSOR_DIMS:
            status = read_dims(import, wire, &field, draft);
            break;
        case TENSOR_DATA_TYPE:
            draft->data_type = (int64_t)field.value;
            break;
        case TENSOR_SEGMENT:
            draft->has_segment = true;
            break;
        case TENSOR_NAME:
            status = vt_import_text(import, wire, &field, &draft->name);
            break;
        case TENSOR_RAW_DATA:
            if (field.type != VT_WIRE_BYTES) {
                vt_wire_fail(wire, "raw data are no bytes");
                break;
            }
            draft->has_raw = true;
            draft->raw = field.bytes;
            draft->raw_size = field.size;
            break;
        case TENSOR_EXTERNAL_DATA:
            if (vt_wire_enter(wire, &field, &inner)) {
                status = read_external(import, &inner, draft);
            }
            break;
        case TENSOR_DATA_LOCATION:
            draft->is_external = field.value == LOCATION_EXTERNAL;
            break;
        default:
            break;
        }
    }
    if (status != VT_OK) {
        return status;
    }
    return wire->problem != NULL ? vt_import_malformed(import, wire) : VT_OK;
}

static void store(enum vt_dtype dtype, void *data, size_t i, uint64_t number)
{
    switch (vt_dtype_bytes(dtype)) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)number;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)number;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)number;
        break;
    default:
        ((uint64_t *)data)[i] = number;
        break;
    }
}

/* Goes through the typed list: counts when `data` is NULL, else stores. */
static enum vt_status walk_list(struct vt_import *import, struct vt_wire wire,
                                const struct draft *draft, const struct typed_list *list,
                                enum vt_dtype dtype, void *data, size_t *ret_n)
{
    bool bounded = list->minimum != 0 || list->maximum != 0;
    struct vt_wire_field field;
    size_t total = 0;

    while (vt_wire_next(&wire, &field)) {
        struct vt_wire_numbers numbers;
        size_t n;
        if (field.number != list->field) {
            continue;
        }
        if (!vt_wire_numbers(&wire, &field, list->type, &numbers, &n)) {
            return vt_import_malformed(import, &wire);
        }
        for (size_t i = 0; data != NULL && i < n; i++) {
            uint64_t number = vt_wire_number(&numbers);
            if (bounded && ((int64_t)number < list->minimum || (int64_t)number > list->maximum)) {
                return fail(import, draft, VT_ERR_FORMAT, "a number does not fit its type");
            }
            store(dtype, data, total + i, number);
        }
        total += n;
    }
    if (wire.problem != NULL) {
        return vt_import_malformed(import, &wire);
    }
    *ret_n = total;
    return VT_OK;
}

/* Decodes the typed list into the tensor's elements. */
static enum vt_status take_list(struct vt_import *import, const struct vt_wire *wire,
                                const struct draft *draft, struct vt_tensor *tensor,
                                int64_t elements)
{
    struct typed_list list;
    size_t n = 0;

    if (!typed_list_of(tensor->dtype, &list)) {
        return fail(import, draft, VT_ERR_UNSUPPORTED, "an element type without a list");
    }
    enum vt_status status = walk_list(import, *wire, draft, &list, tensor->dtype, NULL, &n);
    if (status != VT_OK) {
        return status;
    }
    if (n != (uint64_t)elements) {
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "tensor %s: its shape has %lld elements, the file holds %zu",
                              vt_quote(draft->name).text, (long long)elements, n);
    }
    tensor->data = vt_arena_alloc(&import->model->weights, tensor->bytes, VT_ALIGNMENT);
    if (tensor->data == NULL) {
        return fail(import, draft, VT_ERR_MEMORY, "out of memory for its elements");
    }
    return walk_list(import, *wire, draft, &list, tensor->dtype, tensor->data, &n);
}

/* The elements as they lie in a file: a view, or a copy where their place does not suit. */
static enum vt_status take_bytes(struct vt_import *import, const struct draft *draft,
                                 const uint8_t *bytes, struct vt_tensor *tensor)
{
    if (tensor->dtype == VT_BOOL) {
        for (size_t i = 0; i < tensor->bytes; i++) {
            if (bytes[i] > 1) {
                return fail(import, draft, VT_ERR_FORMAT, "a truth value is neither 0 nor 1");
            }
        }
    }
    if ((uintptr_t)bytes % vt_dtype_bytes(tensor->dtype) == 0) {
        tensor->data = (void *)(uintptr_t)bytes;
        return VT_OK;
    }
    tensor->data = vt_arena_alloc(&import->model->weights, tensor->bytes, VT_ALIGNMENT);
    if (tensor->data == NULL) {
        return fail(import, draft, VT_ERR_MEMORY, "out of memory for its elements");
    }
    memcpy(tensor->data, bytes, tensor->bytes);
    return VT_OK;
}

/* A decimal number as external data have it. */
static bool parse_size(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (text[0] == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
            return false;
        }
    }
    *ret = value;
    return true;
}

static enum vt_status take_external(struct vt_import *import, const struct draft *draft,
                                    struct vt_tensor *tensor)
{
    uint64_t offset = 0, length = tensor->bytes;
    const uint8_t *bytes;
    size_t size;

    if (draft->location == NULL) {
        return fail(import, draft, VT_ERR_FORMAT, "external data without a location");
    }
    if ((draft->offset != NULL && !parse_size(draft->offset, &offset)) ||
        (draft->length != NULL && !parse_size(draft->length, &length))) {
        return fail(import, draft, VT_ERR_FORMAT,
                    "offset and length of external data must be whole numbers");
    }
    if (length != tensor->bytes) {
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "tensor %s: its shape takes %zu bytes, its external data have %llu",
                              vt_quote(draft->name).text, tensor->bytes,
                              (unsigned long long)length);
    }
    enum vt_status status = vt_external_map(import, draft->name, draft->location, &bytes, &size);
    if (status != VT_OK) {
        return status;
    }
    if (offset > size || length > size - offset) {
        return vt_import_fail(
            import, VT_ERR_FORMAT,
            "tensor %s: bytes %llu to %llu of external data %s, which has %zu (truncated?)",
            vt_quote(draft->name).text, (unsigned long long)offset,
            (unsigned long long)offset + length, vt_quote(draft->location).text, size);
    }
    return take_bytes(import, draft, bytes + offset, tensor);
}

/* Type and shape, checked. */
static enum vt_status shape_of(struct vt_import *import, const struct draft *draft,
                               struct vt_tensor *tensor, int64_t *ret_elements)
{
    tensor->dtype = (enum vt_dtype)draft->data_type;
    if (draft->data_type < 1 || draft->data_type > VT_BF16 || tensor->dtype == VT_STRING ||
        tensor->dtype == VT_C64 || tensor->dtype == VT_C128) {
        return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                              "tensor %s: element type %s (%lld) is not supported",
                              vt_quote(draft->name).text, vt_import_type_name(draft->data_type),
                              (long long)draft->data_type);
    }
    if (draft->rank > VT_RANK_MAX) {
        return vt_import_fail(import, VT_ERR_LIMIT,
                              "tensor %s: %zu dimensions, at most %d are supported",
                              vt_quote(draft->name).text, draft->rank, VT_RANK_MAX);
    }
    tensor->rank = (uint32_t)draft->rank;
    memcpy(tensor->dim, draft->dim, sizeof(tensor->dim));
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] < 0) {
            return fail(import, draft, VT_ERR_FORMAT, "a negative extent");
        }
    }
    if (!vt_shape_elements(tensor->dim, tensor->rank, ret_elements) ||
        !vt_shape_bytes(tensor->dtype, tensor->dim, tensor->rank, &tensor->bytes)) {
        return fail(import, draft, VT_ERR_LIMIT, "its shape overflows");
    }
    return VT_OK;
}

static enum vt_status take_elements(struct vt_import *import, const struct vt_wire *wire,
                                    const struct draft *draft, struct vt_tensor *tensor,
                                    int64_t elements)
{
    static const uint64_t nothing[VT_ALIGNMENT / sizeof(uint64_t)];

    if (draft->has_segment) {
        return fail(import, draft, VT_ERR_UNSUPPORTED, "tensors in segments are not supported");
    }
    if (!draft->is_external && draft->has_raw && draft->raw_size != tensor->bytes) {
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "tensor %s: its shape takes %zu bytes, the file holds %zu",
                              vt_quote(draft->name).text, tensor->bytes, draft->raw_size);
    }
    if (tensor->bytes == 0) {
        tensor->data = (void *)(uintptr_t)nothing; /* never read: it has no elements */
        return VT_OK;
    }
    if (draft->is_external) {
        return take_external(import, draft, tensor);
    }
    if (draft->has_raw) {
        return take_bytes(import, draft, draft->raw, tensor);
    }
    return take_list(import, wire, draft, tensor, elements);
}

enum vt_status vt_import_tensor(struct vt_import *import, struct vt_wire *wire,
                                const char **ret_name, const struct vt_tensor **ret_tensor)
{
    struct vt_wire from_start = *wire;
    struct draft draft = {.name = ""};
    int64_t elements = 0;

    struct vt_tensor *tensor = vt_import_calloc(import, &import->model->arena, 1, sizeof(*tensor));
    if (tensor == NULL) {
        return import->err->status;
    }
    enum vt_status status = read_draft(import, wire, &draft);
    if (status == VT_OK) {
        status = shape_of(import, &draft, tensor, &elements);
    }
    if (status == VT_OK) {
        status = take_elements(import, &from_start, &draft, tensor, elements);
    }
    if (status != VT_OK) {
        return status;
    }
    *ret_name = draft.name;
    *ret_tensor = tensor;
    return VT_OK;
}

const char *vt_import_type_name(int64_t type)
{
    /* The types that ONNX has beyond ours, in the order of its numbers. */
    static const char *const beyond[] = {"float8e4m3fn",   "float8e4m3fnuz", "float8e5m2",
                                         "float8e5m2fnuz", "uint4",          "int4",
                                         "float4e2m1",     "float8e8m0",     "uint2",
                                         "int2",           "float6e2m3",     "float6e3m2"};
    if (type > VT_BF16 && type <= VT_BF16 + (int64_t)(sizeof(beyond) / sizeof(beyond[0]))) {
        return beyond[type - VT_BF16 - 1];
    }
    return type >= 0 && type <= VT_BF16 ? vt_dtype_name((enum vt_dtype)type) : "unknown";
}

enum vt_status vt_import_numbers(struct vt_import *import, enum vt_dtype dtype, uint32_t rank,
                                 size_t n, const void *numbers, const struct vt_tensor **ret_tensor)
{
    struct vt_arena *arena = &import->model->arena;
    size_t bytes = n * vt_dtype_bytes(dtype);
    struct vt_tensor *tensor = vt_import_calloc(import, arena, 1, sizeof(*tensor));
    void *data = tensor != NULL ? vt_import_calloc(import, arena, n + 1, 8) : NULL;

    if (data == NULL) {
        return import->err->status;
    }
    if (n > 0) {
        memcpy(data, numbers, bytes);
    }
    *tensor = (struct vt_tensor){.dtype = dtype,
                                 .rank = rank,
                                 .dim = {rank == 1 ? (int64_t)n : 0},
                                 .data = data,
                                 .bytes = bytes};
    *ret_tensor = tensor;
    return VT_OK;
}
