/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON documents of this room share.
 *
 * Building a tree fails only for want of memory. Each helper swallows a NULL that an earlier one
 * returned and passes NULL on, so that one look at the root at the end tells.
 */
#ifndef VT_RESULT_JSON_PARTS_H
#define VT_RESULT_JSON_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "result/precision.h"
#include "result/profile.h"

/* An object under construction. */
struct vt_json_object {
    json_t *json;
    bool failed;
};
struct vt_json_object vt_json_object_begin(void);
/* Takes `value` over. */
void vt_json_put(struct vt_json_object *object, const char *key, json_t *value);
json_t *vt_json_object_end(struct vt_json_object *object);
/* Takes both over; returns the array. */
json_t *vt_json_array_with(json_t *array, json_t *value);

/* null for NULL. */
json_t *vt_json_text(const char *text);
/* JSON has neither infinity nor NaN: null says that there is no number. */
json_t *vt_json_real(double value);
/* JSON readers keep 63 bits at most; nothing that is counted here comes near. */
json_t *vt_json_count(uint64_t value);

/* node, op, kernel, tuned, output_shape: what a layer is, not what it costs. */
void vt_json_put_layer(struct vt_json_object *object, const struct vt_profile_layer *layer);

/* null where nothing was chosen. */
json_t *vt_json_precision(const struct vt_precision_choice *choice);

json_t *vt_json_tool(void);
json_t *vt_json_machine(void);
/* Every option with its value and whether the user named it; null for NULL. */
json_t *vt_json_job(const struct vt_options *options);

/* Takes `root` over, which may be NULL. Text in fresh memory (vt_free). VT_ERR_MEMORY. */
enum vt_status vt_json_dump(json_t *root, struct vt_error *err, char **ret_text) VT_NODISCARD;
/* Writes folder/result.json; the folder exists. VT_ERR_WRITE names what could not be written. */
enum vt_status vt_json_save(const char *text, const char *folder,
                            struct vt_error *err) VT_NODISCARD;
/* The same under another name. */
enum vt_status vt_json_save_as(const char *text, const char *folder, const char *name,
                               struct vt_error *err) VT_NODISCARD;

#endif
