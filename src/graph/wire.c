/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/wire.h"

#include <string.h>

#define VARINT_BYTES_MAX 10
/* Groups inside groups that are followed before the input is called malformed. */
#define GROUP_DEPTH_MAX  16
#define WIRE_GROUP_START 3
#define WIRE_GROUP_END   4

void vt_wire_init(struct vt_wire *wire, const void *bytes, size_t size, uint32_t max_depth)
{
    /* An empty message may come without bytes: point somewhere, so that pointers compare. */
    const uint8_t *start = bytes != NULL ? bytes : (const uint8_t *)"";

    *wire = (struct vt_wire){
        .start = start,
        .at = start,
        .end = start + (bytes != NULL ? size : 0),
        .depth = 1,
        .max_depth = max_depth,
    };
}

bool vt_wire_fail(struct vt_wire *wire, const char *problem)
{
    if (wire->problem == NULL) {
        wire->problem = problem;
        wire->problem_offset = (size_t)(wire->at - wire->start);
    }
    return false;
}

/* Reads a varint from [*at, end). Bits beyond the 64th are dropped, as the format has it. */
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
    const uint8_t *p = *at;
    uint64_t value = 0;

    for (unsigned i = 0; i < VARINT_BYTES_MAX && p < end; i++) {
        uint8_t byte = *p++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *at = p;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* Little-endian, whatever the machine is. */
static uint64_t read_fixed(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

/* The payload of one field whose tag has been read. */
static bool read_payload(struct vt_wire *wire, struct vt_wire_field *ret_field)
{
    uint64_t length;
    size_t left = (size_t)(wire->end - wire->at);

    switch (ret_field->type) {
    case VT_WIRE_VARINT:
        if (!read_varint(&wire->at, wire->end, &ret_field->value)) {
            return vt_wire_fail(wire, "a number is cut off or too long");
        }
        return true;
    case VT_WIRE_FIXED64:
    case VT_WIRE_FIXED32: {
        size_t n = ret_field->type == VT_WIRE_FIXED64 ? 8 : 4;
        if (left < n) {
            return vt_wire_fail(wire, "a number is cut off");
        }
        ret_field->value = read_fixed(wire->at, n);
        wire->at += n;
        return true;
    }
    case VT_WIRE_BYTES:
        if (!read_varint(&wire->at, wire->end, &length)) {
            return vt_wire_fail(wire, "a length is cut off or too long");
        }
        if (length > (uint64_t)(wire->end - wire->at)) {
            return vt_wire_fail(wire, "a field is longer than what holds it (truncated?)");
        }
        ret_field->bytes = wire->at;
        ret_field->size = (size_t)length;
        wire->at += length;
        return true;
    default:
        return vt_wire_fail(wire, "a field has an unknown wire type");
    }
}

/* Reads a tag into number and type (which may be that of a group). */
static bool read_tag(struct vt_wire *wire, uint32_t *ret_number, unsigned *ret_type)
{
    uint64_t tag;
    if (!read_varint(&wire->at, wire->end, &tag)) {
        return vt_wire_fail(wire, "a tag is cut off or too long");
    }
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) {
        return vt_wire_fail(wire, "a field number is out of range");
    }
    *ret_number = (uint32_t)(tag >> 3);
    *ret_type = (unsigned)(tag & 7);
    return true;
}

/* Skips what is left of a group whose start tag has been read. */
static bool skip_group(struct vt_wire *wire, uint32_t number)
{
    uint32_t open[GROUP_DEPTH_MAX];
    size_t depth = 0;

    open[depth++] = number;
    while (depth > 0) {
        struct vt_wire_field field = {0};
        unsigned type = 0;
        if (!read_tag(wire, &field.number, &type)) {
            return false;
        }
        if (type == WIRE_GROUP_END) {
            if (field.number != open[--depth]) {
                return vt_wire_fail(wire, "a group ends that did not begin");
            }
        } else if (type == WIRE_GROUP_START) {
            if (depth == GROUP_DEPTH_MAX) {
                return vt_wire_fail(wire, "groups are nested too deeply");
            }
            open[depth++] = field.number;
        } else {
            field.type = (enum vt_wire_type)type;
            if (!read_payload(wire, &field)) {
                return false;
            }
        }
    }
    return true;
}

bool vt_wire_next(struct vt_wire *wire, struct vt_wire_field *ret_field)
{
    while (wire->problem == NULL && wire->at < wire->end) {
        struct vt_wire_field field = {0};
        unsigned type = 0;
        if (!read_tag(wire, &field.number, &type)) {
            return false;
        }
        if (type == WIRE_GROUP_START) {
            if (!skip_group(wire, field.number)) {
                return false;
            }
            continue;
        }
        field.type = (enum vt_wire_type)type;
        if (!read_payload(wire, &field)) {
            return false;
        }
        *ret_field = field;
        return true;
    }
    return false;
}

bool vt_wire_enter(struct vt_wire *wire, const struct vt_wire_field *field,
                   struct vt_wire *ret_message)
{
    if (field->type != VT_WIRE_BYTES) {
        return vt_wire_fail(wire, "a number stands where a message belongs");
    }
    if (wire->depth >= wire->max_depth) {
        return vt_wire_fail(wire, "messages are nested too deeply");
    }
    *ret_message = (struct vt_wire){
        .start = wire->start,
        .at = field->bytes,
        .end = field->bytes + field->size,
        .depth = wire->depth + 1,
        .max_depth = wire->max_depth,
    };
    return true;
}

bool vt_wire_numbers(struct vt_wire *wire, const struct vt_wire_field *field,
                     enum vt_wire_type type, struct vt_wire_numbers *ret_numbers, size_t *ret_n)
{
    size_t n = 0;

    if (field->type == type) {
        *ret_numbers =
            (struct vt_wire_numbers){.type = type, .single = true, .value = field->value};
        *ret_n = 1;
        return true;
    }
    if (field->type != VT_WIRE_BYTES) {
        return vt_wire_fail(wire, "a list of numbers has the wrong wire type");
    }
    const uint8_t *end = field->bytes + field->size;
    if (type == VT_WIRE_VARINT) {
        const uint8_t *at = field->bytes;
        uint64_t value;
        while (at < end) {
            if (!read_varint(&at, end, &value)) {
                return vt_wire_fail(wire, "a list of numbers is cut off");
            }
            n++;
        }
    } else {
        size_t width = type == VT_WIRE_FIXED64 ? 8 : 4;
        if (field->size % width != 0) {
            return vt_wire_fail(wire, "a list of numbers is cut off");
        }
        n = field->size / width;
    }
    *ret_numbers = (struct vt_wire_numbers){.at = field->bytes, .end = end, .type = type};
    *ret_n = n;
    return true;
}

uint64_t vt_wire_number(struct vt_wire_numbers *numbers)
{
    uint64_t value = 0;

    if (numbers->single) {
        numbers->single = false;
        return numbers->value;
    }
    if (numbers->type == VT_WIRE_VARINT) {
        return read_varint(&numbers->at, numbers->end, &value) ? value : 0;
    }
    size_t width = numbers->type == VT_WIRE_FIXED64 ? 8 : 4;
    if (numbers->at == NULL || (size_t)(numbers->end - numbers->at) < width) {
        return 0;
    }
    value = read_fixed(numbers->at, width);
    numbers->at += width;
    return value;
}
