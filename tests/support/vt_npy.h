/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads NumPy files (version 1.0, little-endian, C order) into fresh memory; ends the test on
 * anything else. vt_free(ret.data).
 */
#ifndef VT_NPY_H
#define VT_NPY_H

#include "vt_test.h"

#include "base/alloc.h"
#include "base/file.h"
#include "vatio/tensor.h"

static inline enum vt_dtype vt_npy_dtype(const char *header)
{
    static const struct {
        const char *text;
        enum vt_dtype dtype;
    } known[] = {{"'<f4'", VT_F32}, {"'|u1'", VT_U8},   {"'<i4'", VT_I32},
                 {"'<i8'", VT_I64}, {"'|b1'", VT_BOOL}, {"'<f8'", VT_F64}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(header, known[i].text) != NULL) {
            return known[i].dtype;
        }
    }
    return VT_UNDEFINED;
}

static inline struct vt_tensor vt_npy_read(const char *folder, const char *name)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor tensor = {.dtype = VT_UNDEFINED};
    char path[1024], header[512];
    char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (vt_file_read(path, (size_t)64 << 20, &err, &text, &size) != VT_OK) {
        fail_msg("%s", err.text);
        return tensor;
    }
    assert_true(size > 10 && memcmp(text, "\x93NUMPY\x01", 7) == 0);
    size_t length = (size_t)(uint8_t)text[8] | (size_t)(uint8_t)text[9] << 8;
    assert_true(length + 10 <= size && length < sizeof(header));
    memcpy(header, text + 10, length);
    header[length] = '\0';
    assert_non_null(strstr(header, "'fortran_order': False"));
    tensor.dtype = vt_npy_dtype(header);
    const char *at = strstr(header, "'shape': (");
    assert_non_null(at);
    for (at += strlen("'shape': ("); *at != ')';) {
        char *end = NULL;
        assert_true(tensor.rank < VT_RANK_MAX);
        tensor.dim[tensor.rank++] = strtoll(at, &end, 10);
        assert_true(end != at);
        at = end + strspn(end, ", ");
    }
    assert_true(vt_shape_bytes(tensor.dtype, tensor.dim, tensor.rank, &tensor.bytes));
    assert_int_equal(tensor.bytes, size - 10 - length);
    tensor.data = vt_alloc(tensor.bytes);
    assert_non_null(tensor.data);
    memcpy(tensor.data, text + 10 + length, tensor.bytes);
    vt_free(text);
    return tensor;
}

#endif
