/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "power/ptdaemon.h"

/* As many samples as a measurement without a fixed length takes. */
#define SAMPLES_MAX 500000

/* A number that ends at a comma or at the end of the line; NULL when none stands there. */
static const char *number(const char *at, double *ret)
{
    char *end;
    const double value = strtod(at, &end);

    if (end == at || (*end != ',' && *end != '\0') || !isfinite(value)) {
        return NULL;
    }
    *ret = value;
    return end;
}

/* So many digits. */
static const char *digits(const char *at, int n, int *ret)
{
    int value = 0;

    for (int i = 0; i < n; i++, at++) {
        if (*at < '0' || *at > '9') {
            return NULL;
        }
        value = 10 * value + (*at - '0');
    }
    *ret = value;
    return at;
}

/* "02-18-2023 17:05:24.090" */
static const char *moment(const char *at, int64_t *ret_ns)
{
    static const struct {
        int n;
        char end;
    } parts[] = {{2, '-'}, {2, '-'}, {4, ' '}, {2, ':'}, {2, ':'}, {2, '.'}, {3, '\0'}};
    int v[7];

    for (int i = 0; i < 7; i++) {
        at = digits(at, parts[i].n, &v[i]);
        if (at == NULL || (parts[i].end != '\0' && *at++ != parts[i].end)) {
            return NULL;
        }
    }
    if (v[0] < 1 || v[0] > 12 || v[1] < 1 || v[1] > 31 || v[2] < 1970 || v[3] > 23 || v[4] > 59 ||
        v[5] > 60 || v[2] > 2200) {
        return NULL;
    }
    struct tm calendar = {.tm_mon = v[0] - 1,
                          .tm_mday = v[1],
                          .tm_year = v[2] - 1900,
                          .tm_hour = v[3],
                          .tm_min = v[4],
                          .tm_sec = v[5]};
    *ret_ns = (int64_t)timegm(&calendar) * VT_NS_PER_S + v[6] * VT_NS_PER_MS;
    return at;
}

bool vt_ptd_sample_parse(const char *line, struct vt_ptd_sample *ret)
{
    struct vt_ptd_sample sample = {
        .volts = (double)NAN, .amps = (double)NAN, .power_factor = (double)NAN};
    bool has_watts = false;

    if (strncmp(line, "Time,", 5) != 0) {
        return false;
    }
    const char *at = moment(line + 5, &sample.unix_ns);
    /* Name and value in turns; names that mean nothing here are passed over. */
    while (at != NULL && *at == ',') {
        const char *name = at + 1, *comma = strchr(name, ',');
        if (comma == NULL) {
            break;
        }
        const size_t length = (size_t)(comma - name);
        double *to = length == 5 && strncmp(name, "Watts", 5) == 0   ? &sample.watts
                     : length == 5 && strncmp(name, "Volts", 5) == 0 ? &sample.volts
                     : length == 4 && strncmp(name, "Amps", 4) == 0  ? &sample.amps
                     : length == 2 && strncmp(name, "PF", 2) == 0    ? &sample.power_factor
                                                                     : NULL;
        if (to != NULL) {
            at = number(comma + 1, to);
            has_watts = has_watts || (to == &sample.watts && at != NULL);
        } else {
            at = comma + 1 + strcspn(comma + 1, ",");
        }
    }
    if (at == NULL || !has_watts) {
        return false;
    }
    *ret = sample;
    return true;
}

bool vt_ptd_uncertainty_parse(const char *line, double *ret_mean)
{
    return strncmp(line, "Uncertainty,", 12) == 0 && number(line + 12, ret_mean) != NULL;
}

bool vt_ptd_ranges_parse(const char *line, struct vt_ptd_ranges *ret)
{
    double v[4];
    const char *at = line + 6;

    if (strncmp(line, "Ranges,", 7) != 0) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        at = *at == ',' ? number(at + 1, &v[i]) : NULL;
        if (at == NULL) {
            return false;
        }
    }
    if (fabs(v[0]) > 1 || fabs(v[2]) > 1) {
        return false;
    }
    *ret = (struct vt_ptd_ranges){(int)v[0], (int)v[2], v[1], v[3]};
    return true;
}

bool vt_ptd_count_parse(const char *line, uint32_t *ret)
{
    char *end;

    if (strncmp(line, "Last ", 5) != 0 || line[5] < '0' || line[5] > '9') {
        return false;
    }
    const unsigned long n = strtoul(line + 5, &end, 10);
    if (strncmp(end, " samples", 8) != 0 || n > SAMPLES_MAX) {
        return false;
    }
    *ret = (uint32_t)n;
    return true;
}
