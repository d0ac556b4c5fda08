/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page (roff) and the completion script (bash). */
#include "base/manual.h"

#include <ctype.h>
#include <string.h>

#include "base/options_text.h"
#include "base/utf8.h"

/* The code point of n bytes that vt_utf8_bytes found. */
static unsigned code_point(const char *text, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned point = bytes[0] & (0xffU >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        point = point << 6 | (bytes[i] & 0x3fU);
    }
    return point;
}

/* Text as roff in ASCII: no escape, no request and no hyphenation where a dash is meant. */
static void print_roff(FILE *out, const char *text, size_t length)
{
    bool line_start = true;
    for (size_t i = 0; i < length;) {
        const char c = text[i];
        const size_t n = vt_utf8_bytes(text + i);
        if (line_start && (c == '.' || c == '\'')) {
            (void)fputs("\\&", out);
        }
        if (c == '\\') {
            (void)fputs("\\e", out);
        } else if (c == '-') {
            (void)fputs("\\-", out);
        } else if (n > 1) {
            (void)fprintf(out, "\\[u%04X]", code_point(text + i, n));
        } else {
            (void)fputc(c, out);
        }
        line_start = c == '\n';
        i += n > 1 ? n : 1;
    }
}

static void print_roff_text(FILE *out, const char *text)
{
    print_roff(out, text, strlen(text));
}

static void print_option_roff(const struct vt_option *option, FILE *out)
{
    char notes[512];
    (void)fputs(".TP\n", out);
    if (option->letter != 0) {
        (void)fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    }
    (void)fprintf(out, "\\fB\\-\\-%s", vt_option_is_default_yes(option) ? "[no\\-]" : "");
    print_roff_text(out, option->name);
    (void)fputs("\\fR", out);
    if (option->type != VT_OPTION_FLAG) {
        (void)fputs(" \\fI", out);
        print_roff_text(out, option->argument != NULL ? option->argument : "VALUE");
        (void)fputs("\\fR", out);
    }
    (void)fputc('\n', out);
    print_roff_text(out, option->help != NULL ? option->help : "");
    print_roff_text(out, vt_option_notes_text(option, notes, sizeof(notes)));
    (void)fputs(".\n", out);
}

void vt_options_print_man(const struct vt_option_table *table, FILE *out)
{
    for (size_t leader = vt_option_category_next(table, 0); leader < table->n_options;
         leader = vt_option_category_next(table, leader + 1)) {
        const char *category = table->options[leader].category;
        (void)fputs(".PP\n\\fI", out);
        print_roff_text(out, category != NULL ? category : "Options");
        (void)fputs("\\fR\n", out);
        for (size_t i = leader; i < table->n_options;
             i = vt_option_member_next(table, leader, i + 1)) {
            print_option_roff(&table->options[i], out);
        }
    }
}

/* Paragraphs that an empty line divides. */
static void print_paragraphs(FILE *out, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        const size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        (void)fputs(".PP\n", out);
        print_roff(out, text, length);
        (void)fputc('\n', out);
        text += length;
        text += strspn(text, "\n");
    }
}

static void print_entries(FILE *out, const char *heading, const struct vt_manual_entry *entries,
                          size_t n)
{
    if (n == 0) {
        return;
    }
    (void)fprintf(out, ".SH %s\n", heading);
    for (size_t i = 0; i < n; i++) {
        (void)fputs(".TP\n\\fB", out);
        print_roff_text(out, entries[i].term);
        (void)fputs("\\fR\n", out);
        print_roff_text(out, entries[i].text);
        (void)fputc('\n', out);
    }
}

static void print_upper(FILE *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        (void)fputc(toupper((unsigned char)*p), out);
    }
}

static void print_verb_line(const struct vt_manual *manual, const struct vt_manual_verb *verb,
                            FILE *out)
{
    (void)fprintf(out, "\\fB%s %s\\fR ", manual->program, verb->name);
    print_roff_text(out, verb->usage != NULL ? verb->usage : "");
    (void)fputc('\n', out);
}

static void print_verb(const struct vt_manual *manual, const struct vt_manual_verb *verb, FILE *out)
{
    (void)fputs(".SS ", out);
    print_verb_line(manual, verb, out);
    (void)fputc(toupper((unsigned char)verb->summary[0]), out);
    print_roff_text(out, verb->summary + (verb->summary[0] != '\0'));
    (void)fputs(".\n", out);
    if (verb->text != NULL) {
        print_paragraphs(out, verb->text);
    }
    if (verb->table != NULL) {
        vt_options_print_man(verb->table, out);
    }
}

