/* SPDX-License-Identifier: Apache-2.0 */
#include "power/energy.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

/* A counter's peak is the mean over at least so long. */
#define PEAK_SPAN_NS (500 * VT_NS_PER_MS)
/* Readings further apart than this many of their usual distances, and a second, leave a hole. */
#define HOLE_STEPS 8
/* Further apart than this, what happened between is not seen. */
#define GAP_STEPS 4
/* What is read sparsely is read more closely than this near edges: only there its steps are told.
 */
#define CLOSE_NS (200 * VT_NS_PER_MS)
/* Fewer changes than this tell no period. */
#define CHANGES_LEAST 3

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* --- the update period --------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t usual_distance(const struct vt_power_track *track)
{
    int64_t *apart = track->n > 1 ? vt_calloc(track->n, sizeof apart[0]) : NULL;
    int64_t median = 0;

    if (apart != NULL) {
        for (size_t i = 1; i < track->n; i++) {
            apart[i - 1] = track->ns[i] - track->ns[i - 1];
        }
        qsort(apart, track->n - 1, sizeof apart[0], by_size);
        median = apart[(track->n - 1) / 2];
    }
    vt_free(apart);
    return median;
}

/* Times between changes: those with an unchanged reading between, and the shortest of all. */
struct changes {
    int64_t *resolved;
    size_t n_resolved, n;
    int64_t shortest_ns;
};

static void collect(const struct vt_power_track *track, struct changes *changes)
{
    int64_t last_change = 0, before = 0;
    double value = (double)NAN;
    bool has_change = false;
    size_t unchanged = 0;

    for (size_t i = 0; i < track->n; i++) {
        const bool rested =
            track->domain->sparse_ns > 0 && i > 0 && track->ns[i] - track->ns[i - 1] > CLOSE_NS;
        if (rested || isnan(track->values[i])) {
            has_change = false; /* what happened meanwhile is not known */
            unchanged = 0;
            value = track->values[i];
            before = track->ns[i];
            continue;
        }
        if (!isnan(value) && track->values[i] == value) {
            unchanged++;
        } else if (!isnan(value)) {
            const int64_t at = before + (track->ns[i] - before) / 2;
            if (has_change) {
                const int64_t apart = at - last_change;
                changes->n++;
                changes->shortest_ns =
                    changes->n == 1 || apart < changes->shortest_ns ? apart : changes->shortest_ns;
                if (unchanged > 0 && changes->resolved != NULL) {
                    changes->resolved[changes->n_resolved++] = apart;
                }
            }
            has_change = true;
            last_change = at;
            unchanged = 0;
        }
        value = track->values[i];
        before = track->ns[i];
    }
}

void vt_power_update_period(const struct vt_power_track *track, struct vt_update_period *ret)
{
    struct changes changes = {.resolved = vt_calloc(track->n + 1, sizeof(int64_t))};

    *ret = (struct vt_update_period){0};
    collect(track, &changes);
    if (changes.n_resolved >= CHANGES_LEAST) {
        const bool counter = track->domain->kind == VT_METER_ENERGY;
        qsort(changes.resolved, changes.n_resolved, sizeof changes.resolved[0], by_size);
        ret->ns = changes.resolved[changes.n_resolved / (counter ? 2 : 4)];
        ret->most_ns =
            counter ? changes.resolved[changes.n_resolved - 1] : ret->ns + usual_distance(track);
    } else if (changes.n >= CHANGES_LEAST) {
        ret->ns = ret->most_ns = changes.shortest_ns;
        ret->at_most = true;
    }
    vt_free(changes.resolved);
}

/* --- counters ------------------------------------------------------------------------------ */

/* Something that is known about a counter: its value was reached between two moments. */
struct knot {
    int64_t low_ns, high_ns;
    double joules; /* from the first reading, unwrapped */
};

struct knots {
    struct knot *items;
    size_t n;
};

