/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a model is still the one that it was. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "plan/plan_file_format.h"

#define LANES 4

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t stir(uint64_t lane, uint64_t word)
{
    return rotate((lane ^ word) * UINT64_C(0x9E3779B97F4A7C15), 29);
}

/* Four lanes: each waits for its own product only. */
uint64_t vt_plan_file_hash(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t lane[LANES] = {1, 2, 3, 4}, word;
    size_t left = size;
    for (; left >= LANES * sizeof(word); left -= LANES * sizeof(word)) {
        for (int i = 0; i < LANES; i++, at += sizeof(word)) {
            memcpy(&word, at, sizeof(word));
            lane[i] = stir(lane[i], word);
        }
    }
    for (; left > 0; left--, at++) {
        lane[left % LANES] = stir(lane[left % LANES], *at);
    }
    uint64_t hash = size;
    for (int i = 0; i < LANES; i++) {
        hash = stir(hash, lane[i]);
    }
    hash ^= hash >> 32;
    return hash * UINT64_C(0xD6E8FEB86659FD93);
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

enum vt_status vt_plan_file_look(const struct vt_model_part *part, const char *path,
                                 struct vt_error *err, struct vt_plan_file_part *ret)
{
    struct vt_plan_file_part seen = {.bytes = part->size};
    struct stat info;
    if (path == NULL) {
        *ret = seen;
        return VT_OK;
    }
    char *file = part->location == NULL ? vt_strdup(path)
                                        : vt_asprintf("%.*s%s", (int)(vt_path_base(path) - path),
                                                      path, part->location);
    if (file == NULL) {
        return vt_out_of_memory(err);
    }
    enum vt_status status = VT_OK;
    if (stat(file, &info) != 0) {
        status = vt_error_set(err, VT_ERR_READ, "%s: %s", file, strerror(errno));
    } else {
        seen.device = (uint64_t)info.st_dev;
        seen.inode = (uint64_t)info.st_ino;
        seen.modified = nanoseconds(&info.st_mtim);
        seen.changed = nanoseconds(&info.st_ctim);
        *ret = seen;
    }
    vt_free(file);
    return status;
}
