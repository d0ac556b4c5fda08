/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the settings of a run come to: MLPerf LoadGen's derived values, and the check of ranges.
 */
#ifndef VT_LOAD_SETTINGS_H
#define VT_LOAD_SETTINGS_H

#include "load/load.h"

/* Samples of a run: their sequence is the low half of an id. */
#define VT_LOAD_SAMPLES_MAX UINT32_MAX

/* test05: performance with seeds of its own, whatever mode was asked for. Done twice it is the same
 * as done once. */
void vt_load_settings_apply_test05(struct vt_load_settings *settings);

/*
 * Checks the settings against their ranges and the library, and derives. VT_ERR_USAGE names field,
 * value and range; VT_ERR_LIMIT where a run would need more than VT_LOAD_SAMPLES_MAX samples.
 */
enum vt_status vt_load_settings_resolve(const struct vt_load_settings *settings,
                                        uint64_t total_count, uint64_t performance_count,
                                        struct vt_error *err,
                                        struct vt_load_effective *ret_effective) VT_NODISCARD;

#endif
