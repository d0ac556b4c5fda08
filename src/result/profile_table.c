/* SPDX-License-Identifier: Apache-2.0 */
#include "result/grid.h"
#include "result/profile.h"
#include "result/result.h"
#include "result/text.h"

#define LABEL_WIDTH    15
#define OPERATORS_MOST 8

enum {
    CELL_NAME, /* of the operator; the node's stands last, where it may be cut */
    CELL_TIME,
    CELL_SHARE,
    CELL_FLOPS,
    CELL_BYTES,
    CELL_ROOF,
    CELL_BOUND,
    CELL_KERNEL,
    CELL_SHAPE,
    CELL_NODE,
    N_CELLS
};

static bool begin(struct vt_grid *grid, const char *name, bool layers)
{
    vt_grid_init(grid, N_CELLS);
    for (uint32_t c = CELL_TIME; c <= CELL_ROOF; c++) {
        grid->right[c] = true;
    }
    grid->least[CELL_NAME] = LABEL_WIDTH - 2;
    grid->weight[CELL_SHAPE] = 1;
    grid->weight[CELL_KERNEL] = 2;
    grid->weight[CELL_BYTES] = 3;
    grid->weight[CELL_BOUND] = 4;
    if (!vt_grid_add(grid)) {
        return false;
    }
    vt_grid_put(grid, CELL_NAME, "%s", name);
    vt_grid_put(grid, CELL_TIME, "time");
    vt_grid_put(grid, CELL_SHARE, "share");
    vt_grid_put(grid, CELL_FLOPS, "GFLOP/s");
    vt_grid_put(grid, CELL_BYTES, "GB/s");
    vt_grid_put(grid, CELL_ROOF, "of roof");
    vt_grid_put(grid, CELL_BOUND, "bound");
    vt_grid_put(grid, CELL_KERNEL, "%s", layers ? "kernel" : "");
    vt_grid_put(grid, CELL_SHAPE, "%s", layers ? "output" : "layers");
    vt_grid_put(grid, CELL_NODE, "%s", layers ? "node" : "");
    return true;
}

static void put_rate(struct vt_grid *grid, uint32_t cell, double amount, double time_ns)
{
    char number[32];

    if (amount > 0 && time_ns > 0) {
        vt_grid_put(grid, cell, "%s", vt_number_text(amount / time_ns, number, sizeof number));
    }
}

static void put_cost(const struct vt_profile *profile, struct vt_grid *grid, double time_ns,
                     double flops, double bytes)
{
    char text[32];

    vt_grid_put(grid, CELL_TIME, "%s", vt_duration_text((int64_t)time_ns, text, sizeof text));
    vt_grid_put(grid, CELL_SHARE, "%.1f %%",
                profile->profiled_run_ns > 0 ? 100 * time_ns / profile->profiled_run_ns : 0);
    put_rate(grid, CELL_FLOPS, flops, time_ns);
    put_rate(grid, CELL_BYTES, bytes, time_ns);
    if (time_ns > 0 && (flops > 0 || bytes > 0)) {
        vt_grid_put(grid, CELL_ROOF, "%.0f %%",
                    100 * vt_machine_roof_ns(&profile->peak, flops, bytes) / time_ns);
        vt_grid_put(grid, CELL_BOUND, "%s",
                    vt_machine_compute_bound(&profile->peak, flops, bytes) ? "compute" : "memory");
    }
}

static bool fill_layers(const struct vt_profile *profile, struct vt_grid *grid)
{
    bool ok = begin(grid, "layer", true);

    for (uint32_t i = 0; i < profile->n_layers && i < profile->top && ok; i++) {
        const struct vt_profile_layer *layer = &profile->layers[i];
        ok = vt_grid_add(grid);
        if (ok) {
            vt_grid_put(grid, CELL_NAME, "%s", layer->op);
            put_cost(profile, grid, layer->time_ns, layer->flops, layer->bytes);
            vt_grid_put(grid, CELL_KERNEL, "%s", layer->kernel);
            vt_grid_put(grid, CELL_SHAPE, "%s", layer->shape);
            vt_grid_put(grid, CELL_NODE, "%s%s", layer->node, layer->calls > 1 ? " (loop)" : "");
        }
    }
    return ok;
}

static bool fill_operators(const struct vt_profile *profile, struct vt_grid *grid)
{
    bool ok = begin(grid, "operator", false);

    for (uint32_t i = 0; i < profile->n_operators && i < OPERATORS_MOST && ok; i++) {
        const struct vt_profile_operator *sum = &profile->operators[i];
        ok = vt_grid_add(grid);
        if (ok) {
            vt_grid_put(grid, CELL_NAME, "%s", sum->op);
            put_cost(profile, grid, sum->time_ns, sum->flops, sum->bytes);
            vt_grid_put(grid, CELL_SHAPE, "%u", sum->layers);
        }
    }
    return ok;
}

static void put_summary(const struct vt_profile *profile, FILE *out)
{
    const struct vt_machine_peak *peak = &profile->peak;
    double flops = 0, bytes = 0;
    char a[32], b[32];

    for (uint32_t i = 0; i < profile->n_layers; i++) {
        flops += profile->layers[i].flops;
        bytes += profile->layers[i].bytes;
    }
    (void)fprintf(out, "%-*s%s GFLOP/s (%s multiply-adds), %s GB/s (triad), %u thread%s\n",
                  LABEL_WIDTH, "machine", vt_number_text(peak->flops_per_s / 1e9, a, sizeof a),
                  peak->isa, vt_number_text(peak->bytes_per_s / 1e9, b, sizeof b), profile->threads,
                  profile->threads == 1 ? "" : "s");
    (void)fprintf(out, "%-*s%s of batch %u", LABEL_WIDTH, "a run",
                  vt_duration_text((int64_t)profile->run_ns, a, sizeof a), profile->batch);
    (void)fprintf(out, ", %s with a look at every layer; %llu runs\n",
                  vt_duration_text((int64_t)profile->profiled_run_ns, a, sizeof a),
                  (unsigned long long)profile->runs);
    (void)fprintf(out, "%-*s%s GFLOP", LABEL_WIDTH, "work",
                  vt_number_text(flops / 1e9, a, sizeof a));
    (void)fprintf(out, " on %s MB", vt_number_text(bytes / 1e6, a, sizeof a));
    if (profile->run_ns > 0) {
        (void)fprintf(
            out, ": %s GFLOP/s, %.0f %% of what multiply-adds alone reach",
            vt_number_text(flops / profile->run_ns, a, sizeof a),
            peak->flops_per_s > 0 ? 100 * flops / (profile->run_ns / 1e9) / peak->flops_per_s : 0);
    }
    (void)fputs("\n\n", out);
}

void vt_profile_print_table(const struct vt_profile *profile, FILE *out, int columns)
{
    struct vt_grid grid;

    put_summary(profile, out);
    if (fill_operators(profile, &grid)) {
        vt_grid_print(&grid, out, columns);
        (void)fputc('\n', out);
    }
    vt_grid_release(&grid);
    if (fill_layers(profile, &grid)) {
        vt_grid_print(&grid, out, columns);
    }
    vt_grid_release(&grid);
    if (profile->n_layers > profile->top) {
        (void)fprintf(out, "and %u more layers (--top N)\n", profile->n_layers - profile->top);
    }
    (void)fputc('\n', out);
}
