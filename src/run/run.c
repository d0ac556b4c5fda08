/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "graph/inspect.h"
#include "run/audit/audit.h"
#include "run/caps/caps.h"
#include "run/layers.h"
#include "run/measure/measure.h"
#include "run/qsl.h"
#include "run/save.h"
#include "run/session.h"

/* The result stands first, so that its address is that of the whole. */
struct run {
    struct vt_result result;
    struct vt_job job;
    struct vt_load_plan plan;
    struct vt_session session;
    struct vt_qsl qsl;
    struct vt_run_caps caps;
    struct vt_run_energy *energy;
    struct vt_metered_qsl metered;
    struct vt_measure measure;
    struct vt_save save;
    bool wanted[VT_SCENARIO_COUNT];
    bool audits; /* compliance tests come behind the runs */
    struct vt_audit_wanted tests;
};

static uint32_t count_wanted(const struct run *run)
{
    uint32_t n = 0;
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        n += run->wanted[i] ? 1 : 0;
    }
    return n;
}

static void describe_weights(struct vt_result *result, const struct vt_model_source *source)
{
    const struct vt_zoo_network *network = source->zoo.network;

    result->random_weights = source->random_weights;
    if (!source->random_weights) {
        return;
    }
    (void)snprintf(result->weights_text, sizeof result->weights_text,
                   "random: speed is that of the network, quality is unmeasured (--weights "
                   "FILE.onnx takes trained ones)%s%s%s",
                   network->n_graphs > 1 ? "; the " : "",
                   network->n_graphs > 1 ? network->graphs[source->zoo.graph].name : "",
                   network->n_graphs > 1 ? " is one graph of several, decoding is not measured"
                                         : "");
}

/* A sample costs all its windows; nothing is known while its extents are open. */
static void describe_windows(const struct vt_session *session, struct vt_result *result)
{
    const struct vt_windows *windows = &session->windows;
    struct vt_error ignored = VT_ERROR_INIT;
    struct vt_model_summary summary;
    struct vt_signature volume;
    struct vt_shape_binding window;

    if (vt_windows_signature(windows, session->model, session->shapes.items, session->shapes.n,
                             &ignored, &volume) != VT_OK) {
        return;
    }
    const int64_t count = vt_windows_count(windows, &volume.inputs[0]);
    const uint32_t n = vt_windows_binding(windows, &volume.inputs[0], &window) ? 1 : 0;
    if (vt_model_inspect(session->model, &window, n, &ignored, &summary) == VT_OK) {
        result->model_parameters = (uint64_t)summary.parameters;
        result->model_bytes = summary.constant_bytes;
        result->model_flops = summary.uncounted_nodes == 0 ? summary.flops * (double)count : 0;
        vt_model_summary_release(&summary);
    }
    vt_signature_release(&volume);
}

/* What is known before the engine is open. */
static void describe_model(struct run *run, const struct vt_options *options)
{
    struct vt_result *result = &run->result;
    const struct vt_session *session = &run->session;
    struct vt_model_summary summary;
    struct vt_error ignored = VT_ERROR_INIT;

    vt_result_init(result);
    result->options = options;
    result->official = run->job.official;
    result->model_name = vt_model_source_name(&session->source);
    result->model_path = session->source.graph.path;
    result->engine_name = session->engine_ref.ops.name;
    result->workload_name = session->workload_ops->name;
    describe_weights(result, &session->source);
    if (session->model == NULL) {
        return;
    }
    result->model_opset = vt_model_opset(session->model);
    if (session->windows.axes > 0) {
        describe_windows(session, result);
    } else if (vt_model_inspect(session->model, session->shapes.items, session->shapes.n, &ignored,
                                &summary) == VT_OK) {
        result->model_parameters = (uint64_t)summary.parameters;
        result->model_bytes = summary.constant_bytes;
        result->model_flops = summary.uncounted_nodes == 0 ? summary.flops : 0;
        vt_model_summary_release(&summary);
    }
}

