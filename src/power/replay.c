/* SPDX-License-Identifier: Apache-2.0 */
#include "power/replay.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/options.h"
#include "base/quote.h"
#include "power/meter.h"

/* --- the file ------------------------------------------------------------------------------ */

#define NUMBER_MAX 63
#define STEP_MIN_S 1e-6

struct reader {
    const char *name;
    unsigned long long line;
    size_t room;
    struct vt_replay_curve curve;
    struct vt_error *err;
};

void vt_replay_release(struct vt_replay_curve *curve)
{
    vt_free(curve->seconds);
    vt_free(curve->watts);
    *curve = (struct vt_replay_curve){0};
}

static bool grow(struct reader *reader)
{
    const size_t old = reader->room * sizeof(double),
                 room = reader->room > 0 ? 2 * reader->room : 64;
    double *seconds = vt_regrow(reader->curve.seconds, old, room * sizeof(double));

    if (seconds == NULL) {
        return false;
    }
    reader->curve.seconds = seconds;
    double *watts = vt_regrow(reader->curve.watts, old, room * sizeof(double));
    if (watts == NULL) {
        return false;
    }
    reader->curve.watts = watts;
    reader->room = room;
    return true;
}

/* A field without the blanks around it. False when it is too long for a number. */
static bool field(const char *text, size_t length, char ret[NUMBER_MAX + 1])
{
    while (length > 0 && isspace((unsigned char)text[0])) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    if (length > NUMBER_MAX || memchr(text, '\0', length) != NULL) {
        return false;
    }
    memcpy(ret, text, length);
    ret[length] = '\0';
    return true;
}

static enum vt_status refuse(const struct reader *reader, const char *what, const char *text,
                             const char *allowed)
{
    return vt_error_set(reader->err, VT_ERR_FORMAT, "%.100s:%llu: %s %s: %s", reader->name,
                        reader->line, what, vt_quote(text).text, allowed);
}

static enum vt_status add_row(struct reader *reader, const char *time, const char *power)
{
    struct vt_replay_curve *curve = &reader->curve;
    struct vt_error ignored = VT_ERROR_INIT;
    double seconds, watts;

    if (vt_parse_real(time, &seconds, &ignored) != VT_OK ||
        !(fabs(seconds) <= VT_REPLAY_SECONDS_MAX * 10)) {
        return refuse(reader, "the time is", time, "give seconds, as in 0.5");
    }
    if (vt_parse_real(power, &watts, &ignored) != VT_OK || !(watts >= 0) ||
        watts > VT_REPLAY_WATTS_MAX) {
        return refuse(reader, "the power is", power, "give watts from 0 to 1e9");
    }
    if (curve->n > 0 && !(seconds - curve->seconds[curve->n - 1] >= STEP_MIN_S)) {
        return refuse(reader, "the time is", time, "times ascend, by a microsecond and more");
    }
    if (curve->n > 0 && seconds - curve->seconds[0] > VT_REPLAY_SECONDS_MAX) {
        return refuse(reader, "the time is", time, "at most 1e9 seconds after the first");
    }
    if (curve->n == reader->room && !grow(reader)) {
        return vt_error_set(reader->err, VT_ERR_MEMORY, "%.100s: out of memory", reader->name);
    }
    curve->seconds[curve->n] = seconds;
    curve->watts[curve->n++] = watts;
    return VT_OK;
}

static enum vt_status read_line(struct reader *reader, const char *text, size_t length)
{
    char time[NUMBER_MAX + 1], power[NUMBER_MAX + 1];
    const char *comma = memchr(text, ',', length);

    if (field(text, length, time) && (time[0] == '\0' || time[0] == '#')) {
        return VT_OK;
    }
    if (length > 0 && text[0] == '#') {
        return VT_OK;
    }
    const size_t before = comma != NULL ? (size_t)(comma - text) : length;
    const char *second = comma != NULL ? memchr(comma + 1, ',', length - before - 1) : NULL;
    const size_t end = second != NULL ? (size_t)(second - text) : length;
    if (comma == NULL || !field(text, before, time) || !field(comma + 1, end - before - 1, power)) {
        return vt_error_set(reader->err, VT_ERR_FORMAT,
                            "%.100s:%llu: two numbers are wanted, seconds and watts, as in "
                            "0.5,14.2",
                            reader->name, reader->line);
    }
    /* A heading before the first row. */
    if (reader->curve.n == 0 && isalpha((unsigned char)time[0]) &&
        isalpha((unsigned char)power[0]) && strcmp(time, "nan") != 0 && strcmp(time, "inf") != 0) {
        return VT_OK;
    }
    return add_row(reader, time, power);
}

