/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvpmodel.conf of Jetson boards: which power modes there are. The file is a list of sections
 * "< POWER_MODEL ID=0 NAME=MAXN >" whose lines set clocks and cores, of the parameters that these
 * may name, and of "< PM_CONFIG DEFAULT=0 >". What the lines set is left to nvpmodel itself.
 */
#ifndef VT_POWER_NVPMODEL_CONF_H
#define VT_POWER_NVPMODEL_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_NVPMODEL_MODES_MAX 64
#define VT_NVPMODEL_ID_MAX    9999
#define VT_NVPMODEL_BYTES_MAX ((size_t)1024 * 1024)

struct vt_nvpmodel_mode {
    int32_t id;
    char name[40];
    uint32_t n_settings; /* lines of it */
};

struct vt_nvpmodel_conf {
    struct vt_nvpmodel_mode modes[VT_NVPMODEL_MODES_MAX];
    uint32_t n;
    int32_t standard; /* the mode that the board starts in */
};

/* VT_ERR_FORMAT names the line: NAME:LINE. At least one mode is there on success, ids and names
 * are each there once, and the default is one of them. */
enum vt_status vt_nvpmodel_parse(const char *text, size_t size, const char *name,
                                 struct vt_error *err, struct vt_nvpmodel_conf *ret) VT_NODISCARD;
/* NULL when there is none of that id or name. */
const struct vt_nvpmodel_mode *vt_nvpmodel_find(const struct vt_nvpmodel_conf *conf, double id);
const struct vt_nvpmodel_mode *vt_nvpmodel_named(const struct vt_nvpmodel_conf *conf,
                                                 const char *name);

#endif
