/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether engines give the same outputs for the same inputs: |a - b| <= atol + rtol * |b| for every
 * element, b the first engine's. Whole numbers and truth values have to be the same.
 *
 * Threading: one thread; the engines' lanes 0 are in use meanwhile.
 */
#ifndef VT_RUN_COMPARE_OUTPUTS_H
#define VT_RUN_COMPARE_OUTPUTS_H

#include "result/comparison.h"
#include "run/session.h"

/*
 * `sessions` have their engines and workloads started, not yet their suts; the first n_samples
 * samples of each workload are loaded. Looks at up to n_samples samples, one by one, until
 * `budget_ns` is used up. Fills engines[i].outputs (i > 0) and engines[i].first_ns of the
 * comparison, and its samples_checked. A difference is no error. Errors: VT_ERR_USAGE when the
 * engines do not see the same inputs, VT_ERR_ENGINE when one fails, VT_ERR_INTERRUPTED.
 */
enum vt_status vt_compare_outputs(struct vt_comparison *comparison,
                                  struct vt_session *const *sessions, uint64_t n_samples,
                                  int64_t budget_ns, const _Atomic bool *stop,
                                  struct vt_error *err) VT_NODISCARD;

/* One output of one sample, accumulated into `agreement`; `squares` is the sum of b^2 so far and
 * errors that of (a - b)^2. For tests. */
struct vt_agreement_sums {
    double squares, errors;
    double worst_ratio; /* of |a - b| to what is allowed */
};
void vt_agreement_add(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                      uint64_t sample, const struct vt_tensor *a, const struct vt_tensor *b,
                      double rtol, double atol);

#endif
