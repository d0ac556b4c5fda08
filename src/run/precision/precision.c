/* SPDX-License-Identifier: Apache-2.0 */
#include "run/precision/precision.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/native/native.h"
#include "graph/inspect.h"
#include "run/precision/trial.h"
#include "run/quantize/quantize.h"

/* Samples to calibrate on: fewer of a model that takes long. */
#define CALIBRATE_SAMPLES 100
#define CALIBRATE_FEW     16
#define SLOW_FLOPS        2e10
/* Judging each layer alone runs the model once for each: not where it is large. */
#define JUDGED_BYTES ((uint64_t)128 << 20)

static const char *const names[VT_WISH_COUNT] = {"fp32", "fp16w", "bf16", "int8", "auto"};

static bool is_native(const struct vt_session *session)
{
    return session->engine_ref.ops.open == vt_native_engine.open;
}

/* Takes the setting of that name out, the last one's value counts. NULL: there is none. */
static const char *take_setting(struct vt_session *session)
{
    const char *value = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->n_settings; i++) {
        if (strcmp(session->settings[i].key, "precision") == 0) {
            value = session->settings[i].value;
            vt_free(session->keys[i]);
            continue;
        }
        session->keys[kept] = session->keys[i];
        session->settings[kept++] = session->settings[i];
    }
    session->n_settings = kept;
    return value;
}

