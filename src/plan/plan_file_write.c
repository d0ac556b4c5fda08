/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/topology.h"
#include "base/version.h"
#include "plan/plan_file_format.h"

struct blob {
    uint32_t value;
    const char *kind;
    uint64_t variant;
    size_t bytes, offset;
    const void *memory;
};

/* The text in memory that grows, and what was packed. */
struct writer {
    FILE *text;
    char *bytes;
    size_t size;
    struct blob *blobs;
    size_t n_blobs, capacity;
    bool failed; /* out of memory while collecting */
};

static void collect(void *ctx, uint32_t value, const char *kind, uint64_t variant, size_t bytes,
                    const void *memory)
{
    struct writer *w = ctx;
    if (w->n_blobs == w->capacity) {
        const size_t more = w->capacity * 2 + 64;
        struct blob *grown = w->failed ? NULL
                                       : vt_regrow(w->blobs, w->capacity * sizeof(*w->blobs),
                                                   more * sizeof(*w->blobs));
        if (grown == NULL) {
            w->failed = true;
            return;
        }
        w->blobs = grown;
        w->capacity = more;
    }
    w->blobs[w->n_blobs++] = (struct blob){value, kind, variant, bytes, 0, memory};
}

static int compare(const void *a, const void *b)
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

static void put_answer(void *ctx, const struct vt_tuning_answer *answer)
{
    struct writer *w = ctx;
    (void)fprintf(w->text, "answer %s\t%s\t%lld\t%lld\n", answer->key, answer->choice,
                  (long long)answer->ns, (long long)answer->rule_ns);
}

static enum vt_status put_parts(struct writer *w, const struct vt_plan_file_contents *contents,
                                struct vt_error *err)
{
    struct vt_model_part part;
    for (uint32_t i = 0; vt_model_part(contents->model, i, &part); i++) {
        struct vt_plan_file_part now;
        /* Looked at before it is hashed: what changes in between is found out when it is opened. */
        enum vt_status status = vt_plan_file_look(&part, contents->path, err, &now);
        if (status != VT_OK) {
            return status;
        }
        (void)fprintf(w->text, "part %llu %llu %llu %llu %llu %016llx %s\n",
                      (unsigned long long)now.bytes, (unsigned long long)now.device,
                      (unsigned long long)now.inode, (unsigned long long)now.modified,
                      (unsigned long long)now.changed,
                      (unsigned long long)vt_plan_file_hash(part.bytes, part.size),
                      part.location != NULL ? part.location : "");
    }
    return VT_OK;
}

static void put_shapes(struct writer *w, const struct vt_plan_file_contents *contents)
{
    for (uint32_t i = 0; i < contents->n_shapes; i++) {
        const struct vt_shape_binding *shape = &contents->shapes[i];
        for (uint32_t d = 0; d < shape->rank; d++) {
            (void)fprintf(w->text, "%s%lld", d == 0 ? "shape " : "x", (long long)shape->dim[d]);
        }
        (void)fprintf(w->text, " %s\n", shape->name);
    }
}

static size_t put_weights(struct writer *w)
{
    size_t offset = 0;
    for (size_t i = 0; i < w->n_blobs; i++) {
        struct blob *blob = &w->blobs[i];
        blob->offset = offset;
        offset += vt_plan_file_pages(blob->bytes);
        (void)fprintf(w->text, "weights %u %016llx %zu %zu %s\n", blob->value,
                      (unsigned long long)blob->variant, blob->offset, blob->bytes, blob->kind);
    }
    return offset;
}

/* All of the text but its first line. */
static enum vt_status make_text(struct writer *w, const struct vt_plan_file_contents *contents,
                                struct vt_error *err, size_t *ret_data_bytes)
{
    (void)fprintf(w->text, "version %s\nbuild %s\ncpu %x\nthreads %u\nbatch %lld\nmodel %s\n",
                  vt_version(), vt_build_id(), vt_topology()->features, contents->threads,
                  (long long)contents->batch, contents->name);
    if (contents->precision != VT_PRECISION_FP32) {
        (void)fprintf(w->text, "precision %s\n", vt_precision_name(contents->precision));
    }
    put_shapes(w, contents);
    enum vt_status status = put_parts(w, contents, err);
    if (status != VT_OK) {
        return status;
    }
    if (contents->tuning != NULL) {
        vt_tuning_each_used(contents->tuning, put_answer, w);
    }
    *ret_data_bytes = put_weights(w);
    if (fflush(w->text) != 0 || ferror(w->text) != 0) {
        return vt_out_of_memory(err);
    }
    return VT_OK;
}

