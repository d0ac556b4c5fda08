/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/wire.h"
#include "onnx_writer.h"

static struct vt_wire wire_of(const struct pb *pb, uint32_t max_depth)
{
    struct vt_wire wire;
    vt_wire_init(&wire, pb->bytes, pb->size, max_depth);
    return wire;
}

static void test_fields(void **state)
{
    (void)state;
    struct pb pb = {NULL, 0, 0};
    struct vt_wire_field field;
    const uint8_t fixed64[] = {0x19, 1, 2, 3, 4, 5, 6, 7, 8}; /* field 3 */

    pb_varint(&pb, 1, 150);
    pb_varint(&pb, 2, -1);
    pb_raw(&pb, fixed64, sizeof(fixed64));
    pb_float(&pb, 4, 1.0f);
    pb_text(&pb, 536870911, "abc"); /* the largest field number */
    struct vt_wire wire = wire_of(&pb, 4);
    assert_true(vt_wire_next(&wire, &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_true(vt_wire_next(&wire, &field));
    assert_true(field.value == UINT64_MAX);
    assert_true(vt_wire_next(&wire, &field));
    assert_int_equal(field.type, VT_WIRE_FIXED64);
    assert_true(field.value == UINT64_C(0x0807060504030201));
    assert_true(vt_wire_next(&wire, &field));
    assert_int_equal(field.type, VT_WIRE_FIXED32);
    assert_int_equal(field.value, 0x3f800000);
    assert_true(vt_wire_next(&wire, &field));
    assert_int_equal(field.number, 536870911);
    assert_int_equal(field.size, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_false(vt_wire_next(&wire, &field));
    assert_null(wire.problem);
    pb_free(&pb);
}

/* Bytes that no reader may accept. */
static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x08", 1},                                              /* a tag without a value */
        {"\x08\x80", 2},                                          /* an unfinished number */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* eleven bytes */
        {"\x0a\x02\x41", 3},                                      /* one byte of two */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},     /* a length of 2^64 - 1 */
        {"\x0d\x01\x02\x03", 4},                                  /* a short fixed32 */
        {"\x09\x01\x02\x03\x04\x05\x06\x07", 8},                  /* a short fixed64 */
        {"\x00\x01", 2},                                          /* field 0 */
        {"\x0e\x01", 2},                                          /* wire type 6 */
        {"\x0f\x01", 2},                                          /* wire type 7 */
        {"\x0c", 1},                                              /* an end of no group */
        {"\x0b\x08\x01", 3},                                      /* a group without an end */
        {"\x0b\x14", 2},                                          /* ended by another's end */
        {"\x80\x80\x80\x80\x80\x01\x01", 7},                      /* a field number above 2^29 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vt_wire wire;
        struct vt_wire_field field;
        uint8_t *copy = malloc(cases[i].size); /* exact, so that a sanitizer sees a read behind */
        assert_non_null(copy);
        memcpy(copy, cases[i].bytes, cases[i].size);
        vt_wire_init(&wire, copy, cases[i].size, 4);
        while (vt_wire_next(&wire, &field)) {
        }
        if (wire.problem == NULL) {
            fail_msg("case %zu was accepted", i);
        }
        assert_true(wire.problem_offset <= cases[i].size);
        free(copy);
    }
}

static void test_groups_are_skipped(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x0b, 0x10, 0x05, 0x13, 0x14, 0x0c, 0x18, 0x07};
    struct vt_wire wire;
    struct vt_wire_field field;

    vt_wire_init(&wire, bytes, sizeof(bytes), 4);
    assert_true(vt_wire_next(&wire, &field));
    assert_int_equal(field.number, 3);
    assert_int_equal(field.value, 7);
    assert_false(vt_wire_next(&wire, &field));
    assert_null(wire.problem);

    /* A thousand groups in each other end in an error, not in a deep stack. */
    uint8_t deep[2000];
    memset(deep, 0x0b, 1000);
    memset(deep + 1000, 0x0c, 1000);
    vt_wire_init(&wire, deep, sizeof(deep), 4);
    assert_false(vt_wire_next(&wire, &field));
    assert_non_null(wire.problem);
}

static void test_depth(void **state)
{
    (void)state;
    struct pb pb = {NULL, 0, 0};

    for (int i = 0; i < 5; i++) {
        struct pb outer = {NULL, 0, 0};
        pb_message(&outer, 1, &pb);
        pb = outer;
    }
    struct vt_wire level = wire_of(&pb, 3);
    struct vt_wire_field field;
    for (int depth = 1; depth < 3; depth++) {
        struct vt_wire inner;
        assert_true(vt_wire_next(&level, &field));
        assert_true(vt_wire_enter(&level, &field, &inner));
        level = inner;
    }
    assert_true(vt_wire_next(&level, &field));
    struct vt_wire unused;
    assert_false(vt_wire_enter(&level, &field, &unused));
    assert_non_null(level.problem);
    pb_free(&pb);
}

static void test_numbers(void **state)
{
    (void)state;
    const uint8_t packed[] = {0x01, 0xac, 0x02, 0x00};
    const uint8_t ragged[] = {0x01, 0xac};
    const float floats[] = {1.5f, -2.0f};
    struct pb pb = {NULL, 0, 0};
    struct vt_wire_numbers numbers;
    struct vt_wire_field field;
    size_t n;

    pb_varint(&pb, 1, 7);
    pb_bytes(&pb, 1, packed, sizeof(packed));
    pb_bytes(&pb, 1, NULL, 0);
    pb_bytes(&pb, 2, floats, sizeof(floats));
    pb_bytes(&pb, 1, ragged, sizeof(ragged));
    struct vt_wire wire = wire_of(&pb, 1);
    assert_true(vt_wire_next(&wire, &field));
    assert_true(vt_wire_numbers(&wire, &field, VT_WIRE_VARINT, &numbers, &n));
    assert_int_equal(n, 1);
    assert_int_equal(vt_wire_number(&numbers), 7);
    assert_true(vt_wire_next(&wire, &field));
    assert_true(vt_wire_numbers(&wire, &field, VT_WIRE_VARINT, &numbers, &n));
    assert_int_equal(n, 3);
    assert_int_equal(vt_wire_number(&numbers), 1);
    assert_int_equal(vt_wire_number(&numbers), 300);
    assert_int_equal(vt_wire_number(&numbers), 0);
    assert_int_equal(vt_wire_number(&numbers), 0); /* behind the last */
    assert_true(vt_wire_next(&wire, &field));
    assert_true(vt_wire_numbers(&wire, &field, VT_WIRE_VARINT, &numbers, &n));
    assert_int_equal(n, 0);
    assert_true(vt_wire_next(&wire, &field));
    assert_true(vt_wire_numbers(&wire, &field, VT_WIRE_FIXED32, &numbers, &n));
    assert_int_equal(n, 2);
    assert_int_equal(vt_wire_number(&numbers), 0x3fc00000);
    assert_true(vt_wire_next(&wire, &field));
    assert_false(vt_wire_numbers(&wire, &field, VT_WIRE_VARINT, &numbers, &n));
    assert_non_null(wire.problem);
    pb_free(&pb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_groups_are_skipped),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
