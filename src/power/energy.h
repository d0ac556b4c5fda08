/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy over a window, from the readings of one domain, with how far off it may be.
 *
 * Counters. A counter holds the energy up to its last step. Each observed step is known to lie
 * between the last reading that showed the old value and the first that showed the new one. The
 * energy at an edge of the window is interpolated between the steps around it; as power is never
 * negative, it lies between their values for certain, and that is its uncertainty. A counter that
 * is read sparsely is read at the edge itself: where a domain says what it takes at most, the
 * energy there is no less than that reading less what it can have taken since.
 *
 * Powers. Readings are integrated by trapezoid. Where power changes from W1 to W2 between two
 * readings dt apart, and each may be stale by up to one update period T, the integral may be off
 * by |W2-W1| (dt+T)/2. Such errors have any sign: they are added as squares and taken four times
 * their standard deviation (for a change at any moment alike, half the range over sqrt(3)), but
 * never more than their sum. A lag of T (and of the time over which the meter averages) shifts the
 * window: its share is taken from the largest difference of power between both edges. What a meter
 * averages away, swings faster than its averaging, no reading tells and no figure here holds.
 *
 * To both: one resolution, and the class of the meter where it is known. A class that is not known
 * is not in the figure.
 *
 * The update period is measured from the readings: the median time between changes that were seen
 * with an unchanged reading between (of powers, which may also stay as they are, the lower
 * quartile). Where every reading differs, it is at most their distance.
 *
 * Threading: pure functions over the caller's arrays.
 */
#ifndef VT_POWER_ENERGY_H
#define VT_POWER_ENERGY_H

#include "power/meter.h"

/* Readings of one domain in order of time; a value may be NAN: it was lost. */
struct vt_power_track {
    const struct vt_meter_domain *domain;
    const int64_t *ns; /* monotonic; ascending */
    const double *values;
    size_t n;
};

struct vt_power_window {
    int64_t begin_ns, end_ns; /* monotonic */
};

struct vt_update_period {
    int64_t ns;      /* 0: nothing known, the value never changed */
    int64_t most_ns; /* what it may be at most */
    bool at_most;    /* every reading differed: the period is this or shorter */
};

/* A window is refused when its edges and its quantisation make up more than this of the energy. */
#define VT_ENERGY_UNCERTAINTY_MAX 0.10

struct vt_energy {
    double joules;        /* gross */
    double uncertainty_j; /* the true energy lies within joules +- this */
    double edges_j;       /* of which: where the window begins and ends, and between readings */
    double quantum_j;     /* of which: resolution */
    double class_j;       /* of which: the meter's class; 0 when not known */
    double mean_w;        /* joules / window */
    double peak_w;        /* largest reading; of a counter, largest mean over half a second,
                             or between readings that lie further apart */
    double mlperf_w;      /* plain mean of the readings > 0 strictly inside; NAN for counters */
    uint64_t readings;    /* strictly inside the window */
    struct vt_update_period update;
    int64_t window_ns;
};

void vt_power_update_period(const struct vt_power_track *track, struct vt_update_period *ret);

/*
 * VT_ERR_USAGE: the window is empty, or the track is no energy. VT_ERR_UNAVAILABLE: no readings on
 * both sides of each edge, or a hole inside it. VT_ERR_LIMIT: too short for this meter; the text
 * says the length that would do, and so does ret_needed_ns (may be NULL), which is written in this
 * case only.
 */
enum vt_status vt_energy_compute(const struct vt_power_track *track,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret, int64_t *ret_needed_ns) VT_NODISCARD;

/* Joules above an idle power that was measured before: joules - idle_w * window. May be negative
 * within the uncertainty, which grows by the idle power's. */
struct vt_energy_above_idle {
    double joules, uncertainty_j;
};
struct vt_energy_above_idle vt_energy_less_idle(const struct vt_energy *energy, double idle_w,
                                                double idle_uncertainty_w);

/* --- figures of merit ---------------------------------------------------------------------- */

/* MLPerf's plain mean over a track of powers: readings strictly inside, > 0; NAN without any. */
double vt_power_mlperf_mean(const struct vt_power_track *track,
                            const struct vt_power_window *window, uint64_t *ret_n);
/* mJ a query of the stream scenarios: mean power times the window, over the queries (the MLPerf
 * submission checker's formula). NAN without queries. */
double vt_power_mj_per_query(double mean_w, double window_s, double queries);
/* Samples a second and watt, which is samples a joule. NAN without power. */
double vt_power_samples_per_joule(double samples_per_s, double mean_w);
double vt_power_j_per_sample(double joules, double samples);

#endif
