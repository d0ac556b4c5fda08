/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in a report about each kind of source. Whatever a file lacks is left out, so that
 * results of older and newer versions can be shown.
 */
#ifndef VT_REPORT_CONTENT_H
#define VT_REPORT_CONTENT_H

#include "report/document.h"
#include "report/source.h"

/* Everything: a title, several sources side by side, then each by itself. The status is that of
 * reading records and tracks; VT_ERR_MEMORY where the document failed. */
enum vt_status vt_content_write(struct vt_document *document, const struct vt_sources *sources,
                                struct vt_error *err) VT_NODISCARD;

/* Runs beside each other, per scenario that two of them have; nothing otherwise. */
void vt_content_runs(struct vt_document *document, const struct vt_sources *sources);
enum vt_status vt_content_run(struct vt_document *document, const struct vt_source *source,
                              struct vt_error *err) VT_NODISCARD;
/* One performance result of a run: its distribution, and what went on over time. */
enum vt_status vt_content_result(struct vt_document *document, const struct vt_source *source,
                                 const json_t *result, struct vt_error *err) VT_NODISCARD;
void vt_content_energy(struct vt_document *document, const json_t *results);
void vt_content_comparison(struct vt_document *document, const struct vt_source *source);
void vt_content_profile(struct vt_document *document, const struct vt_source *source);
void vt_content_sweep(struct vt_document *document, const struct vt_source *source);

/* The machine, the command line that does it again, and every option. */
void vt_content_origin(struct vt_document *document, const struct vt_source *source,
                       const char *verb);
/* "digits (14,378 parameters) · native fp32 on AVX-512, 2 threads · 2026-11-30 13:55:03 UTC". */
void vt_content_about(struct vt_document *document, const struct vt_source *source);

/* "Server" of "server"; a scenario that this vatio does not know as it is. Never NULL. */
const char *vt_content_scenario(const json_t *result);
/* Whether it is a performance result that ran. */
bool vt_content_measured(const json_t *result);
/* The latencies that count: those of queries in MultiStream, none (NULL) in Offline. */
const json_t *vt_content_latency(const json_t *result);

#define VT_COLUMNS_OF(columns) (columns), (uint32_t)(sizeof(columns) / sizeof((columns)[0]))

#endif
