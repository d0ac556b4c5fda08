/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meaning: which key sets which setting, which of several lines wins, and which lines do nothing.
 * Keys, units and precedence are those of TestSettings::FromConfig of LoadGen.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/quote.h"
#include "load/setting_table.h"
#include "mlperf/conf_entry.h"
#include "mlperf/round_table.h"

#define ANY_SCENARIO VT_SCENARIO_COUNT
#define VALUE_MAX    64

enum reading {
    WHOLE, /* a fraction is dropped */
    REAL,
    IS_ONE,  /* a flag that only 1 sets */
    NOT_ZERO /* a flag that everything but 0 sets */
};

enum condition { ALWAYS, WITH_TOKENS, WITH_INFERRED_TOKENS };

struct key {
    const char *name;
    enum vt_scenario scenario; /* ANY_SCENARIO: looked up under that of the run */
    const char *setting;
    double multiplier;
    enum reading reading;
    bool mlperf_only;
    enum condition condition;
};

#define ANY(name, reading)                                                                         \
    {                                                                                              \
        name, ANY_SCENARIO, name, 1, reading, false, ALWAYS                                        \
    }
#define BUILTIN(name, reading)                                                                     \
    {                                                                                              \
        name, ANY_SCENARIO, name, 1, reading, true, ALWAYS                                         \
    }

/* In the order in which they are applied: a condition looks at what was set before. */
static const struct key keys[] = {
    ANY("mode", WHOLE),
    BUILTIN("qsl_rng_seed", WHOLE),
    BUILTIN("sample_index_rng_seed", WHOLE),
    BUILTIN("schedule_rng_seed", WHOLE),
    {"accuracy_log_probability", ANY_SCENARIO, "accuracy_log_probability", 0.01, REAL, true,
     ALWAYS},
    BUILTIN("test05", IS_ONE),
    BUILTIN("test05_qsl_rng_seed", WHOLE),
    BUILTIN("test05_sample_index_rng_seed", WHOLE),
    BUILTIN("test05_schedule_rng_seed", WHOLE),
    ANY("use_token_latencies", IS_ONE),
    {"ttft_latency", VT_SERVER, "server_ttft_latency", 1e6, WHOLE, false, WITH_TOKENS},
    {"tpot_latency", VT_SERVER, "server_tpot_latency", 1e6, WHOLE, false, WITH_TOKENS},
    ANY("infer_token_latencies", IS_ONE),
    {"token_latency_scaling_factor", ANY_SCENARIO, "token_latency_scaling_factor", 1, WHOLE, false,
     WITH_INFERRED_TOKENS},
    {"target_latency_percentile", VT_SINGLESTREAM, "single_stream_target_latency_percentile", 0.01,
     REAL, false, ALWAYS},
    {"target_latency_percentile", VT_MULTISTREAM, "multi_stream_target_latency_percentile", 0.01,
     REAL, false, ALWAYS},
    {"samples_per_query", VT_MULTISTREAM, "multi_stream_samples_per_query", 1, WHOLE, false,
     ALWAYS},
    {"target_latency_percentile", VT_SERVER, "server_target_latency_percentile", 0.01, REAL, false,
     ALWAYS},
    {"target_latency", VT_SERVER, "server_target_latency_ns", 1e6, WHOLE, false, ALWAYS},
    ANY("performance_issue_unique", NOT_ZERO),
    ANY("performance_issue_same", NOT_ZERO),
    ANY("performance_issue_same_index", WHOLE),
    ANY("sample_concatenate_permutation", IS_ONE),
    {"coalesce_queries", VT_SERVER, "server_coalesce_queries", 1, NOT_ZERO, false, ALWAYS},
    {"max_async_queries", VT_SERVER, "server_max_async_queries", 1, WHOLE, false, ALWAYS},
    {"min_duration", ANY_SCENARIO, "min_duration_ms", 1e6, WHOLE, false, ALWAYS},
    {"max_duration", ANY_SCENARIO, "max_duration_ms", 1e6, WHOLE, false, ALWAYS},
    ANY("min_query_count", WHOLE),
    ANY("max_query_count", WHOLE),
    ANY("performance_sample_count_override", WHOLE),
    ANY("accuracy_sample_count_override", WHOLE),
    {"target_latency", VT_SINGLESTREAM, "single_stream_expected_latency_ns", 1e6, REAL, false,
     ALWAYS},
    {"target_latency", VT_MULTISTREAM, "multi_stream_expected_latency_ns", 1e6, REAL, false,
     ALWAYS},
    {"target_qps", VT_SERVER, "server_target_qps", 1, REAL, false, ALWAYS},
    {"target_qps", VT_OFFLINE, "offline_expected_qps", 1, REAL, false, ALWAYS},
    ANY("print_timestamps", NOT_ZERO),
    ANY("accuracy_log_rng_seed", WHOLE),
    ANY("accuracy_log_sampling_target", WHOLE),
};
#define N_KEYS (sizeof keys / sizeof keys[0])

