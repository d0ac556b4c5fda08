/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.json and sweep.json from any bytes, written out in every format: whatever stands in them,
 * the page has the elements of the template and of the report, and no others.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/content.h"
#include "report/writers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_page(const char *page)
{
    static const char *const known[] = {
        "<a ",    "<button", "<canvas",     "<caption", "<code",   "<dd",     "<details", "<div",
        "<dl",    "<dt",     "<figcaption", "<figure",  "<footer", "<h2",     "<h3",      "<li",
        "<main",  "<p",      "<pre",        "<script",  "<span",   "<strong", "<summary", "<table",
        "<tbody", "<td",     "<th",         "<tr",      "<ul",     "</"};
    const char *end = strstr(page, "<script type=\"application/json\"");
    const char *at = strstr(page, "<main");

    require(at != NULL && end != NULL && at < end);
    for (; at != NULL && at < end; at = strchr(at + 1, '<')) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            found = found || strncmp(at, known[i], strlen(known[i])) == 0;
        }
        require(found);
    }
    /* In the data there is no '<' before the end of its element. */
    const char *close = strchr(end + 1, '<');
    require(close != NULL && strncmp(close, "</script>", 9) == 0);
}

static void write_all(const struct vt_document *document, const struct vt_sources *sources)
{
    struct vt_error err = VT_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    require(out != NULL && vt_report_html(document, out, &err) == VT_OK && fclose(out) == 0);
    check_page(text);
    free(text);
    text = NULL;
    out = open_memstream(&text, &size);
    require(out != NULL && vt_report_markdown(document, out, &err) == VT_OK);
    vt_report_csv(sources, out);
    require(fclose(out) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[] = "/nonexistent/vatio";
    static char name[] = "any";
    static struct vt_sources sources;
    struct vt_error err = VT_ERROR_INIT;

    sources = (struct vt_sources){.n = 1};
    struct vt_source *source = &sources.items[0];
    source->folder = folder;
    source->name = name;
    if (vt_source_parse((const char *)data, size, "any.json", &err, &source->kind, &source->root) !=
        VT_OK) {
        require(strncmp(err.text, "any.json:", 9) == 0 && strchr(err.text, '\n') == NULL);
        return 0;
    }
    /* Beside a second of its kind, for what only several have. */
    sources.items[1] = *source;
    sources.n = 2;
    struct vt_document *document = vt_document_new();
    require(document != NULL && vt_content_write(document, &sources, &err) == VT_OK);
    write_all(document, &sources);
    vt_document_free(document);
    json_decref(source->root);
    return 0;
}
