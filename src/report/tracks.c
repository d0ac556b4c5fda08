/* SPDX-License-Identifier: Apache-2.0 */
#include "report/tracks.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/options.h"
#include "base/quote.h"

#define HEADING   "t_ns,unix_ns,series,unit,value"
#define FIELDS    5
#define FIELD_MAX 160

struct row {
    char text[FIELDS][FIELD_MAX];
    int64_t ns;
    double value;
};

struct reader {
    const char *text, *name;
    size_t size, at;
    unsigned long long line;
    struct vt_error *err;
};

void vt_tracks_release(struct vt_tracks *tracks)
{
    vt_free(tracks->tracks);
    *tracks = (struct vt_tracks){0};
}

double vt_tracks_time(const struct vt_tracks *tracks, uint32_t i)
{
    const double span = (double)tracks->end_ns - (double)tracks->begin_ns;
    return (double)tracks->begin_ns + span * (i + 0.5) / VT_TRACK_BINS;
}

static enum vt_status refuse(const struct reader *reader, const char *what, const char *text,
                             const char *allowed)
{
    return vt_error_set(reader->err, VT_ERR_FORMAT, "%.200s:%llu: %s %s: %s", reader->name,
                        reader->line, what, vt_quote(text).text, allowed);
}

/* One field up to a comma or the end of the line; quotes around it hold commas, and "" a quote.
 * The place behind it, or NULL where it cannot be read. */
static const char *take_field(const char *at, const char *end, char *ret)
{
    const bool quoted = at < end && *at == '"';
    size_t n = 0;

    for (at += quoted; at < end && (quoted || *at != ','); at++) {
        if (quoted && *at == '"') {
            at++;
            if (at == end || *at != '"') {
                break;
            }
        }
        if (*at == '\0' || n + 1 == FIELD_MAX) {
            return NULL;
        }
        ret[n++] = *at;
    }
    ret[n] = '\0';
    return at == end || *at == ',' ? at : NULL;
}

/* The next line without its end; false at the end of the text. */
static bool next_line(struct reader *reader, const char **ret_line, const char **ret_end)
{
    if (reader->at >= reader->size) {
        return false;
    }
    const char *line = reader->text + reader->at;
    const char *newline = memchr(line, '\n', reader->size - reader->at);
    const char *end = newline != NULL ? newline : reader->text + reader->size;
    reader->at = (size_t)(end - reader->text) + 1;
    reader->line++;
    *ret_line = line;
    *ret_end = end > line && end[-1] == '\r' ? end - 1 : end;
    return true;
}

static enum vt_status read_heading(struct reader *reader)
{
    const char *line = NULL, *end = NULL;

    if (!next_line(reader, &line, &end) || (size_t)(end - line) != strlen(HEADING) ||
        memcmp(line, HEADING, strlen(HEADING)) != 0) {
        return vt_error_set(reader->err, VT_ERR_FORMAT,
                            "%.200s:1: the first line has to be " HEADING, reader->name);
    }
    return VT_OK;
}

static enum vt_status read_row(const struct reader *reader, const char *at, const char *end,
                               struct row *row)
{
    struct vt_error ignored = VT_ERROR_INIT;

    for (int i = 0; i < FIELDS; i++) {
        at = at <= end ? take_field(at, end, row->text[i]) : NULL;
        if (at == NULL) {
            return vt_error_set(reader->err, VT_ERR_FORMAT,
                                "%.200s:%llu: five fields are wanted, " HEADING, reader->name,
                                reader->line);
        }
        at++;
    }
    if (at <= end || row->text[2][0] == '\0' || strlen(row->text[2]) >= VT_TRACK_NAME_MAX ||
        strlen(row->text[3]) >= sizeof((struct vt_track *)NULL)->unit) {
        return refuse(reader, "the series is", row->text[2],
                      "five fields are wanted, names of at most 127 bytes, units of 15");
    }
    if (vt_parse_int(row->text[0], &row->ns, &ignored) != VT_OK || row->ns > VT_TRACK_TIME_MAX ||
        row->ns < -VT_TRACK_TIME_MAX) {
        return refuse(reader, "the time is", row->text[0], "give nanoseconds, at most 4e18");
    }
    if (vt_parse_real(row->text[4], &row->value, &ignored) != VT_OK ||
        !(fabs(row->value) <= VT_TRACK_VALUE_MAX)) {
        return refuse(reader, "the value is", row->text[4], "give a number of at most 1e15");
    }
    return VT_OK;
}

