/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/labels.h"

#include <string.h>

/* The largest label: class numbers are stored as int32 in responses. */
#define LABEL_MAX INT32_MAX

struct reader {
    const char *at, *end;
    uint64_t line;
    const char *text; /* the line without blanks around it */
    size_t length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void reader_init(struct reader *reader, const char *text, size_t size)
{
    text = size > 0 ? text : "";
    *reader = (struct reader){.at = text, .end = text + size};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        reader->at += 3;
    }
}

/* The next line that is not empty and not a remark. */
static bool reader_next(struct reader *reader)
{
    while (reader->at < reader->end) {
        const char *start = reader->at;
        const char *stop = memchr(start, '\n', (size_t)(reader->end - start));
        reader->at = stop != NULL ? stop + 1 : reader->end;
        stop = stop != NULL ? stop : reader->end;
        reader->line++;
        while (start < stop && is_blank(*start)) {
            start++;
        }
        while (stop > start && is_blank(stop[-1])) {
            stop--;
        }
        if (stop > start && *start != '#') {
            reader->text = start;
            reader->length = (size_t)(stop - start);
            return true;
        }
    }
    return false;
}

/* Where the last word of the line begins; 0 when there is only one. */
static size_t last_word(const struct reader *reader)
{
    size_t at = reader->length;

    while (at > 0 && !is_blank(reader->text[at - 1])) {
        at--;
    }
    return at;
}

/* False when the digits are none, or too many. */
static bool parse_label(const char *text, size_t length, int64_t *ret)
{
    int64_t value = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
        if (value > LABEL_MAX) {
            return false;
        }
    }
    *ret = value;
    return length > 0;
}

bool vt_label_text_is_map(const char *text, size_t size)
{
    struct reader reader;
    int64_t label;

    reader_init(&reader, text, size);
    if (!reader_next(&reader)) {
        return false;
    }
    size_t word = last_word(&reader);
    return word > 0 && parse_label(reader.text + word, reader.length - word, &label);
}

static enum vt_status check_line(const char *name, const struct reader *reader,
                                 struct vt_error *err)
{
    if (reader->length > VT_LABEL_LINE_BYTES) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%llu: a line of %zu bytes, at most %d may be",
                            name, (unsigned long long)reader->line, reader->length,
                            VT_LABEL_LINE_BYTES);
    }
    if (memchr(reader->text, '\0', reader->length) != NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%llu: a NUL byte: this is not a text file",
                            name, (unsigned long long)reader->line);
    }
    return VT_OK;
}

/* Splits a line of a map. */
static enum vt_status split(const char *name, const struct reader *reader, struct vt_error *err,
                            size_t *ret_path_length, int64_t *ret_label)
{
    size_t word = last_word(reader);
    size_t length = word;

    while (length > 0 && is_blank(reader->text[length - 1])) {
        length--;
    }
    if (length == 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%llu: '%.*s' is not \"path label\"", name,
                            (unsigned long long)reader->line,
                            (int)(reader->length < 80 ? reader->length : 80), reader->text);
    }
    if (!parse_label(reader->text + word, reader->length - word, ret_label)) {
        size_t shown = reader->length - word;
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s:%llu: label '%.*s': a number from 0 to %d is needed", name,
                            (unsigned long long)reader->line, (int)(shown < 80 ? shown : 80),
                            reader->text + word, LABEL_MAX);
    }
    *ret_path_length = length;
    return VT_OK;
}

static enum vt_status parse(const char *name, const char *text, size_t size, bool map,
                            struct vt_error *err, struct vt_label_list *ret)
{
    struct vt_label_list list = {.n = 0};
    struct reader reader;
    size_t n = 0;
    enum vt_status status = VT_OK;

    reader_init(&reader, text, size);
    while (reader_next(&reader)) {
        n++;
    }
    if (n == 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: a list without a line: %s", name,
                            map ? "\"path label\" a line is needed" : "one class a line is needed");
    }
    vt_arena_init(&list.arena, 0);
    list.entries = vt_arena_calloc(&list.arena, n, sizeof *list.entries);
    if (list.entries == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for %zu lines", name, n);
    }
    reader_init(&reader, text, size);
    while (status == VT_OK && reader_next(&reader)) {
        struct vt_label_entry *entry = &list.entries[list.n];
        size_t length = reader.length;
        entry->line = reader.line;
        entry->label = (int64_t)list.n;
        status = check_line(name, &reader, err);
        if (status == VT_OK && map) {
            status = split(name, &reader, err, &length, &entry->label);
        }
        if (status == VT_OK) {
            entry->text = vt_arena_strndup(&list.arena, reader.text, length);
            if (entry->text == NULL) {
                status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
            }
            list.n++;
        }
    }
    if (status != VT_OK) {
        vt_arena_release(&list.arena);
        return status;
    }
    *ret = list;
    return VT_OK;
}

enum vt_status vt_label_map_parse(const char *name, const char *text, size_t size,
                                  struct vt_error *err, struct vt_label_list *ret)
{
    return parse(name, text, size, true, err, ret);
}

enum vt_status vt_label_names_parse(const char *name, const char *text, size_t size,
                                    struct vt_error *err, struct vt_label_list *ret)
{
    return parse(name, text, size, false, err, ret);
}

void vt_label_list_release(struct vt_label_list *list)
{
    vt_arena_release(&list->arena);
    list->entries = NULL;
    list->n = 0;
}