static enum vt_status add_setting(struct vt_session *session, struct vt_error *err)
{
    char *key = vt_strdup("precision");
    if (key == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (session->n_settings == VT_SETTINGS_MAX) {
        vt_free(key);
        return vt_error_set(err, VT_ERR_USAGE,
                            "--engine-option: at most %d are allowed beside --precision",
                            VT_SETTINGS_MAX - 1);
    }
    session->precision_at = session->n_settings;
    session->keys[session->n_settings] = key;
    session->settings[session->n_settings++] =
        (struct vt_setting){key, names[session->wish < VT_WISH_INT8 ? session->wish : 0]};
    return VT_OK;
}

static enum vt_status read_wish(struct vt_session *session, const char *text, struct vt_error *err)
{
    for (int i = 0; i < VT_WISH_COUNT; i++) {
        if (strcmp(names[i], text) == 0) {
            session->wish = (enum vt_precision_wish)i;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        "precision '%.32s' is none of fp32, fp16w, bf16, int8 and auto", text);
}

enum vt_status vt_precision_ask(struct vt_session *session, struct vt_error *err)
{
    session->wish = (enum vt_precision_wish)session->job->precision;
    if (!is_native(session)) {
        return session->wish == VT_WISH_FP32
                   ? VT_OK
                   : vt_error_set(err, VT_ERR_USAGE,
                                  "--precision %s is the native engine's; what engine %s can is "
                                  "among its own options",
                                  names[session->wish], session->engine_ref.ops.name);
    }
    const char *setting = take_setting(session);
    enum vt_status status = setting != NULL ? read_wish(session, setting, err) : VT_OK;
    if (setting == NULL && session->wish == VT_WISH_FP32 && session->source.plan_file != NULL) {
        struct vt_plan_file_info info;
        vt_plan_file_info(session->source.plan_file, &info);
        session->wish = (enum vt_precision_wish)info.precision;
    }
    if (status == VT_OK && session->wish >= VT_WISH_INT8 && session->source.plan_file != NULL) {
        status = vt_error_set(err, VT_ERR_USAGE,
                              "--precision %s: a plan holds the weights of one model; give the "
                              "model itself",
                              names[session->wish]);
    }
    return status == VT_OK && session->wish != VT_WISH_FP32 ? add_setting(session, err) : status;
}

bool vt_model_is_quantised(const struct vt_model *model)
{
    static const char *const ops[] = {"DequantizeLinear", "QLinearConv",   "QLinearMatMul",
                                      "ConvInteger",      "MatMulInteger", "DynamicQuantizeLinear"};
    const struct vt_graph *graph = model != NULL ? vt_model_graph(model) : NULL;
    for (uint32_t i = 0; graph != NULL && i < graph->n_nodes; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            if (strcmp(graph->nodes[i].op, ops[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the samples are somebody's data, not drawn. */
static bool has_data(const struct vt_session *session)
{
    return strcmp(session->workload_ops->name, "tensor") != 0 || session->job->inputs.count > 0 ||
           session->job->dataset != NULL;
}

/* The bundle becomes the quantised model. Engine and workload are started. */
static enum vt_status quantise(struct vt_session *session, struct vt_error *err,
                               struct vt_quantized_model *ret)
{
    struct vt_model_summary summary;
    double flops = 0;
    uint64_t bytes = 0;
    struct vt_error ignored = VT_ERROR_INIT;
    if (vt_model_inspect(session->model, session->shapes.items, session->shapes.n, &ignored,
                         &summary) == VT_OK) {
        flops = summary.flops;
        bytes = summary.constant_bytes;
        vt_model_summary_release(&summary);
    }
    return vt_quantize_session(session, flops > SLOW_FLOPS ? CALIBRATE_FEW : CALIBRATE_SAMPLES,
                               bytes <= JUDGED_BYTES && flops <= SLOW_FLOPS, err, ret);
}

static void use_quantised(struct vt_session *session, const struct vt_quantized_model *made)
{
    session->int8_bytes = made->bytes;
    session->int8 = (struct vt_graph_source){
        .name = session->source.graph.name, .bytes = made->bytes, .n_bytes = made->size};
    session->bundle = (struct vt_bundle){&session->int8, 1};
}

static void set_precision(struct vt_session *session, const char *name)
{
    session->settings[session->precision_at].value = name;
}

static enum vt_status settle_int8(struct vt_session *session, struct vt_error *err)
{
    struct vt_quantized_model made;
    if (vt_model_is_quantised(session->model)) {
        return VT_OK;
    }
    if (!has_data(session) && !session->source.random_weights) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "precision int8: there are no samples to find the ranges of "
                            "activations on: give --dataset or --input, or run vatio quantize");
    }
    enum vt_status status = quantise(session, err, &made);
    if (status == VT_OK) {
        use_quantised(session, &made);
    }
    return status;
}

/* --- auto ------------------------------------------------------------------------------------ */

/* What can be tried here; int8's model is made for it. */
static enum vt_status add_candidates(struct vt_session *session, struct vt_precision_trial *trial,
                                     struct vt_quantized_model *made, struct vt_error *err)
{
    struct vt_error why = VT_ERROR_INIT;
    const bool quantised = vt_model_is_quantised(session->model);
    enum vt_status status = vt_precision_trial_add(trial, "fp32", &session->bundle, err);
    for (int i = VT_PRECISION_FP16W; i < VT_PRECISION_COUNT && status == VT_OK; i++) {
        if (vt_precision_check((enum vt_precision)i, &why) != VT_OK) {
            vt_precision_trial_skip(trial, names[i], "this processor has no instructions for it");
        } else {
            status = vt_precision_trial_add(trial, names[i], &session->bundle, err);
        }
    }
    if (status != VT_OK) {
        return status;
    }
    if (quantised) {
        vt_precision_trial_skip(trial, "int8", "the model is quantised already");
    } else if (!has_data(session)) {
        vt_precision_trial_skip(trial, "int8", "no data to calibrate on");
    } else if (quantise(session, &why, made) != VT_OK) {
        vt_precision_trial_skip(trial, "int8", why.text);
    } else {
        use_quantised(session, made);
        status = vt_precision_trial_add(trial, "int8", &session->bundle, err);
    }
    return status;
}

static enum vt_status settle_auto(struct vt_session *session, struct vt_error *err)
{
    const struct vt_bundle plain = session->bundle;
    struct vt_quantized_model made = {0};
    struct vt_precision_trial *trial = NULL;
    enum vt_status status = vt_precision_trial_new(session, err, &trial);
    if (status != VT_OK) {
        return status;
    }
    status = add_candidates(session, trial, &made, err);
    if (status == VT_OK) {
        status = vt_precision_trial_run(trial, err, &session->precision);
    }
    vt_precision_trial_free(trial);
    if (status != VT_OK) {
        return status;
    }
    const bool int8 = strcmp(session->precision.chosen, "int8") == 0;
    if (!int8) {
        session->bundle = plain;
        vt_free(session->int8_bytes);
        session->int8_bytes = NULL;
        for (int i = 0; i < VT_PRECISION_COUNT; i++) {
            if (strcmp(names[i], session->precision.chosen) == 0) {
                set_precision(session, names[i]);
            }
        }
    }
    return VT_OK;
}

enum vt_status vt_precision_settle(struct vt_session *session, struct vt_error *err)
{
    if (session->wish < VT_WISH_INT8) {
        return VT_OK;
    }
    set_precision(session, names[VT_WISH_FP32]);
    enum vt_status status = vt_session_open_parts(session, err);
    if (status == VT_OK) {
        status =
            session->wish == VT_WISH_INT8 ? settle_int8(session, err) : settle_auto(session, err);
    }
    vt_session_close_parts(session);
    return status;
}
