/* SPDX-License-Identifier: Apache-2.0 */
#include "run/profile/profile.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bootstrap.h"
#include "base/topology.h"
#include "engine/native/native.h"
#include "run/job_part.h"
#include "run/layers.h"
#include "run/profile/peak.h"
#include "run/save.h"
#include "run/session.h"

#define RUNS_LEAST 5
#define RUNS_MOST  2000

#define FIELD(name) offsetof(struct vt_profile_job, name)
#define JOB(name)   offsetof(struct vt_profile_job, job.name)

static const struct vt_option own_options[] = {
    {"top", 'n', VT_OPTION_INT, FIELD(top), "What to show", "N", 1, 1e6, NULL, "20",
     "layers in the table, the dearest first; result.json has all of them"},
    {"duration", 'd', VT_OPTION_DURATION, FIELD(duration_ns), "What to show", "T", 1e6, 3.6e12,
     NULL, "3s", "compute for so long, and five runs at least"},
    {"output", 'o', VT_OPTION_TEXT, JOB(output), "Result", "DIR", 0, 0, NULL, NULL,
     "folder for result.json (default: runs/<time>-<model>)"},
    {"json", 0, VT_OPTION_FLAG, JOB(json), "Result", NULL, 0, 0, NULL, NULL,
     "print result.json on standard output and nothing else there"},
};
#define N_OWN (sizeof own_options / sizeof own_options[0])

static const char *const left_out[] = {"engine", "lanes", "batch-delay-us", "model",
                                       "expect", "rtol",  "atol",           NULL};

#define OPTIONS_MOST 96
static struct vt_option options_of_profile[OPTIONS_MOST];
static struct vt_option_table table = {options_of_profile, 0, sizeof(struct vt_profile_job)};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_table(void)
{
    _Static_assert(offsetof(struct vt_profile_job, job) == 0, "the job stands first");
    memcpy(options_of_profile, own_options, sizeof own_options);
    table.n_options = vt_job_part_options(options_of_profile, N_OWN, OPTIONS_MOST, left_out);
}

const struct vt_option_table *vt_profile_options(void)
{
    (void)pthread_once(&once, build_table);
    return &table;
}

/* The profile stands first, so that its address is that of the whole. */
struct profiling {
    struct vt_profile profile;
    struct vt_profile_job job;
    struct vt_session session;
    struct vt_save save;
    const _Atomic bool *stop;
    const struct vt_profile_events *events;
    void *lane;
    bool loaded;
    uint64_t *indices;
    struct vt_tensor *inputs;
    uint64_t requests;
    /* Sums of the profiler at the last look, and by layer and run what each run took. */
    int64_t *seen;
    double *times; /* [layer][RUNS_MOST] */
    double *scratch;
};

static void phase_begin(struct profiling *p, const char *name, int64_t expected_ns)
{
    struct vt_run_phase phase = {name, expected_ns, 0};
    if (p->events->phase_begin != NULL) {
        p->events->phase_begin(p->events->ctx, &phase);
    }
}

static void phase_end(struct profiling *p)
{
    if (p->events->phase_end != NULL) {
        p->events->phase_end(p->events->ctx);
    }
}

/* --- inputs ---------------------------------------------------------------------------------- */

/* One input of `batch` samples, one behind another. */
static enum vt_status collate(struct profiling *p, uint32_t input, struct vt_tensor *views,
                              struct vt_error *err)
{
    const struct vt_session *session = &p->session;
    uint32_t batch = p->profile.batch;
    size_t bytes;

