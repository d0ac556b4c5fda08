/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/quote.h"
#include "base/topology.h"
#include "base/version.h"
#include "plan/plan_file_format.h"

struct blob {
    uint32_t value;
    uint64_t variant;
    size_t bytes;
    const char *kind;
    const uint8_t *data;
};

struct part {
    struct vt_plan_file_part then;
    const char *location; /* "" for the model itself */
};

struct vt_plan_file {
    const char *name;
    struct vt_file_map map; /* zeroed when it is in memory */
    struct vt_arena memory;
    struct vt_plan_file_info info;
    const char *build;
    struct vt_shape_binding *shapes;
    struct vt_tuning_answer *answers;
    struct part *parts;
    uint32_t n_parts;
    struct blob *blobs; /* in order */
};

/* --- reading the text --------------------------------------------------------------------------
 */

struct reader {
    struct vt_plan_file *file;
    const uint8_t *bytes;
    size_t size, data; /* of the file; where blobs begin */
    const char *at, *end;
    struct vt_error *err;
};

static enum vt_status damaged(const struct reader *r, const char *what)
{
    return vt_error_set(r->err, VT_ERR_FORMAT,
                        "%s: a damaged plan: %s; make it anew with vatio plan", r->file->name,
                        what);
}

/* The next word of a line, up to a blank or the end; empty where there is none. */
static size_t next_word(const char **at, const char *end, const char **ret_word)
{
    const char *begin = *at, *blank = memchr(begin, ' ', (size_t)(end - begin));
    *ret_word = begin;
    *at = blank != NULL ? blank + 1 : end;
    return (size_t)((blank != NULL ? blank : end) - begin);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* The next word as a number up to `most`. */
static bool next_number(const char **at, const char *end, uint64_t base, uint64_t most,
                        uint64_t *ret)
{
    const char *word;
    const size_t size = next_word(at, end, &word);
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        const uint64_t digit = (uint64_t)digit_of(word[i]);
        if (digit >= base || __builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, digit, &number)) {
            return false;
        }
    }
    *ret = number;
    return size > 0 && number <= most;
}

/* The rest of the line, as text of the file's own; NULL and an error when out of memory. */
static char *rest_of(const struct reader *r, const char *at, const char *end)
{
    char *text = vt_arena_strndup(&r->file->memory, at, (size_t)(end - at));
    if (text == NULL) {
        (void)vt_out_of_memory(r->err);
    }
    return text;
}

static enum vt_status read_shape(struct reader *r, const char *at, const char *end)
{
    struct vt_shape_binding *shape = &r->file->shapes[r->file->info.n_shapes];
    const char *blank = memchr(at, ' ', (size_t)(end - at)), *x;
    uint64_t extent = 0;
    if (blank == NULL || blank + 1 == end) {
        return damaged(r, "a shape without extents or a name");
    }
    do {
        x = memchr(at, 'x', (size_t)(blank - at));
        const char *stop = x != NULL ? x : blank;
        if (shape->rank == VT_RANK_MAX || !next_number(&at, stop, 10, INT32_MAX, &extent) ||
            extent == 0) {
            return damaged(r, "extents of a shape");
        }
        shape->dim[shape->rank++] = (int64_t)extent;
        at = stop + 1;
    } while (x != NULL);
    shape->name = rest_of(r, at, end);
    r->file->info.n_shapes++;
    return shape->name != NULL ? VT_OK : VT_ERR_MEMORY;
}

static enum vt_status read_part(struct reader *r, const char *at, const char *end)
{
    struct part *part = &r->file->parts[r->file->n_parts];
    struct vt_plan_file_part *then = &part->then;
    if (!next_number(&at, end, 10, UINT64_MAX, &then->bytes) ||
        !next_number(&at, end, 10, UINT64_MAX, &then->device) ||
        !next_number(&at, end, 10, UINT64_MAX, &then->inode) ||
        !next_number(&at, end, 10, UINT64_MAX, &then->modified) ||
        !next_number(&at, end, 10, UINT64_MAX, &then->changed) ||
        !next_number(&at, end, 16, UINT64_MAX, &then->hash)) {
        return damaged(r, "a part of the model");
    }
    part->location = rest_of(r, at, end);
    r->file->n_parts++;
    return part->location != NULL ? VT_OK : VT_ERR_MEMORY;
}

