/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/log.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "mlperf/view.h"

void vt_mlperf_accuracy_print(const struct vt_load_report *report, FILE *out)
{
    static const char digits[] = "0123456789ABCDEF";

    putc('[', out);
    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *response = &report->responses[i];
        const unsigned char *data = response->data;
        fprintf(out, "%s\n{ \"seq_id\" : %" PRIu64 ", \"qsl_idx\" : %" PRIu64 ", \"data\" : \"",
                i != 0 ? "," : "", response->sequence, response->index);
        for (size_t k = 0; k < response->bytes; k++) {
            putc(digits[data[k] >> 4], out);
            putc(digits[data[k] & 15], out);
        }
        fputs("\" }", out);
    }
    fputs("\n]\n", out);
}

enum file { FILE_SUMMARY, FILE_DETAIL, FILE_ACCURACY, N_FILES };

static enum vt_status write_file(const struct vt_mlperf_view *view, const char *folder,
                                 enum file file, struct vt_error *err)
{
    static const char *const names[N_FILES] = {"mlperf_log_summary.txt", "mlperf_log_detail.txt",
                                               "mlperf_log_accuracy.json"};
    struct vt_file_writer writer;
    char *path = vt_path_join(folder, names[file]);

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s/%s: out of memory", folder, names[file]);
    }
    enum vt_status status = vt_file_writer_open(&writer, path, err);
    vt_free(path);
    if (status != VT_OK) {
        return status;
    }
    switch (file) {
    case FILE_SUMMARY:
        vt_mlperf_summary_print(view, writer.stream);
        break;
    case FILE_DETAIL:
        vt_mlperf_detail_print(view, writer.stream);
        break;
    case FILE_ACCURACY:
    case N_FILES:
        vt_mlperf_accuracy_print(view->report, writer.stream);
        break;
    }
    return vt_file_writer_commit(&writer, err);
}

enum vt_status vt_mlperf_log_write(const struct vt_load_report *report, const char *folder,
                                   struct vt_error *err)
{
    struct vt_mlperf_view view;

    enum vt_status status = vt_mlperf_view_init(&view, report, err);
    for (int file = 0; status == VT_OK && file < N_FILES; file++) {
        status = write_file(&view, folder, (enum file)file, err);
    }
    vt_mlperf_view_release(&view);
    return status;
}
