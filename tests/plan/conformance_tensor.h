/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the .pb files of ONNX test cases, each one TensorProto. */
#ifndef CONFORMANCE_TENSOR_H
#define CONFORMANCE_TENSOR_H

#include <stdbool.h>

#include "vatio/tensor.h"

/* Reads a file into fresh memory (ret->data, vt_free). False when it is no tensor of numbers. */
bool conformance_tensor_read(const char *path, struct vt_tensor *ret);

#endif
