/* SPDX-License-Identifier: Apache-2.0 */
#include "run/session.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/native/native.h"
#include "engine/turn.h"
#include "graph/index_bounds.h"
#include "run/precision/precision.h"

/* A batch is chosen by measuring among the sizes up to this one. */
#define AUTO_BATCH_MAX 32U

static enum vt_status parse_settings(struct vt_session *session, struct vt_error *err)
{
    const struct vt_text_list *list = &session->job->engine_options;

    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i];
        const char *equals = strchr(text, '=');
        if (equals == NULL || equals == text) {
            return vt_error_set(err, VT_ERR_USAGE, "--engine-option %s: KEY=VALUE is needed", text);
        }
        if (session->n_settings == VT_SETTINGS_MAX) {
            return vt_error_set(err, VT_ERR_USAGE, "--engine-option: at most %d are allowed",
                                VT_SETTINGS_MAX);
        }
        char *key = vt_strndup(text, (size_t)(equals - text));
        if (key == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
        }
        session->keys[session->n_settings] = key;
        session->settings[session->n_settings++] = (struct vt_setting){key, equals + 1};
    }
    return VT_OK;
}

/* What a plan file adds: itself, for the engine that reads it, and the shapes it was made for. */
static enum vt_status apply_plan(struct vt_session *session, struct vt_error *err)
{
    const struct vt_model_source *source = &session->source;
    struct vt_plan_file_info info;

    if (source->plan_file == NULL) {
        return VT_OK;
    }
    vt_plan_file_info(source->plan_file, &info);
    for (uint32_t i = 0; i < info.n_shapes && session->shapes.n < VT_SHAPES_MAX; i++) {
        bool given = false;
        for (uint32_t k = 0; k < session->shapes.n; k++) {
            given = given || strcmp(session->shapes.items[k].name, info.shapes[i].name) == 0;
        }
        if (!given) {
            session->shapes.items[session->shapes.n++] = info.shapes[i];
        }
    }
    if (strcmp(session->engine_ref.ops.name, "native") != 0) {
        return VT_OK; /* the model itself */
    }
    if (session->n_settings == VT_SETTINGS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--engine-option: at most %d are allowed beside a plan",
                            VT_SETTINGS_MAX - 1);
    }
    char *key = vt_strdup("plan");
    if (key == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    session->keys[session->n_settings] = key;
    session->settings[session->n_settings++] = (struct vt_setting){key, source->plan};
    return VT_OK;
}

/*
 * The importer's view of the model tells shapes, size and operations. An engine other than our own
 * may run what the importer does not know, so there a failure is no end.
 */
static enum vt_status import_model(struct vt_session *session, struct vt_error *err)
{
    bool needed = strcmp(session->engine_ref.ops.name, "native") == 0 ||
                  strcmp(session->engine_ref.ops.name, "null") == 0;
    struct vt_error ignored = VT_ERROR_INIT;

    enum vt_status status =
        vt_model_source_import(&session->source, needed ? err : &ignored, &session->model);
    if (status != VT_OK) {
        session->model = NULL;
        return needed ? status : VT_OK;
    }
    if (strcmp(session->engine_ref.ops.name, "native") == 0) {
        const struct vt_engine_config config = {.settings = session->settings,
                                                .n_settings = session->n_settings};
        status = vt_native_windows_settings(&config, err, &session->windows);
    }
    if (status == VT_OK && session->windows.axes > 0) {
        status = vt_windows_signature(&session->windows, session->model, session->shapes.items,
                                      session->shapes.n, err, &session->model_signature);
    } else if (status == VT_OK) {
        status = vt_model_signature(session->model, session->shapes.items, session->shapes.n, err,
                                    &session->model_signature);
    }
    session->has_model_signature = status == VT_OK;
    return status;
}

/* Which integers may be generated, as far as the importer's view tells. */
static enum vt_status find_bounds(struct vt_session *session, struct vt_error *err)
{
    const struct vt_signature *signature = &session->model_signature;

    if (session->model == NULL || !session->has_model_signature || signature->n_inputs == 0) {
        return VT_OK;
    }
    int64_t *bounds = vt_calloc(signature->n_inputs, sizeof *bounds);
    session->bounds = vt_calloc(signature->n_inputs, sizeof *session->bounds);
    enum vt_status status = bounds == NULL || session->bounds == NULL
                                ? vt_error_set(err, VT_ERR_MEMORY, "out of memory")
                                : vt_model_index_bounds(session->model, err, bounds);
    for (uint32_t i = 0; status == VT_OK && i < signature->n_inputs; i++) {
        session->bounds[i] = (struct vt_index_bound){signature->inputs[i].name, bounds[i]};
    }
    vt_free(bounds);
    return status;
}

