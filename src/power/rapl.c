/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL: the energy counters of Intel's and AMD's processors, through the kernel's powercap files
 * and, where these cannot be read, through perf.
 *
 * Domains hold each other: psys (the platform) holds the packages and dram, a package its core and
 * uncore; dram lies beside the package. What the memory-mapped interface shows once more
 * (intel-rapl-mmio) is left out.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/rapl_perf.h"
#include "power/sysfs.h"

/* The coarsest unit of energy in use, 2^-14 J; the files give microjoules. */
#define UNIT_J 61.1e-6

struct rapl {
    uint32_t n;
    struct vt_meter_domain domains[VT_METER_DOMAINS_MAX];
    char paths[VT_METER_DOMAINS_MAX][VT_SYSFS_PATH_MAX]; /* powercap */
    struct vt_sysfs_file files[VT_METER_DOMAINS_MAX];
    struct vt_rapl_event events[VT_METER_DOMAINS_MAX]; /* perf; fd -1 with powercap */
};

/* A zone of powercap: "intel-rapl:0" or "intel-rapl:0:1". */
struct zone {
    char name[48]; /* as the kernel names it */
    char top[48];  /* name of the zone on top of it, or its own */
    bool is_top;
    bool mmio;
    int code; /* of reading its counter: 0 or an errno */
};

static bool read_zone(const char *folder, const char *entry, struct zone *ret)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];
    struct zone zone = {.mmio = strncmp(entry, "intel-rapl-mmio", 15) == 0};
    const char *first = strchr(entry, ':');
    double value;

    /* "intel-rapl" itself is the control type, no zone. */
    if (first == NULL || !vt_sysfs_path(path, "%s/%s/name", folder, entry) ||
        vt_sysfs_text(path, text) != 0) {
        return false;
    }
    (void)snprintf(zone.name, sizeof zone.name, "%.*s", (int)sizeof zone.name - 1, text);
    const char *second = strchr(first + 1, ':');
    zone.is_top = second == NULL;
    if (!zone.is_top) {
        const int length = (int)(second - entry);
        if (!vt_sysfs_path(path, "%s/%.*s/name", folder, length, entry) ||
            vt_sysfs_text(path, text) != 0) {
            (void)snprintf(text, sizeof text, "%.*s", length, entry);
        }
    }
    (void)snprintf(zone.top, sizeof zone.top, "%.*s", (int)sizeof zone.top - 1, text);
    if (!vt_sysfs_path(path, "%s/%s/energy_uj", folder, entry)) {
        return false;
    }
    zone.code = vt_sysfs_number(path, &value);
    *ret = zone;
    return true;
}

