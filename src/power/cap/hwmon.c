/* SPDX-License-Identifier: Apache-2.0 */
/* power1_cap of the kernel's hwmon, in microwatts: ACPI power meters (Grace), AMD GPUs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/cap/file.h"

#define MICRO 1e-6

struct family {
    const char *chip;    /* what the hwmon's file "name" says */
    bool labelled;       /* a label names the domain */
    const char *missing; /* the reason and the remedy where there is no such limit */
};

static const struct family acpi = {
    "power_meter", true,
    "no ACPI power meter with a limit (power1_cap): Grace and some servers have one, with the "
    "module acpi_power_meter (sudo modprobe acpi_power_meter force_cap_on=1)"};
static const struct family amdgpu = {
    "amdgpu", false,
    "no AMD GPU with a power limit: the driver amdgpu shows one (sudo modprobe amdgpu)"};

static double sibling(const char *folder, const char *name)
{
    char path[VT_SYSFS_PATH_MAX];

    return vt_sysfs_path(path, "%s/%s", folder, name) ? vt_cap_file_value(path, MICRO)
                                                      : (double)NAN;
}

/* The limit of the chip whose files lie in `folder`. */
static bool add_limit(struct vt_cap_files *files, const struct family *family, const char *folder)
{
    static const char *const labels[] = {"power1_oem_info", "power1_label"};
    struct vt_cap_domain domain = {.name = ""};
    struct vt_cap_file file = {.scale = MICRO};
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    if (!vt_sysfs_path(file.path, "%s/power1_cap", folder) ||
        isnan(vt_cap_file_value(file.path, MICRO))) {
        return true;
    }
    file.minimum = sibling(folder, "power1_cap_min");
    file.maximum = sibling(folder, "power1_cap_max");
    file.standard = sibling(folder, "power1_cap_default");
    (void)snprintf(domain.device, sizeof domain.device, "%s", family->chip);
    (void)snprintf(domain.name, sizeof domain.name, "%s%u", family->chip, files->n);
    for (size_t i = 0; family->labelled && i < sizeof labels / sizeof labels[0]; i++) {
        if (vt_sysfs_path(path, "%s/%s", folder, labels[i]) && vt_sysfs_text(path, text) == 0 &&
            text[0] != '\0') {
            (void)snprintf(domain.name, sizeof domain.name, "%.40s", text);
            break;
        }
    }
    (void)snprintf(domain.id, sizeof domain.id, "%s", domain.name);
    return vt_cap_files_add(files, &domain, &file);
}

static bool add_chip(struct vt_cap_files *files, const struct family *family, const char *hwmon)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];
    const uint32_t before = files->n;

    if (!vt_sysfs_path(path, "%s/name", hwmon) || vt_sysfs_text(path, text) != 0 ||
        strcmp(text, family->chip) != 0) {
        return true;
    }
    if (!add_limit(files, family, hwmon)) {
        return false;
    }
    /* ACPI meters keep their files one folder below. */
    return files->n > before || !vt_sysfs_path(path, "%s/device", hwmon) ||
           add_limit(files, family, path);
}

static enum vt_status hwmon_open(const struct vt_cap_ops *self, const struct vt_cap_places *places,
                                 struct vt_error *err, void **ret_cap)
{
    const struct family *family = self->family;
    struct vt_cap_files *files = vt_cap_files_new("run as root (sudo)");
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX], chip[VT_SYSFS_PATH_MAX];
    bool fits = files != NULL && vt_sysfs_path(folder, "%s/class/hwmon", vt_cap_sysfs(places)) &&
                vt_sysfs_list(folder, "hwmon", &list);

    for (size_t i = 0; fits && i < list.n; i++) {
        fits =
            !vt_sysfs_path(chip, "%s/%s", folder, list.names[i]) || add_chip(files, family, chip);
    }
    vt_sysfs_names_release(&list);
    if (fits && files->n > 0) {
        *ret_cap = files;
        return VT_OK;
    }
    vt_cap_files_close(files);
    return fits ? vt_error_set(err, VT_ERR_UNAVAILABLE, "%s", family->missing)
                : vt_error_set(err, VT_ERR_MEMORY, "out of memory for the chips of hwmon");
}

#define HWMON(id, text, chips)                                                                     \
    const struct vt_cap_ops vt_cap_##id = {                                                        \
        .api_version = VT_CAP_API_VERSION,                                                         \
        .struct_size = sizeof(struct vt_cap_ops),                                                  \
        .name = #id,                                                                               \
        .summary = (text),                                                                         \
        .unit = "W",                                                                               \
        .family = (chips),                                                                         \
        .tolerance = 0.02,                                                                         \
        .open = hwmon_open,                                                                        \
        .domains = vt_cap_files_domains,                                                           \
        .get = vt_cap_files_get,                                                                   \
        .may_set = vt_cap_files_may_set,                                                           \
        .save = vt_cap_files_save,                                                                 \
        .set = vt_cap_files_set,                                                                   \
        .enforced = vt_cap_files_enforced,                                                         \
        .restore = vt_cap_files_restore,                                                           \
        .close = vt_cap_files_close,                                                               \
    }

HWMON(acpi, "power limit of Grace and of servers with an ACPI power meter", &acpi);
HWMON(amdgpu, "power limit of AMD GPUs", &amdgpu);
