/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from files: .npy and ONNX TensorProto. */
#include "workload/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor_file file;

    if (vt_tensor_file_parse("tensor", data, size, &err, &file) == VT_OK) {
        vt_tensor_file_release(&file);
    }
    return 0;
}
