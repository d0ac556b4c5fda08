/* SPDX-License-Identifier: Apache-2.0 */
#include "result/grid.h"
#include "result/result.h"

#define LABEL_WIDTH 15

/* Medians, in the scenarios whose stages were stamped. */
void vt_result_print_stages(const struct vt_result *result, FILE *out, int columns)
{
    static const char *const names[VT_STAGE_COUNT] = {"queue", "batch", "copy", "compute",
                                                      "completion"};
    struct vt_grid grid;

    vt_grid_init(&grid, 1 + VT_STAGE_COUNT);
    grid.least[0] = LABEL_WIDTH - 2;
    bool ok = vt_grid_add(&grid);
    vt_grid_put(&grid, 0, "stages (p50)");
    for (int s = 0; s < VT_STAGE_COUNT; s++) {
        vt_grid_put(&grid, 1 + (uint32_t)s, "%s", names[s]);
    }
    for (uint32_t i = 0; i < result->n_entries && ok; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        char duration[32];
        if (entry->mode != VT_PERFORMANCE || entry->stages.samples == 0) {
            continue;
        }
        ok = vt_grid_add(&grid);
        vt_grid_put(&grid, 0, "%s", vt_scenario_name(entry->scenario));
        for (int s = 0; s < VT_STAGE_COUNT; s++) {
            int64_t ns = entry->stages.stage[s].p50_ns;
            vt_grid_put(&grid, 1 + (uint32_t)s, "%s",
                        vt_duration_text(ns, duration, sizeof duration));
        }
    }
    if (grid.n_rows > 1) {
        vt_grid_print(&grid, out, columns);
        (void)fputc('\n', out);
    }
    vt_grid_release(&grid);
}
