/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan files from any bytes: as they are, and as the text behind a first line that is right, which
 * a fuzzer would not find. Whatever is accepted lies inside the file. The same text is a tuning
 * file, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_file_format.h"

#define DATA_BYTES (2 * VT_PLAN_FILE_PAGE)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void open_plan(const uint8_t *bytes, size_t size, struct vt_tuning *tuning)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_plan_file *file = NULL;
    struct vt_plan_file_info info;
    enum vt_status status = vt_plan_file_open_memory("any.plan", bytes, size, &err, &file);
    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any.plan: ", 10) == 0 && strchr(err.text, '\n') == NULL);
        require(file == NULL);
        return;
    }
    vt_plan_file_info(file, &info);
    require(info.model != NULL && info.version != NULL);
    require(vt_plan_file_answers(file, tuning, &err) == VT_OK);
    for (uint32_t i = 0; i < info.n_shapes; i++) {
        require(info.shapes[i].rank >= 1 && info.shapes[i].rank <= VT_RANK_MAX);
        require(info.shapes[i].name[0] != '\0');
    }
    const uint8_t *blob;
    size_t n;
    for (uint32_t i = 0; vt_plan_file_blob(file, i, &blob, &n); i++) {
        require(blob >= bytes && blob <= bytes + size && n <= (size_t)(bytes + size - blob));
    }
    (void)vt_plan_file_weights(file, 0, "conv", 0, 64);
    vt_plan_file_free(file);
}

/* A first line that is right for the text, pages of data behind it. */
static void open_as_text(const uint8_t *data, size_t size, struct vt_tuning *tuning)
{
    char head[160];
    size_t text_bytes = size;
    int n = 0;
    for (size_t before = SIZE_MAX; before != text_bytes;) {
        before = text_bytes;
        n = snprintf(head, sizeof(head), "%s%s %zu %zu %016llx\n", VT_PLAN_FILE_MAGIC,
                     VT_PLAN_FILE_FORMAT, text_bytes, vt_plan_file_pages(text_bytes) + DATA_BYTES,
                     (unsigned long long)vt_plan_file_hash(data, size));
        text_bytes = size + (size_t)n;
    }
    const size_t whole = vt_plan_file_pages(text_bytes) + DATA_BYTES;
    uint8_t *bytes = calloc(1, whole);
    require(bytes != NULL);
    memcpy(bytes, head, (size_t)n);
    if (size > 0) {
        memcpy(bytes + n, data, size);
    }
    open_plan(bytes, whole, tuning);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct vt_tuning_options options = {NULL, false, 0};
    struct vt_tuning *tuning = NULL;
    require(vt_tuning_new(&options, NULL, &tuning) == VT_OK);
    open_plan(data, size, tuning);
    open_as_text(data, size, tuning);
    require(vt_tuning_read(tuning, (const char *)data, size, NULL) == VT_OK);
    vt_tuning_free(tuning);
    return 0;
}
