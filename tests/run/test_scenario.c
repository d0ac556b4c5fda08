/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, counts and bounds: what a job asks for becomes what load does. */
#include "plan_fixture.h"
#include "vt_torture.h"

static void refused(const char *arguments, enum vt_status status, const char *why)
{
    struct fixture f;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(try_job(&f, "mine.onnx", arguments, &err), status);
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, why);
    }
    close_job(&f);
}

static void a_short_job_needs_what_early_stopping_needs(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "mine.onnx", "");
    struct vt_load_settings s = settings_of(&f.session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 64);
    assert_int_equal(s.min_duration_ns, 3 * VT_NS_PER_S);
    assert_int_equal(s.single_stream_expected_latency_ns, 2 * VT_NS_PER_MS);
    assert_int_equal(s.max_duration_ns, 60 * VT_NS_PER_S);
    assert_int_equal(s.completion_timeout_ns, 60 * VT_NS_PER_S);
    s = settings_of(&f.session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 662);
    assert_int_equal(s.multi_stream_samples_per_query, 8);
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 662);
    assert_true(s.server_target_qps == 0);
    s = settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 1);
    assert_false(vt_scenario_offline_rate_given(&f.session));
    /* mlperf.conf of the round. */
    assert_true(s.qsl_rng_seed == UINT64_C(2085463073848966840));
    assert_true(s.sample_index_rng_seed == UINT64_C(2747215439041700203));
    assert_true(s.schedule_rng_seed == UINT64_C(16159082839903944936));
    s = settings_of(&f.session, VT_OFFLINE, VT_ACCURACY);
    assert_int_equal(s.max_duration_ns, 0);
    s = settings_of(&f.session, VT_SERVER, VT_ACCURACY);
    assert_true(s.server_target_qps == 500);
    close_job(&f);
}

static void official_takes_the_rules_numbers(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "mine.onnx", "--official");
    struct vt_load_settings s = settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE);
    assert_int_equal(s.min_duration_ns, 600 * VT_NS_PER_S);
    assert_int_equal(s.max_duration_ns, 0);
    assert_int_equal(s.min_query_count, 24576);
    s = settings_of(&f.session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 100);
    close_job(&f);
    open_job(&f, "mine.onnx", "--official --duration 700s --max-duration 2h");
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_duration_ns, 700 * VT_NS_PER_S);
    assert_int_equal(s.max_duration_ns, 7200 * VT_NS_PER_S);
    close_job(&f);
    open_job(&f, "mine.onnx", "--official --duration 5s");
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_duration_ns, 600 * VT_NS_PER_S);
    close_job(&f);
    open_job(&f, "mine.onnx", "--official --round v3.0");
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 270336);
    assert_true(s.schedule_rng_seed == UINT64_C(12134888396634371638));
    close_job(&f);
    open_job(&f, "bert.onnx", "--official");
    assert_int_equal(settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE).min_query_count, 10833);
    close_job(&f);
}

static void a_benchmark_brings_its_limits(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "resnet50.onnx", "");
    struct vt_load_settings s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_string_equal(f.plan.benchmark, "resnet50");
    assert_int_equal(s.server_target_latency_ns, 15 * VT_NS_PER_MS);
    assert_int_equal(s.performance_sample_count_override, 1024);
    assert_int_equal(s.min_duration_ns, 3 * VT_NS_PER_S);
    f.session.info.total_count = 500; /* fewer than the benchmark loads */
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.performance_sample_count_override, 0);
    close_job(&f);
    open_job(&f, "mine.onnx", "--benchmark llama2-70b-interactive --tpot-latency 50ms");
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_true(s.use_token_latencies && s.sample_concatenate_permutation);
    assert_int_equal(s.server_target_latency_ns, 0);
    assert_int_equal(s.server_ttft_latency_ns, 450 * VT_NS_PER_MS);
    assert_int_equal(s.server_tpot_latency_ns, 50 * VT_NS_PER_MS);
    close_job(&f);
}