static int32_t find(const struct rapl *rapl, const char *name)
{
    for (uint32_t i = 0; i < rapl->n; i++) {
        if (strcmp(rapl->domains[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static void add_zone(struct rapl *rapl, const char *folder, const char *entry,
                     const struct zone *zone)
{
    struct vt_meter_domain *domain = &rapl->domains[rapl->n];
    char name[48], path[VT_SYSFS_PATH_MAX];
    double range;

    if (zone->is_top) {
        (void)snprintf(name, sizeof name, "%s", zone->name);
    } else {
        (void)snprintf(name, sizeof name, "%.30s %.16s", zone->top, zone->name);
    }
    if (rapl->n == VT_METER_DOMAINS_MAX || find(rapl, name) >= 0 ||
        !vt_sysfs_path(rapl->paths[rapl->n], "%s/%s/energy_uj", folder, entry)) {
        return; /* the same once more, through the other interface */
    }
    *domain = (struct vt_meter_domain){
        .kind = VT_METER_ENERGY, .inside = -1, .resolution = UNIT_J, .scope = VT_METER_SCOPE_PART};
    (void)snprintf(domain->name, sizeof domain->name, "%s", name);
    if (strncmp(zone->name, "psys", 4) == 0) {
        domain->scope = VT_METER_SCOPE_PLATFORM;
        (void)snprintf(domain->note, sizeof domain->note,
                       "the platform as the board's maker wired it: compare before trusting");
    } else if (strncmp(zone->name, "package", 7) == 0) {
        domain->scope = VT_METER_SCOPE_PACKAGE;
    } else if (strcmp(zone->name, "dram") == 0) {
        domain->scope = VT_METER_SCOPE_MEMORY;
    }
    if (strncmp(zone->top, "package-", 8) == 0) {
        (void)snprintf(domain->device, sizeof domain->device, "socket %.40s", zone->top + 8);
    } else {
        (void)snprintf(domain->device, sizeof domain->device, "%s", zone->top);
    }
    if (vt_sysfs_path(path, "%s/%s/max_energy_range_uj", folder, entry) &&
        vt_sysfs_number(path, &range) == 0 && range > 0) {
        domain->modulus_j = range / 1e6;
    }
    rapl->events[rapl->n].fd = -1;
    rapl->n++;
}

/* Which lies in which, once all are known. */
static void nest(struct rapl *rapl)
{
    int32_t psys = -1;

    for (uint32_t i = 0; i < rapl->n && psys < 0; i++) {
        psys = rapl->domains[i].scope == VT_METER_SCOPE_PLATFORM ? (int32_t)i : -1;
    }
    for (uint32_t i = 0; i < rapl->n; i++) {
        struct vt_meter_domain *domain = &rapl->domains[i];
        if (domain->scope == VT_METER_SCOPE_PACKAGE || domain->scope == VT_METER_SCOPE_MEMORY) {
            domain->inside = psys;
        } else if (domain->scope == VT_METER_SCOPE_PART) {
            char top[48];
            (void)snprintf(top, sizeof top, "%.*s", (int)strcspn(domain->name, " "), domain->name);
            const int32_t at = find(rapl, top);
            domain->inside = at == (int32_t)i ? -1 : at;
        }
    }
}

static enum vt_status open_powercap(struct rapl *rapl, const struct vt_meter_options *options,
                                    struct vt_error *err)
{
    struct vt_sysfs_names list = {0};
    char folder[VT_SYSFS_PATH_MAX];
    int refused = 0;
    size_t zones = 0;

    if (!vt_sysfs_path(folder, "%s/class/powercap", vt_sysfs_root(options)) ||
        !vt_sysfs_list(folder, "intel-rapl", &list)) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the zones of powercap");
    }
    for (int mmio = 0; mmio < 2; mmio++) {
        for (size_t i = 0; i < list.n; i++) {
            struct zone zone;
            if (!read_zone(folder, list.names[i], &zone) || zone.mmio != (mmio == 1)) {
                continue;
            }
            zones++;
            refused = zone.code != 0 ? zone.code : refused;
            if (zone.code == 0) {
                add_zone(rapl, folder, list.names[i], &zone);
            }
        }
    }
    vt_sysfs_names_release(&list);
    nest(rapl);
    if (rapl->n > 0) {
        return VT_OK;
    }
    if (refused == EACCES || refused == EPERM) {
        return vt_error_set(err, VT_ERR_READ,
                            "energy_uj may be read by root only: sudo chmod a+r "
                            "%s/intel-rapl*/energy_uj (until the next start)",
                            folder);
    }
    if (zones > 0) {
        return vt_error_set(err, VT_ERR_READ, "energy_uj in %s cannot be read: %s", folder,
                            strerror(refused));
    }
    return vt_error_set(err, VT_ERR_UNAVAILABLE,
                        "no RAPL in %s: load the module (sudo modprobe intel_rapl_msr); virtual "
                        "machines have none",
                        folder);
}

static void rapl_close(void *meter)
{
    struct rapl *rapl = meter;

    for (uint32_t i = 0; rapl != NULL && i < rapl->n; i++) {
        if (rapl->events[i].fd >= 0) {
            (void)close(rapl->events[i].fd);
        }
        vt_sysfs_file_close(&rapl->files[i]);
    }
    vt_free(rapl);
}

static enum vt_status rapl_open(const struct vt_meter_ops *self,
                                const struct vt_meter_options *options, struct vt_error *err,
                                void **ret_meter)
{
    struct vt_error files = VT_ERROR_INIT, perf = VT_ERROR_INIT;
    struct rapl *rapl = vt_calloc(1, sizeof *rapl);

    (void)self;
    if (rapl == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    }
    enum vt_status status = open_powercap(rapl, options, &files);
    if (status != VT_OK &&
        vt_rapl_perf_open(options, rapl->domains, rapl->events, &rapl->n, &perf) != VT_OK) {
        vt_free(rapl);
        /* What only needs a permission is the nearer way. */
        if (perf.status == VT_ERR_READ && files.status != VT_ERR_READ) {
            return vt_error_set(err, perf.status, "%s; %s", perf.text, files.text);
        }
        return vt_error_set(err, files.status, "%s; %s", files.text, perf.text);
    }
    *ret_meter = rapl;
    return VT_OK;
}

static const struct vt_meter_domain *rapl_domains(const void *meter, uint32_t *ret_n)
{
    const struct rapl *rapl = meter;

    *ret_n = rapl->n;
    return rapl->domains;
}

static double read_domain(struct rapl *rapl, uint32_t i)
{
    double value;

    if (rapl->events[i].fd < 0) {
        return vt_sysfs_file_number(&rapl->files[i], rapl->paths[i], &value) == 0 ? value / 1e6
                                                                                  : (double)NAN;
    }
    uint64_t count;
    return read(rapl->events[i].fd, &count, sizeof count) == (ssize_t)sizeof count
               ? (double)count * rapl->events[i].joules
               : (double)NAN;
}

static enum vt_status rapl_read(void *meter, const bool *wanted,
                                struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    struct rapl *rapl = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < rapl->n; i++) {
        const struct vt_meter_stamp before = vt_meter_now();
        vt_meter_stamped(&ret_readings[i], before, read_domain(rapl, i));
        good += !isnan(ret_readings[i].value);
    }
    return good > 0 ? VT_OK : vt_error_set(err, VT_ERR_READ, "RAPL gives no reading any more");
}

const struct vt_meter_ops vt_meter_rapl = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "rapl",
    .summary = "energy counters of Intel's and AMD's processors (RAPL)",
    .period_ns = 100 * VT_NS_PER_MS,
    .open = rapl_open,
    .domains = rapl_domains,
    .read = rapl_read,
    .close = rapl_close,
};
