/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/quote.h"
#include "report/content.h"
#include "report/document.h"
#include "report/source.h"
#include "report/writers.h"

#define FIELD(name) offsetof(struct vt_report_job, name)

enum format {
    BY_SUFFIX,
    HTML,
    MARKDOWN,
    CSV,
};
static const char *const formats[] = {"auto", "html", "md", "csv", NULL};

static const struct vt_option options[] = {
    {"output", 'o', VT_OPTION_TEXT, FIELD(output), "Options", "FILE", 0, 0, NULL, NULL,
     "the report to write, - for standard output (default: report.html, report.md or report.csv)"},
    {"format", 'f', VT_OPTION_CHOICE, FIELD(format), "Options", "FORMAT", 0, 0, formats, "auto",
     "a page (html), Markdown (md) or a table of all figures (csv); auto goes by the name of the "
     "output, and is a page without one"},
};

const struct vt_option_table *vt_report_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct vt_report_job)};
    return &table;
}

static enum vt_status find_format(const struct vt_report_job *job, struct vt_error *err,
                                  enum format *ret_format)
{
    static const struct {
        const char *suffix;
        enum format format;
    } suffixes[] = {
        {".html", HTML}, {".htm", HTML}, {".md", MARKDOWN}, {".markdown", MARKDOWN}, {".csv", CSV}};
    const char *dot = job->output != NULL ? strrchr(vt_path_base(job->output), '.') : NULL;

    if (job->format != BY_SUFFIX || job->output == NULL) {
        *ret_format = job->format != BY_SUFFIX ? (enum format)job->format : HTML;
        return VT_OK;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (dot != NULL && strcasecmp(dot, suffixes[i].suffix) == 0) {
            *ret_format = suffixes[i].format;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        "--output %s: the name does not say which format is wanted: end it in "
                        ".html, .md or .csv, or give --format",
                        vt_plain(job->output).text);
}

static enum vt_status write_to(FILE *out, enum format format, const struct vt_sources *sources,
                               const struct vt_document *document, struct vt_error *err)
{
    switch (format) {
    case CSV:
        vt_report_csv(sources, out);
        return VT_OK;
    case MARKDOWN:
        return vt_report_markdown(document, out, err);
    default:
        return vt_report_html(document, out, err);
    }
}

static enum vt_status write_file(const char *path, enum format format,
                                 const struct vt_sources *sources,
                                 const struct vt_document *document, struct vt_error *err,
                                 uint64_t *ret_bytes)
{
    struct vt_file_writer writer = {NULL, NULL, NULL};

    enum vt_status status = vt_file_writer_open(&writer, path, err);
    if (status != VT_OK) {
        return status;
    }
    status = write_to(writer.stream, format, sources, document, err);
    const long bytes = ftell(writer.stream);
    if (status == VT_OK) {
        status = vt_file_writer_commit(&writer, err);
    }
    vt_file_writer_release(&writer);
    if (status == VT_OK) {
        *ret_bytes = bytes > 0 ? (uint64_t)bytes : 0;
    }
    return status;
}

enum vt_status vt_report_make(const struct vt_report_job *job, const char *const *folders, size_t n,
                              FILE *out, struct vt_error *err, struct vt_report_made *ret_made)
{
    static const char *const defaults[] = {"", "report.html", "report.md", "report.csv"};
    struct vt_report_made made = {0};
    struct vt_sources sources = {0};
    enum format format = HTML;

    enum vt_status status = find_format(job, err, &format);
    if (status == VT_OK) {
        status = vt_sources_read(folders, n, err, &sources);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_document *document = vt_document_new();
    if (document == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
    } else if (format != CSV) {
        status = vt_content_write(document, &sources, err);
    }
    if (status == VT_OK && job->output != NULL && strcmp(job->output, "-") == 0) {
        status = write_to(out, format, &sources, document, err);
        if (status == VT_OK && (fflush(out) != 0 || ferror(out) != 0)) {
            status = vt_error_set(err, VT_ERR_WRITE, "the report cannot be written out: %s",
                                  strerror(errno));
        }
    } else if (status == VT_OK) {
        made.path = job->output != NULL ? job->output : defaults[format];
        status = write_file(made.path, format, &sources, document, err, &made.bytes);
    }
    if (status == VT_OK) {
        made.sources = sources.n;
        made.plots = format == HTML ? vt_document_plots(document) : 0;
        *ret_made = made;
    }
    vt_document_free(document);
    vt_sources_release(&sources);
    return status;
}
