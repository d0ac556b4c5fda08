/* SPDX-License-Identifier: Apache-2.0 */
#include "result/grid.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "result/text.h"

#define GAP         2
#define LEAST_WIDTH 8u

void vt_grid_init(struct vt_grid *grid, uint32_t n_columns)
{
    memset(grid, 0, sizeof *grid);
    grid->n_columns = n_columns < VT_GRID_COLUMNS ? n_columns : VT_GRID_COLUMNS;
}

void vt_grid_release(struct vt_grid *grid)
{
    vt_free(grid->cells);
    memset(grid, 0, sizeof *grid);
}

bool vt_grid_add(struct vt_grid *grid)
{
    if (grid->n_rows == grid->capacity) {
        uint32_t capacity = grid->capacity > 0 ? 2 * grid->capacity : 16;
        void *cells = vt_regrow(grid->cells, grid->capacity * sizeof grid->cells[0],
                                capacity * sizeof grid->cells[0]);
        if (cells == NULL) {
            return false;
        }
        grid->cells = cells;
        grid->capacity = capacity;
    }
    memset(grid->cells[grid->n_rows++], 0, sizeof grid->cells[0]);
    return true;
}

void vt_grid_put(struct vt_grid *grid, uint32_t column, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (grid->n_rows == 0 || column >= grid->n_columns) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char *cell = grid->cells[grid->n_rows - 1][column];
    vt_text_clean(text, 1, cell, sizeof grid->cells[0][0]);
}

static uint32_t width_of(const struct vt_grid *grid, uint32_t column)
{
    uint32_t width = grid->least[column];
    for (uint32_t r = 0; r < grid->n_rows; r++) {
        uint32_t cell = (uint32_t)vt_text_width(grid->cells[r][column]);
        width = cell > width ? cell : width;
    }
    return width;
}

/* Names are readable in part. */
static void cut_widest(const struct vt_grid *grid, uint32_t *width, uint32_t over)
{
    uint32_t widest = 0;

    for (uint32_t c = 1; c < grid->n_columns; c++) {
        widest = width[c] > width[widest] ? c : widest;
    }
    width[widest] = width[widest] > over + LEAST_WIDTH ? width[widest] - over : LEAST_WIDTH;
}

/* Columns that do not fit get the width 0. */
static void fit(const struct vt_grid *grid, uint32_t columns, uint32_t *width)
{
    for (;;) {
        uint32_t total = 0, lightest = VT_GRID_COLUMNS;
        for (uint32_t c = 0; c < grid->n_columns; c++) {
            total += width[c] > 0 ? width[c] + GAP : 0;
            if (width[c] > 0 && grid->weight[c] > 0 &&
                (lightest == VT_GRID_COLUMNS || grid->weight[c] <= grid->weight[lightest])) {
                lightest = c;
            }
        }
        if (total <= columns + GAP) {
            return;
        }
        if (lightest == VT_GRID_COLUMNS) {
            cut_widest(grid, width, total - columns - GAP);
            return;
        }
        width[lightest] = 0;
    }
}

/* Prints at most `width` columns of the text; the last one shows that there is more. */
static void put_cut(FILE *out, const char *text, uint32_t width)
{
    uint32_t all = (uint32_t)vt_text_width(text);
    uint32_t left = all > width ? width - 1 : all;

    while (left-- > 0) {
        size_t bytes = vt_utf8_bytes(text);
        bytes = bytes > 0 ? bytes : 1;
        (void)fwrite(text, 1, bytes, out);
        text += bytes;
    }
    if (all > width) {
        (void)fputs("\xe2\x80\xa6", out);
    }
}

static void put_blanks(FILE *out, uint32_t n)
{
    (void)fprintf(out, "%*s", (int)n, "");
}

static void put_row(const struct vt_grid *grid, const char (*cells)[96], const uint32_t *width,
                    FILE *out)
{
    uint32_t owed = 0; /* blanks that nothing has followed yet: a line ends without any */

    for (uint32_t c = 0; c < grid->n_columns; c++) {
        if (width[c] == 0) {
            continue;
        }
        uint32_t text = (uint32_t)vt_text_width(cells[c]);
        text = text < width[c] ? text : width[c];
        uint32_t blanks = width[c] - text;
        owed += grid->right[c] ? blanks : 0;
        if (text > 0) {
            put_blanks(out, owed);
            put_cut(out, cells[c], width[c]);
            owed = 0;
        }
        owed += (grid->right[c] ? 0 : blanks) + GAP;
    }
    (void)fputc('\n', out);
}

void vt_grid_print(const struct vt_grid *grid, FILE *out, int columns)
{
    uint32_t width[VT_GRID_COLUMNS];

    for (uint32_t c = 0; c < grid->n_columns; c++) {
        width[c] = width_of(grid, c);
    }
    fit(grid, columns > 40 ? (uint32_t)columns : 40, width);
    for (uint32_t r = 0; r < grid->n_rows; r++) {
        put_row(grid, (const char(*)[96])grid->cells[r], width, out);
    }
}
