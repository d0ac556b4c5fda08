/* SPDX-License-Identifier: Apache-2.0 */
/* A result made by hand: digits, four scenarios and an accuracy run. */
#ifndef VT_TEST_RESULT_FIXTURE_H
#define VT_TEST_RESULT_FIXTURE_H

#include "result/result.h"
#include "vt_test.h"

struct fixture {
    struct vt_result result;
    struct vt_load_report reports[VT_RESULTS_MAX];
};

static inline void fixture_reason(struct vt_reasons *reasons, const char *text)
{
    snprintf(reasons->text[reasons->n++], sizeof reasons->text[0], "%s", text);
}

static inline struct vt_result_entry *fixture_add(struct fixture *f, enum vt_scenario scenario,
                                                  enum vt_mode mode)
{
    uint32_t i = f->result.n_entries++;
    struct vt_result_entry *entry = &f->result.entries[i];
    struct vt_load_report *report = &f->reports[i];

    *entry = (struct vt_result_entry){
        .scenario = scenario, .mode = mode, .test_mode = mode, .report = report};
    entry->valid = true;
    fixture_reason(&entry->rules, "3 s is shorter than 600 s (add --official)");
    report->settings.scenario = scenario;
    report->settings.mode = mode;
    report->settings.min_duration_ns = 3000000000;
    report->settings.min_query_count = 100;
    report->settings.single_stream_target_latency_percentile = 0.90;
    report->settings.multi_stream_target_latency_percentile = 0.99;
    report->settings.multi_stream_samples_per_query = 8;
    report->settings.server_target_latency_percentile = 0.99;
    report->settings.server_target_latency_ns = 10000000;
    report->sut_name = "digits on native";
    report->qsl_name = "digits";
    report->queries_issued = report->samples_issued = report->samples_completed = 5000;
    report->duration_ns = 3000123456;
    report->latency =
        (struct vt_latency_stats){6000, 7200, 6500, 7100, 8000, 9000, 11000, 40000, 90000};
    report->query_latency = report->latency;
    report->query_latency.p99_ns = 41000;
    report->lateness_p50_ns = 20;
    report->lateness_p99_ns = 700;
    report->lateness_max_ns = 9000;
    report->early_stopping_met = true;
    return entry;
}

static inline void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    vt_result_init(&f->result);
    f->result.model_name = "digits";
    f->result.model_parameters = 14474;
    f->result.model_bytes = 60000;
    f->result.model_flops = 123456;
    f->result.model_opset = 17;
    f->result.engine_name = "native";
    snprintf(f->result.precision, sizeof f->result.precision, "fp32");
    f->result.workload_name = "digits";
    f->result.sample_count = 360;
    f->result.batch = 32;
    f->result.lanes = 2;
    snprintf(f->result.energy_text, sizeof f->result.energy_text,
             "RAPL counters are readable by root only \xe2\x86\x92 run as root");

    struct vt_result_entry *e = fixture_add(f, VT_OFFLINE, VT_ACCURACY);
    e->has_quality = true;
    e->quality = (struct vt_quality){.metric = "top-1",
                                     .unit = "%",
                                     .value = 97.5,
                                     .has_target = true,
                                     .target = 96.5,
                                     .pass = true,
                                     .count = 360,
                                     .detail = "on 360 held-out images"};
    e = fixture_add(f, VT_OFFLINE, VT_PERFORMANCE);
    e->report->metric = (struct vt_metric){"samples_per_second", "samples/s", 212412.7};
    e = fixture_add(f, VT_SERVER, VT_PERFORMANCE);
    e->report->metric = (struct vt_metric){"completed_queries_per_second", "queries/s", 61300};
    e->rate_found = true;
    e->target_qps = 61500.25;
    e->rate = (struct vt_rate_found){.outcome = VT_RATE_CONFIRMED,
                                     .qps = 61500.25,
                                     .failed_qps = 63000,
                                     .low_qps = 60500,
                                     .high_qps = 62800,
                                     .trials = 9,
                                     .full_runs = 2,
                                     .full_valid = 1,
                                     .spent_ns = 7500000000,
                                     .budget_ns = 25000000000,
                                     .text = "61500 queries/s confirmed by a full run"};
    e = fixture_add(f, VT_SINGLESTREAM, VT_PERFORMANCE);
    e->report->metric = (struct vt_metric){"latency_p90", "ns", 7100};
    e->report->early_stopping_estimate_ns = 7150;
    e = fixture_add(f, VT_MULTISTREAM, VT_PERFORMANCE);
    e->report->metric = (struct vt_metric){"query_latency_p99", "ns", 41000};
}

/* Server counted tokens, 5 a sample. */
static inline void fixture_tokens(struct fixture *f)
{
    static const struct vt_token_record none;
    struct vt_load_report *report = f->result.entries[2].report;

    report->tokens = &none;
    report->settings.use_token_latencies = true;
    report->settings.server_ttft_latency_ns = 2000000000;
    report->settings.server_tpot_latency_ns = 200000000;
    report->last_query_done_ns = 2000000000;
    report->token.tokens = 25000;
    report->token.first = (struct vt_latency_stats){1, 2, 3000000, 4, 5, 6, 7000000, 8, 9};
    report->token.per_output = (struct vt_latency_stats){1, 2, 30000, 4, 5, 6, 70000, 8, 9};
}

/* The table as text; free() it. */
static inline char *fixture_table(const struct fixture *f, int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    vt_result_print_table(&f->result, stream, columns);
    assert_int_equal(fclose(stream), 0);
    char *copy = strdup(text); /* gcc takes the stream's own buffer for a local */
    assert_non_null(copy);
    free(text);
    return copy;
}

#endif
