/* SPDX-License-Identifier: Apache-2.0 */
#include "load/setting_table.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/quote.h"
#include "load/load.h"
#include "load/recorder.h"
#include "load/settings.h"

/* Values of every type pass through one that holds them all exactly. */
_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds every 64-bit integer");

/* Rates beyond these mean a unit was mistaken; in between, every gap fits into 64 bits. */
#define QPS_MIN 1e-6
#define QPS_MAX 1e9
/* 63 years: sums of two times stay far from overflow. */
#define NS_MAX 2e18
#define MS_MAX 2e12
#define N_MAX  ((double)VT_LOAD_SAMPLES_MAX)

#define FIELD(field) offsetof(struct vt_load_settings, field)
/* A setting whose name is the field's, and is MLPerf's. */
#define MLPERF(field, type, min, max, standard, help)                                              \
    {                                                                                              \
#field, VT_SETTING_##type, FIELD(field), 1, min, max, standard, false, help                \
    }
#define VATIO(name, field, type, min, max, standard, help)                                         \
    {                                                                                              \
        name, VT_SETTING_##type, FIELD(field), 1, min, max, standard, true, help                   \
    }

static const struct vt_load_setting table[] = {
    MLPERF(scenario, SCENARIO, 0, 0, VT_SINGLESTREAM, "how queries come"),
    MLPERF(mode, MODE, 0, 0, VT_PERFORMANCE, "what is measured"),
    MLPERF(single_stream_expected_latency_ns, F64, 1, NS_MAX, 1e6,
           "SingleStream: what a query is expected to take"),
    MLPERF(single_stream_target_latency_percentile, FRACTION, 0, 0, 0.90,
           "SingleStream: the percentile that is the result"),
    MLPERF(multi_stream_expected_latency_ns, F64, 1, NS_MAX, 8e6,
           "MultiStream: what a query is expected to take"),
    MLPERF(multi_stream_target_latency_percentile, FRACTION, 0, 0, 0.99,
           "MultiStream: the percentile that is the result"),
    MLPERF(multi_stream_samples_per_query, U64, 1, N_MAX, 8, "MultiStream: samples in a query"),
    MLPERF(server_target_qps, F64, QPS_MIN, QPS_MAX, 1, "Server: queries a second on average"),
    MLPERF(server_target_latency_ns, NS, 0, NS_MAX, 1e8,
           "Server: the limit at the percentile; 0: none, where tokens have limits"),
    MLPERF(server_target_latency_percentile, FRACTION, 0, 0, 0.99,
           "Server: the percentile that has to keep the limit"),
    MLPERF(server_coalesce_queries, BOOL, 0, 0, 0, "Server: queries that are due go together"),
    MLPERF(server_find_peak_qps_decimals_of_precision, U32, 0, 9, 1,
           "find-peak: decimals of the rate that are found"),
    MLPERF(server_find_peak_qps_boundary_step_size, F64, 1e-6, 1e6, 1,
           "find-peak: by which share the rate is raised first"),
    MLPERF(server_max_async_queries, U64, 0, 0, 0,
           "Server: more outstanding queries end the run; 0: any number"),
    MLPERF(server_num_issue_query_threads, U32, 0, VT_TRACKS_MAX, 0,
           "Server: threads that issue; 0: the one that runs the load"),
    MLPERF(offline_expected_qps, F64, QPS_MIN, QPS_MAX, 1,
           "Offline: the expected rate, which makes the size of the query"),
    MLPERF(sample_concatenate_permutation, BOOL, 0, 0, 0, "equal issue: whole sets, reshuffled"),
    {"min_duration_ms", VT_SETTING_NS, FIELD(min_duration_ns), 1e6, 0, MS_MAX, 10000, false,
     "the least duration"},
    {"max_duration_ms", VT_SETTING_NS, FIELD(max_duration_ns), 1e6, 0, MS_MAX, 0, false,
     "the run ends, with an error, after so long; 0: never"},
    MLPERF(min_query_count, U64, 1, N_MAX, 100, "the fewest queries; Offline: samples"),
    MLPERF(max_query_count, U64, 0, 0, 0,
           "the run ends, with an error, after so many queries; 0: never"),
    MLPERF(qsl_rng_seed, U64, 0, 0, 0, "seed of the choice of the loaded samples"),
    MLPERF(sample_index_rng_seed, U64, 0, 0, 0, "seed of the order of samples"),
    MLPERF(schedule_rng_seed, U64, 0, 0, 0, "seed of Server's arrivals"),
    MLPERF(accuracy_log_rng_seed, U64, 0, 0, 0, "seed of the choice of responses that are kept"),
    MLPERF(accuracy_log_probability, F64, 0, 1, 0,
           "performance: the share of responses that are kept"),
    MLPERF(accuracy_log_sampling_target, U64, 0, 0, 0,
           "performance: about so many responses are kept"),
    MLPERF(print_timestamps, BOOL, 0, 0, 0, "vatio run prints start and end, for a meter's clock"),
    MLPERF(performance_issue_unique, BOOL, 0, 0, 0, "performance: no sample twice"),
    MLPERF(performance_issue_same, BOOL, 0, 0, 0, "performance: one sample only"),
    MLPERF(performance_issue_same_index, U64, 0, N_MAX, 0, "which one, in the loaded set"),
    MLPERF(performance_sample_count_override, U64, 0, N_MAX, 0,
           "samples that are loaded for performance; 0: what the library says"),
    MLPERF(accuracy_sample_count_override, U64, 0, N_MAX, 0,
           "samples of accuracy; 0: the whole library"),
    MLPERF(test05, BOOL, 0, 0, 0, "compliance test: performance with the three seeds below"),
    MLPERF(test05_qsl_rng_seed, U64, 0, 0, 0, "qsl_rng_seed of test05"),
    MLPERF(test05_sample_index_rng_seed, U64, 0, 0, 0, "sample_index_rng_seed of test05"),
    MLPERF(test05_schedule_rng_seed, U64, 0, 0, 0, "schedule_rng_seed of test05"),
    MLPERF(use_token_latencies, BOOL, 0, 0, 0, "latencies of the first token and of the others"),
    MLPERF(infer_token_latencies, BOOL, 0, 0, 0, "tokens a second from the factor below"),
    {"server_ttft_latency", VT_SETTING_NS, FIELD(server_ttft_latency_ns), 1, 0, NS_MAX, 1e8, false,
     "Server: the limit of the time to the first token"},
    {"server_tpot_latency", VT_SETTING_NS, FIELD(server_tpot_latency_ns), 1, 0, NS_MAX, 1e8, false,
     "Server: the limit of the time a further token"},
    MLPERF(token_latency_scaling_factor, U64, 0, 0x1p62, 0, "tokens in a response, on average"),
    VATIO("completion_timeout", completion_timeout_ns, NS, 1, NS_MAX, 1e10,
          "a sample is lost when nothing completes for so long"),
    VATIO("spin", spin_ns, NS, 0, NS_MAX, 60e3, "spin so long at the end of a wait"),
    VATIO("bounded_method", bounded_method, BOUNDED_METHOD, 0, 0, VT_BOUNDED_LEMIRE,
          "how bounded random integers are drawn"),
    VATIO("arrivals", arrivals, ARRIVALS, 0, 0, VT_ARRIVALS_POISSON, "Server: when queries come"),
    VATIO("memory_limit", memory_limit_bytes, SIZE, 0, 0, 0,
          "records beyond so much lie on disk; 0: never"),
    VATIO("spill_folder", spill_folder, PATH, 0, 0, 0, "where they lie then"),
    VATIO("fifo_priority", fifo_priority, I32, 0, 99, 0,
          "real-time priority of the issuing threads; 0: none"),
};
#define N_TABLE (sizeof table / sizeof table[0])

