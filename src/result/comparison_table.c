/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "result/comparison.h"
#include "result/grid.h"
#include "result/result.h"
#include "result/text.h"

#define LABEL_WIDTH 15

enum {
    CELL_NAME,
    CELL_MEDIAN,
    CELL_P90,
    CELL_SPEED,
    CELL_PRECISION,
    CELL_OTHER, /* the speed of another precision, and what it costs */
    CELL_RMS,
    CELL_INTERVAL,
    CELL_BATCH,
    N_CELLS
};
enum { LOADING_NAME, LOADING_OPEN, LOADING_FIRST, N_LOADING };

/* Ratios across precisions are no ratios of engines: they stand in a column of their own. */
static bool has_other_precision(const struct vt_comparison *comparison)
{
    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        if (comparison->engines[i].other_precision) {
            return true;
        }
    }
    return false;
}

static bool begin(const struct vt_comparison *comparison, struct vt_grid *grid,
                  const char *scenario, const char *median, bool p90)
{
    const bool other = has_other_precision(comparison);
    vt_grid_init(grid, N_CELLS);
    grid->least[CELL_NAME] = LABEL_WIDTH - 2;
    grid->weight[CELL_BATCH] = 1;
    grid->weight[CELL_P90] = 2;
    grid->weight[CELL_INTERVAL] = 3;
    if (!vt_grid_add(grid)) {
        return false;
    }
    vt_grid_put(grid, CELL_NAME, "%s", scenario);
    vt_grid_put(grid, CELL_MEDIAN, "%s", median);
    vt_grid_put(grid, CELL_P90, "%s", p90 ? "p90" : "");
    vt_grid_put(grid, CELL_SPEED, "speed");
    vt_grid_put(grid, CELL_PRECISION, "%s", other ? "precision" : "");
    vt_grid_put(grid, CELL_OTHER, "%s", other ? "across precisions" : "");
    vt_grid_put(grid, CELL_RMS, "%s", other ? "RMS error" : "");
    vt_grid_put(grid, CELL_INTERVAL, "95 %% interval");
    vt_grid_put(grid, CELL_BATCH, "%s", p90 ? "" : "batch");
    return true;
}

static void put_speed(const struct vt_comparison *comparison, struct vt_grid *grid,
                      const struct vt_compared_scenario *scenario, uint32_t index)
{
    const struct vt_compared_engine *engine = &comparison->engines[index];
    const uint32_t cell = engine->other_precision ? CELL_OTHER : CELL_SPEED;
    char ratio[32], low[32], high[32];

    if (has_other_precision(comparison)) {
        vt_grid_put(grid, CELL_PRECISION, "%s", engine->precision);
    }
    if (engine->other_precision) {
        vt_grid_put(grid, CELL_SPEED, "%s", VT_NO_NUMBER);
        vt_grid_put(grid, CELL_RMS, "%s",
                    vt_number_text(vt_compared_rms(engine), ratio, sizeof ratio));
    }
    if (index == 0) {
        vt_grid_put(grid, CELL_SPEED, "1");
        return;
    }
    if (!scenario->has_speed) {
        vt_grid_put(grid, cell, "%s", VT_NO_NUMBER);
        return;
    }
    const struct vt_ratio_estimate *speed = &scenario->speed;
    vt_grid_put(grid, cell, "%s", vt_number_text(speed->ratio, ratio, sizeof ratio));
    vt_grid_put(grid, CELL_INTERVAL, "%s to %s%s", vt_number_text(speed->low, low, sizeof low),
                vt_number_text(speed->high, high, sizeof high),
                speed->low <= 1 && 1 <= speed->high ? ": no difference shown" : "");
}

