/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "result/text.h"

/* What hostile files can make a report take. */
#define TEXT_LIMIT  ((size_t)256 << 20)
#define CELLS_LIMIT ((size_t)4 << 20)
#define FIRST_ROOM  256

struct vt_document {
    struct vt_arena arena;
    struct vt_block *blocks;
    size_t n_blocks, block_room;
    const char **cells;
    size_t n_cells, cell_room;
    uint32_t n_plots;
    const char *title;
    bool failed;
};

struct vt_document *vt_document_new(void)
{
    struct vt_document *document = vt_calloc(1, sizeof *document);

    if (document != NULL) {
        vt_arena_init(&document->arena, TEXT_LIMIT);
        document->title = "vatio";
    }
    return document;
}

void vt_document_free(struct vt_document *document)
{
    if (document == NULL) {
        return;
    }
    for (size_t i = 0; i < document->n_blocks; i++) {
        json_decref(document->blocks[i].plot);
    }
    vt_free(document->blocks);
    vt_free(document->cells);
    vt_arena_release(&document->arena);
    vt_free(document);
}

bool vt_document_failed(const struct vt_document *document)
{
    return document->failed;
}

const struct vt_block *vt_document_blocks(const struct vt_document *document, size_t *ret_n)
{
    *ret_n = document->n_blocks;
    return document->blocks;
}

const char *vt_document_cell(const struct vt_document *document, size_t i)
{
    return document->cells[i];
}

bool vt_document_has_column(const struct vt_document *document, const struct vt_block *block,
                            uint32_t k)
{
    for (size_t i = k; i < block->n_cells; i += block->n_columns) {
        if (strcmp(document->cells[block->first_cell + i], VT_NO_NUMBER) != 0) {
            return true;
        }
    }
    return k == 0;
}

uint32_t vt_document_plots(const struct vt_document *document)
{
    return document->n_plots;
}

const char *vt_document_title(const struct vt_document *document)
{
    return document->title;
}

/* A vector with room for one more; NULL when there is none, and the document has failed. */
static void *with_room(struct vt_document *document, void *items, size_t n, size_t *room,
                       size_t bytes)
{
    if (document->failed || n < *room) {
        return document->failed ? NULL : items;
    }
    const size_t wanted = *room > 0 ? 2 * *room : FIRST_ROOM;
    void *grown = wanted <= CELLS_LIMIT ? vt_regrow(items, n * bytes, wanted * bytes) : NULL;
    if (grown == NULL) {
        document->failed = true;
        return NULL;
    }
    *room = wanted;
    return grown;
}

VT_PRINTF(2, 0)
static const char *say(struct vt_document *document, const char *fmt, va_list args)
{
    va_list again;
    char *text = NULL;

    va_copy(again, args);
    const int length = document->failed ? -1 : vsnprintf(NULL, 0, fmt, args);
    if (length >= 0) {
        text = vt_arena_alloc(&document->arena, (size_t)length + 1, 1);
    }
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, fmt, again);
    } else {
        document->failed = true;
    }
    va_end(again);
    return text != NULL ? text : "";
}

const char *vt_say(struct vt_document *document, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = say(document, fmt, args);
    va_end(args);
    return text;
}

/* A block at the end, or one that nobody keeps when the document has failed. */
static struct vt_block *begin(struct vt_document *document, enum vt_block_kind kind)
{
    static _Thread_local struct vt_block lost;
    struct vt_block *blocks = with_room(document, document->blocks, document->n_blocks,
                                        &document->block_room, sizeof blocks[0]);

    if (blocks == NULL) {
        lost = (struct vt_block){.kind = kind};
        return &lost;
    }
    document->blocks = blocks;
    blocks[document->n_blocks] =
        (struct vt_block){.kind = kind, .text = "", .more = "", .first_cell = document->n_cells};
    return &blocks[document->n_blocks++];
}

void vt_add_title(struct vt_document *document, const char *text)
{
    document->title = vt_say(document, "%s", text);
}

void vt_add_heading(struct vt_document *document, int level, const char *text)
{
    struct vt_block *block = begin(document, VT_BLOCK_HEADING);

    block->level = level;
    block->text = vt_say(document, "%s", text);
}

void vt_add_text(struct vt_document *document, enum vt_block_kind kind, const char *text)
{
    begin(document, kind)->text = vt_say(document, "%s", text);
}

void vt_add_verdict(struct vt_document *document, enum vt_tone tone, const char *verdict,
                    const char *about)
{
    struct vt_block *block = begin(document, VT_BLOCK_VERDICT);

    block->tone = tone;
    block->text = vt_say(document, "%s", verdict);
    block->more = vt_say(document, "%s", about);
}

void vt_add_list(struct vt_document *document)
{
    (void)begin(document, VT_BLOCK_LIST);
}

void vt_add_facts(struct vt_document *document)
{
    (void)begin(document, VT_BLOCK_FACTS);
}

static void put_columns(struct vt_document *document, struct vt_block *block,
                        const struct vt_column *columns, uint32_t n)
{
    block->n_columns = n < VT_COLUMNS_MAX ? n : VT_COLUMNS_MAX;
    for (uint32_t i = 0; i < block->n_columns; i++) {
        block->columns[i] =
            (struct vt_column){vt_say(document, "%s", columns[i].title), columns[i].number};
    }
}

void vt_add_table(struct vt_document *document, const char *caption,
                  const struct vt_column *columns, uint32_t n)
{
    struct vt_block *block = begin(document, VT_BLOCK_TABLE);

    block->text = vt_say(document, "%s", caption);
    put_columns(document, block, columns, n);
}

void vt_add_plot(struct vt_document *document, const char *title, const char *seen, json_t *plot,
                 const struct vt_column *columns, uint32_t n)
{
    struct vt_block *block = begin(document, VT_BLOCK_PLOT);

    if (plot == NULL || document->failed) {
        json_decref(plot);
        document->failed = true;
        return;
    }
    block->plot = plot;
    block->text = vt_say(document, "%s", title);
    block->more = vt_say(document, "%s", seen);
    put_columns(document, block, columns, n);
    document->n_plots++;
}

void vt_cell(struct vt_document *document, const char *text)
{
    const char **cells = with_room(document, document->cells, document->n_cells,
                                   &document->cell_room, sizeof cells[0]);

    if (cells == NULL || document->n_blocks == 0) {
        return;
    }
    document->cells = cells;
    cells[document->n_cells++] = text != NULL ? vt_say(document, "%s", text) : VT_NO_NUMBER;
    document->blocks[document->n_blocks - 1].n_cells++;
}

void vt_cellf(struct vt_document *document, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vt_cell(document, say(document, fmt, args));
    va_end(args);
}

void vt_fact(struct vt_document *document, const char *name, const char *value)
{
    if (value != NULL) {
        vt_cell(document, name);
        vt_cell(document, value);
    }
}

void vt_add_bracket(struct vt_document *document, enum vt_block_kind kind, const char *title)
{
    begin(document, kind)->text = vt_say(document, "%s", title);
}
