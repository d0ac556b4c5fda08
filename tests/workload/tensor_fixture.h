/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor workload on files of a folder that the tests write themselves. */
#ifndef VT_TESTS_WORKLOAD_TENSOR_FIXTURE_H
#define VT_TESTS_WORKLOAD_TENSOR_FIXTURE_H

#include "fixture.h"
#include "workload/registry.h"

static const struct vt_workload_ops *ops;
static char folder[64];

static inline int set_up(void **state)
{
    (void)state;
    ops = vt_workload_find("tensor");
    scratch_make(folder);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

/* "NAME=FOLDER/FILE" in a buffer that lives until the next but seven. */
static inline const char *named(const char *name, const char *file)
{
    static char text[8][256];
    static int next;
    next = (next + 1) % 8;
    (void)snprintf(text[next], sizeof text[next], "%s=%s/%s", name, folder, file);
    return text[next];
}

static inline void put(const char *file, const char *type, const char *shape, const void *data,
                       size_t n)
{
    char header[256];
    (void)snprintf(header, sizeof header,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    write_npy(folder, file, header, data, n);
}

static inline void *open_ok(const struct vt_workload_config *config,
                            const struct vt_signature *signature)
{
    void *tensors = NULL;
    struct vt_error err = VT_ERROR_INIT;
    if (ops->open(config, signature, &err, &tensors) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return tensors;
}

static inline void assert_refused(const struct vt_workload_config *config,
                                  const struct vt_signature *signature, enum vt_status status,
                                  const char *word, const char *other)
{
    void *tensors = NULL;
    struct vt_error err = VT_ERROR_INIT;
    (void)ops->open(config, signature, &err, &tensors);
    assert_error(&err, status, word, other);
    assert_null(tensors);
}

#endif