static enum vt_status unwrap(const struct vt_power_track *track,
                             const struct vt_update_period *update, struct knots *knots,
                             struct vt_error *err)
{
    const double modulus = track->domain->modulus_j;
    double last = (double)NAN, joules = 0;
    int64_t before = 0;

    for (size_t i = 0; i < track->n; i++) {
        const double value = track->values[i];
        if (isnan(value)) {
            continue;
        }
        if (isnan(last)) {
            /* Its step lies somewhere before. */
            knots->items[knots->n++] =
                (struct knot){track->ns[i] - update->most_ns, track->ns[i], 0};
        } else if (value != last) {
            double delta = value - last;
            if (delta < 0 && modulus > 0) {
                delta += modulus;
            }
            if (delta < 0) {
                return vt_error_set(err, VT_ERR_UNAVAILABLE,
                                    "%s: the counter went back by %.6g J: its driver was loaded "
                                    "anew; measure again",
                                    track->domain->name, -delta);
            }
            joules += delta;
            int64_t low = before;
            if (update->most_ns > 0 && !update->at_most && track->ns[i] - low > update->most_ns) {
                low = track->ns[i] - update->most_ns;
            }
            knots->items[knots->n++] = (struct knot){low, track->ns[i], joules};
        }
        last = value;
        before = track->ns[i];
    }
    return VT_OK;
}

/*
 * The least energy at a moment that a step tells which was seen right after it: what it told, less
 * what can have been taken since.
 */
static double least_before(const struct knot *knot, int64_t ns, double most_w)
{
    return most_w > 0 && knot->high_ns > ns ? knot->joules - most_w * seconds(knot->high_ns - ns)
                                            : -(double)INFINITY;
}

/* The energy at a moment, and by how much it may be off. */
static bool at_edge(const struct knots *knots, int64_t ns, double most_w, double *ret_joules,
                    double *ret_off)
{
    size_t below = SIZE_MAX, above = SIZE_MAX;

    for (size_t i = 0; i < knots->n; i++) {
        if (knots->items[i].high_ns <= ns) {
            below = i;
        }
        if (above == SIZE_MAX && knots->items[i].low_ns >= ns) {
            above = i;
        }
    }
    if (below == SIZE_MAX || above == SIZE_MAX) {
        return false;
    }
    if (above <= below) { /* a step at this very moment */
        *ret_joules = knots->items[below].joules;
        *ret_off = 0;
        return true;
    }
    /* Between the middles of the steps that bracket the moment most closely. */
    double joules = knots->items[below].joules, least = joules;
    for (size_t i = below; i < above; i++) {
        const double told = least_before(&knots->items[i + 1], ns, most_w);
        least = told > least ? told : least;
        const struct knot *a = &knots->items[i], *b = &knots->items[i + 1];
        const double from = ((double)a->low_ns + (double)a->high_ns) / 2;
        const double to = ((double)b->low_ns + (double)b->high_ns) / 2;
        if ((double)ns >= from && (double)ns <= to && to > from) {
            joules = a->joules + (b->joules - a->joules) * ((double)ns - from) / (to - from);
        } else if ((double)ns > to) {
            joules = b->joules;
        }
    }
    const double most = knots->items[above].joules;
    joules = joules < least ? least : joules;
    *ret_joules = joules;
    *ret_off = joules - least > most - joules ? joules - least : most - joules;
    return true;
}

static double counter_peak(const struct knots *knots, const struct vt_power_window *window)
{
    double peak = (double)NAN;
    size_t from = 0;

    for (size_t i = 0; i < knots->n && knots->items[i].high_ns <= window->end_ns; i++) {
        if (knots->items[i].low_ns < window->begin_ns) {
            from = i + 1;
            continue;
        }
        while (from + 1 < i &&
               knots->items[i].high_ns - knots->items[from + 1].high_ns >= PEAK_SPAN_NS) {
            from++;
        }
        const int64_t span = knots->items[i].high_ns - knots->items[from].high_ns;
        if (from < i && span >= PEAK_SPAN_NS) {
            const double w = (knots->items[i].joules - knots->items[from].joules) / seconds(span);
            peak = isnan(peak) || w > peak ? w : peak;
        }
    }
    return peak;
}

