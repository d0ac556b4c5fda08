/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caps that are numbers in files of the kernel. A kind of this sort finds its files; everything
 * else is the same for all of them. Raw numbers: the limit as it stands in the file, and the
 * switch beside it (-1: there is none).
 *
 * Threading: as the seam of caps.
 */
#ifndef VT_POWER_CAP_FILE_H
#define VT_POWER_CAP_FILE_H

#include "power/cap/cap.h"
#include "power/sysfs.h"

struct vt_cap_file {
    char path[VT_SYSFS_PATH_MAX];
    char enabled[VT_SYSFS_PATH_MAX]; /* 0 or 1: whether the limit counts; "": it always does */
    double scale;                    /* a unit of the kind for one of the file */
    double minimum, maximum, standard;
};

struct vt_cap_files {
    uint32_t n, room;
    struct vt_cap_domain *domains;
    struct vt_cap_file *files;
    const char *remedy; /* where writing is refused */
};

/* An empty list; NULL when out of memory. */
struct vt_cap_files *vt_cap_files_new(const char *remedy);
/* Adds one unless a domain of that name is there. False when out of memory. */
bool vt_cap_files_add(struct vt_cap_files *files, const struct vt_cap_domain *domain,
                      const struct vt_cap_file *file);
/* A whole number, and 0 or the errno; EINVAL when none stands there. */
int vt_cap_file_read(const char *path, int64_t *ret);
/* That number times `scale`, NAN where it cannot be read. */
double vt_cap_file_value(const char *path, double scale);
const char *vt_cap_sysfs(const struct vt_cap_places *places);

/* The seam's functions for kinds of this sort. */
const struct vt_cap_domain *vt_cap_files_domains(const void *cap, uint32_t *ret_n);
enum vt_status vt_cap_files_get(void *cap, uint32_t domain, struct vt_error *err,
                                struct vt_cap_value *ret_value);
enum vt_status vt_cap_files_may_set(void *cap, struct vt_error *err);
enum vt_status vt_cap_files_save(void *cap, uint32_t domain, struct vt_error *err,
                                 struct vt_cap_raw *ret_raw);
enum vt_status vt_cap_files_set(void *cap, uint32_t domain, double value, struct vt_error *err);
enum vt_status vt_cap_files_enforced(void *cap, uint32_t domain, struct vt_error *err,
                                     double *ret_value);
enum vt_status vt_cap_files_restore(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                                    struct vt_error *err);
void vt_cap_files_close(void *cap);

#endif
