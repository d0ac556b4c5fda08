/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors: the temperature of each package, from the drivers that measure it, else from the
 * kernel's thermal zones; and the clock, a mean over some CPUs far apart, as reading all of a large
 * machine would take longer than it is worth.
 */
#include "power/telemetry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/sysfs.h"

#define TEMPERATURES_MAX 8
#define CLOCKS_MAX       8

const struct vt_meter_ops *const *vt_telemetry_table(size_t *ret_n)
{
    static const struct vt_meter_ops *const table[] = {&vt_telemetry_cpu, &vt_telemetry_gpu};

    *ret_n = sizeof table / sizeof table[0];
    return table;
}

struct processors {
    struct vt_meter_domain domains[TEMPERATURES_MAX + 1];
    uint32_t n, n_temperatures;
    char temperature[TEMPERATURES_MAX][VT_SYSFS_PATH_MAX]; /* files, in thousandths of a degree */
    char clock[CLOCKS_MAX][VT_SYSFS_PATH_MAX];             /* files, in kHz */
    uint32_t n_clocks;
    struct vt_sysfs_file temperature_files[TEMPERATURES_MAX], clock_files[CLOCKS_MAX];
};

static struct vt_meter_domain *add(struct processors *cpu, const char *unit)
{
    struct vt_meter_domain *domain = &cpu->domains[cpu->n++];

    *domain = (struct vt_meter_domain){
        .kind = VT_METER_OTHER, .scope = VT_METER_SCOPE_PACKAGE, .inside = -1};
    (void)snprintf(domain->unit, sizeof domain->unit, "%s", unit);
    return domain;
}

static void add_temperature(struct processors *cpu, const char *path, const char *device)
{
    double value;

    if (cpu->n_temperatures == TEMPERATURES_MAX || vt_sysfs_number(path, &value) != 0) {
        return;
    }
    struct vt_meter_domain *domain = add(cpu, "\xc2\xb0"
                                              "C");
    (void)snprintf(domain->name, sizeof domain->name, "cpu%u temperature", cpu->n_temperatures);
    (void)snprintf(domain->device, sizeof domain->device, "%.79s", device);
    (void)snprintf(cpu->temperature[cpu->n_temperatures++], VT_SYSFS_PATH_MAX, "%s", path);
}

/* The package's own sensor, not those of single cores. */
static void add_chip(struct processors *cpu, const char *folder)
{
    static const char *const packages[] = {"Package", "Physical", "Tctl", "Tdie"};
    char path[VT_SYSFS_PATH_MAX], label[VT_SYSFS_TEXT_MAX], driver[VT_SYSFS_TEXT_MAX];

    if (!vt_sysfs_path(path, "%s/name", folder) || vt_sysfs_text(path, driver) != 0 ||
        (strcmp(driver, "coretemp") != 0 && strcmp(driver, "k10temp") != 0 &&
         strcmp(driver, "zenpower") != 0)) {
        return;
    }
    for (unsigned i = 1; i <= 2; i++) {
        bool package =
            !vt_sysfs_path(path, "%s/temp%u_label", folder, i) || vt_sysfs_text(path, label) != 0;
        for (size_t p = 0; !package && p < sizeof packages / sizeof packages[0]; p++) {
            package = strncmp(label, packages[p], strlen(packages[p])) == 0;
        }
        if (package && vt_sysfs_path(path, "%s/temp%u_input", folder, i)) {
            add_temperature(cpu, path, driver);
            return;
        }
    }
}

static void add_zone(struct processors *cpu, const char *folder)
{
    static const char *const begins[] = {"x86_pkg_temp", "cpu", "CPU", "tj"};
    char path[VT_SYSFS_PATH_MAX], type[VT_SYSFS_TEXT_MAX];

    if (!vt_sysfs_path(path, "%s/type", folder) || vt_sysfs_text(path, type) != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(type, begins[i], strlen(begins[i])) == 0 &&
            vt_sysfs_path(path, "%s/temp", folder)) {
            add_temperature(cpu, path, type);
            return;
        }
    }
}

/* Every entry of a folder of the kernel; false when out of memory. */
static bool each(struct processors *cpu, const char *root, const char *folder, const char *prefix,
                 void (*take)(struct processors *, const char *))
{
    char whole[VT_SYSFS_PATH_MAX], one[VT_SYSFS_PATH_MAX];
    struct vt_sysfs_names list = {0};

    if (!vt_sysfs_path(whole, "%s/%s", root, folder)) {
        return true;
    }
    const bool fits = vt_sysfs_list(whole, prefix, &list);
    for (size_t i = 0; fits && i < list.n; i++) {
        if (vt_sysfs_path(one, "%s/%s", whole, list.names[i])) {
            take(cpu, one);
        }
    }
    vt_sysfs_names_release(&list);
    return fits;
}

