/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/tensor_random.h"

#include "workload/element.h"

/* One step of SplitMix64 (Steele, Lea and Flood, 2014): a counter and a mixing function. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t vt_tensor_random_seed(uint64_t seed, uint64_t sample, uint64_t input)
{
    uint64_t state = seed;

    state = next(&state) ^ sample;
    state = next(&state) ^ input;
    return next(&state);
}

bool vt_tensor_random_possible(enum vt_dtype dtype)
{
    return vt_element_is_real(dtype);
}

/* How many values an integer type draws from. */
static uint64_t choices(enum vt_dtype dtype)
{
    switch (dtype) {
    case VT_U8:
        return 256;
    case VT_I8:
    case VT_U16:
    case VT_I16:
        return 128;
    default:
        return 2;
    }
}

static void fill_f32(float *value, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++) {
        value[i] = (float)(next(&state) >> 40) * 0x1p-24f;
    }
}

static void fill(struct vt_tensor *tensor, uint64_t seed, uint64_t n_choices)
{
    enum vt_dtype dtype = tensor->dtype;
    size_t n = tensor->bytes / vt_dtype_bytes(dtype);
    uint64_t state = seed;

    if (dtype == VT_F32) {
        fill_f32(tensor->data, n, seed);
        return;
    }
    /* As many bits as the type holds, so that rounding never gives 1. */
    unsigned bits = dtype == VT_F64 ? 53 : dtype == VT_F16 ? 11 : 8;
    bool whole = vt_element_is_integer(dtype) || dtype == VT_BOOL;
    for (size_t i = 0; i < n; i++) {
        uint64_t draw = next(&state);
        double value = whole ? (double)(draw >> 32) * (double)n_choices * 0x1p-32
                             : (double)(draw >> (64 - bits)) / (double)(UINT64_C(1) << bits);
        vt_element_set(dtype, tensor->data, i, whole ? (double)(uint64_t)value : value);
    }
}

void vt_tensor_random_fill(struct vt_tensor *tensor, uint64_t seed)
{
    fill(tensor, seed, choices(tensor->dtype));
}

void vt_tensor_random_fill_below(struct vt_tensor *tensor, uint64_t seed, int64_t bound)
{
    enum vt_dtype dtype = tensor->dtype;
    bool wide = dtype == VT_I32 || dtype == VT_U32 || dtype == VT_I64 || dtype == VT_U64;

    fill(tensor, seed, wide && bound > 0 ? (uint64_t)bound : choices(dtype));
}
