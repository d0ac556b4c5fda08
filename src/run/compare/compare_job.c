/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare/compare_job.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "run/job_part.h"

#define FIELD(name) offsetof(struct vt_compare_job, name)
#define JOB(name)   offsetof(struct vt_compare_job, job.name)

static const struct vt_option own_options[] = {
    {"engine", 'e', VT_OPTION_LIST, FIELD(engines), "What to compare", "E[:KEY=VALUE,...]", 0, 0,
     NULL, NULL,
     "an engine that `vatio list` names, or the path of an engine module, with options of its own; "
     "threads, batch and lanes among them count for this engine alone; give it two to eight times",
     .holds_settings = true},
    {"pairs", 'p', VT_OPTION_INT, FIELD(pairs), "What to compare", "N", 0, 1000, NULL, "15",
     "rounds in each scenario, in which every engine has one turn; fewer than 5 give no interval, "
     "0 "
     "compares outputs alone"},
    {"duration", 'd', VT_OPTION_DURATION, FIELD(turn_ns), "What to compare", "T", 1e6, 3.6e12, NULL,
     "300ms", "one turn of one engine takes at least so long"},
    {"scenario", 's', VT_OPTION_TEXT, FIELD(scenario), "What to compare", "NAME[,NAME]", 0, 0, NULL,
     "all", "offline (throughput), singlestream (latency), or all of them"},
    {"rtol", 0, VT_OPTION_REAL, JOB(rtol), "Data", "F", 0, 1, NULL, "1e-3",
     "relative tolerance between the outputs of engines"},
    {"atol", 0, VT_OPTION_REAL, JOB(atol), "Data", "F", 0, 1e30, NULL, "1e-4",
     "absolute tolerance between the outputs of engines"},
    {"timeout", 0, VT_OPTION_DURATION, JOB(timeout_ns), "Model and engine", "T", 1e6, 8.64e13, NULL,
     "60s", "give up on a sample that was not answered for so long"},
    {"output", 'o', VT_OPTION_TEXT, JOB(output), "Result", "DIR", 0, 0, NULL, NULL,
     "folder for result.json (default: runs/<time>-<model>)"},
    {"json", 0, VT_OPTION_FLAG, JOB(json), "Result", NULL, 0, 0, NULL, NULL,
     "print result.json on standard output and nothing else there"},
};
#define N_OWN (sizeof own_options / sizeof own_options[0])

/* Of `vatio run`'s options for model and data, those that make no sense for several engines. */
static const char *const left_out[] = {"engine", "engine-option", "batch-delay-us",
                                       "model",  "expect",        "rtol",
                                       "atol",   "precision",     NULL};

#define OPTIONS_MOST 96
static struct vt_option options[OPTIONS_MOST];
static struct vt_option_table table = {options, 0, sizeof(struct vt_compare_job)};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_table(void)
{
    _Static_assert(offsetof(struct vt_compare_job, job) == 0, "the job stands first");
    memcpy(options, own_options, sizeof own_options);
    table.n_options = vt_job_part_options(options, N_OWN, OPTIONS_MOST, left_out);
}

const struct vt_option_table *vt_compare_options(void)
{
    (void)pthread_once(&once, build_table);
    return &table;
}

enum vt_status vt_compare_scenarios(const struct vt_compare_job *job, struct vt_error *err,
                                    bool ret_wanted[VT_COMPARE_SCENARIOS])
{
    struct vt_job run = {.scenario = job->scenario};
    bool wanted[VT_SCENARIO_COUNT];

    enum vt_status status = vt_job_scenarios(&run, err, wanted);
    if (status != VT_OK) {
        return status;
    }
    bool all = wanted[VT_SERVER] && wanted[VT_MULTISTREAM] && wanted[VT_OFFLINE];
    if (!all && (wanted[VT_SERVER] || wanted[VT_MULTISTREAM])) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--scenario %s: compare measures offline and singlestream",
                            job->scenario);
    }
    ret_wanted[0] = wanted[VT_OFFLINE];
    ret_wanted[1] = wanted[VT_SINGLESTREAM];
    return VT_OK;
}

