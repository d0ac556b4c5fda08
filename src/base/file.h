/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: mapped for reading, and written so that nothing half-written is left.
 */
#ifndef VT_BASE_FILE_H
#define VT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

/* A file mapped read-only. An empty file has bytes = NULL and size = 0. */
struct vt_file_map {
    const uint8_t *bytes;
    size_t size;
};

/*
 * Errors name the path: VT_ERR_NOT_FOUND, VT_ERR_READ (permission, a directory, a device).
 * On success the caller releases the map.
 */
enum vt_status vt_file_map_open(const char *path, struct vt_error *err,
                                struct vt_file_map *ret) VT_NODISCARD;
void vt_file_map_release(struct vt_file_map *map); /* accepts a zeroed one */

/* The whole of a regular file of at most `limit` bytes, with a NUL behind it; vt_free it. */
enum vt_status vt_file_read(const char *path, size_t limit, struct vt_error *err, char **ret_text,
                            size_t *ret_size) VT_NODISCARD;

/*
 * A file that appears whole or not at all: written beside its place and renamed by commit.
 * Every write error (a full disk, a vanished folder) surfaces at commit at the latest.
 */
struct vt_file_writer {
    FILE *stream; /* write here with stdio; NULL when closed */
    char *path;
    char *temporary;
};
enum vt_status vt_file_writer_open(struct vt_file_writer *writer, const char *path,
                                   struct vt_error *err) VT_NODISCARD;
enum vt_status vt_file_writer_commit(struct vt_file_writer *writer,
                                     struct vt_error *err) VT_NODISCARD;
/* Drops what was written unless committed. Accepts a zeroed one. */
void vt_file_writer_release(struct vt_file_writer *writer);

/* mkdir -p. VT_ERR_WRITE names the folder that could not be made. */
enum vt_status vt_make_folders(const char *path, struct vt_error *err) VT_NODISCARD;
/* The user's cache folder of that name, XDG_CACHE_HOME/name, else ~/.cache/name, in fresh memory
 * (vt_free); not made. VT_ERR_WRITE where neither is known. */
enum vt_status vt_cache_folder(const char *name, struct vt_error *err,
                               char **ret_folder) VT_NODISCARD;
/* "folder/name" in fresh memory (vt_free), NULL when out of memory. */
char *vt_path_join(const char *folder, const char *name);
bool vt_path_is_folder(const char *path);
bool vt_path_exists(const char *path);
/* The part behind the last slash. */
const char *vt_path_base(const char *path);

#endif
