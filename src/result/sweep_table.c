/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "result/grid.h"
#include "result/result.h"
#include "result/sweep.h"
#include "result/text.h"

#define LABEL_WIDTH 15

enum {
    CELL_SETTING,
    CELL_RATE,
    CELL_INTERVAL,
    CELL_LATENCY,
    CELL_JOULES,
    CELL_EFFICIENCY,
    CELL_WATTS,
    CELL_VALID,
    N_CELLS
};

char *vt_sweep_time_text(double ns, char *text, size_t size)
{
    if (!(ns >= 0 && ns < 9e18)) {
        (void)snprintf(text, size, VT_NO_NUMBER);
        return text;
    }
    return vt_duration_text((int64_t)ns, text, size);
}

char *vt_sweep_point_text(const struct vt_sweep_point *point, char *text, size_t size)
{
    const struct vt_sweep_measured *m = &point->measured;
    char rate[32], latency[32], joules[64] = "", number[32];

    if (point->state != VT_SWEEP_DONE) {
        (void)snprintf(text, size, "%s: %s", vt_sweep_state_text(point->state), point->reason);
        return text;
    }
    if (isfinite(m->joules_per_sample)) {
        (void)snprintf(joules, sizeof joules, "  %s J/sample",
                       vt_number_text(m->joules_per_sample, number, sizeof number));
    }
    bool p99 = isfinite(m->p99_ns);
    double ns = p99 ? m->p99_ns : m->mean_ns;
    (void)snprintf(text, size, "%s samples/s  %s %s%s%s%s",
                   vt_number_text(m->samples_per_second, rate, sizeof rate), p99 ? "p99" : "mean",
                   vt_sweep_time_text(ns, latency, sizeof latency), joules,
                   m->valid ? "" : "  not valid: ", m->valid ? "" : point->reason);
    return text;
}

static void put_number(struct vt_grid *grid, uint32_t column,
                       const struct vt_sweep_estimate *estimate)
{
    char number[32];

    if (estimate->n > 0) {
        vt_grid_put(grid, column, "%s", vt_number_text(estimate->value, number, sizeof number));
    } else {
        vt_grid_put(grid, column, VT_NO_NUMBER);
    }
}

static void put_interval(struct vt_grid *grid, const struct vt_sweep_estimate *estimate)
{
    char low[32], high[32];

    if (isfinite(estimate->low)) {
        vt_grid_put(grid, CELL_INTERVAL, "%s to %s", vt_number_text(estimate->low, low, sizeof low),
                    vt_number_text(estimate->high, high, sizeof high));
    } else {
        vt_grid_put(grid, CELL_INTERVAL, VT_NO_NUMBER);
    }
}

/* "p99" or "mean" where that is so of all settings; else "latency", and each cell says it. */
static const char *latency_head(const struct vt_sweep *sweep)
{
    bool p99 = false, mean = false;

    for (uint32_t i = 0; i < sweep->analysis.n_settings; i++) {
        const struct vt_sweep_setting *setting = &sweep->analysis.settings[i];
        p99 = p99 || (setting->latency.n > 0 && setting->latency_is_p99);
        mean = mean || (setting->latency.n > 0 && !setting->latency_is_p99);
    }
    return p99 && mean ? "latency" : mean ? "mean latency" : "p99";
}

static void put_latency(struct vt_grid *grid, const struct vt_sweep_setting *setting, bool mixed)
{
    char number[32];

    vt_grid_put(grid, CELL_LATENCY, "%s%s",
                vt_sweep_time_text(setting->latency.value, number, sizeof number),
                !mixed || setting->latency.n == 0 ? ""
                : setting->latency_is_p99         ? " p99"
                                                  : " mean");
}

/* Skipped, failed or pending: of a setting that has no point done. */
static const char *state_of(const struct vt_sweep *sweep, uint32_t setting)
{
    return vt_sweep_state_text(sweep->points[setting].state);
}

static bool put_setting(const struct vt_sweep *sweep, uint32_t index, bool mixed,
                        struct vt_grid *grid)
{
    const struct vt_sweep_setting *setting = &sweep->analysis.settings[index];
    char text[256];

