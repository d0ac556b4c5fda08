/* SPDX-License-Identifier: Apache-2.0 */
#include "power/cap/nvpmodel_conf.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define LINE_BYTES 1024

struct reader {
    struct vt_nvpmodel_conf conf;
    struct vt_nvpmodel_mode *mode; /* whose lines are read; NULL: of something else */
    bool has_standard;
};

const struct vt_nvpmodel_mode *vt_nvpmodel_find(const struct vt_nvpmodel_conf *conf, double id)
{
    for (uint32_t i = 0; i < conf->n; i++) {
        if (conf->modes[i].id == id) {
            return &conf->modes[i];
        }
    }
    return NULL;
}

const struct vt_nvpmodel_mode *vt_nvpmodel_named(const struct vt_nvpmodel_conf *conf,
                                                 const char *name)
{
    for (uint32_t i = 0; i < conf->n; i++) {
        if (strcmp(conf->modes[i].name, name) == 0) {
            return &conf->modes[i];
        }
    }
    return NULL;
}

/* The value behind "KEY=" in a section's head, up to a blank; false when there is none. */
static bool find_value(const char *head, const char *key, char *value, size_t size)
{
    const size_t length = strlen(key);

    for (const char *at = head; (at = strstr(at, key)) != NULL; at += length) {
        if ((at == head || isspace((unsigned char)at[-1])) && at[length] == '=') {
            const char *from = at + length + 1;
            const size_t n = strcspn(from, " \t");
            if (n == 0 || n >= size) {
                return false;
            }
            memcpy(value, from, n);
            value[n] = '\0';
            return true;
        }
    }
    return false;
}

static bool find_id(const char *head, const char *key, int32_t *ret)
{
    char text[16], *end = NULL;

    if (!find_value(head, key, text, sizeof text) || !isdigit((unsigned char)text[0])) {
        return false;
    }
    const long id = strtol(text, &end, 10);
    if (*end != '\0' || id < 0 || id > VT_NVPMODEL_ID_MAX) {
        return false;
    }
    *ret = (int32_t)id;
    return true;
}

/* Why a head is wrong, NULL when it is right. */
static const char *take_mode(struct reader *reader, const char *head)
{
    struct vt_nvpmodel_conf *conf = &reader->conf;
    struct vt_nvpmodel_mode mode = {.n_settings = 0};

    if (!find_id(head, "ID", &mode.id)) {
        return "a mode needs ID=0 to 9999";
    }
    if (!find_value(head, "NAME", mode.name, sizeof mode.name)) {
        return "a mode needs NAME=, of 39 characters at most";
    }
    if (vt_nvpmodel_find(conf, mode.id) != NULL || vt_nvpmodel_named(conf, mode.name) != NULL) {
        return "a second mode of that id or name";
    }
    if (conf->n == VT_NVPMODEL_MODES_MAX) {
        return "more than 64 modes";
    }
    conf->modes[conf->n] = mode;
    reader->mode = &conf->modes[conf->n++];
    return NULL;
}

static const char *take_head(struct reader *reader, char *line)
{
    char *end = strrchr(line, '>');

    if (end == NULL || end[1] != '\0') {
        return "a section's head ends with >";
    }
    *end = '\0';
    const char *head = line + 1 + strspn(line + 1, " \t");
    const size_t length = strcspn(head, " \t");
    reader->mode = NULL;
    if (length == 11 && strncmp(head, "POWER_MODEL", 11) == 0) {
        return take_mode(reader, head);
    }
    if (length == 9 && strncmp(head, "PM_CONFIG", 9) == 0) {
        if (reader->has_standard || !find_id(head, "DEFAULT", &reader->conf.standard)) {
            return "one DEFAULT=, of 0 to 9999, is needed here";
        }
        reader->has_standard = true;
    }
    return NULL; /* parameters, fans and what later boards have */
}

static const char *take_line(struct reader *reader, char *line)
{
    size_t length = strlen(line);

    while (length > 0 && isspace((unsigned char)line[length - 1])) {
        line[--length] = '\0';
    }
    line += strspn(line, " \t");
    if (line[0] == '\0' || line[0] == '#') {
        return NULL;
    }
    if (line[0] == '<') {
        return take_head(reader, line);
    }
    if (reader->mode != NULL) {
        reader->mode->n_settings++;
    }
    return NULL;
}

enum vt_status vt_nvpmodel_parse(const char *text, size_t size, const char *name,
                                 struct vt_error *err, struct vt_nvpmodel_conf *ret)
{
    struct reader reader = {.mode = NULL};
    char line[LINE_BYTES];
    unsigned number = 0;

    if (size > VT_NVPMODEL_BYTES_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are allowed", name, size,
                            VT_NVPMODEL_BYTES_MAX);
    }
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        const size_t length = newline != NULL ? (size_t)(newline - (text + at)) : size - at;
        number++;
        if (length >= sizeof line || memchr(text + at, '\0', length) != NULL) {
            return vt_error_set(err, VT_ERR_FORMAT, "%s:%u: no line of nvpmodel.conf", name,
                                number);
        }
        memcpy(line, text + at, length);
        line[length] = '\0';
        const char *wrong = take_line(&reader, line);
        if (wrong != NULL) {
            return vt_error_set(err, VT_ERR_FORMAT, "%s:%u: %s: %s", name, number, wrong,
                                vt_quote(line).text);
        }
        at += length + 1;
    }
    if (reader.conf.n == 0 || !reader.has_standard ||
        vt_nvpmodel_find(&reader.conf, reader.conf.standard) == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s:%u: a POWER_MODEL and a PM_CONFIG whose DEFAULT is one of them are "
                            "needed",
                            name, number + 1);
    }
    for (uint32_t i = 0; i < reader.conf.n; i++) {
        (void)vt_tame(reader.conf.modes[i].name);
    }
    *ret = reader.conf;
    return VT_OK;
}
