/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "result/grid.h"
#include "result/meters.h"
#include "result/result.h"
#include "result/text.h"

enum { METER, DOMAIN, WATTS, OFF, UPDATE, KIND, INSIDE, DEVICE, COLUMNS };

static void put_row(struct vt_grid *grid, const struct vt_meter_entry *entry,
                    const struct vt_meter_row *row)
{
    char number[32];

    vt_grid_put(grid, METER, "%s", entry->name);
    vt_grid_put(grid, DOMAIN, "%s", row->domain);
    vt_grid_put(grid, WATTS, "%s",
                row->measured ? vt_number_text(row->watts, number, sizeof number) : VT_NO_NUMBER);
    if (row->measured) {
        vt_grid_put(grid, OFF, "%s", vt_number_text(row->uncertainty_w, number, sizeof number));
    }
    if (row->update_ns > 0) {
        vt_grid_put(grid, UPDATE, "%s%s", row->update_at_most ? "\xe2\x89\xa4 " : "",
                    vt_duration_text(row->update_ns, number, sizeof number));
    } else {
        vt_grid_put(grid, UPDATE, VT_NO_NUMBER);
    }
    vt_grid_put(grid, KIND, "%s", row->counter ? "counter" : "power");
    vt_grid_put(grid, INSIDE, "%s", row->inside[0] != '\0' ? row->inside : "");
    vt_grid_put(grid, DEVICE, "%s (%s)", row->device, row->scope);
}

static void print_grid(const struct vt_meters_report *report, FILE *out, int columns)
{
    static const char *const heads[COLUMNS] = {"meter",   "domain", "W",      "\xc2\xb1",
                                               "updates", "kind",   "inside", "device"};
    static const uint8_t weights[COLUMNS] = {0, 0, 0, 5, 4, 2, 3, 1};
    struct vt_grid grid;
    bool fits;

    vt_grid_init(&grid, COLUMNS);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        grid.weight[c] = weights[c];
        grid.right[c] = c == WATTS || c == OFF || c == UPDATE;
    }
    fits = vt_grid_add(&grid);
    for (uint32_t c = 0; fits && c < COLUMNS; c++) {
        vt_grid_put(&grid, c, "%s", heads[c]);
    }
    for (uint32_t i = 0; i < report->n_entries; i++) {
        for (uint32_t r = 0; fits && r < report->entries[i].n_rows; r++) {
            fits = vt_grid_add(&grid);
            if (fits) {
                put_row(&grid, &report->entries[i], &report->entries[i].rows[r]);
            }
        }
    }
    if (grid.n_rows > 1) {
        vt_grid_print(&grid, out, columns);
    }
    vt_grid_release(&grid);
}

static void print_line(FILE *out, const char *name, const char *text, int columns)
{
    const int at = fprintf(out, "%-20s ", name);

    vt_text_print_wrapped(out, text, at > 0 ? at : 21, 21, columns);
}

static void print_remarks(const struct vt_meters_report *report, FILE *out, int columns)
{
    bool titled = false;

    for (uint32_t i = 0; i < report->n_entries; i++) {
        for (uint32_t r = 0; r < report->entries[i].n_rows; r++) {
            const struct vt_meter_row *row = &report->entries[i].rows[r];
            const char *texts[] = {row->measured ? "" : row->why, row->note};
            for (size_t t = 0; t < 2; t++) {
                if (texts[t][0] != '\0') {
                    (void)fputs(titled ? "" : "\n", out);
                    titled = true;
                    print_line(out, row->domain, texts[t], columns);
                }
            }
        }
    }
}

void vt_meters_print_table(const struct vt_meters_report *report, FILE *out, int columns)
{
    bool titled = false;
    char time[32];

    print_grid(report, out, columns);
    print_remarks(report, out, columns);
    if (report->for_ns > 0) {
        (void)fprintf(out, "\nread for %s, which took %.2f %% of one CPU",
                      vt_duration_text(report->for_ns, time, sizeof time), 100 * report->cpu_share);
        (void)fputs("\n\xc2\xb1 leaves out how exact a sensor is where its maker does not say; "
                    "\"inside\" is not to be added to what holds it\n",
                    out);
    }
    for (uint32_t i = 0; i < report->n_entries; i++) {
        const struct vt_meter_entry *entry = &report->entries[i];
        if (!entry->available) {
            (void)fputs(titled               ? ""
                        : report->for_ns > 0 ? "\nnot available\n"
                                             : "not available\n",
                        out);
            titled = true;
            print_line(out, entry->name, entry->summary, columns);
            print_line(out, "", entry->why, columns);
        }
    }
}
