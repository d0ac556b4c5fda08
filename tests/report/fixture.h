/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as runs, sweeps, comparisons and profiles leave them. */
#ifndef VT_TEST_REPORT_FIXTURE_H
#define VT_TEST_REPORT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

/* The folder that holds run/, again/, comparison/, profile/, sweep/, hostile/ and bare/. */
extern char fixture_folder[64];
int fixture_make(void **state);
int fixture_remove(void **state);
/* "<fixture_folder>/name" in static storage. */
const char *fixture_path(const char *name);

/* Latencies of the records of run/server, in order of issue. */
#define FIXTURE_SAMPLES 20000
int64_t fixture_latency_ns(uint32_t i);

/* Whole files. read: with a NUL behind, to be freed. */
void fixture_folder_make(const char *name);
void fixture_write(const char *name, const void *bytes, size_t size);
char *fixture_read(const char *path);
/* What standard output would get from `vatio report` on these folders (NULL-terminated); freed by
 * the caller. */
char *fixture_report(const char *format, const char *first, ...);

#endif
