/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the settings of a run come to: MLPerf LoadGen's derived values, and the check of ranges.
 */
#ifndef VT_LOAD_SETTINGS_H
#define VT_LOAD_SETTINGS_H

#include "load/load.h"

/* Samples of a run: their sequence is the low half of an id. */
#define VT_LOAD_SAMPLES_MAX UINT32_MAX

/* LoadGen's "effective" settings, those that are not in vt_load_settings as such. */
struct vt_load_effective {
    double target_qps;
    double percentile;          /* the scenario's target; 0.99 in Offline, where nothing uses it */
    uint64_t samples_per_query; /* Offline: of its one query, before equal issue pads it */
    uint64_t min_query_count;
    uint64_t min_sample_count;
    int64_t target_duration_ns; /* 0 in Offline */
    uint64_t performance_sample_count;
    uint64_t accuracy_sample_count;
};

/*
 * Checks the settings against their ranges and the library, and derives. VT_ERR_USAGE names field,
 * value and range; VT_ERR_LIMIT where a run would need more than VT_LOAD_SAMPLES_MAX samples.
 */
enum vt_status vt_load_settings_resolve(const struct vt_load_settings *settings,
                                        uint64_t total_count, uint64_t performance_count,
                                        struct vt_error *err,
                                        struct vt_load_effective *ret_effective) VT_NODISCARD;

#endif
