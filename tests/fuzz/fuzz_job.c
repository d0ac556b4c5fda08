/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files and command lines from any bytes. Whatever is accepted must be in range and must read
 * back from its own text as the same value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
    bool flag;
    int64_t whole;
    double real;
    int64_t duration_ns;
    int64_t bytes;
    const char *text;
    int choice;
    struct vt_text_list list;
};

static const char *const choices[] = {"offline", "server", NULL};

static const struct vt_option rows[] = {
    {.name = "flag",
     .letter = 'f',
     .type = VT_OPTION_FLAG,
     .offset = offsetof(struct values, flag)},
    {.name = "whole",
     .letter = 'w',
     .type = VT_OPTION_INT,
     .offset = offsetof(struct values, whole),
     .minimum = -10,
     .maximum = 65536},
    {.name = "real", .type = VT_OPTION_REAL, .offset = offsetof(struct values, real)},
    {.name = "duration",
     .letter = 'd',
     .type = VT_OPTION_DURATION,
     .offset = offsetof(struct values, duration_ns)},
    {.name = "bytes", .type = VT_OPTION_SIZE, .offset = offsetof(struct values, bytes)},
    {.name = "text",
     .letter = 't',
     .type = VT_OPTION_TEXT,
     .offset = offsetof(struct values, text)},
    {.name = "choice",
     .type = VT_OPTION_CHOICE,
     .offset = offsetof(struct values, choice),
     .choices = choices},
    {.name = "list",
     .letter = 'l',
     .type = VT_OPTION_LIST,
     .offset = offsetof(struct values, list)},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
static const struct vt_option_table table = {rows, N_ROWS, sizeof(struct values)};

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* The texts of all values, set again on fresh options, give the same texts. */
static void check_round_trip(const struct vt_options *options, const struct values *values)
{
    struct values again_values;
    struct vt_options again;
    require(vt_options_init(&again, &table, &again_values, NULL) == VT_OK);
    require(values->whole >= -10 && values->whole <= 65536);
    require(values->choice == 0 || values->choice == 1);
    for (size_t i = 0; i < N_ROWS; i++) {
        static char text[8192];
        static char text_again[8192];
        vt_option_value_text(options, i, text, sizeof text);
        if (rows[i].type == VT_OPTION_LIST) {
            continue;
        }
        require(vt_options_set(&again, rows[i].name, text, NULL) == VT_OK);
        vt_option_value_text(&again, i, text_again, sizeof text_again);
        require(strcmp(text, text_again) == 0);
    }
    require(again_values.duration_ns == values->duration_ns);
    require(again_values.bytes == values->bytes);
    require(again_values.whole == values->whole);
    require(again_values.real == values->real);
    vt_options_release(&again);
}

static void require_one_line(enum vt_status status, const struct vt_error *err)
{
    require(status == err->status);
    require(status == VT_OK || (err->text[0] != '\0' && strchr(err->text, '\n') == NULL));
}

static void try_job(const char *text, size_t size, const char *section)
{
    struct values values;
    struct vt_options options;
    struct vt_error err = VT_ERROR_INIT;
    require(vt_options_init(&options, &table, &values, NULL) == VT_OK);
    require_one_line(vt_options_parse_job_text(&options, "job", text, size, section, &err), &err);
    check_round_trip(&options, &values);
    vt_options_release(&options);
}

/* Every line is one argument. */
static void try_arguments(const char *text, size_t size)
{
    const char *argv[64] = {"vatio"};
    int argc = 1;
    char *copy = malloc(size + 1);
    require(copy != NULL);
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *rest = copy;
    for (char *word = strsep(&rest, "\n"); word != NULL && argc < 64; word = strsep(&rest, "\n")) {
        argv[argc++] = word;
    }
    struct values values;
    struct vt_options options;
    struct vt_error err = VT_ERROR_INIT;
    require(vt_options_init(&options, &table, &values, NULL) == VT_OK);
    require_one_line(vt_options_parse(&options, argc, argv, &err), &err);
    check_round_trip(&options, &values);
    vt_options_release(&options);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    try_job(text, size, NULL);
    try_job(text, size, "s");
    try_arguments(text, size);
    return 0;
}
