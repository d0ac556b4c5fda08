/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: from text to entries. What they mean is conf_apply.c's. */
#include "mlperf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/options.h"
#include "base/quote.h"
#include "mlperf/conf_entry.h"

#define VALUE_MAX 64

struct reader {
    const char *name;
    struct vt_conf_entry *entries;
    size_t n, room;
    uint32_t line;
    struct vt_error *err;
};

bool vt_conf_is_value(const char *text)
{
    char *end;
    double real;
    struct vt_error ignored = VT_ERROR_INIT;
    if (text[0] == '\0') {
        return false;
    }
    (void)strtoull(text, &end, 0);
    return *end == '\0' || vt_parse_real(text, &real, &ignored) == VT_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of the line; empty at its end. */
static struct vt_conf_slice next_word(struct vt_conf_slice *rest)
{
    while (rest->n > 0 && is_blank(rest->at[0])) {
        rest->at++;
        rest->n--;
    }
    struct vt_conf_slice word = {rest->at, 0};
    while (word.n < rest->n && !is_blank(rest->at[word.n])) {
        word.n++;
    }
    rest->at += word.n;
    rest->n -= word.n;
    return word;
}

static bool is(struct vt_conf_slice slice, const char *word)
{
    return slice.n == strlen(word) && memcmp(slice.at, word, slice.n) == 0;
}

struct shown {
    char text[80];
};

/* A word of the file in a message. */
static struct shown show(struct vt_conf_slice slice)
{
    char cut[VALUE_MAX + 1];
    struct shown shown;
    size_t n = slice.n < sizeof cut - 1 ? slice.n : sizeof cut - 1;
    memcpy(cut, slice.at, n);
    cut[n] = '\0';
    memcpy(shown.text, vt_plain(cut).text, sizeof shown.text);
    return shown;
}

/* The last two dots part model, scenario and key: a model's name may have dots of its own. */
static void split_key(struct vt_conf_slice whole, struct vt_conf_entry *entry)
{
    const char *dots[2] = {NULL, NULL};
    for (size_t i = whole.n; i > 0 && dots[1] == NULL; i--) {
        if (whole.at[i - 1] == '.') {
            dots[dots[0] == NULL ? 0 : 1] = whole.at + i - 1;
        }
    }
    entry->key = whole;
    entry->model = entry->scenario = (struct vt_conf_slice){whole.at, 0};
    if (dots[1] != NULL) {
        entry->model.n = (size_t)(dots[1] - whole.at);
        entry->scenario = (struct vt_conf_slice){dots[1] + 1, (size_t)(dots[0] - dots[1]) - 1};
        entry->key =
            (struct vt_conf_slice){dots[0] + 1, whole.n - (size_t)(dots[0] - whole.at) - 1};
    }
}

static enum vt_status check_value(const struct reader *reader, struct vt_conf_slice value)
{
    char text[VALUE_MAX + 1];
    if (value.n <= VALUE_MAX) {
        memcpy(text, value.at, value.n);
        text[value.n] = '\0';
        if (vt_conf_is_value(text)) {
            return VT_OK;
        }
    }
    return vt_error_set(reader->err, VT_ERR_FORMAT,
                        "%s:%u: '%s' is neither a whole nor a decimal number", reader->name,
                        reader->line, show(value).text);
}

/* A line that is not `key = value`: says what it lacks. */
static enum vt_status refuse_key(const struct reader *reader, struct vt_conf_slice key,
                                 struct vt_conf_slice second)
{
    if (key.at[0] == '#') {
        return vt_error_set(reader->err, VT_ERR_FORMAT,
                            "%s:%u: a comment needs a blank behind its '#'", reader->name,
                            reader->line);
    }
    if (memchr(key.at, '=', key.n) != NULL || (second.n > 1 && second.at[0] == '=')) {
        return vt_error_set(reader->err, VT_ERR_FORMAT,
                            "%s:%u: '%s': the '=' has to stand between blanks", reader->name,
                            reader->line, show(key).text);
    }
    return vt_error_set(reader->err, VT_ERR_FORMAT,
                        "%s:%u: '%s' is followed by no '= value' (model.scenario.key = value)",
                        reader->name, reader->line, show(key).text);
}

static enum vt_status add(struct reader *reader, const struct vt_conf_entry *entry)
{
    if (reader->n == reader->room) {
        size_t room = reader->room > 0 ? 2 * reader->room : 64;
        struct vt_conf_entry *grown =
            vt_regrow(reader->entries, reader->n * sizeof *grown, room * sizeof *grown);
        if (grown == NULL) {
            return vt_error_set(reader->err, VT_ERR_MEMORY, "out of memory");
        }
        reader->entries = grown;
        reader->room = room;
    }
    reader->entries[reader->n++] = *entry;
    return VT_OK;
}

static enum vt_status read_line(struct reader *reader, struct vt_conf_slice rest)
{
    struct vt_conf_entry entry = {.line = reader->line};
    struct vt_conf_slice key = next_word(&rest);
    if (key.n == 0 || is(key, "#")) {
        return VT_OK;
    }
    struct vt_conf_slice equals = next_word(&rest);
    if (equals.n == 0 && key.at[0] == '#') {
        return VT_OK; /* "#####" alone is nothing to the official reader either */
    }
    if (!is(equals, "=")) {
        return refuse_key(reader, key, equals);
    }
    entry.value = next_word(&rest);
    if (entry.value.n == 0 || is(entry.value, "#")) {
        return vt_error_set(reader->err, VT_ERR_FORMAT, "%s:%u: '%s' has no value", reader->name,
                            reader->line, show(key).text);
    }
    enum vt_status status = check_value(reader, entry.value);
    if (status != VT_OK) {
        return status;
    }
    struct vt_conf_slice more = next_word(&rest);
    if (more.n > 0) {
        return vt_error_set(reader->err, VT_ERR_FORMAT, "%s:%u: '%s' behind the value%s",
                            reader->name, reader->line, show(more).text,
                            more.at[0] == '#' ? ": a comment needs a line of its own"
                                              : ": one value is allowed");
    }
    split_key(key, &entry);
    return add(reader, &entry);
}

static enum vt_status read_lines(struct reader *reader, const char *text, size_t length)
{
    enum vt_status status = VT_OK;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the mark that some editors put before UTF-8 */
        length -= 3;
    }
    while (length > 0 && status == VT_OK) {
        const char *end = memchr(text, '\n', length);
        size_t n = end != NULL ? (size_t)(end - text) : length;
        reader->line++;
        if (n > VT_CONF_LINE_MAX) {
            return vt_error_set(reader->err, VT_ERR_FORMAT,
                                "%s:%u: the line has %zu bytes, at most %d are allowed",
                                reader->name, reader->line, n, VT_CONF_LINE_MAX);
        }
        if (memchr(text, '\0', n) != NULL) {
            return vt_error_set(reader->err, VT_ERR_FORMAT, "%s:%u: a NUL byte: this is no text",
                                reader->name, reader->line);
        }
        status = read_line(reader, (struct vt_conf_slice){text, n});
        n += end != NULL ? 1 : 0;
        text += n;
        length -= n;
    }
    return status;
}

enum vt_status vt_conf_apply_text(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                  const char *text, size_t length, const char *name,
                                  const char *model, const struct vt_conf_warnings *warnings,
                                  struct vt_error *err)
{
    struct reader reader = {.name = name, .err = err};
    if (length > VT_CONF_FILE_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are allowed", name,
                            length, VT_CONF_FILE_MAX);
    }
    enum vt_status status = read_lines(&reader, text, length);
    if (status == VT_OK) {
        status = vt_conf_apply_entries(settings, kind, reader.entries, reader.n, name, model,
                                       warnings, err);
    }
    vt_free(reader.entries);
    return status;
}

enum vt_status vt_conf_apply_file(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                  const char *path, const char *model,
                                  const struct vt_conf_warnings *warnings, struct vt_error *err)
{
    char *text;
    size_t length;
    enum vt_status status = vt_file_read(path, VT_CONF_FILE_MAX, err, &text, &length);
    if (status != VT_OK) {
        return status;
    }
    status = vt_conf_apply_text(settings, kind, text, length, path, model, warnings, err);
    vt_free(text);
    return status;
}