static void the_latency_bound_is_the_users_the_tasks_or_measured(void **state)
{
    (void)state;
    struct fixture f;
    struct vt_probe fast = {.single_p90_ns = 1000, .batch = 1, .samples_per_s = 1e6};
    open_job(&f, "mine.onnx", "");
    assert_int_equal(vt_scenario_latency_bound(&f.session, &probe), 20 * VT_NS_PER_MS);
    assert_int_equal(vt_scenario_latency_bound(&f.session, &fast), 10 * VT_NS_PER_MS);
    f.session.info.latency_bound_ns = 15 * VT_NS_PER_MS;
    assert_int_equal(vt_scenario_latency_bound(&f.session, &fast), 15 * VT_NS_PER_MS);
    close_job(&f);
    open_job(&f, "mine.onnx", "--max-latency 7ms");
    f.session.info.latency_bound_ns = 15 * VT_NS_PER_MS;
    assert_int_equal(vt_scenario_latency_bound(&f.session, &fast), 7 * VT_NS_PER_MS);
    close_job(&f);
}

static void spinning_is_for_engines_off_the_cpu(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "mine.onnx", "");
    assert_true(settings_of(&f.session, VT_SERVER, VT_PERFORMANCE).spin_ns > 0);
    f.session.caps.uses_cpu = true;
    assert_int_equal(settings_of(&f.session, VT_SERVER, VT_PERFORMANCE).spin_ns, 0);
    close_job(&f);
    open_job(&f, "mine.onnx", "--spin-us 5");
    f.session.caps.uses_cpu = true;
    assert_int_equal(settings_of(&f.session, VT_SERVER, VT_PERFORMANCE).spin_ns, 5 * VT_NS_PER_US);
    close_job(&f);
}

static void the_estimate_follows_the_slower_limit(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "mine.onnx", "--duration 1s");
    /* 64 queries of 2 ms are over before the second is. */
    struct vt_load_settings s = settings_of(&f.session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(vt_scenario_expected_ns(&s, &probe, 0), VT_NS_PER_S);
    /* 662 queries of 8 samples at 1000 samples/s take 5.296 s. */
    s = settings_of(&f.session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_true(llabs(vt_scenario_expected_ns(&s, &probe, 0) - 5296 * VT_NS_PER_MS) < VT_NS_PER_MS);
    s = settings_of(&f.session, VT_OFFLINE, VT_ACCURACY);
    assert_true(llabs(vt_scenario_expected_ns(&s, &probe, 2000) - 2 * VT_NS_PER_S) < VT_NS_PER_MS);
    close_job(&f);
    open_job(&f, "mine.onnx", "--duration 1s --max-duration 4s");
    s = settings_of(&f.session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_int_equal(vt_scenario_expected_ns(&s, &probe, 0), 4 * VT_NS_PER_S);
    close_job(&f);
}

static const char *write_file(const char *name, const char *text)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "test_scenario_%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Round < --mlperf-conf < --user-conf < options < --audit-conf. */
static void the_later_source_wins(void **state)
{
    (void)state;
    struct fixture f;
    char arguments[512];
    const char *mlperf = write_file("mlperf.conf", "*.*.schedule_rng_seed = 1\n"
                                                   "*.Server.target_latency = 31\n"
                                                   "*.*.min_query_count = 32\n"
                                                   "*.*.min_duration = 33\n"
                                                   "*.Server.target_latency_percentile = 97\n");
    const char *user = write_file("user.conf", "*.Server.target_qps = 41\n"
                                               "resnet50.Server.target_latency = 42\n"
                                               "*.*.min_query_count = 43\n"
                                               "*.Offline.target_qps = 44\n"
                                               "*.*.mode = 1\n");
    const char *audit = write_file("audit.config", "*.*.min_query_count = 51\n"
                                                   "*.*.mode = 2\n"
                                                   "*.*.accuracy_log_sampling_target = 52\n");

    (void)snprintf(arguments, sizeof arguments, "--mlperf-conf %s", mlperf);
    open_job(&f, "resnet50", arguments);
    struct vt_load_settings s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.schedule_rng_seed, 1);
    assert_true(s.qsl_rng_seed == UINT64_C(2085463073848966840));
    assert_int_equal(s.server_target_latency_ns, 31 * VT_NS_PER_MS);
    assert_int_equal(s.min_query_count, 32);
    assert_int_equal(s.min_duration_ns, 33 * VT_NS_PER_MS);
    assert_true(s.server_target_latency_percentile == 0.97);
    assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), VT_JOB_BOTH);
    close_job(&f);

    (void)snprintf(arguments, sizeof arguments, "--mlperf-conf %s --user-conf %s", mlperf, user);
    open_job(&f, "resnet50", arguments);
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_true(s.server_target_qps == 41);
    assert_int_equal(s.server_target_latency_ns, 42 * VT_NS_PER_MS);
    assert_int_equal(s.min_query_count, 43);
    assert_true(vt_scenario_offline_rate_given(&f.session));
    assert_true(settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE).offline_expected_qps == 44);
    assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), VT_JOB_ACCURACY);
    close_job(&f);

    (void)snprintf(arguments, sizeof arguments,
                   "--mlperf-conf %s --user-conf %s --target-qps auto --min-query-count 61 "
                   "--max-latency 62ms --mode both --set min_duration_ms=63 --coalesce",
                   mlperf, user);
    open_job(&f, "resnet50", arguments);
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_true(s.server_target_qps == 0);
    assert_int_equal(s.server_target_latency_ns, 62 * VT_NS_PER_MS);
    assert_int_equal(s.min_query_count, 61);
    assert_int_equal(s.min_duration_ns, 63 * VT_NS_PER_MS);
    assert_true(s.server_coalesce_queries);
    assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), VT_JOB_BOTH);
    close_job(&f);

    (void)snprintf(arguments, sizeof arguments,
                   "--user-conf %s --min-query-count 61 --mode both --audit-conf %s", user, audit);
    open_job(&f, "resnet50", arguments);
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 51);
    assert_int_equal(s.accuracy_log_sampling_target, 52);
    assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), VT_JOB_PERFORMANCE);
    close_job(&f);
    (void)remove(mlperf);
    (void)remove(user);
    (void)remove(audit);
}

