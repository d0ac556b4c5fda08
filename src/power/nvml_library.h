/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, opened while the program runs: for meters, telemetry and caps.
 *
 * Threading: open and close by one thread; the library itself is thread-safe.
 */
#ifndef VT_POWER_NVML_LIBRARY_H
#define VT_POWER_NVML_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "power/meter.h"
#include "power/nvml_abi.h"

#define VT_NVML_GPUS_MAX 32

struct vt_nvml_library {
    void *handle; /* of dlopen */
    bool ready;   /* init succeeded */
    unsigned n_gpus;
    struct vt_nvml_device *gpus[VT_NVML_GPUS_MAX]; /* NULL: it cannot be asked */
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*device)(unsigned index, struct vt_nvml_device **ret);
    /* Any of these may be missing in an old library. */
    const char *(*error_string)(int code);
    int (*name)(struct vt_nvml_device *device, char *text, unsigned size);
};

/* A function that may be looked up in addition. */
struct vt_nvml_symbol {
    const char *name;
    void *to; /* of a pointer to the function; NULL is written where it is missing */
};

/*
 * Opens and starts it and finds the GPUs, at least one. VT_ERR_UNAVAILABLE or, without the right,
 * VT_ERR_READ, with the remedy; on a Jetson, whose GPU it does not know, too. Whatever comes back,
 * vt_nvml_library_close cleans up.
 */
enum vt_status vt_nvml_library_open(struct vt_nvml_library *library,
                                    const struct vt_meter_options *options,
                                    struct vt_error *err) VT_NODISCARD;
void vt_nvml_library_find(const struct vt_nvml_library *library,
                          const struct vt_nvml_symbol *symbols, size_t n);
void vt_nvml_library_close(struct vt_nvml_library *library); /* accepts a zeroed one */

/* "NVIDIA H200", clean of control characters. */
void vt_nvml_library_gpu_name(const struct vt_nvml_library *library, unsigned gpu, char *text,
                              size_t size);
/* What the library says of a code, clean; "no text". Static storage or the library's. */
const char *vt_nvml_library_error(const struct vt_nvml_library *library, int code);

#endif