static const char *const bounded_methods[] = {"lemire", "division"};
static const char *const arrivals[] = {"poisson", "constant", "trace"};

const struct vt_load_setting *vt_load_settings_table(size_t *ret_n)
{
    *ret_n = N_TABLE;
    return table;
}

const struct vt_load_setting *vt_load_setting_find(const char *name)
{
    for (size_t i = 0; i < N_TABLE; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

const char *vt_load_setting_nearest(const char *name)
{
    const char *names[N_TABLE];
    for (size_t i = 0; i < N_TABLE; i++) {
        names[i] = table[i].name;
    }
    return vt_nearest_name(name, names, N_TABLE);
}

enum vt_status vt_load_setting_refuse(const char *name, struct vt_error *err)
{
    const char *near = vt_load_setting_nearest(name);
    return vt_error_set(err, VT_ERR_USAGE, "no setting is called '%s'%s%s%s", vt_plain(name).text,
                        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
}

bool vt_load_setting_concerns(const struct vt_load_setting *setting, enum vt_scenario scenario)
{
    static const struct {
        const char *prefix;
        enum vt_scenario scenario;
    } owners[] = {{"single_stream_", VT_SINGLESTREAM},
                  {"multi_stream_", VT_MULTISTREAM},
                  {"server_", VT_SERVER},
                  {"offline_", VT_OFFLINE}};
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        if (strncmp(setting->name, owners[i].prefix, strlen(owners[i].prefix)) == 0) {
            return scenario == owners[i].scenario;
        }
    }
    return true;
}

/* A number of the text's unit in the struct's. */
static long double scaled(const struct vt_load_setting *setting, long double value)
{
    return value * (long double)setting->unit;
}

/* The words of an enum; NULL for other types. */
static const char *word(const struct vt_load_setting *setting, unsigned i)
{
    switch (setting->type) {
    case VT_SETTING_SCENARIO:
        return i < VT_SCENARIO_COUNT ? vt_scenario_name((enum vt_scenario)i) : NULL;
    case VT_SETTING_MODE:
        return i < VT_MODE_COUNT ? vt_mode_name((enum vt_mode)i) : NULL;
    case VT_SETTING_BOUNDED_METHOD:
        return i < sizeof bounded_methods / sizeof bounded_methods[0] ? bounded_methods[i] : NULL;
    case VT_SETTING_ARRIVALS:
        return i < sizeof arrivals / sizeof arrivals[0] ? arrivals[i] : NULL;
    default:
        return NULL;
    }
}

static unsigned count_words(const struct vt_load_setting *setting)
{
    unsigned n = 0;
    while (word(setting, n) != NULL) {
        n++;
    }
    return n;
}

static long double get(const struct vt_load_settings *settings,
                       const struct vt_load_setting *setting)
{
    const void *at = (const char *)settings + setting->offset;
    switch (setting->type) {
    case VT_SETTING_SCENARIO:
        return *(const enum vt_scenario *)at;
    case VT_SETTING_MODE:
        return *(const enum vt_mode *)at;
    case VT_SETTING_BOUNDED_METHOD:
        return *(const enum vt_bounded_method *)at;
    case VT_SETTING_ARRIVALS:
        return *(const enum vt_arrivals *)at;
    case VT_SETTING_BOOL:
        return *(const bool *)at;
    case VT_SETTING_U32:
        return *(const uint32_t *)at;
    case VT_SETTING_I32:
        return *(const int32_t *)at;
    case VT_SETTING_U64:
    case VT_SETTING_SIZE:
        return *(const uint64_t *)at;
    case VT_SETTING_F64:
    case VT_SETTING_FRACTION:
        return (long double)*(const double *)at;
    case VT_SETTING_NS:
        return *(const int64_t *)at;
    case VT_SETTING_PATH:
        break;
    }
    return 0;
}

/* `value` is in the range of the type. */
static void store(struct vt_load_settings *settings, const struct vt_load_setting *setting,
                  long double value)
{
    void *at = (char *)settings + setting->offset;
    switch (setting->type) {
    case VT_SETTING_SCENARIO:
        *(enum vt_scenario *)at = (enum vt_scenario)value;
        break;
    case VT_SETTING_MODE:
        *(enum vt_mode *)at = (enum vt_mode)value;
        break;
    case VT_SETTING_BOUNDED_METHOD:
        *(enum vt_bounded_method *)at = (enum vt_bounded_method)value;
        break;
    case VT_SETTING_ARRIVALS:
        *(enum vt_arrivals *)at = (enum vt_arrivals)value;
        break;
    case VT_SETTING_BOOL:
        *(bool *)at = value != 0;
        break;
    case VT_SETTING_U32:
        *(uint32_t *)at = (uint32_t)value;
        break;
    case VT_SETTING_I32:
        *(int32_t *)at = (int32_t)value;
        break;
    case VT_SETTING_U64:
    case VT_SETTING_SIZE:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case VT_SETTING_F64:
    case VT_SETTING_FRACTION:
        *(double *)at = (double)value;
        break;
    case VT_SETTING_NS:
        *(int64_t *)at = (int64_t)value;
        break;
    case VT_SETTING_PATH:
        break;
    }
}

void vt_load_settings_default(struct vt_load_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < N_TABLE; i++) {
        store(settings, &table[i], scaled(&table[i], (long double)table[i].default_value));
    }
}

/* What the type itself can hold, where the table sets no bounds. */
static void type_bounds(const struct vt_load_setting *setting, long double *ret_min,
                        long double *ret_max)
{
    *ret_min = 0;
    switch (setting->type) {
    case VT_SETTING_U32:
        *ret_max = UINT32_MAX;
        break;
    case VT_SETTING_I32:
        *ret_min = INT32_MIN;
        *ret_max = INT32_MAX;
        break;
    case VT_SETTING_U64:
    case VT_SETTING_SIZE:
        *ret_max = UINT64_MAX;
        break;
    case VT_SETTING_F64:
        *ret_min = -(long double)DBL_MAX;
        *ret_max = (long double)DBL_MAX;
        break;
    case VT_SETTING_NS:
        *ret_min = INT64_MIN;
        *ret_max = INT64_MAX;
        break;
    case VT_SETTING_BOOL:
        *ret_max = 1;
        break;
    default:
        *ret_max = (long double)count_words(setting) - 1;
        break;
    }
}

static bool in_range(const struct vt_load_setting *setting, long double value)
{
    long double min, max;
    if (setting->type == VT_SETTING_FRACTION) {
        return value > 0 && value < 1;
    }
    type_bounds(setting, &min, &max);
    if (setting->min != 0 || setting->max != 0) {
        min = scaled(setting, (long double)setting->min);
        max = scaled(setting, (long double)setting->max);
    }
    return value >= min && value <= max; /* false for NaN too */
}

/* A number in the struct's unit as text of the setting's. */
static void number_text(const struct vt_load_setting *setting, long double value, char *text,
                        size_t room)
{
    bool whole = fabsl(value) < 1.9e19L && value == truncl(value);
    bool real = setting->type == VT_SETTING_F64 || setting->type == VT_SETTING_FRACTION;
    const size_t length = strlen(setting->name);
    bool is_time = length > 3 && strcmp(setting->name + length - 3, "_ns") == 0;
    if (setting->type == VT_SETTING_NS && setting->of_vatio && whole && value >= 0 &&
        value <= (long double)INT64_MAX) {
        vt_format_duration((int64_t)value, text, room);
    } else if (setting->type == VT_SETTING_SIZE && value <= (long double)INT64_MAX) {
        vt_format_size((int64_t)value, text, room);
    } else if ((real && !is_time) || !whole || fmodl(value, (long double)setting->unit) != 0) {
        vt_format_real((double)(value / (long double)setting->unit), text, room);
    } else {
        (void)snprintf(text, room, "%.0Lf", value / (long double)setting->unit);
    }
}

void vt_load_setting_text(const struct vt_load_settings *settings,
                          const struct vt_load_setting *setting, char *ret_text, size_t room)
{
    long double value = get(settings, setting);
    if (setting->type == VT_SETTING_PATH) {
        const char *path =
            *(const char *const *)(const void *)((const char *)settings + setting->offset);
        (void)snprintf(ret_text, room, "%s", path != NULL ? path : "");
    } else if (setting->type == VT_SETTING_BOOL) {
        (void)snprintf(ret_text, room, "%s", value != 0 ? "true" : "false");
    } else if (in_range(setting, value) && word(setting, (unsigned)value) != NULL) {
        (void)snprintf(ret_text, room, "%s", word(setting, (unsigned)value));
    } else {
        number_text(setting, value, ret_text, room);
    }
}

/* "a, b, c" of the words of an enum. */
static void join_words(const struct vt_load_setting *setting, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; word(setting, i) != NULL && used < room; i++) {
        used +=
            (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", word(setting, i));
    }
}

static enum vt_status refuse(const struct vt_load_setting *setting, long double value,
                             struct vt_error *err)
{
    char text[64], min[64], max[64];
    unsigned n_words = count_words(setting);
    number_text(setting, value, text, sizeof text);
    if (setting->type == VT_SETTING_FRACTION) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s is %s: give a fraction between 0 and 1 (0.99 for p99)",
                            setting->name, text);
    }
    if (n_words > 0) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is %s: give a value from 0 to %u", setting->name,
                            text, n_words - 1);
    }
    long double low, high;
    type_bounds(setting, &low, &high);
    if (setting->min != 0 || setting->max != 0) {
        low = scaled(setting, (long double)setting->min);
        high = scaled(setting, (long double)setting->max);
    }
    number_text(setting, low, min, sizeof min);
    number_text(setting, high, max, sizeof max);
    return vt_error_set(err, VT_ERR_USAGE, "%s is %s: give a value from %s to %s", setting->name,
                        text, min, max);
}

