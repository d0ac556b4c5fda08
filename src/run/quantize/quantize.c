/* SPDX-License-Identifier: Apache-2.0 */
#include "run/quantize/quantize.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "quantize/quantize.h"
#include "run/quantize/runner.h"

/* Samples that single layers are judged by, and bytes of outputs that are kept to compare with. */
#define JUDGED_MOST   8
#define KEPT_BYTES    ((size_t)256 << 20)
#define LEAST_DB      15.0 /* the default of --min-sqnr */
#define SKIPPED_SHARE 4    /* auto leaves out at most a quarter of the layers */

struct quantizing {
    struct vt_quantize_report report; /* first: its address is that of the whole */
    struct vt_quantize_job job;
    struct vt_session own;
    struct vt_session *session; /* that one, or the caller's */
    struct vt_pool *pool;
    struct vt_quantizer *quantizer;
    struct vt_runner source; /* the float32 model, ranges watched */
    const uint32_t *watched;
    uint32_t n_watched, n_outputs;
    struct vt_range_seen *seen;
    struct vt_range *ranges;
    uint64_t *indices;
    uint64_t n_samples;
    uint64_t n_kept; /* samples whose outputs are kept */
    float **kept;    /* [sample][output], NULL where it is not float32 */
    bool *chosen;    /* by layer */
    char remark[128];
};

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

/* --- opening -------------------------------------------------------------------------------- */

static enum vt_status choose_data(struct quantizing *p, struct vt_error *err)
{
    struct vt_job *job = &p->job.job;
    if (p->job.calibrate != NULL && vt_workload_find(p->job.calibrate) != NULL) {
        job->workload = p->job.calibrate;
    } else if (p->job.calibrate != NULL) {
        job->dataset = p->job.calibrate;
    } else if (job->inputs.count == 0) {
        return vt_error_set(
            err, VT_ERR_USAGE,
            "quantize: --calibrate names the samples that the ranges of activations "
            "are found on: a data set, or a workload (vatio list names them)");
    }
    job->engine = "native";
    job->timeout_ns = VT_NEVER;
    return VT_OK;
}

static enum vt_status choose_path(struct quantizing *p, struct vt_error *err)
{
    const char *name = vt_model_source_name(&p->session->source);
    const char *end = strrchr(name, '.');
    const int stem = end != NULL && strcmp(end, ".onnx") == 0 ? (int)(end - name) : -1;
    p->report.path = p->job.file != NULL ? vt_strdup(p->job.file)
                     : stem >= 0         ? vt_asprintf("%.*s.int8.onnx", stem, name)
                                         : vt_asprintf("%s.int8.onnx", name);
    if (p->report.path == NULL) {
        return out_of_memory(err);
    }
    const char *from = p->session->source.graph.path;
    struct stat a, b;
    if (from != NULL && stat(from, &a) == 0 && stat(p->report.path, &b) == 0 &&
        a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--output %s: that is the model itself; name another file",
                            vt_plain(p->report.path).text);
    }
    return VT_OK;
}

/* Behind the start of the session's engine. */
static enum vt_status start(struct quantizing *p, struct vt_error *err)
{
    const struct vt_pool_options pool = {.threads = (uint32_t)p->job.job.threads,
                                         .idle_spin_ns = 20000};
    enum vt_status status = vt_pool_new(&pool, err, &p->pool);
    if (status != VT_OK) {
        return status;
    }
    p->watched = vt_quantizer_watched(p->quantizer, &p->n_watched);
    p->n_outputs = vt_model_graph(p->session->model)->n_outputs;
    if (p->n_watched == 0) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s has no layer that can be quantised: Conv, MatMul or Gemm by "
                            "constant weights of float32",
                            vt_model_source_name(&p->session->source));
    }
    return vt_runner_init(&p->source, p->session->model, p->pool, p->watched, p->n_watched, err);
}

static enum vt_status open_all(struct quantizing *p, const char *model, struct vt_error *err)
{
    p->session = &p->own;
    enum vt_status status = choose_data(p, err);
    if (status == VT_OK) {
        status = vt_session_open(p->session, &p->job.job, model, err);
    }
    if (status == VT_OK) {
        status = choose_path(p, err);
    }
    if (status == VT_OK) {
        status = vt_quantizer_new(p->session->model, err, &p->quantizer);
    }
    if (status == VT_OK) {
        status = vt_session_start_engine(p->session, err);
    }
    return status == VT_OK ? start(p, err) : status;
}

