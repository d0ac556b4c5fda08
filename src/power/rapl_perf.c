/* SPDX-License-Identifier: Apache-2.0 */
#include "power/rapl_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "power/sysfs.h"

#define PACKAGES_MAX 64
/* A count may be finer than what the processor tells apart: 2^-14 J at the coarsest. */
#define UNIT_J 61.1e-6
/* RAPL renews its counters every millisecond. */
#define STILL_NS (50 * VT_NS_PER_MS)

static const struct event_kind {
    const char *event, *name;
    enum vt_meter_scope scope;
    const char *inside; /* the event that holds it on the same package; "" none */
} kinds[] = {
    {"energy-psys", "psys", VT_METER_SCOPE_PLATFORM, ""},
    {"energy-pkg", "package", VT_METER_SCOPE_PACKAGE, "energy-psys"},
    {"energy-cores", "core", VT_METER_SCOPE_PART, "energy-pkg"},
    {"energy-gpu", "uncore", VT_METER_SCOPE_PART, "energy-pkg"},
    {"energy-ram", "dram", VT_METER_SCOPE_MEMORY, "energy-psys"},
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

struct opening {
    char folder[VT_SYSFS_PATH_MAX];
    double type;
    int cpus[PACKAGES_MAX]; /* one a package */
    uint32_t packages;
    struct vt_meter_domain *domains;
    struct vt_rapl_event *events;
    uint32_t n;
    int32_t psys; /* its domain, -1: none */
    int refused;  /* the errno of the last event that could not be opened */
};

/* "0,28" or "0-1,4" */
static void read_cpus(struct opening *opening)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    if (!vt_sysfs_path(path, "%s/cpumask", opening->folder) || vt_sysfs_text(path, text) != 0) {
        (void)snprintf(text, sizeof text, "0");
    }
    for (char *at = text; *at != '\0' && opening->packages < PACKAGES_MAX;) {
        char *end;
        const long first = strtol(at, &end, 10);
        if (end == at || first < 0 || first > 65535) {
            break;
        }
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
        }
        for (long cpu = first; cpu <= last && opening->packages < PACKAGES_MAX; cpu++) {
            opening->cpus[opening->packages++] = (int)cpu;
        }
        at = *end == ',' ? end + 1 : end;
        if (at == end) {
            break;
        }
    }
}

/* The number of "event=0x02" and how many joules a count is. */
static bool read_event(const struct opening *opening, const char *event, uint64_t *ret_config,
                       double *ret_joules)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];
    double scale;

    if (!vt_sysfs_path(path, "%s/events/%s", opening->folder, event) ||
        vt_sysfs_text(path, text) != 0 || strncmp(text, "event=", 6) != 0) {
        return false;
    }
    const uint64_t config = strtoull(text + 6, NULL, 0);
    if (!vt_sysfs_path(path, "%s/events/%s.unit", opening->folder, event) ||
        vt_sysfs_text(path, text) != 0 || strcmp(text, "Joules") != 0) {
        return false;
    }
    if (!vt_sysfs_path(path, "%s/events/%s.scale", opening->folder, event) ||
        vt_sysfs_number(path, &scale) != 0 || !(scale > 0)) {
        return false;
    }
    *ret_config = config;
    *ret_joules = scale;
    return true;
}

