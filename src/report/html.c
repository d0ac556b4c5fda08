/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/version.h"
#include "report/writers.h"
#include "result/text.h"

static const unsigned char page[] = {
#include "page.html.inc"
    0};
static const unsigned char style[] = {
#include "page.css.inc"
    0};
static const unsigned char script[] = {
#include "page.js.inc"
    0};
static const unsigned char chart[] = {
#include "chart.min.js.inc"
    0};
static const unsigned char chart_licence[] = {
#include "chart-licence.inc"
    0};

/* A fact that is longer gets a line of its own. */
#define WIDE_BYTES 60
/* Cells of a table up to this are not broken into lines. */
#define SHORT_BYTES 44

struct writer {
    const struct vt_document *document;
    FILE *out;
    bool failed; /* out of memory */
    unsigned plots, headings;
};

/* Text and attribute values: no character in it can begin or end anything. */
static void put_text(struct writer *writer, const char *text)
{
    const size_t size = vt_text_clean_size(text);
    char *clean = vt_alloc(size);

    if (clean == NULL) {
        writer->failed = true;
        return;
    }
    for (const char *at = vt_text_clean(text, 0, clean, size); *at != '\0'; at++) {
        const char *entity = *at == '<'    ? "&lt;"
                             : *at == '>'  ? "&gt;"
                             : *at == '&'  ? "&amp;"
                             : *at == '"'  ? "&quot;"
                             : *at == '\'' ? "&#39;"
                                           : NULL;
        if (entity != NULL) {
            (void)fputs(entity, writer->out);
        } else if ((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t') {
            (void)fputc(*at, writer->out);
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

/* JSON in which no character can end the element around it. */
static int put_json(const char *bytes, size_t n, void *ctx)
{
    FILE *out = ctx;

    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&') {
            (void)fprintf(out, "\\u%04x", (unsigned)bytes[i]);
        } else {
            (void)fputc(bytes[i], out);
        }
    }
    return 0;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static const char *cell(const struct writer *writer, const struct vt_block *block, size_t i)
{
    return vt_document_cell(writer->document, block->first_cell + i);
}

static void put_heading(struct writer *writer, const struct vt_block *block)
{
    (void)fprintf(writer->out, "<h%d id=\"s%u\">", block->level, ++writer->headings);
    put_text(writer, block->text);
    (void)fprintf(writer->out, "</h%d>\n", block->level);
}

static void put_items(struct writer *writer, const struct vt_block *block)
{
    if (block->n_cells == 0) {
        return;
    }
    (void)fputs("<ul>", writer->out);
    for (size_t i = 0; i < block->n_cells; i++) {
        put_around(writer, "<li>", cell(writer, block, i), "</li>");
    }
    (void)fputs("</ul>\n", writer->out);
}

static void put_verdict(struct writer *writer, const struct vt_block *block)
{
    static const char *const tones[] = {"plain", "good", "bad", "caution"};
    static const char *const signs[] = {"\xe2\x80\xa2", "\xe2\x9c\x93", "\xe2\x9c\x95", "!"};

    (void)fprintf(writer->out,
                  "<div class=\"verdict %s\"><p><span class=\"sign\" "
                  "aria-hidden=\"true\">%s</span> ",
                  tones[block->tone], signs[block->tone]);
    put_around(writer, "<strong>", block->text, "</strong> ");
    put_around(writer, "<span>", block->more, "</span></p>\n");
    put_items(writer, block);
    (void)fputs("</div>\n", writer->out);
}

static void put_facts(struct writer *writer, const struct vt_block *block)
{
    if (block->n_cells == 0) {
        return;
    }
    (void)fputs("<dl class=\"facts\">\n", writer->out);
    for (size_t i = 0; i + 1 < block->n_cells; i += 2) {
        const bool wide = strlen(cell(writer, block, i + 1)) > WIDE_BYTES;
        put_around(writer, wide ? "<div class=\"wide\"><dt>" : "<div><dt>", cell(writer, block, i),
                   "</dt>");
        put_around(writer, "<dd>", cell(writer, block, i + 1), "</dd></div>\n");
    }
    (void)fputs("</dl>\n", writer->out);
}

/* How a column stands: not at all where it is empty, in one line where its texts are short. */
static void judge_column(const struct writer *writer, const struct vt_block *block, uint32_t k,
                         bool *ret_shown, const char **ret_class)
{
    bool is_short = true;

    for (size_t i = k; i < block->n_cells; i += block->n_columns) {
        is_short = is_short && strlen(cell(writer, block, i)) <= SHORT_BYTES;
    }
    *ret_shown = vt_document_has_column(writer->document, block, k);
    *ret_class = block->columns[k].number ? " class=\"n\"" : is_short ? " class=\"short\"" : "";
}

static void put_cell(struct writer *writer, const char *tag, const char *more, const char *text)
{
    (void)fprintf(writer->out, "<%s%s>", tag, more);
    put_text(writer, text);
    (void)fprintf(writer->out, "</%.2s>", tag);
}

static void put_table(struct writer *writer, const struct vt_block *block)
{
    bool shown[VT_COLUMNS_MAX];
    const char *classes[VT_COLUMNS_MAX];

    if (block->n_columns == 0 || block->n_cells == 0) {
        return;
    }
    for (uint32_t k = 0; k < block->n_columns; k++) {
        judge_column(writer, block, k, &shown[k], &classes[k]);
    }
    /* A wide table scrolls by itself, by keys too. */
    put_around(writer, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
               block->text, "\"><table>");
    put_around(writer, "<caption>", block->text, "</caption>\n<thead><tr>");
    for (uint32_t k = 0; k < block->n_columns; k++) {
        if (shown[k]) {
            put_cell(writer, "th scope=\"col\"", classes[k], block->columns[k].title);
        }
    }
    (void)fputs("</tr></thead>\n<tbody>\n", writer->out);
    for (size_t i = 0; i + block->n_columns <= block->n_cells; i += block->n_columns) {
        (void)fputs("<tr>", writer->out);
        for (uint32_t k = 0; k < block->n_columns; k++) {
            if (shown[k]) {
                put_cell(writer, k == 0 ? "th scope=\"row\"" : "td", classes[k],
                         cell(writer, block, i + k));
            }
        }
        (void)fputs("</tr>\n", writer->out);
    }
    (void)fputs("</tbody></table></div>\n", writer->out);
}

static void put_plot(struct writer *writer, const struct vt_block *block)
{
    (void)fprintf(writer->out, "<figure id=\"f%u\">", writer->plots);
    put_around(writer, "<figcaption><strong>", block->text, "</strong> ");
    put_around(writer, "<span>", block->more, "</span></figcaption>\n");
    (void)fprintf(writer->out,
                  "<div class=\"plot\"><canvas id=\"plot%u\" role=\"img\" "
                  "tabindex=\"0\" aria-label=\"",
                  writer->plots);
    put_text(writer, block->text);
    put_around(writer, ". ", block->more, " The table below has the values.\"></canvas></div>\n");
    (void)fputs("<details><summary>Table</summary>\n", writer->out);
    put_table(writer, block);
    (void)fputs("</details></figure>\n", writer->out);
    writer->plots++;
}

static void put_block(struct writer *writer, const struct vt_block *block)
{
    switch (block->kind) {
    case VT_BLOCK_HEADING:
        put_heading(writer, block);
        break;
    case VT_BLOCK_TEXT:
        put_around(writer, "<p>", block->text, "</p>\n");
        break;
    case VT_BLOCK_NOTE:
        put_around(writer, "<p class=\"note\">", block->text, "</p>\n");
        break;
    case VT_BLOCK_VERDICT:
        put_verdict(writer, block);
        break;
    case VT_BLOCK_LIST:
        put_items(writer, block);
        break;
    case VT_BLOCK_FACTS:
        put_facts(writer, block);
        break;
    case VT_BLOCK_TABLE:
        put_table(writer, block);
        break;
    case VT_BLOCK_PLOT:
        put_plot(writer, block);
        break;
    case VT_BLOCK_CODE:
        put_around(writer, "<div class=\"code\"><pre tabindex=\"0\"><code>", block->text,
                   "</code></pre></div>\n");
        break;
    case VT_BLOCK_FOLD:
        put_around(writer, "<details class=\"fold\"><summary>", block->text, "</summary>\n");
        break;
    case VT_BLOCK_FOLD_END:
        (void)fputs("</details>\n", writer->out);
        break;
    case VT_BLOCK_GRID:
        (void)fputs("<div class=\"grid\">", writer->out);
        break;
    case VT_BLOCK_GRID_END:
        (void)fputs("</div>\n", writer->out);
        break;
    }
}

/* --- parts of the page ----------------------------------------------------------------------- */

/* Links to what has a heading of its own; none where there is but one. */
static void put_contents(struct writer *writer)
{
    size_t n, chapters = 0;
    const struct vt_block *blocks = vt_document_blocks(writer->document, &n);
    unsigned heading = 0;

    for (size_t i = 0; i < n; i++) {
        chapters += blocks[i].kind == VT_BLOCK_HEADING && blocks[i].level == 2;
    }
    if (chapters < 2) {
        return;
    }
    (void)fputs("<nav aria-label=\"Contents\"><ul>", writer->out);
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].kind != VT_BLOCK_HEADING) {
            continue;
        }
        heading++;
        if (blocks[i].level == 2) {
            (void)fprintf(writer->out, "<li><a href=\"#s%u\">", heading);
            put_around(writer, "", blocks[i].text, "</a></li>");
        }
    }
    (void)fputs("</ul></nav>\n", writer->out);
}

