/* SPDX-License-Identifier: Apache-2.0 */
#include "report/command.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "result/text.h"

#define WORD_MAX    4096
#define COMMAND_MAX 65536

static bool is_plain(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("_-./,:=+@%", *at) == NULL) {
            return false;
        }
    }
    return text[0] != '\0';
}

static bool has_control(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            return true;
        }
    }
    return false;
}

/* A word of a shell's command. What does not fit is cut, with its quotes closed. */
static const char *quoted(struct vt_document *document, const char *text)
{
    char word[WORD_MAX];
    size_t n = 0;
    const bool dollar = has_control(text);

    if (is_plain(text)) {
        return text;
    }
    n += (size_t)snprintf(word, sizeof word, dollar ? "$'" : "'");
    for (const char *at = text; *at != '\0' && n + 8 < sizeof word; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < 0x20 || c == 0x7f) {
            n += (size_t)snprintf(word + n, sizeof word - n, "\\x%02x", (unsigned)c);
        } else if (c == '\'') {
            n += (size_t)snprintf(word + n, sizeof word - n, dollar ? "\\'" : "'\\''");
        } else if (c == '\\' && dollar) {
            n += (size_t)snprintf(word + n, sizeof word - n, "\\\\");
        } else {
            word[n++] = *at;
        }
    }
    word[n++] = '\'';
    word[n] = '\0';
    return vt_say(document, "%s", word);
}

const char *vt_option_flag(struct vt_document *document, const char *key)
{
    char name[64];
    size_t n = 0;

    for (const char *at = key; *at != '\0' && n + 1 < sizeof name; at++) {
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_') {
            return NULL;
        }
        name[n++] = *at == '_' ? '-' : *at;
    }
    name[n] = '\0';
    return n > 0 && name[0] != '-' ? vt_say(document, "--%s", name) : NULL;
}

/* A scalar as an argument: text that parses back. NULL for null and for what is none. */
static const char *argument_of(struct vt_document *document, const json_t *value, const char *unit)
{
    char text[64];

    if (json_is_string(value)) {
        return json_string_value(value);
    }
    if (json_is_boolean(value)) {
        return json_is_true(value) ? "yes" : "no";
    }
    if (!json_is_number(value)) {
        return NULL;
    }
    if (json_is_integer(value) && unit != NULL && strcmp(unit, "ns") == 0) {
        vt_format_duration(json_integer_value(value), text, sizeof text);
    } else if (json_is_integer(value) && unit != NULL && strcmp(unit, "bytes") == 0) {
        vt_format_size(json_integer_value(value), text, sizeof text);
    } else if (json_is_integer(value)) {
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    } else {
        vt_format_real(json_real_value(value), text, sizeof text);
    }
    return vt_say(document, "%s", text);
}

const char *vt_option_words(struct vt_document *document, const json_t *entry)
{
    const json_t *value = json_object_get(entry, "value"), *item;
    const char *text = "";
    size_t i;

    if (!json_is_array(value)) {
        const char *word = argument_of(document, value, vt_read_text(entry, "unit"));
        return word != NULL ? word : VT_NO_NUMBER;
    }
    json_array_foreach(value, i, item)
    {
        const char *word = argument_of(document, item, NULL);
        if (strlen(text) > WORD_MAX) {
            return vt_say(document, "%s, \xe2\x80\xa6", text);
        }
        text = vt_say(document, "%s%s%s", text, i > 0 ? ", " : "", word != NULL ? word : "");
    }
    return text[0] != '\0' ? text : VT_NO_NUMBER;
}

struct command {
    char text[COMMAND_MAX];
    size_t n;
};

static void add_word(struct command *command, const char *word)
{
    /* A hostile job's words end somewhere. */
    if (command->n + strlen(word) + 32 < sizeof command->text) {
        command->n += (size_t)snprintf(command->text + command->n,
                                       sizeof command->text - command->n, " %s", word);
    }
}

static void add_option(struct vt_document *document, struct command *command, const char *flag,
                       const json_t *entry)
{
    const json_t *value = json_object_get(entry, "value"), *item;
    size_t i;

    if (json_is_boolean(value)) {
        add_word(command, json_is_true(value) ? flag : vt_say(document, "--no-%s", flag + 2));
        return;
    }
    if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            const char *word = argument_of(document, item, NULL);
            if (word != NULL) {
                add_word(command, flag);
                add_word(command, quoted(document, word));
            }
        }
        return;
    }
    const char *word = argument_of(document, value, vt_read_text(entry, "unit"));
    if (word != NULL) {
        /* A value that begins with a dash would pass for an option. */
        add_word(command,
                 word[0] == '-' ? vt_say(document, "%s=%s", flag, quoted(document, word)) : flag);
        if (word[0] != '-') {
            add_word(command, quoted(document, word));
        }
    }
}

const char *vt_command_line(struct vt_document *document, const char *verb, const char *model,
                            const json_t *job)
{
    static const char *const elsewhere[] = {"output", "json", "model"};
    struct command command = {.n = 0};
    const char *key;
    json_t *entry;

    command.n = (size_t)snprintf(command.text, sizeof command.text, "vatio %s", verb);
    if (model != NULL) {
        add_word(&command, quoted(document, model));
    }
    json_object_foreach((json_t *)(uintptr_t)job, key, entry)
    {
        const char *flag = vt_option_flag(document, key);
        bool skip = flag == NULL || vt_read_flag(entry, "given") != 1;
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
            skip = skip || strcmp(key, elsewhere[i]) == 0;
        }
        if (!skip) {
            add_option(document, &command, flag, entry);
        }
    }
    return vt_say(document, "%s", command.text);
}

const char *vt_command_words(struct vt_document *document, const json_t *words)
{
    struct command command = {.n = 0};
    const json_t *word;
    size_t i;

    command.n = (size_t)snprintf(command.text, sizeof command.text, "vatio");
    json_array_foreach(words, i, word)
    {
        if (json_is_string(word)) {
            add_word(&command, quoted(document, json_string_value(word)));
        }
    }
    return vt_say(document, "%s", command.text);
}