static void a_job_file_says_the_same(void **state)
{
    (void)state;
    struct vt_options options = {0};
    struct vt_job job;
    struct vt_load_plan plan;
    struct vt_error err = VT_ERROR_INIT;
    static const char text[] = "[global]\nround = v4.0\n[a]\nmodel = mine\nbenchmark = bert\n"
                               "target-qps = auto\nissue-threads = 4\ncoalesce = yes\n"
                               "arrivals = constant\nset = spin=7us\nset = qsl_rng_seed=9\n"
                               "memory-limit = 1GiB\nspill-dir = /big\nfifo = 5\npin = 2-3,1\n"
                               "bounded-method = division\n";
    assert_int_equal(vt_options_init(&options, vt_job_options(), &job, &err), VT_OK);
    if (vt_options_parse_job_text(&options, "x.ini", text, strlen(text), "a", &err) != VT_OK ||
        vt_load_plan_init(&plan, &options, job.model, NULL, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    const struct vt_load_settings *s = &plan.asked[VT_SERVER];
    assert_string_equal(plan.benchmark, "bert");
    assert_int_equal(s->server_target_latency_ns, 130 * VT_NS_PER_MS);
    assert_true(s->schedule_rng_seed == UINT64_C(7575108116881280410));
    assert_int_equal(s->qsl_rng_seed, 9);
    assert_int_equal(s->spin_ns, 7000);
    assert_int_equal(s->server_num_issue_query_threads, 4);
    assert_true(s->server_coalesce_queries);
    assert_int_equal(s->arrivals, VT_ARRIVALS_CONSTANT);
    assert_int_equal(s->bounded_method, VT_BOUNDED_DIVISION);
    assert_int_equal(s->memory_limit_bytes, 1 << 30);
    assert_string_equal(s->spill_folder, "/big");
    assert_int_equal(s->fifo_priority, 5);
    assert_int_equal(s->n_issue_cpus, 3);
    assert_int_equal(s->issue_cpus[0], 2);
    assert_int_equal(s->issue_cpus[1], 3);
    assert_int_equal(s->issue_cpus[2], 1);
    vt_load_plan_release(&plan);
    vt_options_release(&options);
}

static void a_trace_is_seconds_line_by_line(void **state)
{
    (void)state;
    struct fixture f;
    char arguments[256];
    const char *path = write_file("trace.csv", "seconds\n1700000000.000000001\n1700000000.5\n"
                                               "1700000000.5\n1700000002.000000001\n");
    (void)snprintf(arguments, sizeof arguments, "-s server --arrivals trace:%s", path);
    open_job(&f, "mine.onnx", arguments);
    struct vt_load_settings s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.arrivals, VT_ARRIVALS_TRACE);
    assert_int_equal(s.n_arrival_trace, 4);
    assert_int_equal(s.arrival_trace_ns[0], 0);
    assert_int_equal(s.arrival_trace_ns[1], 499999999);
    assert_int_equal(s.arrival_trace_ns[2], 499999999);
    assert_int_equal(s.arrival_trace_ns[3], 2000000000);
    assert_true(s.server_target_qps == 1.5);
    /* No more is asked for than the trace has, unless somebody says so. */
    assert_int_equal(s.min_query_count, 4);
    assert_int_equal(s.min_duration_ns, 2000000000);
    assert_int_equal(s.max_duration_ns, 0);
    assert_int_equal(vt_scenario_expected_ns(&s, &probe, 0), 2000000000);
    close_job(&f);
    char more[512];
    (void)snprintf(more, sizeof more, "%s --duration 5s --min-query-count 9 --max-duration 6s",
                   arguments);
    open_job(&f, "mine.onnx", more);
    s = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 9);
    assert_int_equal(s.min_duration_ns, 5 * VT_NS_PER_S);
    assert_int_equal(s.max_duration_ns, 6 * VT_NS_PER_S);
    close_job(&f);
    (void)write_file("trace.csv", "0\n\n0.5\n0.4\n");
    refused(arguments, VT_ERR_FORMAT, "trace.csv:4: the time is before");
    (void)write_file("trace.csv", "0\nlater\n");
    refused(arguments, VT_ERR_FORMAT, "trace.csv:2: 'later' is no time");
    (void)write_file("trace.csv", "seconds\n");
    refused(arguments, VT_ERR_FORMAT, "no time stands in it");
    (void)remove(path);
    refused(arguments, VT_ERR_NOT_FOUND, "trace.csv");
}

