/* SPDX-License-Identifier: Apache-2.0 */
#include "power/thermal.h"

#include <stdio.h>
#include <string.h>

#include "power/sysfs.h"

/* hwmon drivers of processors, and words in the types of thermal zones that mean one. */
static const char *const drivers[] = {"coretemp",    "k10temp",     "zenpower",
                                      "amdgpu",      "nouveau",     "cpu_thermal",
                                      "gpu_thermal", "soc_thermal", NULL};
static const char *const zones[] = {"x86_pkg_temp", "cpu", "gpu", "CPU", "GPU",
                                    "tj-",          "soc", "SOC", NULL};

struct hottest {
    double celsius;
    char name[160];
    bool found;
    bool denied; /* a sensor is there and cannot be read */
};

static void look(struct hottest *hottest, const char *path, const char *driver, const char *label)
{
    double value;
    int code = vt_sysfs_number(path, &value);

    if (code != 0) {
        hottest->denied = true;
        return;
    }
    value /= 1000; /* thousandths of a degree */
    /* Unconnected sensors read absurd values. */
    if (value > -50 && value < 200 && (!hottest->found || value > hottest->celsius)) {
        hottest->found = true;
        hottest->celsius = value;
        (void)snprintf(hottest->name, sizeof hottest->name, "%s%s%s", driver,
                       label[0] != '\0' ? " " : "", label);
    }
}

static bool begins_with_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strncmp(text, *words, strlen(*words)) == 0) {
            return true;
        }
    }
    return false;
}

/* temp1_input, temp2_input, ... of one hwmon folder. */
static bool look_at_driver(struct hottest *hottest, const char *folder)
{
    char path[VT_SYSFS_PATH_MAX], driver[VT_SYSFS_TEXT_MAX], label[VT_SYSFS_TEXT_MAX];
    struct vt_sysfs_names names;

    if (!vt_sysfs_path(path, "%s/name", folder) || vt_sysfs_text(path, driver) != 0 ||
        !begins_with_any(driver, drivers)) {
        return true;
    }
    if (!vt_sysfs_list(folder, "temp", &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n; i++) {
        size_t number = strcspn(names.names[i], "_");
        if (strcmp(names.names[i] + number, "_input") != 0) {
            continue;
        }
        if (!vt_sysfs_path(path, "%s/%.*s_label", folder, (int)number, names.names[i]) ||
            vt_sysfs_text(path, label) != 0) {
            label[0] = '\0';
        }
        if (vt_sysfs_path(path, "%s/%s", folder, names.names[i])) {
            look(hottest, path, driver, label);
        }
    }
    vt_sysfs_names_release(&names);
    return true;
}

static bool look_at_zone(struct hottest *hottest, const char *folder)
{
    char path[VT_SYSFS_PATH_MAX], type[VT_SYSFS_TEXT_MAX];

    if (vt_sysfs_path(path, "%s/type", folder) && vt_sysfs_text(path, type) == 0 &&
        begins_with_any(type, zones) && vt_sysfs_path(path, "%s/temp", folder)) {
        look(hottest, path, type, "");
    }
    return true;
}

/* Every folder below root/class/… that begins so; false when out of memory. */
static bool look_at_all(struct hottest *hottest, const char *root, const char *class,
                        const char *prefix,
                        bool (*look_at)(struct hottest *hottest, const char *folder))
{
    char path[VT_SYSFS_PATH_MAX];
    struct vt_sysfs_names names;
    bool ok = true;

    if (!vt_sysfs_path(path, "%s/class/%s", root, class) || !vt_sysfs_list(path, prefix, &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n && ok; i++) {
        if (vt_sysfs_path(path, "%s/class/%s/%s", root, class, names.names[i])) {
            ok = look_at(hottest, path);
        }
    }
    vt_sysfs_names_release(&names);
    return ok;
}

enum vt_status vt_thermal_read(const struct vt_meter_options *options, struct vt_error *err,
                               double *ret_celsius, char *ret_name, size_t size)
{
    const char *root = vt_sysfs_root(options);
    struct hottest hottest = {.found = false};

    bool ok = look_at_all(&hottest, root, "hwmon", "hwmon", look_at_driver);
    if (ok && !hottest.found) {
        ok = look_at_all(&hottest, root, "thermal", "thermal_zone", look_at_zone);
    }
    if (!ok) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the sensors");
    }
    if (!hottest.found) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            hottest.denied
                                ? "the temperature of the processor cannot be read below %.200s: "
                                  "let its sensors be readable"
                                : "no temperature of a processor below %.200s: load the module "
                                  "coretemp (Intel) or k10temp (AMD); virtual machines have none",
                            root);
    }
    *ret_celsius = hottest.celsius;
    (void)snprintf(ret_name, size, "%s", hottest.name);
    return VT_OK;
}
