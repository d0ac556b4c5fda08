/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says, in the order in which it is read: headings, sentences, tables, plots. The
 * pages of all formats are written from it, so that they say the same.
 *
 * Building fails only for want of memory (vt_document_failed): every call on a failed document does
 * nothing, so that one look at the end tells. Texts are taken as they are; whoever writes a page
 * escapes them. A document belongs to one thread at a time.
 */
#ifndef VT_REPORT_DOCUMENT_H
#define VT_REPORT_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

enum vt_block_kind {
    VT_BLOCK_HEADING, /* level 2 to 4 */
    VT_BLOCK_TEXT,    /* a sentence */
    VT_BLOCK_NOTE,    /* a sentence in the margin */
    VT_BLOCK_VERDICT, /* text: the verdict; more: what it is about; cells: the reasons */
    VT_BLOCK_LIST,    /* cells: the items */
    VT_BLOCK_FACTS,   /* cells: name, value, name, value … */
    VT_BLOCK_TABLE,   /* text: what it lists */
    VT_BLOCK_PLOT,    /* text: title; more: what is to be seen; plot; the table behind it */
    VT_BLOCK_CODE,    /* text to be copied */
    VT_BLOCK_FOLD,    /* text: title of what stands folded up until VT_BLOCK_FOLD_END */
    VT_BLOCK_FOLD_END,
    VT_BLOCK_GRID, /* blocks that may stand side by side until VT_BLOCK_GRID_END */
    VT_BLOCK_GRID_END,
};

enum vt_tone {
    VT_TONE_PLAIN,
    VT_TONE_GOOD,
    VT_TONE_BAD,
    VT_TONE_CAUTION,
};

struct vt_column {
    const char *title;
    bool number; /* aligned to the right */
};

#define VT_COLUMNS_MAX 16

struct vt_block {
    enum vt_block_kind kind;
    enum vt_tone tone;
    int level;
    const char *text, *more;
    struct vt_column columns[VT_COLUMNS_MAX];
    uint32_t n_columns;
    size_t first_cell, n_cells;
    json_t *plot; /* owned */
};

struct vt_document;

struct vt_document *vt_document_new(void);           /* NULL when out of memory */
void vt_document_free(struct vt_document *document); /* accepts NULL */
bool vt_document_failed(const struct vt_document *document);

const struct vt_block *vt_document_blocks(const struct vt_document *document, size_t *ret_n);
/* Cell i of the document; a block has those from its first_cell. Never NULL. */
const char *vt_document_cell(const struct vt_document *document, size_t i);
/* Whether column k of a table has a value in any row: one that has none need not be shown. */
bool vt_document_has_column(const struct vt_document *document, const struct vt_block *block,
                            uint32_t k);
/* Plots so far. */
uint32_t vt_document_plots(const struct vt_document *document);
const char *vt_document_title(const struct vt_document *document);

/* A text that lives as long as the document; "" when out of memory. */
const char *vt_say(struct vt_document *document, const char *fmt, ...) VT_PRINTF(2, 3);

void vt_add_title(struct vt_document *document, const char *text);
void vt_add_heading(struct vt_document *document, int level, const char *text);
void vt_add_text(struct vt_document *document, enum vt_block_kind kind, const char *text);
void vt_add_verdict(struct vt_document *document, enum vt_tone tone, const char *verdict,
                    const char *about);
/* These begin a block; its cells follow. */
void vt_add_list(struct vt_document *document);
void vt_add_facts(struct vt_document *document);
void vt_add_table(struct vt_document *document, const char *caption,
                  const struct vt_column *columns, uint32_t n);
/* Takes `plot` over, which may be NULL (then memory is out). */
void vt_add_plot(struct vt_document *document, const char *title, const char *seen, json_t *plot,
                 const struct vt_column *columns, uint32_t n);
/* A cell of the block begun last. NULL: there is no such thing, an en dash. */
void vt_cell(struct vt_document *document, const char *text);
void vt_cellf(struct vt_document *document, const char *fmt, ...) VT_PRINTF(2, 3);
/* Name and value of facts; nothing for a value that is NULL. */
void vt_fact(struct vt_document *document, const char *name, const char *value);
/* VT_BLOCK_FOLD, _FOLD_END, _GRID, _GRID_END. */
void vt_add_bracket(struct vt_document *document, enum vt_block_kind kind, const char *title);

#endif
