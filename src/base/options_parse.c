/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include <string.h>

#include "base/alloc.h"
#include "base/options_internal.h"

/* The arguments and how far they are read. */
struct arguments {
    const char *const *argv;
    int argc;
    int next;
};

/* The option that "no-NAME" switches off; NULL when it is none. */
static const struct vt_option *find_negated(const struct vt_option_table *table, const char *name,
                                            size_t length)
{
    if (length <= 3 || strncmp(name, "no-", 3) != 0) {
        return NULL;
    }
    const struct vt_option *option = vt_option_find(table, name + 3, length - 3);
    return option != NULL && option->type == VT_OPTION_FLAG ? option : NULL;
}

static enum vt_status unknown_option(const struct vt_option_table *table, const char *name,
                                     size_t length, struct vt_error *err)
{
    char plain[64];
    snprintf(plain, sizeof(plain), "%.*s", (int)(length < sizeof(plain) ? length : sizeof(plain)),
             name);
    const char *nearest = vt_option_nearest(table, plain);
    const char *negation = "";
    if (nearest == NULL && strncmp(plain, "no-", 3) == 0) {
        nearest = vt_option_nearest(table, plain + 3);
        const struct vt_option *flag =
            nearest != NULL ? vt_option_find(table, nearest, strlen(nearest)) : NULL;
        negation = flag != NULL && flag->type == VT_OPTION_FLAG ? "no-" : "";
    }
    if (nearest != NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "unknown option --%s; did you mean --%s%s?",
                            vt_plain(plain).text, negation, nearest);
    }
    return vt_error_set(err, VT_ERR_USAGE, "unknown option --%s; --help lists them all",
                        vt_plain(plain).text);
}

/* Whether `text` reads like an option of the table, so that it is hardly meant as a value. */
static bool looks_like_option(const struct vt_option_table *table, const char *text)
{
    if (strncmp(text, "--", 2) != 0) {
        return text[0] == '-' && text[1] != '\0' && text[2] == '\0' &&
               vt_option_find_letter(table, text[1]) != NULL;
    }
    const size_t length = strcspn(text + 2, "=");
    return length == 0 || vt_option_find(table, text + 2, length) != NULL ||
           find_negated(table, text + 2, length) != NULL;
}

/* Takes the next argument as the value of `option`. */
static enum vt_status take_value(struct vt_options *options, const struct vt_option *option,
                                 struct arguments *arguments, struct vt_error *err)
{
    const char *noun = option->argument != NULL ? option->argument : "VALUE";
    if (arguments->next >= arguments->argc) {
        return vt_error_set(err, VT_ERR_USAGE, "--%s: missing value (--%s %s)", option->name,
                            option->name, noun);
    }
    const char *value = arguments->argv[arguments->next];
    if (looks_like_option(options->table, value)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--%s: missing value, '%s' follows (write --%s=%s if you mean that)",
                            option->name, vt_plain(value).text, option->name, vt_plain(value).text);
    }
    arguments->next++;
    return vt_option_assign(options, option, value, VT_ORIGIN_ARGUMENT, err);
}

/* --name, --name VALUE, --name=VALUE, --no-name; `text` is behind the dashes. */
static enum vt_status parse_long(struct vt_options *options, const char *text,
                                 struct arguments *arguments, struct vt_error *err)
{
    const size_t length = strcspn(text, "=");
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    const struct vt_option *option = vt_option_find(options->table, text, length);
    if (option == NULL) {
        option = find_negated(options->table, text, length);
        if (option == NULL) {
            return unknown_option(options->table, text, length, err);
        }
        if (value != NULL) {
            return vt_error_set(err, VT_ERR_USAGE, "--no-%s takes no value", option->name);
        }
        vt_option_assign_flag(options, option, false, VT_ORIGIN_ARGUMENT);
        return VT_OK;
    }
    if (value != NULL) {
        return vt_option_assign(options, option, value, VT_ORIGIN_ARGUMENT, err);
    }
    if (option->type == VT_OPTION_FLAG) {
        vt_option_assign_flag(options, option, true, VT_ORIGIN_ARGUMENT);
        return VT_OK;
    }
    return take_value(options, option, arguments, err);
}

/* -f, -fg (flags), -oVALUE, -o VALUE; `text` is behind the dash. */
static enum vt_status parse_letters(struct vt_options *options, const char *text,
                                    struct arguments *arguments, struct vt_error *err)
{
    for (const char *letter = text; *letter != '\0'; letter++) {
        const struct vt_option *option = vt_option_find_letter(options->table, *letter);
        if (option == NULL) {
            return vt_error_set(err, VT_ERR_USAGE, "unknown option -%s; --help lists them all",
                                vt_plain(letter).text);
        }
        if (option->type != VT_OPTION_FLAG) {
            return letter[1] != '\0'
                       ? vt_option_assign(options, option, letter + 1, VT_ORIGIN_ARGUMENT, err)
                       : take_value(options, option, arguments, err);
        }
        vt_option_assign_flag(options, option, true, VT_ORIGIN_ARGUMENT);
    }
    return VT_OK;
}

static enum vt_status add_positional(struct vt_options *options, const char *text,
                                     struct vt_error *err)
{
    const size_t bytes = options->n_positional * sizeof(options->positional[0]);
    const char **grown =
        vt_regrow(options->positional, bytes, bytes + sizeof(options->positional[0]));
    if (grown == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the arguments");
    }
    grown[options->n_positional++] = text;
    options->positional = grown;
    return VT_OK;
}

enum vt_status vt_options_parse(struct vt_options *options, int argc, const char *const *argv,
                                struct vt_error *err)
{
    struct arguments arguments = {.argv = argv, .argc = argc, .next = 1};
    bool only_positional = false;
    enum vt_status status = VT_OK;
    while (status == VT_OK && arguments.next < argc) {
        const char *text = argv[arguments.next++];
        if (only_positional || text[0] != '-' || text[1] == '\0') {
            status = add_positional(options, text, err);
        } else if (text[1] != '-') {
            status = parse_letters(options, text + 1, &arguments, err);
        } else if (text[2] != '\0') {
            status = parse_long(options, text + 2, &arguments, err);
        } else {
            only_positional = true;
        }
    }
    return status;
}
