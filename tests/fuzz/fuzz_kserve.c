/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says: metadata, answers to inference, errors. The first two bytes are the size of
 * an answer's JSON; its outputs are those of a fixed model.
 */
#include <string.h>

#include "base/alloc.h"
#include "engine/kserve/kserve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_metadata(const uint8_t *data, size_t size)
{
    struct vt_kserve_engine engine;
    struct vt_error err = VT_ERROR_INIT;
    memset(&engine, 0, sizeof(engine));
    engine.url = "url";
    vt_arena_init(&engine.arena, (size_t)1 << 20);
    if (vt_kserve_read_metadata(&engine, (const char *)data, size, &err) == VT_OK) {
        (void)vt_ports_any_batch(&engine.ports);
    }
    vt_arena_release(&engine.arena);
}

static void read_answer(const uint8_t *data, size_t size, int64_t json_size)
{
    struct vt_port outputs[2] = {{.name = "y", .dtype = VT_F32, .rank = 2, .dim = {-1, 2}},
                                 {.name = "z", .dtype = VT_I64}};
    struct vt_kserve_engine engine;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor tensors[2];
    struct vt_kserve_answer answer = {.n = size, .json_size = json_size};
    memset(&engine, 0, sizeof(engine));
    engine.url = "url";
    engine.ports = (struct vt_ports){NULL, outputs, 0, 2};
    /* A copy of the very size: what is read beyond it shows. */
    answer.bytes = size > 0 ? vt_alloc(size) : NULL;
    if (size > 0 && answer.bytes == NULL) {
        return;
    }
    if (size > 0) {
        memcpy(answer.bytes, data, size);
    }
    if (vt_kserve_read_answer(&engine, &answer, 7, &err, tensors) == VT_OK) {
        volatile uint8_t sum = 0;
        for (int i = 0; i < 2; i++) {
            for (size_t b = 0; b < tensors[i].bytes; b++) {
                sum = (uint8_t)(sum + ((const uint8_t *)tensors[i].data)[b]);
            }
        }
    }
    vt_free(answer.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    read_metadata(data, size);
    read_answer(data, size, -1);
    (void)vt_kserve_read_error((const char *)data, size, text, sizeof(text));
    if (size >= 2) {
        read_answer(data + 2, size - 2, data[0] | data[1] << 8);
    }
    return 0;
}
