/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into JSON that others wrote: what is missing, null or of another type is simply not there.
 * All accept NULL in place of an object.
 */
#ifndef VT_REPORT_READER_H
#define VT_REPORT_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "report/document.h"

const char *vt_read_text(const json_t *object, const char *key); /* NULL: none */
/* NAN: none. */
double vt_read_number(const json_t *object, const char *key);
/* -1: none. */
int vt_read_flag(const json_t *object, const char *key);
json_t *vt_read_array(const json_t *object, const char *key);  /* NULL: none */
json_t *vt_read_object(const json_t *object, const char *key); /* NULL: none */

/* For people, as texts of the document; NULL where there is no number. */
const char *vt_say_number(struct vt_document *document, double value, const char *unit);
const char *vt_say_count(struct vt_document *document, double value);
const char *vt_say_duration(struct vt_document *document, double ns);
const char *vt_say_bytes(struct vt_document *document, double bytes);
/* A metric's value in its unit; of nanoseconds a duration. */
const char *vt_say_metric(struct vt_document *document, double value, const char *unit);
/* "617 µJ": joules with the prefix that fits. */
const char *vt_say_joules(struct vt_document *document, double joules);
/* "2026-11-30 10:12:07 UTC" of "2026-11-30T10:12:07Z"; other texts as they are. */
const char *vt_say_time(struct vt_document *document, const char *utc);
/* "12.3 ± 0.4 J"; without an uncertainty the number alone. */
const char *vt_say_uncertain(struct vt_document *document, double value, double uncertainty,
                             const char *unit);

#endif
