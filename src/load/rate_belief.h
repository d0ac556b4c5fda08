/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs at several rates tell about the edge, the highest rate at which a full run is valid.
 *
 * The model. A full run just passes early stopping when a certain share of its queries is over the
 * latency (for p99 somewhat less than 1 %, the less the shorter the run). At the edge e that share
 * is expected; at another rate r it is (r / e)^k times that, for an unknown k: 4, 8, 16 or 32.
 *
 * The evidence of one run are its queries n and those over the latency t. Late queries come in
 * bursts, so both are first divided by the burstiness: the variance of t in 10 batches of the run
 * over the binomial one (the method of batch means). A run that cannot tell (none late, or nearly
 * all) takes the upper quartile of what the others showed. The likelihood of an edge is then the
 * binomial one relative to the best share for that run, but never below 2 %: no run can decide
 * alone, and one that was disturbed is outvoted by the next two.
 *
 * The belief starts broad around an estimate (a factor of e^2 either way) and has every run
 * multiplied in, as in Bayesian adaptive estimation of thresholds (Watson & Pelli 1983, "QUEST").
 *
 * How far to trust it: on simulated queues (M/D/1, M/M/4; tests/load/test_rate_search.c) the middle
 * 90 % of the belief hold the rate that theory gives in 82 to 90 searches of 100.
 *
 * Threading: one thread at a time.
 */
#ifndef VT_LOAD_RATE_BELIEF_H
#define VT_LOAD_RATE_BELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/report.h"

#define VT_RATE_QPS_MIN 1e-3
#define VT_RATE_QPS_MAX 1e8
#define VT_RATE_RUNS    96 /* that are kept; more are refused */

struct vt_rate_evidence {
    double qps;
    double share;      /* of over-latency queries that a full run at qps may have, 0 < share < 1 */
    uint64_t n, t;     /* queries, and those over the latency */
    double burstiness; /* >= 1; 0: the run cannot tell */
    bool broken;       /* fails whatever the counts say */
};

struct vt_rate_belief {
    double *mass; /* by steepness and edge; sums to 1 */
    double start_qps;
    struct vt_rate_evidence runs[VT_RATE_RUNS];
    uint32_t n_runs;
    double usual_burst; /* that the mass was reckoned with */
};

/* VT_ERR_MEMORY. Release also after a failure. */
enum vt_status vt_rate_belief_init(struct vt_rate_belief *belief, double start_qps,
                                   struct vt_error *err) VT_NODISCARD;
void vt_rate_belief_release(struct vt_rate_belief *belief);

/* Takes one run in. False when there is no room for it. */
bool vt_rate_belief_add(struct vt_rate_belief *belief, const struct vt_rate_evidence *evidence);

/* The edge below which `p` of the belief lies. 0 < p < 1. */
double vt_rate_belief_quantile(const struct vt_rate_belief *belief, double p);
/* How probable it is that the edge lies above `qps`. */
double vt_rate_belief_above(const struct vt_rate_belief *belief, double qps);

/* The counts of a run and their burstiness. Queries that never completed are over the latency. */
void vt_rate_evidence_count(const struct vt_load_report *report, int64_t limit_ns,
                            struct vt_rate_evidence *evidence);
/* Whether it kept to the share that a full run may have. */
bool vt_rate_evidence_passed(const struct vt_rate_evidence *evidence);

#endif
