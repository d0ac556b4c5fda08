/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: what caps had before they were set, in a small text file, so that it can be put back by
 * whoever finds it. Never a path or a command is taken from one, only names that are looked up and
 * numbers that are checked.
 *
 *   vatio caps 1
 *   boot ID                               of this start of the machine
 *   owner PID START                       START as /proc/PID/stat has it
 *   places TEXT                           where caps were looked for
 *   cap KIND<tab>DOMAIN<tab>ID<tab>N<tab>N
 *   end N                                 lines of caps
 *
 * Threading: a record belongs to one thread at a time.
 */
#ifndef VT_POWER_CAP_RECORD_H
#define VT_POWER_CAP_RECORD_H

#include "power/cap/cap.h"

/* So many items fit into so many bytes, whatever they are called. */
#define VT_CAP_RECORD_BYTES_MAX ((size_t)1024 * 1024)
#define VT_CAP_RECORD_ITEMS_MAX 4096

struct vt_cap_record_item {
    char kind[16], domain[48], id[64];
    struct vt_cap_raw raw;
};

struct vt_cap_record {
    char boot[48];
    int64_t owner;
    uint64_t owner_start;
    char places[1024];
    struct vt_cap_record_item *items;
    uint32_t n, room;
};

/* An empty one of this process. */
void vt_cap_record_init(struct vt_cap_record *record, const struct vt_cap_places *places);
void vt_cap_record_release(struct vt_cap_record *record); /* accepts a zeroed one */
/* Adds an item; false when out of memory or beyond VT_CAP_RECORD_ITEMS_MAX. */
bool vt_cap_record_add(struct vt_cap_record *record, const struct vt_cap_record_item *item);
/* The item of that kind and domain, NULL when there is none. */
struct vt_cap_record_item *vt_cap_record_find(const struct vt_cap_record *record, const char *kind,
                                              const char *domain);

/* As text in fresh memory (vt_free); NULL when out of memory. */
char *vt_cap_record_text(const struct vt_cap_record *record);
/* VT_ERR_FORMAT names the line: NAME:LINE. */
enum vt_status vt_cap_record_parse(const char *text, size_t size, const char *name,
                                   struct vt_error *err, struct vt_cap_record *ret) VT_NODISCARD;

/* Whole or not at all, on the disk when it returns, for this user only. */
enum vt_status vt_cap_record_save(const char *text, const char *path,
                                  struct vt_error *err) VT_NODISCARD;
/* Removes it, and what a process that died while writing it left. */
void vt_cap_record_drop(const char *path);
/* A regular file of this user's that nobody else can write. VT_ERR_READ for any other. */
enum vt_status vt_cap_record_load(const char *path, struct vt_error *err,
                                  struct vt_cap_record *ret) VT_NODISCARD;

/* When a process began, in the kernel's ticks; 0: there is none. */
uint64_t vt_process_start(int64_t pid);
/* Whether the process that wrote it lives. */
bool vt_cap_record_owned(const struct vt_cap_record *record);
bool vt_cap_record_of_this_boot(const struct vt_cap_record *record);
/* Whether it was made over these places. */
bool vt_cap_record_fits(const struct vt_cap_record *record, const struct vt_cap_places *places);

#endif
