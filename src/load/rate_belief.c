/* SPDX-License-Identifier: Apache-2.0 */
#include "load/rate_belief.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define STEP        0.004 /* of ln(rate): a cell is 0.4 % wide */
#define CELLS       ((size_t)6334)
#define PRIOR_WIDTH 2.0
#define FLOOR       0.02 /* of a run's likelihood */
#define SHARE_MOST  0.5  /* more of them only say that the system is far over the edge */
#define SHARE_LEAST 1e-7
#define BATCHES     10
#define USUAL_BURST 16.0 /* until a run showed one */
#define BURST_NEWS  0.1  /* a smaller change of what is usual changes nothing */
#define MANY        0.3  /* a share beyond which a burst has no end within a run */

static const double steepness[] = {4, 8, 16, 32};
#define STEEPNESSES (sizeof steepness / sizeof steepness[0])

static double ln_edge(size_t cell)
{
    return log(VT_RATE_QPS_MIN) + (double)cell * STEP;
}

static void start_over(struct vt_rate_belief *belief)
{
    double ln_start = log(belief->start_qps), first = ln_edge(0), sum = 0;

    for (size_t i = 0; i < CELLS; i++) {
        double p = exp(-fabs(first + (double)i * STEP - ln_start) / PRIOR_WIDTH);
        for (size_t k = 0; k < STEEPNESSES; k++) {
            belief->mass[k * CELLS + i] = p;
            sum += p;
        }
    }
    for (size_t i = 0; i < CELLS * STEEPNESSES; i++) {
        belief->mass[i] /= sum;
    }
}

enum vt_status vt_rate_belief_init(struct vt_rate_belief *belief, double start_qps,
                                   struct vt_error *err)
{
    memset(belief, 0, sizeof *belief);
    belief->start_qps = start_qps;
    belief->mass = vt_calloc(CELLS * STEEPNESSES, sizeof belief->mass[0]);
    if (belief->mass == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the search of the rate");
    }
    start_over(belief);
    return VT_OK;
}

void vt_rate_belief_release(struct vt_rate_belief *belief)
{
    vt_free(belief->mass);
    belief->mass = NULL;
}

/* The upper quartile of what the runs showed: a short run misses the longest bursts. */
static double usual_burst(const struct vt_rate_belief *belief)
{
    double seen[VT_RATE_RUNS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < belief->n_runs; i++) {
        double b = belief->runs[i].burstiness;
        if (b <= 0) {
            continue;
        }
        uint32_t k = n++;
        for (; k > 0 && seen[k - 1] > b; k--) {
            seen[k] = seen[k - 1];
        }
        seen[k] = b;
    }
    return n > 0 ? seen[3 * n / 4] : USUAL_BURST;
}

/* ln of the binomial likelihood of t of n at `share`, relative to that at t / n. */
static double relative(double n, double t, double share)
{
    double hit = t > 0 ? t * log(n * share / t) : 0;
    double miss = n > t ? (n - t) * log(n * (1 - share) / (n - t)) : 0;
    return hit + miss;
}

/* n and t of a run, less its bursts, and its likelihood with a certain share. */
struct counts {
    double n, t;
};

static double likelihood(struct counts counts, double share)
{
    double l = counts.n > 0 ? exp(relative(counts.n, counts.t, share)) : 1;
    return FLOOR + (1 - FLOOR) * l;
}

static struct counts without_bursts(const struct vt_rate_evidence *run, double usual)
{
    double burst = run->burstiness > usual ? run->burstiness : usual;
    double most = (double)run->n / BATCHES;

    burst = burst < most ? burst : most;
    burst = burst > 1 ? burst : 1;
    double n = (double)run->n / burst, t = (double)run->t / burst;
    return (struct counts){n, t < SHARE_MOST * n ? t : SHARE_MOST * n};
}