static void fill_workload_config(struct vt_session *session)
{
    const struct vt_job *job = session->job;

    session->workload_config = (struct vt_workload_config){
        .model_path = session->source.graph.path,
        .dataset = job->dataset,
        .labels = job->labels,
        .sample_count = (uint64_t)job->sample_count,
        .performance_count = (uint64_t)job->performance_count,
        .seed = (uint64_t)job->seed,
        .skip_bad = job->skip_bad,
        .preprocess = job->preprocess,
        .mean = job->mean,
        .std = job->std,
        .scale = job->scale,
        .channels = job->channels,
        .resize = job->resize,
        .crop = job->crop,
        .label_offset = job->label_offset,
        .inputs = job->inputs.items,
        .n_inputs = job->inputs.count,
        .expects = job->expects.items,
        .n_expects = job->expects.count,
        .bounds = session->bounds,
        .n_bounds = session->bounds != NULL ? session->model_signature.n_inputs : 0,
        .rtol = job->rtol,
        .atol = job->atol,
    };
}

static enum vt_status choose_workload(struct vt_session *session, struct vt_error *err)
{
    const char *name = session->job->workload;

    if (name == NULL && session->source.builtin != NULL && session->job->dataset == NULL) {
        name = session->source.builtin->workload;
    }
    if (name != NULL) {
        session->workload_ops = vt_workload_find(name);
    } else if (session->has_model_signature) {
        session->workload_ops =
            vt_workload_guess(&session->workload_config, &session->model_signature);
    } else {
        session->workload_ops = vt_workload_find("tensor");
    }
    if (session->workload_ops == NULL) {
        size_t n;
        const struct vt_workload_ops *const *table = vt_workload_table(&n);
        const char *names[32];
        size_t n_names = 0;
        for (size_t i = 0; i < n && n_names < 32; i++) {
            names[n_names++] = table[i]->name;
        }
        const char *near = vt_nearest_name(name, names, n_names);
        return vt_error_set(err, VT_ERR_USAGE,
                            "--workload %s: no such workload%s%s%s (vatio list names them)", name,
                            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                            near != NULL ? "'?" : "");
    }
    return VT_OK;
}

/* The extents that the data ask for, where the model leaves them open and the user said nothing. */
static enum vt_status add_workload_shapes(struct vt_session *session, struct vt_error *err)
{
    uint32_t n = 0;

    if (session->workload_ops->shapes == NULL || !session->has_model_signature) {
        return VT_OK;
    }
    enum vt_status status = session->workload_ops->shapes(
        &session->workload_config, &session->model_signature, err,
        session->shapes.items + session->shapes.n, VT_SHAPES_MAX - session->shapes.n, &n);
    session->shapes.n += n;
    return status;
}

enum vt_status vt_session_open(struct vt_session *session, const struct vt_job *job,
                               const char *model, struct vt_error *err)
{
    memset(session, 0, sizeof *session);
    session->job = job;
    enum vt_status status = vt_shape_list_init(&session->shapes, &job->shapes, err);
    if (status == VT_OK) {
        status = parse_settings(session, err);
    }
    if (status == VT_OK) {
        status = vt_engine_find(job->engine, err, &session->engine_ref);
        session->has_engine = status == VT_OK;
    }
    if (status == VT_OK) {
        status = vt_model_source_find_weights(model, job->weights, err, &session->source);
        session->bundle = (struct vt_bundle){&session->source.graph, 1};
    }
    if (status == VT_OK) {
        status = apply_plan(session, err);
    }
    if (status == VT_OK) {
        status = vt_precision_ask(session, err);
    }
    /* An option may say where the engine finds what it needs: then open() tells. */
    if (status == VT_OK && session->n_settings == 0) {
        status = session->engine_ref.ops.probe(err);
    }
    if (status == VT_OK) {
        status = import_model(session, err);
    }
    if (status == VT_OK) {
        status = find_bounds(session, err);
    }
    if (status == VT_OK) {
        fill_workload_config(session);
        status = choose_workload(session, err);
    }
    if (status == VT_OK) {
        status = add_workload_shapes(session, err);
    }
    if (status != VT_OK) {
        vt_session_close(session);
    }
    return status;
}

enum vt_status vt_session_open_bundle(const struct vt_session *session,
                                      const struct vt_bundle *bundle, struct vt_error *err,
                                      void **ret_engine)
{
    const struct vt_job *job = session->job;
    struct vt_engine_config config = {
        .struct_size = sizeof config,
        .threads = (uint32_t)job->threads,
        .lanes = job->lanes > 0 ? (uint32_t)job->lanes : 1,
        .max_batch = job->batch > 0 ? (uint32_t)job->batch : AUTO_BATCH_MAX,
        .shapes = session->shapes.items,
        .n_shapes = session->shapes.n,
        .settings = session->settings,
        .n_settings = session->n_settings,
    };
    return session->engine_ref.ops.open(bundle, &config, err, ret_engine);
}

static enum vt_status open_engine(struct vt_session *session, struct vt_error *err)
{
    const struct vt_engine_ops *ops = &session->engine_ref.ops;

