/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --precision of the native engine. fp32, fp16w and bf16 are a setting of the engine; int8 needs a
 * model that says how it is quantised, made here from the job's data; auto tries all of them.
 *
 * Auto runs every candidate on the same samples, in turns, and takes the fastest whose quality is
 * within --quality-loss of fp32's (and reaches the workload's target where fp32 does). Without
 * labels the outputs' RMS error beside fp32 stands for the loss, and whole numbers have to be the
 * same. A candidate that is no more than 3 % faster is left for the more exact one.
 *
 * Threading: as the session.
 */
#ifndef VT_RUN_PRECISION_H
#define VT_RUN_PRECISION_H

#include "run/session.h"

/* Reads the wish: --precision, or the engine's setting of that name, which it takes out of the
 * settings. VT_ERR_USAGE: another engine, or a plan that was made for something else. */
enum vt_status vt_precision_ask(struct vt_session *session, struct vt_error *err) VT_NODISCARD;

/*
 * Before the engine is opened: settles int8 and auto, so that settings and bundle are those of the
 * choice. The engine is opened and closed meanwhile. Errors: int8 without data to calibrate on.
 */
enum vt_status vt_precision_settle(struct vt_session *session, struct vt_error *err) VT_NODISCARD;

/* Whether the model says itself how it is quantised. */
bool vt_model_is_quantised(const struct vt_model *model);

#endif
