/* SPDX-License-Identifier: Apache-2.0 */
#include "report/content.h"

#include <math.h>
#include <string.h>

#include "core/query.h"
#include "report/command.h"
#include "report/reader.h"
#include "result/text.h"

const char *vt_content_scenario(const json_t *result)
{
    const char *key = vt_read_text(result, "scenario");

    for (int i = 0; i < VT_SCENARIO_COUNT && key != NULL; i++) {
        if (strcmp(key, vt_scenario_key((enum vt_scenario)i)) == 0) {
            return vt_scenario_name((enum vt_scenario)i);
        }
    }
    return key != NULL ? key : VT_NO_NUMBER;
}

bool vt_content_measured(const json_t *result)
{
    const char *mode = vt_read_text(result, "mode");
    return mode != NULL && strcmp(mode, "performance") == 0 &&
           vt_read_object(result, "latency_ns") != NULL;
}

const json_t *vt_content_latency(const json_t *result)
{
    const char *key = vt_read_text(result, "scenario");
    const json_t *queries = vt_read_object(result, "query_latency_ns");

    if (key != NULL && strcmp(key, "offline") == 0) {
        return NULL;
    }
    return queries != NULL ? queries : vt_read_object(result, "latency_ns");
}

/* --- where it comes from --------------------------------------------------------------------- */

void vt_content_about(struct vt_document *document, const struct vt_source *source)
{
    const json_t *model = vt_read_object(source->root, "model");
    const json_t *engine = vt_read_object(source->root, "engine");
    const char *name = vt_read_text(model, "name");
    const char *parameters = vt_say_count(document, vt_read_number(model, "parameters"));
    const char *description = vt_read_text(engine, "description");
    const char *started = vt_say_time(document, vt_read_text(source->root, "started_utc"));
    const char *text = vt_say(document, "%s", name != NULL ? name : "a model without a name");

    if (parameters != NULL) {
        text = vt_say(document, "%s (%s parameters)", text, parameters);
    }
    if (vt_read_flag(model, "random_weights") == 1) {
        text = vt_say(document, "%s, random weights: speed counts, answers mean nothing", text);
    }
    if (description != NULL) {
        text = vt_say(document, "%s \xc2\xb7 %s", text, description);
    }
    if (started != NULL) {
        text = vt_say(document, "%s \xc2\xb7 %s", text, started);
    }
    vt_add_text(document, VT_BLOCK_TEXT, text);
    if (vt_read_flag(source->root, "partial") == 1) {
        vt_add_text(document, VT_BLOCK_NOTE, "Interrupted: what was measured until then.");
    }
}

static void put_machine(struct vt_document *document, const json_t *root)
{
    const json_t *machine = vt_read_object(root, "machine");
    const json_t *engine = vt_read_object(root, "engine");
    const json_t *workload = vt_read_object(root, "workload");
    const json_t *tool = vt_read_object(root, "tool");
    const char *version = vt_read_text(tool, "version"), *build = vt_read_text(tool, "build");

    vt_add_facts(document);
    vt_fact(document, "Processor", vt_read_text(machine, "cpu"));
    vt_fact(document, "Instruction set", vt_read_text(machine, "isa"));
    const char *cores = vt_say_count(document, vt_read_number(machine, "cores"));
    const char *cpus = vt_say_count(document, vt_read_number(machine, "cpus"));
    const char *usable = vt_say_count(document, vt_read_number(machine, "usable_cpus"));
    if (cores != NULL && cpus != NULL && usable != NULL) {
        vt_fact(
            document, "Cores",
            vt_say(document, "%s, %s logical CPUs of which %s are usable", cores, cpus, usable));
    }
    vt_fact(document, "NUMA nodes", vt_say_count(document, vt_read_number(machine, "numa_nodes")));
    vt_fact(document, "Memory", vt_say_bytes(document, vt_read_number(machine, "memory_bytes")));
    vt_fact(document, "System", vt_read_text(machine, "os"));
    vt_fact(document, "Engine", vt_read_text(engine, "description"));
    vt_fact(document, "Lanes", vt_say_count(document, vt_read_number(engine, "lanes")));
    vt_fact(document, "Threads", vt_say_count(document, vt_read_number(engine, "threads")));
    vt_fact(document, "Batch", vt_say_count(document, vt_read_number(engine, "batch_max")));
    if (version != NULL) {
        vt_fact(document, "Measured by",
                vt_say(document, "vatio %s%s%s", version, build != NULL ? ", build " : "",
                       build != NULL ? build : ""));
    }
    vt_fact(document, "Started", vt_say_time(document, vt_read_text(root, "started_utc")));
    vt_fact(document, "Data", vt_read_text(workload, "description"));
}

