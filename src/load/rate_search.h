/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the highest Server rate at which a full run is valid.
 *
 *   bracket   trials at doubling or halving rates, from an estimate, until some passed and some
 *             failed; a system that fell behind shows by what it completed where to go next
 *   bisect    trials in the middle of what is still possible, until the edge is known to 5 %
 *   confirm   full runs under the run's own rules, from just below the edge; one that fails is
 *             followed by a lower one, one that is valid by a higher one where that is worth it
 *
 * How runs are weighed, so that none decides by chance, is in rate_belief.h. MLPerf's own
 * FindPeakPerformance, which takes every run at its word, is in mlperf/test.h.
 *
 * Time: the search keeps to its budget: no trial but the first starts that would not leave room for
 * all full runs, no full run but the first starts that may not end within it. Each run has a cap of
 * its own, so that a system that hangs or falls far behind cannot hold it up.
 *
 * Threading: as vt_load_run. control->stop ends it; what was found until then is kept.
 */
#ifndef VT_LOAD_RATE_SEARCH_H
#define VT_LOAD_RATE_SEARCH_H

#include "load/load.h"

struct vt_rate_step {
    bool full;           /* else a trial */
    uint32_t number;     /* of its kind, from 1 */
    double qps;          /* it runs at */
    int64_t expected_ns; /* how long it will take */
};

struct vt_rate_search {
    /* Of a full Server run; server_target_qps is where to start, 0: unknown. */
    struct vt_load_settings settings;
    int64_t trial_ns;   /* a trial, at least; it is longer where that has too few queries */
    int64_t budget_ns;  /* for everything; vt_rate_search_budget_ns proposes one */
    uint32_t full_runs; /* at most; 0: trials only */
    void (*step)(void *ctx, const struct vt_rate_step *step); /* before each run; may be NULL */
    void *ctx;
};

enum vt_rate_outcome {
    VT_RATE_CONFIRMED,   /* a full run was valid */
    VT_RATE_UNCONFIRMED, /* trials passed; no full run was made or none was valid */
    VT_RATE_NONE,        /* no trial passed */
};

struct vt_rate_found {
    enum vt_rate_outcome outcome;
    double qps;        /* confirmed: the highest; else the rate most worth trying; 0: none */
    double failed_qps; /* the lowest rate of a run that failed, with odds of 19:1 that a full run
                          there is not valid; 0: none */
    /* 90 % of the belief about the edge: the highest rate at which a full run is valid. */
    double low_qps, high_qps;
    uint32_t trials, full_runs, full_valid;
    int64_t spent_ns, budget_ns;
    bool interrupted;
    bool out_of_time; /* the budget ended it before the edge was known to 5 % */
    /* Owned by the caller (vt_load_report_free): the full run of `qps`, else the last one; NULL. */
    struct vt_load_report *report;
    char text[400]; /* how sure that is, or why there is none: one sentence */
};

/* The length of a trial and of a full run at `qps`. */
int64_t vt_rate_search_trial_ns(const struct vt_rate_search *search, double qps);
int64_t vt_rate_search_full_ns(const struct vt_rate_search *search, double qps);
/* 16 trials and the full runs, about `qps`. */
int64_t vt_rate_search_budget_ns(const struct vt_rate_search *search, double qps);

/*
 * Searches. VT_ERR_USAGE names a field of the search, otherwise errors as vt_load_run. That nothing
 * passes is no error.
 */
enum vt_status vt_load_find_rate(const struct vt_rate_search *search, const struct vt_sut *sut,
                                 const struct vt_qsl *qsl, struct vt_load_control *control,
                                 struct vt_error *err,
                                 struct vt_rate_found *ret_found) VT_NODISCARD;

#endif
