/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan file: what planning a model costs time for, kept so that the model opens at once. It holds
 * which model it is for, the answers of the tuning and the packed weights, ready to be mapped.
 *
 *     vatio plan 1 <bytes of the text> <bytes of the file> <hash of what follows in the text>
 *     version, build, cpu, threads, batch, model         a line each
 *     shape <extents> <name>                              a line for each binding
 *     part <bytes> <device> <inode> <modified> <changed> <hash> <location>
 *     answer <line of a tuning file>
 *     weights <value> <variant> <offset> <bytes> <kind>
 *     …padding to a page; blobs, each at a page: offsets count from the first
 *
 * The graph itself is planned anew when the model is opened, which takes milliseconds; a plan that
 * was made for another processor, number of threads or shapes is of less use, never wrong: answers
 * are looked up by key, weights by (value of the model, kind, variant, bytes), and those of another
 * build or instruction set are not looked up at all. Whatever is not found is chosen by rule and
 * packed as without the file.
 *
 * Wrong would be another model under the same path: its parts must have the content that was
 * planned. A part whose inode, size and times are those of then is the same one; of any other the
 * content's hash is compared.
 *
 * Threading: an opened file does not change; any thread may read it.
 */
#ifndef VT_PLAN_PLAN_FILE_H
#define VT_PLAN_PLAN_FILE_H

#include "plan/plan.h"
#include "plan/tuning.h"
#include "vatio/engine.h"

struct vt_plan_file;

/* Whether the file begins as a plan does; false as well when it cannot be read. */
bool vt_plan_file_is(const char *path);

/* VT_ERR_NOT_FOUND, VT_ERR_READ, VT_ERR_FORMAT (damaged), VT_ERR_UNSUPPORTED (another format),
 * VT_ERR_MEMORY. On success the caller frees it, after all weights that use it. */
enum vt_status vt_plan_file_open(const char *path, struct vt_error *err,
                                 struct vt_plan_file **ret_file) VT_NODISCARD;
/* The same from memory, which is borrowed. The fuzzing entry. */
enum vt_status vt_plan_file_open_memory(const char *name, const void *bytes, size_t size,
                                        struct vt_error *err,
                                        struct vt_plan_file **ret_file) VT_NODISCARD;
void vt_plan_file_free(struct vt_plan_file *file); /* accepts NULL */

/* Owned by the file. */
struct vt_plan_file_info {
    const char *version; /* of vatio */
    const char *model;   /* as a user names it: a path or a name */
    uint32_t threads, features;
    int64_t batch;
    enum vt_precision precision; /* of the packed weights */
    const struct vt_shape_binding *shapes;
    uint32_t n_shapes, n_answers, n_weights;
    size_t weight_bytes;
    const char *unused; /* why its weights are not used here, "made by vatio 0.1.0 …"; NULL: used */
};
void vt_plan_file_info(const struct vt_plan_file *file, struct vt_plan_file_info *ret_info);

/* VT_ERR_FORMAT when the model is not the one that was planned. `path` is
 * that of the model, NULL for one in memory. */
enum vt_status vt_plan_file_check(const struct vt_plan_file *file, const struct vt_model *model,
                                  const char *path, struct vt_error *err) VT_NODISCARD;
/* Adds the answers to the tuning. */
enum vt_status vt_plan_file_answers(const struct vt_plan_file *file, struct vt_tuning *tuning,
                                    struct vt_error *err) VT_NODISCARD;
/* The packed form of the model's value; NULL: there is none. Valid as long as the file. */
const void *vt_plan_file_weights(const struct vt_plan_file *file, uint32_t value, const char *kind,
                                 uint64_t variant, size_t bytes);

/* The packed forms one after another. False from info.n_weights on. */
bool vt_plan_file_blob(const struct vt_plan_file *file, uint32_t index, const uint8_t **ret_bytes,
                       size_t *ret_size);

struct vt_plan_file_contents {
    const struct vt_model *model;
    const char *path; /* of the model; NULL: in memory */
    const char *name; /* `model` of the info */
    uint32_t threads;
    int64_t batch;
    enum vt_precision precision;
    const struct vt_shape_binding *shapes;
    uint32_t n_shapes;
    struct vt_weights *weights; /* whatever is packed in them */
    struct vt_tuning *tuning;   /* whatever it was asked; may be NULL */
};
/* Appears whole or not at all. Nobody plans with the weights meanwhile. */
enum vt_status vt_plan_file_write(const char *path, const struct vt_plan_file_contents *contents,
                                  struct vt_error *err) VT_NODISCARD;

#endif