static void modes_of_a_file_are_those_of_a_job(void **state)
{
    static const enum vt_job_mode modes[] = {VT_JOB_SUBMISSION, VT_JOB_ACCURACY, VT_JOB_PERFORMANCE,
                                             VT_JOB_FIND_PEAK};
    (void)state;
    char text[64], arguments[256];
    struct fixture f;
    for (int mode = 0; mode < 4; mode++) {
        (void)snprintf(text, sizeof text, "*.Server.mode = %d\n", mode);
        const char *path = write_file("mode.conf", text);
        (void)snprintf(arguments, sizeof arguments, "--user-conf %s", path);
        open_job(&f, "mine.onnx", arguments);
        assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), modes[mode]);
        assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_OFFLINE), VT_JOB_BOTH);
        close_job(&f);
        (void)remove(path);
    }
}

static void test05_is_a_performance_run(void **state)
{
    (void)state;
    struct fixture f;
    open_job(&f, "mine.onnx", "--mode submission --set test05=true");
    assert_int_equal(vt_load_plan_mode(&f.plan, &f.job, VT_SERVER), VT_JOB_PERFORMANCE);
    close_job(&f);
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    struct fixture f;
    refused("--round v2.1", VT_ERR_USAGE, "v3.0, v3.1");
    refused("--benchmark *", VT_ERR_USAGE, "--benchmark");
    refused("--arrivals often", VT_ERR_USAGE, "poisson, constant or trace:FILE");
    refused("--arrivals trace:", VT_ERR_USAGE, "trace:FILE");
    refused("--pin 3-1", VT_ERR_USAGE, "--pin 3-1");
    refused("--pin 1,", VT_ERR_USAGE, "--pin");
    refused("--pin 0-99999", VT_ERR_USAGE, "--pin");
    open_job(&f, "mine.onnx", "--pin 9999");
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_plan_check_host(&f.plan, &f.job, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "--pin 9999: this process may not use CPU 9999"));
    close_job(&f);
    refused("--set min_duration_ms", VT_ERR_USAGE, "KEY=VALUE");
    refused("--set min_duration=1", VT_ERR_USAGE, "did you mean 'min_duration_ms'?");
    refused("--set min_query_count=0", VT_ERR_USAGE, "--set min_query_count is 0: give");
    refused("--set mode=1", VT_ERR_USAGE, "--mode");
    refused("--set arrivals=trace", VT_ERR_USAGE, "--arrivals");
    refused("--target-qps soon", VT_ERR_USAGE, "nor 'auto'");
    refused("--user-conf nowhere.conf", VT_ERR_NOT_FOUND, "nowhere.conf");
    const char *path = write_file("bad.conf", "*.*.mode = 4\n");
    refused("--user-conf test_scenario_bad.conf", VT_ERR_FORMAT, "give 0 (submission)");
    (void)write_file("bad.conf", "*.Server.target_qsp = 3\n");
    open_job(&f, "mine.onnx", "--user-conf test_scenario_bad.conf");
    assert_string_equal(f.warned, "test_scenario_bad.conf:1: unknown key 'target_qsp'; did you "
                                  "mean 'target_qps'?");
    close_job(&f);
    (void)remove(path);
}