static enum vt_status allocate(struct quantizing *p, struct vt_error *err)
{
    const uint64_t total = p->session->info.total_count, wanted = (uint64_t)p->job.samples;
    const struct vt_quantize_layer *layers = vt_quantizer_layers(p->quantizer, &p->report.n_layers);
    p->n_samples = wanted < total ? wanted : total;
    p->indices = vt_calloc(p->n_samples, sizeof *p->indices);
    p->seen = vt_calloc(p->n_watched, sizeof *p->seen);
    p->ranges = vt_calloc(p->n_watched, sizeof *p->ranges);
    p->kept = vt_calloc(p->n_samples * ((size_t)p->n_outputs + 1), sizeof *p->kept);
    p->chosen = vt_calloc((size_t)p->report.n_layers + 1, sizeof *p->chosen);
    p->report.layers = vt_calloc((size_t)p->report.n_layers + 1, sizeof *p->report.layers);
    if (p->indices == NULL || p->seen == NULL || p->ranges == NULL || p->kept == NULL ||
        p->chosen == NULL || p->report.layers == NULL) {
        return out_of_memory(err);
    }
    for (uint64_t i = 0; i < p->n_samples; i++) {
        p->indices[i] = (uint64_t)((double)i * (double)total / (double)p->n_samples);
    }
    for (uint32_t i = 0; i < p->report.n_layers; i++) {
        p->chosen[i] = true;
        p->report.layers[i] = (struct vt_quantized_layer){.name = layers[i].name,
                                                          .op = layers[i].op,
                                                          .weights = layers[i].weights,
                                                          .folded_norm = layers[i].folded_norm,
                                                          .quantised = true,
                                                          .reason = ""};
    }
    (void)snprintf(p->report.model_name, sizeof p->report.model_name, "%.250s",
                   vt_model_source_name(&p->session->source));
    (void)snprintf(p->report.data, sizeof p->report.data, "%s", p->session->info.description);
    p->report.method = vt_quantize_method_name(p->job.method);
    p->report.samples = p->n_samples;
    (void)snprintf(p->remark, sizeof p->remark, "%s, %s activations, %llu samples",
                   p->report.method, vt_quantize_type_name(p->job.activations),
                   (unsigned long long)p->n_samples);
    return VT_OK;
}

/* --- calibration ---------------------------------------------------------------------------- */

/* What the float32 model answers, to compare with; up to a limit of memory. */
static enum vt_status keep_outputs(struct quantizing *p, uint64_t sample, size_t *kept_bytes,
                                   struct vt_error *err)
{
    if (sample != p->n_kept || *kept_bytes > KEPT_BYTES) {
        return VT_OK;
    }
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const struct vt_tensor *t = &p->source.outputs[o];
        if (t->dtype != VT_F32) {
            continue;
        }
        float *copy = vt_alloc(t->bytes + 1);
        if (copy == NULL) {
            return out_of_memory(err);
        }
        memcpy(copy, t->data, t->bytes);
        p->kept[sample * p->n_outputs + o] = copy;
        *kept_bytes += t->bytes;
    }
    p->n_kept = sample + 1;
    return VT_OK;
}

