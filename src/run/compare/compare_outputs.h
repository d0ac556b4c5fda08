/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether engines give the same outputs for the same inputs.
 *
 * An output that depends on a decision (graph/feeders.h) and differs is looked at again: the model
 * is opened once more by every engine, with what feeds the decision as further outputs, and those
 * are compared in its place.
 *
 * Threading: one thread; the engines' lanes 0 are in use meanwhile.
 */
#ifndef VT_RUN_COMPARE_OUTPUTS_H
#define VT_RUN_COMPARE_OUTPUTS_H

#include <stdatomic.h>

#include "result/comparison.h"
#include "run/session.h"

/*
 * `sessions` have their engines and workloads started, not yet their suts; the first n_samples
 * samples of each workload are loaded. Looks at up to n_samples samples, one by one, until
 * `budget_ns` is used up. Fills engines[i].outputs and feeders (i > 0) and engines[i].first_ns of
 * the comparison, and its samples_checked. A difference is no error. Errors: VT_ERR_ENGINE when
 * engines do not see the same inputs and outputs or one fails, VT_ERR_MEMORY, VT_ERR_INTERRUPTED.
 */
enum vt_status vt_compare_outputs(struct vt_comparison *comparison,
                                  struct vt_session *const *sessions, uint64_t n_samples,
                                  int64_t budget_ns, const _Atomic bool *stop,
                                  struct vt_error *err) VT_NODISCARD;

#endif
