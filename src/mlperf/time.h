/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock times as the logs write them. Always UTC. */
#ifndef VT_MLPERF_TIME_H
#define VT_MLPERF_TIME_H

#include <stdint.h>

#define VT_MLPERF_TIME_MAX 64

/* "2026-11-30T10:12:07Z". Returns ret_text. */
const char *vt_mlperf_time_iso(int64_t unix_ms, char ret_text[VT_MLPERF_TIME_MAX]);
/* As the power measurement reads it: "11-30-2026 10:12:07.250". */
const char *vt_mlperf_time_power(int64_t unix_ms, char ret_text[VT_MLPERF_TIME_MAX]);

#endif
