/* SPDX-License-Identifier: Apache-2.0 */
/* .npy and TensorProto files: what is read, and that hostile ones are refused in words. */
#include "workload/tensor_file.h"

#include "fixture.h"
#include "vt_torture.h"

static const float six[6] = {0, 1, 2, 3, 4, 5};

static enum vt_status parse_npy(const char *header, const void *data, size_t n,
                                struct vt_error *err, struct vt_tensor_file *ret)
{
    uint8_t bytes[1024];
    return vt_tensor_file_parse("f", bytes, npy_make(bytes, header, data, n), err, ret);
}

static void test_npy(void **state)
{
    (void)state;
    struct vt_tensor_file file;
    assert_int_equal(
        parse_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n", six,
                  sizeof six, NULL, &file),
        VT_OK);
    assert_int_equal(file.tensor.dtype, VT_F32);
    assert_int_equal(file.tensor.rank, 2);
    assert_int_equal(file.tensor.dim[0], 2);
    assert_int_equal(file.tensor.dim[1], 3);
    assert_int_equal(file.tensor.bytes, 24);
    assert_memory_equal(file.tensor.data, six, 24);
    assert_int_equal((uintptr_t)file.tensor.data % 64, 0);
    vt_tensor_file_release(&file);
    vt_tensor_file_release(&file);
    /* Scalar, empty, other order of keys, other quotes, one-dimensional Fortran order. */
    assert_int_equal(
        parse_npy("{\"shape\":(),\"descr\":\"<i8\",\"fortran_order\":False}", six, 8, NULL, &file),
        VT_OK);
    assert_int_equal(file.tensor.rank, 0);
    assert_int_equal(file.tensor.dtype, VT_I64);
    vt_tensor_file_release(&file);
    assert_int_equal(
        parse_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (24,)}", six, 24, NULL, &file),
        VT_OK);
    assert_int_equal(file.tensor.dim[0], 24);
    assert_int_equal(file.tensor.dtype, VT_U8);
    vt_tensor_file_release(&file);
    assert_int_equal(
        parse_npy("{'descr': '<f2', 'fortran_order': False, 'shape': (0, 5)}", six, 0, NULL, &file),
        VT_OK);
    assert_int_equal(file.tensor.bytes, 0);
    vt_tensor_file_release(&file);
}

static void test_npy_versions(void **state)
{
    (void)state;
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}\n";
    uint8_t bytes[256];
    struct vt_tensor_file file;
    struct vt_error err = VT_ERROR_INIT;
    size_t length = strlen(header);
    for (uint8_t version = 2; version < 4; version++) {
        memcpy(bytes, "\x93NUMPY", 6);
        bytes[6] = version;
        bytes[7] = 0;
        memcpy(bytes + 8, (uint8_t[]){(uint8_t)length, 0, 0, 0}, 4);
        memcpy(bytes + 12, header, length);
        memcpy(bytes + 12 + length, six, sizeof six);
        assert_int_equal(vt_tensor_file_parse("f", bytes, 12 + length + 24, NULL, &file), VT_OK);
        assert_memory_equal(file.tensor.data, six, 24);
        vt_tensor_file_release(&file);
    }
    bytes[6] = 4;
    assert_int_equal(vt_tensor_file_parse("f", bytes, 12 + length + 24, &err, &file),
                     VT_ERR_UNSUPPORTED);
    assert_error(&err, VT_ERR_UNSUPPORTED, "version 4", "1 to 3");
}

