/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's TensorProto: a flat protobuf message. Fields that matter here:
 *   1 dims   2 data_type   3 segment   4 float_data   5 int32_data   6 string_data   7 int64_data
 *   9 raw_data   10 double_data   11 uint64_data   14 data_location
 */
#include <stdbool.h>
#include <string.h>

#include "workload/tensor_file.h"

enum field {
    FIELD_DIMS = 1,
    FIELD_TYPE = 2,
    FIELD_SEGMENT = 3,
    FIELD_FLOATS = 4,
    FIELD_INT32S = 5,
    FIELD_STRINGS = 6,
    FIELD_INT64S = 7,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    FIELD_UINT64S = 11,
    FIELD_LOCATION = 14,
};

enum wire {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5,
};

struct cursor {
    const uint8_t *at, *end;
};

/* One field of the message. Varints and fixed widths are in `value`. */
struct record {
    uint64_t field;
    unsigned wire;
    uint64_t value;
    struct cursor bytes;
};

struct proto {
    const char *name;
    struct vt_error *err;
    struct cursor whole;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];
    int64_t type;
    bool has_raw;
    struct cursor raw;
};

static enum vt_status malformed(const struct proto *proto, const char *what)
{
    return vt_error_set(proto->err, VT_ERR_FORMAT,
                        "%s: not a .npy file and not an ONNX tensor (.pb): %s", proto->name, what);
}

static bool take_varint(struct cursor *cursor, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool take_fixed(struct cursor *cursor, unsigned bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(cursor->end - cursor->at) < bytes) {
        return false;
    }
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)cursor->at[i] << (8 * i);
    }
    cursor->at += bytes;
    *ret = value;
    return true;
}

static bool take_value(struct cursor *cursor, unsigned wire, uint64_t *ret)
{
    switch (wire) {
    case WIRE_VARINT:
        return take_varint(cursor, ret);
    case WIRE_64:
        return take_fixed(cursor, 8, ret);
    case WIRE_32:
        return take_fixed(cursor, 4, ret);
    default:
        return false;
    }
}

static bool take_record(struct cursor *cursor, struct record *ret)
{
    struct record record = {0};
    uint64_t key, length;

    if (!take_varint(cursor, &key)) {
        return false;
    }
    record.field = key >> 3;
    record.wire = key & 7;
    if (record.field == 0) {
        return false;
    }
    if (record.wire != WIRE_BYTES) {
        *ret = record;
        return take_value(cursor, record.wire, &ret->value);
    }
    if (!take_varint(cursor, &length) || length > (uint64_t)(cursor->end - cursor->at)) {
        return false;
    }
    record.bytes = (struct cursor){cursor->at, cursor->at + length};
    cursor->at += length;
    *ret = record;
    return true;
}

static enum vt_status add_dim(struct proto *proto, uint64_t value)
{
    if (proto->rank == VT_RANK_MAX) {
        return vt_error_set(proto->err, VT_ERR_LIMIT,
                            "%s: more than %d dimensions, which is the most there may be",
                            proto->name, VT_RANK_MAX);
    }
    if ((int64_t)value < 0) {
        return malformed(proto, "an extent is negative");
    }
    proto->dim[proto->rank++] = (int64_t)value;
    return VT_OK;
}

/* dims, packed or not. */
static enum vt_status read_dims(struct proto *proto, struct record *record)
{
    enum vt_status status = VT_OK;

    if (record->wire == WIRE_VARINT) {
        return add_dim(proto, record->value);
    }
    if (record->wire != WIRE_BYTES) {
        return malformed(proto, "its extents are of a wrong type");
    }
    while (record->bytes.at < record->bytes.end && status == VT_OK) {
        uint64_t value;
        if (!take_varint(&record->bytes, &value)) {
            return malformed(proto, "its extents are cut off");
        }
        status = add_dim(proto, value);
    }
    return status;
}

static enum vt_status read_record(struct proto *proto, struct record *record)
{
    switch (record->field) {
    case FIELD_DIMS:
        return read_dims(proto, record);
    case FIELD_TYPE:
        proto->type = record->wire == WIRE_VARINT ? (int64_t)record->value : -1;
        return VT_OK;
    case FIELD_RAW:
        proto->has_raw = record->wire == WIRE_BYTES;
        proto->raw = record->bytes;
        return proto->has_raw ? VT_OK : malformed(proto, "its data are of a wrong type");
    case FIELD_SEGMENT:
        return vt_error_set(proto->err, VT_ERR_UNSUPPORTED, "%s: a tensor in segments",
                            proto->name);
    case FIELD_LOCATION:
        return record->value == 0
                   ? VT_OK
                   : vt_error_set(proto->err, VT_ERR_UNSUPPORTED,
                                  "%s: the tensor's data are in another file: save it whole",
                                  proto->name);
    default:
        return VT_OK;
    }
}

