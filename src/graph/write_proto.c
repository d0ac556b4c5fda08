/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/write_proto.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/wire.h"

void vt_proto_release(struct vt_proto *proto)
{
    vt_free(proto->bytes);
    memset(proto, 0, sizeof *proto);
}

static void append(struct vt_proto *proto, const void *bytes, size_t n)
{
    if (proto->failed || n == 0) {
        return;
    }
    if (n > proto->capacity - proto->size) {
        size_t needed = 0;
        if (__builtin_add_overflow(proto->size, n, &needed) || needed > SIZE_MAX / 2) {
            proto->failed = true;
            return;
        }
        size_t more = needed < 64 ? 128 : 2 * needed;
        uint8_t *grown = vt_regrow(proto->bytes, proto->capacity, more);
        if (grown == NULL) {
            proto->failed = true;
            return;
        }
        proto->bytes = grown;
        proto->capacity = more;
    }
    memcpy(proto->bytes + proto->size, bytes, n);
    proto->size += n;
}

static size_t varint_text(uint64_t value, uint8_t *ret_text)
{
    size_t n = 0;

    while (value > 0x7f) {
        ret_text[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    ret_text[n++] = (uint8_t)value;
    return n;
}

size_t vt_proto_varint_bytes(uint64_t value)
{
    size_t n = 1;

    while (value > 0x7f) {
        value >>= 7;
        n++;
    }
    return n;
}

static size_t tag_text(uint32_t field, enum vt_wire_type type, uint8_t *ret_text)
{
    return varint_text((uint64_t)field << 3 | (uint64_t)type, ret_text);
}

size_t vt_proto_tag_text(uint32_t field, uint64_t length, uint8_t *ret_text)
{
    size_t n = tag_text(field, VT_WIRE_BYTES, ret_text);
    return n + varint_text(length, ret_text + n);
}

void vt_proto_int(struct vt_proto *proto, uint32_t field, int64_t value)
{
    uint8_t text[20];
    size_t n = tag_text(field, VT_WIRE_VARINT, text);

    n += varint_text((uint64_t)value, text + n);
    append(proto, text, n);
}

void vt_proto_float(struct vt_proto *proto, uint32_t field, float value)
{
    uint8_t text[16];
    size_t n = tag_text(field, VT_WIRE_FIXED32, text);

    memcpy(text + n, &value, sizeof value);
    append(proto, text, n + sizeof value);
}

void vt_proto_bytes(struct vt_proto *proto, uint32_t field, const void *bytes, size_t n)
{
    uint8_t text[16];

    append(proto, text, vt_proto_tag_text(field, n, text));
    append(proto, bytes, n);
}

void vt_proto_text(struct vt_proto *proto, uint32_t field, const char *text)
{
    vt_proto_bytes(proto, field, text, strlen(text));
}

void vt_proto_message(struct vt_proto *proto, uint32_t field, struct vt_proto *message)
{
    vt_proto_bytes(proto, field, message->bytes, message->size);
    proto->failed = proto->failed || message->failed;
    vt_proto_release(message);
}
