/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A protobuf message that grows in memory. Running out of it is remembered in `failed`. A zeroed
 * one is empty; a message that went into another is released by that.
 */
#ifndef VT_GRAPH_WRITE_PROTO_H
#define VT_GRAPH_WRITE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vt_proto {
    uint8_t *bytes;
    size_t size, capacity;
    bool failed;
};

void vt_proto_release(struct vt_proto *proto);
void vt_proto_int(struct vt_proto *proto, uint32_t field, int64_t value);
void vt_proto_float(struct vt_proto *proto, uint32_t field, float value);
void vt_proto_bytes(struct vt_proto *proto, uint32_t field, const void *bytes, size_t n);
void vt_proto_text(struct vt_proto *proto, uint32_t field, const char *text);
void vt_proto_message(struct vt_proto *proto, uint32_t field, struct vt_proto *message);

/* How many bytes the number takes, 1 to 10. */
size_t vt_proto_varint_bytes(uint64_t value);
/* Tag and length of a field of `length` bytes, into at least 16 bytes; returns how many. */
size_t vt_proto_tag_text(uint32_t field, uint64_t length, uint8_t *ret_text);

#endif
