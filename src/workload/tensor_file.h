/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor from a file: NumPy .npy (versions 1 to 3) or an ONNX TensorProto (.pb). The kind is told
 * by the content. Everything a file says is checked against its size before memory is taken.
 *
 * Not supported, each with an error that says so: big-endian and Fortran-ordered arrays,
 * structured, text, complex and Python-object types, tensors in segments or with external data.
 */
#ifndef VT_WORKLOAD_TENSOR_FILE_H
#define VT_WORKLOAD_TENSOR_FILE_H

#include "vatio/tensor.h"

/* Owned by the caller, who releases it. */
struct vt_tensor_file {
    struct vt_tensor tensor; /* its data are this object's, aligned to VT_ALIGNMENT */
};

/* VT_ERR_NOT_FOUND, VT_ERR_READ, VT_ERR_FORMAT, VT_ERR_UNSUPPORTED, VT_ERR_LIMIT, VT_ERR_MEMORY. */
enum vt_status vt_tensor_file_open(const char *path, struct vt_error *err,
                                   struct vt_tensor_file *ret) VT_NODISCARD;
/* The same from memory; `name` stands in messages. */
enum vt_status vt_tensor_file_parse(const char *name, const uint8_t *bytes, size_t size,
                                    struct vt_error *err, struct vt_tensor_file *ret) VT_NODISCARD;
void vt_tensor_file_release(struct vt_tensor_file *file); /* accepts a zeroed one */

/* The two kinds. */
enum vt_status vt_npy_parse(const char *name, const uint8_t *bytes, size_t size,
                            struct vt_error *err, struct vt_tensor_file *ret) VT_NODISCARD;
enum vt_status vt_tensor_proto_parse(const char *name, const uint8_t *bytes, size_t size,
                                     struct vt_error *err, struct vt_tensor_file *ret) VT_NODISCARD;
/* Room for a tensor of that shape; data uninitialised. */
enum vt_status vt_tensor_file_alloc(const char *name, enum vt_dtype dtype, uint32_t rank,
                                    const int64_t *dim, struct vt_error *err,
                                    struct vt_tensor_file *ret) VT_NODISCARD;

#endif
