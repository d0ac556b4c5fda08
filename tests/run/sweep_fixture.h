/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps made by hand: axes, points without figures, figures for them. */
#ifndef VT_TEST_RUN_SWEEP_FIXTURE_H
#define VT_TEST_RUN_SWEEP_FIXTURE_H

#include <math.h>

#include "base/alloc.h"
#include "result/sweep.h"

#include "vt_test.h"

static inline void add_axis(struct vt_sweep *sweep, const char *name, uint32_t n,
                            const double *numbers, const char *const *words)
{
    struct vt_sweep_axis *axis = &sweep->axes[sweep->n_axes++];

    for (int i = 0; i < VT_SWEEP_AXIS_KINDS; i++) {
        if (strcmp(vt_sweep_axis_kinds[i].name, name) == 0) {
            axis->kind = &vt_sweep_axis_kinds[i];
        }
    }
    assert_non_null(axis->kind);
    axis->n = n;
    if (numbers != NULL) {
        axis->numbers = vt_calloc(n, sizeof numbers[0]);
        assert_non_null(axis->numbers);
        memcpy(axis->numbers, numbers, n * sizeof numbers[0]);
    } else {
        axis->words = vt_calloc(n, sizeof words[0]);
        assert_non_null(axis->words);
        for (uint32_t i = 0; i < n; i++) {
            axis->words[i] = vt_strdup(words[i]);
        }
    }
}

/* Offline on the native engine: batches, lanes (n_lanes 0: no such axis), caps (likewise). */
static inline void make_sweep(struct vt_sweep *sweep, uint32_t n_batches, const double *batches,
                              uint32_t n_lanes, uint32_t n_caps, uint32_t repeats)
{
    static const double lanes[] = {1, 2, 4, 8}, caps[] = {200, 300, 400, 500, 600, 700};
    static const char *const scenario[] = {"offline"}, *const engine[] = {"native"};
    struct vt_error err = VT_ERROR_INIT;

    vt_sweep_init(sweep);
    add_axis(sweep, "scenario", 1, NULL, scenario);
    add_axis(sweep, "engine", 1, NULL, engine);
    if (n_caps > 0) {
        add_axis(sweep, "cap", n_caps, caps, NULL);
        (void)snprintf(sweep->axes[2].unit, sizeof sweep->axes[2].unit, "W");
    }
    if (n_lanes > 0) {
        add_axis(sweep, "lanes", n_lanes, lanes, NULL);
    }
    add_axis(sweep, "batch", n_batches, batches, NULL);
    sweep->repeats = repeats;
    sweep->knee_tolerance = 0.05;
    assert_int_equal(vt_sweep_make_points(sweep, &err), VT_OK);
}

/* A done point: samples/s, latency in ns, J/sample with its uncertainty (NAN: no energy). */
static inline void put_point(struct vt_sweep *sweep, uint32_t index, double rate, double latency,
                             double joules, double uncertainty)
{
    struct vt_sweep_point *point = &sweep->points[index];
    struct vt_sweep_measured *m = &point->measured;

    point->state = VT_SWEEP_DONE;
    m->valid = true;
    m->samples_per_second = rate;
    m->latency_of = VT_SWEEP_REQUEST;
    m->mean_ns = m->p50_ns = m->p99_ns = latency;
    m->joules_per_sample = joules;
    m->joules_per_sample_uncertainty = uncertainty;
    m->samples_per_second_per_watt = 1 / joules;
    m->mean_watts = rate * joules;
}

/* The first statement of that name; NULL. */
static inline const struct vt_sweep_statement *statement_of(const struct vt_sweep *sweep,
                                                            const char *name)
{
    for (uint32_t i = 0; i < sweep->analysis.n_statements; i++) {
        if (strcmp(sweep->analysis.statements[i].name, name) == 0) {
            return &sweep->analysis.statements[i];
        }
    }
    return NULL;
}

static inline double figure_of(const struct vt_sweep_statement *statement, const char *name)
{
    for (uint32_t i = 0; i < statement->n_figures; i++) {
        if (strcmp(statement->figures[i].name, name) == 0) {
            return statement->figures[i].value;
        }
    }
    fail_msg("no figure %s", name);
    return 0;
}

#endif