/* Where the options begin: behind the first colon whose next piece is KEY=VALUE. A module's path
 * may hold colons of its own. NULL when there are none. */
static char *options_of(char *text)
{
    for (char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ':')) {
        size_t key = strcspn(at + 1, "=:,/");
        if (key > 0 && at[1 + key] == '=') {
            return at;
        }
    }
    return NULL;
}

/* One of the options that `vatio run` has itself. True in *ret_known when it was one. */
static enum vt_status set_run_option(struct vt_compare_entry *entry, const char *item,
                                     struct vt_error *err, bool *ret_known)
{
    static const struct {
        const char *key;
        size_t offset;
        int64_t most;
    } known[] = {
        {"threads=", offsetof(struct vt_job, threads), 1024},
        {"batch=", offsetof(struct vt_job, batch), 65536},
        {"lanes=", offsetof(struct vt_job, lanes), 1024},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].key);
        if (strncmp(item, known[i].key, length) != 0) {
            continue;
        }
        int64_t value;
        enum vt_status status = vt_parse_int(item + length, &value, NULL);
        if (status != VT_OK || value < 1 || value > known[i].most) {
            return vt_error_set(err, VT_ERR_USAGE, "--engine %s: %s is not within 1 to %lld",
                                entry->label, item, (long long)known[i].most);
        }
        memcpy((char *)&entry->job + known[i].offset, &value, sizeof value);
        *ret_known = true;
        return VT_OK;
    }
    *ret_known = false;
    return VT_OK;
}

static enum vt_status add_option(struct vt_compare_entry *entry, const char *item,
                                 struct vt_error *err)
{
    struct vt_text_list *list = &entry->job.engine_options;
    const char *equals = strchr(item, '=');
    bool known = false;

    if (equals == NULL || equals == item) {
        return vt_error_set(err, VT_ERR_USAGE, "--engine %s: '%s' is not KEY=VALUE", entry->label,
                            item);
    }
    enum vt_status status = set_run_option(entry, item, err, &known);
    if (status != VT_OK || known) {
        return status;
    }
    if (list->count == sizeof entry->items / sizeof entry->items[0]) {
        return vt_error_set(err, VT_ERR_USAGE, "--engine %.64s: at most %zu options are allowed",
                            entry->label, list->count);
    }
    entry->items[list->count++] = item;
    return VT_OK;
}

enum vt_status vt_compare_entry_init(struct vt_compare_entry *entry, const struct vt_job *job,
                                     const char *text, struct vt_error *err)
{
    memset(entry, 0, sizeof *entry);
    entry->label = text;
    entry->job = *job;
    entry->text = vt_strdup(text);
    if (entry->text == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    entry->job.engine = entry->text;
    entry->job.engine_options = (struct vt_text_list){entry->items, 0};
    enum vt_status status = VT_OK;
    char *at = options_of(entry->text);
    while (at != NULL && status == VT_OK) {
        *at = '\0';
        char *item = at + 1;
        at = strchr(item, ',');
        if (at != NULL) {
            *at = '\0';
        }
        status = add_option(entry, item, err);
    }
    if (status == VT_OK && entry->text[0] == '\0') {
        status = vt_error_set(err, VT_ERR_USAGE, "--engine '%s' names no engine", text);
    }
    if (status != VT_OK) {
        vt_compare_entry_release(entry);
    }
    return status;
}

enum vt_status vt_compare_label(const char *text, struct vt_error *err, char *ret_label,
                                size_t size)
{
    char *shown = vt_option_shown(&own_options[0], text);

    if (shown == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    (void)snprintf(ret_label, size, "%s", shown);
    vt_free(shown);
    return VT_OK;
}

void vt_compare_entry_release(struct vt_compare_entry *entry)
{
    vt_free(entry->text);
    memset(entry, 0, sizeof *entry);
}