static bool put_offline(const struct vt_comparison *comparison, struct vt_grid *grid)
{
    bool ok = begin(comparison, grid, "Offline", "throughput", false);

    for (uint32_t i = 0; i < comparison->n_engines && ok; i++) {
        const struct vt_compared_engine *engine = &comparison->engines[i];
        char number[32];
        ok = vt_grid_add(grid);
        vt_grid_put(grid, CELL_NAME, "%s", engine->label);
        vt_grid_put(grid, CELL_MEDIAN, "%s samples/s",
                    vt_number_text(engine->offline.median, number, sizeof number));
        put_speed(comparison, grid, &engine->offline, i);
        vt_grid_put(grid, CELL_BATCH, "%u", engine->batch);
    }
    return ok;
}

static bool put_single_stream(const struct vt_comparison *comparison, struct vt_grid *grid)
{
    bool ok = begin(comparison, grid, "SingleStream", "p50", true);

    for (uint32_t i = 0; i < comparison->n_engines && ok; i++) {
        const struct vt_compared_engine *engine = &comparison->engines[i];
        char text[32];
        ok = vt_grid_add(grid);
        vt_grid_put(grid, CELL_NAME, "%s", engine->label);
        vt_grid_put(grid, CELL_MEDIAN, "%s",
                    vt_duration_text((int64_t)engine->single_stream.median, text, sizeof text));
        vt_grid_put(grid, CELL_P90, "%s",
                    vt_duration_text((int64_t)engine->single_stream.p90_median, text, sizeof text));
        put_speed(comparison, grid, &engine->single_stream, i);
    }
    return ok;
}

/* From the call that opens the engine to its return, and the first request with what the engine
 * builds for it. */
static bool put_loading(const struct vt_comparison *comparison, struct vt_grid *grid)
{
    bool ok = true;

    vt_grid_init(grid, N_LOADING);
    grid->least[LOADING_NAME] = LABEL_WIDTH - 2;
    ok = vt_grid_add(grid);
    vt_grid_put(grid, LOADING_NAME, "Loading");
    vt_grid_put(grid, LOADING_OPEN, "open");
    vt_grid_put(grid, LOADING_FIRST, "first request");
    for (uint32_t i = 0; i < comparison->n_engines && ok; i++) {
        const struct vt_compared_engine *engine = &comparison->engines[i];
        char text[32];
        ok = vt_grid_add(grid);
        vt_grid_put(grid, LOADING_NAME, "%s", engine->label);
        vt_grid_put(grid, LOADING_OPEN, "%s", vt_duration_text(engine->open_ns, text, sizeof text));
        vt_grid_put(grid, LOADING_FIRST, "%s",
                    vt_duration_text(engine->first_ns, text, sizeof text));
    }
    return ok;
}

static void put_item(FILE *out, const char *label, const char *text, int columns)
{
    (void)fprintf(out, "%-*s", LABEL_WIDTH, label);
    vt_text_print_wrapped(out, text, LABEL_WIDTH, LABEL_WIDTH, columns);
}

/* What differs, and whether it counts. */
static void difference_text(const struct vt_comparison *comparison,
                            const struct vt_compared_engine *engine,
                            const struct vt_output_agreement *output, char *text, size_t size)
{
    char amount[96] = "", fed[128] = "";

    if (output->beyond > 0) {
        (void)snprintf(amount, sizeof amount,
                       "%llu of %llu elements are out of tolerance, at worst ",
                       (unsigned long long)output->beyond, (unsigned long long)output->elements);
    }
    if (output->feeders > 0) {
        (void)snprintf(fed, sizeof fed, "; %u tensor%s that its decisions rest on %s",
                       output->feeders, output->feeders == 1 ? "" : "s",
                       output->agrees ? "agree: equal" : "do not all agree");
    }
    (void)snprintf(text, size, "%s %s from %s in output %s: %s%s%s", engine->label,
                   output->agrees ? "decides differently" : "DIFFERS", comparison->engines[0].label,
                   output->name, amount, output->note, fed);
}

