/* SPDX-License-Identifier: Apache-2.0 */
#include "run/energy/wall.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "power/ptdaemon.h"

#define MARGIN_NS    (10 * VT_NS_PER_S)
#define AMPS_RESERVE 1.1

/* The first domain of PTDaemon's meter. */
static bool find(const struct vt_sampler *sampler, uint32_t *ret_first)
{
    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        if (vt_sampler_domain(sampler, i).meter == &vt_meter_ptdaemon) {
            *ret_first = i;
            return true;
        }
    }
    return false;
}

static double largest(const struct vt_sampler *sampler, uint32_t index)
{
    const struct vt_power_track track = vt_sampler_track(sampler, index, NULL);
    double most = 0;

    for (size_t i = 0; i < track.n; i++) {
        most = track.values[i] > most ? track.values[i] : most;
    }
    return most;
}

bool vt_wall_ranges(const struct vt_sampler *sampler, double *ret_volts, double *ret_amps)
{
    uint32_t first;

    if (!find(sampler, &first)) {
        return false;
    }
    const double volts = largest(sampler, first + VT_PTD_VOLTS);
    const double amps = AMPS_RESERVE * largest(sampler, first + VT_PTD_AMPS);
    if (!(volts > 0 && amps > 0)) {
        return false;
    }
    *ret_volts = volts;
    *ret_amps = amps;
    return true;
}

/* A quantity of a line; left out where it was not told. */
static void put(FILE *out, const struct vt_sampler *sampler, uint32_t index, size_t at,
                const char *name)
{
    const struct vt_power_track track = vt_sampler_track(sampler, index, NULL);

    if (at < track.n && isfinite(track.values[at])) {
        (void)fprintf(out, ",%s,%.6f", name, track.values[at]);
    }
}

enum vt_status vt_wall_write_log(const struct vt_sampler *sampler,
                                 const struct vt_power_window *window, const char *path,
                                 struct vt_error *err, bool *ret_written)
{
    struct vt_file_writer writer = {NULL, NULL, NULL};
    const int64_t *unix_ns;
    uint32_t first;

    if (!find(sampler, &first)) {
        *ret_written = false;
        return VT_OK;
    }
    enum vt_status status = vt_file_writer_open(&writer, path, err);
    if (status != VT_OK) {
        return status;
    }
    const struct vt_power_track track = vt_sampler_track(sampler, first, &unix_ns);
    for (size_t i = 0; i < track.n; i++) {
        const time_t at = (time_t)(unix_ns[i] / VT_NS_PER_S);
        struct tm utc;
        char text[32];
        if (track.ns[i] < window->begin_ns - MARGIN_NS ||
            track.ns[i] > window->end_ns + MARGIN_NS || gmtime_r(&at, &utc) == NULL) {
            continue;
        }
        (void)strftime(text, sizeof text, "%m-%d-%Y %H:%M:%S", &utc);
        (void)fprintf(writer.stream, "Time,%s.%03d", text,
                      (int)(unix_ns[i] % VT_NS_PER_S / VT_NS_PER_MS));
        put(writer.stream, sampler, first + VT_PTD_WATTS, i, "Watts");
        put(writer.stream, sampler, first + VT_PTD_VOLTS, i, "Volts");
        put(writer.stream, sampler, first + VT_PTD_AMPS, i, "Amps");
        put(writer.stream, sampler, first + VT_PTD_FACTOR, i, "PF");
        (void)fputs(",Mark,vatio_testing\n", writer.stream);
    }
    status = vt_file_writer_commit(&writer, err);
    if (status == VT_OK) {
        *ret_written = true;
    }
    return status;
}
