/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says everything about a setting of a run: name, type, range, default, and what it is
 * for. The defaults, the check of ranges, the configuration files, the options and the public API
 * are made from it.
 *
 * Durations are nanoseconds in the struct. As text they are numbers of the unit that an MLPerf name
 * ends in ("min_duration_ms"; nanoseconds where it ends in none), and durations with a unit ("10s")
 * under names of vatio's own. The text of a size has a unit as well ("1GiB").
 *
 * Not in the table, since text cannot say them: the arrays arrival_trace_ns and issue_cpus.
 */
#ifndef VT_LOAD_SETTING_TABLE_H
#define VT_LOAD_SETTING_TABLE_H

#include <stddef.h>

#include "core/report.h"

enum vt_load_setting_type {
    VT_SETTING_SCENARIO,       /* enum vt_scenario: "Offline" */
    VT_SETTING_MODE,           /* enum vt_mode: "PerformanceOnly" */
    VT_SETTING_BOOL,           /* bool */
    VT_SETTING_U32,            /* uint32_t */
    VT_SETTING_I32,            /* int32_t */
    VT_SETTING_U64,            /* uint64_t */
    VT_SETTING_F64,            /* double */
    VT_SETTING_FRACTION,       /* double between 0 and 1, both excluded */
    VT_SETTING_NS,             /* int64_t */
    VT_SETTING_SIZE,           /* uint64_t, bytes */
    VT_SETTING_BOUNDED_METHOD, /* enum vt_bounded_method: "lemire" */
    VT_SETTING_ARRIVALS,       /* enum vt_arrivals: "poisson" */
    VT_SETTING_PATH,           /* const char *, borrowed from the text; NULL: none */
};

struct vt_load_setting {
    const char *name; /* of TestSettings, with its unit: "min_duration_ms" */
    enum vt_load_setting_type type;
    size_t offset;   /* in struct vt_load_settings */
    double unit;     /* of the text, in the struct's unit: 1e6 for _ms; 1 where there is none */
    double min, max; /* in the unit of the text; both 0: any value of the type */
    double default_value; /* in the unit of the text; of an enum its number; PATH: none */
    bool of_vatio;        /* not in TestSettings */
    const char *help;     /* half a line for manuals */
};

const struct vt_load_setting *vt_load_settings_table(size_t *ret_n);
/* NULL when there is none of that name. */
const struct vt_load_setting *vt_load_setting_find(const char *name);
/* The name that is nearest to a mistyped one; NULL when none is near. */
const char *vt_load_setting_nearest(const char *name);
/* VT_ERR_USAGE: there is no setting of that name, and which one is near. */
enum vt_status vt_load_setting_refuse(const char *name, struct vt_error *err) VT_NODISCARD;
/* Whether the setting says something in this scenario: server_… in Server only, and so on. */
bool vt_load_setting_concerns(const struct vt_load_setting *setting, enum vt_scenario scenario);

/* Reads `text` into the field. VT_ERR_USAGE names the setting, the value and the range; a failure
 * changes nothing. */
enum vt_status vt_load_setting_set(struct vt_load_settings *settings, const char *name,
                                   const char *text, struct vt_error *err) VT_NODISCARD;
/*
 * The same for a number in the struct's unit (a long double holds every 64-bit integer); whole
 * types are rounded to the nearest. Not for PATH.
 */
enum vt_status vt_load_setting_put(struct vt_load_settings *settings,
                                   const struct vt_load_setting *setting, long double value,
                                   struct vt_error *err) VT_NODISCARD;
/* The value as it would be set; cut at `room` - 1 bytes. */
void vt_load_setting_text(const struct vt_load_settings *settings,
                          const struct vt_load_setting *setting, char *ret_text, size_t room);
/* Every setting that concerns settings->scenario against its range. VT_ERR_USAGE names the first
 * one that is out. */
enum vt_status vt_load_settings_check(const struct vt_load_settings *settings,
                                      struct vt_error *err) VT_NODISCARD;

#endif
