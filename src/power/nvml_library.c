/* SPDX-License-Identifier: Apache-2.0 */
#include "power/nvml_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "power/sysfs.h"

#define LIBRARY "libnvidia-ml.so.1"

static bool is_tegra(const struct vt_meter_options *options)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    if (vt_sysfs_path(path, "%s/devices/soc0/family", vt_sysfs_root(options)) &&
        vt_sysfs_text(path, text) == 0 && strcmp(text, "Tegra") == 0) {
        return true;
    }
    return vt_sysfs_path(path, "%s/firmware/devicetree/base/model", vt_sysfs_root(options)) &&
           vt_sysfs_text(path, text) == 0 && strstr(text, "Jetson") != NULL;
}

void vt_nvml_library_find(const struct vt_nvml_library *library,
                          const struct vt_nvml_symbol *symbols, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(library->handle, symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
}

static enum vt_status load(struct vt_nvml_library *library, const char *name, struct vt_error *err)
{
    const struct vt_nvml_symbol required[] = {
        {"nvmlInit_v2", &library->init},
        {"nvmlShutdown", &library->shutdown},
        {"nvmlDeviceGetCount_v2", &library->count},
        {"nvmlDeviceGetHandleByIndex_v2", &library->device},
    };
    const struct vt_nvml_symbol others[] = {
        {"nvmlErrorString", &library->error_string},
        {"nvmlDeviceGetName", &library->name},
    };

    library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%s is not here: install NVIDIA's driver (in a container: start it "
                            "with --gpus all and NVIDIA_DRIVER_CAPABILITIES=utility)",
                            vt_plain(name).text);
    }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (dlsym(library->handle, required[i].name) == NULL) {
            return vt_error_set(err, VT_ERR_UNAVAILABLE,
                                "%s lacks %s: it is too old or another library; update the driver",
                                vt_plain(name).text, required[i].name);
        }
    }
    vt_nvml_library_find(library, required, sizeof required / sizeof required[0]);
    vt_nvml_library_find(library, others, sizeof others / sizeof others[0]);
    return VT_OK;
}

const char *vt_nvml_library_error(const struct vt_nvml_library *library, int code)
{
    const char *text = library->error_string != NULL ? library->error_string(code) : NULL;
    return text != NULL ? text : "no text";
}

static enum vt_status start(struct vt_nvml_library *library, struct vt_error *err)
{
    const int code = library->init();
    const char *remedy = "nvidia-smi may say more";

    if (code == VT_NVML_SUCCESS) {
        library->ready = true;
        return VT_OK;
    }
    switch (code) {
    case VT_NVML_DRIVER_NOT_LOADED:
        remedy = "load the driver: sudo modprobe nvidia";
        break;
    case VT_NVML_NO_PERMISSION:
        remedy = "give this user access to /dev/nvidiactl and /dev/nvidia0";
        break;
    case VT_NVML_LIBRARY_MISMATCH:
        remedy = "library and loaded driver are of different versions: restart the machine";
        break;
    default:
        break;
    }
    return vt_error_set(err, code == VT_NVML_NO_PERMISSION ? VT_ERR_READ : VT_ERR_UNAVAILABLE,
                        "NVML does not start, error %d (%.100s): %s", code,
                        vt_plain(vt_nvml_library_error(library, code)).text, remedy);
}

static enum vt_status find_gpus(struct vt_nvml_library *library, struct vt_error *err)
{
    unsigned n = 0;
    const int code = library->count(&n);

    if (code != VT_NVML_SUCCESS || n == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "NVML sees no GPU%s: nvidia-smi -L should list one (in a container, "
                            "start it with --gpus all)",
                            code != VT_NVML_SUCCESS ? " (it cannot count them)" : "");
    }
    library->n_gpus = n < VT_NVML_GPUS_MAX ? n : VT_NVML_GPUS_MAX;
    for (unsigned gpu = 0; gpu < library->n_gpus; gpu++) {
        if (library->device(gpu, &library->gpus[gpu]) != VT_NVML_SUCCESS) {
            library->gpus[gpu] = NULL;
        }
    }
    return VT_OK;
}

enum vt_status vt_nvml_library_open(struct vt_nvml_library *library,
                                    const struct vt_meter_options *options, struct vt_error *err)
{
    const char *name =
        options != NULL && options->nvml_library != NULL ? options->nvml_library : LIBRARY;

    *library = (struct vt_nvml_library){0};
    /* NVML answers there, with zeros. */
    if (is_tegra(options)) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "this is a Jetson, whose GPU NVML does not know: use the meter jetson, "
                            "for caps nvpmodel");
    }
    enum vt_status status = load(library, name, err);
    if (status == VT_OK) {
        status = start(library, err);
    }
    return status == VT_OK ? find_gpus(library, err) : status;
}

void vt_nvml_library_close(struct vt_nvml_library *library)
{
    if (library->ready) {
        (void)library->shutdown();
    }
    if (library->handle != NULL) {
        (void)dlclose(library->handle);
    }
    *library = (struct vt_nvml_library){0};
}

void vt_nvml_library_gpu_name(const struct vt_nvml_library *library, unsigned gpu, char *text,
                              size_t size)
{
    if (library->name == NULL ||
        library->name(library->gpus[gpu], text, (unsigned)size) != VT_NVML_SUCCESS) {
        (void)snprintf(text, size, "NVIDIA GPU");
    }
    text[size - 1] = '\0';
    (void)vt_tame(text);
}