static void options_without_their_other_half_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *warning;
    } cases[] = {
        {"--spill-dir /tmp", "--spill-dir has no effect without --memory-limit"},
        {"--spill-dir /tmp --memory-limit 1MiB", ""},
        {"--spill-dir /tmp --set memory_limit=1MiB", ""},
        {"--ttft-latency 1s", "--ttft-latency has no effect without --tokens"},
        {"--tokens --tpot-latency 1s", ""},
    };
    struct fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_job(&f, "mine.onnx", cases[i].arguments);
        assert_string_equal(f.warned, cases[i].warning);
        close_job(&f);
    }
}

/* Files, a trace and a CPU list, with memory for ever more of it. */
static void a_plan_survives_the_want_of_memory(void **state)
{
    (void)state;
    const char *conf = write_file("memory.conf", "*.*.min_duration = 5\n*.Server.target_qps = 2\n");
    const char *trace = write_file("memory.csv", "0\n1\n2\n");
    char arguments[256];
    struct fixture f;
    enum vt_status status = VT_ERR_MEMORY;
    int live = 0;
    (void)snprintf(arguments, sizeof arguments, "--user-conf %s --arrivals trace:%s --pin 0-1",
                   conf, trace);
    int allowed = 0;
    for (; status == VT_ERR_MEMORY && live == 0 && allowed < 200; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        status = try_job(&f, "mine.onnx", arguments, &err);
        close_job(&f);
        live = vt_torture_end(&torture);
    }
    assert_int_equal(live, 0);
    assert_int_equal(status, VT_OK);
    assert_true(allowed > 4);
    (void)remove(conf);
    (void)remove(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_job_needs_what_early_stopping_needs),
        cmocka_unit_test(official_takes_the_rules_numbers),
        cmocka_unit_test(a_benchmark_brings_its_limits),
        cmocka_unit_test(the_latency_bound_is_the_users_the_tasks_or_measured),
        cmocka_unit_test(spinning_is_for_engines_off_the_cpu),
        cmocka_unit_test(the_estimate_follows_the_slower_limit),
        cmocka_unit_test(the_later_source_wins),
        cmocka_unit_test(a_job_file_says_the_same),
        cmocka_unit_test(a_trace_is_seconds_line_by_line),
        cmocka_unit_test(modes_of_a_file_are_those_of_a_job),
        cmocka_unit_test(test05_is_a_performance_run),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(options_without_their_other_half_are_told),
        cmocka_unit_test(a_plan_survives_the_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
