/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL's limit of a package: the mean over the long time window (PL1), in the kernel's powercap
 * files. The short window's limit above it is left as it is: over seconds the long one counts.
 * What the memory-mapped interface shows once more (intel-rapl-mmio) is left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/cap/file.h"

#define CONSTRAINTS_MAX 8
#define MICRO           1e-6

/* Which constraint of the zone is the long one; -1: none. */
static int long_term(const char *folder, const char *zone)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    for (int k = 0; k < CONSTRAINTS_MAX; k++) {
        if (!vt_sysfs_path(path, "%s/%s/constraint_%d_name", folder, zone, k) ||
            vt_sysfs_text(path, text) != 0) {
            return -1;
        }
        if (strcmp(text, "long_term") == 0) {
            return k;
        }
    }
    return -1;
}

static bool add_zone(struct vt_cap_files *files, const char *folder, const char *zone)
{
    struct vt_cap_domain domain = {.name = ""};
    struct vt_cap_file file = {.scale = MICRO, .minimum = 1, .standard = (double)NAN};
    char path[VT_SYSFS_PATH_MAX], name[VT_SYSFS_TEXT_MAX];
    const char *colon = strchr(zone, ':');

    /* "intel-rapl:0" is a package or the platform, "intel-rapl:0:1" a part of it. */
    if (colon == NULL || strchr(colon + 1, ':') != NULL ||
        !vt_sysfs_path(path, "%s/%s/name", folder, zone) || vt_sysfs_text(path, name) != 0 ||
        strncmp(name, "package", 7) != 0) {
        return true;
    }
    const int k = long_term(folder, zone);
    if (k < 0 || !vt_sysfs_path(file.path, "%s/%s/constraint_%d_power_limit_uw", folder, zone, k) ||
        !vt_sysfs_path(file.enabled, "%s/%s/enabled", folder, zone) ||
        !vt_sysfs_path(path, "%s/%s/constraint_%d_max_power_uw", folder, zone, k)) {
        return true;
    }
    const double now = vt_cap_file_value(file.path, MICRO);
    if (isnan(now)) {
        return true;
    }
    const double on = vt_cap_file_value(file.enabled, 1);
    if (isnan(on)) {
        file.enabled[0] = '\0';
    } else if (on == 0) {
        (void)snprintf(domain.note, sizeof domain.note,
                       "switched off: this limit does not count until one is set");
    }
    /* Some firmware says 0 there, or less than the limit that it has set itself. */
    const double most = vt_cap_file_value(path, MICRO);
    file.maximum = most > 0 ? fmax(most, now) : (double)NAN;
    (void)snprintf(domain.name, sizeof domain.name, "%.*s", (int)sizeof domain.name - 1, name);
    (void)snprintf(domain.id, sizeof domain.id, "%s", domain.name);
    (void)snprintf(domain.device, sizeof domain.device, "socket %.40s",
                   name[7] == '-' ? name + 8 : "?");
    return vt_cap_files_add(files, &domain, &file);
}

static enum vt_status rapl_open(const struct vt_cap_ops *self, const struct vt_cap_places *places,
                                struct vt_error *err, void **ret_cap)
{
    struct vt_cap_files *files = vt_cap_files_new("run as root (sudo)");
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX];
    bool fits = files != NULL;

    (void)self;
    if (!vt_sysfs_path(folder, "%s/class/powercap", vt_cap_sysfs(places)) || !fits ||
        !vt_sysfs_list(folder, "intel-rapl:", &list)) {
        vt_cap_files_close(files);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the zones of powercap");
    }
    for (size_t i = 0; fits && i < list.n; i++) {
        fits = add_zone(files, folder, list.names[i]);
    }
    const size_t zones = list.n;
    vt_sysfs_names_release(&list);
    if (fits && files->n > 0) {
        *ret_cap = files;
        return VT_OK;
    }
    vt_cap_files_close(files);
    if (!fits) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the zones of powercap");
    }
    return zones > 0 ? vt_error_set(err, VT_ERR_UNAVAILABLE,
                                    "RAPL in %s measures and has no limit of a package (AMD's "
                                    "processors have none): use cpufreq",
                                    folder)
                     : vt_error_set(err, VT_ERR_UNAVAILABLE,
                                    "no RAPL in %s: load the module (sudo modprobe "
                                    "intel_rapl_msr); virtual machines have none",
                                    folder);
}

const struct vt_cap_ops vt_cap_rapl = {
    .api_version = VT_CAP_API_VERSION,
    .struct_size = sizeof(struct vt_cap_ops),
    .name = "rapl",
    .summary = "power limit of Intel's processors, mean over the long window (RAPL)",
    .unit = "W",
    .tolerance = 0.01,
    .open = rapl_open,
    .domains = vt_cap_files_domains,
    .get = vt_cap_files_get,
    .may_set = vt_cap_files_may_set,
    .save = vt_cap_files_save,
    .set = vt_cap_files_set,
    .enforced = vt_cap_files_enforced,
    .restore = vt_cap_files_restore,
    .close = vt_cap_files_close,
};
