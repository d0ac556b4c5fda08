/* SPDX-License-Identifier: Apache-2.0 */
/* The options table: defaults, storing values by type, ranges, values back to text. */
#include "base/options.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options_internal.h"

/* Beyond this a double no longer tells neighbouring 64-bit integers apart. */
#define WHOLE_MAX 9.2e18

static void *value_of(const struct vt_options *options, const struct vt_option *option)
{
    return (char *)options->values + option->offset;
}

static size_t type_size(enum vt_option_type type)
{
    switch (type) {
    case VT_OPTION_FLAG:
        return sizeof(bool);
    case VT_OPTION_INT:
    case VT_OPTION_DURATION:
    case VT_OPTION_SIZE:
        return sizeof(int64_t);
    case VT_OPTION_REAL:
        return sizeof(double);
    case VT_OPTION_TEXT:
        return sizeof(const char *);
    case VT_OPTION_CHOICE:
        return sizeof(int);
    case VT_OPTION_LIST:
        return sizeof(struct vt_text_list);
    }
    return 0;
}

/* A table is written by a programmer: this finds the slips that would corrupt memory or hide an
 * option. */
static enum vt_status check_table(const struct vt_option_table *table, struct vt_error *err)
{
    for (size_t i = 0; i < table->n_options; i++) {
        const struct vt_option *option = &table->options[i];
        const size_t size = type_size(option->type);
        if (option->name == NULL || size == 0 || size > table->values_size ||
            option->offset > table->values_size - size) {
            return vt_error_set(err, VT_ERR_USAGE, "options table: entry %zu is malformed", i);
        }
        if (option->type == VT_OPTION_CHOICE &&
            (option->choices == NULL || option->choices[0] == NULL)) {
            return vt_error_set(err, VT_ERR_USAGE, "options table: --%s has no choices",
                                option->name);
        }
        if (vt_option_find(table, option->name, strlen(option->name)) != option ||
            (option->letter != 0 && vt_option_find_letter(table, option->letter) != option)) {
            return vt_error_set(err, VT_ERR_USAGE, "options table: --%s stands twice",
                                option->name);
        }
    }
    return VT_OK;
}

enum vt_status vt_options_init(struct vt_options *options, const struct vt_option_table *table,
                               void *values, struct vt_error *err)
{
    *options = (struct vt_options){.table = table, .values = values};
    memset(values, 0, table->values_size);
    enum vt_status status = check_table(table, err);
    if (status != VT_OK) {
        *options = (struct vt_options){0};
        return status;
    }
    options->given = vt_calloc(table->n_options + 1, sizeof(options->given[0]));
    if (options->given == NULL) {
        *options = (struct vt_options){0};
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the options");
    }
    for (size_t i = 0; i < table->n_options && status == VT_OK; i++) {
        const struct vt_option *option = &table->options[i];
        if (option->default_text != NULL) {
            status =
                vt_option_assign(options, option, option->default_text, VT_ORIGIN_DEFAULT, err);
        }
    }
    if (status != VT_OK) {
        vt_options_release(options);
    }
    return status;
}

void vt_options_release(struct vt_options *options)
{
    if (options->table != NULL) {
        for (size_t i = 0; i < options->table->n_options; i++) {
            const struct vt_option *option = &options->table->options[i];
            if (option->type == VT_OPTION_LIST) {
                struct vt_text_list *list = value_of(options, option);
                vt_free(list->items);
                *list = (struct vt_text_list){0};
            }
        }
    }
    for (size_t i = 0; i < options->n_owned; i++) {
        vt_free(options->owned[i]);
    }
    vt_free(options->owned);
    vt_free(options->positional);
    vt_free(options->given);
    *options = (struct vt_options){0};
}

bool vt_option_is_bounded(const struct vt_option *option)
{
    return option->minimum <= option->maximum && (option->minimum != 0 || option->maximum != 0);
}

static void bound_text(const struct vt_option *option, double bound, char *text, size_t size)
{
    switch (option->type) {
    case VT_OPTION_DURATION:
        vt_format_duration((int64_t)bound, text, size);
        break;
    case VT_OPTION_SIZE:
        vt_format_size((int64_t)bound, text, size);
        break;
    case VT_OPTION_INT:
        snprintf(text, size, "%.0f", bound);
        break;
    default:
        vt_format_real(bound, text, size);
        break;
    }
}

