/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader (plan_file.c) and the writer (plan_file_write.c) of plan files share. */
#ifndef VT_PLAN_PLAN_FILE_FORMAT_H
#define VT_PLAN_PLAN_FILE_FORMAT_H

#include "plan/internal.h"
#include "plan/plan_file.h"

#define VT_PLAN_FILE_MAGIC    "vatio plan "
#define VT_PLAN_FILE_FORMAT   "1"
#define VT_PLAN_FILE_PAGE     ((size_t)4096)
#define VT_PLAN_FILE_TEXT_MAX ((size_t)64 << 20)
#define VT_PLAN_FILE_KIND_MAX 31

/* Where a part of the model was, and what was in it. Times are nanoseconds. */
struct vt_plan_file_part {
    uint64_t bytes, device, inode, modified, changed, hash;
};

/* A hash of content, at the speed of memory: against mistakes, not against forgers. */
uint64_t vt_plan_file_hash(const void *bytes, size_t size);
/* Everything but the hash. `path` is the model's, NULL: in memory. VT_ERR_READ. */
enum vt_status vt_plan_file_look(const struct vt_model_part *part, const char *path,
                                 struct vt_error *err, struct vt_plan_file_part *ret);

static inline size_t vt_plan_file_pages(size_t bytes)
{
    return (bytes + VT_PLAN_FILE_PAGE - 1) / VT_PLAN_FILE_PAGE * VT_PLAN_FILE_PAGE;
}

#endif