/* What the opened engine and workload add. */
static void describe_session(struct run *run)
{
    struct vt_result *result = &run->result;
    const struct vt_session *session = &run->session;

    vt_session_refresh_caps(&run->session);
    (void)snprintf(result->engine_description, sizeof result->engine_description, "%s",
                   session->caps.description);
    (void)snprintf(result->precision, sizeof result->precision, "%s", session->caps.precision);
    result->precision_choice = session->precision;
    (void)snprintf(result->workload_description, sizeof result->workload_description, "%s",
                   session->info.description);
    result->sample_count = session->info.total_count;
    result->samples_skipped = session->info.skipped;
    result->lanes = session->lanes;
    result->threads =
        run->job.threads > 0 ? (uint32_t)run->job.threads : vt_topology()->usable_cpus;
    result->batch = run->measure.probe.batch;
}

/* What is measured of a scenario. Compliance tests need the runs for themselves. */
static enum vt_job_mode mode_of(const struct run *run, int i)
{
    enum vt_job_mode mode = vt_load_plan_mode(&run->plan, &run->job, (enum vt_scenario)i);
    return run->audits && mode == VT_JOB_SUBMISSION ? VT_JOB_BOTH : mode;
}

/* Tests that LoadGen makes of several runs. */
static bool is_test(const struct run *run, int i)
{
    return mode_of(run, i) == VT_JOB_SUBMISSION || mode_of(run, i) == VT_JOB_FIND_PEAK;
}

/* A run of its own for accuracy. */
static bool wants_accuracy(const struct run *run, int i)
{
    enum vt_job_mode mode = mode_of(run, i);
    if (run->audits && run->tests.test[VT_TEST01]) {
        return run->wanted[i]; /* its responses are compared, whatever can be said of them */
    }
    return run->wanted[i] && (mode == VT_JOB_ACCURACY || mode == VT_JOB_BOTH) &&
           run->session.info.has_quality;
}

static bool wants_performance(const struct run *run, int i)
{
    return run->wanted[i] && (mode_of(run, i) != VT_JOB_ACCURACY || run->audits);
}

/* Else it is measured once: it depends little on the scenario. */
static bool accuracy_everywhere(const struct run *run)
{
    return run->job.official || (run->audits && run->tests.test[VT_TEST01]);
}

/* What the first lines say of a search for Server's rate. */
static void describe_rate_plan(struct run *run)
{
    struct vt_load_settings settings;

    if (!wants_performance(run, VT_SERVER)) {
        return;
    }
    vt_scenario_settings(&run->session, &run->measure.probe, VT_SERVER, VT_PERFORMANCE, &settings);
    if (mode_of(run, VT_SERVER) == VT_JOB_FIND_PEAK) {
        int64_t ignored;
        vt_measure_peak_plan(&run->measure, &settings, run->result.rate_plan,
                             sizeof run->result.rate_plan, &ignored);
    } else if (settings.server_target_qps <= 0 && settings.arrivals != VT_ARRIVALS_TRACE) {
        struct vt_rate_search search = vt_measure_rate_search(&run->measure.probe, &settings);
        vt_measure_rate_plan(&search, run->result.rate_plan, sizeof run->result.rate_plan);
    }
}

/* The performance runs of a scenario, with the accuracy run of a submission. */
static int64_t estimate_performance(const struct run *run, enum vt_scenario scenario)
{
    const struct vt_probe *probe = &run->measure.probe;
    struct vt_load_settings settings;
    char ignored[8];
    int64_t total;

    vt_scenario_settings(&run->session, probe, scenario, VT_PERFORMANCE, &settings);
    if (mode_of(run, scenario) == VT_JOB_FIND_PEAK) {
        vt_measure_peak_plan(&run->measure, &settings, ignored, sizeof ignored, &total);
        return total;
    }
    total = vt_scenario_expected_ns(&settings, probe, 0);
    if (mode_of(run, scenario) == VT_JOB_SUBMISSION) {
        settings.mode = VT_ACCURACY;
        total += vt_scenario_expected_ns(&settings, probe, run->session.info.total_count);
    }
    if (run->audits) {
        total += vt_audit_expected_ns(&run->tests, &settings, probe);
    }
    return total;
}

