/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of load tests have in common. */
#ifndef LOAD_FIXTURE_H
#define LOAD_FIXTURE_H

#include "pool_sut.h"
#include "vatio/load.h"
#include "vt_test.h"

static inline struct vt_load_test *new_test(const char *scenario)
{
    struct vt_load_test *test = NULL;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_new(&err, &test), VT_OK);
    assert_int_equal(vt_load_test_set(test, "scenario", scenario, &err), VT_OK);
    return test;
}

static inline void set(struct vt_load_test *test, const char *name, const char *value)
{
    struct vt_error err = VT_ERROR_INIT;
    if (vt_load_test_set(test, name, value, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
}

static inline void assert_setting(const struct vt_load_test *test, const char *name,
                                  const char *expected)
{
    char text[64];
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_get(test, name, &err, text, sizeof text), VT_OK);
    assert_string_equal(text, expected);
}

/* Some hundred queries as fast as they come, at the scenario's rate. */
static inline struct vt_load_test *short_test(const char *scenario)
{
    struct vt_load_test *test = new_test(scenario);
    set(test, "min_duration_ms", "0");
    set(test, "min_query_count", "800");
    set(test, "server_target_qps", "20000");
    set(test, "server_target_latency_ns", "10000000000");
    return test;
}

static inline struct vt_load_result *run(struct vt_load_test *test, struct pool_sut *pool)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_result *result = NULL;
    if (vt_load_test_run(test, &pool->seam, &pool->library, &err, &result) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_non_null(result);
    return result;
}

static inline double number(const struct vt_load_result *result, const char *key)
{
    double value = -1;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_load_result_number(result, key, &err, &value) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return value;
}

#endif
