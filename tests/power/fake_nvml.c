/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that answers like NVIDIA's, as the environment variable VT_FAKE_NVML says: words of
 *
 *   gpus=N       so many GPUs (1)
 *   noinit=CODE  nvmlInit fails
 *   noenergy     no energy counter
 *   nofields     no fields
 *   module       the scope of a GPU fails, that of the module answers
 *   mig          MIG is on
 *   zero         powers are 0
 *   dear         reading the counter takes 2 ms of a processor
 *   lost         everything fails from the file named by VT_FAKE_NVML_LOST on, once it is there
 *
 * Limits live in files of the folder VT_FAKE_NVML_STATE, so that they outlive a process: gpuN holds
 * a limit in mW (500 W at first, 700 W by default, 200 to 700 W allowed), clocksN the locked range.
 *
 *   nolimit      power limits are not supported
 *   unreadable   nor can they be read
 *   refuse       limits and clocks: no permission
 *   slip         a limit is taken and not kept
 *   late         what is enforced follows 200 ms after the limit
 *   gallop       clocks do not keep to what is locked
 *
 * Each GPU i draws 100 (i+1) W from when the library is loaded; its counter moves every 100 ms.
 * FAKE_MISSING leaves out the functions that old libraries have not, FAKE_EMPTY all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "power/nvml_abi.h"

/* Modules are built with hidden symbols. */
#pragma GCC visibility push(default)

#ifndef FAKE_EMPTY
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct vt_nvml_device **ret);
const char *nvmlErrorString(int code);
int nvmlDeviceGetName(struct vt_nvml_device *device, char *text, unsigned size);
int nvmlDeviceGetPowerUsage(struct vt_nvml_device *device, unsigned *ret_mw);

struct vt_nvml_device {
    unsigned index;
};
static struct vt_nvml_device devices[8];

static const char *word(const char *name)
{
    const char *text = getenv("VT_FAKE_NVML");
    return text != NULL ? strstr(text, name) : NULL;
}

static unsigned number(const char *name, unsigned otherwise)
{
    const char *at = word(name);
    return at != NULL ? (unsigned)strtoul(at + strlen(name), NULL, 10) : otherwise;
}

/* "losing=N": after so many readings of powers, all is lost. */
static int lost(void)
{
    static unsigned readings;
    const unsigned most = number("losing=", 0);

    if (most > 0 && __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED) > most) {
        return 1;
    }
    const char *path = getenv("VT_FAKE_NVML_LOST");
    return path != NULL && access(path, F_OK) == 0;
}

static unsigned milliwatts(const struct vt_nvml_device *device)
{
    return word("zero") != NULL ? 0 : 100000 * (device->index + 1);
}

int nvmlInit_v2(void)
{
    return (int)number("noinit=", VT_NVML_SUCCESS);
}

int nvmlShutdown(void)
{
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = number("gpus=", 1);
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct vt_nvml_device **ret)
{
    devices[index].index = index;
    *ret = &devices[index];
    return VT_NVML_SUCCESS;
}

const char *nvmlErrorString(int code)
{
    return code == VT_NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Some\nError";
}

