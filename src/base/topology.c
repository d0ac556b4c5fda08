/* SPDX-License-Identifier: Apache-2.0 */
#include "base/topology.h"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/quote.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static struct vt_topology topology;
static hwloc_topology_t machine; /* kept for vt_topology_cpu_order; NULL when hwloc failed */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char complaint[256];

#if defined(__x86_64__)
/* XCR0: which register files the operating system saves. */
__attribute__((target("xsave"))) static uint64_t saved_state(void)
{
    return _xgetbv(0);
}

static uint32_t cpu_features(void)
{
    unsigned eax, ebx, ecx, edx, wide;
    uint32_t features = 0;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_OSXSAVE) == 0) {
        return 0;
    }
    bool fma = (ecx & bit_FMA) != 0 && (ecx & bit_F16C) != 0;
    uint64_t saved = saved_state();
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return 0;
    }
    bool ymm = (saved & 0x6) == 0x6;
    bool zmm = (saved & 0xe6) == 0xe6;
    bool tiles = (saved & 0x60000) == 0x60000;
    unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (ymm && fma && (ebx & bit_AVX2) != 0) {
        features |= VT_CPU_AVX2;
    }
    if (zmm && (features & VT_CPU_AVX2) != 0 && (ebx & avx512) == avx512) {
        features |= VT_CPU_AVX512;
        if ((ecx & bit_AVX512VNNI) != 0) {
            features |= VT_CPU_VNNI;
        }
        if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &wide) && (eax & bit_AVX512BF16) != 0) {
            features |= VT_CPU_BF16;
        }
        /* AMX-BF16 is bit 22, AMX-TILE bit 24, AMX-INT8 bit 25 of EDX. */
        if (tiles && (edx & 0x3400000U) == 0x3400000U) {
            features |= VT_CPU_AMX;
        }
    }
    return features;
}
#else
static uint32_t cpu_features(void)
{
    return 0;
}
#endif

/* The steps of the ladder that VATIO_CPU names, each with what is below it. */
static const struct {
    const char *name;
    uint32_t features;
} levels[] = {
    {"portable", 0},
    {"avx2", VT_CPU_AVX2},
    {"avx512", VT_CPU_AVX2 | VT_CPU_AVX512},
    {"vnni", VT_CPU_AVX2 | VT_CPU_AVX512 | VT_CPU_VNNI},
    {"bf16", VT_CPU_AVX2 | VT_CPU_AVX512 | VT_CPU_VNNI | VT_CPU_BF16},
    {"amx", VT_CPU_AVX2 | VT_CPU_AVX512 | VT_CPU_VNNI | VT_CPU_BF16 | VT_CPU_AMX},
};
#define N_LEVELS (sizeof levels / sizeof levels[0])

/* What VATIO_CPU allows; everything where it is unset or is no level, which is complained about. */
static uint32_t allowed_features(void)
{
    const char *text = getenv("VATIO_CPU");
    if (text == NULL || text[0] == '\0') {
        return UINT32_MAX;
    }
    for (size_t i = 0; i < N_LEVELS; i++) {
        if (strcmp(levels[i].name, text) == 0) {
            return levels[i].features;
        }
    }
    (void)snprintf(complaint, sizeof complaint,
                   "VATIO_CPU is '%s': it can be portable, avx2, avx512, vnni, bf16 or amx",
                   vt_plain(text).text);
    return UINT32_MAX;
}

/* The value behind `key` in a file of "key<separator>value" lines, unquoted. */
static bool file_value(const char *path, const char *key, char separator, char *ret, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) {
            continue;
        }
        char *value = strchr(line, separator);
        if (value == NULL) {
            continue;
        }
        value++;
        value += strspn(value, " \t\"");
        value[strcspn(value, "\"\r\n")] = '\0';
        (void)snprintf(ret, size, "%s", value);
        found = true;
    }
    (void)fclose(file);
    return found;
}

/* The whole CPUs that the cgroup's quota amounts to; 0 when there is none. */
static uint32_t cgroup_quota(void)
{
    long long quota = 0, period = 0;
    uint32_t cpus = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

    if (file != NULL) {
        char text[64] = "";
        char *end = NULL;
        if (fgets(text, sizeof text, file) != NULL) {
            quota = strtoll(text, &end, 10);
            period = end != text ? strtoll(end, NULL, 10) : 0;
        }
        if (quota > 0 && period > 0) {
            cpus = (uint32_t)((quota + period - 1) / period);
        }
        (void)fclose(file);
    }
    return cpus;
}

