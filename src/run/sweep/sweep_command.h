/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a sweep as texts: kept in sweep.json, given to the run of a point, compared when a
 * sweep goes on. */
#ifndef VT_RUN_SWEEP_COMMAND_H
#define VT_RUN_SWEEP_COMMAND_H

#include "base/options.h"
#include "result/sweep.h"

#define VT_SWEEP_COMMAND_MAX 256

/* Texts in fresh memory, ended by NULL. */
struct vt_sweep_texts {
    char *items[VT_SWEEP_COMMAND_MAX + 1];
    uint32_t n;
};
void vt_sweep_texts_release(struct vt_sweep_texts *texts); /* accepts a zeroed one */
/* Takes `text` over; NULL: out of memory. VT_ERR_MEMORY, VT_ERR_LIMIT. */
enum vt_status vt_sweep_texts_add(struct vt_sweep_texts *texts, char *text,
                                  struct vt_error *err) VT_NODISCARD;
/* An option that the user gave, so that it can be given again: "--name=value", a flag "--name" or
 * "--no-name", a list once a value. `shown`: secrets are hidden (vt_option_shown). */
enum vt_status vt_sweep_texts_add_option(struct vt_sweep_texts *texts,
                                         const struct vt_options *options, size_t index, bool shown,
                                         struct vt_error *err) VT_NODISCARD;

/* "sweep", the model and what was given, without secrets, as sweep->command. */
enum vt_status vt_sweep_command(const struct vt_options *options, const char *model,
                                struct vt_error *err, struct vt_sweep *sweep) VT_NODISCARD;
/* Gives the recorded options to `options`, unless they are given there. VT_ERR_USAGE when one of
 * them holds a secret that was not kept. */
enum vt_status vt_sweep_take_command(const struct vt_sweep *recorded, struct vt_options *options,
                                     struct vt_error *err) VT_NODISCARD;
/* VT_ERR_USAGE, naming what differs, unless both sweeps measure the same points. */
enum vt_status vt_sweep_same(const struct vt_sweep *recorded, const struct vt_sweep *wanted,
                             struct vt_error *err) VT_NODISCARD;

#endif
