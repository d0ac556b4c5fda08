/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second verdict: would this run count under the MLPerf Inference rules of the round, and if
 * not, why, and which option would make it count.
 */
#ifndef VT_RUN_RULES_H
#define VT_RUN_RULES_H

#include "result/result.h"
#include "run/session.h"

/* Fills entry->rules_met and entry->rules from the entry's report. */
void vt_rules_judge(const struct vt_session *session, struct vt_result_entry *entry);

#endif