static void put_options(struct vt_document *document, const json_t *job)
{
    static const struct vt_column columns[] = {
        {"Option", false}, {"Value", false}, {"From", false}};
    const char *key;
    json_t *entry;

    vt_add_bracket(document, VT_BLOCK_FOLD, "Every option of the job");
    vt_add_table(document, "Options in effect", VT_COLUMNS_OF(columns));
    json_object_foreach((json_t *)(uintptr_t)job, key, entry)
    {
        const char *flag = vt_option_flag(document, key);
        if (flag != NULL && json_is_object(entry)) {
            vt_cell(document, flag);
            vt_cell(document, vt_option_words(document, entry));
            vt_cell(document, vt_read_flag(entry, "given") == 1 ? "given" : "default");
        }
    }
    vt_add_bracket(document, VT_BLOCK_FOLD_END, "");
}

/* "caps": what was set for the run, what the hardware made of it and whether it was put back. */
static void put_caps(struct vt_document *document, const json_t *root)
{
    static const struct vt_column columns[] = {
        {"Cap", false},     {"Domain", false},  {"Device", false},   {"Asked", true},
        {"Enforced", true}, {"Previous", true}, {"Put back", false}, {"Note", false}};
    const json_t *caps = vt_read_array(root, "caps"), *cap;
    bool left = false;
    size_t i;

    if (json_array_size(caps) == 0) {
        return;
    }
    vt_add_table(document, "Caps held while it was measured", VT_COLUMNS_OF(columns));
    json_array_foreach(caps, i, cap)
    {
        const char *unit = vt_read_text(cap, "unit");
        const char *const of = unit != NULL ? unit : "";
        const int restored = vt_read_flag(cap, "restored");
        vt_cell(document, vt_read_text(cap, "kind"));
        vt_cell(document, vt_read_text(cap, "domain"));
        vt_cell(document, vt_read_text(cap, "device"));
        vt_cell(document, vt_say_number(document, vt_read_number(cap, "asked"), of));
        vt_cell(document, vt_say_number(document, vt_read_number(cap, "enforced"), of));
        vt_cell(document, vt_say_number(document, vt_read_number(cap, "previous"), of));
        vt_cell(document, restored < 0 ? NULL : restored ? "yes" : "no");
        vt_cell(document, vt_read_text(cap, "note"));
        left = left || restored == 0;
    }
    if (left) {
        vt_add_verdict(document, VT_TONE_BAD, "Not put back",
                       "a cap was left behind: vatio caps restore puts it back");
    }
}

void vt_content_origin(struct vt_document *document, const struct vt_source *source,
                       const char *verb)
{
    const json_t *model = vt_read_object(source->root, "model");
    const json_t *job = vt_read_object(source->root, "job");
    const char *path = vt_read_text(model, "path");

    if (job == NULL && vt_read_object(source->root, "machine") == NULL) {
        return;
    }
    vt_add_heading(document, 3, "Machine and job");
    put_machine(document, source->root);
    put_caps(document, source->root);
    if (job == NULL) {
        return;
    }
    const json_t *words = vt_read_array(source->root, "command");
    vt_add_text(document, VT_BLOCK_TEXT, "To measure it again:");
    vt_add_text(document, VT_BLOCK_CODE,
                words != NULL
                    ? vt_command_words(document, words)
                    : vt_command_line(document, verb,
                                      path != NULL ? path : vt_read_text(model, "name"), job));
    put_options(document, job);
}

/* --- all of it ------------------------------------------------------------------------------- */

static void put_title(struct vt_document *document, const struct vt_sources *sources)
{
    const char *first = NULL;
    bool same = true;

    for (size_t i = 0; i < sources->n; i++) {
        const json_t *model = vt_read_object(sources->items[i].root, "model");
        const char *name = vt_read_text(model, "name");
        if (i == 0) {
            first = name;
        }
        same = same && first != NULL && name != NULL && strcmp(first, name) == 0;
    }
    if (same) {
        vt_add_title(document, first);
    } else {
        vt_add_title(document, vt_say(document, "%zu measurements", sources->n));
    }
}

enum vt_status vt_content_write(struct vt_document *document, const struct vt_sources *sources,
                                struct vt_error *err)
{
    enum vt_status status = VT_OK;

    put_title(document, sources);
    vt_content_runs(document, sources);
    for (size_t i = 0; i < sources->n && status == VT_OK; i++) {
        const struct vt_source *source = &sources->items[i];
        if (sources->n > 1) {
            vt_add_heading(document, 2, source->name);
        }
        switch (source->kind) {
        case VT_SOURCE_RUN:
            status = vt_content_run(document, source, err);
            break;
        case VT_SOURCE_COMPARISON:
            vt_content_comparison(document, source);
            break;
        case VT_SOURCE_PROFILE:
            vt_content_profile(document, source);
            break;
        case VT_SOURCE_SWEEP:
            vt_content_sweep(document, source);
            break;
        case VT_SOURCE_KINDS:
            break;
        }
    }
    if (status == VT_OK && vt_document_failed(document)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
    }
    return status;
}
