/* SPDX-License-Identifier: Apache-2.0 */
/* power.csv from any bytes. What is accepted adds up. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/tracks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_track(const struct vt_track *track)
{
    uint64_t n = 0;

    require(track->n > 0 && track->name[0] != '\0' && track->low <= track->high);
    for (int i = 0; i < VT_TRACK_BINS; i++) {
        const struct vt_track_bin *bin = &track->bins[i];
        require(bin->n == 0 || (bin->low >= track->low && bin->high <= track->high &&
                                bin->low <= bin->high && bin->first_ns <= bin->last_ns));
        n += bin->n;
    }
    require(n == track->n && isfinite(track->sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_tracks tracks = {0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_tracks_parse((const char *)data, size, "any.csv", &err, &tracks);

    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any.csv:", 8) == 0 && strchr(err.text, '\n') == NULL);
        require(tracks.tracks == NULL);
        return 0;
    }
    require(tracks.n <= VT_TRACKS_MAX && tracks.begin_ns <= tracks.end_ns);
    for (uint32_t i = 0; i < tracks.n; i++) {
        check_track(&tracks.tracks[i]);
    }
    vt_tracks_release(&tracks);
    return 0;
}