static enum vt_status not_covered(const struct vt_power_track *track, struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_UNAVAILABLE,
                        "%s: no readings on both sides of the window's edges: sample from before "
                        "its begin until after its end",
                        track->domain->name);
}

static enum vt_status over_counter(const struct vt_power_track *track,
                                   const struct vt_power_window *window, struct vt_error *err,
                                   struct vt_energy *ret)
{
    struct knots knots = {.items = vt_calloc(track->n + 1, sizeof(struct knot))};
    double begin = 0, end = 0, off_begin = 0, off_end = 0;

    if (knots.items == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the energy of a window");
    }
    enum vt_status status = unwrap(track, &ret->update, &knots, err);
    if (status == VT_OK && knots.n < 2) {
        status = vt_error_set(err, VT_ERR_UNAVAILABLE,
                              "%s: the counter did not move: it measures nothing here, or the time "
                              "was too short",
                              track->domain->name);
    }
    if (status == VT_OK &&
        (!at_edge(&knots, window->begin_ns, track->domain->most_w, &begin, &off_begin) ||
         !at_edge(&knots, window->end_ns, track->domain->most_w, &end, &off_end))) {
        status = not_covered(track, err);
    }
    if (status == VT_OK) {
        ret->joules = end - begin;
        ret->edges_j = off_begin + off_end;
        ret->quantum_j = track->domain->resolution;
        ret->peak_w = counter_peak(&knots, window);
    }
    vt_free(knots.items);
    return status;
}

/* --- powers -------------------------------------------------------------------------------- */

/* The least and the most among the readings around a moment. */
static void range_around(const struct vt_power_track *track, int64_t ns, int64_t reach_ns,
                         double *ret_least, double *ret_most)
{
    double least = (double)INFINITY, most = -(double)INFINITY;

    for (size_t i = 0; i < track->n; i++) {
        /* One reading further on either side: power moved on its way there. */
        const bool near = (i + 1 < track->n ? track->ns[i + 1] : track->ns[i]) >= ns - reach_ns &&
                          (i > 0 ? track->ns[i - 1] : track->ns[i]) <= ns + reach_ns;
        if (near && !isnan(track->values[i])) {
            least = track->values[i] < least ? track->values[i] : least;
            most = track->values[i] > most ? track->values[i] : most;
        }
    }
    *ret_least = least;
    *ret_most = most;
}

struct trapezoid {
    int64_t stale_ns, gap_ns;
    double range_w;              /* the most that power changed over the track */
    double joules, sum, squares; /* of the errors that each step may have */
    double peak;
    int64_t covered_to_ns;
};

/* The part of a step between two readings that lies in the window. */
static void add_step(struct trapezoid *t, const struct vt_power_window *window, int64_t from_ns,
                     double from_w, int64_t to_ns, double to_w)
{
    const int64_t a = from_ns > window->begin_ns ? from_ns : window->begin_ns;
    const int64_t b = to_ns < window->end_ns ? to_ns : window->end_ns;
    const double slope = (to_w - from_w) / (double)(to_ns - from_ns);
    const double at_a = from_w + slope * (double)(a - from_ns);
    const double at_b = from_w + slope * (double)(b - from_ns);
    /* Over a gap power may have gone anywhere that it went at all. */
    const double change = to_ns - from_ns > t->gap_ns ? t->range_w : fabs(to_w - from_w);
    const double off = change * seconds(to_ns - from_ns + t->stale_ns) / 2;

    t->joules += (at_a + at_b) / 2 * seconds(b - a);
    t->sum += off;
    t->squares += off * off;
    t->peak = at_a > t->peak ? at_a : t->peak;
    t->peak = at_b > t->peak ? at_b : t->peak;
}

