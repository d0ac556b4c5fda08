/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vatio uses of the interface of libnvidia-ml.so.1, which is opened while the program runs.
 * Names, numbers and layouts are those that NVIDIA keeps stable; only they are taken over.
 */
#ifndef VT_POWER_NVML_ABI_H
#define VT_POWER_NVML_ABI_H

enum {
    VT_NVML_SUCCESS = 0,
    VT_NVML_NOT_SUPPORTED = 3,
    VT_NVML_NO_PERMISSION = 4,
    VT_NVML_DRIVER_NOT_LOADED = 9,
    VT_NVML_LIBRARY_MISMATCH = 18,
};

/* Fields, mW. */
enum {
    VT_NVML_POWER_AVERAGE = 185,
    VT_NVML_POWER_INSTANT = 186,
};
/* Their scopes. */
enum {
    VT_NVML_SCOPE_GPU = 0,
    VT_NVML_SCOPE_MODULE = 1,
};

enum {
    VT_NVML_TYPE_DOUBLE = 0,
    VT_NVML_TYPE_UINT = 1,
    VT_NVML_TYPE_ULONG = 2,
    VT_NVML_TYPE_ULONGLONG = 3,
    VT_NVML_TYPE_LONGLONG = 4,
    VT_NVML_TYPE_INT = 5,
};

struct vt_nvml_field {
    unsigned field, scope;
    long long timestamp_us, latency_us; /* since 1970 */
    int type;                           /* of value */
    int result;
    union {
        double real;
        int i;
        unsigned u;
        unsigned long ul;
        unsigned long long ull;
        long long ll;
    } value;
};
_Static_assert(sizeof(struct vt_nvml_field) == 40, "the layout of nvmlFieldValue_t");

struct vt_nvml_device; /* opaque */

#endif
