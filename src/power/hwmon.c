/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors behind the kernel's hwmon (and, on older Jetsons, iio): power monitors of Jetson boards,
 * ACPI power meters (Grace), AMD GPUs. One table says which chips belong to which meter and which
 * of their files are read; another, which rail of a board holds the others, or which rails make up
 * its total where no rail does.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/sysfs.h"

/* --- tables -------------------------------------------------------------------------------- */

enum chip_kind {
    CHIP_RAILS,  /* inK_label, inK_input (mV), currK_input (mA) */
    CHIP_POWER,  /* one power1_input (uW), its name in a label */
    CHIP_ACPI,   /* power1_average (uW), its name in power1_oem_info */
    CHIP_AMDGPU, /* power1_average or power1_input (uW), perhaps energy1_input (uJ) */
};

struct board {
    enum chip_kind kind;
    const char *chip; /* what the hwmon's file "name" says */
};

struct family {
    const struct board *boards;
    size_t n_boards;
    bool rails; /* of a Jetson: old paths are tried, totals looked for */
    enum vt_meter_scope scope;
    const char *missing; /* the reason and the remedy where there is no such chip */
};

static const struct board jetson_boards[] = {
    {CHIP_RAILS, "ina3221"}, {CHIP_POWER, "ina238"}, {CHIP_POWER, "ina237"}};
static const struct family jetson = {
    jetson_boards, sizeof jetson_boards / sizeof jetson_boards[0], true, VT_METER_SCOPE_PART,
    "no INA3221 or INA238 power monitor: Jetson boards have them, with the driver ina3221 or "
    "ina238 of their own kernel"};

static const struct board acpi_boards[] = {{CHIP_ACPI, "power_meter"}};
static const struct family acpi = {
    acpi_boards, 1, false, VT_METER_SCOPE_PLATFORM,
    "no ACPI power meter: Grace and some servers have one, with the module acpi_power_meter (sudo "
    "modprobe acpi_power_meter)"};

static const struct board amdgpu_boards[] = {{CHIP_AMDGPU, "amdgpu"}};
static const struct family amdgpu = {
    amdgpu_boards, 1, false, VT_METER_SCOPE_GPU,
    "no AMD GPU with a power sensor: the driver amdgpu shows one (sudo modprobe amdgpu)"};

/* Rails that carry a whole module or board. */
static const char *const whole_rails[] = {"VDD_IN", "VIN", "POM_5V_IN", NULL};

/* Boards without such a rail: what is added up. Whether VIN_SYS_5V0 of an AGX Orin holds
 * VDDQ_VDD2_1V8AO is not documented, so the smaller sum is taken. */
