/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vatio's load generator does with given settings, for orders.py to compare with MLPerf
 * LoadGen. Reads one configuration a line on stdin, "key=value" parted by blanks: the fields of
 * MLPerf's TestSettings, and
 *
 *   total=N performance=N   the sample library
 *   bounded_method=N        a value of enum vt_bounded_method
 *   latency_ns=N            of a query, on a clock that passes only when somebody waits (default 0)
 *
 * and writes for each, on stdout:
 *
 *   run                       a configuration begins
 *   phase P QUERIES DURATION SPQ MINQ MINS PSC ASC QPS FIRST
 *                             P: performance or accuracy. What LoadGen would have generated, the
 *                             effective settings, the sequence number of the first sample
 *   load I I …                a set of samples that is brought into memory
 *   n Q S I I …               a query: its number, its scheduled start in ns, its samples
 *   kept S:I S:I …            the responses that go to the accuracy log, sequence and index
 *   end                       or "error TEXT"
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"

struct probe {
    struct vt_load_settings settings;
    uint64_t total, performance;
    int64_t latency_ns;
    struct vt_clock clock;
    int64_t now_ns;
    struct vt_completion_sink sink;
    uint64_t *indices; /* as they were issued, of one phase */
    uint64_t issued, room;
};

enum kind { U64, I64, MS, F64, FLAG };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define SETTING(kind, field)                                                                       \
    {                                                                                              \
#field, kind, offsetof(struct probe, settings.field)                                       \
    }
#define SETTING_AS(kind, key, field)                                                               \
    {                                                                                              \
        key, kind, offsetof(struct probe, settings.field)                                          \
    }
static const struct key keys[] = {
    {"total", U64, offsetof(struct probe, total)},
    {"performance", U64, offsetof(struct probe, performance)},
    {"latency_ns", I64, offsetof(struct probe, latency_ns)},
    SETTING(F64, single_stream_expected_latency_ns),
    SETTING(F64, multi_stream_expected_latency_ns),
    SETTING(U64, multi_stream_samples_per_query),
    SETTING(F64, server_target_qps),
    SETTING(FLAG, server_coalesce_queries),
    SETTING(F64, offline_expected_qps),
    SETTING_AS(MS, "min_duration_ms", min_duration_ns),
    SETTING_AS(MS, "max_duration_ms", max_duration_ns),
    SETTING(U64, min_query_count),
    SETTING(U64, max_query_count),
    SETTING(U64, qsl_rng_seed),
    SETTING(U64, sample_index_rng_seed),
    SETTING(U64, schedule_rng_seed),
    SETTING(U64, accuracy_log_rng_seed),
    SETTING(F64, accuracy_log_probability),
    SETTING(U64, accuracy_log_sampling_target),
    SETTING(FLAG, performance_issue_unique),
    SETTING(FLAG, performance_issue_same),
    SETTING(U64, performance_issue_same_index),
    SETTING(U64, performance_sample_count_override),
    SETTING(U64, accuracy_sample_count_override),
    SETTING(FLAG, sample_concatenate_permutation),
    SETTING(FLAG, test05),
    SETTING(U64, test05_qsl_rng_seed),
    SETTING(U64, test05_sample_index_rng_seed),
    SETTING(U64, test05_schedule_rng_seed),
};

static bool set_enum(const char *const *names, size_t n, const char *value, int *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], value) == 0) {
            *ret = (int)i;
            return true;
        }
    }
    return false;
}

static bool set_named(struct probe *p, const char *key, const char *value)
{
    static const char *const scenarios[] = {
        [VT_OFFLINE] = "Offline",
        [VT_SERVER] = "Server",
        [VT_SINGLESTREAM] = "SingleStream",
        [VT_MULTISTREAM] = "MultiStream",
    };
    static const char *const modes[] = {
        [VT_PERFORMANCE] = "PerformanceOnly",
        [VT_ACCURACY] = "AccuracyOnly",
        [VT_SUBMISSION] = "SubmissionRun",
    };
    int found = 0;
    if (strcmp(key, "scenario") == 0 && set_enum(scenarios, VT_SCENARIO_COUNT, value, &found)) {
        p->settings.scenario = (enum vt_scenario)found;
        return true;
    }
    if (strcmp(key, "mode") == 0 && set_enum(modes, VT_SUBMISSION + 1, value, &found)) {
        p->settings.mode = (enum vt_mode)found;
        return true;
    }
    return false;
}

static bool set(struct probe *p, const char *key, const char *value)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i].name, key) != 0) {
            continue;
        }
        char *field = (char *)p + keys[i].offset;
        switch (keys[i].kind) {
        case U64:
            *(uint64_t *)field = strtoull(value, NULL, 10);
            return true;
        case I64:
            *(int64_t *)field = strtoll(value, NULL, 10);
            return true;
        case MS:
            *(int64_t *)field = strtoll(value, NULL, 10) * VT_NS_PER_MS;
            return true;
        case F64:
            *(double *)field = strtod(value, NULL);
            return true;
        case FLAG:
            *(bool *)field = strtol(value, NULL, 10) != 0;
            return true;
        }
    }
    if (strcmp(key, "bounded_method") == 0) {
        p->settings.bounded_method = (enum vt_bounded_method)strtol(value, NULL, 10);
        return true;
    }
    return set_named(p, key, value);
}

static int64_t now(void *ctx)
{
    return ((struct probe *)ctx)->now_ns;
}