static enum vt_status over_power(const struct vt_power_track *track,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret)
{
    const int64_t distance = usual_distance(track);
    const int64_t hole = HOLE_STEPS * distance > VT_NS_PER_S ? HOLE_STEPS * distance : VT_NS_PER_S;
    /* Stamped readings are not stale; what always differs is by one distance at most. */
    const int64_t stale = track->domain->stamped ? 0 : ret->update.most_ns;
    struct trapezoid t = {
        .covered_to_ns = INT64_MAX, .stale_ns = stale, .gap_ns = GAP_STEPS * distance};
    size_t last = SIZE_MAX;
    double least, most;

    range_around(track, window->begin_ns, INT64_MAX / 4, &least, &most);
    t.range_w = most - least;

    for (size_t i = 0; i < track->n; i++) {
        if (isnan(track->values[i])) {
            continue;
        }
        if (last != SIZE_MAX && track->ns[i] > window->begin_ns &&
            track->ns[last] < window->end_ns) {
            if (t.covered_to_ns == INT64_MAX && track->ns[last] > window->begin_ns) {
                return not_covered(track, err);
            }
            if (track->ns[i] - track->ns[last] > hole) {
                return vt_error_set(
                    err, VT_ERR_UNAVAILABLE,
                    "%s: no reading for %.3g s from %.3g s into the window on: the sensor went "
                    "away or the machine was too busy",
                    track->domain->name, seconds(track->ns[i] - track->ns[last]),
                    seconds(track->ns[last] - window->begin_ns));
            }
            add_step(&t, window, track->ns[last], track->values[last], track->ns[i],
                     track->values[i]);
            t.covered_to_ns = track->ns[i];
        }
        last = i;
    }
    if (t.covered_to_ns == INT64_MAX || t.covered_to_ns < window->end_ns) {
        return not_covered(track, err);
    }
    double begin_least, begin_most, end_least, end_most;
    const int64_t lag = stale + track->domain->averaging_ns;
    range_around(track, window->begin_ns, lag, &begin_least, &begin_most);
    range_around(track, window->end_ns, lag, &end_least, &end_most);
    const double up = begin_most - end_least, down = end_most - begin_least;
    const double likely = 4 / sqrt(3) * sqrt(t.squares);
    ret->joules = t.joules;
    ret->edges_j = (likely < t.sum ? likely : t.sum) + seconds(lag) * (up > down ? up : down);
    ret->quantum_j = track->domain->resolution * seconds(ret->window_ns);
    ret->peak_w = t.peak;
    return VT_OK;
}

/* --- both ---------------------------------------------------------------------------------- */

