/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of what an engine computes, as far as it tells: the native engine does.
 *
 * Threading: no run is on.
 */
#ifndef VT_RUN_LAYERS_H
#define VT_RUN_LAYERS_H

#include "plan/plan.h"
#include "result/profile.h"
#include "run/session.h"

/* Node, operator with what is fused into it, kernel, shape; the rest of the layer stays. */
void vt_layer_describe(const struct vt_model *model, const struct vt_step_profile *step,
                       struct vt_profile_layer *layer);

/* Those of the plan that computed most, in its order; vt_free them. 0 layers where the engine does
 * not tell. VT_ERR_MEMORY. */
enum vt_status vt_layers_read(const struct vt_session *session, struct vt_error *err,
                              struct vt_profile_layer **ret_layers, uint32_t *ret_n) VT_NODISCARD;

#endif
