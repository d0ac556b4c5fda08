/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_command.h"

#include <string.h>

#include "base/alloc.h"
#include "base/quote.h"
#include "run/sweep/sweep_job.h"

void vt_sweep_texts_release(struct vt_sweep_texts *texts)
{
    for (uint32_t i = 0; i < texts->n; i++) {
        vt_free(texts->items[i]);
    }
    memset(texts, 0, sizeof *texts);
}

enum vt_status vt_sweep_texts_add(struct vt_sweep_texts *texts, char *text, struct vt_error *err)
{
    if (text == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (texts->n == VT_SWEEP_COMMAND_MAX) {
        vt_free(text);
        return vt_error_set(err, VT_ERR_LIMIT, "at most %d options are allowed",
                            VT_SWEEP_COMMAND_MAX);
    }
    texts->items[texts->n++] = text;
    return VT_OK;
}

static enum vt_status add_list(struct vt_sweep_texts *texts, const struct vt_option *option,
                               const struct vt_text_list *list, bool shown, struct vt_error *err)
{
    enum vt_status status = VT_OK;

    for (size_t i = 0; i < list->count && status == VT_OK; i++) {
        char *item = shown ? vt_option_shown(option, list->items[i]) : vt_strdup(list->items[i]);
        status = vt_sweep_texts_add(
            texts, item != NULL ? vt_asprintf("--%s=%s", option->name, item) : NULL, err);
        vt_free(item);
    }
    return status;
}

enum vt_status vt_sweep_texts_add_option(struct vt_sweep_texts *texts,
                                         const struct vt_options *options, size_t index, bool shown,
                                         struct vt_error *err)
{
    const struct vt_option *option = &options->table->options[index];
    const void *value = (const char *)options->values + option->offset;
    char text[64];

    switch (option->type) {
    case VT_OPTION_LIST:
        return add_list(texts, option, value, shown, err);
    case VT_OPTION_FLAG:
        return vt_sweep_texts_add(
            texts, vt_asprintf("--%s%s", *(const bool *)value ? "" : "no-", option->name), err);
    case VT_OPTION_TEXT:
        return vt_sweep_texts_add(
            texts, vt_asprintf("--%s=%s", option->name, *(const char *const *)value), err);
    default:
        vt_option_value_text(options, index, text, sizeof text);
        return vt_sweep_texts_add(texts, vt_asprintf("--%s=%s", option->name, text), err);
    }
}

enum vt_status vt_sweep_command(const struct vt_options *options, const char *model,
                                struct vt_error *err, struct vt_sweep *sweep)
{
    struct vt_sweep_texts texts = {.n = 0};

    enum vt_status status = vt_sweep_texts_add(&texts, vt_strdup("sweep"), err);
    if (status == VT_OK) {
        status = vt_sweep_texts_add(&texts, vt_strdup(model), err);
    }
    for (size_t i = 0; i < options->table->n_options && status == VT_OK; i++) {
        const char *name = options->table->options[i].name;
        bool of_output = strcmp(name, "output") == 0 || strcmp(name, "resume") == 0 ||
                         strcmp(name, "json") == 0 || strcmp(name, "retry-failed") == 0;
        if (options->given[i] && !of_output) {
            status = vt_sweep_texts_add_option(&texts, options, i, true, err);
        }
    }
    char **command = status == VT_OK ? vt_calloc(texts.n, sizeof command[0]) : NULL;
    if (status == VT_OK && command == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (status != VT_OK) {
        vt_sweep_texts_release(&texts);
        return status;
    }
    memcpy(command, texts.items, texts.n * sizeof command[0]);
    sweep->command = command;
    sweep->n_command = texts.n;
    return VT_OK;
}

/* --- going on -------------------------------------------------------------------------------- */

/* "--name=value", "--name" or "--no-name" taken apart. */
static const char *take_apart(const struct vt_options *options, const char *text, char *name,
                              size_t size)
{
    const char *key = strncmp(text, "--", 2) == 0 ? text + 2 : text;
    size_t length = strcspn(key, "=");

    (void)snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), key);
    if (key[length] == '=') {
        return key + length + 1;
    }
    if (strncmp(name, "no-", 3) == 0) {
        for (size_t i = 0; i < options->table->n_options; i++) {
            if (strcmp(options->table->options[i].name, name + 3) == 0) {
                memmove(name, name + 3, strlen(name + 3) + 1);
                return "no";
            }
        }
    }
    return "yes";
}

enum vt_status vt_sweep_take_command(const struct vt_sweep *recorded, struct vt_options *options,
                                     struct vt_error *err)
{
    const struct vt_option_table *known = options->table;
    enum vt_status status = VT_OK;
    char name[64];
    bool *before = vt_calloc(known->n_options + 1, sizeof before[0]);