/* Keys that do nothing here, and the files in which they are at home: not worth a warning there. */
static const struct {
    const char *name;
    enum vt_scenario scenario;
    enum vt_conf_kind home;
} idle_keys[] = {
    {"target_duration", VT_SERVER, VT_CONF_MLPERF},
    {"target_latency_percentile", VT_OFFLINE, VT_CONF_MLPERF},
    /* The compliance tests' scripts read these. */
    {"test07_accuracy_threshold", ANY_SCENARIO, VT_CONF_AUDIT},
    {"test09_min_output_tokens", ANY_SCENARIO, VT_CONF_AUDIT},
    {"test09_max_output_tokens", ANY_SCENARIO, VT_CONF_AUDIT},
};

struct applier {
    struct vt_load_settings *settings; /* a copy */
    enum vt_conf_kind kind;
    const struct vt_conf_entry *entries;
    size_t n;
    const char *name;
    const char *model; /* "*" for none */
    const struct vt_conf_warnings *warnings;
    unsigned n_warnings;
    bool said_unnamed;            /* that the run names no benchmark */
    struct vt_conf_slice foreign; /* the last model of which was said that there is none */
    struct vt_error *err;
};

static bool is(struct vt_conf_slice slice, const char *word)
{
    return slice.n == strlen(word) && memcmp(slice.at, word, slice.n) == 0;
}

struct word {
    char text[80];
};

/* Terminated, and fit for a message. */
static struct word word_of(struct vt_conf_slice slice)
{
    struct word cut, shown;
    size_t n = slice.n < VALUE_MAX ? slice.n : VALUE_MAX;
    memcpy(cut.text, slice.at, n);
    cut.text[n] = '\0';
    memcpy(shown.text, vt_plain(cut.text).text, sizeof shown.text);
    return shown;
}

static void VT_PRINTF(3, 4) warn(struct applier *a, uint32_t line, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (a->warnings == NULL || a->warnings->warn == NULL) {
        return;
    }
    if (++a->n_warnings > VT_CONF_WARNINGS_MAX) {
        return;
    }
    int n = snprintf(text, sizeof text, "%.200s:%u: ", a->name, line);
    va_start(args, fmt);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
    va_end(args);
    a->warnings->warn(a->warnings->ctx, text);
}

static const char *run_scenario(const struct applier *a, const struct key *key)
{
    return vt_scenario_name(key->scenario != ANY_SCENARIO ? key->scenario : a->settings->scenario);
}

/* How early the line is found under this key: 4 first, 0 not at all. */
static int rank(const struct applier *a, const struct vt_conf_entry *entry, const struct key *key,
                const char *scenario)
{
    if (!is(entry->key, key->name)) {
        return 0;
    }
    bool this_scenario = is(entry->scenario, scenario);
    if (!this_scenario && !is(entry->scenario, "*")) {
        return 0;
    }
    if (is(entry->model, a->model)) {
        return this_scenario ? 4 : 2;
    }
    return !is(entry->model, "*") ? 0 : this_scenario ? 3 : 1;
}

static const struct vt_conf_entry *look_up(const struct applier *a, const struct key *key)
{
    const struct vt_conf_entry *best = NULL;
    int best_rank = 1;
    const char *scenario = run_scenario(a, key);
    for (size_t i = 0; i < a->n; i++) {
        int r = rank(a, &a->entries[i], key, scenario);
        if (r >= best_rank) {
            best = &a->entries[i];
            best_rank = r;
        }
    }
    return best;
}

