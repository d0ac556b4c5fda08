/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: INI, read with inih line by line through a reader of our own. The reader counts the
 * lines for messages and turns into errors what inih would cut or take for something else: long
 * lines and section names, NUL bytes, and indented lines, which inih would read as more of the
 * value above.
 */
#include <ini.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/options_internal.h"

#define JOB_BYTES_MAX ((size_t)1 << 20)
/* The longest section name that inih keeps whole. */
#define SECTION_MAX 49
#define GLOBAL      "global"

struct job_reader {
    struct vt_options *options;
    const char *name;    /* of the file */
    const char *section; /* whose keys are applied in this pass; "" for those before the first */
    const char *next;
    const char *end;
    size_t line;
    bool found;                       /* the section stands in the file */
    struct vt_job_sections *sections; /* collects the names; NULL: not asked for */
    enum vt_status status;
    struct vt_error *err;
};

static void fail(struct job_reader *reader, enum vt_status status, const char *what)
{
    if (reader->status == VT_OK) {
        reader->status =
            vt_error_set(reader->err, status, "%s:%zu: %s", reader->name, reader->line, what);
    }
}

/* Adds a name unless it is there already or is [global]. */
static void collect_section(struct job_reader *reader, const char *name, size_t length)
{
    struct vt_job_sections *sections = reader->sections;
    char *copy = vt_strndup(name, length);
    bool known = copy != NULL && strcmp(copy, GLOBAL) == 0;

    for (size_t i = 0; copy != NULL && i < sections->count; i++) {
        known = known || strcmp(sections->names[i], copy) == 0;
    }
    char **names = NULL;
    if (copy != NULL && !known) {
        const size_t bytes = sections->count * sizeof(names[0]);
        names = vt_regrow(sections->names, bytes, bytes + sizeof(names[0]));
    }
    if (names != NULL) {
        sections->names = names;
        sections->names[sections->count++] = copy;
        return;
    }
    vt_free(copy);
    if (!known) {
        fail(reader, VT_ERR_MEMORY, "out of memory");
    }
}

/* Notes a section that begins on this line (length bytes from '['). */
static void note_section(struct job_reader *reader, const char *line, size_t length)
{
    const char *close = memchr(line, ']', length);
    if (close == NULL) {
        return; /* inih reports the line */
    }
    const size_t name_length = (size_t)(close - line) - 1;
    if (name_length > SECTION_MAX) {
        fail(reader, VT_ERR_FORMAT, "section name longer than 49 bytes");
    } else if (strlen(reader->section) == name_length &&
               memcmp(line + 1, reader->section, name_length) == 0) {
        reader->found = true;
    }
    if (reader->sections != NULL && reader->status == VT_OK) {
        collect_section(reader, line + 1, name_length);
    }
}

/* Gives inih the next line, as fgets would. NULL ends the file, or the reading after an error. */
static char *next_line(char *buffer, int size, void *context)
{
    struct job_reader *reader = context;
    if (reader->next >= reader->end || reader->status != VT_OK || size < 2) {
        return NULL;
    }
    reader->line++;
    const char *line = reader->next;
    const char *newline = memchr(line, '\n', (size_t)(reader->end - line));
    const char *stop = newline != NULL ? newline : reader->end;
    reader->next = newline != NULL ? newline + 1 : reader->end;

    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (reader->line == 1 && stop - line >= 3 && memcmp(line, byte_order_mark, 3) == 0) {
        line += 3;
    }
    while (line < stop && (*line == ' ' || *line == '\t' || *line == '\r')) {
        line++;
    }
    const size_t length = (size_t)(stop - line);
    if (memchr(line, '\0', length) != NULL) {
        fail(reader, VT_ERR_FORMAT, "a NUL byte: not a text file");
        return NULL;
    }
    if (length > 0 && (line[0] == ';' || line[0] == '#')) {
        buffer[0] = '\0'; /* A comment may be as long as it likes. */
        return buffer;
    }
    if (length >= (size_t)size - 1) {
        char what[64];
        snprintf(what, sizeof(what), "line longer than %d bytes", size - 2);
        fail(reader, VT_ERR_FORMAT, what);
        return NULL;
    }
    if (length > 0 && line[0] == '[') {
        note_section(reader, line, length);
    }
    memcpy(buffer, line, length);
    buffer[length] = '\0';
    return buffer;
}

