/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's .npy: six magic bytes, version, length of the header, the header (a Python dictionary
 * with `descr`, `fortran_order` and `shape`), then the elements.
 */
#include <stdbool.h>
#include <string.h>

#include "workload/tensor_file.h"

#define HEADER_BYTES_MAX 65536

/* The header while it is read. */
struct npy {
    const char *name;
    const char *at, *end;
    struct vt_error *err;
    enum vt_dtype dtype;
    bool has_type, has_order, has_shape, fortran;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];
};

static enum vt_status malformed(const struct npy *npy, const char *what)
{
    return vt_error_set(npy->err, VT_ERR_FORMAT, "%s: the header of the .npy file: %s", npy->name,
                        what);
}

static void skip_blanks(struct npy *npy)
{
    while (npy->at < npy->end && (*npy->at == ' ' || *npy->at == '\t' || *npy->at == '\n')) {
        npy->at++;
    }
}

/* Takes `c` if it is next. */
static bool take(struct npy *npy, char c)
{
    skip_blanks(npy);
    if (npy->at < npy->end && *npy->at == c) {
        npy->at++;
        return true;
    }
    return false;
}

/* A quoted word without escapes; false when there is none. */
static bool take_text(struct npy *npy, const char **ret_text, size_t *ret_length)
{
    skip_blanks(npy);
    if (npy->at >= npy->end || (*npy->at != '\'' && *npy->at != '"')) {
        return false;
    }
    const char *start = npy->at + 1;
    const char *stop = memchr(start, *npy->at, (size_t)(npy->end - start));
    if (stop == NULL) {
        return false;
    }
    *ret_text = start;
    *ret_length = (size_t)(stop - start);
    npy->at = stop + 1;
    return true;
}

static bool take_word(struct npy *npy, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(npy);
    if ((size_t)(npy->end - npy->at) < length || memcmp(npy->at, word, length) != 0) {
        return false;
    }
    npy->at += length;
    return true;
}

static enum vt_dtype find_type(char kind, size_t bytes)
{
    static const struct {
        char kind;
        size_t bytes;
        enum vt_dtype dtype;
    } types[] = {{'f', 4, VT_F32}, {'f', 2, VT_F16}, {'f', 8, VT_F64}, {'u', 1, VT_U8},
                 {'u', 2, VT_U16}, {'u', 4, VT_U32}, {'u', 8, VT_U64}, {'i', 1, VT_I8},
                 {'i', 2, VT_I16}, {'i', 4, VT_I32}, {'i', 8, VT_I64}, {'b', 1, VT_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].kind == kind && types[i].bytes == bytes) {
            return types[i].dtype;
        }
    }
    return VT_UNDEFINED;
}

static enum vt_status read_type(struct npy *npy)
{
    const char *text;
    size_t length;

    if (!take_text(npy, &text, &length)) {
        return take(npy, '[')
                   ? vt_error_set(npy->err, VT_ERR_UNSUPPORTED,
                                  "%s: an array of records: one plain type is needed", npy->name)
                   : malformed(npy, "'descr' is not a quoted type");
    }
    size_t bytes = 0;
    for (size_t i = 2; i < length && i < 6; i++) {
        bytes = text[i] >= '0' && text[i] <= '9' ? bytes * 10 + (size_t)(text[i] - '0') : SIZE_MAX;
        if (bytes == SIZE_MAX) {
            break;
        }
    }
    npy->dtype = length >= 3 && length <= 4 ? find_type(text[1], bytes) : VT_UNDEFINED;
    npy->has_type = true;
    if (npy->dtype == VT_UNDEFINED) {
        return vt_error_set(npy->err, VT_ERR_UNSUPPORTED,
                            "%s: elements of NumPy's type '%.*s': integers, floats of 16 to 64 "
                            "bits and booleans are read",
                            npy->name, (int)(length < 40 ? length : 40), text);
    }
    if (strchr("<|=>", text[0]) == NULL || text[0] == '\0') {
        return malformed(npy, "'descr' has no byte order");
    }
    if (text[0] == '>' && bytes > 1) {
        return vt_error_set(npy->err, VT_ERR_UNSUPPORTED,
                            "%s: big-endian elements: save it with .astype('<%c%zu')", npy->name,
                            text[1], bytes);
    }
    return VT_OK;
}

static enum vt_status read_extent(struct npy *npy)
{
    int64_t value = 0;

