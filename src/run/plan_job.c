/* SPDX-License-Identifier: Apache-2.0 */
#include "run/plan_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/topology.h"
#include "core/ports.h"
#include "engine/settings.h"
#include "plan/plan_file.h"
#include "run/model_source.h"

#define FIELD(name) offsetof(struct vt_plan_job, name)

static const char *const tune_choices[] = {"off", "cached", "measure", NULL};

static const char *const precisions[] = {"fp32", "fp16w", "bf16", NULL};

static const struct vt_option options[] = {
    {"output", 'o', VT_OPTION_TEXT, FIELD(output), "Options", "FILE", 0, 0, NULL, NULL,
     "the plan to write; needed"},
    {"shape", 0, VT_OPTION_LIST, FIELD(shapes), "Options", "NAME=DIMS", 0, 0, NULL, NULL,
     "extents of an input (1x3x224x224) or of one symbol (128) where the model leaves them open"},
    {"batch", 'b', VT_OPTION_INT, FIELD(batch), "Options", "N", 1, 65536, NULL, "1",
     "samples in a request, where the model leaves that open"},
    {"threads", 't', VT_OPTION_INT, FIELD(threads), "Options", "N", 1, 1024, NULL, NULL,
     "CPU threads of the lane that will run it (default: every usable CPU)"},
    {"precision", 0, VT_OPTION_CHOICE, FIELD(precision), "Options", "P", 0, 0, precisions, "fp32",
     "how weights are kept: fp32, fp16w or bf16; a run of the plan takes the same"},
    {"tune", 0, VT_OPTION_CHOICE, FIELD(tune), "Options", NULL, 0, 0, tune_choices, "measure",
     "how kernels are chosen: by rule (off), as measured here before (cached), or by measuring "
     "what "
     "is not known yet (measure)"},
};

const struct vt_option_table *vt_plan_job_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct vt_plan_job)};
    return &table;
}

/* All that has to be released in the end. */
struct planning {
    const struct vt_plan_job *job;
    struct vt_shape_list shapes;
    struct vt_model_source source;
    struct vt_model *model;
    struct vt_signature signature;
    bool has_signature;
    struct vt_pool *pool;
    struct vt_tuning *tuning;
    struct vt_weights *weights;
    struct vt_tensor *inputs;
    struct vt_plan *plan;
};

static void planning_release(struct planning *p)
{
    vt_plan_free(p->plan);
    vt_free(p->inputs);
    vt_weights_free(p->weights);
    vt_tuning_free(p->tuning);
    vt_pool_free(p->pool);
    if (p->has_signature) {
        vt_signature_release(&p->signature);
    }
    vt_model_free(p->model);
    vt_model_source_release(&p->source);
    vt_shape_list_release(&p->shapes);
}

static enum vt_status open_model(struct planning *p, const char *model, struct vt_error *err)
{
    enum vt_status status = vt_shape_list_init(&p->shapes, &p->job->shapes, err);
    if (status == VT_OK) {
        status = vt_model_source_find(model, err, &p->source);
    }
    if (status == VT_OK) {
        status = vt_model_source_import(&p->source, err, &p->model);
    }
    if (status == VT_OK) {
        status = vt_model_signature(p->model, p->shapes.items, p->shapes.n, err, &p->signature);
        p->has_signature = status == VT_OK;
    }
    return status;
}

/* The extents to plan for. */
static enum vt_status make_inputs(struct planning *p, struct vt_error *err)
{
    const struct vt_signature *signature = &p->signature;
    const struct vt_ports ports = {(struct vt_port *)(uintptr_t)signature->inputs,
                                   (struct vt_port *)(uintptr_t)signature->outputs,
                                   signature->n_inputs, signature->n_outputs};
    if (p->job->batch > 1 && !vt_ports_any_batch(&ports)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--batch %lld: the batch of this model is not open; leave it out",
                            (long long)p->job->batch);
    }
    p->inputs = vt_calloc((size_t)signature->n_inputs + 1, sizeof p->inputs[0]);
    if (p->inputs == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (vt_engine_batch_of(signature, p->job->batch, p->inputs)) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        char shape[128];
        for (uint32_t d = 1; d < port->rank; d++) {
            if (port->dim[d] < 0) {
                return vt_error_set(
                    err, VT_ERR_USAGE, "input %s is open: %s; say its extents with --shape",
                    port->name,
                    vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
            }
        }
    }
    return vt_error_set(err, VT_ERR_LIMIT, "the inputs are larger than memory can be");
}

