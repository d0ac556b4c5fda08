/* SPDX-License-Identifier: Apache-2.0 */
/* Attention by the micro-kernels of the matrix product; attention.c chooses. */
#ifndef VT_KERNELS_ATTENTION_BLOCKED_H
#define VT_KERNELS_ATTENTION_BLOCKED_H

#include "kernels/attention/attention.h"

/* Whether it can: scores that are scaled and masked, nothing else. */
bool vt_attention_blocked_fits(const struct vt_attention *a);
size_t vt_attention_blocked_workspace_bytes(const struct vt_attention *a, uint32_t threads);
/* The data ask for neither scores nor a number of valid keys. */
void vt_attention_blocked_run(const struct vt_attention *a, const struct vt_attention_data *data,
                              struct vt_pool *pool, void *workspace);

#endif