/* As strtoull reads it; the rest of a fraction is dropped. */
static enum vt_status read_whole(struct applier *a, const struct vt_conf_entry *entry,
                                 const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (text[0] == '-' || errno == ERANGE) {
        return vt_error_set(a->err, VT_ERR_FORMAT,
                            "%s:%u: %s is %s: give a whole number of 0..%llu", a->name, entry->line,
                            word_of(entry->key).text, text, (unsigned long long)UINT64_MAX);
    }
    if (*end != '\0') {
        warn(a, entry->line, "%s is %s, but only whole numbers count: read as %llu",
             word_of(entry->key).text, text, value);
    }
    *ret = value;
    return VT_OK;
}

static enum vt_status read_flag(struct applier *a, const struct vt_conf_entry *entry,
                                const char *text, enum reading reading, long double *ret)
{
    uint64_t whole = 0;
    enum vt_status status = read_whole(a, entry, text, &whole);
    if (status == VT_OK) {
        *ret = reading == IS_ONE ? whole == 1 : whole != 0;
        if (whole > 1) {
            warn(a, entry->line, "%s is %s, neither 0 nor 1: read as %d", word_of(entry->key).text,
                 text, *ret != 0);
        }
    }
    return status;
}

static enum vt_status read_mode(struct applier *a, const struct vt_conf_entry *entry,
                                uint64_t number, long double *ret)
{
    static const enum vt_mode modes[] = {VT_SUBMISSION, VT_ACCURACY, VT_PERFORMANCE, VT_FIND_PEAK};
    if (number >= sizeof modes / sizeof modes[0]) {
        return vt_error_set(a->err, VT_ERR_FORMAT,
                            "%s:%u: mode is %llu: give 0 (submission), 1 (accuracy), 2 "
                            "(performance) or 3 (find-peak)",
                            a->name, entry->line, (unsigned long long)number);
    }
    *ret = modes[number];
    return VT_OK;
}

/* The value of the line in the setting's unit in the struct. */
static enum vt_status read_value(struct applier *a, const struct vt_conf_entry *entry,
                                 const struct key *key, long double *ret)
{
    char text[VALUE_MAX + 1];
    size_t n = entry->value.n < VALUE_MAX ? entry->value.n : VALUE_MAX;
    memcpy(text, entry->value.at, n);
    text[n] = '\0';
    double real;
    struct vt_error ignored = VT_ERROR_INIT;
    if (key->reading == IS_ONE || key->reading == NOT_ZERO) {
        return read_flag(a, entry, text, key->reading, ret);
    }
    if (key->reading == REAL && vt_parse_real(text, &real, &ignored) == VT_OK) {
        /* In double arithmetic, as LoadGen: 99.9 % is 0.9990000000000001. */
        *ret = (long double)(real * key->multiplier);
        return VT_OK;
    }
    uint64_t whole = 0;
    enum vt_status status = read_whole(a, entry, text, &whole);
    if (status == VT_OK && strcmp(key->name, "mode") == 0) {
        return read_mode(a, entry, whole, ret);
    }
    *ret = (long double)whole * (long double)key->multiplier;
    return status;
}

static bool condition_holds(const struct applier *a, const struct key *key)
{
    switch (key->condition) {
    case WITH_TOKENS:
        return a->settings->use_token_latencies;
    case WITH_INFERRED_TOKENS:
        return a->settings->infer_token_latencies;
    default:
        return true;
    }
}

/* What is out of range is an error where it matters, and a warning in another scenario's lines. */
static enum vt_status put(struct applier *a, const struct vt_conf_entry *entry,
                          const struct vt_load_setting *setting, long double value)
{
    struct vt_error why = VT_ERROR_INIT;
    if (vt_load_setting_put(a->settings, setting, value, &why) == VT_OK) {
        return VT_OK;
    }
    if (vt_load_setting_concerns(setting, a->settings->scenario)) {
        return vt_error_set(a->err, VT_ERR_FORMAT, "%s:%u: %s", a->name, entry->line, why.text);
    }
    warn(a, entry->line, "%s", why.text);
    return VT_OK;
}