/* The sum over everything that is going to run. */
static int64_t estimate_total(const struct run *run)
{
    int64_t total = 0;
    bool accuracy = true;

    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        struct vt_load_settings settings;
        enum vt_scenario scenario = (enum vt_scenario)i;
        if (accuracy && wants_accuracy(run, i)) {
            vt_scenario_settings(&run->session, &run->measure.probe, scenario, VT_ACCURACY,
                                 &settings);
            total += vt_scenario_expected_ns(&settings, &run->measure.probe,
                                             run->session.info.total_count);
            accuracy = accuracy_everywhere(run);
        }
        if (wants_performance(run, i)) {
            total += estimate_performance(run, scenario);
        }
    }
    return total;
}

static enum vt_status keep_entry(struct run *run, struct vt_error *err)
{
    const struct vt_result_entry *entry = &run->result.entries[run->result.n_entries++];

    bool interrupted = entry->report != NULL && entry->report->interrupted;
    if (interrupted || entry->rate.interrupted || entry->peak.interrupted) {
        run->result.partial = true;
    }
    return vt_save_entry(&run->save, entry, err);
}

/* A test of several runs, measured and saved. */
static enum vt_status measure_test(struct run *run, enum vt_scenario scenario, struct vt_error *err)
{
    enum vt_mode mode = mode_of(run, scenario) == VT_JOB_SUBMISSION ? VT_SUBMISSION : VT_FIND_PEAK;
    struct vt_result_entry entries[2];
    char *folder = NULL;
    uint32_t n = 0;

    enum vt_status status = vt_save_test_folder(&run->save, scenario, mode, err, &folder);
    if (status != VT_OK) {
        return status;
    }
    const struct vt_test_logs logs = {.folder = folder, .trace = run->job.trace};
    status = vt_measure_test(&run->measure, scenario, mode, &logs, err, entries, &n);
    vt_free(folder);
    for (uint32_t i = 0; i < n; i++) {
        run->result.entries[run->result.n_entries] = entries[i];
        /* One failure to write is enough to be told, and all entries are kept. */
        enum vt_status kept = keep_entry(run, status == VT_OK ? err : NULL);
        status = status == VT_OK ? kept : status;
    }
    return status;
}

/* One entry, measured and saved. */
static enum vt_status measure_entry(struct run *run, enum vt_scenario scenario, enum vt_mode mode,
                                    struct vt_error *err)
{
    struct vt_result *result = &run->result;
    struct vt_result_entry *entry = &result->entries[result->n_entries];

    enum vt_status status = vt_measure_scenario(&run->measure, scenario, mode, err, entry);
    return status != VT_OK ? status : keep_entry(run, err);
}

/* Quality first, then speed: a fast wrong answer is worth nothing. */
static enum vt_status measure_all(struct run *run, struct vt_error *err)
{
    enum vt_status status = VT_OK;
    bool accuracy = true;

    for (int i = 0; i < VT_SCENARIO_COUNT && status == VT_OK; i++) {
        if (accuracy && wants_accuracy(run, i) && !run->result.partial) {
            status = measure_entry(run, (enum vt_scenario)i, VT_ACCURACY, err);
            accuracy = accuracy_everywhere(run);
        }
    }
    for (int i = 0; i < VT_SCENARIO_COUNT && status == VT_OK; i++) {
        if (wants_performance(run, i) && !run->result.partial) {
            status = is_test(run, i) ? measure_test(run, (enum vt_scenario)i, err)
                                     : measure_entry(run, (enum vt_scenario)i, VT_PERFORMANCE, err);
        }
    }
    if (status == VT_OK && run->audits && !run->result.partial) {
        status = vt_audit_run(&run->measure, &run->tests, &run->save, &run->result, err);
    }
    return status;
}

/* Find-peak is a test of Server: of all scenarios that one is left, of named ones it is an error.
 */
static enum vt_status check_find_peak(struct run *run, const struct vt_options *options,
                                      struct vt_error *err)
{
    bool named = vt_options_given(options, "scenario");

    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        enum vt_scenario scenario = (enum vt_scenario)i;
        if (!run->wanted[i] || mode_of(run, i) != VT_JOB_FIND_PEAK) {
            continue;
        }
        if (run->audits) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "find-peak: compliance tests need runs at one rate, give --mode "
                                "performance or both");
        }
        if (scenario == VT_SERVER && run->plan.asked[i].arrivals == VT_ARRIVALS_TRACE) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "find-peak varies the rate, a trace of arrivals has one: leave "
                                "--arrivals out or give --mode performance");
        }
        if (scenario != VT_SERVER && named) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "find-peak is a test of Server, not of %s: give --scenario server",
                                vt_scenario_name(scenario));
        }
        run->wanted[i] = scenario == VT_SERVER;
    }
    if (count_wanted(run) == 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "find-peak is a test of Server: give --scenario server");
    }
    return VT_OK;
}