    session->workload_ops->sample(session->workload, 0, views);
    struct vt_tensor first = views[input];
    if (__builtin_mul_overflow(first.bytes, (size_t)batch, &bytes)) {
        return vt_error_set(err, VT_ERR_LIMIT, "a batch of %u samples is beyond any memory", batch);
    }
    uint8_t *memory = vt_alloc(bytes);
    if (memory == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a batch of %u samples", batch);
    }
    p->inputs[input] = first;
    p->inputs[input].data = memory;
    for (uint32_t k = 0; k < batch; k++) {
        session->workload_ops->sample(session->workload, p->indices[k], views);
        if (!vt_tensor_same_shape(&first, &views[input]) || (batch > 1 && first.rank == 0)) {
            return vt_error_set(err, VT_ERR_UNSUPPORTED,
                                "input %s: samples differ in shape and cannot share a batch; use "
                                "--batch 1",
                                session->signature.inputs[input].name);
        }
        memcpy(memory + k * first.bytes, views[input].data, first.bytes);
    }
    if (batch > 1) {
        p->inputs[input].dim[0] *= batch;
        p->inputs[input].bytes = bytes;
    }
    return VT_OK;
}

static enum vt_status make_inputs(struct profiling *p, struct vt_error *err)
{
    struct vt_session *session = &p->session;
    uint32_t n = session->signature.n_inputs, batch = p->profile.batch;
    struct vt_tensor *views = vt_calloc((size_t)n + 1, sizeof views[0]);

    p->inputs = vt_calloc((size_t)n + 1, sizeof p->inputs[0]);
    p->indices = vt_calloc(batch, sizeof p->indices[0]);
    if (views == NULL || p->inputs == NULL || p->indices == NULL) {
        vt_free(views);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t k = 0; k < batch; k++) {
        p->indices[k] = k % session->info.performance_count;
    }
    uint64_t distinct =
        batch < session->info.performance_count ? batch : session->info.performance_count;
    enum vt_status status =
        session->workload_ops->load(session->workload, p->indices, distinct, err);
    p->loaded = status == VT_OK;
    for (uint32_t i = 0; i < n && status == VT_OK; i++) {
        status = collate(p, i, views, err);
    }
    if (p->loaded) {
        session->workload_ops->unload(session->workload, p->indices, distinct);
    }
    vt_free(views);
    return status;
}

/* --- opening --------------------------------------------------------------------------------- */

static void describe(struct profiling *p, const struct vt_options *options)
{
    struct vt_profile *profile = &p->profile;
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(profile->started_utc, sizeof profile->started_utc, "%Y-%m-%dT%H:%M:%SZ",
                       &utc);
    }
    profile->model_name = vt_model_source_name(&p->session.source);
    profile->model_path = p->session.source.graph.path;
    profile->workload_name = p->session.workload_ops->name;
    profile->threads =
        p->job.job.threads > 0 ? (uint32_t)p->job.job.threads : vt_topology()->usable_cpus;
    profile->batch = p->job.job.batch > 0 ? (uint32_t)p->job.job.batch : 1;
    profile->top = (uint32_t)p->job.top;
    profile->options = options;
}

static enum vt_status start(struct profiling *p, struct vt_error *err)
{
    struct vt_session *session = &p->session;
    struct vt_profile *profile = &p->profile;

