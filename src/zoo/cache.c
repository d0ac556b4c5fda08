/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of the zoo by name, written once into the user's cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "zoo/zoo.h"

static const char small_suffix[] = "-small";

bool vt_zoo_choose(const char *name, struct vt_zoo_choice *ret_choice)
{
    size_t n_networks, n = strlen(name);
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n_networks);
    const size_t n_suffix = sizeof small_suffix - 1;
    const bool small = n > n_suffix && strcmp(name + n - n_suffix, small_suffix) == 0;

    n -= small ? n_suffix : 0;
    for (size_t i = 0; i < n_networks; i++) {
        const struct vt_zoo_network *network = networks[i];
        const size_t n_name = strlen(network->name);
        if (n < n_name || memcmp(name, network->name, n_name) != 0) {
            continue;
        }
        for (size_t g = 0; g < network->n_graphs; g++) {
            const char *graph = network->graphs[g].name;
            const bool whole = n == n_name && g == 0;
            if (whole ||
                (graph[0] != '\0' && n == n_name + 1 + strlen(graph) && name[n_name] == '-' &&
                 memcmp(name + n_name + 1, graph, strlen(graph)) == 0)) {
                *ret_choice = (struct vt_zoo_choice){network, g, small};
                return true;
            }
        }
    }
    return false;
}

/* The folder of the cache, made. vt_free it. */
static enum vt_status cache_folder(struct vt_error *err, char **ret_folder)
{
    char *folder = NULL;

    enum vt_status status = vt_cache_folder("vatio/zoo", err, &folder);
    if (status != VT_OK) {
        return status;
    }
    struct vt_error why = VT_ERROR_INIT;
    status = vt_make_folders(folder, &why);
    if (status != VT_OK) {
        vt_error_set(err, status,
                     "%s (generated models lie there; set XDG_CACHE_HOME to choose "
                     "another)",
                     why.text);
        vt_free(folder);
        return status;
    }
    *ret_folder = folder;
    return VT_OK;
}

/* Whoever comes second waits here until the file is written. -1 and an error. */
static int lock_file(const char *path, struct vt_error *err)
{
    char *name = vt_asprintf("%s.lock", path);

    if (name == NULL) {
        vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
        return -1;
    }
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            int code = errno;
            close(fd);
            errno = code;
            fd = -1;
        }
    }
    if (fd < 0) {
        vt_error_set(err, VT_ERR_WRITE,
                     "%s: cannot be written: %s (set XDG_CACHE_HOME to choose another folder)",
                     name, strerror(errno));
    }
    vt_free(name);
    return fd;
}

enum vt_status vt_zoo_cache(const struct vt_zoo_choice *choice, struct vt_error *err,
                            char **ret_path)
{
    const struct vt_zoo_network *network = choice->network;
    const char *graph = network->graphs[choice->graph].name;
    struct vt_zoo_spec spec;
    char *folder = NULL;

    enum vt_status status = vt_zoo_spec_init(&spec, network, choice->small, VT_ZOO_SEED, NULL, err);
    if (status == VT_OK) {
        status = cache_folder(err, &folder);
    }
    if (status != VT_OK) {
        return status;
    }
    /* The name says all that the bytes depend on. */
    char *path = vt_asprintf("%s/%s%s%s%s-seed%d-v%d.onnx", folder, network->name,
                             graph[0] != '\0' ? "-" : "", graph, choice->small ? small_suffix : "",
                             VT_ZOO_SEED, VT_ZOO_VERSION);
    vt_free(folder);
    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (!vt_path_exists(path)) {
        int lock = lock_file(path, err);
        if (lock < 0) {
            status = VT_ERR_WRITE;
        } else {
            if (!vt_path_exists(path)) {
                status = vt_zoo_write_graph(&spec, choice->graph, path, err);
            }
            close(lock);
        }
    }
    if (status != VT_OK) {
        vt_free(path);
        return status;
    }
    *ret_path = path;
    return VT_OK;
}