    if (!vt_grid_add(grid)) {
        return false;
    }
    vt_grid_put(grid, CELL_SETTING, "%s",
                vt_sweep_setting_text(sweep, index, sweep->n_axes, text, sizeof text));
    if (setting->n_done == 0) {
        vt_grid_put(grid, CELL_RATE, VT_NO_NUMBER);
        vt_grid_put(grid, CELL_VALID, "%s", state_of(sweep, index));
        return true;
    }
    put_number(grid, CELL_RATE, &setting->throughput);
    put_interval(grid, &setting->throughput);
    put_latency(grid, setting, mixed);
    put_number(grid, CELL_JOULES, &setting->joules);
    put_number(grid, CELL_EFFICIENCY, &setting->efficiency);
    put_number(grid, CELL_WATTS, &setting->watts);
    vt_grid_put(grid, CELL_VALID, setting->valid ? "yes" : "no");
    return true;
}

static void print_settings(const struct vt_sweep *sweep, FILE *out, int columns)
{
    const char *const latency = latency_head(sweep);
    const char *const heads[] = {"setting",     "samples/s", "95 % interval", latency, "J/sample",
                                 "samples/s/W", "W",         "valid"};
    bool mixed = strcmp(latency, "latency") == 0;
    struct vt_grid grid;

    vt_grid_init(&grid, N_CELLS);
    grid.least[CELL_SETTING] = LABEL_WIDTH - 2;
    grid.weight[CELL_WATTS] = 1;
    grid.weight[CELL_INTERVAL] = 2;
    grid.weight[CELL_EFFICIENCY] = 3;
    grid.weight[CELL_VALID] = 4;
    grid.weight[CELL_LATENCY] = 6;
    grid.weight[CELL_JOULES] = 5;
    bool ok = vt_grid_add(&grid);
    for (uint32_t c = 0; c < N_CELLS && ok; c++) {
        grid.right[c] = c != CELL_SETTING && c != CELL_VALID;
        vt_grid_put(&grid, c, "%s", heads[c]);
    }
    for (uint32_t i = 0; i < sweep->analysis.n_settings && ok; i++) {
        ok = put_setting(sweep, i, mixed, &grid);
    }
    if (ok) {
        vt_grid_print(&grid, out, columns);
    }
    vt_grid_release(&grid);
}

static void put_item(FILE *out, const char *label, const char *text, int columns)
{
    (void)fprintf(out, "%-*s", LABEL_WIDTH, label);
    vt_text_print_wrapped(out, text, LABEL_WIDTH, LABEL_WIDTH, columns);
}

static void print_front(const struct vt_sweep *sweep, const struct vt_sweep_front *front,
                        const char *what, FILE *out, int columns)
{
    char text[1024], setting[256];
    size_t used;

    if (front->n == 0) {
        return;
    }
    used = (size_t)snprintf(text, sizeof text, "%s: ", what);
    for (uint32_t i = 0; i < front->n && used < sizeof text; i++) {
        vt_sweep_setting_text(sweep, front->settings[i], sweep->n_axes, setting, sizeof setting);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "; " : "", setting);
    }
    put_item(out, "front", text, columns);
}

void vt_sweep_print_table(const struct vt_sweep *sweep, FILE *out, int columns)
{
    static const char *const labels[] = {"undecided", "holds", "does not hold"};
    const struct vt_sweep_analysis *analysis = &sweep->analysis;
    static const char *const notes[] = {"energy", "intervals", "recommended"};

    print_settings(sweep, out, columns);
    (void)fputc('\n', out);
    for (uint32_t i = 0; i < analysis->n_statements; i++) {
        const struct vt_sweep_statement *statement = &analysis->statements[i];
        bool note = false;
        for (size_t n = 0; n < sizeof notes / sizeof notes[0]; n++) {
            note = note || strcmp(statement->name, notes[n]) == 0;
        }
        put_item(out, note ? "note" : labels[statement->holds], statement->text, columns);
    }
    print_front(sweep, &analysis->latency, "J/sample against latency", out, columns);
    print_front(sweep, &analysis->throughput, "J/sample against samples/s", out, columns);
    if (analysis->latency.n == 0) {
        print_front(sweep, &analysis->speed, "latency against samples/s", out, columns);
    }
    if (analysis->has_recommended) {
        put_item(out, "recommended", analysis->recommended_text, columns);
    }
}
