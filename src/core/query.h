/* SPDX-License-Identifier: Apache-2.0 */
/* The nouns of load and its seams (vatio/load.h), and how they are called in text. */
#ifndef VT_CORE_QUERY_H
#define VT_CORE_QUERY_H

#include "vatio/load.h"

/* What a struct of a seam starts with. */
#define VT_SUT_HEAD VT_LOAD_API_VERSION, sizeof(struct vt_sut)
#define VT_QSL_HEAD VT_LOAD_API_VERSION, sizeof(struct vt_qsl)

/* "Offline", as MLPerf and people write it; static storage. */
const char *vt_scenario_name(enum vt_scenario scenario);
/* "offline", as options and folders spell it. */
const char *vt_scenario_key(enum vt_scenario scenario);
/* "performance", "accuracy", "submission", "find-peak". */
const char *vt_mode_key(enum vt_mode mode);
/* "PerformanceOnly", as MLPerf's logs write it. */
const char *vt_mode_name(enum vt_mode mode);

#endif
