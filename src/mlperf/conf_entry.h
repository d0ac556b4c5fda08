/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a configuration file, and what applies many of them. For the files of this room. */
#ifndef VT_MLPERF_CONF_ENTRY_H
#define VT_MLPERF_CONF_ENTRY_H

#include "mlperf/conf.h"

/* Not terminated; borrowed. */
struct vt_conf_slice {
    const char *at;
    size_t n;
};

struct vt_conf_entry {
    struct vt_conf_slice model, scenario, key; /* model and scenario are empty where the line names
                                                  no three parts: then key is all of it */
    struct vt_conf_slice value;
    uint32_t line; /* from 1 */
};

/* A value that the syntax admits: an integer of base 0 or a finite decimal number. */
bool vt_conf_is_value(const char *text);

/* As vt_conf_apply_text, from entries in the order of the file. */
enum vt_status vt_conf_apply_entries(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                     const struct vt_conf_entry *entries, size_t n,
                                     const char *name, const char *model,
                                     const struct vt_conf_warnings *warnings,
                                     struct vt_error *err) VT_NODISCARD;

#endif
