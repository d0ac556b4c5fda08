/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA GPUs: the power limit, in milliwatts, and, where the driver refuses that (laptops, some
 * modules), the range of graphics clocks.
 *
 * The range that was locked before cannot be read from the driver: it is reset. NVML stays open as
 * long as a hold has it, so that the driver is not unloaded meanwhile, which would lose the limit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "power/cap/cap.h"
#include "power/nvml_library.h"

#define CLOCKS_MAX 512

/* Of a GPU: clocks that can be limited. */
#define GRAPHICS 0U
/* The clock moves in steps of 15 MHz, and may read one above what it is locked at. */
#define STEP_MHZ   16
#define LATE_NS    (500 * VT_NS_PER_MS)
#define LATE_PAUSE (20 * VT_NS_PER_MS)

/* Limits in mW; no GPU has more. */
#define LIMIT_MAX 100000000

typedef int (*number_func)(struct vt_nvml_device *device, unsigned *ret);

/* Any of these may be missing in an old library. */
struct functions {
    int (*uuid)(struct vt_nvml_device *device, char *text, unsigned size);
    number_func limit, standard, enforced;
    int (*bounds)(struct vt_nvml_device *device, unsigned *ret_least, unsigned *ret_most);
    int (*set_limit)(struct vt_nvml_device *device, unsigned mw);
    int (*clock)(struct vt_nvml_device *device, unsigned type, unsigned *ret_mhz);
    int (*most_clock)(struct vt_nvml_device *device, unsigned type, unsigned *ret_mhz);
    int (*memory_clocks)(struct vt_nvml_device *device, unsigned *n, unsigned *mhz);
    int (*clocks)(struct vt_nvml_device *device, unsigned memory_mhz, unsigned *n, unsigned *mhz);
    int (*lock)(struct vt_nvml_device *device, unsigned least_mhz, unsigned most_mhz);
    int (*reset)(struct vt_nvml_device *device);
};

struct gpu {
    struct vt_nvml_device *device;
    double locked; /* MHz, by us; NAN: not */
    bool saved;    /* what there was is on record, by us */
    unsigned lowest, highest;
};

struct nvml {
    struct vt_nvml_library library;
    struct functions call;
    uint32_t n;
    struct vt_cap_domain domains[VT_NVML_GPUS_MAX];
    struct gpu gpus[VT_NVML_GPUS_MAX];
};

/* --- the library --------------------------------------------------------------------------- */

static void find_functions(struct nvml *nvml)
{
    struct functions *call = &nvml->call;
    const struct vt_nvml_symbol symbols[] = {
        {"nvmlDeviceGetUUID", &call->uuid},
        {"nvmlDeviceGetPowerManagementLimit", &call->limit},
        {"nvmlDeviceGetPowerManagementDefaultLimit", &call->standard},
        {"nvmlDeviceGetEnforcedPowerLimit", &call->enforced},
        {"nvmlDeviceGetPowerManagementLimitConstraints", &call->bounds},
        {"nvmlDeviceSetPowerManagementLimit", &call->set_limit},
        {"nvmlDeviceGetClockInfo", &call->clock},
        {"nvmlDeviceGetMaxClockInfo", &call->most_clock},
        {"nvmlDeviceGetSupportedMemoryClocks", &call->memory_clocks},
        {"nvmlDeviceGetSupportedGraphicsClocks", &call->clocks},
        {"nvmlDeviceSetGpuLockedClocks", &call->lock},
        {"nvmlDeviceResetGpuLockedClocks", &call->reset},
    };

    vt_nvml_library_find(&nvml->library, symbols, sizeof symbols / sizeof symbols[0]);
}

/* The status of an NVML call that changes or reads something, with the remedy. */
static enum vt_status failed(const struct nvml *nvml, int code, const char *what,
                             struct vt_error *err)
{
    switch (code) {
    case VT_NVML_NO_PERMISSION:
        return vt_error_set(err, VT_ERR_WRITE,
                            "%s: no permission: run as root (sudo), or with CAP_SYS_ADMIN (in a "
                            "container: --cap-add=SYS_ADMIN)",
                            what);
    case VT_NVML_NOT_SUPPORTED:
        return vt_error_set(err, VT_ERR_UNSUPPORTED, "%s: not supported by this GPU or its driver",
                            what);
    default:
        return vt_error_set(err, VT_ERR_ENGINE, "%s: NVML answers %d (%.80s)", what, code,
                            vt_plain(vt_nvml_library_error(&nvml->library, code)).text);
    }
}

static unsigned extreme(const unsigned *mhz, unsigned n, bool least)
{
    unsigned best = n > 0 ? mhz[0] : 0;

    for (unsigned i = 1; i < n; i++) {
        best = (mhz[i] < best) == least ? mhz[i] : best;
    }
    return best;
}

