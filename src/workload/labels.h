/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label lists, as text files:
 *   a label map    one image a line, "path label": the label is the last word, a number from 0 up;
 *                  the path may hold blanks
 *   class names    one class a line, in the order of the model's classes
 * Empty lines and lines that begin with '#' are left out in both, a byte order mark and carriage
 * returns are not seen. Errors say file:line and what was wrong.
 */
#ifndef VT_WORKLOAD_LABELS_H
#define VT_WORKLOAD_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

/* What a list may be at most. */
#define VT_LABEL_FILE_BYTES ((size_t)256 << 20)
#define VT_LABEL_LINE_BYTES 4096

struct vt_label_entry {
    const char *text; /* path or class name */
    int64_t label;    /* of a map; in a list of names the position */
    uint64_t line;    /* counted from 1 */
};

/* Owned by the caller, who releases it. */
struct vt_label_list {
    struct vt_arena arena;
    struct vt_label_entry *entries;
    size_t n;
};

/* Whether the first line that counts ends in a number behind a blank, as a label map's does. */
bool vt_label_text_is_map(const char *text, size_t size);
/* From memory; `name` stands in messages. VT_ERR_FORMAT, VT_ERR_MEMORY; an empty list is an error.
 */
enum vt_status vt_label_map_parse(const char *name, const char *text, size_t size,
                                  struct vt_error *err, struct vt_label_list *ret) VT_NODISCARD;
enum vt_status vt_label_names_parse(const char *name, const char *text, size_t size,
                                    struct vt_error *err, struct vt_label_list *ret) VT_NODISCARD;
void vt_label_list_release(struct vt_label_list *list); /* accepts a zeroed one */

#endif