    enum vt_status status = vt_session_start_engine(session, err);
    if (status != VT_OK) {
        return status;
    }
    (void)snprintf(profile->engine_description, sizeof profile->engine_description, "%s",
                   session->caps.description);
    if (profile->batch > 1) {
        status = vt_session_try_batch(session, err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (profile->batch > session->caps.max_batch) {
        return vt_error_set(err, VT_ERR_USAGE, "--batch %u: this model takes at most %u",
                            profile->batch, session->caps.max_batch);
    }
    status = make_inputs(p, err);
    if (status == VT_OK) {
        status = session->engine_ref.ops.lane_open(session->engine, 0, err, &p->lane);
    }
    return status;
}

/* --- runs ------------------------------------------------------------------------------------ */

static enum vt_status run_once(struct profiling *p, struct vt_error *err, double *ret_ns)
{
    const struct vt_engine_ops *ops = &p->session.engine_ref.ops;
    struct vt_request request = {.id = ++p->requests,
                                 .samples = p->profile.batch,
                                 .inputs = p->inputs,
                                 .n_inputs = p->session.signature.n_inputs};
    struct vt_event event = {0};
    uint32_t n = 0;

    enum vt_status status = ops->submit(p->session.engine, p->lane, &request, 1, err);
    if (status == VT_OK) {
        status = ops->wait(p->session.engine, p->lane, 1, 1, VT_NEVER, err, &event, &n);
    }
    if (status == VT_OK && n == 0) {
        status = vt_error_set(err, VT_ERR_ENGINE, "engine %s gave no answer", ops->name);
    }
    if (status == VT_OK && event.kind == VT_EVENT_ERROR) {
        status = vt_error_set(err, event.status, "%s",
                              event.text != NULL ? event.text : vt_status_text(event.status));
    }
    if (status == VT_OK) {
        *ret_ns = (double)(event.end_ns - event.start_ns);
    }
    return status;
}

/* Whether another run is wanted: by time, but some in any case. */
static bool goes_on(const struct profiling *p, uint64_t runs, int64_t until_ns)
{
    if (runs > 0 && atomic_load(p->stop)) {
        return false;
    }
    return runs < RUNS_LEAST || (runs < RUNS_MOST && vt_now_ns() < until_ns);
}

/* As always: what the whole takes when nobody looks. */
static enum vt_status run_plain(struct profiling *p, struct vt_error *err)
{
    double warm_ns = 0;
    uint64_t runs = 0;

    /* The plan is made and its memory touched. */
    enum vt_status status = run_once(p, err, &warm_ns);
    if (status == VT_OK) {
        status = run_once(p, err, &warm_ns);
    }
    int64_t until = vt_now_ns() + p->job.duration_ns / 2;
    while (status == VT_OK && goes_on(p, runs, until)) {
        status = run_once(p, err, &p->scratch[runs]);
        runs += status == VT_OK ? 1 : 0;
    }
    if (status == VT_OK) {
        p->profile.run_ns = vt_median(p->scratch, runs);
    }
    return status;
}

/* What each layer took in the run that has just ended. */
static void look(struct profiling *p, const struct vt_plan *plan, uint64_t run)
{
    for (uint32_t i = 0; i < p->profile.n_layers; i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(plan, i, &step);
        p->times[(size_t)i * RUNS_MOST + run] = (double)(step.time_ns - p->seen[i]);
        p->seen[i] = step.time_ns;
    }
}

static void sum_up(struct profiling *p, const struct vt_plan *plan, uint64_t runs)
{
    struct vt_profile *profile = &p->profile;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < profile->n_layers; i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(plan, i, &step);
        if (step.calls == 0) {
            continue;
        }
        struct vt_profile_layer *layer = &profile->layers[kept++];
        vt_layer_describe(vt_native_lane_model(p->lane), &step, layer);
        layer->position = i;
        layer->calls = step.calls / runs;
        layer->flops = step.flops / (double)runs;
        layer->bytes = step.bytes / (double)runs;
        layer->time_ns = vt_median(&p->times[(size_t)i * RUNS_MOST], runs);
    }
    profile->n_layers = kept;
}

static enum vt_status run_with_clocks(struct profiling *p, struct vt_plan *plan,
                                      struct vt_error *err)
{
    struct vt_profile *profile = &p->profile;
    int64_t until = vt_now_ns() + p->job.duration_ns / 2;
    enum vt_status status = VT_OK;
    uint64_t runs = 0;

