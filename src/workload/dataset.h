/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set of images on disk: which files, and their labels.
 *
 *   FOLDER with val_map.txt       the map's order; paths are relative to the folder
 *   FOLDER of folders of images   one a class; the class numbers come from the names:
 *                                 their place in labels.txt (in the data set's folder or beside it)
 *                                 if that lists them all, else the names themselves if all are
 *                                 numbers, else their place in sorted order. Images of the classes
 *                                 alternate, so that the first so many are of all classes.
 *   FOLDER of images              sorted, without labels
 *   FILE                          a map; paths are relative to its folder
 *
 * An explicit label list (--labels) is a map in the place of val_map.txt, or class names in the
 * place of labels.txt. Images are files that end in .jpg, .jpeg or .png, in any case.
 */
#ifndef VT_WORKLOAD_DATASET_H
#define VT_WORKLOAD_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

struct vt_dataset_item {
    const char *path;
    int64_t label; /* VT_NO_LABEL without labels */
};

/* Owned by the caller, who releases it. */
struct vt_dataset {
    struct vt_arena arena;
    struct vt_dataset_item *items;
    size_t n;
    bool labelled;
    const char *source; /* for messages and the header: "val_map.txt", "12 class folders" */
};

/* `labels` may be NULL. VT_ERR_NOT_FOUND when there is no image. */
enum vt_status vt_dataset_open(const char *path, const char *labels, struct vt_error *err,
                               struct vt_dataset *ret) VT_NODISCARD;
void vt_dataset_release(struct vt_dataset *dataset); /* accepts a zeroed one */
/* Whether the path looks like a data set of images, without reading all of it. */
bool vt_dataset_has_images(const char *path);

#endif
