/* SPDX-License-Identifier: Apache-2.0 */
/* The table as text for people: --help; values as they may be shown. */
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/options_internal.h"
#include "base/options_text.h"

/* Where the explanations begin, and the least room that they get. */
#define HELP_INDENT 28
#define HELP_LEAST  20

/* Columns a text takes on a terminal: bytes that begin a character. */
static int text_columns(const char *text, size_t length)
{
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* Writes `text` with line breaks at spaces; the cursor stands at column `indent`. */
static void print_wrapped(FILE *out, const char *text, int indent, int columns)
{
    int column = indent;
    const char *word = text + strspn(text, " ");
    while (*word != '\0') {
        const size_t length = strcspn(word, " ");
        const int width = text_columns(word, length);
        if (column > indent && column + 1 + width > columns) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fwrite(word, 1, length, out);
        column += width;
        word += length;
        word += strspn(word, " ");
    }
    (void)fputc('\n', out);
}

char *vt_option_notes_text(const struct vt_option *option, char *text, size_t size)
{
    char range[96];
    size_t used = 0;
    text[0] = '\0';
    const char *separator = " (";
    if (option->type == VT_OPTION_CHOICE) {
        for (size_t i = 0; option->choices[i] != NULL && used < size; i++) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? " (one of " : ", ",
                                     option->choices[i]);
        }
        separator = "; ";
    }
    if (used < size && vt_option_range_text(option, range, sizeof(range))[0] != '\0') {
        used += (size_t)snprintf(text + used, size - used, "%s%s", separator, range);
        separator = "; ";
    }
    if (used < size && option->type == VT_OPTION_LIST) {
        used += (size_t)snprintf(text + used, size - used, "%smay be repeated", separator);
        separator = "; ";
    }
    if (used < size && option->default_text != NULL && option->default_text[0] != '\0') {
        used += (size_t)snprintf(text + used, size - used, "%sdefault %s", separator,
                                 option->default_text);
        separator = "; ";
    }
    if (used < size && separator[0] == ';') {
        (void)snprintf(text + used, size - used, ")");
    }
    return text;
}

bool vt_option_is_default_yes(const struct vt_option *option)
{
    static const char *const yes[] = {"yes", "true", "1", "on"};
    for (size_t i = 0; option->default_text != NULL && i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (strcmp(option->default_text, yes[i]) == 0) {
            return option->type == VT_OPTION_FLAG;
        }
    }
    return false;
}

static void print_option(const struct vt_option *option, FILE *out, int columns)
{
    char head[128];
    char letter[8] = "    ";
    if (option->letter != 0) {
        (void)snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    }
    const bool takes_value = option->type != VT_OPTION_FLAG;
    (void)snprintf(head, sizeof(head), "  %s--%s%s%s%s", letter,
                   vt_option_is_default_yes(option) ? "[no-]" : "", option->name,
                   takes_value ? " " : "",
                   !takes_value               ? ""
                   : option->argument != NULL ? option->argument
                                              : "VALUE");
    const int width = text_columns(head, strlen(head));
    if (width + 2 > HELP_INDENT) {
        (void)fprintf(out, "%s\n%*s", head, HELP_INDENT, "");
    } else {
        (void)fprintf(out, "%s%*s", head, HELP_INDENT - width, "");
    }
    char text[1024];
    char notes[512];
    (void)snprintf(text, sizeof(text), "%s%s", option->help != NULL ? option->help : "",
                   vt_option_notes_text(option, notes, sizeof(notes)));
    print_wrapped(out, text, HELP_INDENT, columns);
}

static bool same_category(const struct vt_option *a, const struct vt_option *b)
{
    if (a->category == NULL || b->category == NULL) {
        return a->category == b->category;
    }
    return strcmp(a->category, b->category) == 0;
}

size_t vt_option_category_next(const struct vt_option_table *table, size_t from)
{
    for (size_t i = from; i < table->n_options; i++) {
        bool first = true;
        for (size_t before = 0; before < i && first; before++) {
            first = !same_category(&table->options[before], &table->options[i]);
        }
        if (first) {
            return i;
        }
    }
    return table->n_options;
}

size_t vt_option_member_next(const struct vt_option_table *table, size_t leader, size_t from)
{
    size_t i = from;
    while (i < table->n_options && !same_category(&table->options[leader], &table->options[i])) {
        i++;
    }
    return i;
}

void vt_options_print_help(const struct vt_option_table *table, FILE *out, int columns)
{
    const int width = columns < HELP_INDENT + HELP_LEAST ? HELP_INDENT + HELP_LEAST : columns;
    for (size_t leader = vt_option_category_next(table, 0); leader < table->n_options;
         leader = vt_option_category_next(table, leader + 1)) {
        const char *category = table->options[leader].category;
        (void)fprintf(out, "%s%s:\n", leader > 0 ? "\n" : "",
                      category != NULL ? category : "Options");
        for (size_t i = leader; i < table->n_options;
             i = vt_option_member_next(table, leader, i + 1)) {
            print_option(&table->options[i], out, width);
        }
    }
}

/* --- secrets -----------------------------------------------------------------------------------
 */

static bool speaks_of_a_secret(const char *key, size_t length)
{
    static const char *const words[] = {"header", "token",  "key",       "passw",
                                        "secret", "creden", "authoriza", "cookie"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        size_t n = strlen(words[w]);
        for (size_t i = 0; i + n <= length; i++) {
            if (strncasecmp(key + i, words[w], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The length of the key when `text` begins with KEY=, else 0. */
static size_t key_at(const char *text)
{
    size_t n = strcspn(text, "=:,/ ");
    return text[n] == '=' ? n : 0;
}

/* Where the value ends whose settings are behind commas: before the next KEY=. */
static size_t value_length(const char *value)
{
    for (const char *at = strchr(value, ','); at != NULL; at = strchr(at + 1, ',')) {
        if (key_at(at + 1) > 0) {
            return (size_t)(at - value);
        }
    }
    return strlen(value);
}

char *vt_option_shown(const struct vt_option *option, const char *text)
{
    bool whole = option->argument != NULL && strncmp(option->argument, "KEY", 3) == 0;
    /* Every secret of at least "k=" may grow by what stands in its place. */
    size_t size = strlen(text) * (sizeof VT_HIDDEN + 1) + 1, used = 0;
    char *shown = option->holds_settings ? vt_alloc(size) : vt_strdup(text);
    bool begins = true; /* a key may stand here */

    if (shown == NULL || !option->holds_settings) {
        return shown;
    }
    while (*text != '\0') {
        size_t key = begins ? key_at(text) : 0;
        begins = !whole && (*text == ':' || *text == ',');
        if (key == 0 || !speaks_of_a_secret(text, key)) {
            shown[used++] = *text++;
            continue;
        }
        memcpy(shown + used, text, key + 1);
        used += key + 1;
        text += key + 1;
        memcpy(shown + used, VT_HIDDEN, sizeof VT_HIDDEN - 1);
        used += sizeof VT_HIDDEN - 1;
        text += whole ? strlen(text) : value_length(text);
    }
    shown[used] = '\0';
    return shown;
}