    if (before == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    memcpy(before, options->given, known->n_options * sizeof before[0]);
    for (uint32_t i = 2; i < recorded->n_command && status == VT_OK; i++) {
        const char *value = take_apart(options, recorded->command[i], name, sizeof name);
        bool taken = false;
        for (size_t o = 0; o < known->n_options; o++) {
            taken = taken || (before[o] && strcmp(known->options[o].name, name) == 0);
        }
        if (strstr(value, VT_HIDDEN) != NULL) {
            status = vt_error_set(err, VT_ERR_USAGE,
                                  "--resume: --%s holds a secret that sweep.json does not keep; "
                                  "give the whole command again, with -o DIR",
                                  vt_plain(name).text);
        } else if (!taken) {
            status = vt_options_set(options, name, value, err);
            if (status != VT_OK) {
                vt_error_prefix(err, "--resume: sweep.json");
            }
        }
    }
    vt_free(before);
    return status;
}

static bool is_axis(const char *name)
{
    for (int i = 0; i < VT_SWEEP_AXIS_KINDS; i++) {
        if (strcmp(vt_sweep_axis_kinds[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the text is among the options of the other command; how often it stands matters not. */
static bool stands_in(const char *text, const struct vt_sweep *other)
{
    for (uint32_t i = 2; i < other->n_command; i++) {
        if (strcmp(other->command[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* An option of `a` that `b` lacks and that counts; NULL when there is none. Axes are compared by
 * their values elsewhere: 1,2,4 is 1..4. */
static const char *lacking(const struct vt_sweep *a, const struct vt_sweep *b)
{
    for (uint32_t i = 2; i < a->n_command; i++) {
        const char *text = a->command[i];
        char name[64];
        size_t length = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, "=") : 0;
        (void)snprintf(name, sizeof name, "%.*s", (int)(length < 64 ? length : 63), text + 2);
        bool named = strncmp(name, "no-", 3) == 0 && !vt_sweep_option_counts(name + 3);
        if (length == 0 ||
            (vt_sweep_option_counts(name) && !named && !is_axis(name) && !stands_in(text, b))) {
            return text;
        }
    }
    return NULL;
}

static bool same_axis(const struct vt_sweep_axis *a, const struct vt_sweep_axis *b)
{
    bool same = a->kind == b->kind && a->n == b->n && strcmp(a->unit, b->unit) == 0;

    for (uint32_t i = 0; same && i < a->n; i++) {
        same = a->kind->is_number ? a->numbers[i] == b->numbers[i]
                                  : strcmp(a->words[i], b->words[i]) == 0;
    }
    return same;
}

static enum vt_status differs(struct vt_error *err, const char *what, const char *there,
                              const char *here)
{
    return vt_error_set(
        err, VT_ERR_USAGE,
        "the sweep that lies there has %s %s, this one %s: take another folder (-o)", what,
        vt_quote(there).text, vt_quote(here).text);
}

static enum vt_status same_axes(const struct vt_sweep *recorded, const struct vt_sweep *wanted,
                                struct vt_error *err)
{
    for (int k = 0; k < VT_SWEEP_AXIS_KINDS; k++) {
        const char *name = vt_sweep_axis_kinds[k].name;
        uint32_t there = vt_sweep_find_axis(recorded, name);
        uint32_t here = vt_sweep_find_axis(wanted, name);
        bool is_there = there < recorded->n_axes, is_here = here < wanted->n_axes;
        /* The order of the axes gives points their places. */
        if (is_there != is_here || (is_there && there != here) ||
            (is_there && !same_axis(&recorded->axes[there], &wanted->axes[here]))) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "the sweep that lies there has other values of --%s: take another "
                                "folder (-o)",
                                name);
        }
    }
    return VT_OK;
}

enum vt_status vt_sweep_same(const struct vt_sweep *recorded, const struct vt_sweep *wanted,
                             struct vt_error *err)
{
    if (strcmp(recorded->command[1], wanted->command[1]) != 0) {
        return differs(err, "the model", recorded->command[1], wanted->command[1]);
    }
    if (strcmp(recorded->model_hash, wanted->model_hash) != 0) {
        return vt_error_set(
            err, VT_ERR_USAGE,
            "%s has changed since the sweep that lies there was begun: take another "
            "folder (-o)",
            vt_plain(wanted->command[1]).text);
    }
    if (strcmp(recorded->machine, wanted->machine) != 0) {
        return differs(err, "the processor", recorded->machine, wanted->machine);
    }
    if (strcmp(recorded->version, wanted->version) != 0) {
        return differs(err, "vatio", recorded->version, wanted->version);
    }
    enum vt_status status = same_axes(recorded, wanted, err);
    if (status != VT_OK) {
        return status;
    }
    if (strcmp(recorded->cap_kind, wanted->cap_kind) != 0) {
        return differs(err, "the caps", recorded->cap_kind, wanted->cap_kind);
    }
    if (recorded->repeats != wanted->repeats) {
        char there[16], here[16];
        (void)snprintf(there, sizeof there, "%u", recorded->repeats);
        (void)snprintf(here, sizeof here, "%u", wanted->repeats);
        return differs(err, "--repeats", there, here);
    }
    const char *more = lacking(recorded, wanted);
    const char *less = lacking(wanted, recorded);
    if (more != NULL || less != NULL) {
        return differs(err, "the options", more != NULL ? more : "", less != NULL ? less : "");
    }
    return VT_OK;
}
