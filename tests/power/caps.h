/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of files whose limits may be set, and holders of caps that die on it. */
#ifndef VT_TEST_POWER_CAPS_H
#define VT_TEST_POWER_CAPS_H

#include "tree.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "power/cap/cap.h"
#include "power/cap/file.h"
#include "power/cap/record.h"

#define ZONE0   "class/powercap/intel-rapl:0"
#define ZONE1   "class/powercap/intel-rapl:1"
#define POLICY0 "devices/system/cpu/cpufreq/policy0"
#define POLICY1 "devices/system/cpu/cpufreq/policy1"
#define LIMIT0  ZONE0 "/constraint_1_power_limit_uw"
#define LIMIT1  ZONE1 "/constraint_1_power_limit_uw"
#define FREQ0   POLICY0 "/scaling_max_freq"
#define FREQ1   POLICY1 "/scaling_max_freq"

static inline struct vt_cap_places caps_places(void)
{
    static char records[160];

    (void)snprintf(records, sizeof records, "%s/records", tree_root);
    return (struct vt_cap_places){.sysfs = tree_root, .records = records};
}

static inline void caps_zone(const char *zone, const char *name, const char *limit)
{
    char path[256];
    const struct {
        const char *file, *text;
    } files[] = {
        {"name", name},
        {"enabled", "0"},
        {"constraint_0_name", "short_term"},
        {"constraint_0_power_limit_uw", "400000000"},
        {"constraint_1_name", "long_term"},
        {"constraint_1_power_limit_uw", limit},
        {"constraint_1_max_power_uw", "350000000"},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", zone, files[i].file);
        tree_put(path, files[i].text);
    }
}

static inline void caps_policy(const char *policy, const char *now)
{
    char path[256];
    const struct {
        const char *file, *text;
    } files[] = {
        {"cpuinfo_min_freq", "800000"},  {"cpuinfo_max_freq", "3500000"},
        {"scaling_min_freq", "1000000"}, {"scaling_max_freq", now},
        {"related_cpus", "0 1"},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", policy, files[i].file);
        tree_put(path, files[i].text);
    }
}

/* Two sockets whose limits differ from their maker's and from each other, two policies. */
static inline void caps_machine(void)
{
    caps_zone(ZONE0, "package-0", "225000000");
    caps_zone(ZONE0 ":0", "core", "100000000");
    caps_zone(ZONE1, "package-1", "230000000");
    caps_zone("class/powercap/intel-rapl:2", "psys", "500000000");
    caps_policy(POLICY0, "3400000");
    caps_policy(POLICY1, "3300000");
}

static inline int64_t caps_number(const char *name)
{
    char path[512];
    int64_t number = -1;

    tree_path(path, name);
    return vt_cap_file_read(path, &number) == 0 ? number : -1;
}

static inline bool caps_are_back(void)
{
    return caps_number(LIMIT0) == 225000000 && caps_number(LIMIT1) == 230000000 &&
           caps_number(ZONE0 "/enabled") == 0 && caps_number(ZONE1 "/enabled") == 0 &&
           caps_number(FREQ0) == 3400000 && caps_number(FREQ1) == 3300000;
}

/* How many files in the folder of records begin so. */
static inline int caps_files(const char *prefix)
{
    DIR *dir = opendir(caps_places().records);
    int n = 0;

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        n += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static inline void caps_nap(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    (void)nanosleep(&time, NULL);
}

/* The lock may outlive who held it; it is free then. */
static inline int caps_records(void)
{
    return caps_files("caps-");
}

/* What there is, for a test that failed. */
static inline void caps_show(void)
{
    char command[512];

    (void)snprintf(command, sizeof command,
                   "cd %s && ls -l records && cat records/* && grep . */*/*/*_power_limit_uw "
                   "*/*/*/enabled */*/*/*/*/scaling_max_freq >&2",
                   tree_root);
    (void)!system(command);
}

/* Until the condition holds, 20 s at most. */
#define caps_await(condition)                                                                      \
    do {                                                                                           \
        for (int waited = 0; waited < 20000 && !(condition); waited++) {                           \
            caps_nap(1000);                                                                        \
        }                                                                                          \
        if (!(condition)) {                                                                        \
            caps_show();                                                                           \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

#endif
