/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/version.h"
#include "report/writers.h"
#include "result/text.h"

/* Tables behind plots beyond this are left to the page and to CSV. */
#define PLOT_ROWS_MAX 32

struct writer {
    const struct vt_document *document;
    FILE *out;
    bool failed;
};

/* What would be markup stands behind a backslash, and a line stays a line. */
static void put_text(struct writer *writer, const char *text)
{
    const size_t size = vt_text_clean_size(text);
    char *clean = vt_alloc(size);

    if (clean == NULL) {
        writer->failed = true;
        return;
    }
    for (const char *at = vt_text_clean(text, 0, clean, size); *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (*at == '<' || *at == '>' || *at == '&') {
            (void)fputs(*at == '<' ? "&lt;" : *at == '>' ? "&gt;" : "&amp;", writer->out);
        } else if (strchr("\\`*_[]|#!~", *at) != NULL) {
            (void)fprintf(writer->out, "\\%c", *at);
        } else {
            (void)fputc(c < 0x20 || c == 0x7f ? ' ' : *at, writer->out);
        }
    }
    vt_free(clean);
}

static void put_around(struct writer *writer, const char *before, const char *text,
                       const char *after)
{
    (void)fputs(before, writer->out);
    put_text(writer, text);
    (void)fputs(after, writer->out);
}

static const char *cell(const struct writer *writer, const struct vt_block *block, size_t i)
{
    return vt_document_cell(writer->document, block->first_cell + i);
}

static void put_table(struct writer *writer, const struct vt_block *block)
{
    bool shown[VT_COLUMNS_MAX];

    if (block->n_columns == 0 || block->n_cells == 0) {
        return;
    }
    (void)fputc('|', writer->out);
    for (uint32_t k = 0; k < block->n_columns; k++) {
        shown[k] = vt_document_has_column(writer->document, block, k);
        if (shown[k]) {
            put_around(writer, " ", block->columns[k].title, " |");
        }
    }
    (void)fputs("\n|", writer->out);
    for (uint32_t k = 0; k < block->n_columns; k++) {
        if (shown[k]) {
            (void)fputs(block->columns[k].number ? " ---: |" : " --- |", writer->out);
        }
    }
    (void)fputc('\n', writer->out);
    for (size_t i = 0; i + block->n_columns <= block->n_cells; i += block->n_columns) {
        (void)fputc('|', writer->out);
        for (uint32_t k = 0; k < block->n_columns; k++) {
            if (shown[k]) {
                put_around(writer, " ", cell(writer, block, i + k), " |");
            }
        }
        (void)fputc('\n', writer->out);
    }
    (void)fputc('\n', writer->out);
}

static void put_items(struct writer *writer, const struct vt_block *block)
{
    for (size_t i = 0; i < block->n_cells; i++) {
        put_around(writer, "- ", cell(writer, block, i), "\n");
    }
    (void)fputc('\n', writer->out);
}

static void put_facts(struct writer *writer, const struct vt_block *block)
{
    for (size_t i = 0; i + 1 < block->n_cells; i += 2) {
        put_around(writer, "- ", cell(writer, block, i), ": ");
        put_around(writer, "", cell(writer, block, i + 1), "\n");
    }
    (void)fputc('\n', writer->out);
}

/* Indented code: no text can end it. */
static void put_code(struct writer *writer, const char *text)
{
    (void)fputs("    ", writer->out);
    for (const char *at = text; *at != '\0'; at++) {
        (void)fputc((unsigned char)*at < 0x20 ? ' ' : *at, writer->out);
    }
    (void)fputs("\n\n", writer->out);
}

static void put_block(struct writer *writer, const struct vt_block *block)
{
    switch (block->kind) {
    case VT_BLOCK_HEADING:
        put_around(writer, block->level == 2 ? "## " : "### ", block->text, "\n\n");
        break;
    case VT_BLOCK_TEXT:
        put_around(writer, "", block->text, "\n\n");
        break;
    case VT_BLOCK_NOTE:
        put_around(writer, "> ", block->text, "\n\n");
        break;
    case VT_BLOCK_VERDICT:
        put_around(writer, "**", block->text, "** ");
        put_around(writer, "", block->more, "\n\n");
        put_items(writer, block);
        break;
    case VT_BLOCK_LIST:
        put_items(writer, block);
        break;
    case VT_BLOCK_FACTS:
        put_facts(writer, block);
        break;
    case VT_BLOCK_TABLE:
        if (block->n_cells == 0) {
            break;
        }
        put_around(writer, "**", block->text, "**\n\n");
        put_table(writer, block);
        break;
    case VT_BLOCK_PLOT:
        if (block->n_columns > 0 && block->n_cells / block->n_columns <= PLOT_ROWS_MAX) {
            put_around(writer, "**", block->text, "**\n\n");
            put_table(writer, block);
        }
        break;
    case VT_BLOCK_CODE:
        put_code(writer, block->text);
        break;
    case VT_BLOCK_FOLD:
    case VT_BLOCK_FOLD_END:
    case VT_BLOCK_GRID:
    case VT_BLOCK_GRID_END:
        break;
    }
}

enum vt_status vt_report_markdown(const struct vt_document *document, FILE *out,
                                  struct vt_error *err)
{
    struct writer writer = {.document = document, .out = out};
    size_t n;
    const struct vt_block *blocks = vt_document_blocks(document, &n);

    put_around(&writer, "# ", vt_document_title(document), "\n\n");
    for (size_t i = 0; i < n; i++) {
        put_block(&writer, &blocks[i]);
    }
    (void)fprintf(out, "Made by vatio %s\n", vt_version());
    return writer.failed ? vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report") : VT_OK;
}