static void put_content(struct writer *writer)
{
    size_t n;
    const struct vt_block *blocks = vt_document_blocks(writer->document, &n);

    for (size_t i = 0; i < n; i++) {
        put_block(writer, &blocks[i]);
    }
}

static void put_data(struct writer *writer)
{
    size_t n;
    const struct vt_block *blocks = vt_document_blocks(writer->document, &n);
    bool first = true;

    (void)fputs("{\"plots\":[", writer->out);
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].kind == VT_BLOCK_PLOT) {
            (void)fputs(first ? "\n" : ",\n", writer->out);
            first = false;
            if (json_dump_callback(blocks[i].plot, put_json, writer->out,
                                   JSON_COMPACT | JSON_REAL_PRECISION(7)) != 0) {
                writer->failed = true;
            }
        }
    }
    (void)fputs("\n]}", writer->out);
}

static bool is(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(name, word, length) == 0;
}

/* Fills a place of the template. */
static void put_place(struct writer *writer, const char *name, size_t length)
{
    static const struct {
        const char *name;
        const unsigned char *text;
    } files[] = {
        {"style", style}, {"chart", chart}, {"script", script}, {"licence", chart_licence}};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (is(name, length, files[i].name)) {
            const char *text = (const char *)files[i].text;
            if (files[i].text == chart_licence) {
                put_text(writer, text);
            } else {
                (void)fputs(text, writer->out);
            }
            return;
        }
    }
    if (is(name, length, "title")) {
        put_text(writer, vt_document_title(writer->document));
    } else if (is(name, length, "version")) {
        put_text(writer, vt_version());
    } else if (is(name, length, "contents")) {
        put_contents(writer);
    } else if (is(name, length, "content")) {
        put_content(writer);
    } else {
        put_data(writer);
    }
}

enum vt_status vt_report_html(const struct vt_document *document, FILE *out, struct vt_error *err)
{
    struct writer writer = {.document = document, .out = out};
    const char *at = (const char *)page;

    for (const char *open = strstr(at, "{{"); open != NULL; open = strstr(at, "{{")) {
        const char *close = strstr(open, "}}");
        if (close == NULL) {
            break;
        }
        (void)fwrite(at, 1, (size_t)(open - at), out);
        put_place(&writer, open + 2, (size_t)(close - open) - 2);
        at = close + 2;
    }
    (void)fputs(at, out);
    return writer.failed ? vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report") : VT_OK;
}