static void put_zeros(FILE *out, size_t n)
{
    static const char zeros[VT_PLAN_FILE_PAGE];
    (void)fwrite(zeros, 1, n, out);
}

static enum vt_status write_file(const struct writer *w, const char *path, size_t data_bytes,
                                 struct vt_error *err)
{
    struct vt_file_writer file;
    char head[160];
    int n = 0;
    size_t text_bytes = w->size;
    /* The line says its own length, too: it has settled once that does not change any more. */
    for (size_t before = 0; before != text_bytes;) {
        before = text_bytes;
        n = snprintf(head, sizeof(head), "%s%s %zu %zu %016llx\n", VT_PLAN_FILE_MAGIC,
                     VT_PLAN_FILE_FORMAT, text_bytes, vt_plan_file_pages(text_bytes) + data_bytes,
                     (unsigned long long)vt_plan_file_hash(w->bytes, w->size));
        text_bytes = w->size + (size_t)n;
    }
    if (text_bytes > VT_PLAN_FILE_TEXT_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes of names are too many for a plan",
                            path, text_bytes);
    }
    enum vt_status status = vt_file_writer_open(&file, path, err);
    if (status != VT_OK) {
        return status;
    }
    (void)fwrite(head, 1, (size_t)n, file.stream);
    (void)fwrite(w->bytes, 1, w->size, file.stream);
    put_zeros(file.stream, vt_plan_file_pages(text_bytes) - text_bytes);
    for (size_t i = 0; i < w->n_blobs && ferror(file.stream) == 0; i++) {
        const struct blob *blob = &w->blobs[i];
        (void)fwrite(blob->memory, 1, blob->bytes, file.stream);
        put_zeros(file.stream, vt_plan_file_pages(blob->bytes) - blob->bytes);
    }
    return vt_file_writer_commit(&file, err);
}

/* A line is a line: no name may hold an end of one. */
static enum vt_status check_names(const char *path, const struct vt_plan_file_contents *contents,
                                  struct vt_error *err)
{
    struct vt_model_part part;
    bool fit = strchr(contents->name, '\n') == NULL;
    for (uint32_t i = 0; i < contents->n_shapes; i++) {
        fit = fit && strchr(contents->shapes[i].name, '\n') == NULL;
    }
    for (uint32_t i = 1; vt_model_part(contents->model, i, &part); i++) {
        fit = fit && strchr(part.location, '\n') == NULL;
    }
    return fit ? VT_OK
               : vt_error_set(err, VT_ERR_UNSUPPORTED,
                              "%s: names of files and inputs must not hold a line's end", path);
}

enum vt_status vt_plan_file_write(const char *path, const struct vt_plan_file_contents *contents,
                                  struct vt_error *err)
{
    struct writer w = {.text = NULL};
    size_t data_bytes = 0;
    enum vt_status status = check_names(path, contents, err);
    if (status != VT_OK) {
        return status;
    }
    vt_weights_each(contents->weights, collect, &w);
    w.text = w.failed ? NULL : open_memstream(&w.bytes, &w.size);
    if (w.text == NULL) {
        vt_free(w.blobs);
        return vt_out_of_memory(err);
    }
    if (w.n_blobs > 0) {
        qsort(w.blobs, w.n_blobs, sizeof(*w.blobs), compare);
    }
    status = make_text(&w, contents, err, &data_bytes);
    if (status == VT_OK) {
        status = write_file(&w, path, data_bytes, err);
    }
    (void)fclose(w.text);
    free(w.bytes); /* the C library's */
    vt_free(w.blobs);
    return status;
}
