/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for a terminal: cells of text, columns as wide as their widest cell. Where the terminal
 * is narrow, columns go, the ones that matter least first; then the widest that is left is cut.
 *
 * Cells are copied, and cleaned of what could drive a terminal. One thread.
 */
#ifndef VT_RESULT_GRID_H
#define VT_RESULT_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

#define VT_GRID_COLUMNS 12

struct vt_grid {
    char (*cells)[VT_GRID_COLUMNS][96];
    uint32_t n_rows, capacity;
    uint32_t n_columns;
    bool right[VT_GRID_COLUMNS];     /* numbers stand at the right of their column */
    uint8_t weight[VT_GRID_COLUMNS]; /* the lightest go first; 0 never goes */
    uint32_t least[VT_GRID_COLUMNS]; /* a width that the column has at least */
};

/* A grid of no rows. */
void vt_grid_init(struct vt_grid *grid, uint32_t n_columns);
void vt_grid_release(struct vt_grid *grid); /* accepts a zeroed one */
/* Adds an empty row; false when out of memory. */
bool vt_grid_add(struct vt_grid *grid) VT_NODISCARD;
/* Writes a cell of the last row, in printf's words. */
void vt_grid_put(struct vt_grid *grid, uint32_t column, const char *fmt, ...) VT_PRINTF(3, 4);
void vt_grid_print(const struct vt_grid *grid, FILE *out, int columns);

#endif
