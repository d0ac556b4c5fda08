/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/select/select.h"

bool vt_is_nonzero(enum vt_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case VT_F32:
        return ((const float *)x)[i] != 0.0f;
    case VT_F64:
        return ((const double *)x)[i] != 0.0;
    case VT_F16:
    case VT_BF16:
        return (((const uint16_t *)x)[i] & 0x7fff) != 0;
    default:
        break;
    }
    switch (vt_dtype_bytes(dtype)) {
    case 1:
        return ((const uint8_t *)x)[i] != 0;
    case 2:
        return ((const uint16_t *)x)[i] != 0;
    case 4:
        return ((const uint32_t *)x)[i] != 0;
    default:
        return ((const uint64_t *)x)[i] != 0;
    }
}
