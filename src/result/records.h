/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.vtr: one run's samples in a compact binary file.
 *
 *   offset  bytes  field (all little-endian)
 *   0       8      magic "VTREC\0\0\1" (the last byte is the version)
 *   8       4      scenario (enum vt_scenario)
 *   12      4      mode (enum vt_mode)
 *   16      8      n, the number of records
 *   24      8      start of the run, ms since 1970 UTC
 *   32      32·n   records: scheduled_ns i64, issued_ns i64, done_ns i64 (INT64_MIN: lost),
 *                  index u32, query u32
 */
#ifndef VT_RESULT_RECORDS_H
#define VT_RESULT_RECORDS_H

#include <stdio.h>

#include "base/file.h"
#include "core/report.h"

enum vt_status vt_records_write(const struct vt_load_report *report, const char *path,
                                struct vt_error *err) VT_NODISCARD;
/*
 * Records that were written, for reading. Every count and time in them can be: no latency
 * overflows. Belongs to one thread at a time.
 */
struct vt_records {
    struct vt_file_map map; /* none where the bytes are the caller's */
    const uint8_t *bytes;   /* the first record */
    uint64_t n;
    enum vt_scenario scenario;
    enum vt_mode mode;
    int64_t start_unix_ms;
};
/* VT_ERR_FORMAT for anything that is not such a file or is cut short; else as vt_file_map_open. On
 * success the caller releases the records. */
enum vt_status vt_records_open(const char *path, struct vt_error *err,
                               struct vt_records *ret) VT_NODISCARD;
/* The same of bytes in memory, which the caller keeps as long; `name` stands in messages. */
enum vt_status vt_records_parse(const uint8_t *bytes, size_t size, const char *name,
                                struct vt_error *err, struct vt_records *ret) VT_NODISCARD;
/* `i` is less than n. */
struct vt_sample_record vt_records_get(const struct vt_records *records, uint64_t i);
void vt_records_release(struct vt_records *records); /* accepts a zeroed one */
/*
 * CSV of a records file: a header line, then sample, query, index, scheduled_ns, issued_ns,
 * done_ns, latency_ns (empty where lost). VT_ERR_FORMAT for anything that is not such a file or
 * is cut short; VT_ERR_WRITE when `out` fails.
 */
VT_API enum vt_status vt_records_dump(const char *path, FILE *out,
                                      struct vt_error *err) VT_NODISCARD;

#endif