    if (npy->at >= npy->end || *npy->at < '0' || *npy->at > '9') {
        return malformed(npy, "'shape' is not a tuple of numbers from 0 up");
    }
    while (npy->at < npy->end && *npy->at >= '0' && *npy->at <= '9') {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *npy->at - '0', &value)) {
            return malformed(npy, "an extent in 'shape' is beyond 64 bits");
        }
        npy->at++;
    }
    if (npy->rank == VT_RANK_MAX) {
        return vt_error_set(npy->err, VT_ERR_LIMIT,
                            "%s: more than %d dimensions, which is the most there may be",
                            npy->name, VT_RANK_MAX);
    }
    npy->dim[npy->rank++] = value;
    return VT_OK;
}

static enum vt_status read_shape(struct npy *npy)
{
    enum vt_status status = VT_OK;

    if (!take(npy, '(')) {
        return malformed(npy, "'shape' is not a tuple");
    }
    npy->has_shape = true;
    npy->rank = 0;
    while (!take(npy, ')') && status == VT_OK) {
        status = read_extent(npy);
        if (status == VT_OK && !take(npy, ',')) {
            return take(npy, ')') ? VT_OK : malformed(npy, "'shape' does not end");
        }
    }
    return status;
}

static enum vt_status read_value(struct npy *npy, const char *key, size_t length)
{
    if (length == 5 && memcmp(key, "descr", 5) == 0) {
        return read_type(npy);
    }
    if (length == 5 && memcmp(key, "shape", 5) == 0) {
        return read_shape(npy);
    }
    if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
        npy->has_order = true;
        npy->fortran = take_word(npy, "True");
        return npy->fortran || take_word(npy, "False")
                   ? VT_OK
                   : malformed(npy, "'fortran_order' is neither True nor False");
    }
    return malformed(npy, "a key other than descr, fortran_order and shape");
}

static enum vt_status read_header(struct npy *npy)
{
    enum vt_status status = VT_OK;

    if (!take(npy, '{')) {
        return malformed(npy, "it does not begin with '{'");
    }
    while (status == VT_OK && !take(npy, '}')) {
        const char *key;
        size_t length;
        if (!take_text(npy, &key, &length) || !take(npy, ':')) {
            return malformed(npy, "not a list of 'key': value");
        }
        status = read_value(npy, key, length);
        if (status == VT_OK && !take(npy, ',')) {
            if (!take(npy, '}')) {
                return malformed(npy, "it does not end with '}'");
            }
            break;
        }
    }
    if (status == VT_OK && !(npy->has_type && npy->has_order && npy->has_shape)) {
        return malformed(npy, "one of descr, fortran_order and shape is missing");
    }
    return status;
}

/* Finds the header's text. */
static enum vt_status find_header(struct npy *npy, const uint8_t *bytes, size_t size,
                                  size_t *ret_end)
{
    size_t start = 8 + (bytes[6] == 1 ? 2u : 4u);
    size_t length;

    if (bytes[6] < 1 || bytes[6] > 3) {
        return vt_error_set(npy->err, VT_ERR_UNSUPPORTED,
                            "%s: version %u of the .npy form: 1 to 3 are read", npy->name,
                            bytes[6]);
    }
    if (size < start) {
        return malformed(npy, "the file is cut off");
    }
    length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    if (length > HEADER_BYTES_MAX) {
        return vt_error_set(npy->err, VT_ERR_LIMIT, "%s: a header of %zu bytes, at most %d may be",
                            npy->name, length, HEADER_BYTES_MAX);
    }
    if (length > size - start) {
        return malformed(npy, "the file is cut off");
    }
    npy->at = (const char *)bytes + start;
    npy->end = npy->at + length;
    *ret_end = start + length;
    return VT_OK;
}

enum vt_status vt_npy_parse(const char *name, const uint8_t *bytes, size_t size,
                            struct vt_error *err, struct vt_tensor_file *ret)
{
    struct npy npy = {.name = name, .err = err};
    size_t end = 0, wanted = 0;
    char shape[96];

    if (size < 10) {
        return malformed(&npy, "the file is cut off");
    }
    enum vt_status status = find_header(&npy, bytes, size, &end);
    if (status == VT_OK) {
        status = read_header(&npy);
    }
    if (status != VT_OK) {
        return status;
    }
    if (npy.fortran && npy.rank > 1) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s: a Fortran-ordered array: save it with np.ascontiguousarray()",
                            name);
    }
    (void)vt_shape_text(npy.dim, npy.rank, NULL, shape, sizeof shape);
    if (!vt_shape_bytes(npy.dtype, npy.dim, npy.rank, &wanted) || wanted != size - end) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: %zu bytes follow the header, which is not what %s %s takes", name,
                            size - end, shape, vt_dtype_name(npy.dtype));
    }
    status = vt_tensor_file_alloc(name, npy.dtype, npy.rank, npy.dim, err, ret);
    if (status == VT_OK && wanted > 0) {
        memcpy(ret->tensor.data, bytes + end, wanted);
    }
    return status;
}
