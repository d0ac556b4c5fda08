/* SPDX-License-Identifier: Apache-2.0 */
/* A result of the public API: what vt_test_run left behind, and a view of each phase. */
#ifndef VT_API_RESULT_H
#define VT_API_RESULT_H

#include "mlperf/test.h"

struct vt_load_result {
    const struct vt_load_report *report; /* that it speaks of; NULL: find-peak without any */
    const struct vt_load_report *second; /* of a whole with two phases: accuracy; else NULL */
    const struct vt_test_result *test;
};

/* Room for a result; made before the run, so that no measurement is lost for want of it. */
enum vt_status vt_load_result_new(struct vt_error *err,
                                  struct vt_load_result **ret_result) VT_NODISCARD;
/* Takes over what is in *test, and zeroes it. */
void vt_load_result_adopt(struct vt_load_result *result, struct vt_test_result *test);

/* Number `key` of a report, see vt_load_result_number. False when there is none of that name. */
bool vt_api_number(const struct vt_load_result *result, const char *key, double *ret_value);
const char *vt_api_number_name(size_t i); /* NULL beyond the last */
const char *vt_api_number_nearest(const char *key);

#endif
