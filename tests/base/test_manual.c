/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include <unistd.h>

#include "base/manual.h"
#include "base/version.h"

struct values {
    bool json;
    const char *output;
    int mode;
    int64_t batch;
};

static const char *const modes[] = {"fast", "slow", NULL};

static const struct vt_option rows[] = {
    {.name = "json",
     .type = VT_OPTION_FLAG,
     .offset = offsetof(struct values, json),
     .category = "Output",
     .help = "print C:\\JSON"},
    {.name = "out-dir",
     .letter = 'o',
     .type = VT_OPTION_TEXT,
     .offset = offsetof(struct values, output),
     .category = "Output",
     .argument = "DIR",
     .help = ".hidden folders too"},
    {.name = "mode",
     .type = VT_OPTION_CHOICE,
     .offset = offsetof(struct values, mode),
     .category = "Load",
     .argument = "M",
     .choices = modes,
     .help = "how"},
    {.name = "batch",
     .letter = 'b',
     .type = VT_OPTION_INT,
     .offset = offsetof(struct values, batch),
     .category = "Load",
     .argument = "N",
     .help = "how many"},
};
static const struct vt_option_table table = {rows, 4, sizeof(struct values)};

static const struct vt_manual_verb verbs[] = {
    {"run", "MODEL [options]", "measure a model", "Paragraph one.\n\nParagraph two.", &table},
    {"list", "", "show what there is", NULL, NULL},
};
static const struct vt_manual_entry exit_codes[] = {{"0", "all is well"}, {"2", "usage"}};

static const struct vt_manual manual = {
    .program = "vatio",
    .version = "0.0",
    .summary = "measures",
    .description = "First\xe2\x80\xa6\n\nSecond.",
    .verbs = verbs,
    .n_verbs = 2,
    .exit_codes = exit_codes,
    .n_exit_codes = 2,
};

static char *captured(void (*print)(const struct vt_manual *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(&manual, out);
    fclose(out);
    return text;
}

static void test_manual(void **state)
{
    (void)state;
    char *text = captured(vt_manual_print);
    const char *const expected[] = {
        ".TH VATIO 1 \"\" \"vatio 0.0\" \"User Commands\"\n",
        ".SH NAME\nvatio \\- measures\n",
        "\\fBvatio run\\fR MODEL [options]\n",
        ".TP\n\\fB\\-o\\fR, \\fB\\-\\-out\\-dir\\fR \\fIDIR\\fR\n\\&.hidden folders too.\n",
        "print C:\\eJSON.\n",
        "how (one of fast, slow).\n",
        ".PP\nFirst\\[u2026]\n.PP\nSecond.\n",
        ".SH EXIT STATUS\n.TP\n\\fB0\\fR\nall is well\n",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_non_null(strstr(text, expected[i]));
    }
    assert_null(strstr(text, "ENVIRONMENT"));
    free(text);
}

/* What bash itself makes of the script for a command line whose last word is being typed. */
static void complete(const char *script, const char *words, int index, char *ret, size_t size)
{
    char command[512];
    snprintf(command, sizeof command,
             "bash -c 'source \"%s\"; COMP_WORDS=(%s); COMP_CWORD=%d; _vatio; "
             "echo \"${COMPREPLY[*]}\"'",
             script, words, index);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    ret[0] = '\0';
    if (fgets(ret, (int)size, pipe) != NULL) {
        ret[strcspn(ret, "\n")] = '\0';
    }
    assert_int_equal(pclose(pipe), 0);
}

static void test_completion(void **state)
{
    (void)state;
    char path[] = "/tmp/vatio-completion-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *text = captured(vt_manual_print_completion);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    free(text);

    char verb[256], option[256], choice[256], number[256], all[256];
    complete(path, "vatio r", 1, verb, sizeof verb);
    complete(path, "vatio run --o", 2, option, sizeof option);
    complete(path, "vatio run --mode s", 3, choice, sizeof choice);
    complete(path, "vatio run -b \"\"", 3, number, sizeof number);
    complete(path, "vatio run --", 2, all, sizeof all);
    unlink(path);
    assert_string_equal(verb, "run");
    assert_string_equal(option, "--out-dir");
    assert_string_equal(choice, "slow");
    assert_string_equal(number, "");
    assert_string_equal(all, "--help --json --out-dir --mode --batch");
}

static void test_version(void **state)
{
    (void)state;
    unsigned major = 0, minor = 0, patch = 0;
    assert_int_equal(sscanf(vt_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    assert_true(strlen(vt_version_commit()) >= 7);
    assert_non_null(strstr(vt_build_info(), vt_version()));
    assert_non_null(strstr(vt_build_info(), vt_version_commit()));
    assert_non_null(strstr(vt_build_info(), "libraries  jansson "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
