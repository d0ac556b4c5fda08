/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded reader of the protobuf wire format.
 *
 * A `struct vt_wire` walks the fields of one message; a message inside it is entered as another
 * one, one level deeper. Nothing is copied and nothing recurses: a payload is a view of the bytes
 * that were handed in, and every length is checked against the message that holds it. After the
 * last field, vt_wire_next() returns false and `problem` tells a clean end (NULL) from malformed
 * bytes.
 */
#ifndef VT_GRAPH_WIRE_H
#define VT_GRAPH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vt_wire_type {
    VT_WIRE_VARINT = 0,
    VT_WIRE_FIXED64 = 1,
    VT_WIRE_BYTES = 2,
    VT_WIRE_FIXED32 = 5,
};

struct vt_wire {
    const uint8_t *start;  /* of the outermost message, for offsets in messages */
    const uint8_t *at;     /* the next field */
    const uint8_t *end;    /* of this message */
    const char *problem;   /* NULL while well-formed */
    size_t problem_offset; /* from `start` */
    uint32_t depth;        /* of messages, 1 for the outermost */
    uint32_t max_depth;
};

struct vt_wire_field {
    uint32_t number;
    enum vt_wire_type type;
    uint64_t value;       /* VARINT, FIXED32, FIXED64 */
    const uint8_t *bytes; /* BYTES */
    size_t size;
};

/* A message of `size` bytes; one at depth max_depth can still be read, but none inside it. */
void vt_wire_init(struct vt_wire *wire, const void *bytes, size_t size, uint32_t max_depth);

/* The next field; groups (an old notation that ONNX does not use) are skipped. */
bool vt_wire_next(struct vt_wire *wire, struct vt_wire_field *ret_field);

/*
 * Enters the message in a field of `wire`. False when it is no length-delimited field or too deep;
 * wire->problem says so.
 */
bool vt_wire_enter(struct vt_wire *wire, const struct vt_wire_field *field,
                   struct vt_wire *ret_message);

/* Notes that the current field is not what the schema says; the first problem stays. False. */
bool vt_wire_fail(struct vt_wire *wire, const char *problem);

/*
 * The numbers of a repeated scalar: one when the field holds a single one, several when it is
 * packed. Each reads as `type` says: VARINT, FIXED32 or FIXED64.
 */
struct vt_wire_numbers {
    const uint8_t *at, *end;
    enum vt_wire_type type;
    bool single;
    uint64_t value;
};
/* False (with wire->problem) when the field's type does not fit or the payload is ragged. The
 * payload has been checked as a whole: vt_wire_number() then returns exactly *ret_n numbers. */
bool vt_wire_numbers(struct vt_wire *wire, const struct vt_wire_field *field,
                     enum vt_wire_type type, struct vt_wire_numbers *ret_numbers, size_t *ret_n);
/* The next number; 0 behind the last one. */
uint64_t vt_wire_number(struct vt_wire_numbers *numbers);

#endif