/* Before anything is tuned or probed, and before there are threads. */
static enum vt_status set_caps(struct run *run, struct vt_error *err)
{
    const struct vt_run_events *events = run->measure.events;

    return vt_run_caps_begin(&run->caps, &run->job, events->warning, events->ctx, err);
}

/* That a cap could not be put back is told whatever else went wrong. */
static enum vt_status tell_caps(struct run *run, enum vt_status status, const struct vt_error *caps,
                                struct vt_error *err)
{
    const struct vt_run_events *events = run->measure.events;

    if (caps->status == VT_OK) {
        return status;
    }
    if (status == VT_OK) {
        return vt_error_set(err, caps->status, "%s", caps->text);
    }
    if (events->warning != NULL) {
        events->warning(events->ctx, caps->text);
    }
    return status;
}

/* Nothing was measured. */
static enum vt_status give_up(struct run *run, enum vt_status status, struct vt_error *err)
{
    struct vt_error caps = VT_ERROR_INIT;

    (void)!vt_run_caps_end(&run->caps, NULL, &caps);
    (void)tell_caps(run, status, &caps, err);
    vt_measure_tell_meters(&run->measure, false);
    vt_save_discard(&run->save);
    vt_run_result_free(&run->result);
    return status;
}

/* Early, so that there are readings long before the first run. */
static enum vt_status open_meters(struct run *run, struct vt_error *err)
{
    const struct vt_run_energy_options options = {run->job.meters, &run->job.places,
                                                  run->job.ranging_ns > 0};

    enum vt_status status = vt_run_energy_new(&options, err, &run->energy);
    if (status == VT_OK) {
        run->measure.energy = run->energy;
        vt_measure_tell_meters(&run->measure, true);
    }
    return status;
}

/* All figures at once: some meters tell their readings in the end only. */
static enum vt_status finish_energy(struct run *run, struct vt_error *err)
{
    vt_measure_tell_meters(&run->measure, false);
    return vt_run_energy_finish(run->energy, run->save.folder, err, &run->result);
}

/* A network of the zoo is written when it is asked for the first time: seconds for a large one. */
static enum vt_status open_session(struct run *run, const char *model, struct vt_error *err)
{
    const struct vt_run_events *events = run->measure.events;
    const struct vt_run_phase phase = {.name = "opening"};
    struct vt_zoo_choice choice;
    const bool slow = run->job.weights == NULL && vt_zoo_choose(model, &choice);

    if (slow && events->phase_begin != NULL) {
        events->phase_begin(events->ctx, &phase);
    }
    enum vt_status status = vt_session_open(&run->session, &run->job, model, err);
    if (slow && events->phase_end != NULL) {
        events->phase_end(events->ctx);
    }
    return status;
}

/* The machine, the meters, the engine, in this order. */
static enum vt_status start(struct run *run, struct vt_error *err)
{
    enum vt_status status = set_caps(run, err);

    if (status == VT_OK) {
        status = open_meters(run, err);
    }
    return status == VT_OK ? vt_session_start(&run->session, err) : status;
}

/* What one sample and full batches take; before it idleness, or after it an analyzer's ranges,
 * which want load, and then idleness. */
static enum vt_status probe(struct run *run, struct vt_error *err)
{
    vt_qsl_init(&run->qsl, &run->session);
    vt_metered_qsl_init(&run->metered, &run->qsl, run->energy);
    vt_run_energy_on_cpu(run->energy, run->session.caps.uses_cpu);
    const bool ranging = vt_run_energy_wants_ranging(run->energy);
    if (!ranging) {
        vt_measure_idle(&run->measure, run->job.idle_ns);
    }
    enum vt_status status = vt_measure_probe(&run->measure, err);
    if (status == VT_OK && ranging) {
        status = vt_measure_ranges(&run->measure, run->job.ranging_ns, err);
        vt_measure_idle(&run->measure, status == VT_OK ? run->job.idle_ns : 0);
    }
    return status;
}