/* The lowest and highest graphics clock; 0: not known. */
static void find_clocks(const struct nvml *nvml, struct gpu *gpu)
{
    const struct functions *call = &nvml->call;
    unsigned memory[CLOCKS_MAX], mhz[CLOCKS_MAX], n = CLOCKS_MAX;

    if (call->most_clock == NULL ||
        call->most_clock(gpu->device, GRAPHICS, &gpu->highest) != VT_NVML_SUCCESS) {
        gpu->highest = 0;
    }
    if (call->memory_clocks != NULL && call->clocks != NULL &&
        call->memory_clocks(gpu->device, &n, memory) == VT_NVML_SUCCESS && n > 0 &&
        n <= CLOCKS_MAX) {
        const unsigned fastest = extreme(memory, n, false);
        n = CLOCKS_MAX;
        if (call->clocks(gpu->device, fastest, &n, mhz) == VT_NVML_SUCCESS && n <= CLOCKS_MAX) {
            gpu->lowest = extreme(mhz, n, true);
        }
    }
}

static void add_gpu(struct nvml *nvml, unsigned index)
{
    struct vt_nvml_device *device = nvml->library.gpus[index];
    struct vt_cap_domain *domain = &nvml->domains[nvml->n];
    struct gpu *gpu = &nvml->gpus[nvml->n++];

    *gpu = (struct gpu){.device = device, .locked = (double)NAN};
    (void)snprintf(domain->name, sizeof domain->name, "gpu%u", index);
    (void)snprintf(domain->id, sizeof domain->id, "gpu%u", index);
    vt_nvml_library_gpu_name(&nvml->library, index, domain->device, sizeof domain->device);
    if (nvml->call.uuid != NULL) {
        char uuid[sizeof domain->id] = "";
        if (nvml->call.uuid(device, uuid, sizeof uuid) == VT_NVML_SUCCESS && uuid[0] != '\0') {
            uuid[sizeof uuid - 1] = '\0';
            (void)snprintf(domain->id, sizeof domain->id, "%s", vt_tame(uuid));
        }
    }
    find_clocks(nvml, gpu);
}

static enum vt_status add_gpus(struct nvml *nvml, bool clocks, struct vt_error *err)
{
    const struct functions *call = &nvml->call;

    find_functions(nvml);
    if (clocks ? call->lock == NULL || call->reset == NULL
               : call->limit == NULL || call->set_limit == NULL) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "NVIDIA's library cannot limit %s: it is too old; update the driver",
                            clocks ? "clocks" : "power");
    }
    for (unsigned i = 0; i < nvml->library.n_gpus; i++) {
        if (nvml->library.gpus[i] != NULL) {
            add_gpu(nvml, i);
        }
    }
    return nvml->n > 0 ? VT_OK
                       : vt_error_set(err, VT_ERR_UNAVAILABLE,
                                      "no GPU can be asked: the rights of this user do not allow "
                                      "it (nvidia-smi -L)");
}

static void nvml_close(void *cap)
{
    struct nvml *nvml = cap;

    if (nvml != NULL) {
        vt_nvml_library_close(&nvml->library);
        vt_free(nvml);
    }
}

static enum vt_status nvml_open(const struct vt_cap_ops *self, const struct vt_cap_places *places,
                                struct vt_error *err, void **ret_cap)
{
    const struct vt_meter_options options = {.sysfs = places != NULL ? places->sysfs : NULL,
                                             .nvml_library =
                                                 places != NULL ? places->nvml_library : NULL};
    struct nvml *nvml = vt_calloc(1, sizeof *nvml);

    if (nvml == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a cap");
    }
    enum vt_status status = vt_nvml_library_open(&nvml->library, &options, err);
    if (status == VT_OK) {
        status = add_gpus(nvml, self == &vt_cap_nvml_clocks, err);
    }
    if (status != VT_OK) {
        nvml_close(nvml);
        return status;
    }
    *ret_cap = nvml;
    return VT_OK;
}

static const struct vt_cap_domain *nvml_domains(const void *cap, uint32_t *ret_n)
{
    const struct nvml *nvml = cap;

    *ret_n = nvml->n;
    return nvml->domains;
}

/* What the driver allows shows only when it is set. */
static enum vt_status nvml_may_set(void *cap, struct vt_error *err)
{
    (void)cap;
    return geteuid() == 0 ? VT_OK
                          : vt_error_set(err, VT_ERR_WRITE,
                                         "may be set by root only (sudo), or with CAP_SYS_ADMIN");
}

/* --- the power limit ----------------------------------------------------------------------- */

