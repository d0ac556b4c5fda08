/* SPDX-License-Identifier: Apache-2.0 */
#include "zoo/zoo.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "zoo/networks.h"

static const struct vt_zoo_network *const networks[] = {
    &vt_zoo_resnet50, &vt_zoo_retinanet,  &vt_zoo_unet3d,
    &vt_zoo_rnnt,     &vt_zoo_bert_large, &vt_zoo_dlrm,
};

const struct vt_zoo_network *const *vt_zoo_networks(size_t *ret_n)
{
    *ret_n = sizeof networks / sizeof networks[0];
    return networks;
}

const struct vt_zoo_network *vt_zoo_find(const char *name)
{
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        if (strcmp(networks[i]->name, name) == 0) {
            return networks[i];
        }
    }
    return NULL;
}

/* --- the values of a network -------------------------------------------------------------------
 */

static enum vt_status no_such_key(const struct vt_zoo_network *network, const char *text, size_t n,
                                  struct vt_error *err)
{
    char key[64], keys[256] = "";
    const char *names[VT_ZOO_PARAMETERS_MAX];
    size_t used = 0;

    (void)snprintf(key, sizeof key, "%.*s", (int)(n < sizeof key ? n : sizeof key - 1), text);
    for (size_t i = 0; i < network->n_parameters; i++) {
        names[i] = network->parameters[i].key;
        int more = snprintf(keys + used, sizeof keys - used, "%s%s", i > 0 ? ", " : "", names[i]);
        used += more > 0 && (size_t)more < sizeof keys - used ? (size_t)more : 0;
    }
    const char *near = vt_nearest_name(key, names, network->n_parameters);
    return vt_error_set(err, VT_ERR_USAGE, "--set %s: %s has no '%s'%s%s%s; it has %s",
                        vt_plain(text).text, network->name, vt_plain(key).text,
                        near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'" : "", keys);
}

static enum vt_status set_value(struct vt_zoo_spec *spec, const char *text, struct vt_error *err)
{
    const struct vt_zoo_network *network = spec->network;
    const char *equals = strchr(text, '=');
    struct vt_error ignored = VT_ERROR_INIT;
    int64_t value;

    if (equals == NULL || equals == text) {
        return vt_error_set(err, VT_ERR_USAGE, "--set %s: KEY=VALUE is needed",
                            vt_plain(text).text);
    }
    const size_t n = (size_t)(equals - text);
    for (size_t i = 0; i < network->n_parameters; i++) {
        const struct vt_zoo_parameter *parameter = &network->parameters[i];
        if (strlen(parameter->key) != n || memcmp(parameter->key, text, n) != 0) {
            continue;
        }
        if (vt_parse_int(equals + 1, &value, &ignored) != VT_OK || value < parameter->minimum ||
            value > parameter->maximum) {
            return vt_error_set(err, VT_ERR_USAGE, "--set %s: allowed are %lld..%lld",
                                vt_plain(text).text, (long long)parameter->minimum,
                                (long long)parameter->maximum);
        }
        spec->values[i] = value;
        return VT_OK;
    }
    return no_such_key(network, text, n, err);
}

enum vt_status vt_zoo_spec_init(struct vt_zoo_spec *spec, const struct vt_zoo_network *network,
                                bool small, uint64_t seed, const struct vt_text_list *sets,
                                struct vt_error *err)
{
    struct vt_zoo_spec made = {.network = network, .seed = seed, .small = small};

    for (size_t i = 0; i < network->n_parameters; i++) {
        made.values[i] = small ? network->parameters[i].small : network->parameters[i].full;
    }
    for (size_t i = 0; sets != NULL && i < sets->count; i++) {
        enum vt_status status = set_value(&made, sets->items[i], err);
        if (status != VT_OK) {
            return status;
        }
    }
    *spec = made;
    return VT_OK;
}

/* --- writing -----------------------------------------------------------------------------------
 */

/* Describes a graph; on success the caller releases the net. */
static enum vt_status describe(const struct vt_zoo_spec *spec, size_t graph, struct vt_error *err,
                               struct vt_net *net)
{
    const struct vt_zoo_graph *part = &spec->network->graphs[graph];
    char name[64];

    (void)snprintf(name, sizeof name, "%s%s%s", spec->network->name,
                   part->name[0] != '\0' ? "-" : "", part->name);
    enum vt_status status = vt_net_init(net, spec, name, err);
    if (status == VT_OK) {
        status = part->build(net, err);
    }
    if (status == VT_OK && net->failed) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
    }
    if (status != VT_OK) {
        vt_net_release(net);
    }
    return status;
}

enum vt_status vt_zoo_write_graph(const struct vt_zoo_spec *spec, size_t graph, const char *path,
                                  struct vt_error *err)
{
    struct vt_net net;

    enum vt_status status = describe(spec, graph, err, &net);
    if (status == VT_OK) {
        status = vt_model_writer_save(net.writer, path, VT_WRITE_INLINE_MAX, err);
        vt_net_release(&net);
    }
    return status;
}

enum vt_status vt_zoo_weight_bytes(const struct vt_zoo_spec *spec, struct vt_error *err,
                                   uint64_t *ret_bytes)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < spec->network->n_graphs; i++) {
        struct vt_net net;
        enum vt_status status = describe(spec, i, err, &net);
        if (status != VT_OK) {
            return status;
        }
        bytes += vt_model_writer_weight_bytes(net.writer);
        vt_net_release(&net);
    }
    *ret_bytes = bytes;
    return VT_OK;
}

enum vt_status vt_zoo_write(const struct vt_zoo_spec *spec, const char *path, struct vt_error *err)
{
    const struct vt_zoo_network *network = spec->network;

    if (network->n_graphs == 1) {
        return vt_zoo_write_graph(spec, 0, path, err);
    }
    /* What does not fit together is found before anything is made. */
    uint64_t bytes;
    enum vt_status status = vt_zoo_weight_bytes(spec, err, &bytes);
    if (status == VT_OK) {
        status = vt_make_folders(path, err);
    }
    for (size_t i = 0; i < network->n_graphs && status == VT_OK; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s.onnx", network->graphs[i].name);
        char *file = vt_path_join(path, name);
        status = file == NULL ? vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path)
                              : vt_zoo_write_graph(spec, i, file, err);
        vt_free(file);
    }
    return status;
}