static void multiply_in(struct vt_rate_belief *belief, const struct vt_rate_evidence *run,
                        double usual)
{
    const struct counts counts = without_bursts(run, usual);
    const double over_first = log(run->qps) - ln_edge(0);
    /* Edges so far off that the share is at an end of its range are all alike. */
    const double far_below = run->broken ? 1 : likelihood(counts, SHARE_MOST);
    const double far_above = run->broken ? FLOOR : likelihood(counts, SHARE_LEAST);
    double sum = 0;

    for (size_t k = 0; k < STEEPNESSES; k++) {
        double most = log(SHARE_MOST / run->share) / steepness[k];
        double least = log(SHARE_LEAST / run->share) / steepness[k];
        if (run->broken) {
            most = least = 0;
        }
        for (size_t i = 0; i < CELLS; i++) {
            double over = over_first - (double)i * STEP;
            double *mass = &belief->mass[k * CELLS + i];
            *mass *= over >= most   ? far_below
                     : over < least ? far_above
                                    : likelihood(counts, run->share * exp(steepness[k] * over));
            sum += *mass;
        }
    }
    for (size_t i = 0; i < CELLS * STEEPNESSES; i++) {
        belief->mass[i] /= sum;
    }
}

bool vt_rate_belief_add(struct vt_rate_belief *belief, const struct vt_rate_evidence *evidence)
{
    if (belief->n_runs == VT_RATE_RUNS) {
        return false;
    }
    belief->runs[belief->n_runs++] = *evidence;
    double usual = usual_burst(belief);
    uint32_t from = belief->n_runs - 1;
    if (fabs(usual - belief->usual_burst) > BURST_NEWS * belief->usual_burst) {
        /* From the start: what is known of bursts now bears on earlier runs too. */
        start_over(belief);
        belief->usual_burst = usual;
        from = 0;
    }
    for (uint32_t i = from; i < belief->n_runs; i++) {
        multiply_in(belief, &belief->runs[i], belief->usual_burst);
    }
    return true;
}

static double mass_at(const struct vt_rate_belief *belief, size_t cell)
{
    double sum = 0;

    for (size_t k = 0; k < STEEPNESSES; k++) {
        sum += belief->mass[k * CELLS + cell];
    }
    return sum;
}

double vt_rate_belief_quantile(const struct vt_rate_belief *belief, double p)
{
    double sum = 0;

    for (size_t i = 0; i < CELLS; i++) {
        sum += mass_at(belief, i);
        if (sum >= p) {
            return exp(ln_edge(i));
        }
    }
    return VT_RATE_QPS_MAX;
}

double vt_rate_belief_above(const struct vt_rate_belief *belief, double qps)
{
    double sum = 0, ln_qps = log(qps);

    for (size_t i = CELLS; i-- > 0 && ln_edge(i) > ln_qps;) {
        sum += mass_at(belief, i);
    }
    return sum;
}

void vt_rate_evidence_count(const struct vt_load_report *report, int64_t limit_ns,
                            struct vt_rate_evidence *evidence)
{
    const struct vt_sample_record *records = report->records;
    uint64_t n = report->n_records, t = 0;
    double counts[BATCHES] = {0};

    for (uint64_t i = 0; i < n; i++) {
        bool late = records[i].done_ns == VT_RECORD_LOST ||
                    records[i].done_ns - records[i].scheduled_ns > limit_ns;
        t += late;
        counts[i * BATCHES / n] += late;
    }
    evidence->n = n;
    evidence->t = t;
    evidence->burstiness = 0;
    double share = n > 0 ? (double)t / (double)n : 0;
    if (t == 0 || n < (uint64_t)BATCHES * 2 || share > MANY) {
        return;
    }
    double mean = (double)t / BATCHES, variance = 0;
    for (int i = 0; i < BATCHES; i++) {
        variance += (counts[i] - mean) * (counts[i] - mean) / (BATCHES - 1);
    }
    double burst = variance / (mean * (1 - share));
    evidence->burstiness = burst > 1 ? burst : 1;
}

bool vt_rate_evidence_passed(const struct vt_rate_evidence *evidence)
{
    return !evidence->broken && evidence->n > 0 &&
           (double)evidence->t <= evidence->share * (double)evidence->n;
}
