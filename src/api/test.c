/* SPDX-License-Identifier: Apache-2.0 */
/* The public handle of a test: settings by name, configuration files, the run. */
#include <inttypes.h>
#include <string.h>

#include "api/result.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "load/setting_table.h"
#include "mlperf/conf.h"
#include "mlperf/round.h"
#include "mlperf/test.h"

struct vt_load_test {
    struct vt_load_settings settings;
    struct vt_load_control control;
    _Atomic bool running;
    bool conf_applied; /* for the scenario that is set */
    int64_t *arrivals; /* owned; what settings borrows */
    int32_t *cpus;
    char *spill_folder;
    bool has_logs;
    struct vt_test_logs logs; /* its texts are these */
    char *folder, *prefix, *suffix;
    char **warnings;
    size_t n_warnings;
    bool warning_lost; /* for want of memory */
};

static enum vt_status missing(struct vt_error *err, const char *function, const char *what)
{
    return vt_error_set(err, VT_ERR_USAGE, "%s: %s is NULL", function, what);
}

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a load test");
}

/* Whether the test may be changed. */
static enum vt_status changeable(const struct vt_load_test *test, const char *function,
                                 struct vt_error *err)
{
    if (test == NULL) {
        return missing(err, function, "test");
    }
    if (atomic_load(&test->running)) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: the test is running; wait for its end",
                            function);
    }
    return VT_OK;
}

enum vt_status vt_load_test_new(struct vt_error *err, struct vt_load_test **ret_test)
{
    if (ret_test == NULL) {
        return missing(err, "vt_load_test_new", "ret_test");
    }
    struct vt_load_test *test = vt_calloc(1, sizeof *test);
    if (test == NULL) {
        return out_of_memory(err);
    }
    vt_load_settings_default(&test->settings);
    *ret_test = test;
    return VT_OK;
}

static void free_logs(struct vt_load_test *test)
{
    vt_free(test->folder);
    vt_free(test->prefix);
    vt_free(test->suffix);
    test->folder = test->prefix = test->suffix = NULL;
    test->logs = (struct vt_test_logs){0};
    test->has_logs = false;
}

void vt_load_test_free(struct vt_load_test *test)
{
    if (test == NULL) {
        return;
    }
    free_logs(test);
    for (size_t i = 0; i < test->n_warnings; i++) {
        vt_free(test->warnings[i]);
    }
    vt_free(test->warnings);
    vt_free(test->arrivals);
    vt_free(test->cpus);
    vt_free(test->spill_folder);
    vt_free(test);
}

/* --- settings */

const char *vt_load_setting_name(size_t i)
{
    size_t n;
    const struct vt_load_setting *table = vt_load_settings_table(&n);
    return i < n ? table[i].name : NULL;
}

const char *vt_load_setting_help(const char *name)
{
    const struct vt_load_setting *setting = name != NULL ? vt_load_setting_find(name) : NULL;
    return setting != NULL ? setting->help : NULL;
}

enum vt_status vt_load_test_set(struct vt_load_test *test, const char *name, const char *value,
                                struct vt_error *err)
{
    enum vt_status status = changeable(test, "vt_load_test_set", err);
    if (status != VT_OK) {
        return status;
    }
    if (name == NULL || value == NULL) {
        return missing(err, "vt_load_test_set", name == NULL ? "name" : "value");
    }
    const struct vt_load_setting *setting = vt_load_setting_find(name);
    struct vt_load_settings changed = test->settings;
    if (setting == NULL || setting->type != VT_SETTING_PATH) {
        status = vt_load_setting_set(&changed, name, value, err);
        if (status == VT_OK && changed.scenario != test->settings.scenario && test->conf_applied) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "scenario: %s comes too late, a configuration was applied for %s; "
                                "set it first",
                                vt_scenario_name(changed.scenario),
                                vt_scenario_name(test->settings.scenario));
        }
        if (status == VT_OK) {
            test->settings = changed;
        }
        return status;
    }
    /* The settings borrow a path. */
    char *copy = vt_strdup(value);
    if (copy == NULL) {
        return out_of_memory(err);
    }
    status = vt_load_setting_set(&changed, name, copy, err);
    if (status != VT_OK) {
        vt_free(copy);
        return status;
    }
    vt_free(test->spill_folder);
    test->spill_folder = copy;
    test->settings = changed;
    return VT_OK;
}

