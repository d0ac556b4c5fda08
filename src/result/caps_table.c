/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "result/grid.h"
#include "result/result.h"
#include "result/text.h"

/* More domains alike than so many are one row. */
#define ALIKE_MAX 4

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static const char *value_text(double value, char text[32])
{
    return isnan(value) ? VT_NO_NUMBER : vt_number_text(value, text, 32);
}

/* --- of a run ------------------------------------------------------------------------------ */

static bool alike(const struct vt_result_cap *a, const struct vt_result_cap *b)
{
    return strcmp(a->kind, b->kind) == 0 && same(a->asked, b->asked) &&
           same(a->enforced, b->enforced) && same(a->previous, b->previous) &&
           a->restored == b->restored && strcmp(a->note, b->note) == 0;
}

/* "nvml gpu0 and 7 more: 300 W (before: 700 W), put back" */
static void cap_text(const struct vt_result_cap *cap, uint32_t n, char *text, size_t size)
{
    char more[32] = "", enforced[32], previous[32], asked[32] = "";

    if (n > 1) {
        (void)snprintf(more, sizeof more, " and %" PRIu32 " more", n - 1);
    }
    if (!same(cap->asked, cap->enforced)) {
        char number[32];
        (void)snprintf(asked, sizeof asked, ", asked: %.20s", value_text(cap->asked, number));
    }
    int at = snprintf(text, size, "%s %s%s: %s %s (before: %s%s)%s%s%s", cap->kind, cap->domain,
                      more, value_text(cap->enforced, enforced), cap->unit,
                      isnan(cap->previous) ? "not known" : value_text(cap->previous, previous),
                      asked, cap->restored ? ", put back" : ", NOT put back",
                      cap->note[0] != '\0' ? "; " : "", cap->note);
    if (!cap->restored && at > 0 && (size_t)at < size) {
        (void)snprintf(text + at, size - (size_t)at, "; run `vatio caps restore`");
    }
}

void vt_result_print_caps(const struct vt_result *result, FILE *out, int columns)
{
    char text[640];

    for (uint32_t i = 0, n = 0; i < result->n_caps; i += n) {
        for (n = 1; i + n < result->n_caps && alike(&result->caps[i], &result->caps[i + n]); n++) {
        }
        cap_text(&result->caps[i], n, text, sizeof text);
        vt_result_print_item(out, i == 0 ? "caps" : "", text, columns);
    }
}

/* --- of the machine ------------------------------------------------------------------------ */

enum { KIND, DOMAIN, NOW, UNIT, LEAST, MOST, USUAL, DEVICE, COLUMNS };

static bool rows_alike(const struct vt_caps_row *a, const struct vt_caps_row *b)
{
    return same(a->value, b->value) && same(a->minimum, b->minimum) &&
           same(a->maximum, b->maximum) && same(a->standard, b->standard) &&
           strcmp(a->why, b->why) == 0 && strcmp(a->note, b->note) == 0;
}

static void put_row(struct vt_grid *grid, const struct vt_caps_entry *entry, uint32_t first,
                    uint32_t n)
{
    const struct vt_caps_row *row = &entry->rows[first];
    char number[32];

    vt_grid_put(grid, KIND, "%s", entry->name);
    if (n > 1) {
        vt_grid_put(grid, DOMAIN, "%s .. %s", row->domain, entry->rows[first + n - 1].domain);
    } else {
        vt_grid_put(grid, DOMAIN, "%s", row->domain);
        vt_grid_put(grid, DEVICE, "%s", row->device);
    }
    vt_grid_put(grid, NOW, "%s", value_text(row->value, number));
    vt_grid_put(grid, UNIT, "%s", entry->unit);
    vt_grid_put(grid, LEAST, "%s", value_text(row->minimum, number));
    vt_grid_put(grid, MOST, "%s", value_text(row->maximum, number));
    vt_grid_put(grid, USUAL, "%s", value_text(row->standard, number));
}

static bool put_entry(struct vt_grid *grid, const struct vt_caps_entry *entry)
{
    for (uint32_t r = 0, n = 0; r < entry->n_rows; r += n) {
        for (n = 1; r + n < entry->n_rows && rows_alike(&entry->rows[r], &entry->rows[r + n]);
             n++) {
        }
        n = n > ALIKE_MAX ? n : 1;
        if (!vt_grid_add(grid)) {
            return false;
        }
        put_row(grid, entry, r, n);
    }
    return true;
}

static void print_grid(const struct vt_caps_report *report, FILE *out, int columns)
{
    static const char *const heads[COLUMNS] = {"cap",   "domain", "now",     "unit",
                                               "least", "most",   "default", "device"};
    static const uint8_t weights[COLUMNS] = {0, 0, 0, 0, 3, 4, 2, 1};
    struct vt_grid grid;

    vt_grid_init(&grid, COLUMNS);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        grid.weight[c] = weights[c];
        grid.right[c] = c == NOW || c == LEAST || c == MOST || c == USUAL;
    }
    bool fits = vt_grid_add(&grid);
    for (uint32_t c = 0; fits && c < COLUMNS; c++) {
        vt_grid_put(&grid, c, "%s", heads[c]);
    }
    for (uint32_t i = 0; fits && i < report->n_entries; i++) {
        fits = put_entry(&grid, &report->entries[i]);
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

static void print_remarks(const struct vt_caps_entry *entry, FILE *out, int columns)
{
    if (entry->available && entry->locked[0] != '\0') {
        print_line(out, entry->name, entry->locked, columns);
    }
    for (uint32_t r = 0; r < entry->n_rows; r++) {
        const char *texts[] = {entry->rows[r].why, entry->rows[r].note};
        for (size_t t = 0; t < 2; t++) {
            if (texts[t][0] != '\0') {
                print_line(out, entry->rows[r].domain, texts[t], columns);
            }
        }
    }
}

static void print_records(const struct vt_caps_report *report, FILE *out, int columns)
{
    char name[48], text[VT_ERROR_TEXT_MAX + 400];

    for (uint32_t i = 0; i < report->n_records; i++) {
        const struct vt_caps_record *record = &report->records[i];
        (void)snprintf(name, sizeof name, "process %" PRId64, record->owner);
        (void)snprintf(text, sizeof text, "%s: %s%s%s", record->state, record->text,
                       record->failed ? "; its record: " : "", record->failed ? record->file : "");
        print_line(out, record->owner > 0 ? name : "a record", text, columns);
    }
}

void vt_caps_print_table(const struct vt_caps_report *report, FILE *out, int columns)
{
    bool titled = false;

    print_grid(report, out, columns);
    for (uint32_t i = 0; i < report->n_entries; i++) {
        print_remarks(&report->entries[i], out, columns);
    }
    if (report->n_records > 0) {
        (void)fputs(report->n_entries > 0 ? "\nset by vatio\n" : "", out);
        print_records(report, out, columns);
    } else if (report->replayed) {
        (void)fputs("nothing was left behind\n", out);
    }
    for (uint32_t i = 0; i < report->n_entries; i++) {
        const struct vt_caps_entry *entry = &report->entries[i];
        if (!entry->available) {
            (void)fputs(titled ? "" : "\nnot available\n", out);
            titled = true;
            print_line(out, entry->name, entry->summary, columns);
            print_line(out, "", entry->why, columns);
        }
    }
}