static enum vt_status apply_key(struct applier *a, const struct key *key)
{
    const struct vt_conf_entry *entry = look_up(a, key);
    if (entry == NULL || (key->mlperf_only && a->kind != VT_CONF_MLPERF)) {
        return VT_OK;
    }
    if (!condition_holds(a, key)) {
        warn(a, entry->line, "%s has no effect without %s = 1", key->name,
             key->condition == WITH_TOKENS ? "use_token_latencies" : "infer_token_latencies");
        return VT_OK;
    }
    long double value = 0;
    enum vt_status status = read_value(a, entry, key, &value);
    if (status == VT_OK) {
        status = put(a, entry, vt_load_setting_find(key->setting), value);
    }
    return status;
}

/* Whether any round has such a benchmark. */
static bool is_benchmark(const char *model)
{
    size_t n;
    const struct vt_round_row *rows = vt_round_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].model, model) == 0) {
            return true;
        }
    }
    return false;
}

/* The nearest of n names, unless nobody hears of it any more. */
static const char *nearest(const struct applier *a, const char *name, const char *const *names,
                           size_t n)
{
    return a->n_warnings < VT_CONF_WARNINGS_MAX ? vt_nearest_name(name, names, n) : NULL;
}

/* A benchmark of any round that is near to the name. */
static const char *nearest_benchmark(const struct applier *a, const char *model)
{
    size_t n;
    const struct vt_round_row *rows = vt_round_rows(&n);
    const char *pair[2] = {"", NULL};
    for (size_t i = 0; i < n; i++) {
        if (pair[1] == NULL || strcmp(rows[i].model, rows[i - 1].model) != 0) {
            pair[1] = rows[i].model;
            const char *best = nearest(a, model, pair, 2);
            pair[0] = best != NULL ? best : "";
        }
    }
    return pair[0][0] != '\0' ? pair[0] : NULL;
}

static void judge_model(struct applier *a, const struct vt_conf_entry *entry)
{
    struct word model = word_of(entry->model);
    if (is(entry->model, "*") || is(entry->model, a->model)) {
        return;
    }
    if (a->foreign.n == entry->model.n &&
        memcmp(a->foreign.at, entry->model.at, entry->model.n) == 0) {
        return;
    }
    if (!is_benchmark(model.text)) {
        a->foreign = entry->model;
        const char *near = nearest_benchmark(a, model.text);
        warn(a, entry->line, "no benchmark is called '%s'%s%s%s", model.text,
             near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
             near != NULL ? "'?" : "");
    } else if (strcmp(a->model, "*") == 0 && !a->said_unnamed) {
        warn(a, entry->line,
             "lines for '%s' and other benchmarks have no effect: the run names none", model.text);
        a->said_unnamed = true;
    }
}

static bool is_idle_at_home(const struct applier *a, const struct vt_conf_entry *entry)
{
    for (size_t i = 0; i < sizeof idle_keys / sizeof idle_keys[0]; i++) {
        if (idle_keys[i].home == a->kind && is(entry->key, idle_keys[i].name) &&
            (idle_keys[i].scenario == ANY_SCENARIO ||
             is(entry->scenario, vt_scenario_name(idle_keys[i].scenario)))) {
            return true;
        }
    }
    return false;
}

/* A key that LoadGen does not know: the nearest that it does, also from a setting's full name. */
static void warn_unknown(struct applier *a, const struct vt_conf_entry *entry)
{
    const char *names[N_KEYS];
    struct word name = word_of(entry->key);
    for (size_t i = 0; i < N_KEYS; i++) {
        names[i] = keys[i].name;
        if (strcmp(keys[i].setting, name.text) == 0) {
            warn(a, entry->line, "unknown key '%s'; it is called '%s.%s' here", name.text,
                 keys[i].scenario != ANY_SCENARIO ? vt_scenario_name(keys[i].scenario) : "*",
                 keys[i].name);
            return;
        }
    }
    const char *near = nearest(a, name.text, names, N_KEYS);
    if (near != NULL) {
        warn(a, entry->line, "unknown key '%s'; did you mean '%s'?", name.text, near);
    } else {
        warn(a, entry->line, "unknown key '%s' has no effect", name.text);
    }
}

