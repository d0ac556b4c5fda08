/* SPDX-License-Identifier: Apache-2.0 */
#include "run/arrivals.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/options.h"
#include "base/quote.h"

/* A number of seconds needs no more. */
#define NUMBER_MAX 64
#define NS_PER_S   INT64_C(1000000000)

struct reader {
    const char *name;
    uint64_t line;
    int64_t *ns;
    uint64_t n, room;
    struct vt_error *err;
};

/*
 * Seconds to nanoseconds. A plain decimal is exact whatever its size (a double of seconds since
 * 1970 is not); digits beyond the ninth are dropped. An exponent goes through a double.
 */
static bool parse_seconds(const char *text, int64_t *ret_ns)
{
    const char *digits = "0123456789";
    size_t n_whole = strspn(text, digits);
    const char *fraction = text[n_whole] == '.' ? text + n_whole + 1 : "";
    size_t n_fraction = strspn(fraction, digits);
    double real;
    struct vt_error ignored = VT_ERROR_INIT;

    if (text[strcspn(text, "eE")] != '\0') {
        if (vt_parse_real(text, &real, &ignored) != VT_OK ||
            !(fabs(real) <= (double)(VT_ARRIVALS_NS_MAX / NS_PER_S))) {
            return false;
        }
        *ret_ns = (int64_t)(real * 1e9);
        return real >= 0;
    }
    if (n_whole + n_fraction == 0 || n_whole > 10 ||
        n_whole + (text[n_whole] == '.') + n_fraction != strlen(text)) {
        return false;
    }
    uint64_t value = 0; /* 19 digits at most */
    for (size_t i = 0; i < n_whole; i++) {
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    for (size_t i = 0; i < 9; i++) {
        value = value * 10 + (i < n_fraction ? (uint64_t)(fraction[i] - '0') : 0);
    }
    *ret_ns = (int64_t)value;
    return value <= (uint64_t)VT_ARRIVALS_NS_MAX;
}

static enum vt_status add(struct reader *reader, int64_t ns)
{
    if (reader->n > 0 && ns < reader->ns[reader->n - 1]) {
        return vt_error_set(reader->err, VT_ERR_FORMAT,
                            "%s:%llu: the time is before that of the line before: sort the times",
                            reader->name, (unsigned long long)reader->line);
    }
    if (reader->n == reader->room) {
        size_t room = reader->room > 0 ? 2 * reader->room : 1024;
        int64_t *grown = vt_regrow(reader->ns, reader->n * sizeof grown[0], room * sizeof grown[0]);
        if (grown == NULL) {
            return vt_error_set(reader->err, VT_ERR_MEMORY, "%s: out of memory", reader->name);
        }
        reader->ns = grown;
        reader->room = room;
    }
    reader->ns[reader->n++] = ns;
    return VT_OK;
}

static enum vt_status read_line(struct reader *reader, const char *text, size_t length)
{
    char number[NUMBER_MAX + 1];
    int64_t ns;
    while (length > 0 && isspace((unsigned char)text[0])) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    if (length == 0) {
        return VT_OK;
    }
    size_t n = length < NUMBER_MAX ? length : NUMBER_MAX;
    memcpy(number, text, n);
    number[n] = '\0';
    if (length <= NUMBER_MAX && memchr(text, '\0', length) == NULL && parse_seconds(number, &ns)) {
        return add(reader, ns);
    }
    if (reader->line == 1 && isalpha((unsigned char)number[0])) {
        return VT_OK; /* a header */
    }
    return vt_error_set(reader->err, VT_ERR_FORMAT,
                        "%s:%llu: '%s' is no time: one number of seconds a line is needed, from 0 "
                        "to %lld",
                        reader->name, (unsigned long long)reader->line, vt_plain(number).text,
                        (long long)(VT_ARRIVALS_NS_MAX / NS_PER_S));
}

enum vt_status vt_arrival_trace_parse(const char *text, size_t length, const char *name,
                                      struct vt_error *err, struct vt_arrival_trace *ret_trace)
{
    struct reader reader = {.name = name, .err = err};
    enum vt_status status = VT_OK;
    while (length > 0 && status == VT_OK) {
        const char *end = memchr(text, '\n', length);
        size_t n = end != NULL ? (size_t)(end - text) : length;
        reader.line++;
        status = read_line(&reader, text, n);
        n += end != NULL ? 1 : 0;
        text += n;
        length -= n;
    }
    if (status == VT_OK && reader.n == 0) {
        status = vt_error_set(err, VT_ERR_FORMAT, "%s: no time stands in it", name);
    }
    if (status != VT_OK) {
        vt_free(reader.ns);
        return status;
    }
    for (uint64_t i = reader.n; i > 0; i--) {
        reader.ns[i - 1] -= reader.ns[0];
    }
    *ret_trace = (struct vt_arrival_trace){reader.ns, reader.n};
    return VT_OK;
}

enum vt_status vt_arrival_trace_read(const char *path, struct vt_error *err,
                                     struct vt_arrival_trace *ret_trace)
{
    struct vt_file_map map;
    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status != VT_OK) {
        return status;
    }
    if (map.size > VT_ARRIVALS_FILE_MAX) {
        status = vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are allowed", path,
                              map.size, VT_ARRIVALS_FILE_MAX);
    } else {
        status = vt_arrival_trace_parse((const char *)map.bytes, map.size, path, err, ret_trace);
    }
    vt_file_map_release(&map);
    return status;
}

void vt_arrival_trace_release(struct vt_arrival_trace *trace)
{
    vt_free(trace->ns);
    *trace = (struct vt_arrival_trace){0};
}