double vt_power_mlperf_mean(const struct vt_power_track *track,
                            const struct vt_power_window *window, uint64_t *ret_n)
{
    double sum = 0;
    uint64_t n = 0;

    for (size_t i = 0; i < track->n; i++) {
        if (track->ns[i] > window->begin_ns && track->ns[i] < window->end_ns &&
            track->values[i] > 0) {
            sum += track->values[i];
            n++;
        }
    }
    if (ret_n != NULL) {
        *ret_n = n;
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

static uint64_t readings_inside(const struct vt_power_track *track,
                                const struct vt_power_window *window)
{
    uint64_t n = 0;

    for (size_t i = 0; i < track->n; i++) {
        n += track->ns[i] > window->begin_ns && track->ns[i] < window->end_ns &&
             !isnan(track->values[i]);
    }
    return n;
}

/* Both parts of the error stay as they are while energy grows with the window. */
static enum vt_status long_enough(const struct vt_power_track *track,
                                  const struct vt_energy *energy, struct vt_error *err,
                                  int64_t *ret_needed_ns)
{
    /* The resolution of powers is there however long it takes. */
    const bool counter = track->domain->kind == VT_METER_ENERGY;
    const double off = energy->edges_j + (counter ? energy->quantum_j : 0);
    const double share = energy->joules > 0 ? off / energy->joules : (double)INFINITY;
    double needed = seconds(energy->window_ns) * share / VT_ENERGY_UNCERTAINTY_MAX;

    if (off <= VT_ENERGY_UNCERTAINTY_MAX * fabs(energy->joules)) {
        return VT_OK;
    }
    if (counter && energy->mean_w > 0) {
        /* Longer windows have other edges: each may be off by what a whole period takes. */
        const double most = 2 * energy->mean_w * seconds(energy->update.most_ns);
        const double worst =
            (most + energy->quantum_j) / energy->mean_w / VT_ENERGY_UNCERTAINTY_MAX;
        needed = worst > needed ? worst : needed;
    }
    if (!isfinite(needed)) { /* an edge is off by two periods at most */
        const int64_t period = energy->update.ns > 0 ? energy->update.ns : energy->window_ns;
        needed = 4 * seconds(period) / VT_ENERGY_UNCERTAINTY_MAX;
    }
    /* Rounded up to tenths of a second. */
    needed = ceil(needed * 10) / 10;
    const int64_t needed_ns =
        needed < 1e9 ? (int64_t)(needed * 1e9) : INT64_C(1000000000) * VT_NS_PER_S;
    if (ret_needed_ns != NULL) {
        *ret_needed_ns = needed_ns;
    }
    return vt_error_set(
        err, VT_ERR_LIMIT,
        "%s: a window of %.3g s is too short for this meter, its energy would be known "
        "to +-%.0f %% only; at least %.4g s would do",
        track->domain->name, seconds(energy->window_ns), share < 10 ? 100 * share : 1000.0, needed);
}

enum vt_status vt_energy_compute(const struct vt_power_track *track,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret, int64_t *ret_needed_ns)
{
    struct vt_energy energy = {.window_ns = window->end_ns - window->begin_ns,
                               .mlperf_w = (double)NAN};
    const bool counter = track->domain->kind == VT_METER_ENERGY;

    if (track->domain->kind == VT_METER_OTHER) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: it is no energy and no power",
                            track->domain->name);
    }
    if (window->end_ns <= window->begin_ns) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s: the window is empty: it ends %.3g s before its "
                            "begin",
                            track->domain->name, -seconds(energy.window_ns));
    }
    vt_power_update_period(track, &energy.update);
    enum vt_status status = counter ? over_counter(track, window, err, &energy)
                                    : over_power(track, window, err, &energy);
    if (status != VT_OK) {
        return status;
    }
    energy.mean_w = energy.joules / seconds(energy.window_ns);
    energy.readings = readings_inside(track, window);
    energy.class_j = track->domain->accuracy * fabs(energy.joules);
    energy.uncertainty_j = energy.edges_j + energy.quantum_j + energy.class_j;
    if (!counter) {
        energy.mlperf_w = vt_power_mlperf_mean(track, window, NULL);
    }
    status = long_enough(track, &energy, err, ret_needed_ns);
    if (status == VT_OK) {
        *ret = energy;
    }
    return status;
}

struct vt_energy_above_idle vt_energy_less_idle(const struct vt_energy *energy, double idle_w,
                                                double idle_uncertainty_w)
{
    const double s = seconds(energy->window_ns);

    return (struct vt_energy_above_idle){energy->joules - idle_w * s,
                                         energy->uncertainty_j + idle_uncertainty_w * s};
}

double vt_power_mj_per_query(double mean_w, double window_s, double queries)
{
    return queries > 0 ? mean_w * window_s * 1000 / queries : (double)NAN;
}

double vt_power_samples_per_joule(double samples_per_s, double mean_w)
{
    return mean_w > 0 ? samples_per_s / mean_w : (double)NAN;
}

double vt_power_j_per_sample(double joules, double samples)
{
    return samples > 0 ? joules / samples : (double)NAN;
}
