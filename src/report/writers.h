/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of a report. Texts come from anywhere: each writer escapes them for its format and
 * replaces what is not UTF-8. Write errors stay in the stream. VT_ERR_MEMORY is the one failure.
 */
#ifndef VT_REPORT_WRITERS_H
#define VT_REPORT_WRITERS_H

#include <stdio.h>

#include "report/document.h"
#include "report/source.h"

/* One file that needs no other: style, script, Chart.js and data are in it. */
enum vt_status vt_report_html(const struct vt_document *document, FILE *out,
                              struct vt_error *err) VT_NODISCARD;
enum vt_status vt_report_markdown(const struct vt_document *document, FILE *out,
                                  struct vt_error *err) VT_NODISCARD;
/* A row each for results, compared engines, layers and points of sweeps, with full precision. */
void vt_report_csv(const struct vt_sources *sources, FILE *out);

#endif
