/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting back: opened kinds, the replay of a record, and the folder of records with its lock.
 *
 * The lock is of a hold and of its guardian together, and is free only when both are gone.
 */
#ifndef VT_POWER_CAP_REPLAY_H
#define VT_POWER_CAP_REPLAY_H

#include "power/cap/cap.h"
#include "power/cap/record.h"

/* Kinds in all, at most. */
#define VT_CAP_KINDS_MAX 16

/* The kinds that are open, each opened when first asked for. */
struct vt_cap_desk {
    const struct vt_cap_places *places;
    void *caps[VT_CAP_KINDS_MAX]; /* by index in the table */
};
enum vt_status vt_cap_desk_open(struct vt_cap_desk *desk, const struct vt_cap_ops *kind,
                                struct vt_error *err, void **ret_cap) VT_NODISCARD;
void vt_cap_desk_release(struct vt_cap_desk *desk); /* accepts a zeroed one */

/* Puts back everything of the record, the last first, with a few attempts; goes on where one
 * fails, whose error is the first that is told. ret_restored: a flag an item, or NULL. */
enum vt_status vt_cap_replay(struct vt_cap_desk *desk, const struct vt_cap_record *record,
                             struct vt_error *err, bool *ret_restored) VT_NODISCARD;

/* vt_cap_leftovers for who has the lock of that folder already. */
enum vt_status vt_cap_leftovers_locked(const struct vt_cap_places *places, const char *folder,
                                       bool restore, struct vt_error *err,
                                       struct vt_cap_leftovers *ret) VT_NODISCARD;

/* The folder of the records, made on demand where it is not there, in fresh memory (vt_free).
 * VT_ERR_READ where others could write in it. */
enum vt_status vt_cap_folder(const struct vt_cap_places *places, bool make, struct vt_error *err,
                             char **ret_folder) VT_NODISCARD;
/* Waits while a guardian is at work; VT_ERR_UNAVAILABLE names the living process that has it. */
enum vt_status vt_cap_lock(const char *folder, struct vt_error *err, int *ret_fd) VT_NODISCARD;
/* Closing it in every process that has it gives it back; this removes its name before. */
void vt_cap_lock_drop(const char *folder);

#endif