static int32_t holder(const struct opening *opening, const struct event_kind *kind,
                      uint32_t package)
{
    if (strcmp(kind->inside, "energy-psys") == 0) {
        return opening->psys;
    }
    char name[48];
    (void)snprintf(name, sizeof name, "package-%u", package);
    for (uint32_t i = 0; kind->inside[0] != '\0' && i < opening->n; i++) {
        if (strcmp(opening->domains[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static void open_event(struct opening *opening, const struct event_kind *kind, uint32_t package)
{
    struct perf_event_attr attr = {.type = (uint32_t)opening->type, .size = sizeof attr};
    double joules;
    uint64_t config;

    if (opening->n == VT_METER_DOMAINS_MAX || !read_event(opening, kind->event, &config, &joules)) {
        return;
    }
    attr.config = config;
    const long fd =
        syscall(SYS_perf_event_open, &attr, -1, opening->cpus[package], -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        opening->refused = errno;
        return;
    }
    struct vt_meter_domain *domain = &opening->domains[opening->n];
    *domain = (struct vt_meter_domain){.kind = VT_METER_ENERGY,
                                       .scope = kind->scope,
                                       .inside = holder(opening, kind, package),
                                       .resolution = joules > UNIT_J ? joules : UNIT_J};
    if (kind->scope == VT_METER_SCOPE_PLATFORM) {
        opening->psys = (int32_t)opening->n;
        (void)snprintf(domain->name, sizeof domain->name, "%s", kind->name);
    } else if (kind->scope == VT_METER_SCOPE_PACKAGE) {
        (void)snprintf(domain->name, sizeof domain->name, "package-%u", package);
    } else {
        (void)snprintf(domain->name, sizeof domain->name, "package-%u %s", package, kind->name);
    }
    (void)snprintf(domain->device, sizeof domain->device, "socket %u", package);
    (void)snprintf(domain->note, sizeof domain->note, "through perf, power/%s/", kind->event);
    opening->events[opening->n++] = (struct vt_rapl_event){(int)fd, joules};
}

static bool moves(const struct vt_rapl_event *event, uint64_t *count)
{
    const uint64_t before = *count;

    return read(event->fd, count, sizeof *count) == (ssize_t)sizeof *count && *count != before;
}

/* Virtual machines show counters that stand still: none of them is kept. */
static void drop_still(struct opening *opening)
{
    uint64_t counts[VT_METER_DOMAINS_MAX] = {0};
    bool alive[VT_METER_DOMAINS_MAX] = {false};
    int32_t moved_to[VT_METER_DOMAINS_MAX];
    uint32_t n_alive = 0, n = 0;
    const int64_t until = vt_now_ns() + STILL_NS;

    for (uint32_t i = 0; i < opening->n; i++) {
        (void)moves(&opening->events[i], &counts[i]);
    }
    while (n_alive < opening->n && vt_now_ns() < until) {
        vt_sleep_until_ns(vt_now_ns() + STILL_NS / 20, 0);
        for (uint32_t i = 0; i < opening->n; i++) {
            if (!alive[i] && moves(&opening->events[i], &counts[i])) {
                alive[i] = true;
                n_alive++;
            }
        }
    }
    for (uint32_t i = 0; i < opening->n; i++) {
        moved_to[i] = alive[i] ? (int32_t)n : -1;
        if (!alive[i]) {
            (void)close(opening->events[i].fd);
            continue;
        }
        opening->domains[n] = opening->domains[i];
        opening->events[n] = opening->events[i];
        /* What holds a domain comes before it. */
        int32_t *inside = &opening->domains[n++].inside;
        *inside = *inside >= 0 ? moved_to[*inside] : -1;
    }
    opening->n = n;
}

enum vt_status vt_rapl_perf_open(const struct vt_meter_options *options,
                                 struct vt_meter_domain *ret_domains,
                                 struct vt_rapl_event *ret_events, uint32_t *ret_n,
                                 struct vt_error *err)
{
    struct opening opening = {.domains = ret_domains, .events = ret_events, .psys = -1};
    char path[VT_SYSFS_PATH_MAX];

    if (!vt_sysfs_path(opening.folder, "%s/bus/event_source/devices/power",
                       vt_sysfs_root(options)) ||
        !vt_sysfs_path(path, "%s/type", opening.folder) ||
        vt_sysfs_number(path, &opening.type) != 0 || opening.type < 0 ||
        opening.type > (double)UINT32_MAX) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "the kernel has no power counters for perf (load intel_rapl_perf or "
                            "rapl)");
    }
    read_cpus(&opening);
    for (uint32_t package = 0; package < opening.packages; package++) {
        for (size_t i = 0; i < N_KINDS; i++) {
            /* The platform is counted once, on the first package. */
            if (package == 0 || kinds[i].scope != VT_METER_SCOPE_PLATFORM) {
                open_event(&opening, &kinds[i], package);
            }
        }
    }
    const bool any = opening.n > 0;
    drop_still(&opening);
    if (any && opening.n == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "perf has energy counters, but they stand still, as in most virtual "
                            "machines: measure on the host");
    }
    if (opening.n == 0 && (opening.refused == EACCES || opening.refused == EPERM)) {
        return vt_error_set(err, VT_ERR_READ,
                            "perf may not count power: sudo sysctl kernel.perf_event_paranoid=0, "
                            "or grant CAP_PERFMON");
    }
    if (opening.n == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "perf counts no energy here%s%s",
                            opening.refused != 0 ? ": " : "",
                            opening.refused != 0 ? strerror(opening.refused) : "");
    }
    *ret_n = opening.n;
    return VT_OK;
}
