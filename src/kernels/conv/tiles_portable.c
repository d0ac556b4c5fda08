/* SPDX-License-Identifier: Apache-2.0 */
#define VT_VECTOR_PORTABLE
#include "kernels/conv/tiles.inc"

#include "base/topology.h"

const struct vt_conv_tiles *vt_conv_tiles_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return &vt_conv_tiles__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &vt_conv_tiles__avx2;
    }
#else
    (void)features;
#endif
    return &vt_conv_tiles__portable;
}