/* inih's handler: nonzero goes on. */
static int take_key(void *context, const char *section, const char *key, const char *value)
{
    struct job_reader *reader = context;
    if (reader->status != VT_OK || strcmp(section, reader->section) != 0) {
        return 1;
    }
    struct vt_error why = VT_ERROR_INIT;
    const enum vt_status status =
        vt_options_set(reader->options, key, value != NULL ? value : "", &why);
    if (status != VT_OK) {
        fail(reader, status, why.text);
    }
    return 1;
}

/* Applies the keys of one section in file order. ret_found is written in any case. */
static enum vt_status apply_section(const struct job_reader *start, const char *section,
                                    bool *ret_found)
{
    struct job_reader reader = *start;
    reader.section = section;
    const int bad_line = ini_parse_stream(next_line, &reader, take_key, &reader);
    if (reader.status == VT_OK && bad_line != 0) {
        reader.line = bad_line > 0 ? (size_t)bad_line : reader.line;
        fail(&reader, bad_line > 0 ? VT_ERR_FORMAT : VT_ERR_MEMORY,
             bad_line > 0 ? "expected 'key = value' or '[section]'" : "out of memory");
    }
    *ret_found = reader.found;
    return reader.status;
}

enum vt_status vt_options_parse_job_text(struct vt_options *options, const char *name,
                                         const char *text, size_t size, const char *section,
                                         struct vt_error *err)
{
    if (size > JOB_BYTES_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes: a job file has at most 1 MiB", name,
                            size);
    }
    const struct job_reader start = {
        .options = options, .name = name, .next = text, .end = text + size, .err = err};
    bool found = false;
    /* What holds for every section comes first, so that a section overrides it wherever it
     * stands in the file. */
    enum vt_status status = apply_section(&start, "", &found);
    if (status != VT_OK || section == NULL) {
        return status;
    }
    status = apply_section(&start, GLOBAL, &found);
    if (status == VT_OK && strcmp(section, GLOBAL) != 0) {
        status = apply_section(&start, section, &found);
        if (status == VT_OK && !found) {
            status = vt_error_set(err, VT_ERR_NOT_FOUND, "%s: no section [%s]", name,
                                  vt_plain(section).text);
        }
    }
    return status;
}

enum vt_status vt_options_parse_job(struct vt_options *options, const char *path,
                                    const char *section, struct vt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    enum vt_status status = vt_file_read(path, JOB_BYTES_MAX, err, &text, &size);
    if (status == VT_OK) {
        status = vt_options_parse_job_text(options, path, text, size, section, err);
    }
    vt_free(text);
    return status;
}

/* inih's handler for a pass that looks at sections only. */
static int pass_over(void *context, const char *section, const char *key, const char *value)
{
    (void)context;
    (void)section;
    (void)key;
    (void)value;
    return 1;
}

enum vt_status vt_job_sections_read(struct vt_job_sections *sections, const char *path,
                                    struct vt_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *sections = (struct vt_job_sections){NULL, 0};
    enum vt_status status = vt_file_read(path, JOB_BYTES_MAX, err, &text, &size);
    if (status != VT_OK) {
        return status;
    }
    struct job_reader reader = {.name = path,
                                .section = "",
                                .next = text,
                                .end = text + size,
                                .sections = sections,
                                .err = err};
    /* What else is wrong in the file is found, and said, when a section is taken from it. */
    (void)ini_parse_stream(next_line, &reader, pass_over, &reader);
    vt_free(text);
    if (reader.status != VT_OK) {
        vt_job_sections_release(sections);
    }
    return reader.status;
}

void vt_job_sections_release(struct vt_job_sections *sections)
{
    for (size_t i = 0; i < sections->count; i++) {
        vt_free(sections->names[i]);
    }
    vt_free(sections->names);
    *sections = (struct vt_job_sections){NULL, 0};
}
