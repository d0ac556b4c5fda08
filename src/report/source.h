/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders that a report is about: what `vatio run`, `audit`, `compare`, `profile` and `sweep`
 * leave, or folders of such folders.
 */
#ifndef VT_REPORT_SOURCE_H
#define VT_REPORT_SOURCE_H

#include <jansson.h>
#include <stddef.h>

#include "vatio/status.h"

enum vt_source_kind {
    VT_SOURCE_RUN,
    VT_SOURCE_COMPARISON,
    VT_SOURCE_PROFILE,
    VT_SOURCE_SWEEP,
    VT_SOURCE_KINDS,
};

struct vt_source {
    enum vt_source_kind kind;
    char *folder;
    char *name; /* short, and unlike that of any other source */
    json_t *root;
};

#define VT_SOURCES_MAX     64
#define VT_SOURCE_FILE_MAX ((size_t)16 << 20)

struct vt_sources {
    struct vt_source items[VT_SOURCES_MAX];
    size_t n;
};

/*
 * Reads result.json or sweep.json of each folder, in order; of a folder that has neither those of
 * the folders in it, by name. VT_ERR_NOT_FOUND where there is none; VT_ERR_FORMAT and
 * VT_ERR_UNSUPPORTED (another schema version) name the file; VT_ERR_LIMIT beyond VT_SOURCES_MAX.
 * On success the caller releases the sources.
 */
enum vt_status vt_sources_read(const char *const *folders, size_t n, struct vt_error *err,
                               struct vt_sources *ret) VT_NODISCARD;
void vt_sources_release(struct vt_sources *sources); /* accepts a zeroed one */

/* One document from memory; `name` stands in messages. The caller decrefs it. */
enum vt_status vt_source_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, enum vt_source_kind *ret_kind,
                               json_t **ret_root) VT_NODISCARD;

#endif
