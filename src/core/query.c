/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query.h"

const char *vt_scenario_name(enum vt_scenario scenario)
{
    static const char *const names[VT_SCENARIO_COUNT] = {"Offline", "Server", "SingleStream",
                                                         "MultiStream"};
    return (unsigned)scenario < VT_SCENARIO_COUNT ? names[scenario] : "?";
}

const char *vt_scenario_key(enum vt_scenario scenario)
{
    static const char *const keys[VT_SCENARIO_COUNT] = {"offline", "server", "singlestream",
                                                        "multistream"};
    return (unsigned)scenario < VT_SCENARIO_COUNT ? keys[scenario] : "?";
}

const char *vt_mode_key(enum vt_mode mode)
{
    static const char *const keys[VT_MODE_COUNT] = {"performance", "accuracy", "submission",
                                                    "find-peak"};
    return (unsigned)mode < VT_MODE_COUNT ? keys[mode] : "?";
}

const char *vt_mode_name(enum vt_mode mode)
{
    static const char *const names[VT_MODE_COUNT] = {"PerformanceOnly", "AccuracyOnly",
                                                     "SubmissionRun", "FindPeakPerformance"};
    return (unsigned)mode < VT_MODE_COUNT ? names[mode] : "?";
}
