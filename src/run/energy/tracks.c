/* SPDX-License-Identifier: Apache-2.0 */
#include "run/energy/tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#define MARGIN_NS VT_NS_PER_S

/* A name of a kernel's file may hold anything. */
static void put_name(FILE *out, const struct vt_sampler_domain *at)
{
    const bool power = at->domain->kind != VT_METER_OTHER;
    char name[160];

    (void)snprintf(name, sizeof name, "%s%s%s", power ? at->meter->name : "", power ? "/" : "",
                   at->domain->name);
    if (strpbrk(name, ",\"\r\n") == NULL) {
        (void)fputs(name, out);
        return;
    }
    (void)fputc('"', out);
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '"') {
            (void)fputc('"', out);
        }
        (void)fputc(*c == '\r' || *c == '\n' ? ' ' : *c, out);
    }
    (void)fputc('"', out);
}

static void put_series(FILE *out, const struct vt_sampler *sampler, uint32_t index,
                       const struct vt_power_window *window)
{
    const int64_t *unix_ns;
    const struct vt_power_track track = vt_sampler_track(sampler, index, &unix_ns);
    const struct vt_sampler_domain at = vt_sampler_domain(sampler, index);
    const char *unit = at.domain->kind == VT_METER_ENERGY  ? "J"
                       : at.domain->kind == VT_METER_POWER ? "W"
                                                           : at.domain->unit;
    size_t first = 0, last = track.n;

    while (first + 1 < track.n && track.ns[first + 1] < window->begin_ns - MARGIN_NS) {
        first++;
    }
    while (last > first && track.ns[last - 1] > window->end_ns + MARGIN_NS &&
           (last < 2 || track.ns[last - 2] > window->end_ns)) {
        last--;
    }
    for (size_t i = first; i < last; i++) {
        if (isfinite(track.values[i])) {
            (void)fprintf(out, "%" PRId64 ",%" PRId64 ",", track.ns[i] - window->begin_ns,
                          unix_ns[i]);
            put_name(out, &at);
            (void)fprintf(out, ",%s,%.17g\n", unit, track.values[i]);
        }
    }
}

enum vt_status vt_tracks_write(const struct vt_sampler *sampler,
                               const struct vt_power_window *window, const char *path,
                               struct vt_error *err)
{
    struct vt_file_writer writer = {NULL, NULL, NULL};

    enum vt_status status = vt_file_writer_open(&writer, path, err);
    if (status != VT_OK) {
        return status;
    }
    (void)fputs("t_ns,unix_ns,series,unit,value\n", writer.stream);
    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        put_series(writer.stream, sampler, i, window);
    }
    return vt_file_writer_commit(&writer, err);
}