static void sleep_until(void *ctx, int64_t deadline_ns, int64_t spin_ns)
{
    struct probe *p = ctx;
    (void)spin_ns;
    p->now_ns = deadline_ns > p->now_ns ? deadline_ns : p->now_ns;
}

static const char *name(void *ctx)
{
    (void)ctx;
    return "probe";
}

static enum vt_status start(void *ctx, const struct vt_completion_sink *sink,
                            enum vt_scenario scenario, struct vt_error *err)
{
    struct probe *p = ctx;
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        p->sink = *sink;
    }
    return VT_OK;
}

static enum vt_status issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err)
{
    struct probe *p = ctx;
    if (p->room < p->issued + n) {
        p->room = 2 * (p->issued + n);
        p->indices = realloc(p->indices, p->room * sizeof(*p->indices));
        if (p->indices == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "no memory");
        }
    }
    p->now_ns += p->latency_ns;
    for (size_t i = 0; i < n; i++) {
        struct vt_completion c = {
            .id = samples[i].id,
            .response = &samples[i].index,
            .response_bytes = sizeof(samples[i].index),
        };
        p->indices[p->issued++] = samples[i].index;
        p->sink.complete(p->sink.ctx, &c, 1);
    }
    return VT_OK;
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static enum vt_status load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)err;
    printf("load");
    for (size_t i = 0; i < n; i++) {
        printf(" %" PRIu64, indices[i]);
    }
    printf("\n");
    return VT_OK;
}

static void unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

static void print_queries(const struct probe *p, const struct vt_load_report *r)
{
    for (uint64_t i = 0; i < r->n_records; i++) {
        const struct vt_sample_record *record = &r->records[i];
        if (record->index != p->indices[i]) {
            printf("error sample %" PRIu64 " was issued as %" PRIu64 ", recorded as %" PRIu32 "\n",
                   i, p->indices[i], record->index);
            return;
        }
        if (i == 0 || record->query != record[-1].query) {
            printf("%sn %" PRIu32 " %" PRId64, i == 0 ? "" : "\n", record->query,
                   record->scheduled_ns);
        }
        printf(" %" PRIu32, record->index);
    }
    printf("\n");
}

static void print_kept(const struct vt_load_report *r)
{
    printf("kept");
    for (uint64_t i = 0; i < r->n_responses; i++) {
        printf(" %" PRIu64 ":%" PRIu64, r->responses[i].sequence, r->responses[i].index);
    }
    printf("\n");
}

static bool run_phase(struct probe *p, enum vt_mode mode, struct vt_load_carry *carry)
{
    struct vt_sut sut = {.api_version = VT_LOAD_API_VERSION,
                         .struct_size = sizeof(sut),
                         .name = name,
                         .start = start,
                         .issue = issue,
                         .flush = nothing,
                         .abort = nothing,
                         .ctx = p};
    struct vt_qsl qsl = {.api_version = VT_LOAD_API_VERSION,
                         .struct_size = sizeof(qsl),
                         .total_count = p->total,
                         .performance_count = p->performance,
                         .name = name,
                         .load = load,
                         .unload = unload,
                         .ctx = p};
    struct vt_load_control control = {.clock = &p->clock, .carry = carry};
    struct vt_load_settings settings = p->settings;
    settings.mode = mode;
    p->clock = (struct vt_clock){.now_ns = now, .sleep_until_ns = sleep_until, .ctx = p};
    p->now_ns = VT_NS_PER_S;
    p->issued = 0;
    struct vt_error err = {0};
    struct vt_load_report *r = NULL;
    if (vt_load_run(&settings, &sut, &qsl, &control, &err, &r) != VT_OK) {
        printf("error %s\n", err.text);
        return false;
    }
    printf("phase %s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %" PRIu64 " %.17g %" PRIu64 "\n",
           mode == VT_ACCURACY ? "accuracy" : "performance", r->queries_generated,
           r->generated_duration_ns, r->samples_per_query, r->effective.min_query_count,
           r->effective.min_sample_count, r->effective.performance_sample_count,
           r->effective.accuracy_sample_count, r->effective.target_qps, r->first_sequence);
    print_queries(p, r);
    print_kept(r);
    vt_load_report_free(r);
    return true;
}

static void run(struct probe *p)
{
    struct vt_load_carry carry = {0};
    enum vt_mode mode = p->settings.mode;
    printf("run\n");
    bool good = true;
    if (mode != VT_PERFORMANCE) {
        good = run_phase(p, VT_ACCURACY, &carry);
    }
    if (good && mode != VT_ACCURACY) {
        good = run_phase(p, VT_PERFORMANCE, &carry);
    }
    if (good) {
        printf("end\n");
    }
}

/* Splits a line in place. */
static bool read_settings(struct probe *p, char *line)
{
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        char *equals = strchr(word, '=');
        if (equals == NULL) {
            fprintf(stderr, "probe: %s is not key=value\n", word);
            return false;
        }
        *equals = '\0';
        if (!set(p, word, equals + 1)) {
            fprintf(stderr, "probe: no setting %s, or not with the value %s\n", word, equals + 1);
            return false;
        }
    }
    return true;
}

int main(void)
{
    static char line[8192];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        struct probe p = {0};
        vt_load_settings_default(&p.settings);
        bool good = read_settings(&p, line);
        if (good) {
            run(&p);
        }
        free(p.indices);
        if (!good) {
            return 2;
        }
    }
    return 0;
}
