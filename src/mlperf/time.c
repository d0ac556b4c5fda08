/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct tm utc_of(int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc = {0};

    if (gmtime_r(&seconds, &utc) == NULL) {
        memset(&utc, 0, sizeof utc);
    }
    return utc;
}

const char *vt_mlperf_time_iso(int64_t unix_ms, char ret_text[VT_MLPERF_TIME_MAX])
{
    struct tm utc = utc_of(unix_ms);

    ret_text[strftime(ret_text, VT_MLPERF_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc)] = '\0';
    return ret_text;
}

const char *vt_mlperf_time_power(int64_t unix_ms, char ret_text[VT_MLPERF_TIME_MAX])
{
    struct tm utc = utc_of(unix_ms);
    size_t n = strftime(ret_text, VT_MLPERF_TIME_MAX, "%m-%d-%Y %H:%M:%S", &utc);

    (void)snprintf(ret_text + n, VT_MLPERF_TIME_MAX - n, ".%03d", (int)(unix_ms % 1000));
    return ret_text;
}