char *vt_option_range_text(const struct vt_option *option, char *text, size_t size)
{
    char low[40] = "";
    char high[40] = "";
    const double limit = option->type == VT_OPTION_REAL ? HUGE_VAL : WHOLE_MAX;
    const bool has_low = option->minimum > -limit;
    const bool has_high = option->maximum < limit;
    if (has_low) {
        bound_text(option, option->minimum, low, sizeof(low));
    }
    if (has_high) {
        bound_text(option, option->maximum, high, sizeof(high));
    }
    if (!vt_option_is_bounded(option) || (!has_low && !has_high)) {
        snprintf(text, size, "%s", "");
    } else if (has_low && has_high) {
        snprintf(text, size, "%s..%s", low, high);
    } else if (has_low) {
        snprintf(text, size, "%s or more", low);
    } else {
        snprintf(text, size, "%s or less", high);
    }
    return text;
}

static enum vt_status check_range(const struct vt_option *option, double value, const char *text,
                                  struct vt_error *err)
{
    if (!vt_option_is_bounded(option) || (value >= option->minimum && value <= option->maximum)) {
        return VT_OK;
    }
    char range[96];
    vt_option_range_text(option, range, sizeof(range));
    return vt_error_set(err, VT_ERR_USAGE, "%s: allowed %s", vt_plain(text).text, range);
}

/* "a, b, c" of a NULL-terminated list, cut at size - 1. */
static char *join_choices(const char *const *choices, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i] != NULL && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
    return text;
}

static enum vt_status parse_choice(const struct vt_option *option, const char *text, int *ret,
                                   struct vt_error *err)
{
    size_t n = 0;
    for (; option->choices[n] != NULL; n++) {
        if (strcmp(option->choices[n], text) == 0) {
            *ret = (int)n;
            return VT_OK;
        }
    }
    const char *nearest = vt_nearest_name(text, option->choices, n);
    char all[256];
    join_choices(option->choices, all, sizeof(all));
    if (nearest != NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "unknown value '%s'; did you mean %s? (one of %s)",
                            vt_plain(text).text, nearest, all);
    }
    return vt_error_set(err, VT_ERR_USAGE, "unknown value '%s': one of %s", vt_plain(text).text,
                        all);
}

/* Keeps a copy of a text of a job file until vt_options_release; NULL when out of memory. */
static const char *own_text(struct vt_options *options, const char *text)
{
    const size_t bytes = options->n_owned * sizeof(options->owned[0]);
    char **grown = vt_regrow(options->owned, bytes, bytes + sizeof(options->owned[0]));
    if (grown == NULL) {
        return NULL;
    }
    options->owned = grown;
    char *copy = vt_strdup(text);
    if (copy != NULL) {
        options->owned[options->n_owned++] = copy;
    }
    return copy;
}

/* The first value that the user gives replaces those of the default. */
static enum vt_status append_text(struct vt_options *options, const struct vt_option *option,
                                  const char *text, struct vt_error *err)
{
    struct vt_text_list *list = value_of(options, option);
    const size_t kept = options->given[option - options->table->options] ? list->count : 0;
    const char **items =
        vt_regrow(list->items, list->count * sizeof(items[0]), (kept + 1) * sizeof(items[0]));
    if (items == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    items[kept] = text;
    list->items = items;
    list->count = kept + 1;
    return VT_OK;
}

static enum vt_status assign_text(struct vt_options *options, const struct vt_option *option,
                                  const char *text, enum vt_option_origin origin,
                                  struct vt_error *err)
{
    const char *kept = origin == VT_ORIGIN_KEY ? own_text(options, text) : text;
    if (kept == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (option->type == VT_OPTION_LIST) {
        return append_text(options, option, kept, err);
    }
    *(const char **)value_of(options, option) = kept;
    return VT_OK;
}

static enum vt_status parse_whole(enum vt_option_type type, const char *text, int64_t *ret,
                                  struct vt_error *err)
{
    switch (type) {
    case VT_OPTION_DURATION:
        return vt_parse_duration(text, ret, err);
    case VT_OPTION_SIZE:
        return vt_parse_size(text, ret, err);
    default:
        return vt_parse_int(text, ret, err);
    }
}

static enum vt_status assign_number(struct vt_options *options, const struct vt_option *option,
                                    const char *text, struct vt_error *err)
{
    int64_t whole = 0;
    double real = 0;
    const bool is_real = option->type == VT_OPTION_REAL;
    for (size_t i = 0; is_real && option->choices != NULL && option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(double *)value_of(options, option) = 0;
            return VT_OK;
        }
    }
    enum vt_status status =
        is_real ? vt_parse_real(text, &real, err) : parse_whole(option->type, text, &whole, err);
    if (status != VT_OK && is_real && option->choices != NULL && err != NULL) {
        const size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ", nor '%s'", option->choices[0]);
    }
    if (status == VT_OK) {
        status = check_range(option, is_real ? real : (double)whole, text, err);
    }
    if (status == VT_OK && is_real) {
        *(double *)value_of(options, option) = real;
    } else if (status == VT_OK) {
        *(int64_t *)value_of(options, option) = whole;
    }
    return status;
}

