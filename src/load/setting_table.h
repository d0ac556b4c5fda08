/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says everything about a setting of a run: name, type, range, default, and how MLPerf's
 * configuration files call it. The check of ranges, the configuration files, the public API and
 * the logs are read from it.
 *
 * Durations are nanoseconds in the struct. As text they take the field's MLPerf unit when they are
 * read under an MLPerf name ("min_duration_ms"), and vatio's durations ("10s") under vatio's own.
 */
#ifndef VT_LOAD_SETTING_TABLE_H
#define VT_LOAD_SETTING_TABLE_H

#include <stddef.h>

#include "core/report.h"

enum vt_load_setting_type {
    VT_SETTING_SCENARIO,
    VT_SETTING_MODE,
    VT_SETTING_BOOL,
    VT_SETTING_U32,
    VT_SETTING_I32,
    VT_SETTING_U64,
    VT_SETTING_F64,
    VT_SETTING_NS,
    VT_SETTING_BOUNDED_METHOD,
    VT_SETTING_ARRIVALS,
    VT_SETTING_PATH,
};

struct vt_load_setting {
    const char *name; /* of TestSettings, with its unit: "min_duration_ms" */
    enum vt_load_setting_type type;
    size_t offset;   /* in struct vt_load_settings */
    double unit;     /* of the text, in the struct's unit: 1e6 for _ms; 1 where there is none */
    double min, max; /* in the unit of the text; both 0: any value of the type */
    const char *default_text;
    bool of_vatio;    /* not in TestSettings */
    const char *help; /* half a line for manuals */
};

const struct vt_load_setting *vt_load_settings_table(size_t *ret_n);
/* NULL when there is none of that name. */
const struct vt_load_setting *vt_load_setting_find(const char *name);
/* The name that is nearest to a mistyped one; NULL when none is near. */
const char *vt_load_setting_nearest(const char *name);

/* Reads `text` into the field. VT_ERR_USAGE names the setting, the value and the range. */
enum vt_status vt_load_setting_set(struct vt_load_settings *settings, const char *name,
                                   const char *text, struct vt_error *err) VT_NODISCARD;
/* The value as it would be set; cut at `room` - 1 bytes. */
void vt_load_setting_text(const struct vt_load_settings *settings,
                          const struct vt_load_setting *setting, char *ret_text, size_t room);

#endif
