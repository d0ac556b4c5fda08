/* SPDX-License-Identifier: Apache-2.0 */
#include "run/save.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "mlperf/log.h"
#include "result/records.h"

char *vt_save_default_folder(const char *started_utc, const char *model_name)
{
    char stem[80];
    size_t n = 0;

    for (const char *at = started_utc; *at != '\0' && *at != 'Z' && n < 32; at++) {
        stem[n++] = *at == ':' ? '-' : *at;
    }
    stem[n++] = '-';
    for (const char *at = model_name; *at != '\0' && n < sizeof stem - 1; at++) {
        bool plain = isalnum((unsigned char)*at) || *at == '.' || *at == '-' || *at == '_';
        stem[n++] = plain ? *at : '_';
    }
    stem[n] = '\0';
    return vt_path_join("runs", stem);
}

/* How much of a path is there: its longest prefix that ends at a slash or the end and exists. */
static size_t existing_prefix(char *path)
{
    size_t length = strlen(path);

    while (length > 0) {
        char cut = path[length];
        path[length] = '\0';
        bool there = vt_path_exists(path);
        path[length] = cut;
        if (there) {
            return length;
        }
        do {
            length--;
        } while (length > 0 && path[length] != '/');
    }
    return 0;
}

enum vt_status vt_save_open(struct vt_save *save, const char *wanted, const char *started_utc,
                            const char *model_name, struct vt_error *err)
{
    *save = (struct vt_save){0};
    char *folder =
        wanted != NULL ? vt_strdup(wanted) : vt_save_default_folder(started_utc, model_name);
    char *trial = folder != NULL ? vt_path_join(folder, "result.json") : NULL;
    if (trial == NULL) {
        vt_free(folder);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    save->folder = folder;
    save->kept = existing_prefix(folder);
    enum vt_status status = vt_make_folders(folder, err);
    if (status == VT_OK) {
        /* A file that is opened and dropped shows whether result.json can be written later. */
        struct vt_file_writer writer;
        status = vt_file_writer_open(&writer, trial, err);
        if (status == VT_OK) {
            vt_file_writer_release(&writer);
        }
    }
    vt_free(trial);
    if (status != VT_OK) {
        vt_save_discard(save);
        vt_save_release(save);
    }
    return status;
}

enum vt_status vt_save_test_folder(const struct vt_save *save, enum vt_scenario scenario,
                                   enum vt_mode test_mode, struct vt_error *err, char **ret_folder)
{
    char *folder =
        vt_asprintf("%s/%s/%s", save->folder, vt_scenario_key(scenario), vt_mode_key(test_mode));
    if (folder == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    enum vt_status status = vt_make_folders(folder, err);
    if (status != VT_OK) {
        vt_free(folder);
        return status;
    }
    *ret_folder = folder;
    return VT_OK;
}

enum vt_status vt_save_entry(const struct vt_save *save, const struct vt_result_entry *entry,
                             struct vt_error *err)
{
    char below[64];
    enum vt_status status = VT_ERR_MEMORY;

    if (entry->report == NULL) {
        return VT_OK;
    }
    char *folder = vt_path_join(save->folder, vt_result_entry_folder(entry, below, sizeof below));
    char *records = folder != NULL ? vt_path_join(folder, "records.vtr") : NULL;
    if (records == NULL) {
        vt_free(folder);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    status = vt_make_folders(folder, err);
    if (status == VT_OK) {
        status = vt_records_write(entry->report, records, err);
    }
    if (status == VT_OK && entry->test_mode == entry->mode) {
        const struct vt_test_logs logs = {.folder = folder, .trace = save->trace};
        status = vt_mlperf_log_write(entry->report, &logs, err);
    }
    vt_free(records);
    vt_free(folder);
    return status;
}

void vt_save_discard(struct vt_save *save)
{
    size_t length = save->folder != NULL ? strlen(save->folder) : 0;

    while (length > save->kept) {
        save->folder[length] = '\0';
        if (rmdir(save->folder) != 0) {
            return;
        }
        while (length > 0 && save->folder[length - 1] != '/') {
            length--;
        }
        while (length > 0 && save->folder[length - 1] == '/') {
            length--;
        }
    }
}

void vt_save_release(struct vt_save *save)
{
    vt_free(save->folder);
    *save = (struct vt_save){0};
}
