/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Precisions beside each other on the same samples: each is an engine of its own, and they take
 * turns. The first one is what the others are judged by.
 */
#ifndef VT_RUN_PRECISION_TRIAL_H
#define VT_RUN_PRECISION_TRIAL_H

#include "result/precision.h"
#include "run/session.h"

struct vt_precision_trial;

/* Of a session whose engine and workload are started; borrowed. */
enum vt_status vt_precision_trial_new(struct vt_session *session, struct vt_error *err,
                                      struct vt_precision_trial **ret_trial) VT_NODISCARD;
void vt_precision_trial_free(struct vt_precision_trial *trial); /* accepts NULL */

/* A candidate: the engine's setting and what it opens. At most VT_PRECISIONS_MAX, the exact ones
 * first. */
enum vt_status vt_precision_trial_add(struct vt_precision_trial *trial, const char *precision,
                                      const struct vt_bundle *bundle,
                                      struct vt_error *err) VT_NODISCARD;
void vt_precision_trial_skip(struct vt_precision_trial *trial, const char *precision,
                             const char *why);

enum vt_status vt_precision_trial_run(struct vt_precision_trial *trial, struct vt_error *err,
                                      struct vt_precision_choice *ret_choice) VT_NODISCARD;

#endif