static enum vt_status start(struct planning *p, uint32_t threads, struct vt_error *err)
{
    struct vt_error quiet = VT_ERROR_INIT;
    char *path = NULL;
    if (p->job->tune > 0 && vt_tuning_path(&quiet, &path) != VT_OK) {
        path = NULL; /* nothing is kept */
    }
    const struct vt_tuning_options tuning = {
        .path = path, .measure = p->job->tune == 2, .budget_ns = VT_TUNING_BUDGET_NS};
    enum vt_status status = vt_tuning_new(&tuning, err, &p->tuning);
    vt_free(path);
    if (status == VT_OK && threads > 1) {
        const struct vt_pool_options pool = {.threads = threads};
        status = vt_pool_new(&pool, err, &p->pool);
    }
    return status == VT_OK ? vt_weights_new(p->model, err, &p->weights) : status;
}

/* A path that holds from everywhere, or the name. */
static enum vt_status write_plan(struct planning *p, uint32_t threads, struct vt_error *err)
{
    const struct vt_graph_source *graph = &p->source.graph;
    const bool is_file = graph->path != NULL && p->source.zoo.network == NULL;
    char *real = is_file ? realpath(graph->path, NULL) : NULL;
    if (is_file && real == NULL) {
        return vt_error_set(err, VT_ERR_READ, "%s: %s", graph->path, strerror(errno));
    }
    const struct vt_plan_file_contents contents = {.model = p->model,
                                                   .path = graph->path,
                                                   .name = is_file ? real : p->source.argument,
                                                   .threads = threads,
                                                   .batch = p->job->batch,
                                                   .precision =
                                                       (enum vt_precision)p->job->precision,
                                                   .shapes = p->shapes.items,
                                                   .n_shapes = p->shapes.n,
                                                   .weights = p->weights,
                                                   .tuning = p->tuning};
    enum vt_status status = vt_plan_file_write(p->job->output, &contents, err);
    free(real); /* the C library's */
    return status;
}

static void report(const struct planning *p, uint32_t threads, struct vt_plan_job_report *ret)
{
    struct vt_weights_stats weights;
    struct vt_tuning_stats tuning;
    struct stat info;
    vt_weights_stats(p->weights, &weights);
    vt_tuning_stats(p->tuning, &tuning);
    *ret = (struct vt_plan_job_report){.weights = weights.packed,
                                       .weight_bytes = weights.packed_bytes,
                                       .kernels = tuning.used,
                                       .measured = tuning.measured,
                                       .measuring_ns = tuning.spent_ns,
                                       .threads = threads,
                                       .batch = p->job->batch};
    if (stat(p->job->output, &info) == 0) {
        ret->file_bytes = (uint64_t)info.st_size;
    }
}

static enum vt_status plan(struct planning *p, const char *model, uint32_t threads,
                           struct vt_error *err)
{
    enum vt_status status = vt_precision_check((enum vt_precision)p->job->precision, err);
    if (status == VT_OK) {
        status = open_model(p, model, err);
    }
    if (status == VT_OK) {
        status = make_inputs(p, err);
    }
    if (status == VT_OK) {
        status = start(p, threads, err);
    }
    if (status == VT_OK) {
        const struct vt_plan_options planned = {.tuning = p->tuning,
                                                .precision = (enum vt_precision)p->job->precision};
        status = vt_plan_new(p->model, p->weights, p->pool, p->inputs, p->signature.n_inputs,
                             &planned, err, &p->plan);
    }
    if (status == VT_OK) {
        struct vt_error quiet = VT_ERROR_INIT; /* the plan has what it found in any case */
        (void)!vt_tuning_save(p->tuning, &quiet);
        status = write_plan(p, threads, err);
    }
    return status;
}

enum vt_status vt_plan_job_run(const struct vt_plan_job *job, const char *model,
                               struct vt_error *err, struct vt_plan_job_report *ret_report)
{
    struct planning p = {.job = job};
    const uint32_t threads = job->threads > 0 ? (uint32_t)job->threads : vt_topology()->usable_cpus;

    if (job->output == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "plan: a file to write is needed, as in 'vatio plan %.200s -o "
                            "model.plan'",
                            model);
    }
    enum vt_status status = plan(&p, model, threads, err);
    if (status == VT_OK) {
        report(&p, threads, ret_report);
    }
    planning_release(&p);
    return status;
}