enum vt_status vt_replay_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, struct vt_replay_curve *ret)
{
    struct reader reader = {.name = name, .err = err};
    enum vt_status status = VT_OK;

    for (size_t at = 0; at < size && status == VT_OK;) {
        const char *newline = memchr(text + at, '\n', size - at);
        const size_t length = newline != NULL ? (size_t)(newline - (text + at)) : size - at;
        reader.line++;
        status = read_line(&reader, text + at, length);
        at += length + 1;
    }
    if (status == VT_OK && reader.curve.n < 2) {
        status = vt_error_set(err, VT_ERR_FORMAT,
                              "%.100s:%llu: %zu row%s of seconds and watts: 2 are needed", name,
                              reader.line, reader.curve.n, reader.curve.n == 1 ? "" : "s");
    }
    if (status != VT_OK) {
        vt_replay_release(&reader.curve);
        return status;
    }
    const double first = reader.curve.seconds[0];
    for (size_t i = 0; i < reader.curve.n; i++) {
        reader.curve.seconds[i] -= first;
    }
    *ret = reader.curve;
    return VT_OK;
}

/* --- the meter ----------------------------------------------------------------------------- */

struct replay {
    struct vt_meter_domain domain;
    struct vt_replay_curve curve;
    struct vt_meter_stamp start;
    double turn_s; /* after so long it begins again */
};

static void replay_close(void *meter)
{
    struct replay *replay = meter;

    if (replay != NULL) {
        vt_replay_release(&replay->curve);
    }
    vt_free(replay);
}

static enum vt_status replay_open(const struct vt_meter_ops *self,
                                  const struct vt_meter_options *options, struct vt_error *err,
                                  void **ret_meter)
{
    const char *path = options != NULL ? options->replay_file : NULL;
    char *text = NULL;
    size_t size = 0;

    (void)self;
    if (path == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "no recording is named: give a CSV file of seconds and watts with "
                            "--replay FILE");
    }
    enum vt_status status = vt_file_read(path, VT_REPLAY_FILE_MAX, err, &text, &size);
    if (status != VT_OK) {
        return status;
    }
    struct replay *replay = vt_calloc(1, sizeof *replay);
    status = replay != NULL ? vt_replay_parse(text, size, path, err, &replay->curve)
                            : vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    vt_free(text);
    if (status != VT_OK) {
        vt_free(replay);
        return status;
    }
    const struct vt_replay_curve *curve = &replay->curve;
    const double length = curve->seconds[curve->n - 1];
    /* The last row lasts as long as rows do on average. */
    replay->turn_s = length + length / (double)(curve->n - 1);
    replay->start = vt_meter_now();
    replay->domain = (struct vt_meter_domain){.name = "replay",
                                              .kind = VT_METER_POWER,
                                              .scope = VT_METER_SCOPE_NONE,
                                              .inside = -1,
                                              .stamped = true};
    (void)snprintf(replay->domain.device, sizeof replay->domain.device, "%s",
                   vt_plain(vt_path_base(path)).text);
    (void)snprintf(replay->domain.note, sizeof replay->domain.note,
                   "a recording of %.6g s, again and again: says nothing about this machine",
                   length);
    *ret_meter = replay;
    return VT_OK;
}

static const struct vt_meter_domain *replay_domains(const void *meter, uint32_t *ret_n)
{
    const struct replay *replay = meter;

    *ret_n = 1;
    return &replay->domain;
}

/* The latest row whose time has come, with the moment when it came. */
static enum vt_status replay_read(void *meter, const bool *wanted,
                                  struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    const struct replay *replay = meter;
    const struct vt_replay_curve *curve = &replay->curve;
    const double elapsed = (double)(vt_now_ns() - replay->start.ns) / 1e9;
    const double turns = floor(elapsed / replay->turn_s);
    const double at = elapsed - turns * replay->turn_s;
    size_t low = 0, high = curve->n;

    (void)err;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (curve->seconds[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const int64_t ns = (int64_t)((turns * replay->turn_s + curve->seconds[low]) * 1e9);
    ret_readings[0] = (struct vt_meter_reading){curve->watts[low], replay->start.ns + ns,
                                                replay->start.unix_ns + ns};
    return VT_OK;
}

const struct vt_meter_ops vt_meter_replay = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "replay",
    .summary = "a recorded curve of power from a CSV file",
    .period_ns = 20 * VT_NS_PER_MS,
    .open = replay_open,
    .domains = replay_domains,
    .read = replay_read,
    .close = replay_close,
};