static void test_npy_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum vt_status status;
        const char *word;
    } bad[] = {
        {"", VT_ERR_FORMAT, "'{'"},
        {"{", VT_ERR_FORMAT, "'key': value"},
        {"{}", VT_ERR_FORMAT, "missing"},
        {"{'descr': '<f4', 'fortran_order': False}", VT_ERR_FORMAT, "missing"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", VT_ERR_FORMAT, "fortran_order"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,3)}", VT_ERR_UNSUPPORTED,
         "ascontiguousarray"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (6,)}", VT_ERR_UNSUPPORTED,
         "astype('<f4')"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", VT_ERR_UNSUPPORTED, "'|O'"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", VT_ERR_UNSUPPORTED, "'<c8'"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", VT_ERR_UNSUPPORTED, "<f16"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", VT_ERR_UNSUPPORTED, "<U3"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", VT_ERR_UNSUPPORTED,
         "records"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", VT_ERR_FORMAT, "24 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", VT_ERR_FORMAT, "7 float32"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", VT_ERR_FORMAT, "from 0 up"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6", VT_ERR_FORMAT, "does not end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6}", VT_ERR_FORMAT, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         VT_ERR_FORMAT, "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,6)}",
         VT_ERR_FORMAT, "24 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}", VT_ERR_LIMIT,
         "8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", VT_ERR_FORMAT,
         "other than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,) 'x'}", VT_ERR_FORMAT, "'}'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_tensor_file file;
        assert_int_equal(parse_npy(bad[i].header, six, sizeof six, &err, &file), bad[i].status);
        assert_error(&err, bad[i].status, "f: ", bad[i].word);
    }
    struct vt_tensor_file file;
    uint8_t bytes[1024];
    size_t size =
        npy_make(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", six, sizeof six);
    for (size_t n = 0; n < size; n++) {
        uint8_t *cut = malloc(n + 1);
        memcpy(cut, bytes, n);
        assert_int_not_equal(vt_tensor_file_parse("f", cut, n, NULL, &file), VT_OK);
        free(cut);
    }
    /* A header that is longer than the file, and one longer than may be. */
    struct vt_error err = VT_ERROR_INIT;
    memcpy(bytes, "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    assert_int_equal(vt_tensor_file_parse("f", bytes, size, &err, &file), VT_ERR_LIMIT);
}

/* ---- TensorProto ----------------------------------------------------------------------------- */

static const uint8_t raw_proto[] = {8, 2, 8, 1,    16,   1, 0x42, 1, 'x', 0x4a,
                                    8, 0, 0, 0x80, 0x3f, 0, 0,    0, 0x40};

static void test_proto(void **state)
{
    (void)state;
    struct vt_tensor_file file;
    assert_int_equal(vt_tensor_file_parse("f", raw_proto, sizeof raw_proto, NULL, &file), VT_OK);
    assert_int_equal(file.tensor.rank, 2);
    assert_int_equal(file.tensor.dim[0], 2);
    assert_int_equal(file.tensor.dim[1], 1);
    assert_memory_equal(file.tensor.data, ((float[]){1, 2}), 8);
    vt_tensor_file_release(&file);
    /* Packed extents; float_data packed, then one by one. */
    static const uint8_t packed[] = {0x0a, 2, 1,    2,    16, 1, 0x22, 8,
                                     0,    0, 0x80, 0x3f, 0,  0, 0,    0x40};
    assert_int_equal(vt_tensor_file_parse("f", packed, sizeof packed, NULL, &file), VT_OK);
    assert_int_equal(file.tensor.dim[1], 2);
    assert_memory_equal(file.tensor.data, ((float[]){1, 2}), 8);
    vt_tensor_file_release(&file);
    static const uint8_t singly[] = {0x25, 0, 0, 0x80, 0x3f, 8, 2, 0x25, 0, 0, 0, 0x40, 16, 1};
    assert_int_equal(vt_tensor_file_parse("f", singly, sizeof singly, NULL, &file), VT_OK);
    assert_memory_equal(file.tensor.data, ((float[]){1, 2}), 8);
    vt_tensor_file_release(&file);
    /* int64_data with -1, a scalar; int32_data for int8; bool. */
    static const uint8_t minus[] = {16,   7,    0x38, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff, 1};
    assert_int_equal(vt_tensor_file_parse("f", minus, sizeof minus, NULL, &file), VT_OK);
    assert_int_equal(file.tensor.rank, 0);
    assert_int_equal(*(int64_t *)file.tensor.data, -1);
    vt_tensor_file_release(&file);
    static const uint8_t bytes[] = {8,    2,    16,   3,    0x2a, 11,   5,    0xfe, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    assert_int_equal(vt_tensor_file_parse("f", bytes, sizeof bytes, NULL, &file), VT_OK);
    assert_memory_equal(file.tensor.data, ((int8_t[]){5, -2}), 2);
    vt_tensor_file_release(&file);
}

static void test_proto_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        enum vt_status status;
        const char *word;
    } bad[] = {
        {"", 0, VT_ERR_FORMAT, "empty"},
        {"\x08", 1, VT_ERR_FORMAT, "cut off"},
        {"garbage!", 8, VT_ERR_FORMAT, ""},
        {"\x08\x01", 2, VT_ERR_FORMAT, "type of elements"},
        {"\x08\x01\x10\x63", 4, VT_ERR_FORMAT, "type of elements"},
        {"\x08\x01\x10\x08", 4, VT_ERR_UNSUPPORTED, "string"},
        {"\x08\x01\x10\x0e", 4, VT_ERR_UNSUPPORTED, "complex64"},
        {"\x08\x02\x10\x01", 4, VT_ERR_FORMAT, "as many"},
        {"\x08\x01\x10\x01\x4a\x02\x00\x00", 8, VT_ERR_FORMAT, "2 bytes"},
        {"\x08\x01\x10\x01\x4a\x7f\x00\x00", 8, VT_ERR_FORMAT, "cut off"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01", 13, VT_ERR_FORMAT, "negative"},
        {"\x08\xff\xff\xff\xff\x0f\x10\x01", 8, VT_ERR_FORMAT, "fewer"},
        {"\x08\x01\x10\x01\x1a\x00", 6, VT_ERR_UNSUPPORTED, "segments"},
        {"\x08\x01\x10\x01\x70\x01", 6, VT_ERR_UNSUPPORTED, "another file"},
        {"\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01", 18,
         VT_ERR_LIMIT, "8 dimensions"},
        {"\x08\x01\x10\x01\x25\x00\x00\x00\x00\x25\x00\x00\x00\x00", 14, VT_ERR_FORMAT, "as many"},
        {"\x08\x01\x10\x01\x22\x05\x00\x00\x00\x00\x00", 11, VT_ERR_FORMAT, "as many"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_tensor_file file;
        enum vt_status status =
            vt_tensor_file_parse("f", (const uint8_t *)bad[i].bytes, bad[i].n, &err, &file);
        if (status != bad[i].status) {
            fail_msg("case %zu: %s", i, err.text);
        }
        assert_error(&err, bad[i].status, "f: ", bad[i].word);
    }
    /* Cut everywhere, and every byte flipped. */
    uint8_t bytes[sizeof raw_proto];
    struct vt_tensor_file file;
    for (size_t n = 0; n < sizeof raw_proto; n++) {
        memcpy(bytes, raw_proto, sizeof bytes);
        assert_int_not_equal(vt_tensor_file_parse("f", bytes, n, NULL, &file), VT_OK);
        for (unsigned value = 0; value < 256; value++) {
            bytes[n] = (uint8_t)value;
            if (vt_tensor_file_parse("f", bytes, sizeof bytes, NULL, &file) == VT_OK) {
                vt_tensor_file_release(&file);
            }
        }
    }
}

static void test_open(void **state)
{
    (void)state;
    char folder[64], path[128];
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor_file file;
    scratch_make(folder);
    (void)snprintf(path, sizeof path, "%s/x.npy", folder);
    assert_int_equal(vt_tensor_file_open(path, &err, &file), VT_ERR_NOT_FOUND);
    assert_error(&err, VT_ERR_NOT_FOUND, path, "");
    write_npy(folder, "x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", six,
              sizeof six);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        err = (struct vt_error)VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        done = vt_tensor_file_open(path, &err, &file) == VT_OK;
        if (done) {
            vt_tensor_file_release(&file);
        }
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_int_equal(err.status, done ? VT_OK : VT_ERR_MEMORY);
        assert_true(allowed < 100);
    }
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),           cmocka_unit_test(test_npy_versions),
        cmocka_unit_test(test_npy_refused),   cmocka_unit_test(test_proto),
        cmocka_unit_test(test_proto_refused), cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