static enum vt_status prepare(struct run *run, const struct vt_options *options, const char *model,
                              struct vt_error *err)
{
    const struct vt_run_events *events = run->measure.events;

    enum vt_status status = vt_job_scenarios(&run->job, err, run->wanted);
    run->audits = run->job.tests != NULL;
    if (status == VT_OK && run->audits) {
        status = vt_audit_parse(run->job.tests, err, &run->tests);
    }
    if (status == VT_OK) {
        status = open_session(run, model, err);
    }
    if (status == VT_OK) {
        const struct vt_conf_warnings warnings = {events->warning, events->ctx};
        status = vt_load_plan_init(&run->plan, options,
                                   vt_model_source_benchmark(&run->session.source), &warnings, err);
        run->session.plan = &run->plan;
    }
    if (status == VT_OK) {
        status = vt_load_plan_check_host(&run->plan, &run->job, err);
    }
    if (status == VT_OK) {
        status = check_find_peak(run, options, err);
    }
    if (status != VT_OK) {
        return status;
    }
    describe_model(run, options);
    status = vt_save_open(&run->save, run->job.output, run->result.started_utc,
                          run->result.model_name, err);
    if (status != VT_OK) {
        return status;
    }
    run->save.trace = run->job.trace;
    if (events->header != NULL) {
        events->header(events->ctx, &run->result, count_wanted(run));
    }
    status = start(run, err);
    if (status != VT_OK) {
        return status;
    }
    if (run->job.mode == VT_JOB_ACCURACY && !run->audits && !run->session.info.has_quality) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--mode accuracy: workload %s has nothing to compare with; give it "
                            "labelled data, or --expect NAME=FILE",
                            run->session.info.name);
    }
    status = probe(run, err);
    if (status != VT_OK) {
        return status;
    }
    describe_session(run);
    describe_rate_plan(run);
    if (events->estimate != NULL) {
        events->estimate(events->ctx, &run->result, estimate_total(run));
    }
    return VT_OK;
}

enum vt_status vt_run(const struct vt_options *options, const char *model,
                      struct vt_load_control *control, const struct vt_run_events *events,
                      struct vt_error *err, struct vt_result **ret_result, const char **ret_folder)
{
    struct run *run = vt_calloc(1, sizeof *run);
    if (run == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    run->job = *(const struct vt_job *)options->values;
    run->measure = (struct vt_measure){.session = &run->session,
                                       .wanted = run->wanted,
                                       .qsl = &run->metered.seam,
                                       .control = control,
                                       .events = events};
    enum vt_status status = prepare(run, options, model, err);
    if (status != VT_OK) {
        return give_up(run, status, err);
    }
    status = measure_all(run, err);
    if (status == VT_ERR_INTERRUPTED) {
        run->result.partial = true;
    }
    if (run->result.n_entries == 0) {
        return give_up(run,
                       status != VT_OK
                           ? status
                           : vt_error_set(err, VT_ERR_INTERRUPTED, "nothing was measured"),
                       err);
    }
    struct vt_error caps = VT_ERROR_INIT;
    (void)!vt_run_caps_end(&run->caps, &run->result, &caps);
    if (status == VT_ERR_INTERRUPTED && err != NULL) {
        err->status = VT_OK; /* it is in the result */
        status = VT_OK;
    }
    /* A failure to write is told once. */
    const enum vt_status metered = finish_energy(run, status == VT_OK ? err : NULL);
    status = status == VT_OK ? metered : status;
    if (status == VT_OK) {
        status = vt_layers_read(&run->session, err, &run->result.layers, &run->result.n_layers);
    }
    if (status == VT_OK) {
        status = vt_result_write_json(&run->result, run->save.folder, err);
    }
    status = tell_caps(run, status, &caps, err);
    *ret_result = &run->result;
    *ret_folder = run->save.folder;
    return status;
}

void vt_run_result_free(struct vt_result *result)
{
    struct run *run = (struct run *)(void *)result;

    if (run == NULL) {
        return;
    }
    (void)!vt_run_caps_end(&run->caps, NULL, NULL);
    vt_result_release(&run->result);
    vt_run_energy_free(run->energy);
    vt_session_close(&run->session);
    vt_load_plan_release(&run->plan);
    vt_save_release(&run->save);
    vt_free(run);
}