    profile->n_layers = vt_plan_profile_count(plan);
    profile->layers = vt_calloc((size_t)profile->n_layers + 1, sizeof profile->layers[0]);
    p->seen = vt_calloc((size_t)profile->n_layers + 1, sizeof p->seen[0]);
    p->times = vt_calloc((size_t)profile->n_layers + 1, RUNS_MOST * sizeof p->times[0]);
    if (profile->layers == NULL || p->seen == NULL || p->times == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u layers", profile->n_layers);
    }
    while (status == VT_OK && goes_on(p, runs, until)) {
        status = run_once(p, err, &p->scratch[runs]);
        if (status == VT_OK) {
            look(p, plan, runs++);
        }
    }
    if (status == VT_OK) {
        profile->runs = runs;
        profile->profiled_run_ns = vt_median(p->scratch, runs);
        sum_up(p, plan, runs);
    }
    return status;
}

static enum vt_status measure(struct profiling *p, struct vt_error *err)
{
    p->scratch = vt_calloc(RUNS_MOST, sizeof p->scratch[0]);
    if (p->scratch == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    phase_begin(p, "peak", VT_NS_PER_S);
    enum vt_status status =
        vt_machine_peak_measure(p->profile.threads, p->stop, err, &p->profile.peak);
    phase_end(p);
    if (status != VT_OK || atomic_load(p->stop)) {
        return status != VT_OK ? status
                               : vt_error_set(err, VT_ERR_INTERRUPTED,
                                              "interrupted before anything was measured");
    }
    phase_begin(p, "layers", p->job.duration_ns);
    status = run_plain(p, err);
    struct vt_plan *plan = status == VT_OK ? vt_native_lane_plan(p->lane) : NULL;
    if (plan != NULL) {
        status = vt_plan_profile_begin(plan, err);
        if (status == VT_OK) {
            status = run_with_clocks(p, plan, err);
        }
        vt_plan_profile_end(plan);
        vt_session_refresh_caps(&p->session);
        (void)snprintf(p->profile.engine_description, sizeof p->profile.engine_description, "%s",
                       p->session.caps.description);
    }
    phase_end(p);
    p->profile.partial = atomic_load(p->stop);
    if (status == VT_OK && !vt_profile_sum_up(&p->profile)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    return status;
}

static enum vt_status prepare(struct profiling *p, const struct vt_options *options,
                              const char *model, struct vt_error *err)
{
    p->job.job.engine = "native";
    p->job.job.timeout_ns = VT_NEVER;
    enum vt_status status = vt_session_open(&p->session, &p->job.job, model, err);
    if (status != VT_OK) {
        return status;
    }
    describe(p, options);
    status = vt_save_open(&p->save, p->job.job.output, p->profile.started_utc,
                          p->profile.model_name, err);
    if (status == VT_OK && p->events->header != NULL) {
        p->events->header(p->events->ctx, &p->profile);
    }
    return status == VT_OK ? start(p, err) : status;
}

enum vt_status vt_profile_run(const struct vt_options *options, const char *model,
                              struct vt_load_control *control,
                              const struct vt_profile_events *events, struct vt_error *err,
                              struct vt_profile **ret_profile, const char **ret_folder)
{
    struct profiling *p = vt_calloc(1, sizeof *p);

    if (p == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    p->job = *(const struct vt_profile_job *)options->values;
    p->stop = &control->stop;
    p->events = events;
    enum vt_status status = prepare(p, options, model, err);
    if (status == VT_OK) {
        status = measure(p, err);
    }
    if (status != VT_OK) {
        vt_save_discard(&p->save);
        vt_profile_free(&p->profile);
        return status;
    }
    status = vt_profile_write_json(&p->profile, p->save.folder, err);
    *ret_profile = &p->profile;
    *ret_folder = p->save.folder;
    return status;
}

void vt_profile_free(struct vt_profile *profile)
{
    struct profiling *p = (struct profiling *)(void *)profile;

    if (p == NULL) {
        return;
    }
    vt_profile_release(profile);
    if (p->lane != NULL) {
        p->session.engine_ref.ops.lane_close(p->session.engine, p->lane);
    }
    for (uint32_t i = 0; p->inputs != NULL && i < p->session.signature.n_inputs; i++) {
        vt_free(p->inputs[i].data);
    }
    vt_free(p->inputs);
    vt_free(p->indices);
    vt_free(p->seen);
    vt_free(p->times);
    vt_free(p->scratch);
    if (p->session.job != NULL) {
        vt_session_close(&p->session);
    }
    vt_save_release(&p->save);
    vt_free(p);
}
