/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that are bound by reading one factor once: few rows of A against a B that nobody packed,
 * or a single column. Packing would read and write it once more.
 */
#ifndef VT_KERNELS_GEMM_SKINNY_H
#define VT_KERNELS_GEMM_SKINNY_H

#include "kernels/gemm/gemm.h"

bool vt_gemm_is_skinny(const struct vt_gemm *gemm);
size_t vt_gemm_skinny_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads);
void vt_gemm_skinny_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace);

#endif
