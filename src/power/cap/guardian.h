/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian: a small process of its own session that is told what to put back, and does so when
 * the process that started it ends without having dismissed it.
 *
 * It is forked and not executed, so it must be started before threads that allocate or load
 * libraries. It ignores every signal that can be ignored, holds none of the caller's files, and
 * shares the lock, which is free only when both are gone.
 */
#ifndef VT_POWER_CAP_GUARDIAN_H
#define VT_POWER_CAP_GUARDIAN_H

#include <stddef.h>
#include <sys/types.h>

#include "power/cap/cap.h"

struct vt_cap_guardian {
    pid_t pid;
    int fd; /* the line to it; -1: there is none */
};

/* `folder` is that of the records, `path` the record that it removes when all is put back. */
enum vt_status vt_cap_guardian_start(const struct vt_cap_places *places, const char *folder,
                                     const char *path, int lock, struct vt_error *err,
                                     struct vt_cap_guardian *ret) VT_NODISCARD;
/* A new record, in the place of the one before; returns when the guardian has it. VT_ERR_SYSTEM
 * when it does not answer: it was killed. */
enum vt_status vt_cap_guardian_tell(struct vt_cap_guardian *guardian, const char *text,
                                    struct vt_error *err) VT_NODISCARD;
/*
 * A program that is executed while it is shared keeps the line open: the guardian waits for the
 * end of that program too, so that what it sets late does not come after what is put back.
 */
void vt_cap_guardian_share(const struct vt_cap_guardian *guardian, bool shared);
/* Ends it without putting anything back. Accepts one that is not there. */
void vt_cap_guardian_dismiss(struct vt_cap_guardian *guardian);

#endif