static uint32_t usable_cpus(void)
{
    cpu_set_t set;
    uint32_t cpus = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        cpus = (uint32_t)CPU_COUNT(&set);
    } else {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        cpus = online > 0 ? (uint32_t)online : 1;
    }
    uint32_t quota = cgroup_quota();
    if (quota != 0 && quota < cpus) {
        cpus = quota;
    }
    return cpus > 0 ? cpus : 1;
}

static void read_os(void)
{
    struct utsname kernel;
    char name[64] = "Linux";

    (void)file_value("/etc/os-release", "PRETTY_NAME", '=', name, sizeof name);
    if (uname(&kernel) == 0) {
        (void)snprintf(topology.os, sizeof topology.os, "%s, %.20s %.40s", name, kernel.sysname,
                       kernel.release);
    } else {
        (void)snprintf(topology.os, sizeof topology.os, "%s", name);
    }
}

static uint32_t count_of(hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(machine, type);
    return n > 0 ? (uint32_t)n : 0;
}

static void read_machine(void)
{
    hwloc_topology_t fresh;

    /* hwloc complains on standard error where /sys is missing; a library has no business there. */
    (void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (hwloc_topology_init(&fresh) != 0) {
        return;
    }
    if (hwloc_topology_load(fresh) != 0) {
        hwloc_topology_destroy(fresh);
        return;
    }
    machine = fresh;
    topology.cores = count_of(HWLOC_OBJ_CORE);
    topology.cpus = count_of(HWLOC_OBJ_PU);
    topology.numa_nodes = count_of(HWLOC_OBJ_NUMANODE);
    hwloc_obj_t l2 = hwloc_get_obj_by_type(machine, HWLOC_OBJ_L2CACHE, 0);
    if (l2 != NULL) {
        topology.l2_bytes = (size_t)l2->attr->cache.size;
    }
}

static void read_topology(void)
{
    read_machine();
    read_os();
    topology.usable_cpus = usable_cpus();
    if (topology.cpus == 0) {
        topology.cpus = topology.usable_cpus;
    }
    if (topology.cores == 0) {
        topology.cores = topology.cpus;
    }
    if (topology.numa_nodes == 0) {
        topology.numa_nodes = 1;
    }
    /* The kernel's own total: what hwloc adds up over NUMA nodes misses memory that was plugged in
     * later. */
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    topology.memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    if (!file_value("/proc/cpuinfo", "model name", ':', topology.cpu_model,
                    sizeof topology.cpu_model)) {
        (void)snprintf(topology.cpu_model, sizeof topology.cpu_model, "unknown processor");
    }
    topology.features = cpu_features() & allowed_features();
}

const struct vt_topology *vt_topology(void)
{
    pthread_once(&once, read_topology);
    return &topology;
}

const char *vt_topology_complaint(void)
{
    (void)vt_topology();
    return complaint[0] != '\0' ? complaint : NULL;
}

const char *vt_topology_isa(void)
{
    uint32_t features = vt_topology()->features;
    if ((features & VT_CPU_AVX512) != 0) {
        return "AVX-512";
    }
    return (features & VT_CPU_AVX2) != 0 ? "AVX2" : "portable C";
}

uint32_t vt_topology_cpu_order(uint32_t *ret_cpus, uint32_t capacity)
{
    cpu_set_t set;
    uint32_t n = 0;

    (void)vt_topology();
    if (machine == NULL || sched_getaffinity(0, sizeof set, &set) != 0) {
        return 0;
    }
    /* Cores come in the order of the tree, so those of one node stand together. */
    uint32_t cores = count_of(HWLOC_OBJ_CORE);
    for (int second = 0; second < 8; second++) {
        for (uint32_t i = 0; i < cores; i++) {
            hwloc_obj_t core = hwloc_get_obj_by_type(machine, HWLOC_OBJ_CORE, i);
            int cpu = hwloc_bitmap_first(core->cpuset);
            for (int skip = 0; skip < second && cpu >= 0; skip++) {
                cpu = hwloc_bitmap_next(core->cpuset, cpu);
            }
            if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set) && n < capacity) {
                ret_cpus[n++] = (uint32_t)cpu;
            }
        }
    }
    return n;
}
