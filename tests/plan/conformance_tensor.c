/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance_tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph/wire.h"

/* Fields of TensorProto (onnx.proto). */
enum {
    FIELD_DIMS = 1,
    FIELD_DATA_TYPE = 2,
    FIELD_FLOAT_DATA = 4,
    FIELD_INT32_DATA = 5,
    FIELD_INT64_DATA = 7,
    FIELD_RAW_DATA = 9,
    FIELD_DOUBLE_DATA = 10,
    FIELD_UINT64_DATA = 11,
};

/* Stores the low bytes of a number as element *at. */
static bool store(struct vt_tensor *t, size_t *at, uint64_t value)
{
    const size_t bytes = vt_dtype_bytes(t->dtype);
    if ((*at + 1) * bytes > t->bytes)
        return false;
    memcpy((char *)t->data + *at * bytes, &value, bytes);
    ++*at;
    return true;
}

static bool read_shape(struct vt_wire *wire, struct vt_tensor *t)
{
    struct vt_wire_field field;
    while (vt_wire_next(wire, &field)) {
        struct vt_wire_numbers numbers;
        size_t n = 0;
        if (field.number == FIELD_DATA_TYPE)
            t->dtype = (enum vt_dtype)field.value;
        if (field.number != FIELD_DIMS)
            continue;
        if (!vt_wire_numbers(wire, &field, VT_WIRE_VARINT, &numbers, &n))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (t->rank == VT_RANK_MAX)
                return false;
            t->dim[t->rank++] = (int64_t)vt_wire_number(&numbers);
        }
    }
    return wire->problem == NULL && vt_shape_bytes(t->dtype, t->dim, t->rank, &t->bytes);
}

static bool read_data(struct vt_wire *wire, struct vt_tensor *t)
{
    struct vt_wire_field field;
    size_t at = 0;
    while (vt_wire_next(wire, &field)) {
        struct vt_wire_numbers numbers;
        enum vt_wire_type type = VT_WIRE_VARINT;
        size_t n = 0;
        switch (field.number) {
        case FIELD_RAW_DATA:
            if (field.size != t->bytes)
                return false;
            if (t->bytes > 0)
                memcpy(t->data, field.bytes, t->bytes);
            continue;
        case FIELD_FLOAT_DATA:
            type = VT_WIRE_FIXED32;
            break;
        case FIELD_DOUBLE_DATA:
            type = VT_WIRE_FIXED64;
            break;
        case FIELD_INT32_DATA:
        case FIELD_INT64_DATA:
        case FIELD_UINT64_DATA:
            break;
        default:
            continue;
        }
        if (!vt_wire_numbers(wire, &field, type, &numbers, &n))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (!store(t, &at, vt_wire_number(&numbers)))
                return false;
        }
    }
    return wire->problem == NULL;
}

bool conformance_tensor_read(const char *path, struct vt_tensor *ret)
{
    struct vt_file_map map;
    struct vt_wire wire;
    struct vt_tensor t = {.memory = VT_MEMORY_HOST};
    if (vt_file_map_open(path, NULL, &map) != VT_OK)
        return false;
    vt_wire_init(&wire, map.bytes, map.size, 2);
    bool ok = read_shape(&wire, &t);
    if (ok) {
        t.data = vt_alloc(t.bytes);
        vt_wire_init(&wire, map.bytes, map.size, 2);
        ok = t.data != NULL && read_data(&wire, &t);
        if (!ok)
            vt_free(t.data);
    }
    vt_file_map_release(&map);
    if (ok)
        *ret = t;
    return ok;
}
