/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output folder: made and tried before anything is measured, filled entry by entry, so that an
 * interrupted job loses nothing; taken away again when nothing could be measured.
 */
#ifndef VT_RUN_SAVE_H
#define VT_RUN_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

struct vt_save {
    char *folder;
    size_t kept; /* the first so many bytes of it name a folder that was there before */
    bool trace;  /* logs have a trace; set by the caller */
};

/* "runs/2026-11-30T10-12-07-digits" in fresh memory (vt_free): no colons, which some file systems
 * refuse. NULL when out of memory. */
char *vt_save_default_folder(const char *started_utc, const char *model_name);
/*
 * `wanted` is the user's -o, or NULL for runs/<time>-<model>. VT_ERR_WRITE when a file cannot be
 * written there.
 */
enum vt_status vt_save_open(struct vt_save *save, const char *wanted, const char *started_utc,
                            const char *model_name, struct vt_error *err) VT_NODISCARD;
/* The folder of the logs of a test that is about to run; the caller frees it (vt_free). */
enum vt_status vt_save_test_folder(const struct vt_save *save, enum vt_scenario scenario,
                                   enum vt_mode test_mode, struct vt_error *err,
                                   char **ret_folder) VT_NODISCARD;
/* Records of one entry, and its MLPerf logs unless a test has written them. */
enum vt_status vt_save_entry(const struct vt_save *save, const struct vt_result_entry *entry,
                             struct vt_error *err) VT_NODISCARD;
/* Removes the folders that were made here, as far as they are empty. */
void vt_save_discard(struct vt_save *save);
void vt_save_release(struct vt_save *save); /* accepts a zeroed one */

#endif