    int64_t start = vt_now_ns();

    enum vt_status status =
        vt_session_open_bundle(session, &session->bundle, err, &session->engine);
    if (status != VT_OK) {
        session->engine = NULL;
        return status;
    }
    session->open_ns = vt_now_ns() - start;
    status = ops->signature(session->engine, 0, err, &session->signature);
    if (status != VT_OK) {
        return status;
    }
    session->caps.struct_size = sizeof session->caps;
    return ops->caps(session->engine, err, &session->caps);
}

void vt_session_refresh_caps(struct vt_session *session)
{
    struct vt_engine_caps caps = {.struct_size = sizeof caps};
    struct vt_error ignored = VT_ERROR_INIT;

    if (session->engine_ref.ops.caps(session->engine, &ignored, &caps) == VT_OK) {
        memcpy(session->caps.description, caps.description, sizeof caps.description);
    }
}

/* The batch in effect, and whether measuring may lower it. */
static enum vt_status choose_batch(const struct vt_session *session, struct vt_error *err,
                                   uint32_t *ret_batch, bool *ret_auto)
{
    uint32_t most = session->caps.max_batch;
    uint32_t wanted = (uint32_t)session->job->batch;

    if (wanted > most) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--batch %u: this model takes at most %u sample%s a request%s", wanted,
                            most, most == 1 ? "" : "s",
                            most == 1 ? ", since its batch dimension is fixed" : "");
    }
    if (wanted > 0) {
        *ret_batch = wanted;
        *ret_auto = false;
    } else if (session->caps.best_batch > 0) {
        *ret_batch = session->caps.best_batch;
        *ret_auto = false;
    } else {
        *ret_batch = most < AUTO_BATCH_MAX ? most : AUTO_BATCH_MAX;
        *ret_auto = true;
    }
    return VT_OK;
}

enum vt_status vt_session_try_batch(struct vt_session *session, struct vt_error *err)
{
    return vt_engine_try_batch(&session->engine_ref.ops, session->engine, &session->signature,
                               &session->caps, err);
}

enum vt_status vt_session_start_sut(struct vt_session *session, struct vt_error *err)
{
    const struct vt_job *job = session->job;
    struct vt_sut_options options = {
        .lanes = session->lanes,
        .batch_delay_ns = job->batch_delay_us * VT_NS_PER_US,
        .request_timeout_ns = job->timeout_ns,
    };
    enum vt_status status = vt_session_try_batch(session, err);
    if (status == VT_OK) {
        status = choose_batch(session, err, &options.batch, &options.batch_auto);
    }
    if (status != VT_OK) {
        return status;
    }
    char *name = vt_asprintf("vatio %s", session->engine_ref.ops.name);
    if (name == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    status =
        vt_sut_new(&session->engine_ref.ops, session->engine, &session->signature,
                   session->workload_ops, session->workload, name, &options, err, &session->sut);
    vt_free(name);
    return status;
}

enum vt_status vt_session_open_parts(struct vt_session *session, struct vt_error *err)
{
    enum vt_status status = open_engine(session, err);
    if (status != VT_OK) {
        return status;
    }
    status = session->workload_ops->open(&session->workload_config, &session->signature, err,
                                         &session->workload);
    if (status != VT_OK) {
        session->workload = NULL;
        return status;
    }
    session->workload_ops->info(session->workload, &session->info);
    return VT_OK;
}

void vt_session_close_parts(struct vt_session *session)
{
    if (session->workload != NULL) {
        session->workload_ops->close(session->workload);
        session->workload = NULL;
    }
    if (session->engine != NULL) {
        session->engine_ref.ops.close(session->engine);
        session->engine = NULL;
    }
}

enum vt_status vt_session_start_engine(struct vt_session *session, struct vt_error *err)
{
    session->lanes = session->job->lanes > 0 ? (uint32_t)session->job->lanes : 1;
    enum vt_status status = vt_precision_settle(session, err);
    return status == VT_OK ? vt_session_open_parts(session, err) : status;
}

enum vt_status vt_session_start(struct vt_session *session, struct vt_error *err)
{
    enum vt_status status = vt_session_start_engine(session, err);
    return status == VT_OK ? vt_session_start_sut(session, err) : status;
}

void vt_session_close(struct vt_session *session)
{
    vt_sut_free(session->sut);
    vt_session_close_parts(session);
    vt_free(session->int8_bytes);
    if (session->has_model_signature) {
        vt_signature_release(&session->model_signature);
    }
    vt_model_free(session->model);
    if (session->has_engine) {
        vt_engine_ref_release(&session->engine_ref);
    }
    vt_free(session->bounds);
    vt_model_source_release(&session->source);
    vt_shape_list_release(&session->shapes);
    for (uint32_t i = 0; i < session->n_settings; i++) {
        vt_free(session->keys[i]);
    }
    memset(session, 0, sizeof *session);
}
