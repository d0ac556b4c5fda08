/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"

static void log_debug(const char *text)
{
    vt_log(VT_LOG_DEBUG, "%s", text);
}

static struct vt_host host;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static void fill_host(void)
{
    host = (struct vt_host){
        .api_version = VT_ENGINE_API_VERSION,
        .struct_size = sizeof(struct vt_host),
        .version = vt_version(),
        .alloc = vt_alloc_aligned,
        .free = vt_free,
        .now_ns = vt_now_ns,
        .log_debug = log_debug,
    };
}

/* Cuts ":engine" off, unless a file has that very name. */
static enum vt_status split(const char *path, struct vt_error *err, char **ret_file,
                            const char **ret_engine)
{
    struct stat status;
    const char *colon = strrchr(path, ':');
    const char *slash = strrchr(path, '/');
    bool has_engine = stat(path, &status) != 0 && colon != NULL && (slash == NULL || colon > slash);
    size_t length = has_engine ? (size_t)(colon - path) : strlen(path);
    *ret_file = vt_strndup(path, length);
    *ret_engine = has_engine ? colon + 1 : NULL;
    return *ret_file != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory for a path");
}

/* What is plainly no module is said plainly; the loader's own words come for the rest. */
static enum vt_status check_file(const char *file, struct vt_error *err)
{
    struct stat status;
    if (stat(file, &status) != 0) {
        return vt_error_set(err, VT_ERR_NOT_FOUND, "engine module %s: %s", file, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "engine module %s is not a file; name a shared object", file);
    }
    return VT_OK;
}

static enum vt_status enter(void *handle, const char *file, struct vt_error *err,
                            const struct vt_module **ret_module)
{
    void *symbol = dlsym(handle, VT_MODULE_ENTRY);
    if (symbol == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s is not a vatio module: it does not export '%s' "
                            "(see src/engine/skeleton)",
                            file, VT_MODULE_ENTRY);
    }
    vt_module_entry_func entry;
    memcpy(&entry, &symbol, sizeof(entry)); /* ISO C has no cast from data to function pointer */
    pthread_once(&host_once, fill_host);
    const struct vt_module *module = entry(&host);
    if (module == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: the module refuses to work with vatio %s",
                            file, host.version);
    }
    if (module->api_version != VT_ENGINE_API_VERSION) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s was built for version %u of the engine interface, this is "
                            "version %d: build it again with these headers",
                            file, module->api_version, VT_ENGINE_API_VERSION);
    }
    if (module->struct_size < sizeof(*module) || module->n_engines == 0 ||
        module->engines == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: its description is incomplete: %u bytes where %zu are needed, "
                            "%u engines",
                            file, module->struct_size, sizeof(*module), module->n_engines);
    }
    *ret_module = module;
    return VT_OK;
}

static enum vt_status choose(const struct vt_module *module, const char *file, const char *engine,
                             struct vt_error *err, const struct vt_engine_ops **ret_ops)
{
    for (uint32_t i = 0; i < module->n_engines; i++) {
        const struct vt_engine_ops *ops = module->engines[i];
        if (ops == NULL || ops->name == NULL) {
            return vt_error_set(err, VT_ERR_FORMAT, "%s: engine %u of the module has no name", file,
                                i);
        }
        if (engine != NULL ? strcmp(ops->name, engine) == 0 : module->n_engines == 1) {
            *ret_ops = ops;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        engine != NULL ? "%s has no engine '%s'; one of its %u is '%s'"
                                       : "%s%s holds %u engines; name one, as in ':%s'",
                        file, engine != NULL ? engine : "", module->n_engines,
                        module->engines[0]->name);
}

enum vt_status vt_module_open(const char *path, struct vt_error *err,
                              const struct vt_engine_ops **ret_ops, void **ret_handle)
{
    char *file = NULL;
    const char *engine = NULL;
    void *handle = NULL;
    const struct vt_module *module = NULL;
    enum vt_status status = split(path, err, &file, &engine);
    if (status == VT_OK) {
        status = check_file(file, err);
    }
    if (status == VT_OK) {
        handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            const char *why = dlerror();
            status = vt_error_set(err, VT_ERR_FORMAT, "engine module cannot be loaded: %s",
                                  why != NULL ? why : file);
        }
    }
    if (status == VT_OK) {
        status = enter(handle, file, err, &module);
    }
    if (status == VT_OK) {
        status = choose(module, file, engine, err, ret_ops);
    }
    vt_free(file);
    if (status != VT_OK) {
        vt_module_close(handle);
        return status;
    }
    *ret_handle = handle;
    return VT_OK;
}

void vt_module_close(void *handle)
{
    if (handle != NULL) {
        dlclose(handle);
    }
}
