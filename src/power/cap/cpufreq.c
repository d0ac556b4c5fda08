/* SPDX-License-Identifier: Apache-2.0 */
/* The highest frequency of processors: scaling_max_freq of each policy of cpufreq. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/cap/file.h"

static bool add_policy(struct vt_cap_files *files, const char *folder, const char *policy)
{
    struct vt_cap_domain domain = {.name = ""};
    struct vt_cap_file file = {.scale = 1};
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    if (!vt_sysfs_path(file.path, "%s/%s/scaling_max_freq", folder, policy) ||
        isnan(vt_cap_file_value(file.path, 1)) ||
        !vt_sysfs_path(path, "%s/%s/cpuinfo_max_freq", folder, policy)) {
        return true;
    }
    file.maximum = file.standard = vt_cap_file_value(path, 1);
    if (!vt_sysfs_path(path, "%s/%s/cpuinfo_min_freq", folder, policy)) {
        return true;
    }
    file.minimum = vt_cap_file_value(path, 1);
    /* The upper limit does not go below the lower one, which is not touched. */
    if (!vt_sysfs_path(path, "%s/%s/scaling_min_freq", folder, policy)) {
        return true;
    }
    file.minimum = fmax(file.minimum, vt_cap_file_value(path, 1));
    (void)snprintf(domain.name, sizeof domain.name, "%.40s", policy);
    (void)snprintf(domain.id, sizeof domain.id, "%.40s", policy);
    if (vt_sysfs_path(path, "%s/%s/related_cpus", folder, policy) &&
        vt_sysfs_text(path, text) == 0) {
        (void)snprintf(domain.device, sizeof domain.device, "CPU %.60s", text);
    }
    return vt_cap_files_add(files, &domain, &file);
}

static enum vt_status cpufreq_open(const struct vt_cap_ops *self,
                                   const struct vt_cap_places *places, struct vt_error *err,
                                   void **ret_cap)
{
    struct vt_cap_files *files = vt_cap_files_new("run as root (sudo)");
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX];
    bool fits = files != NULL &&
                vt_sysfs_path(folder, "%s/devices/system/cpu/cpufreq", vt_cap_sysfs(places)) &&
                vt_sysfs_list(folder, "policy", &list);

    (void)self;
    for (size_t i = 0; fits && i < list.n; i++) {
        fits = add_policy(files, folder, list.names[i]);
    }
    vt_sysfs_names_release(&list);
    if (fits && files->n > 0) {
        *ret_cap = files;
        return VT_OK;
    }
    vt_cap_files_close(files);
    return fits ? vt_error_set(err, VT_ERR_UNAVAILABLE,
                               "no policy with scaling_max_freq in %s: the processor's driver "
                               "(intel_pstate, acpi-cpufreq) gives it; virtual machines have none",
                               folder)
                : vt_error_set(err, VT_ERR_MEMORY, "out of memory for the policies of cpufreq");
}

const struct vt_cap_ops vt_cap_cpufreq = {
    .api_version = VT_CAP_API_VERSION,
    .struct_size = sizeof(struct vt_cap_ops),
    .name = "cpufreq",
    .summary = "highest frequency of the processors (scaling_max_freq)",
    .unit = "kHz",
    /* A driver takes the nearest step of its table; they are 100 MHz apart at most. */
    .tolerance = 0.05,
    .open = cpufreq_open,
    .domains = vt_cap_files_domains,
    .get = vt_cap_files_get,
    .may_set = vt_cap_files_may_set,
    .save = vt_cap_files_save,
    .set = vt_cap_files_set,
    .enforced = vt_cap_files_enforced,
    .restore = vt_cap_files_restore,
    .close = vt_cap_files_close,
};
