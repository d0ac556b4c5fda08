/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of small files in a temporary folder that stand in for sysfs. */
#ifndef VT_TEST_POWER_TREE_H
#define VT_TEST_POWER_TREE_H

#include "vt_test.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "power/meter.h"

static char tree_root[64];

static inline int tree_make(void **state)
{
    (void)state;
    strcpy(tree_root, "/tmp/vatio-test-XXXXXX");
    return mkdtemp(tree_root) != NULL && chmod(tree_root, 0755) == 0 ? 0 : -1;
}

static inline int tree_remove(void **state)
{
    char command[96];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", tree_root);
    return system(command);
}

static inline void tree_path(char path[512], const char *name)
{
    assert_true(snprintf(path, 512, "%s/%s", tree_root, name) < 512);
}

static inline void tree_put(const char *name, const char *text)
{
    char path[512], folder[512];
    struct vt_error err = VT_ERROR_INIT;

    tree_path(path, name);
    strcpy(folder, path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(vt_make_folders(folder, &err), VT_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static inline void tree_drop(const char *name)
{
    char path[512];

    tree_path(path, name);
    assert_int_equal(unlink(path), 0);
}

static inline struct vt_meter_options tree_options(void)
{
    return (struct vt_meter_options){.sysfs = tree_root};
}

static inline void *tree_open(const struct vt_meter_ops *ops)
{
    const struct vt_meter_options options = tree_options();
    struct vt_error err = VT_ERROR_INIT;
    void *meter = NULL;

    if (ops->open(ops, &options, &err, &meter) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return meter;
}

/* The index of a domain that must be there. */
static inline uint32_t tree_domain(const struct vt_meter_ops *ops, const void *meter,
                                   const char *name)
{
    uint32_t n = 0;
    const struct vt_meter_domain *domains = ops->domains(meter, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(domains[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no domain %s", name);
    return 0;
}

static inline const struct vt_meter_domain *tree_info(const struct vt_meter_ops *ops,
                                                      const void *meter, const char *name)
{
    uint32_t n = 0;

    return &ops->domains(meter, &n)[tree_domain(ops, meter, name)];
}

/* The domain in which it lies, "" for none. */
static inline const char *tree_holder(const struct vt_meter_ops *ops, const void *meter,
                                      const char *name)
{
    uint32_t n = 0;
    const int32_t inside = tree_info(ops, meter, name)->inside;

    return inside < 0 ? "" : ops->domains(meter, &n)[inside].name;
}

/* One reading of a domain. */
static inline double tree_value(const struct vt_meter_ops *ops, void *meter, const char *name)
{
    static struct vt_meter_reading readings[VT_METER_DOMAINS_MAX];
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(ops->read(meter, NULL, readings, &err), VT_OK);
    return readings[tree_domain(ops, meter, name)].value;
}

static inline uint32_t tree_count(const struct vt_meter_ops *ops, const void *meter)
{
    uint32_t n = 0;

    (void)ops->domains(meter, &n);
    return n;
}

/* The sentence of a probe that must fail. */
static inline const char *tree_refusal(const struct vt_meter_ops *ops, enum vt_status wanted)
{
    static struct vt_error err;
    const struct vt_meter_options options = tree_options();

    memset(&err, 0, sizeof err);
    assert_int_equal(vt_meter_probe(ops, &options, &err), wanted);
    return err.text;
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * (1 + fabs(b)))

#endif
