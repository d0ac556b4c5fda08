/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf's configuration files: mlperf.conf, user.conf and audit.config, in the official syntax
 * and precedence (loadgen/test_settings_internal.cc of mlcommons/inference).
 *
 * A line is `model.scenario.key = value`, blanks around the `=`; either of the first two parts may
 * be `*`. `#` with a blank behind it starts a comment, on a line of its own. A value is an integer
 * (010 is octal, 0x10 hexadecimal) or a decimal number. What is looked up first wins:
 * model.scenario, *.scenario, model.*, *.*; of equal lines the later one. Times are milliseconds,
 * percentiles percent.
 *
 * A key that is unknown, misspelt or without effect is a warning that names file, line and the
 * nearest valid key: the official reader drops it silently. A malformed line is an error. Where a
 * whole number is wanted, a fraction is dropped as the official reader does, with a warning.
 */
#ifndef VT_MLPERF_CONF_H
#define VT_MLPERF_CONF_H

#include <stddef.h>

#include "core/report.h"

enum vt_conf_kind {
    VT_CONF_MLPERF = 0, /* mlperf.conf: may set everything */
    VT_CONF_USER = 1,   /* user.conf: everything but seeds, test05 and accuracy_log_probability */
    VT_CONF_AUDIT = 2,  /* audit.config, a compliance test's: the same */
};

#define VT_CONF_FILE_MAX ((size_t)1 << 20)
#define VT_CONF_LINE_MAX 4000
/* Further warnings of a file are counted, not told. */
#define VT_CONF_WARNINGS_MAX 20

/* Where warnings go, one line each: "user.conf:3: …". May be NULL in calls below. */
struct vt_conf_warnings {
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};

/*
 * Applies a file to settings. settings->scenario is set before. `name` is for messages, `model` a
 * benchmark's name as the round's file has it; NULL, "" or "*" for none. What the file says of
 * other scenarios' settings is set as well. Nothing is applied on failure. VT_ERR_FORMAT with
 * file:line and the reason.
 */
enum vt_status vt_conf_apply_text(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                  const char *text, size_t length, const char *name,
                                  const char *model, const struct vt_conf_warnings *warnings,
                                  struct vt_error *err) VT_NODISCARD;
/* The same from a file. VT_ERR_NOT_FOUND, VT_ERR_READ; VT_ERR_LIMIT above VT_CONF_FILE_MAX. */
enum vt_status vt_conf_apply_file(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                  const char *path, const char *model,
                                  const struct vt_conf_warnings *warnings,
                                  struct vt_error *err) VT_NODISCARD;

#endif
