/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/quote.h"
#include "base/utf8.h"

enum vt_status vt_engine_check_settings(const struct vt_engine_config *config, const char *engine,
                                        const char *const *keys, size_t n, struct vt_error *err)
{
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const char *key = config->settings[i].key;
        size_t k = 0;
        while (k < n && strcmp(keys[k], key) != 0) {
            k++;
        }
        if (k < n) {
            continue;
        }
        const char *nearest = vt_nearest_name(key, keys, n);
        if (nearest == NULL && n > 0) {
            nearest = keys[0];
        }
        return vt_error_set(err, VT_ERR_USAGE, "engine %s has no setting '%s'; %s%s%s", engine, key,
                            nearest != NULL ? "did you mean '" : "it has none",
                            nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    return VT_OK;
}

enum vt_status vt_engine_setting_int(const struct vt_engine_config *config, const char *key,
                                     int64_t fallback, int64_t minimum, int64_t maximum,
                                     struct vt_error *err, int64_t *ret)
{
    int64_t value = fallback;
    for (uint32_t i = 0; i < config->n_settings; i++) {
        if (strcmp(config->settings[i].key, key) != 0) {
            continue;
        }
        const char *text = config->settings[i].value;
        if (vt_parse_int(text, &value, NULL) != VT_OK || value < minimum || value > maximum) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "setting '%s' is '%s', but must be a whole number from %lld to "
                                "%lld",
                                key, text, (long long)minimum, (long long)maximum);
        }
    }
    *ret = value;
    return VT_OK;
}

enum vt_status vt_engine_setting_real(const struct vt_engine_config *config, const char *key,
                                      double fallback, double minimum, double limit,
                                      struct vt_error *err, double *ret)
{
    double value = fallback;
    for (uint32_t i = 0; i < config->n_settings; i++) {
        if (strcmp(config->settings[i].key, key) != 0) {
            continue;
        }
        const char *text = config->settings[i].value;
        if (vt_parse_real(text, &value, NULL) != VT_OK || value < minimum || value >= limit) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "setting '%s' is %s, but must be a number from %g to below %g", key,
                                vt_quote(text).text, minimum, limit);
        }
    }
    *ret = value;
    return VT_OK;
}

const char *vt_engine_setting_text(const struct vt_engine_config *config, const char *key,
                                   const char *fallback)
{
    const char *value = fallback;
    for (uint32_t i = 0; i < config->n_settings; i++) {
        if (strcmp(config->settings[i].key, key) == 0) {
            value = config->settings[i].value;
        }
    }
    return value;
}

enum vt_status vt_engine_setting_choice(const struct vt_engine_config *config, const char *key,
                                        const char *const *choices, size_t n, size_t fallback,
                                        struct vt_error *err, size_t *ret)
{
    const char *value = vt_engine_setting_text(config, key, choices[fallback]);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(choices[i], value) == 0) {
            *ret = i;
            return VT_OK;
        }
    }
    char list[160];
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < n && used < sizeof(list); i++) {
        int more = snprintf(list + used, sizeof(list) - used, "%s%s",
                            i == 0 ? "" : (i + 1 < n ? ", " : " and "), choices[i]);
        used += more > 0 ? (size_t)more : 0;
    }
    return vt_error_set(err, VT_ERR_USAGE, "setting '%s' is %s; allowed are %s", key,
                        vt_quote(value).text, list);
}

enum vt_status vt_engine_setting_switch(const struct vt_engine_config *config, const char *key,
                                        bool fallback, struct vt_error *err, bool *ret)
{
    static const char *const choices[] = {"off", "on"};
    size_t chosen = 0;
    enum vt_status status =
        vt_engine_setting_choice(config, key, choices, 2, fallback ? 1 : 0, err, &chosen);
    if (status == VT_OK) {
        *ret = chosen == 1;
    }
    return status;
}

enum vt_status vt_engine_deal_shapes(const struct vt_engine_config *config,
                                     const struct vt_shape_taker *taker, struct vt_error *err)
{
    struct vt_shape_binding *chosen = vt_calloc((size_t)config->n_shapes + 1, sizeof(*chosen));
    bool *used = vt_calloc((size_t)config->n_shapes + 1, sizeof(*used));
    enum vt_status status = VT_OK;
    if (chosen == NULL || used == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for shape bindings");
    }
    for (uint32_t g = 0; g < taker->n_graphs && status == VT_OK; g++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < config->n_shapes; i++) {
            if (taker->n_graphs == 1 || taker->knows(taker->context, g, config->shapes[i].name)) {
                chosen[n++] = config->shapes[i];
                used[i] = true;
            }
        }
        status = taker->bind(taker->context, g, chosen, n, err);
    }
    for (uint32_t i = 0; i < config->n_shapes && status == VT_OK; i++) {
        if (!used[i]) {
            status = vt_error_set(err, VT_ERR_USAGE,
                                  "shape of '%s': none of the %u graphs has an input or a symbol "
                                  "of that name",
                                  config->shapes[i].name, taker->n_graphs);
        }
    }
    vt_free(chosen);
    vt_free(used);
    return status;
}

bool vt_engine_batch_of(const struct vt_signature *signature, int64_t batch,
                        struct vt_tensor *ret_inputs)
{
    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        if (port->rank > VT_RANK_MAX) {
            return false;
        }
        ret_inputs[i] = (struct vt_tensor){.dtype = port->dtype, .rank = port->rank};
        for (uint32_t d = 0; d < port->rank; d++) {
            if (port->dim[d] < 0 && d > 0) {
                return false;
            }
            ret_inputs[i].dim[d] = port->dim[d] >= 0 ? port->dim[d] : batch;
        }
        if (!vt_shape_bytes(port->dtype, ret_inputs[i].dim, port->rank, &ret_inputs[i].bytes)) {
            return false;
        }
    }
    return true;
}

char *vt_engine_one_line(const char *text, char *ret, size_t size)
{
    size_t to = 0;
    for (const char *at = text; *at != '\0';) {
        size_t bytes = vt_utf8_bytes(at);
        unsigned char c = (unsigned char)*at;
        bool blank = c <= ' ' || c == 0x7f;
        if (to + (bytes > 0 ? bytes : 1) + sizeof("...") > size) {
            memcpy(ret + to, "...", sizeof("..."));
            return ret;
        }
        if (blank && (to == 0 || ret[to - 1] == ' ')) {
            at++;
            continue;
        }
        if (blank || bytes == 0) {
            ret[to++] = blank ? ' ' : '?';
            at++;
            continue;
        }
        memcpy(ret + to, at, bytes);
        to += bytes;
        at += bytes;
    }
    while (to > 0 && ret[to - 1] == ' ') {
        to--;
    }
    ret[to] = '\0';
    return ret;
}