static double watts(const struct nvml *nvml, uint32_t domain, number_func func)
{
    unsigned mw = 0;

    return func != NULL && func(nvml->gpus[domain].device, &mw) == VT_NVML_SUCCESS ? mw / 1e3
                                                                                   : (double)NAN;
}

/* A GPU that knows no limit has none to show; that it cannot be set shows when it is. */
static enum vt_status limit_get(void *cap, uint32_t domain, struct vt_error *err,
                                struct vt_cap_value *ret_value)
{
    const struct nvml *nvml = cap;
    unsigned least = 0, most = 0;
    struct vt_cap_value value = {watts(nvml, domain, nvml->call.limit), (double)NAN, (double)NAN,
                                 watts(nvml, domain, nvml->call.standard)};

    (void)err;
    if (nvml->call.bounds != NULL &&
        nvml->call.bounds(nvml->gpus[domain].device, &least, &most) == VT_NVML_SUCCESS) {
        value.minimum = least / 1e3;
        value.maximum = most / 1e3;
    }
    *ret_value = value;
    return VT_OK;
}

static enum vt_status limit_save(void *cap, uint32_t domain, struct vt_error *err,
                                 struct vt_cap_raw *ret_raw)
{
    const struct nvml *nvml = cap;
    unsigned mw = 0;

    const int code = nvml->call.limit(nvml->gpus[domain].device, &mw);
    if (code == VT_NVML_NOT_SUPPORTED) {
        *ret_raw = (struct vt_cap_raw){{-1, -1}}; /* none: nothing to put back */
        return VT_OK;
    }
    if (code != VT_NVML_SUCCESS) {
        return failed(nvml, code, "the power limit cannot be read", err);
    }
    *ret_raw = (struct vt_cap_raw){{mw, -1}};
    return VT_OK;
}

static enum vt_status limit_set(void *cap, uint32_t domain, double value, struct vt_error *err)
{
    const struct nvml *nvml = cap;
    const double mw = value * 1e3;

    if (!(mw >= 0 && mw <= LIMIT_MAX)) {
        return vt_error_set(err, VT_ERR_USAGE, "%.6g W: no GPU has such a limit", value);
    }
    const int code = nvml->call.set_limit(nvml->gpus[domain].device, (unsigned)lround(mw));
    return code == VT_NVML_SUCCESS ? VT_OK : failed(nvml, code, "the power limit", err);
}

/* What is enforced may be less than the limit: a second limit counts too. */
static enum vt_status limit_enforced(void *cap, uint32_t domain, struct vt_error *err,
                                     double *ret_value)
{
    const struct nvml *nvml = cap;
    double value = watts(nvml, domain, nvml->call.enforced);

    if (isnan(value)) {
        value = watts(nvml, domain, nvml->call.limit);
    }
    if (isnan(value)) {
        return vt_error_set(err, VT_ERR_ENGINE, "the enforced power limit cannot be read");
    }
    *ret_value = value;
    return VT_OK;
}

static enum vt_status limit_restore(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                                    struct vt_error *err)
{
    const struct nvml *nvml = cap;
    struct vt_nvml_device *device = nvml->gpus[domain].device;
    const int64_t wanted = raw->number[0];
    unsigned now = 0;

    if (wanted < -1 || wanted > LIMIT_MAX || raw->number[1] != -1) {
        return vt_error_set(err, VT_ERR_FORMAT, "%lld mW was never a limit", (long long)wanted);
    }
    if (wanted < 0 || (nvml->call.limit(device, &now) == VT_NVML_SUCCESS && now == wanted)) {
        return VT_OK;
    }
    int code = nvml->call.set_limit(device, (unsigned)wanted);
    if (code != VT_NVML_SUCCESS) {
        return failed(nvml, code, "the power limit", err);
    }
    code = nvml->call.limit(device, &now);
    if (code != VT_NVML_SUCCESS || now != wanted) {
        return vt_error_set(err, VT_ERR_ENGINE, "%.6g W were put back and %.6g W are set",
                            (double)wanted / 1e3, now / 1e3);
    }
    return VT_OK;
}

/* --- locked clocks ------------------------------------------------------------------------- */

static double clock_now(const struct nvml *nvml, uint32_t domain)
{
    unsigned mhz = 0;

    return nvml->call.clock != NULL &&
                   nvml->call.clock(nvml->gpus[domain].device, GRAPHICS, &mhz) == VT_NVML_SUCCESS
               ? mhz
               : (double)NAN;
}

/* The share of the usual limit that is asked for, of the highest clock. Power falls faster than
 * clocks do, down to what a GPU takes at rest. */
static double clocks_for(void *cap, uint32_t domain, double value)
{
    const struct nvml *nvml = cap;
    const struct gpu *gpu = &nvml->gpus[domain];
    const double share = value / watts(nvml, domain, nvml->call.standard);

    if (gpu->highest == 0 || !(share > 0)) {
        return (double)NAN;
    }
    return fmax(floor(fmin(share, 1) * gpu->highest), gpu->lowest);
}