static enum vt_status look(struct quantizing *p, bool again, struct vt_error *err)
{
    size_t kept_bytes = 0;
    for (uint64_t s = 0; s < p->n_samples; s++) {
        enum vt_status status = vt_runner_run(&p->source, p->session, p->indices[s], err);
        for (uint32_t i = 0; i < p->n_watched && status == VT_OK; i++) {
            const struct vt_tensor *t = &p->source.outputs[p->n_outputs + i];
            const int64_t n = (int64_t)(t->bytes / sizeof(float));
            if (t->dtype != VT_F32) {
                status = vt_error_set(
                    err, VT_ERR_UNSUPPORTED, "'%s' is %s; only float32 models can be quantised",
                    vt_plain(vt_model_values(p->session->model)[p->watched[i]].name).text,
                    vt_dtype_name(t->dtype));
            } else if (again) {
                vt_range_count(&p->seen[i], (enum vt_range_method)p->job.method, t->data, n);
            } else {
                vt_range_see(&p->seen[i], t->data, n);
            }
        }
        if (status == VT_OK && !again) {
            status = keep_outputs(p, s, &kept_bytes, err);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

static enum vt_status calibrate(struct quantizing *p, struct vt_error *err)
{
    enum vt_status status = look(p, false, err);
    if (status == VT_OK && p->job.method != VT_RANGE_MINMAX) {
        status = look(p, true, err);
    }
    for (uint32_t i = 0; i < p->n_watched && status == VT_OK; i++) {
        p->ranges[i] =
            vt_range_find(&p->seen[i], (enum vt_range_method)p->job.method, p->job.percentile);
    }
    return status;
}

/* --- judging -------------------------------------------------------------------------------- */

struct candidate {
    void *bytes;
    struct vt_model *model;
    struct vt_runner runner;
};

static void candidate_release(struct candidate *c)
{
    vt_runner_release(&c->runner);
    vt_model_free(c->model);
    vt_free(c->bytes);
    *c = (struct candidate){0};
}

static struct vt_quantize_choice choice_of(const struct quantizing *p, const bool *layers)
{
    return (struct vt_quantize_choice){.layers = layers,
                                       .ranges = p->ranges,
                                       .is_signed = p->job.activations == 1,
                                       .remark = p->remark};
}

/* The model with these layers quantised, ready to run. */
static enum vt_status candidate_init(struct candidate *c, struct quantizing *p, const bool *layers,
                                     struct vt_error *err)
{
    struct vt_model_writer *writer = NULL;
    const struct vt_quantize_choice choice = choice_of(p, layers);
    size_t size = 0;
    *c = (struct candidate){0};
    enum vt_status status = vt_quantizer_write(p->quantizer, &choice, err, &writer);
    if (status != VT_OK) {
        return status;
    }
    status = vt_model_writer_to_memory(writer, err, &c->bytes, &size);
    vt_model_writer_free(writer);
    if (status == VT_OK) {
        status =
            vt_model_import_memory("the quantised model", c->bytes, size, NULL, err, &c->model);
    }
    if (status == VT_OK) {
        status = vt_runner_init(&c->runner, c->model, p->pool, NULL, 0, err);
    }
    if (status != VT_OK) {
        candidate_release(c);
    }
    return status;
}

/* Noise by signal of the outputs over the first `samples` samples, the mean over outputs. */
static enum vt_status measure_noise(struct candidate *c, struct quantizing *p, uint64_t samples,
                                    struct vt_error *err, double *ret_noise)
{
    double *sums = vt_calloc(2 * (size_t)p->n_outputs + 1, sizeof *sums);
    enum vt_status status = sums != NULL ? VT_OK : out_of_memory(err);
    for (uint64_t s = 0; s < samples && status == VT_OK; s++) {
        status = vt_runner_run(&c->runner, p->session, p->indices[s], err);
        for (uint32_t o = 0; o < p->n_outputs && status == VT_OK; o++) {
            const float *want = p->kept[s * p->n_outputs + o];
            const struct vt_tensor *got = &c->runner.outputs[o];
            for (size_t i = 0; want != NULL && i < got->bytes / sizeof(float); i++) {
                const double x = (double)want[i], e = (double)((const float *)got->data)[i] - x;
                if (isfinite(x) && isfinite(e)) {
                    sums[2 * (size_t)o] += x * x;
                    sums[2 * (size_t)o + 1] += e * e;
                }
            }
        }
    }
    double noise = 0.0;
    uint32_t n = 0;
    for (uint32_t o = 0; o < p->n_outputs && status == VT_OK; o++) {
        if (sums[2 * (size_t)o] > 0.0) {
            noise += sums[2 * (size_t)o + 1] / sums[2 * (size_t)o];
            n++;
        }
    }
    vt_free(sums);
    *ret_noise = n > 0 ? noise / n : 0.0;
    return status;
}

static double decibel(double noise)
{
    return noise > 0.0 ? -10.0 * log10(noise) : (double)INFINITY;
}

static void leave_out(struct quantizing *p, uint32_t layer, const char *reason)
{
    p->chosen[layer] = false;
    p->report.layers[layer].quantised = false;
    p->report.layers[layer].reason = reason;
}

/*
 * Each layer alone, then the dearest are left out until what the others cost together, taken as
 * the sum of what each costs, is low enough.
 */
static enum vt_status skip_dearest(struct quantizing *p, struct vt_error *err)
{
    const uint32_t n = p->report.n_layers;
    const uint64_t samples = p->n_kept < JUDGED_MOST ? p->n_kept : JUDGED_MOST;
    double *noise = vt_calloc((size_t)n + 1, sizeof *noise), sum = 0.0;
    bool *alone = vt_calloc((size_t)n + 1, sizeof *alone);
    enum vt_status status = noise != NULL && alone != NULL ? VT_OK : out_of_memory(err);
    for (uint32_t i = 0; i < n && status == VT_OK; i++) {
        struct candidate c;
        alone[i] = true;
        status = candidate_init(&c, p, alone, err);
        alone[i] = false;
        if (status == VT_OK) {
            status = measure_noise(&c, p, samples, err, &noise[i]);
            candidate_release(&c);
        }
        sum += noise[i];
        p->report.layers[i].measured = status == VT_OK;
        p->report.layers[i].db = decibel(noise[i]);
    }
    const double allowed = pow(10.0, -p->job.least_db / 10.0);
    for (uint32_t skipped = 0; status == VT_OK && sum > allowed && skipped < n / SKIPPED_SHARE;
         skipped++) {
        uint32_t dearest = 0;
        for (uint32_t i = 1; i < n; i++) {
            dearest = noise[i] > noise[dearest] ? i : dearest;
        }
        leave_out(p, dearest, "costs too much accuracy");
        sum -= noise[dearest];
        noise[dearest] = 0.0;
    }
    vt_free(noise);
    vt_free(alone);
    return status;
}

static enum vt_status skip_named(struct quantizing *p, struct vt_error *err)
{
    const char *text = p->job.skip;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        bool found = length == 0;
        for (uint32_t i = 0; i < p->report.n_layers; i++) {
            const char *name = p->report.layers[i].name;
            if (length > 0 && strlen(name) == length && strncmp(name, text, length) == 0) {
                leave_out(p, i, "named by --skip");
                found = true;
            }
        }
        if (!found) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--skip %.*s: there is no such layer; vatio inspect names them, or "
                                "say auto or none",
                                (int)(length < 128 ? length : 128), text);
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return VT_OK;
}

static enum vt_status choose_layers(struct quantizing *p, struct vt_error *err)
{
    if (strcmp(p->job.skip, "none") == 0) {
        return VT_OK;
    }
    return strcmp(p->job.skip, "auto") == 0 ? skip_dearest(p, err) : skip_named(p, err);
}

/* --- quality -------------------------------------------------------------------------------- */

static enum vt_status measure_quality(struct vt_runner *runner, struct quantizing *p,
                                      struct vt_error *err, struct vt_quality *ret)
{
    const struct vt_workload_ops *ops = p->session->workload_ops;
    const uint64_t total = p->session->info.total_count;
    struct vt_response *responses = vt_calloc(total, sizeof *responses);
    uint8_t *texts = vt_calloc(total, VT_RESPONSE_MAX);
    enum vt_status status = responses != NULL && texts != NULL ? VT_OK : out_of_memory(err);
    for (uint64_t i = 0; i < total && status == VT_OK; i++) {
        uint8_t *text = texts + i * VT_RESPONSE_MAX;
        size_t bytes = 0;
        status = vt_runner_run(runner, p->session, i, err);
        if (status == VT_OK) {
            status = ops->finish(p->session->workload, i, runner->outputs, p->n_outputs, text,
                                 &bytes, err);
        }
        responses[i] = (struct vt_response){i, text, bytes};
    }
    if (status == VT_OK) {
        status = ops->score(p->session->workload, responses, total, err, ret);
    }
    vt_free(responses);
    vt_free(texts);
    return status;
}

static enum vt_status compare(struct quantizing *p, struct vt_error *err)
{
    struct vt_runner plain = {0};
    struct candidate c;
    double noise = 0.0;
    enum vt_status status = candidate_init(&c, p, p->chosen, err);
    if (status != VT_OK) {
        return status;
    }
    status = measure_noise(&c, p, p->n_kept, err, &noise);
    p->report.has_db = status == VT_OK && p->n_kept > 0;
    p->report.db = decibel(noise);
    if (status == VT_OK && p->session->info.has_quality &&
        p->session->workload_ops->score != NULL) {
        status = vt_runner_init(&plain, p->session->model, p->pool, NULL, 0, err);
        if (status == VT_OK) {
            status = measure_quality(&plain, p, err, &p->report.before);
        }
        if (status == VT_OK) {
            status = measure_quality(&c.runner, p, err, &p->report.after);
        }
        p->report.has_quality = status == VT_OK;
        vt_runner_release(&plain);
    }
    candidate_release(&c);
    return status;
}

/* --- the file ------------------------------------------------------------------------------- */

static uint64_t bytes_of(const char *path)
{
    struct stat found;
    return path != NULL && stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

static enum vt_status save(struct quantizing *p, struct vt_error *err)
{
    struct vt_model_writer *writer = NULL;
    const struct vt_quantize_choice choice = choice_of(p, p->chosen);
    enum vt_status status = vt_quantizer_write(p->quantizer, &choice, err, &writer);
    if (status == VT_OK) {
        status = vt_model_writer_save(writer, p->report.path, VT_WRITE_INLINE_MAX, err);
    }
    vt_model_writer_free(writer);
    const struct vt_graph_source *source = &p->session->source.graph;
    p->report.bytes_before = source->path != NULL ? bytes_of(source->path) : source->n_bytes;
    p->report.bytes_after = bytes_of(p->report.path);
    return status;
}

enum vt_status vt_quantize_model(const struct vt_options *options, const char *model,
                                 struct vt_error *err, struct vt_quantize_report **ret_report)
{
    struct quantizing *p = vt_calloc(1, sizeof *p);
    if (p == NULL) {
        return out_of_memory(err);
    }
    p->job = *(const struct vt_quantize_job *)options->values;
    enum vt_status status = open_all(p, model, err);
    if (status == VT_OK) {
        status = allocate(p, err);
    }
    if (status == VT_OK) {
        status = calibrate(p, err);
    }
    if (status == VT_OK) {
        status = choose_layers(p, err);
    }
    if (status == VT_OK) {
        status = compare(p, err);
    }
    if (status == VT_OK) {
        status = save(p, err);
    }
    if (status != VT_OK) {
        vt_quantize_report_free(&p->report);
        return status;
    }
    *ret_report = &p->report;
    return VT_OK;
}

/* The chosen layers quantised, as the bytes of a model. */
static enum vt_status write_to_memory(struct quantizing *p, struct vt_error *err, void **ret_bytes,
                                      size_t *ret_size)
{
    struct vt_model_writer *writer = NULL;
    const struct vt_quantize_choice choice = choice_of(p, p->chosen);
    enum vt_status status = vt_quantizer_write(p->quantizer, &choice, err, &writer);
    if (status == VT_OK) {
        status = vt_model_writer_to_memory(writer, err, ret_bytes, ret_size);
    }
    vt_model_writer_free(writer);
    return status;
}

enum vt_status vt_quantize_session(struct vt_session *session, uint64_t samples, bool judge,
                                   struct vt_error *err, struct vt_quantized_model *ret)
{
    struct quantizing *p = vt_calloc(1, sizeof *p);
    struct vt_quantized_model made = {0};
    if (p == NULL) {
        return out_of_memory(err);
    }
    p->session = session;
    p->job = (struct vt_quantize_job){.job = *session->job,
                                      .percentile = 99.99,
                                      .samples = (int64_t)samples,
                                      .skip = judge ? "auto" : "none",
                                      .least_db = LEAST_DB};
    enum vt_status status = vt_quantizer_new(session->model, err, &p->quantizer);
    if (status == VT_OK) {
        status = start(p, err);
    }
    if (status == VT_OK) {
        status = allocate(p, err);
    }
    if (status == VT_OK) {
        status = calibrate(p, err);
    }
    if (status == VT_OK) {
        status = choose_layers(p, err);
    }
    if (status == VT_OK) {
        status = write_to_memory(p, err, &made.bytes, &made.size);
    }
    if (status == VT_OK) {
        made.samples = p->n_samples;
        made.n_layers = p->report.n_layers;
        for (uint32_t i = 0; i < p->report.n_layers; i++) {
            made.n_quantised += p->chosen[i];
        }
        *ret = made;
    }
    vt_quantize_report_free(&p->report);
    return status;
}

void vt_quantize_report_free(struct vt_quantize_report *report)
{
    struct quantizing *p = (struct quantizing *)(void *)report;
    if (p == NULL) {
        return;
    }
    for (uint64_t i = 0; p->kept != NULL && i < p->n_samples * p->n_outputs; i++) {
        vt_free(p->kept[i]);
    }
    vt_runner_release(&p->source);
    vt_quantizer_free(p->quantizer);
    vt_pool_free(p->pool);
    vt_free(p->kept);
    vt_free(p->seen);
    vt_free(p->ranges);
    vt_free(p->indices);
    vt_free(p->chosen);
    vt_free(p->report.layers);
    vt_free(p->report.path);
    if (p->own.job != NULL) {
        vt_session_close(&p->own);
    }
    vt_free(p);
}
