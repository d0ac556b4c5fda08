/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files of the kernel, below a root that tests replace. */
#ifndef VT_POWER_SYSFS_H
#define VT_POWER_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#include "power/meter.h"

#define VT_SYSFS_PATH_MAX 320
#define VT_SYSFS_TEXT_MAX 128

/* "/sys" unless the options name another. */
const char *vt_sysfs_root(const struct vt_meter_options *options);
/* printf into a path; false when it does not fit. */
bool vt_sysfs_path(char path[VT_SYSFS_PATH_MAX], const char *fmt, ...) VT_PRINTF(2, 3);
/* The first line without its newline and control characters. Returns 0 or the errno. */
int vt_sysfs_text(const char *path, char ret_text[VT_SYSFS_TEXT_MAX]);
/* A finite number. Returns 0 or the errno; EINVAL when no number stands there. */
int vt_sysfs_number(const char *path, double *ret_value);

/* A file that is read again and again and stays open: opening costs more than reading. Zeroed
 * before use; one that vanished is looked for anew each time. */
struct vt_sysfs_file {
    int kept; /* its descriptor and 1; 0: none */
};
/* As vt_sysfs_number. `path` is the same in every call. */
int vt_sysfs_file_number(struct vt_sysfs_file *file, const char *path, double *ret_value);
void vt_sysfs_file_close(struct vt_sysfs_file *file);

struct vt_sysfs_names {
    char (*names)[64];
    size_t n;
};
/* The names in a folder that begin with `prefix`, in order of the numbers in them; none when there
 * is no such folder. False when out of memory. Release what comes back. */
bool vt_sysfs_list(const char *folder, const char *prefix, struct vt_sysfs_names *ret_names);
void vt_sysfs_names_release(struct vt_sysfs_names *names); /* accepts a zeroed one */

#endif
