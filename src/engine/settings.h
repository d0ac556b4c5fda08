/* SPDX-License-Identifier: Apache-2.0 */
/* What the built-in engines share: the notation of settings, shapes, batches, foreign messages. */
#ifndef VT_ENGINE_SETTINGS_H
#define VT_ENGINE_SETTINGS_H

#include "vatio/engine.h"

/* More samples than any request has. */
#define VT_ANY_BATCH 65536u

/* VT_ERR_USAGE when one of the given settings is not among the n keys; names the nearest. */
enum vt_status vt_engine_check_settings(const struct vt_engine_config *config, const char *engine,
                                        const char *const *keys, size_t n,
                                        struct vt_error *err) VT_NODISCARD;
/* The value of a setting as an integer within [minimum, maximum]; `fallback` when it is absent. */
enum vt_status vt_engine_setting_int(const struct vt_engine_config *config, const char *key,
                                     int64_t fallback, int64_t minimum, int64_t maximum,
                                     struct vt_error *err, int64_t *ret) VT_NODISCARD;

/* Likewise as a decimal number of at least `minimum`, below `limit`. */
enum vt_status vt_engine_setting_real(const struct vt_engine_config *config, const char *key,
                                      double fallback, double minimum, double limit,
                                      struct vt_error *err, double *ret) VT_NODISCARD;

/* The value as it was given, the last one where there are several; `fallback` when absent. */
const char *vt_engine_setting_text(const struct vt_engine_config *config, const char *key,
                                   const char *fallback);
/* The number of the value among n choices; VT_ERR_USAGE names them. */
enum vt_status vt_engine_setting_choice(const struct vt_engine_config *config, const char *key,
                                        const char *const *choices, size_t n, size_t fallback,
                                        struct vt_error *err, size_t *ret) VT_NODISCARD;
/* "on" or "off". */
enum vt_status vt_engine_setting_switch(const struct vt_engine_config *config, const char *key,
                                        bool fallback, struct vt_error *err,
                                        bool *ret) VT_NODISCARD;

/* Graphs that take shape bindings. */
struct vt_shape_taker {
    void *context;
    uint32_t n_graphs;
    /* Whether an input of the graph, or a symbol of one, has this name. */
    bool (*knows)(void *context, uint32_t graph, const char *name);
    enum vt_status (*bind)(void *context, uint32_t graph, const struct vt_shape_binding *shapes,
                           uint32_t n, struct vt_error *err);
};

/* Every graph is bound once: a sole graph with all bindings, one of several with those whose name
 * it knows. VT_ERR_USAGE on a binding that none knows. */
enum vt_status vt_engine_deal_shapes(const struct vt_engine_config *config,
                                     const struct vt_shape_taker *taker,
                                     struct vt_error *err) VT_NODISCARD;

/* The inputs of the signature for `batch` samples, without data. False when an extent other than
 * the first is open, or the size has no number. */
bool vt_engine_batch_of(const struct vt_signature *signature, int64_t batch,
                        struct vt_tensor *ret_inputs);

/* What another program says, as part of one line: blanks and line ends made one blank, what is not
 * UTF-8 replaced, cut at size - 1 bytes with "..." behind it (size at least 8). Returns ret. */
char *vt_engine_one_line(const char *text, char *ret, size_t size);

#endif
