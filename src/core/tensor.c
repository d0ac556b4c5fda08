/* SPDX-License-Identifier: Apache-2.0 */
#include "vatio/tensor.h"

#include <stdio.h>
#include <string.h>

size_t vt_dtype_bytes(enum vt_dtype dtype)
{
    switch (dtype) {
#define CASE(name, value, bytes, text)                                                             \
    case VT_##name:                                                                                \
        return bytes;
        VT_DTYPE_MAP(CASE)
#undef CASE
    }
    return 0;
}

const char *vt_dtype_name(enum vt_dtype dtype)
{
    switch (dtype) {
#define CASE(name, value, bytes, text)                                                             \
    case VT_##name:                                                                                \
        return text;
        VT_DTYPE_MAP(CASE)
#undef CASE
    }
    return "unknown";
}

enum vt_dtype vt_dtype_from_name(const char *name)
{
    static const struct {
        const char *name;
        enum vt_dtype dtype;
    } names[] = {
#define ENTRY(name, value, bytes, text) {text, VT_##name},
        VT_DTYPE_MAP(ENTRY)
#undef ENTRY
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return names[i].dtype;
        }
    }
    return VT_UNDEFINED;
}

bool vt_shape_elements(const int64_t *dim, uint32_t rank, int64_t *ret_elements)
{
    int64_t elements = 1;
    bool empty = false;

    for (uint32_t i = 0; i < rank; i++) {
        if (dim[i] < 0) {
            return false;
        }
        /* An empty tensor is 0 elements however large its other extents are. */
        empty = empty || dim[i] == 0;
    }
    for (uint32_t i = 0; i < rank && !empty; i++) {
        if (__builtin_mul_overflow(elements, dim[i], &elements)) {
            return false;
        }
    }
    *ret_elements = empty ? 0 : elements;
    return true;
}

bool vt_shape_bytes(enum vt_dtype dtype, const int64_t *dim, uint32_t rank, size_t *ret_bytes)
{
    int64_t elements;
    size_t each = vt_dtype_bytes(dtype);
    size_t bytes;

    if (each == 0 || !vt_shape_elements(dim, rank, &elements) ||
        __builtin_mul_overflow((size_t)elements, each, &bytes) || bytes > (size_t)INT64_MAX) {
        return false;
    }
    *ret_bytes = bytes;
    return true;
}

char *vt_shape_text(const int64_t *dim, uint32_t rank, const char *const *symbol, char *text,
                    size_t size)
{
    size_t used = 0;

    if (size == 0) {
        return text;
    }
    text[0] = '\0';
    if (rank == 0) {
        (void)snprintf(text, size, "scalar");
    }
    for (uint32_t i = 0; i < rank && used < size; i++) {
        const char *join = i > 0 ? "x" : "";
        int n;
        if (dim[i] >= 0) {
            n = snprintf(text + used, size - used, "%s%lld", join, (long long)dim[i]);
        } else {
            const char *name = symbol != NULL && symbol[i] != NULL ? symbol[i] : "?";
            n = snprintf(text + used, size - used, "%s%s", join, name);
        }
        if (n < 0) {
            break;
        }
        used += (size_t)n;
    }
    return text;
}

enum vt_status vt_tensor_init(struct vt_tensor *ret, enum vt_dtype dtype, uint32_t rank,
                              const int64_t *dim, void *data, struct vt_error *err)
{
    size_t bytes;

    if (rank > VT_RANK_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "rank %u: at most %d dimensions are supported", rank,
                            VT_RANK_MAX);
    }
    if (vt_dtype_bytes(dtype) == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "a tensor cannot hold elements of type %s",
                            vt_dtype_name(dtype));
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (dim[i] < 0) {
            return vt_error_set(err, VT_ERR_USAGE, "dimension %u is %lld: at least 0 is needed", i,
                                (long long)dim[i]);
        }
    }
    if (!vt_shape_bytes(dtype, dim, rank, &bytes)) {
        char text[128];
        return vt_error_set(err, VT_ERR_LIMIT, "a tensor of %s %s is beyond any memory",
                            vt_shape_text(dim, rank, NULL, text, sizeof text),
                            vt_dtype_name(dtype));
    }
    struct vt_tensor tensor = {.dtype = dtype, .rank = rank, .data = data, .bytes = bytes};
    for (uint32_t i = 0; i < rank; i++) {
        tensor.dim[i] = dim[i];
    }
    *ret = tensor;
    return VT_OK;
}

bool vt_tensor_same_shape(const struct vt_tensor *a, const struct vt_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}
