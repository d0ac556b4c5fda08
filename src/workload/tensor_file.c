/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/tensor_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum vt_status vt_tensor_file_alloc(const char *name, enum vt_dtype dtype, uint32_t rank,
                                    const int64_t *dim, struct vt_error *err,
                                    struct vt_tensor_file *ret)
{
    struct vt_tensor tensor;
    enum vt_status status = vt_tensor_init(&tensor, dtype, rank, dim, NULL, err);

    if (status != VT_OK) {
        vt_error_prefix(err, "%s", name);
        return status;
    }
    tensor.data = vt_alloc(tensor.bytes);
    if (tensor.data == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for %zu bytes", name,
                            tensor.bytes);
    }
    ret->tensor = tensor;
    return VT_OK;
}

void vt_tensor_file_release(struct vt_tensor_file *file)
{
    vt_free(file->tensor.data);
    memset(file, 0, sizeof *file);
}

enum vt_status vt_tensor_file_parse(const char *name, const uint8_t *bytes, size_t size,
                                    struct vt_error *err, struct vt_tensor_file *ret)
{
    if (size == 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: an empty file, not a tensor", name);
    }
    if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) {
        return vt_npy_parse(name, bytes, size, err, ret);
    }
    return vt_tensor_proto_parse(name, bytes, size, err, ret);
}

enum vt_status vt_tensor_file_open(const char *path, struct vt_error *err,
                                   struct vt_tensor_file *ret)
{
    struct vt_file_map map = {0};
    enum vt_status status = vt_file_map_open(path, err, &map);

    if (status == VT_OK) {
        status = vt_tensor_file_parse(path, map.bytes, map.size, err, ret);
        vt_file_map_release(&map);
    }
    return status;
}
