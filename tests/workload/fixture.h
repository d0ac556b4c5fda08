/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch folders, files and signatures for the tests of workloads; no model is needed. */
#ifndef VT_TEST_WORKLOAD_FIXTURE_H
#define VT_TEST_WORKLOAD_FIXTURE_H

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/workload.h"
#include "vt_test.h"

/* ---- files ----------------------------------------------------------------------------------- */

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void scratch_remove(const char *folder)
{
    (void)nftw(folder, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A fresh folder; its path in `text` (64 bytes). */
static inline char *scratch_make(char *text)
{
    strcpy(text, "/tmp/vatio-test-XXXXXX");
    assert_non_null(mkdtemp(text));
    return text;
}

static inline void write_bytes(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[512], part[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        assert_true(mkdir(part, 0755) == 0 || errno == EEXIST);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    write_bytes(folder, name, text, strlen(text));
}

/* The whole file; *ret_n bytes, free it. */
static inline uint8_t *read_bytes(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
    bytes[size] = 0;
    (void)fclose(file);
    *ret_n = (size_t)size;
    return bytes;
}

/* A .npy file of version 1, put together here: `header` is the dictionary. */
static inline size_t npy_make(uint8_t *to, const char *header, const void *data, size_t n)
{
    size_t length = strlen(header);

    memcpy(to, "\x93NUMPY\x01\x00", 8);
    to[8] = (uint8_t)length;
    to[9] = (uint8_t)(length >> 8);
    memcpy(to + 10, header, length);
    if (n > 0) {
        memcpy(to + 10 + length, data, n);
    }
    return 10 + length + n;
}

static inline void write_npy(const char *folder, const char *name, const char *header,
                             const void *data, size_t n)
{
    uint8_t *bytes = malloc(n + 1024);
    assert_non_null(bytes);
    write_bytes(folder, name, bytes, npy_make(bytes, header, data, n));
    free(bytes);
}

/* ---- signatures ------------------------------------------------------------------------------ */

#define OPEN (-1)

static inline struct vt_port port4(const char *name, enum vt_dtype dtype, int64_t a, int64_t b,
                                   int64_t c, int64_t d)
{
    struct vt_port port = {.name = name, .dtype = dtype, .rank = 4, .dim = {a, b, c, d}};
    port.symbol[0] = a == OPEN ? "N" : NULL;
    return port;
}

static inline struct vt_port port2(const char *name, enum vt_dtype dtype, int64_t a, int64_t b)
{
    struct vt_port port = {.name = name, .dtype = dtype, .rank = 2, .dim = {a, b}};
    port.symbol[0] = a == OPEN ? "N" : NULL;
    return port;
}

struct one_to_one {
    struct vt_port input, output;
    struct vt_signature signature;
};

/* A model of one input and one output; points into *model. */
static inline const struct vt_signature *one_to_one(struct one_to_one *model, struct vt_port input,
                                                    struct vt_port output)
{
    model->input = input;
    model->output = output;
    model->signature = (struct vt_signature){&model->input, &model->output, 1, 1};
    return &model->signature;
}

/* ---- assertions ------------------------------------------------------------------------------ */

/* The status is in the error, and its one line holds both words. */
static inline void assert_error(const struct vt_error *err, enum vt_status status, const char *word,
                                const char *other)
{
    if (err->status != status || strstr(err->text, word) == NULL ||
        strstr(err->text, other) == NULL || strchr(err->text, '\n') != NULL) {
        fail_msg("%s \"%s\" is not %s with '%s' and '%s'", vt_status_name(err->status), err->text,
                 vt_status_name(status), word, other);
    }
}

/* cmocka's own compares floats. */
static inline void assert_near(double found, double expected, double within)
{
    double difference = found > expected ? found - expected : expected - found;
    if (!(difference <= within)) {
        fail_msg("%.17g is not within %g of %.17g", found, within, expected);
    }
}

#endif