static enum vt_status read_answer(struct reader *r, const char *at, const char *end)
{
    struct vt_plan_file *file = r->file;
    if (!vt_tuning_parse(at, (size_t)(end - at), &file->answers[file->info.n_answers])) {
        return damaged(r, "an answer of the tuning");
    }
    file->info.n_answers++;
    return VT_OK;
}

static enum vt_status read_weights(struct reader *r, const char *at, const char *end)
{
    struct blob *blob = &r->file->blobs[r->file->info.n_weights];
    const size_t room = r->size - r->data;
    uint64_t value, variant, offset, bytes;
    if (!next_number(&at, end, 10, UINT32_MAX, &value) ||
        !next_number(&at, end, 16, UINT64_MAX, &variant) ||
        !next_number(&at, end, 10, room, &offset) ||
        !next_number(&at, end, 10, room - offset, &bytes) || offset % VT_PLAN_FILE_PAGE != 0 ||
        at == end || (size_t)(end - at) > VT_PLAN_FILE_KIND_MAX) {
        return damaged(r, "packed weights that lie outside the file");
    }
    const char *kind = rest_of(r, at, end);
    *blob = (struct blob){(uint32_t)value, variant, (size_t)bytes, kind,
                          r->bytes + r->data + (size_t)offset};
    r->file->info.n_weights++;
    r->file->info.weight_bytes += (size_t)bytes;
    return kind != NULL ? VT_OK : VT_ERR_MEMORY;
}

static enum vt_status read_number(struct reader *r, const char *at, const char *end, uint64_t base,
                                  uint64_t *ret)
{
    return next_number(&at, end, base, UINT32_MAX, ret) && at == end ? VT_OK
                                                                     : damaged(r, "a number");
}

static enum vt_status read_text(struct reader *r, const char *at, const char *end, const char **ret)
{
    *ret = rest_of(r, at, end);
    return *ret != NULL ? VT_OK : VT_ERR_MEMORY;
}

static enum vt_status read_precision(struct reader *r, const char *at, const char *end)
{
    for (int i = 0; i < VT_PRECISION_COUNT; i++) {
        const char *name = vt_precision_name((enum vt_precision)i);
        if (strlen(name) == (size_t)(end - at) && memcmp(name, at, strlen(name)) == 0) {
            r->file->info.precision = (enum vt_precision)i;
            return VT_OK;
        }
    }
    return damaged(r, "a precision that there is not");
}

static enum vt_status read_line(struct reader *r, const char *at, const char *end)
{
    struct vt_plan_file *file = r->file;
    const char *word;
    const size_t size = next_word(&at, end, &word);
    uint64_t number = 0;
    enum vt_status status = VT_OK;
#define IS(name) (size == sizeof(name) - 1 && memcmp(word, name, size) == 0)
    if (IS("weights")) {
        return read_weights(r, at, end);
    } else if (IS("answer")) {
        return read_answer(r, at, end);
    } else if (IS("part")) {
        return read_part(r, at, end);
    } else if (IS("shape")) {
        return read_shape(r, at, end);
    } else if (IS("version")) {
        return read_text(r, at, end, &file->info.version);
    } else if (IS("build")) {
        return read_text(r, at, end, &file->build);
    } else if (IS("model")) {
        return read_text(r, at, end, &file->info.model);
    } else if (IS("precision")) {
        return read_precision(r, at, end);
    } else if (IS("threads")) {
        status = read_number(r, at, end, 10, &number);
        file->info.threads = (uint32_t)number;
    } else if (IS("batch")) {
        status = read_number(r, at, end, 10, &number);
        file->info.batch = (int64_t)number;
    } else if (IS("cpu")) {
        status = read_number(r, at, end, 16, &number);
        file->info.features = (uint32_t)number;
    } else {
        status = damaged(r, "a line that no plan has");
    }
#undef IS
    return status;
}

/* Room for as many entries of each kind as there are lines that begin so. */
static enum vt_status make_room(struct reader *r)
{
    struct vt_plan_file *file = r->file;
    size_t shapes = 0, answers = 0, parts = 0, weights = 0;
    for (const char *at = r->at; at < r->end;) {
        shapes += *at == 's';
        answers += *at == 'a';
        parts += *at == 'p';
        weights += *at == 'w';
        at = (const char *)memchr(at, '\n', (size_t)(r->end - at)) + 1;
    }
    file->shapes = vt_arena_calloc(&file->memory, shapes + 1, sizeof(*file->shapes));
    file->answers = vt_arena_calloc(&file->memory, answers + 1, sizeof(*file->answers));
    file->parts = vt_arena_calloc(&file->memory, parts + 1, sizeof(*file->parts));
    file->blobs = vt_arena_calloc(&file->memory, weights + 1, sizeof(*file->blobs));
    return file->shapes != NULL && file->answers != NULL && file->parts != NULL &&
                   file->blobs != NULL
               ? VT_OK
               : vt_out_of_memory(r->err);
}