static bool add_clocks(struct processors *cpu, const char *root)
{
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX];
    double value;

    if (!vt_sysfs_path(folder, "%s/devices/system/cpu/cpufreq", root)) {
        return true;
    }
    const bool fits = vt_sysfs_list(folder, "policy", &list);
    const size_t step = list.n > CLOCKS_MAX ? list.n / CLOCKS_MAX : 1;
    for (size_t i = 0; fits && i < list.n && cpu->n_clocks < CLOCKS_MAX; i += step) {
        char *path = cpu->clock[cpu->n_clocks];
        if (vt_sysfs_path(path, "%s/%s/scaling_cur_freq", folder, list.names[i]) &&
            vt_sysfs_number(path, &value) == 0) {
            cpu->n_clocks++;
        }
    }
    vt_sysfs_names_release(&list);
    if (cpu->n_clocks > 0) {
        struct vt_meter_domain *domain = add(cpu, "MHz");
        (void)snprintf(domain->name, sizeof domain->name, "cpu clock");
        (void)snprintf(domain->note, sizeof domain->note, "a mean over %u CPUs", cpu->n_clocks);
    }
    return fits;
}

static void cpu_close(void *meter)
{
    struct processors *cpu = meter;

    for (uint32_t i = 0; cpu != NULL && i < TEMPERATURES_MAX; i++) {
        vt_sysfs_file_close(&cpu->temperature_files[i]);
    }
    for (uint32_t i = 0; cpu != NULL && i < CLOCKS_MAX; i++) {
        vt_sysfs_file_close(&cpu->clock_files[i]);
    }
    vt_free(cpu);
}

static enum vt_status cpu_open(const struct vt_meter_ops *self,
                               const struct vt_meter_options *options, struct vt_error *err,
                               void **ret_meter)
{
    const char *root = vt_sysfs_root(options);
    struct processors *cpu = vt_calloc(1, sizeof *cpu);

    (void)self;
    bool fits = cpu != NULL && each(cpu, root, "class/hwmon", "hwmon", add_chip);
    if (fits && cpu->n_temperatures == 0) {
        fits = each(cpu, root, "class/thermal", "thermal_zone", add_zone);
    }
    fits = fits && add_clocks(cpu, root);
    if (!fits || cpu->n == 0) {
        vt_free(cpu);
        return fits ? vt_error_set(err, VT_ERR_UNAVAILABLE,
                                   "no temperature and no clock of a processor in %s", root)
                    : vt_error_set(err, VT_ERR_MEMORY, "out of memory for sensors");
    }
    *ret_meter = cpu;
    return VT_OK;
}

static const struct vt_meter_domain *cpu_domains(const void *meter, uint32_t *ret_n)
{
    const struct processors *cpu = meter;

    *ret_n = cpu->n;
    return cpu->domains;
}

static double mean_clock(struct processors *cpu)
{
    double sum = 0, value;
    uint32_t n = 0;

    for (uint32_t i = 0; i < cpu->n_clocks; i++) {
        if (vt_sysfs_file_number(&cpu->clock_files[i], cpu->clock[i], &value) == 0) {
            sum += value / 1e3;
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

static enum vt_status cpu_read(void *meter, const bool *wanted,
                               struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    struct processors *cpu = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < cpu->n; i++) {
        const struct vt_meter_stamp before = vt_meter_now();
        double value = (double)NAN;
        if (i >= cpu->n_temperatures) {
            value = mean_clock(cpu);
        } else if (vt_sysfs_file_number(&cpu->temperature_files[i], cpu->temperature[i], &value) ==
                   0) {
            value /= 1e3;
        } else {
            value = (double)NAN;
        }
        vt_meter_stamped(&ret_readings[i], before, value);
        good += !isnan(value);
    }
    return good > 0 ? VT_OK : vt_error_set(err, VT_ERR_READ, "no sensor can be read any more");
}

const struct vt_meter_ops vt_telemetry_cpu = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "cpu",
    .summary = "temperature and clock of processors",
    .period_ns = VT_TELEMETRY_PERIOD_NS,
    .open = cpu_open,
    .domains = cpu_domains,
    .read = cpu_read,
    .close = cpu_close,
};