/* The track of this name and unit, which is made when it is the first of them. */
static enum vt_status find_track(const struct reader *reader, const struct row *row,
                                 struct vt_tracks *tracks, uint32_t *room,
                                 struct vt_track **ret_track)
{
    for (uint32_t i = 0; i < tracks->n; i++) {
        if (strcmp(tracks->tracks[i].name, row->text[2]) == 0 &&
            strcmp(tracks->tracks[i].unit, row->text[3]) == 0) {
            *ret_track = &tracks->tracks[i];
            return VT_OK;
        }
    }
    if (tracks->n == VT_TRACKS_MAX) {
        return vt_error_set(reader->err, VT_ERR_LIMIT, "%.200s:%llu: more than %d series",
                            reader->name, reader->line, VT_TRACKS_MAX);
    }
    if (tracks->n == *room) {
        const uint32_t wanted = *room > 0 ? 2 * *room : 8;
        struct vt_track *grown =
            vt_regrow(tracks->tracks, tracks->n * sizeof grown[0], wanted * sizeof grown[0]);
        if (grown == NULL) {
            return vt_error_set(reader->err, VT_ERR_MEMORY, "%.200s: out of memory", reader->name);
        }
        tracks->tracks = grown;
        *room = wanted;
    }
    struct vt_track *track = &tracks->tracks[tracks->n++];
    memset(track, 0, sizeof *track);
    (void)snprintf(track->name, sizeof track->name, "%s", row->text[2]);
    (void)snprintf(track->unit, sizeof track->unit, "%s", row->text[3]);
    *ret_track = track;
    return VT_OK;
}

static void put_reading(const struct vt_tracks *tracks, struct vt_track *track,
                        const struct row *row)
{
    const double span = (double)tracks->end_ns - (double)tracks->begin_ns;
    const double at = span > 0 ? ((double)row->ns - (double)tracks->begin_ns) / span : 0;
    const uint32_t wanted = (uint32_t)(at * VT_TRACK_BINS);
    struct vt_track_bin *bin = &track->bins[wanted < VT_TRACK_BINS ? wanted : VT_TRACK_BINS - 1];
    const double value = row->value;

    track->low = track->n == 0 || value < track->low ? value : track->low;
    track->high = track->n == 0 || value > track->high ? value : track->high;
    track->sum += value;
    track->n++;
    if (bin->n == 0 || row->ns < bin->first_ns) {
        bin->first_ns = row->ns;
        bin->first = value;
    }
    if (bin->n == 0 || row->ns >= bin->last_ns) {
        bin->last_ns = row->ns;
        bin->last = value;
    }
    bin->low = bin->n == 0 || value < bin->low ? value : bin->low;
    bin->high = bin->n == 0 || value > bin->high ? value : bin->high;
    bin->sum += value;
    bin->n++;
}

/* Every row: in the first pass their extent in time, in the second the readings. */
static enum vt_status pass(struct reader *reader, bool second, struct vt_tracks *tracks)
{
    const char *line, *end;
    uint32_t room = 0;
    bool any = false;
    struct row row;

    reader->at = 0;
    reader->line = 0;
    enum vt_status status = read_heading(reader);
    while (status == VT_OK && next_line(reader, &line, &end)) {
        struct vt_track *track = NULL;
        if (line == end) {
            continue;
        }
        status = read_row(reader, line, end, &row);
        if (status == VT_OK && second) {
            status = find_track(reader, &row, tracks, &room, &track);
        }
        if (status == VT_OK && second) {
            put_reading(tracks, track, &row);
        } else if (status == VT_OK) {
            tracks->begin_ns = !any || row.ns < tracks->begin_ns ? row.ns : tracks->begin_ns;
            tracks->end_ns = !any || row.ns > tracks->end_ns ? row.ns : tracks->end_ns;
            any = true;
        }
    }
    return status;
}

enum vt_status vt_tracks_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, struct vt_tracks *ret)
{
    struct reader reader = {.text = text, .name = name, .size = size, .err = err};
    struct vt_tracks tracks = {0};

    enum vt_status status = pass(&reader, false, &tracks);
    if (status == VT_OK) {
        status = pass(&reader, true, &tracks);
    }
    if (status != VT_OK) {
        vt_tracks_release(&tracks);
        return status;
    }
    *ret = tracks;
    return VT_OK;
}

enum vt_status vt_tracks_read(const char *path, struct vt_error *err, struct vt_tracks *ret)
{
    struct vt_file_map map = {NULL, 0};

    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status == VT_OK) {
        status = vt_tracks_parse((const char *)map.bytes, map.size, path, err, ret);
    }
    vt_file_map_release(&map);
    return status;
}
