/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention/attention.h"

#include <string.h>

#include "base/topology.h"
#include "kernels/attention/flash.h"

const struct vt_attention_way *vt_attention_way_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return &vt_attention_way_avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &vt_attention_way_avx2;
    }
#else
    (void)features;
#endif
    return &vt_attention_way_portable;
}

/* Past and new rows one behind the other. */
static void join(const struct vt_attention *a, const float *past, const float *fresh, int64_t size,
                 float *to)
{
    const int64_t n = a->past_len + a->kv_len;
    for (int64_t i = 0; i < a->batch * a->kv_heads * n && to != NULL; i++) {
        const int64_t head = i / n;
        memcpy(
            to + i * size,
            vt_attention_row(a, past, fresh, size, head / a->kv_heads, head % a->kv_heads, i % n),
            (size_t)size * sizeof(float));
    }
}

size_t vt_attention_workspace_bytes(const struct vt_attention *a, uint32_t threads)
{
    const size_t flash = vt_attention_flash_floats(a, threads);
    const size_t rows = a->keeps_scores ? (size_t)(a->past_len + a->kv_len) * threads : 0;
    return (rows > flash ? rows : flash) * sizeof(float);
}

void vt_attention_run(const struct vt_attention *a, const struct vt_attention_data *data,
                      struct vt_pool *pool, float *workspace)
{
    join(a, data->past_k, data->k, a->size, data->present_k);
    join(a, data->past_v, data->v, a->v_size, data->present_v);
    if (a->batch * a->q_heads * a->q_len == 0) {
        return;
    }
    if (a->keeps_scores) {
        vt_attention_rows(a, data, pool, workspace);
    } else {
        vt_attention_flash(a, data, pool, workspace);
    }
}
