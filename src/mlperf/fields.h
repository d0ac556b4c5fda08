/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a test as the log files list them: as requested and as they took effect in the
 * detail log, the parameters in the summary. Each list is one table.
 */
#ifndef VT_MLPERF_FIELDS_H
#define VT_MLPERF_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/report.h"

/* What the lists are read from. */
struct vt_mlperf_settings {
    struct vt_load_settings asked; /* with test05's changes */
    struct vt_load_effective effective;
    int64_t target_latency_ns; /* Server's; 0 elsewhere */
    uint64_t max_async_queries;
};

enum vt_mlperf_field_type {
    VT_FIELD_SCENARIO,
    VT_FIELD_MODE,
    VT_FIELD_BOOL,
    VT_FIELD_U32,
    VT_FIELD_U64,
    VT_FIELD_F64,
    VT_FIELD_NS,
    VT_FIELD_MS, /* nanoseconds in the struct */
};

struct vt_mlperf_field {
    const char *label; /* in the detail log a key, in the summary what stands before the value */
    enum vt_mlperf_field_type type;
    size_t offset; /* in struct vt_mlperf_settings */
    unsigned when; /* a bit a scenario, and VT_FIELD_TOKENS, VT_FIELD_NO_TOKENS; 0: always */
};
#define VT_FIELD_TOKENS    (1u << 8)
#define VT_FIELD_NO_TOKENS (1u << 9)

enum vt_mlperf_list {
    VT_LIST_REQUESTED,  /* keys "requested_…" */
    VT_LIST_EFFECTIVE,  /* keys "effective_…" */
    VT_LIST_PARAMETERS, /* labels of the summary */
};

void vt_mlperf_settings_of(const struct vt_load_settings *settings,
                           const struct vt_load_effective *effective,
                           struct vt_mlperf_settings *ret_settings);

const struct vt_mlperf_field *vt_mlperf_fields(enum vt_mlperf_list list, size_t *ret_n);
/* False where the list of these settings goes without the field. */
bool vt_mlperf_field_applies(const struct vt_mlperf_field *field,
                             const struct vt_mlperf_settings *settings);
#define VT_FIELD_TEXT_MAX 64
/* The value as JSON, or as the summary has it: names unquoted, booleans 0 and 1. */
void vt_mlperf_field_text(const struct vt_mlperf_field *field,
                          const struct vt_mlperf_settings *settings, bool json,
                          char ret_text[VT_FIELD_TEXT_MAX]);

#endif