static bool scenario_is_known(struct applier *a, const struct vt_conf_entry *entry)
{
    const char *names[VT_SCENARIO_COUNT];
    struct word scenario = word_of(entry->scenario);
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        names[i] = vt_scenario_name((enum vt_scenario)i);
        if (strcmp(names[i], scenario.text) == 0) {
            return true;
        }
    }
    if (strcmp(scenario.text, "*") == 0) {
        return true;
    }
    if (strcmp(scenario.text, "Interactive") == 0) {
        warn(a, entry->line,
             "Interactive is no scenario: it is Server of a benchmark of its own "
             "(llama2-70b-interactive.Server.%s)",
             word_of(entry->key).text);
        return false;
    }
    const char *near = nearest(a, scenario.text, names, VT_SCENARIO_COUNT);
    warn(a, entry->line, "no scenario is called '%s'%s%s%s", scenario.text,
         near != NULL ? "; did you mean '" : " (Offline, Server, SingleStream, MultiStream, *)",
         near != NULL ? near : "", near != NULL ? "'?" : "");
    return false;
}

/* What can be said about a line without looking at the others. */
static void judge_entry(struct applier *a, const struct vt_conf_entry *entry)
{
    char owners[80] = "";
    size_t used = 0;
    bool known = false, effective = false, withheld = false;
    if (entry->scenario.n == 0) {
        warn(a, entry->line, "'%s' is not of the form model.scenario.key and has no effect",
             word_of(entry->key).text);
        return;
    }
    if (!scenario_is_known(a, entry) || is_idle_at_home(a, entry)) {
        return;
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        if (!is(entry->key, keys[i].name)) {
            continue;
        }
        bool meant = keys[i].scenario == ANY_SCENARIO || is(entry->scenario, "*") ||
                     is(entry->scenario, vt_scenario_name(keys[i].scenario));
        known = true;
        effective = effective || meant;
        withheld = withheld || (meant && keys[i].mlperf_only && a->kind != VT_CONF_MLPERF);
        if (used < sizeof owners && keys[i].scenario != ANY_SCENARIO) {
            used += (size_t)snprintf(owners + used, sizeof owners - used, "%s%s",
                                     used > 0 ? ", " : "", vt_scenario_name(keys[i].scenario));
        }
    }
    if (!known) {
        warn_unknown(a, entry);
    } else if (!effective) {
        warn(a, entry->line, "%s has no effect in %s: it is a key of %s", word_of(entry->key).text,
             word_of(entry->scenario).text, owners);
    } else if (withheld) {
        warn(a, entry->line, "%s has no effect in %s: only mlperf.conf may set it",
             word_of(entry->key).text, a->kind == VT_CONF_USER ? "user.conf" : "audit.config");
    } else {
        judge_model(a, entry);
    }
}

enum vt_status vt_conf_apply_entries(struct vt_load_settings *settings, enum vt_conf_kind kind,
                                     const struct vt_conf_entry *entries, size_t n,
                                     const char *name, const char *model,
                                     const struct vt_conf_warnings *warnings, struct vt_error *err)
{
    struct vt_load_settings next = *settings;
    struct applier a = {
        .settings = &next,
        .kind = kind,
        .entries = entries,
        .n = n,
        .name = name,
        .model = model != NULL && model[0] != '\0' ? model : "*",
        .warnings = warnings,
        .foreign = {"", 0},
        .err = err,
    };
    for (size_t i = 0; i < n && warnings != NULL; i++) {
        judge_entry(&a, &entries[i]);
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        enum vt_status status = apply_key(&a, &keys[i]);
        if (status != VT_OK) {
            return status;
        }
    }
    if (a.n_warnings > VT_CONF_WARNINGS_MAX) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "%.200s: %u more lines have no effect or are not as meant", name,
                       a.n_warnings - VT_CONF_WARNINGS_MAX);
        warnings->warn(warnings->ctx, text);
    }
    *settings = next;
    return VT_OK;
}