/* The first line: where everything ends. */
static enum vt_status read_head(struct reader *r)
{
    static const char magic[] = VT_PLAN_FILE_MAGIC;
    const char *text = (const char *)r->bytes, *format;
    const char *newline = memchr(text, '\n', r->size < 128 ? r->size : 128);
    uint64_t text_bytes, file_bytes, hash;
    if (newline == NULL || (size_t)(newline - text) < sizeof(magic) - 1 ||
        memcmp(text, magic, sizeof(magic) - 1) != 0) {
        return vt_error_set(r->err, VT_ERR_FORMAT, "%s: is no plan of vatio", r->file->name);
    }
    const char *at = text + sizeof(magic) - 1;
    if (next_word(&at, newline, &format) != 1 || *format != VT_PLAN_FILE_FORMAT[0]) {
        return vt_error_set(r->err, VT_ERR_UNSUPPORTED,
                            "%s: a plan of another format than %s, which this vatio reads; make it "
                            "anew with vatio plan",
                            r->file->name, VT_PLAN_FILE_FORMAT);
    }
    if (!next_number(&at, newline, 10, VT_PLAN_FILE_TEXT_MAX, &text_bytes) ||
        !next_number(&at, newline, 10, UINT64_MAX, &file_bytes) ||
        !next_number(&at, newline, 16, UINT64_MAX, &hash)) {
        return damaged(r, "its first line");
    }
    r->at = newline + 1;
    r->end = text + text_bytes;
    r->data = vt_plan_file_pages((size_t)text_bytes);
    if (file_bytes != r->size || r->data > r->size || r->end <= r->at) {
        return damaged(r, "it is not as long as it was written");
    }
    if (r->end[-1] != '\n' || memchr(r->at, '\0', (size_t)(r->end - r->at)) != NULL ||
        vt_plan_file_hash(r->at, (size_t)(r->end - r->at)) != hash) {
        return damaged(r, "its text is not what was written");
    }
    return VT_OK;
}

static int compare_blobs(const void *a, const void *b)
{
    const struct blob *x = a, *y = b;
    if (x->value != y->value) {
        return x->value < y->value ? -1 : 1;
    }
    if (x->variant != y->variant) {
        return x->variant < y->variant ? -1 : 1;
    }
    return strcmp(x->kind, y->kind);
}

/* Why the weights cannot be used here; NULL: they can. */
static enum vt_status judge(struct reader *r)
{
    struct vt_plan_file *file = r->file;
    const char *why = NULL;
    if (file->info.features != vt_topology()->features) {
        why = vt_arena_printf(&file->memory, "the plan is for other instruction sets (%x)",
                              file->info.features);
    } else if (strcmp(file->build, vt_build_id()) != 0 ||
               strcmp(file->info.version, vt_version()) != 0) {
        why = vt_arena_printf(&file->memory, "the plan is of another build (%.16s)",
                              file->info.version);
    } else {
        return VT_OK;
    }
    file->info.unused = why;
    return why != NULL ? VT_OK : vt_out_of_memory(r->err);
}

static enum vt_status read_all(struct reader *r)
{
    struct vt_plan_file *file = r->file;
    enum vt_status status = read_head(r);
    if (status == VT_OK) {
        status = make_room(r);
    }
    while (status == VT_OK && r->at < r->end) {
        const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
        status = read_line(r, r->at, newline);
        r->at = newline + 1;
    }
    if (status == VT_OK && (file->info.version == NULL || file->info.model == NULL ||
                            file->build == NULL || file->n_parts == 0)) {
        status = damaged(r, "it does not say what it is for");
    }
    if (status != VT_OK) {
        return status;
    }
    qsort(file->blobs, file->info.n_weights, sizeof(*file->blobs), compare_blobs);
    file->info.shapes = file->shapes;
    return judge(r);
}

/* --- life --------------------------------------------------------------------------------------
 */