enum vt_status vt_load_setting_put(struct vt_load_settings *settings,
                                   const struct vt_load_setting *setting, long double value,
                                   struct vt_error *err)
{
    bool real = setting->type == VT_SETTING_F64 || setting->type == VT_SETTING_FRACTION;
    long double stored = real ? value : roundl(value);
    if (!in_range(setting, stored)) {
        return refuse(setting, value, err);
    }
    store(settings, setting, stored);
    return VT_OK;
}

static enum vt_status parse_unsigned(const char *text, long double *ret, struct vt_error *err)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return vt_error_set(err, VT_ERR_USAGE, "'%s' is not a whole number of 0 or more",
                            vt_plain(text).text);
    }
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno == ERANGE) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is too large: allowed 0..%" PRIu64,
                            vt_plain(text).text, UINT64_MAX);
    }
    *ret = value;
    return VT_OK;
}

static enum vt_status parse_word(const struct vt_load_setting *setting, const char *text,
                                 long double *ret, struct vt_error *err)
{
    char all[160];
    for (unsigned i = 0; word(setting, i) != NULL; i++) {
        if (strcmp(word(setting, i), text) == 0) {
            *ret = i;
            return VT_OK;
        }
    }
    join_words(setting, all, sizeof all);
    return vt_error_set(err, VT_ERR_USAGE, "unknown value '%s': one of %s", vt_plain(text).text,
                        all);
}