static enum vt_status assign(struct vt_options *options, const struct vt_option *option,
                             const char *text, enum vt_option_origin origin, struct vt_error *err)
{
    switch (option->type) {
    case VT_OPTION_FLAG:
        return vt_parse_flag(text, value_of(options, option), err);
    case VT_OPTION_CHOICE:
        return parse_choice(option, text, value_of(options, option), err);
    case VT_OPTION_TEXT:
    case VT_OPTION_LIST:
        return assign_text(options, option, text, origin, err);
    default:
        return assign_number(options, option, text, err);
    }
}

static void mark_given(struct vt_options *options, const struct vt_option *option,
                       enum vt_option_origin origin)
{
    if (origin != VT_ORIGIN_DEFAULT) {
        options->given[option - options->table->options] = true;
    }
}

void vt_option_assign_flag(struct vt_options *options, const struct vt_option *option, bool value,
                           enum vt_option_origin origin)
{
    *(bool *)value_of(options, option) = value;
    mark_given(options, option, origin);
}

enum vt_status vt_option_assign(struct vt_options *options, const struct vt_option *option,
                                const char *text, enum vt_option_origin origin,
                                struct vt_error *err)
{
    struct vt_error why = VT_ERROR_INIT;
    const enum vt_status status = assign(options, option, text, origin, &why);
    if (status == VT_OK) {
        mark_given(options, option, origin);
        return VT_OK;
    }
    /* "--batch 0: allowed 1..65536" */
    static const char *const before[] = {"--", "default of --", ""};
    return vt_error_set(err, status, "%s%s %s", before[origin], option->name, why.text);
}

enum vt_status vt_options_set(struct vt_options *options, const char *name, const char *value,
                              struct vt_error *err)
{
    const struct vt_option *option = vt_option_find(options->table, name, strlen(name));
    if (option != NULL) {
        return vt_option_assign(options, option, value, VT_ORIGIN_KEY, err);
    }
    const char *nearest = vt_option_nearest(options->table, name);
    if (nearest != NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "unknown option %s; did you mean %s?",
                            vt_plain(name).text, nearest);
    }
    return vt_error_set(err, VT_ERR_USAGE, "unknown option %s", vt_plain(name).text);
}

bool vt_options_given(const struct vt_options *options, const char *name)
{
    const struct vt_option *option = vt_option_find(options->table, name, strlen(name));
    return option != NULL && options->given[option - options->table->options];
}

static void list_text(const struct vt_text_list *list, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->count && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", list->items[i]);
    }
}

char *vt_option_value_text(const struct vt_options *options, size_t index, char *text, size_t size)
{
    if (size == 0) {
        return text;
    }
    const struct vt_option *option = &options->table->options[index];
    const void *value = value_of(options, option);
    switch (option->type) {
    case VT_OPTION_FLAG:
        snprintf(text, size, "%s", *(const bool *)value ? "yes" : "no");
        break;
    case VT_OPTION_INT:
        snprintf(text, size, "%lld", (long long)*(const int64_t *)value);
        break;
    case VT_OPTION_REAL:
        if (option->choices != NULL && *(const double *)value == 0) {
            snprintf(text, size, "%s", option->choices[0]);
        } else {
            vt_format_real(*(const double *)value, text, size);
        }
        break;
    case VT_OPTION_DURATION:
        vt_format_duration(*(const int64_t *)value, text, size);
        break;
    case VT_OPTION_SIZE:
        vt_format_size(*(const int64_t *)value, text, size);
        break;
    case VT_OPTION_TEXT: {
        const char *kept = *(const char *const *)value;
        snprintf(text, size, "%s", kept != NULL ? kept : "");
        break;
    }
    case VT_OPTION_CHOICE:
        snprintf(text, size, "%s", option->choices[*(const int *)value]);
        break;
    case VT_OPTION_LIST:
        list_text(value, text, size);
        break;
    }
    return text;
}