enum vt_status vt_load_test_get(const struct vt_load_test *test, const char *name,
                                struct vt_error *err, char *ret_text, size_t room)
{
    if (test == NULL || name == NULL || ret_text == NULL || room == 0) {
        return missing(err, "vt_load_test_get",
                       test == NULL   ? "test"
                       : name == NULL ? "name"
                                      : "ret_text, or the room,");
    }
    const struct vt_load_setting *setting = vt_load_setting_find(name);
    if (setting == NULL) {
        return vt_load_setting_refuse(name, err);
    }
    vt_load_setting_text(&test->settings, setting, ret_text, room);
    return VT_OK;
}

enum vt_status vt_load_test_set_arrivals(struct vt_load_test *test, const int64_t *times_ns,
                                         size_t n, struct vt_error *err)
{
    enum vt_status status = changeable(test, "vt_load_test_set_arrivals", err);
    if (status != VT_OK) {
        return status;
    }
    if (n > 0 && times_ns == NULL) {
        return missing(err, "vt_load_test_set_arrivals", "times_ns");
    }
    for (size_t i = 0; i < n; i++) {
        if (times_ns[i] < (i > 0 ? times_ns[i - 1] : 0)) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "arrival %zu at %" PRId64
                                " ns comes before %s; times ascend from 0",
                                i, times_ns[i], i > 0 ? "the one before it" : "the start");
        }
    }
    int64_t *copy = NULL;
    if (n > 0) {
        copy = vt_calloc(n, sizeof copy[0]);
        if (copy == NULL) {
            return out_of_memory(err);
        }
        memcpy(copy, times_ns, n * sizeof copy[0]);
    }
    vt_free(test->arrivals);
    test->arrivals = copy;
    test->settings.arrival_trace_ns = copy;
    test->settings.n_arrival_trace = n;
    test->settings.arrivals = n > 0 ? VT_ARRIVALS_TRACE : VT_ARRIVALS_POISSON;
    return VT_OK;
}

enum vt_status vt_load_test_set_cpus(struct vt_load_test *test, const int32_t *cpus, size_t n,
                                     struct vt_error *err)
{
    enum vt_status status = changeable(test, "vt_load_test_set_cpus", err);
    if (status != VT_OK) {
        return status;
    }
    if (n > 0 && cpus == NULL) {
        return missing(err, "vt_load_test_set_cpus", "cpus");
    }
    for (size_t i = 0; i < n; i++) {
        if (cpus[i] < 0) {
            return vt_error_set(err, VT_ERR_USAGE, "cpu %" PRId32 ": they count from 0", cpus[i]);
        }
    }
    if (n > UINT32_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "%zu cpus are too many", n);
    }
    int32_t *copy = NULL;
    if (n > 0) {
        copy = vt_calloc(n, sizeof copy[0]);
        if (copy == NULL) {
            return out_of_memory(err);
        }
        memcpy(copy, cpus, n * sizeof copy[0]);
    }
    vt_free(test->cpus);
    test->cpus = copy;
    test->settings.issue_cpus = copy;
    test->settings.n_issue_cpus = (uint32_t)n;
    return VT_OK;
}

/* --- configuration files */

enum vt_status vt_load_test_use_round(struct vt_load_test *test, const char *round,
                                      const char *model, struct vt_error *err)
{
    enum vt_status status = changeable(test, "vt_load_test_use_round", err);
    if (status != VT_OK) {
        return status;
    }
    struct vt_load_settings changed = test->settings;
    round = round != NULL ? round : VT_ROUND_LATEST;
    model = model != NULL ? model : "";
    status = vt_round_apply(&changed, round, model, err);
    if (status == VT_OK && model[0] != '\0' && !vt_round_has(round, model)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "round %s has no model '%s' (pass none to take what holds for all)",
                            round, vt_plain(model).text);
    }
    if (status == VT_OK) {
        test->settings = changed;
        test->conf_applied = true;
    }
    return status;
}