/* A number of the setting's unit; whole ones stay exact. */
static enum vt_status parse_time(const struct vt_load_setting *setting, const char *text,
                                 long double *ret, struct vt_error *err)
{
    int64_t whole;
    double real;
    struct vt_error ignored = VT_ERROR_INIT;
    if (vt_parse_int(text, &whole, &ignored) == VT_OK) {
        *ret = scaled(setting, (long double)whole);
        return VT_OK;
    }
    enum vt_status status = vt_parse_real(text, &real, err);
    if (status == VT_OK) {
        *ret = scaled(setting, (long double)real);
    }
    return status;
}

static enum vt_status parse_value(const struct vt_load_setting *setting, const char *text,
                                  long double *ret, struct vt_error *err)
{
    int64_t whole;
    double real;
    bool flag;
    enum vt_status status;
    switch (setting->type) {
    case VT_SETTING_BOOL:
        status = vt_parse_flag(text, &flag, err);
        *ret = status == VT_OK && flag ? 1 : 0;
        return status;
    case VT_SETTING_U32:
    case VT_SETTING_U64:
        return parse_unsigned(text, ret, err);
    case VT_SETTING_F64:
    case VT_SETTING_FRACTION:
        status = vt_parse_real(text, &real, err);
        *ret = status == VT_OK ? (long double)real : 0;
        return status;
    case VT_SETTING_I32:
        status = vt_parse_int(text, &whole, err);
        break;
    case VT_SETTING_SIZE:
        status = vt_parse_size(text, &whole, err);
        break;
    case VT_SETTING_NS:
        if (!setting->of_vatio) {
            return parse_time(setting, text, ret, err);
        }
        status = vt_parse_duration(text, &whole, err);
        break;
    default:
        return parse_word(setting, text, ret, err);
    }
    *ret = status == VT_OK ? (long double)whole : 0;
    return status;
}