static const struct sum_rule {
    const char *name;
    const char *rails[8];
    const char *note;
} sums[] = {
    {"AGX Orin sum",
     {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", NULL},
     "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0: less than the input of the board, whose carrier is "
     "not measured; VDDQ_VDD2_1V8AO may lie in VIN_SYS_5V0 and is not added"},
    {"AGX Xavier sum",
     {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V", NULL},
     "GPU + CPU + SOC + CV + VDDRQ + SYS5V: less than the input of the board, whose carrier is not "
     "measured"},
};

/* --- opening ------------------------------------------------------------------------------- */

enum channel_kind {
    CHANNEL_ONE,     /* a file times `scale` */
    CHANNEL_PRODUCT, /* two files, mV and mA */
    CHANNEL_SUM,     /* of channels read before */
};

struct channel {
    enum channel_kind kind;
    double scale;
    char path[VT_SYSFS_PATH_MAX];
    char other[VT_SYSFS_PATH_MAX];
    uint32_t parts[8];
    uint32_t n_parts;
};

struct hwmon {
    uint32_t n;
    struct vt_meter_domain domains[VT_METER_DOMAINS_MAX];
    struct channel channels[VT_METER_DOMAINS_MAX];
    const struct family *family;
    uint32_t chips;
    int refused; /* the errno of the last sensor that could not be read */
    char refused_path[VT_SYSFS_PATH_MAX];
};

static int32_t find(const struct hwmon *hwmon, const char *name)
{
    for (uint32_t i = 0; i < hwmon->n; i++) {
        if (strcmp(hwmon->domains[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static bool readable(struct hwmon *hwmon, const char *path)
{
    double ignored;
    const int code = vt_sysfs_number(path, &ignored);

    /* That an alternative is not there says less than that something cannot be read. */
    if (code != 0 && (code != ENOENT || hwmon->refused == 0)) {
        hwmon->refused = code;
        (void)snprintf(hwmon->refused_path, sizeof hwmon->refused_path, "%s", path);
    }
    return code == 0;
}

/* A fresh domain with a name of its own; NULL when there is no room. */
static struct vt_meter_domain *add(struct hwmon *hwmon, const char *name, const char *device,
                                   const struct channel *channel)
{
    if (hwmon->n == VT_METER_DOMAINS_MAX) {
        return NULL;
    }
    struct vt_meter_domain *domain = &hwmon->domains[hwmon->n];
    *domain = (struct vt_meter_domain){
        .kind = VT_METER_POWER, .scope = hwmon->family->scope, .inside = -1};
    (void)snprintf(domain->name, sizeof domain->name, "%.40s", name);
    for (unsigned twin = 2; find(hwmon, domain->name) >= 0 && twin < VT_METER_DOMAINS_MAX; twin++) {
        (void)snprintf(domain->name, sizeof domain->name, "%.38s #%u", name, twin);
    }
    (void)snprintf(domain->device, sizeof domain->device, "%.70s", device);
    hwmon->channels[hwmon->n++] = *channel;
    return domain;
}

static void add_rails(struct hwmon *hwmon, const char *folder, const char *device)
{
    /* Further channels are sums of shunt voltages. */
    for (unsigned k = 1; k <= 3; k++) {
        struct channel channel = {.kind = CHANNEL_PRODUCT, .scale = 1e-6};
        char path[VT_SYSFS_PATH_MAX], label[VT_SYSFS_TEXT_MAX];
        if (!vt_sysfs_path(path, "%s/in%u_label", folder, k) || vt_sysfs_text(path, label) != 0 ||
            strcmp(label, "NC") == 0 || label[0] == '\0' ||
            !vt_sysfs_path(channel.path, "%s/in%u_input", folder, k) ||
            !vt_sysfs_path(channel.other, "%s/curr%u_input", folder, k) ||
            !readable(hwmon, channel.path) || !readable(hwmon, channel.other)) {
            continue;
        }
        struct vt_meter_domain *domain = add(hwmon, label, device, &channel);
        if (domain != NULL) {
            /* Steps of 8 mV and of some mA: a few milliwatts, which differ by the shunt. */
            domain->resolution = 0.04;
        }
    }
}

static void add_power(struct hwmon *hwmon, const char *folder, const char *device)
{
    static const char *const labels[] = {"label", "power1_label", "in1_label", "device/label"};
    struct channel channel = {.kind = CHANNEL_ONE, .scale = 1e-6};
    char path[VT_SYSFS_PATH_MAX], label[VT_SYSFS_TEXT_MAX] = "VIN";

    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        if (vt_sysfs_path(path, "%s/%s", folder, labels[i]) && vt_sysfs_text(path, label) == 0) {
            break;
        }
    }
    if (vt_sysfs_path(channel.path, "%s/power1_input", folder) && readable(hwmon, channel.path)) {
        (void)add(hwmon, label, device, &channel);
    }
}

static void add_acpi(struct hwmon *hwmon, const char *folder)
{
    static const char *const places[] = {"", "device/"};
    struct channel channel = {.kind = CHANNEL_ONE, .scale = 1e-6};
    char path[VT_SYSFS_PATH_MAX], name[VT_SYSFS_TEXT_MAX] = "", device[48] = "platform";
    double value;

    for (size_t i = 0; i < 2; i++) {
        if (!vt_sysfs_path(channel.path, "%s/%spower1_average", folder, places[i]) ||
            !readable(hwmon, channel.path)) {
            continue;
        }
        if (!vt_sysfs_path(path, "%s/%spower1_oem_info", folder, places[i]) ||
            vt_sysfs_text(path, name) != 0 || name[0] == '\0') {
            (void)snprintf(name, sizeof name, "power meter %u", hwmon->chips);
        }
        const char *socket = strstr(name, "Socket ");
        if (socket != NULL) {
            (void)snprintf(device, sizeof device, "socket %.20s", socket + 7);
        }
        struct vt_meter_domain *domain = add(hwmon, name, device, &channel);
        if (domain == NULL) {
            return;
        }
        if (vt_sysfs_path(path, "%s/%spower1_average_interval", folder, places[i]) &&
            vt_sysfs_number(path, &value) == 0 && value > 0 && value < 1e7) {
            domain->averaging_ns = (int64_t)(value * 1e6);
        }
        /* "90.0%": the ACPI name of a class. */
        if (vt_sysfs_path(path, "%s/%spower1_accuracy", folder, places[i]) &&
            vt_sysfs_number(path, &value) == 0 && value > 0 && value <= 100) {
            domain->accuracy = 1 - value / 100;
        }
        if (strncmp(name, "Module", 6) == 0) {
            domain->scope = VT_METER_SCOPE_MODULE;
            (void)snprintf(domain->note, sizeof domain->note,
                           "holds the GPU and its memory: never add what NVML says");
        } else if (strncmp(name, "Grace", 5) == 0) {
            domain->scope = VT_METER_SCOPE_PACKAGE;
        } else if (strncmp(name, "CPU", 3) == 0 || strncmp(name, "SysIO", 5) == 0) {
            domain->scope = VT_METER_SCOPE_PART;
        }
        return;
    }
}

static void add_amdgpu(struct hwmon *hwmon, const char *folder)
{
    static const char *const files[] = {"power1_average", "power1_input"};
    struct channel energy = {.kind = CHANNEL_ONE, .scale = 1e-6}, power = energy;
    char name[48], device[48];
    int32_t counter = -1;

    (void)snprintf(device, sizeof device, "AMD GPU %u", hwmon->chips);
    if (vt_sysfs_path(energy.path, "%s/energy1_input", folder) && readable(hwmon, energy.path)) {
        (void)snprintf(name, sizeof name, "gpu%u energy", hwmon->chips);
        struct vt_meter_domain *domain = add(hwmon, name, device, &energy);
        if (domain != NULL) {
            domain->kind = VT_METER_ENERGY;
            counter = (int32_t)hwmon->n - 1;
            (void)snprintf(domain->note, sizeof domain->note,
                           "wrong on some models: compare with the power beside it");
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (vt_sysfs_path(power.path, "%s/%s", folder, files[i]) && readable(hwmon, power.path)) {
            (void)snprintf(name, sizeof name, "gpu%u power", hwmon->chips);
            struct vt_meter_domain *domain = add(hwmon, name, device, &power);
            if (domain != NULL) {
                domain->inside = counter;
                domain->same = counter >= 0;
            }
            return;
        }
    }
}

static void add_chip(struct hwmon *hwmon, const char *folder, const char *entry)
{
    char path[VT_SYSFS_PATH_MAX], chip[VT_SYSFS_TEXT_MAX], device[VT_SYSFS_TEXT_MAX + 80];

    if ((!vt_sysfs_path(path, "%s/name", folder) || vt_sysfs_text(path, chip) != 0) &&
        (!vt_sysfs_path(path, "%s/device/name", folder) || vt_sysfs_text(path, chip) != 0)) {
        return;
    }
    for (size_t i = 0; i < hwmon->family->n_boards; i++) {
        if (strcmp(chip, hwmon->family->boards[i].chip) != 0) {
            continue;
        }
        (void)snprintf(device, sizeof device, "%s (%s)", chip, entry);
        switch (hwmon->family->boards[i].kind) {
        case CHIP_RAILS:
            add_rails(hwmon, folder, device);
            break;
        case CHIP_POWER:
            add_power(hwmon, folder, device);
            break;
        case CHIP_ACPI:
            add_acpi(hwmon, folder);
            break;
        case CHIP_AMDGPU:
            add_amdgpu(hwmon, folder);
            break;
        }
        hwmon->chips++;
    }
}

/* bus/i2c/drivers/ina3221x/1-0040/iio:device0/{rail_name_0, in_power0_input (mW)} */
static bool add_old_rails(struct hwmon *hwmon, const char *root)
{
    struct vt_sysfs_names chips = {0}, devices = {0};
    char folder[VT_SYSFS_PATH_MAX], path[VT_SYSFS_PATH_MAX], label[VT_SYSFS_TEXT_MAX];
    bool fits = vt_sysfs_path(folder, "%s/bus/i2c/drivers/ina3221x", root) &&
                vt_sysfs_list(folder, "", &chips);

    for (size_t c = 0; fits && c < chips.n; c++) {
        char inner[VT_SYSFS_PATH_MAX];
        if (!vt_sysfs_path(inner, "%s/%s", folder, chips.names[c])) {
            continue;
        }
        fits = vt_sysfs_list(inner, "iio:device", &devices);
        for (size_t d = 0; fits && d < devices.n; d++) {
            for (unsigned k = 0; k < 3; k++) {
                struct channel channel = {.kind = CHANNEL_ONE, .scale = 1e-3};
                if (vt_sysfs_path(path, "%s/%s/rail_name_%u", inner, devices.names[d], k) &&
                    vt_sysfs_text(path, label) == 0 && strcmp(label, "NC") != 0 &&
                    label[0] != '\0' &&
                    vt_sysfs_path(channel.path, "%s/%s/in_power%u_input", inner, devices.names[d],
                                  k) &&
                    readable(hwmon, channel.path)) {
                    (void)add(hwmon, label, chips.names[c], &channel);
                }
            }
            hwmon->chips++;
        }
        vt_sysfs_names_release(&devices);
    }
    vt_sysfs_names_release(&chips);
    return fits;
}

/* A rail that carries the whole, else the sum that the board's table gives. */
static void find_total(struct hwmon *hwmon)
{
    int32_t whole = -1;

    for (size_t i = 0; whole < 0 && whole_rails[i] != NULL; i++) {
        whole = find(hwmon, whole_rails[i]);
    }
    for (size_t s = 0; whole < 0 && s < sizeof sums / sizeof sums[0]; s++) {
        struct channel sum = {.kind = CHANNEL_SUM};
        bool all = true;
        for (size_t i = 0; all && sums[s].rails[i] != NULL; i++) {
            const int32_t at = find(hwmon, sums[s].rails[i]);
            all = at >= 0;
            sum.parts[sum.n_parts++] = all ? (uint32_t)at : 0;
        }
        struct vt_meter_domain *domain =
            all ? add(hwmon, sums[s].name, "sum of rails", &sum) : NULL;
        if (domain != NULL) {
            whole = (int32_t)hwmon->n - 1;
            for (uint32_t i = 0; i < sum.n_parts; i++) {
                domain->resolution += hwmon->domains[sum.parts[i]].resolution;
            }
            (void)snprintf(domain->note, sizeof domain->note, "%s", sums[s].note);
        }
    }
    for (uint32_t i = 0; whole >= 0 && i < hwmon->n; i++) {
        hwmon->domains[i].inside = (int32_t)i == whole ? -1 : whole;
    }
    if (whole >= 0) {
        hwmon->domains[whole].scope = VT_METER_SCOPE_MODULE;
    }
}

/* Module holds Grace, Grace holds CPU and SysIO, each of the same socket. */
static void nest_acpi(struct hwmon *hwmon)
{
    static const char *const holders[] = {"Grace", "Module"};

    for (uint32_t i = 0; i < hwmon->n; i++) {
        struct vt_meter_domain *domain = &hwmon->domains[i];
        const bool part = domain->scope == VT_METER_SCOPE_PART;
        for (size_t h = part ? 0 : 1; h < 2 && domain->inside < 0; h++) {
            for (uint32_t j = 0; j < hwmon->n; j++) {
                const struct vt_meter_domain *other = &hwmon->domains[j];
                if ((part || domain->scope == VT_METER_SCOPE_PACKAGE) &&
                    strncmp(other->name, holders[h], strlen(holders[h])) == 0 &&
                    strcmp(other->device, domain->device) == 0) {
                    domain->inside = (int32_t)j;
                }
            }
        }
    }
}

static enum vt_status scan(struct hwmon *hwmon, const struct vt_meter_options *options,
                           struct vt_error *err)
{
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX], chip[VT_SYSFS_PATH_MAX];
    const char *root = vt_sysfs_root(options);

    if (!vt_sysfs_path(folder, "%s/class/hwmon", root) || !vt_sysfs_list(folder, "hwmon", &list)) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the sensors of hwmon");
    }
    for (size_t i = 0; i < list.n; i++) {
        if (vt_sysfs_path(chip, "%s/%s", folder, list.names[i])) {
            add_chip(hwmon, chip, list.names[i]);
        }
    }
    vt_sysfs_names_release(&list);
    if (hwmon->family->rails && hwmon->n == 0 && !add_old_rails(hwmon, root)) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the sensors of iio");
    }
    if (hwmon->n > 0) {
        return VT_OK;
    }
    if (hwmon->chips > 0 && hwmon->refused != 0) {
        return vt_error_set(err, VT_ERR_READ, "%.200s: %s%s%.200s", hwmon->refused_path,
                            strerror(hwmon->refused),
                            hwmon->refused == EACCES ? ": sudo chmod a+r " : "",
                            hwmon->refused == EACCES ? hwmon->refused_path : "");
    }
    return vt_error_set(err, VT_ERR_UNAVAILABLE, "%s", hwmon->family->missing);
}

static enum vt_status hwmon_open(const struct vt_meter_ops *self,
                                 const struct vt_meter_options *options, struct vt_error *err,
                                 void **ret_meter)
{
    struct hwmon *hwmon = vt_calloc(1, sizeof *hwmon);

    if (hwmon == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    }
    hwmon->family = self->family;
    enum vt_status status = scan(hwmon, options, err);
    if (status != VT_OK) {
        vt_free(hwmon);
        return status;
    }
    if (hwmon->family->rails) {
        find_total(hwmon);
    } else if (hwmon->family == &acpi) {
        nest_acpi(hwmon);
    }
    *ret_meter = hwmon;
    return VT_OK;
}

/* --- reading ------------------------------------------------------------------------------- */

static const struct vt_meter_domain *hwmon_domains(const void *meter, uint32_t *ret_n)
{
    const struct hwmon *hwmon = meter;

    *ret_n = hwmon->n;
    return hwmon->domains;
}

static double read_channel(const struct channel *channel, const struct vt_meter_reading *readings)
{
    double value, other;

    switch (channel->kind) {
    case CHANNEL_ONE:
        return vt_sysfs_number(channel->path, &value) == 0 ? value * channel->scale : (double)NAN;
    case CHANNEL_PRODUCT:
        return vt_sysfs_number(channel->path, &value) == 0 &&
                       vt_sysfs_number(channel->other, &other) == 0
                   ? value * other * channel->scale
                   : (double)NAN;
    case CHANNEL_SUM:
        value = 0;
        for (uint32_t i = 0; i < channel->n_parts; i++) {
            value += readings[channel->parts[i]].value;
        }
        return value;
    }
    return (double)NAN;
}

static enum vt_status hwmon_read(void *meter, const bool *wanted,
                                 struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    const struct hwmon *hwmon = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < hwmon->n; i++) {
        struct vt_meter_stamp before = vt_meter_now();
        const struct channel *channel = &hwmon->channels[i];
        const double value = read_channel(channel, ret_readings);
        if (channel->kind == CHANNEL_SUM) { /* the moment of its first part to that of its last */
            const struct vt_meter_reading *first = &ret_readings[channel->parts[0]];
            before = (struct vt_meter_stamp){first->ns, first->unix_ns};
        }
        vt_meter_stamped(&ret_readings[i], before, value);
        good += !isnan(value);
    }
    return good > 0 ? VT_OK
                    : vt_error_set(err, VT_ERR_READ, "the power sensors give no reading any more");
}

static void hwmon_close(void *meter)
{
    vt_free(meter);
}

#define HWMON(variable, title, line, table, period)                                                \
    const struct vt_meter_ops variable = {                                                         \
        .api_version = VT_METER_API_VERSION,                                                       \
        .struct_size = sizeof(struct vt_meter_ops),                                                \
        .name = (title),                                                                           \
        .summary = (line),                                                                         \
        .family = &(table),                                                                        \
        .period_ns = (period),                                                                     \
        .open = hwmon_open,                                                                        \
        .domains = hwmon_domains,                                                                  \
        .read = hwmon_read,                                                                        \
        .close = hwmon_close,                                                                      \
    }

/* A register takes half a millisecond over I2C. */
HWMON(vt_meter_jetson, "jetson", "power monitors of Jetson boards (INA3221, INA238)", jetson,
      100 * VT_NS_PER_MS);
HWMON(vt_meter_acpi, "acpi", "ACPI power meters: Grace, GH200, servers", acpi, 50 * VT_NS_PER_MS);
HWMON(vt_meter_amdgpu, "amdgpu", "AMD GPUs, through their driver", amdgpu, 50 * VT_NS_PER_MS);