int nvmlDeviceGetName(struct vt_nvml_device *device, char *text, unsigned size)
{
    (void)device;
    strncpy(text, "Fake \x1b[1mH200", size);
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetPowerUsage(struct vt_nvml_device *device, unsigned *ret_mw)
{
    *ret_mw = milliwatts(device);
    return lost() || word("module") != NULL ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

/* --- limits -------------------------------------------------------------------------------- */

#ifndef FAKE_MISSING
int nvmlDeviceGetUUID(struct vt_nvml_device *device, char *text, unsigned size);
int nvmlDeviceGetPowerManagementLimit(struct vt_nvml_device *device, unsigned *ret);
int nvmlDeviceGetPowerManagementDefaultLimit(struct vt_nvml_device *device, unsigned *ret);
int nvmlDeviceGetEnforcedPowerLimit(struct vt_nvml_device *device, unsigned *ret);
int nvmlDeviceGetPowerManagementLimitConstraints(struct vt_nvml_device *device, unsigned *ret_least,
                                                 unsigned *ret_most);
int nvmlDeviceSetPowerManagementLimit(struct vt_nvml_device *device, unsigned mw);
int nvmlDeviceGetMaxClockInfo(struct vt_nvml_device *device, unsigned type, unsigned *ret_mhz);
int nvmlDeviceGetSupportedMemoryClocks(struct vt_nvml_device *device, unsigned *n, unsigned *mhz);
int nvmlDeviceGetSupportedGraphicsClocks(struct vt_nvml_device *device, unsigned memory_mhz,
                                         unsigned *n, unsigned *mhz);
int nvmlDeviceSetGpuLockedClocks(struct vt_nvml_device *device, unsigned least, unsigned most);
int nvmlDeviceResetGpuLockedClocks(struct vt_nvml_device *device);

static FILE *state_file(const char *what, const struct vt_nvml_device *device, const char *mode)
{
    const char *folder = getenv("VT_FAKE_NVML_STATE");
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s%u", folder != NULL ? folder : "/nowhere", what,
                   device->index);
    return fopen(path, mode);
}

static unsigned state(const char *what, const struct vt_nvml_device *device, unsigned otherwise)
{
    FILE *file = state_file(what, device, "r");
    unsigned first = 0, last = otherwise;

    if (file != NULL) {
        if (fscanf(file, "%u %u", &first, &last) != 2) {
            last = otherwise;
        }
        (void)fclose(file);
    }
    return last;
}

static int put_state(const char *what, const struct vt_nvml_device *device, unsigned first,
                     unsigned last)
{
    FILE *file = state_file(what, device, "r+");

    if (file == NULL) {
        file = state_file(what, device, "w");
    }
    if (file == NULL) {
        return 999;
    }
    (void)fprintf(file, "%u %u\n", first, last);
    return fclose(file) == 0 ? VT_NVML_SUCCESS : 999;
}

int nvmlDeviceGetUUID(struct vt_nvml_device *device, char *text, unsigned size)
{
    (void)snprintf(text, size, "GPU-fake-%u", device->index);
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetPowerManagementLimit(struct vt_nvml_device *device, unsigned *ret)
{
    *ret = state("gpu", device, 500000);
    return word("unreadable") != NULL ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

int nvmlDeviceGetPowerManagementDefaultLimit(struct vt_nvml_device *device, unsigned *ret)
{
    (void)device;
    *ret = 700000;
    return word("unreadable") != NULL ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

static double set_at;

int nvmlDeviceGetEnforcedPowerLimit(struct vt_nvml_device *device, unsigned *ret)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    if (word("late") != NULL && (double)at.tv_sec + (double)at.tv_nsec / 1e9 < set_at + 0.2) {
        *ret = 500000;
        return VT_NVML_SUCCESS;
    }
    return nvmlDeviceGetPowerManagementLimit(device, ret);
}

int nvmlDeviceGetPowerManagementLimitConstraints(struct vt_nvml_device *device, unsigned *ret_least,
                                                 unsigned *ret_most)
{
    (void)device;
    *ret_least = 200000;
    *ret_most = 700000;
    return word("unreadable") != NULL ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

int nvmlDeviceSetPowerManagementLimit(struct vt_nvml_device *device, unsigned mw)
{
    struct timespec at;

    if (word("nolimit") != NULL || word("refuse") != NULL) {
        return word("refuse") != NULL ? VT_NVML_NO_PERMISSION : VT_NVML_NOT_SUPPORTED;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    set_at = (double)at.tv_sec + (double)at.tv_nsec / 1e9;
    return word("slip") != NULL ? VT_NVML_SUCCESS : put_state("gpu", device, 0, mw);
}

int nvmlDeviceGetMaxClockInfo(struct vt_nvml_device *device, unsigned type, unsigned *ret_mhz)
{
    (void)device;
    (void)type;
    *ret_mhz = 1980;
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetSupportedMemoryClocks(struct vt_nvml_device *device, unsigned *n, unsigned *mhz)
{
    (void)device;
    mhz[0] = 2619;
    mhz[1] = 1593;
    *n = 2;
    return VT_NVML_SUCCESS;
}

int nvmlDeviceGetSupportedGraphicsClocks(struct vt_nvml_device *device, unsigned memory_mhz,
                                         unsigned *n, unsigned *mhz)
{
    (void)device;
    for (*n = 0; memory_mhz == 2619 && *n < 110; (*n)++) {
        mhz[*n] = 1980 - 15 * *n;
    }
    return VT_NVML_SUCCESS;
}

int nvmlDeviceSetGpuLockedClocks(struct vt_nvml_device *device, unsigned least, unsigned most)
{
    return word("refuse") != NULL ? VT_NVML_NO_PERMISSION
                                  : put_state("clocks", device, least, most);
}

int nvmlDeviceResetGpuLockedClocks(struct vt_nvml_device *device)
{
    return word("refuse") != NULL ? VT_NVML_NO_PERMISSION : put_state("clocks", device, 0, 1980);
}
#endif

#ifndef FAKE_MISSING
int nvmlDeviceGetTotalEnergyConsumption(struct vt_nvml_device *device, unsigned long long *ret_mj);
int nvmlDeviceGetFieldValues(struct vt_nvml_device *device, int n, struct vt_nvml_field *fields);
int nvmlDeviceGetMigMode(struct vt_nvml_device *device, unsigned *ret_now, unsigned *ret_pending);

static double now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double cpu_now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

int nvmlDeviceGetTotalEnergyConsumption(struct vt_nvml_device *device, unsigned long long *ret_mj)
{
    if (lost() || word("noenergy") != NULL) {
        return VT_NVML_NOT_SUPPORTED;
    }
    const double until = word("dear") != NULL ? cpu_now() + 2e-3 : 0;
    while (cpu_now() < until) {
    }
    const unsigned long long steps = (unsigned long long)(now() * 10);
    *ret_mj = steps * (milliwatts(device) / 10);
    return VT_NVML_SUCCESS;
}

/* The value's type differs between fields, as it does between drivers. */
int nvmlDeviceGetFieldValues(struct vt_nvml_device *device, int n, struct vt_nvml_field *fields)
{
    if (lost() || word("nofields") != NULL) {
        return VT_NVML_NOT_SUPPORTED;
    }
    const unsigned answered = word("module") != NULL ? VT_NVML_SCOPE_MODULE : VT_NVML_SCOPE_GPU;
    for (int i = 0; i < n; i++) {
        fields[i].result = fields[i].scope == answered ? VT_NVML_SUCCESS : VT_NVML_NOT_SUPPORTED;
        if (fields[i].field == VT_NVML_POWER_INSTANT) {
            fields[i].type = VT_NVML_TYPE_UINT;
            fields[i].value.u = milliwatts(device);
        } else {
            fields[i].type = VT_NVML_TYPE_ULONGLONG;
            fields[i].value.ull = milliwatts(device);
        }
    }
    return VT_NVML_SUCCESS;
}

/* 45 and 46 degrees in turns; the memory's field is not known. */
int nvmlDeviceGetTemperature(struct vt_nvml_device *device, int sensor, unsigned *ret_celsius);
int nvmlDeviceGetTemperature(struct vt_nvml_device *device, int sensor, unsigned *ret_celsius)
{
    (void)device;
    *ret_celsius = 45 + (unsigned)now() % 2;
    return lost() || sensor != 0 ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

int nvmlDeviceGetClockInfo(struct vt_nvml_device *device, int type, unsigned *ret_mhz);
int nvmlDeviceGetClockInfo(struct vt_nvml_device *device, int type, unsigned *ret_mhz)
{
    if (type == 0 || type == 1) { /* graphics, multiprocessors */
        *ret_mhz = word("gallop") != NULL ? 1980 : state("clocks", device, 1980);
    } else {
        *ret_mhz = 3201;
    }
    return lost() ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

/* Held by its power cap, and idle, which is no reason. */
int nvmlDeviceGetCurrentClocksEventReasons(struct vt_nvml_device *device, unsigned long long *ret);
int nvmlDeviceGetCurrentClocksEventReasons(struct vt_nvml_device *device, unsigned long long *ret)
{
    (void)device;
    *ret = word("capped") != NULL ? 0x5 : 0x1;
    return lost() ? VT_NVML_NOT_SUPPORTED : VT_NVML_SUCCESS;
}

int nvmlDeviceGetMigMode(struct vt_nvml_device *device, unsigned *ret_now, unsigned *ret_pending)
{
    (void)device;
    *ret_now = *ret_pending = word("mig") != NULL;
    return VT_NVML_SUCCESS;
}
#endif
#else
int no_nvml(void);
int no_nvml(void)
{
    return 0;
}
#endif