static enum vt_status clocks_get(void *cap, uint32_t domain, struct vt_error *err,
                                 struct vt_cap_value *ret_value)
{
    const struct nvml *nvml = cap;
    const struct gpu *gpu = &nvml->gpus[domain];

    (void)err;
    *ret_value = (struct vt_cap_value){gpu->locked, gpu->lowest > 0 ? gpu->lowest : (double)NAN,
                                       gpu->highest > 0 ? gpu->highest : (double)NAN,
                                       gpu->highest > 0 ? gpu->highest : (double)NAN};
    return VT_OK;
}

static enum vt_status clocks_save(void *cap, uint32_t domain, struct vt_error *err,
                                  struct vt_cap_raw *ret_raw)
{
    struct nvml *nvml = cap;

    (void)err;
    nvml->gpus[domain].saved = true;
    *ret_raw = (struct vt_cap_raw){{0, -1}};
    return VT_OK;
}

static enum vt_status clocks_set(void *cap, uint32_t domain, double value, struct vt_error *err)
{
    struct nvml *nvml = cap;
    struct gpu *gpu = &nvml->gpus[domain];

    if (!(value >= 1 && value <= 100000)) {
        return vt_error_set(err, VT_ERR_USAGE, "%.6g MHz: no GPU has such a clock", value);
    }
    const unsigned most = (unsigned)value;
    const unsigned least = gpu->lowest > 0 && gpu->lowest < most ? gpu->lowest : most;
    const int code = nvml->call.lock(gpu->device, least, most);
    if (code != VT_NVML_SUCCESS) {
        return failed(nvml, code, "locked clocks", err);
    }
    gpu->locked = most;
    return VT_OK;
}

/* The driver does not tell what is locked; the clock itself shows when it is above. */
static enum vt_status clocks_enforced(void *cap, uint32_t domain, struct vt_error *err,
                                      double *ret_value)
{
    const struct nvml *nvml = cap;
    const double locked = nvml->gpus[domain].locked;
    const int64_t deadline = vt_now_ns() + LATE_NS;
    double now = clock_now(nvml, domain);

    (void)err;
    while (now > locked + STEP_MHZ && vt_now_ns() < deadline) {
        vt_sleep_until_ns(vt_now_ns() + LATE_PAUSE, 0);
        now = clock_now(nvml, domain);
    }
    *ret_value = now > locked + STEP_MHZ ? now : locked;
    return VT_OK;
}

static enum vt_status clocks_restore(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                                     struct vt_error *err)
{
    struct nvml *nvml = cap;

    if (raw->number[0] != 0 || raw->number[1] != -1) {
        return vt_error_set(err, VT_ERR_FORMAT, "locked clocks are only ever reset");
    }
    /* Where locking was refused, so is the reset, and there is nothing to put back. */
    if (nvml->gpus[domain].saved && isnan(nvml->gpus[domain].locked)) {
        return VT_OK;
    }
    const int code = nvml->call.reset(nvml->gpus[domain].device);
    if (code != VT_NVML_SUCCESS && code != VT_NVML_NOT_SUPPORTED) {
        return failed(nvml, code, "resetting locked clocks", err);
    }
    nvml->gpus[domain].locked = (double)NAN;
    return VT_OK;
}

const struct vt_cap_ops vt_cap_nvml = {
    .api_version = VT_CAP_API_VERSION,
    .struct_size = sizeof(struct vt_cap_ops),
    .name = "nvml",
    .summary = "power limit of NVIDIA GPUs; where it is refused, locked clocks in its place",
    .unit = "W",
    .tolerance = 0.01,
    .open = nvml_open,
    .domains = nvml_domains,
    .get = limit_get,
    .may_set = nvml_may_set,
    .save = limit_save,
    .set = limit_set,
    .enforced = limit_enforced,
    .restore = limit_restore,
    .fallback = &vt_cap_nvml_clocks,
    .fallback_value = clocks_for,
    .close = nvml_close,
};

const struct vt_cap_ops vt_cap_nvml_clocks = {
    .api_version = VT_CAP_API_VERSION,
    .struct_size = sizeof(struct vt_cap_ops),
    .name = "nvml-clocks",
    .summary = "highest graphics clock of NVIDIA GPUs (locked clocks); put back by a reset",
    .unit = "MHz",
    .tolerance = 0.02,
    .open = nvml_open,
    .domains = nvml_domains,
    .get = clocks_get,
    .may_set = nvml_may_set,
    .save = clocks_save,
    .set = clocks_set,
    .enforced = clocks_enforced,
    .restore = clocks_restore,
    .close = nvml_close,
};