bool vt_plan_file_is(const char *path)
{
    char text[sizeof(VT_PLAN_FILE_MAGIC) - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    const ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    return n == (ssize_t)sizeof(text) && memcmp(text, VT_PLAN_FILE_MAGIC, sizeof(text)) == 0;
}

enum vt_status vt_plan_file_open_memory(const char *name, const void *bytes, size_t size,
                                        struct vt_error *err, struct vt_plan_file **ret_file)
{
    struct vt_error own = VT_ERROR_INIT;
    struct vt_plan_file *file = vt_calloc(1, sizeof(*file));
    if (file == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
    }
    vt_arena_init(&file->memory, 0);
    file->name = vt_arena_strndup(&file->memory, name, strlen(name));
    struct reader reader = {.file = file, .bytes = bytes, .size = size, .err = &own};
    enum vt_status status = file->name != NULL ? read_all(&reader) : vt_out_of_memory(&own);
    if (status != VT_OK) {
        vt_plan_file_free(file);
        return vt_error_set(err, status, "%s", own.text);
    }
    *ret_file = file;
    return VT_OK;
}

enum vt_status vt_plan_file_open(const char *path, struct vt_error *err,
                                 struct vt_plan_file **ret_file)
{
    struct vt_file_map map;
    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status != VT_OK) {
        return status;
    }
    struct vt_plan_file *file = NULL;
    status = vt_plan_file_open_memory(path, map.bytes, map.size, err, &file);
    if (status != VT_OK) {
        vt_file_map_release(&map);
        return status;
    }
    file->map = map;
    *ret_file = file;
    return VT_OK;
}

void vt_plan_file_free(struct vt_plan_file *file)
{
    if (file != NULL) {
        vt_arena_release(&file->memory);
        vt_file_map_release(&file->map);
        vt_free(file);
    }
}

void vt_plan_file_info(const struct vt_plan_file *file, struct vt_plan_file_info *ret_info)
{
    *ret_info = file->info;
}

/* --- using -------------------------------------------------------------------------------------
 */

static bool is_untouched(const struct vt_plan_file_part *then, const struct vt_plan_file_part *now)
{
    return then->inode != 0 && then->device == now->device && then->inode == now->inode &&
           then->modified == now->modified && then->changed == now->changed;
}

enum vt_status vt_plan_file_check(const struct vt_plan_file *file, const struct vt_model *model,
                                  const char *path, struct vt_error *err)
{
    struct vt_model_part part;
    uint32_t n = 0;
    bool same = true;
    for (; same && vt_model_part(model, n, &part); n++) {
        struct vt_plan_file_part now;
        const struct part *then = &file->parts[n];
        enum vt_status status = vt_plan_file_look(&part, path, err, &now);
        if (status != VT_OK) {
            return status;
        }
        same = n < file->n_parts && then->then.bytes == part.size &&
               strcmp(then->location, part.location != NULL ? part.location : "") == 0 &&
               (is_untouched(&then->then, &now) ||
                vt_plan_file_hash(part.bytes, part.size) == then->then.hash);
    }
    if (!same || n != file->n_parts) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: model %s has changed since it was planned; plan it again with "
                            "vatio plan",
                            file->name, vt_plain(vt_model_name(model)).text);
    }
    return VT_OK;
}

enum vt_status vt_plan_file_answers(const struct vt_plan_file *file, struct vt_tuning *tuning,
                                    struct vt_error *err)
{
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < file->info.n_answers && status == VT_OK; i++) {
        status = vt_tuning_add(tuning, &file->answers[i], err);
    }
    return status;
}

const void *vt_plan_file_weights(const struct vt_plan_file *file, uint32_t value, const char *kind,
                                 uint64_t variant, size_t bytes)
{
    const struct blob wanted = {.value = value, .variant = variant, .kind = kind};
    if (file->info.unused != NULL) {
        return NULL;
    }
    const struct blob *blob =
        bsearch(&wanted, file->blobs, file->info.n_weights, sizeof(*file->blobs), compare_blobs);
    return blob != NULL && blob->bytes == bytes ? blob->data : NULL;
}

bool vt_plan_file_blob(const struct vt_plan_file *file, uint32_t index, const uint8_t **ret_bytes,
                       size_t *ret_size)
{
    if (index >= file->info.n_weights) {
        return false;
    }
    *ret_bytes = file->blobs[index].data;
    *ret_size = file->blobs[index].bytes;
    return true;
}
