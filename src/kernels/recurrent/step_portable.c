/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

typedef float vt_vec __attribute__((vector_size(16)));

#define VT_STEP_VL           4
#define VT_STEP_ROWS         2
#define VT_STEP_FMA(a, b, c) ((a) * (b) + (c))
#define VT_STEP_SPLAT(x)     step_splat(x)
#define VT_STEP_WAY          vt_recurrent_way_portable

static inline vt_vec step_splat(float x)
{
    return (vt_vec){x, x, x, x};
}

#include "kernels/recurrent/step.inc"