static void keep_warning(void *ctx, const char *text)
{
    struct vt_load_test *test = ctx;
    char *copy = vt_strdup(text);
    size_t bytes = test->n_warnings * sizeof test->warnings[0];
    char **grown =
        copy != NULL ? vt_regrow(test->warnings, bytes, bytes + sizeof test->warnings[0]) : NULL;

    if (grown == NULL) {
        vt_free(copy);
        test->warning_lost = true;
        return;
    }
    test->warnings = grown;
    test->warnings[test->n_warnings++] = copy;
}

_Static_assert((int)VT_LOAD_CONF_MLPERF == (int)VT_CONF_MLPERF &&
                   (int)VT_LOAD_CONF_USER == (int)VT_CONF_USER &&
                   (int)VT_LOAD_CONF_AUDIT == (int)VT_CONF_AUDIT,
               "the kinds of configuration file");

enum vt_status vt_load_test_read_conf(struct vt_load_test *test, enum vt_load_conf kind,
                                      const char *path, const char *model, struct vt_error *err)
{
    enum vt_status status = changeable(test, "vt_load_test_read_conf", err);
    if (status != VT_OK) {
        return status;
    }
    if (path == NULL) {
        return missing(err, "vt_load_test_read_conf", "path");
    }
    if ((int)kind < VT_LOAD_CONF_MLPERF || (int)kind > VT_LOAD_CONF_AUDIT) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_load_test_read_conf: kind %d is none of VT_LOAD_CONF_…", (int)kind);
    }
    struct vt_load_settings changed = test->settings;
    struct vt_conf_warnings warnings = {keep_warning, test};
    test->warning_lost = false;
    status = vt_conf_apply_file(&changed, (enum vt_conf_kind)kind, path, model != NULL ? model : "",
                                &warnings, err);
    if (status == VT_OK && test->warning_lost) {
        return out_of_memory(err);
    }
    if (status == VT_OK) {
        test->settings = changed;
        test->conf_applied = true;
    }
    return status;
}

const char *vt_load_test_warning(const struct vt_load_test *test, size_t i)
{
    return test != NULL && i < test->n_warnings ? test->warnings[i] : NULL;
}

/* --- logs */

/* Whether a struct that the caller filled is one that this library knows. */
static enum vt_status check_head(const char *what, uint32_t api_version, uint32_t struct_size,
                                 size_t needed, struct vt_error *err)
{
    if (api_version != VT_LOAD_API_VERSION) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s->api_version is %" PRIu32 ", this library speaks %d (set it to "
                            "VT_LOAD_API_VERSION and compile against the library's own headers)",
                            what, api_version, VT_LOAD_API_VERSION);
    }
    if (struct_size < needed) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s->struct_size is %" PRIu32 ", at least %zu is needed (set it to "
                            "sizeof of the struct)",
                            what, struct_size, needed);
    }
    return VT_OK;
}

/* NULL stays NULL. False when memory is out. */
static bool copy_text(const char *text, char **ret_copy)
{
    *ret_copy = text != NULL ? vt_strdup(text) : NULL;
    return text == NULL || *ret_copy != NULL;
}

enum vt_status vt_load_test_set_logs(struct vt_load_test *test, const struct vt_load_logs *logs,
                                     struct vt_error *err)
{
    char *folder = NULL, *prefix = NULL, *suffix = NULL;