/* Of another precision: what it differs by, which is no fault. */
static void put_other_outputs(const struct vt_comparison *comparison, uint32_t index, FILE *out,
                              int columns)
{
    const struct vt_compared_engine *engine = &comparison->engines[index];
    char text[640], a[32], b[32];
    double relative = 0;

    for (uint32_t i = 0; i < engine->n_outputs; i++) {
        relative = fmax(relative, engine->outputs[i].max_relative);
    }
    (void)snprintf(text, sizeof text,
                   "%s computes in %s, %s in %s: the tolerance does not hold for it; over %llu "
                   "sample%s the RMS error of its outputs is %s, their relative error at most %s",
                   engine->label, engine->precision, comparison->engines[0].label,
                   comparison->engines[0].precision,
                   (unsigned long long)comparison->samples_checked,
                   comparison->samples_checked == 1 ? "" : "s",
                   vt_number_text(vt_compared_rms(engine), a, sizeof a),
                   vt_number_text(relative, b, sizeof b));
    put_item(out, index == 1 ? "outputs" : "", text, columns);
}

/* The outputs of one engine against those of the first: one line where they agree, one for each
 * that does not. */
static void put_outputs(const struct vt_comparison *comparison, uint32_t index, FILE *out,
                        int columns)
{
    const struct vt_compared_engine *engine = &comparison->engines[index];
    double relative = 0, rms = 0;
    uint32_t agreeing = 0;
    char text[640], a[32], b[32];
    const char *label = index == 1 ? "outputs" : "";

    for (uint32_t i = 0; i < engine->n_outputs; i++) {
        const struct vt_output_agreement *output = &engine->outputs[i];
        if (output->agrees && output->feeders == 0) {
            agreeing++;
            relative = fmax(relative, output->max_relative);
            rms = fmax(rms, output->rms_relative);
            continue;
        }
        difference_text(comparison, engine, output, text, sizeof text);
        put_item(out, label, text, columns);
        label = "";
    }
    if (agreeing > 0) {
        int n = snprintf(text, sizeof text,
                         "%s agrees with %s in %u output%s over %llu sample%s: ", engine->label,
                         comparison->engines[0].label, agreeing, agreeing == 1 ? "" : "s",
                         (unsigned long long)comparison->samples_checked,
                         comparison->samples_checked == 1 ? "" : "s");
        if (n > 0 && (size_t)n < sizeof text && relative > 0) {
            (void)snprintf(text + n, sizeof text - (size_t)n, "relative error at most %s, RMS %s",
                           vt_number_text(relative, a, sizeof a), vt_number_text(rms, b, sizeof b));
        } else if (n > 0 && (size_t)n < sizeof text) {
            (void)snprintf(text + n, sizeof text - (size_t)n, "the same numbers");
        }
        put_item(out, label, text, columns);
    }
}

void vt_comparison_print_table(const struct vt_comparison *comparison, FILE *out, int columns)
{
    const uint32_t *done = comparison->rounds;
    uint32_t rounds = done[1] > 0 ? done[1] : done[0];
    struct vt_grid grid;
    char text[256];

    if (comparison->rounds[0] > 0) {
        if (put_offline(comparison, &grid)) {
            vt_grid_print(&grid, out, columns);
            (void)fputc('\n', out);
        }
        vt_grid_release(&grid);
    }
    if (comparison->rounds[1] > 0) {
        if (put_single_stream(comparison, &grid)) {
            vt_grid_print(&grid, out, columns);
            (void)fputc('\n', out);
        }
        vt_grid_release(&grid);
    }
    if (put_loading(comparison, &grid)) {
        vt_grid_print(&grid, out, columns);
        (void)fputc('\n', out);
    }
    vt_grid_release(&grid);
    if (rounds > 0) {
        (void)snprintf(text, sizeof text,
                       "times as fast as %s: the ratio of medians over %u round%s in turns",
                       comparison->engines[0].label, rounds, rounds == 1 ? "" : "s");
        put_item(out, "speed", text, columns);
    }
    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        if (comparison->engines[i].other_precision) {
            put_other_outputs(comparison, i, out, columns);
        } else {
            put_outputs(comparison, i, out, columns);
        }
    }
    if (comparison->random_weights) {
        put_item(out, "weights",
                 "random: speed is that of the network (--weights FILE.onnx takes trained ones)",
                 columns);
    }
}