enum vt_status vt_load_setting_set(struct vt_load_settings *settings, const char *name,
                                   const char *text, struct vt_error *err)
{
    const struct vt_load_setting *setting = vt_load_setting_find(name);
    if (setting == NULL) {
        return vt_load_setting_refuse(name, err);
    }
    if (setting->type == VT_SETTING_PATH) {
        *(const char **)(void *)((char *)settings + setting->offset) =
            text[0] != '\0' ? text : NULL;
        return VT_OK;
    }
    long double value = 0;
    struct vt_error why = VT_ERROR_INIT;
    enum vt_status status = parse_value(setting, text, &value, &why);
    if (status != VT_OK) {
        return vt_error_set(err, status, "%s: %s", name, why.text);
    }
    return vt_load_setting_put(settings, setting, value, err);
}

enum vt_status vt_load_settings_check(const struct vt_load_settings *settings, struct vt_error *err)
{
    for (size_t i = 0; i < N_TABLE; i++) {
        const struct vt_load_setting *setting = &table[i];
        if (setting->type == VT_SETTING_PATH ||
            !vt_load_setting_concerns(setting, settings->scenario)) {
            continue;
        }
        long double value = get(settings, setting);
        if (!in_range(setting, value)) {
            return refuse(setting, value, err);
        }
    }
    return VT_OK;
}