/* Reads everything but the elements. */
static enum vt_status read_message(struct proto *proto)
{
    struct cursor cursor = proto->whole;
    enum vt_status status = VT_OK;

    while (cursor.at < cursor.end && status == VT_OK) {
        struct record record;
        if (!take_record(&cursor, &record)) {
            return malformed(proto, "the message is cut off or damaged");
        }
        status = read_record(proto, &record);
    }
    return status;
}

/* The field that holds the elements of a type, when raw_data does not; how an element is stored. */
static enum field typed_field(enum vt_dtype dtype, unsigned *ret_wire)
{
    *ret_wire = WIRE_VARINT;
    switch (dtype) {
    case VT_F32:
        *ret_wire = WIRE_32;
        return FIELD_FLOATS;
    case VT_F64:
        *ret_wire = WIRE_64;
        return FIELD_DOUBLES;
    case VT_I64:
        return FIELD_INT64S;
    case VT_U32:
    case VT_U64:
        return FIELD_UINT64S;
    default:
        return FIELD_INT32S;
    }
}

/* Little-endian: the low bytes of the value are the element. */
static bool store(struct vt_tensor *tensor, size_t bytes, uint64_t value, size_t *at)
{
    if (*at + bytes > tensor->bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)tensor->data)[*at + i] = (uint8_t)(value >> (8 * i));
    }
    *at += bytes;
    return true;
}

/* False when the elements are too many, too few or damaged. */
static bool read_elements(const struct proto *proto, struct vt_tensor *tensor)
{
    struct cursor cursor = proto->whole;
    unsigned wire;
    enum field wanted = typed_field(tensor->dtype, &wire);
    size_t bytes = vt_dtype_bytes(tensor->dtype);
    size_t at = 0;
    struct record record;

    while (cursor.at < cursor.end && take_record(&cursor, &record)) {
        uint64_t value = record.value;
        if (record.field != wanted) {
            continue;
        }
        if (record.wire != WIRE_BYTES &&
            (record.wire != wire || !store(tensor, bytes, value, &at))) {
            return false;
        }
        while (record.wire == WIRE_BYTES && record.bytes.at < record.bytes.end) {
            if (!take_value(&record.bytes, wire, &value) || !store(tensor, bytes, value, &at)) {
                return false;
            }
        }
    }
    return at == tensor->bytes;
}

static enum vt_status copy_raw(const struct proto *proto, struct vt_tensor_file *ret,
                               enum vt_dtype dtype, size_t wanted)
{
    size_t there = (size_t)(proto->raw.end - proto->raw.at);
    char shape[96];

    if (there != wanted) {
        return vt_error_set(
            proto->err, VT_ERR_FORMAT, "%s: %zu bytes of elements, which is not what %s %s takes",
            proto->name, there, vt_shape_text(proto->dim, proto->rank, NULL, shape, sizeof shape),
            vt_dtype_name(dtype));
    }
    enum vt_status status =
        vt_tensor_file_alloc(proto->name, dtype, proto->rank, proto->dim, proto->err, ret);
    if (status == VT_OK && there > 0) {
        memcpy(ret->tensor.data, proto->raw.at, there);
    }
    return status;
}

enum vt_status vt_tensor_proto_parse(const char *name, const uint8_t *bytes, size_t size,
                                     struct vt_error *err, struct vt_tensor_file *ret)
{
    struct proto proto = {.name = name, .err = err, .whole = {bytes, bytes + size}, .type = 0};
    struct vt_tensor_file file;
    size_t wanted = 0;
    enum vt_status status = read_message(&proto);

    if (status != VT_OK) {
        return status;
    }
    if (proto.type <= 0 || proto.type > VT_BF16) {
        return malformed(&proto, "it has no known type of elements");
    }
    enum vt_dtype dtype = (enum vt_dtype)proto.type;
    if (vt_dtype_bytes(dtype) == 0 || dtype == VT_C64 || dtype == VT_C128) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s: elements of type %s: integers, floats and booleans are read", name,
                            vt_dtype_name(dtype));
    }
    if (!vt_shape_bytes(dtype, proto.dim, proto.rank, &wanted)) {
        return malformed(&proto, "its extents are beyond any memory");
    }
    if (proto.has_raw) {
        return copy_raw(&proto, ret, dtype, wanted);
    }
    /* An element takes at least one byte of the file, so no more memory is taken than 8 times its
     * size. */
    if (wanted / vt_dtype_bytes(dtype) > size) {
        return malformed(&proto, "it holds fewer elements than its extents say");
    }
    status = vt_tensor_file_alloc(name, dtype, proto.rank, proto.dim, err, &file);
    if (status != VT_OK) {
        return status;
    }
    if (!read_elements(&proto, &file.tensor)) {
        vt_tensor_file_release(&file);
        return malformed(&proto, "its elements are not as many as its extents say");
    }
    *ret = file;
    return VT_OK;
}