    enum vt_status status = changeable(test, "vt_load_test_set_logs", err);
    if (status == VT_OK && logs == NULL) {
        free_logs(test);
        return VT_OK;
    }
    if (status == VT_OK) {
        status = check_head("logs", logs->api_version, logs->struct_size, sizeof *logs, err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (!copy_text(logs->folder != NULL ? logs->folder : ".", &folder) ||
        !copy_text(logs->prefix, &prefix) || !copy_text(logs->suffix, &suffix)) {
        vt_free(folder);
        vt_free(prefix);
        vt_free(suffix);
        return out_of_memory(err);
    }
    free_logs(test);
    test->folder = folder;
    test->prefix = prefix;
    test->suffix = suffix;
    test->has_logs = true;
    test->logs = (struct vt_test_logs){
        .folder = folder,
        .prefix = prefix,
        .suffix = suffix,
        .prefix_with_datetime = logs->prefix_with_datetime,
        .copy_summary_to_stdout = logs->copy_summary_to_stdout,
        .copy_detail_to_stdout = logs->copy_detail_to_stdout,
        .trace = logs->trace,
    };
    return VT_OK;
}

/* --- the run */

static enum vt_status check_sut(const struct vt_sut *sut, struct vt_error *err)
{
    if (sut == NULL) {
        return missing(err, "vt_load_test_run", "sut");
    }
    enum vt_status status = check_head("sut", sut->api_version, sut->struct_size, sizeof *sut, err);
    if (status != VT_OK) {
        return status;
    }
    const char *slot = sut->name == NULL    ? "sut->name"
                       : sut->start == NULL ? "sut->start"
                       : sut->issue == NULL ? "sut->issue"
                       : sut->flush == NULL ? "sut->flush"
                       : sut->abort == NULL ? "sut->abort"
                                            : NULL;
    return slot == NULL ? VT_OK : missing(err, "vt_load_test_run", slot);
}

static enum vt_status check_qsl(const struct vt_qsl *qsl, struct vt_error *err)
{
    if (qsl == NULL) {
        return missing(err, "vt_load_test_run", "qsl");
    }
    enum vt_status status = check_head("qsl", qsl->api_version, qsl->struct_size, sizeof *qsl, err);
    if (status != VT_OK) {
        return status;
    }
    const char *slot = qsl->name == NULL     ? "qsl->name"
                       : qsl->load == NULL   ? "qsl->load"
                       : qsl->unload == NULL ? "qsl->unload"
                                             : NULL;
    if (slot != NULL) {
        return missing(err, "vt_load_test_run", slot);
    }
    if (qsl->performance_count == 0 || qsl->performance_count > qsl->total_count) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "qsl: %" PRIu64 " samples in all and %" PRIu64
                            " in memory; 1 <= performance_count <= total_count is needed",
                            qsl->total_count, qsl->performance_count);
    }
    return VT_OK;
}

static enum vt_status run(struct vt_load_test *test, const struct vt_sut *sut,
                          const struct vt_qsl *qsl, struct vt_error *err,
                          struct vt_load_result **ret_result)
{
    struct vt_test_result made = {0};
    struct vt_load_result *result;

    enum vt_status status = vt_load_result_new(err, &result);
    if (status != VT_OK) {
        return status;
    }
    status = vt_test_run(&test->settings, sut, qsl, &test->control,
                         test->has_logs ? &test->logs : NULL, NULL, err, &made);
    /* A log that cannot be written does not undo what was measured. */
    bool measured = made.performance != NULL || made.accuracy != NULL;
    if (status == VT_OK || (status == VT_ERR_WRITE && measured)) {
        vt_load_result_adopt(result, &made);
        *ret_result = result;
        return status;
    }
    vt_test_result_release(&made);
    vt_load_result_free(result);
    return status;
}

enum vt_status vt_load_test_run(struct vt_load_test *test, const struct vt_sut *sut,
                                const struct vt_qsl *qsl, struct vt_error *err,
                                struct vt_load_result **ret_result)
{
    if (test == NULL || ret_result == NULL) {
        return missing(err, "vt_load_test_run", test == NULL ? "test" : "ret_result");
    }
    enum vt_status status = check_sut(sut, err);
    if (status == VT_OK) {
        status = check_qsl(qsl, err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (atomic_exchange(&test->running, true)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_load_test_run: the test is running already; one run at a time");
    }
    status = run(test, sut, qsl, err, ret_result);
    /* An abort that came too late for this run is not one of the next. */
    atomic_store(&test->control.stop, false);
    atomic_store(&test->running, false);
    return status;
}

void vt_load_test_abort(struct vt_load_test *test)
{
    if (test != NULL) {
        atomic_store(&test->control.stop, true);
    }
}

void vt_load_test_progress(const struct vt_load_test *test, uint64_t *ret_issued,
                           uint64_t *ret_completed, int64_t *ret_elapsed_ns)
{
    int64_t started = test != NULL ? atomic_load(&test->control.started_ns) : 0;

    if (ret_issued != NULL) {
        *ret_issued = test != NULL ? atomic_load(&test->control.issued) : 0;
    }
    if (ret_completed != NULL) {
        *ret_completed = test != NULL ? atomic_load(&test->control.completed) : 0;
    }
    if (ret_elapsed_ns != NULL) {
        *ret_elapsed_ns = started != 0 ? vt_now_ns() - started : 0;
    }
}
