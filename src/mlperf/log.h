/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf LoadGen's log files for a finished run: mlperf_log_summary.txt, mlperf_log_detail.txt
 * and mlperf_log_accuracy.json, in the official wording, so that the tools people have read them.
 */
#ifndef VT_MLPERF_LOG_H
#define VT_MLPERF_LOG_H

#include "load/load.h"

/* Writes the three files into `folder`, which exists. VT_ERR_WRITE names the file. */
enum vt_status vt_mlperf_log_write(const struct vt_load_report *report, const char *folder,
                                   struct vt_error *err) VT_NODISCARD;

#endif