void vt_manual_print(const struct vt_manual *manual, FILE *out)
{
    (void)fputs(".TH ", out);
    print_upper(out, manual->program);
    (void)fprintf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n%s \\- ", manual->program,
                  manual->version, manual->program);
    print_roff_text(out, manual->summary);
    (void)fputs("\n.SH SYNOPSIS\n", out);
    for (size_t i = 0; i < manual->n_verbs; i++) {
        if (i > 0) {
            (void)fputs(".br\n", out);
        }
        print_verb_line(manual, &manual->verbs[i], out);
    }
    (void)fputs(".SH DESCRIPTION\n", out);
    print_paragraphs(out, manual->description);
    (void)fputs(".SH VERBS\n", out);
    for (size_t i = 0; i < manual->n_verbs; i++) {
        print_verb(manual, &manual->verbs[i], out);
    }
    print_entries(out, "EXIT STATUS", manual->exit_codes, manual->n_exit_codes);
    print_entries(out, "ENVIRONMENT", manual->environment, manual->n_environment);
}

static void print_option_names(const struct vt_option_table *table, FILE *out)
{
    (void)fputs("--help", out);
    for (size_t i = 0; table != NULL && i < table->n_options; i++) {
        const struct vt_option *option = &table->options[i];
        (void)fprintf(out, " --%s%s", vt_option_is_default_yes(option) ? "no-" : "", option->name);
    }
}

/* What may follow options that take a value: the choices, else a file name. */
static void print_value_cases(const struct vt_manual_verb *verb, FILE *out)
{
    for (size_t i = 0; verb->table != NULL && i < verb->table->n_options; i++) {
        const struct vt_option *option = &verb->table->options[i];
        if (option->type == VT_OPTION_FLAG) {
            continue;
        }
        (void)fprintf(out, "    %s:--%s", verb->name, option->name);
        if (option->letter != 0) {
            (void)fprintf(out, "|%s:-%c", verb->name, option->letter);
        }
        if (option->type == VT_OPTION_CHOICE) {
            (void)fputs(") words='", out);
            for (size_t k = 0; option->choices[k] != NULL; k++) {
                (void)fprintf(out, "%s%s", k > 0 ? " " : "", option->choices[k]);
            }
            (void)fputs("' ;;\n", out);
        } else if (option->type == VT_OPTION_TEXT || option->type == VT_OPTION_LIST) {
            (void)fputs(") files=yes ;;\n", out);
        } else {
            (void)fputs(") ;;\n", out);
        }
    }
}

void vt_manual_print_completion(const struct vt_manual *manual, FILE *out)
{
    const char *program = manual->program;
    (void)fprintf(out,
                  "# bash completion for %s %s\n"
                  "_%s()\n"
                  "{\n"
                  "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "  local verb=${COMP_WORDS[1]} words= files=\n"
                  "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "    words='",
                  program, manual->version, program);
    for (size_t i = 0; i < manual->n_verbs; i++) {
        (void)fprintf(out, "%s ", manual->verbs[i].name);
    }
    (void)fputs("--help --version --build-info'\n"
                "  else case $verb:$before in\n",
                out);
    for (size_t i = 0; i < manual->n_verbs; i++) {
        print_value_cases(&manual->verbs[i], out);
    }
    (void)fputs("    *) case $verb:$word in\n", out);
    for (size_t i = 0; i < manual->n_verbs; i++) {
        (void)fprintf(out, "      %s:-*) words='", manual->verbs[i].name);
        print_option_names(manual->verbs[i].table, out);
        (void)fputs("' ;;\n", out);
    }
    (void)fprintf(out,
                  "      *) files=yes ;;\n"
                  "    esac ;;\n"
                  "  esac fi\n"
                  "  COMPREPLY=()\n"
                  "  if [ -n \"$words\" ]; then\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "  elif [ -n \"$files\" ]; then\n"
                  "    compopt -o filenames 2>/dev/null\n"
                  "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                  "  fi\n"
                  "}\n"
                  "complete -F _%s %s\n",
                  program, program);
}
