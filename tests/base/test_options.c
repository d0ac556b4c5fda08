/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"
#include "vt_torture.h"

#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/options.h"

struct values {
    bool json;
    bool check;
    int64_t batch;
    double target_qps;
    int64_t duration_ns;
    int64_t memory_bytes;
    const char *output;
    int scenario;
    struct vt_text_list inputs;
    int64_t any;
};

enum { JSON, CHECK, BATCH, TARGET_QPS, DURATION, MEMORY, OUTPUT, SCENARIO, INPUT, ANY, N_OPTIONS };

static const char *const scenarios[] = {"offline", "server", "singlestream", "multistream", NULL};

static const struct vt_option rows[N_OPTIONS] = {
    {.name = "json",
     .letter = 'j',
     .type = VT_OPTION_FLAG,
     .offset = offsetof(struct values, json),
     .category = "Output",
     .help = "print the result as JSON"},
    {.name = "check",
     .type = VT_OPTION_FLAG,
     .offset = offsetof(struct values, check),
     .category = "Output",
     .default_text = "yes",
     .help = "check the outputs"},
    {.name = "batch",
     .letter = 'b',
     .type = VT_OPTION_INT,
     .offset = offsetof(struct values, batch),
     .category = "Load",
     .argument = "N",
     .minimum = 1,
     .maximum = 65536,
     .default_text = "1",
     .help = "samples in a request at most"},
    {.name = "target-qps",
     .type = VT_OPTION_REAL,
     .offset = offsetof(struct values, target_qps),
     .category = "Load",
     .argument = "Q",
     .minimum = 0.001,
     .maximum = HUGE_VAL,
     .default_text = "1000",
     .help = "queries a second"},
    {.name = "duration",
     .type = VT_OPTION_DURATION,
     .offset = offsetof(struct values, duration_ns),
     .category = "Load",
     .argument = "T",
     .minimum = 1e6,
     .maximum = 86400e9,
     .default_text = "3s",
     .help = "how long"},
    {.name = "memory",
     .type = VT_OPTION_SIZE,
     .offset = offsetof(struct values, memory_bytes),
     .category = "Load",
     .argument = "SIZE",
     .help = "memory for samples"},
    {.name = "output",
     .letter = 'o',
     .type = VT_OPTION_TEXT,
     .offset = offsetof(struct values, output),
     .category = "Output",
     .argument = "DIR",
     .help = "where the results go"},
    {.name = "scenario",
     .type = VT_OPTION_CHOICE,
     .offset = offsetof(struct values, scenario),
     .category = "Load",
     .argument = "S",
     .choices = scenarios,
     .default_text = "server",
     .help = "the scenario"},
    {.name = "input",
     .type = VT_OPTION_LIST,
     .offset = offsetof(struct values, inputs),
     .category = "Load",
     .argument = "NAME=FILE",
     .default_text = "zero",
     .help = "an input"},
    {.name = "any",
     .type = VT_OPTION_INT,
     .offset = offsetof(struct values, any),
     .category = "Load",
     .argument = "N",
     .help = "any whole number"},
};

static const struct vt_option_table table = {rows, N_OPTIONS, sizeof(struct values)};

struct fixture {
    struct values values;
    struct vt_options options;
    struct vt_error err;
};

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(vt_options_init(&f->options, &table, &f->values, &f->err), VT_OK);
}

/* Parses up to eight arguments behind a program name. */
static enum vt_status parse(struct fixture *f, const char *const *arguments)
{
    const char *argv[10] = {"vatio"};
    int argc = 1;
    while (arguments[argc - 1] != NULL) {
        argv[argc] = arguments[argc - 1];
        argc++;
    }
    f->err = (struct vt_error)VT_ERROR_INIT;
    return vt_options_parse(&f->options, argc, argv, &f->err);
}
#define PARSE(f, ...) parse((f), (const char *const[]){__VA_ARGS__, NULL})

static enum vt_status job(struct fixture *f, const char *text, const char *section)
{
    f->err = (struct vt_error)VT_ERROR_INIT;
    return vt_options_parse_job_text(&f->options, "x.ini", text, strlen(text), section, &f->err);
}

static void test_defaults(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_false(f.values.json);
    assert_true(f.values.check);
    assert_int_equal(f.values.batch, 1);
    assert_true(f.values.target_qps == 1000.0);
    assert_int_equal(f.values.duration_ns, INT64_C(3000000000));
    assert_int_equal(f.values.memory_bytes, 0);
    assert_null(f.values.output);
    assert_int_equal(f.values.scenario, 1);
    assert_int_equal(f.values.inputs.count, 1);
    assert_string_equal(f.values.inputs.items[0], "zero");
    assert_false(vt_options_given(&f.options, "batch"));
    vt_options_release(&f.options);
    vt_options_release(&f.options); /* a released one is fine */
}

static void test_every_spelling(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(PARSE(&f, "model", "--batch", "8", "--duration=250ms", "-oout", "--no-check",
                           "-j", "--scenario=offline"),
                     VT_OK);
    assert_int_equal(f.values.batch, 8);
    assert_int_equal(f.values.duration_ns, 250000000);
    assert_string_equal(f.values.output, "out");
    assert_false(f.values.check);
    assert_true(f.values.json);
    assert_int_equal(f.values.scenario, 0);
    assert_int_equal(f.options.n_positional, 1);
    assert_string_equal(f.options.positional[0], "model");
    assert_true(vt_options_given(&f.options, "no-check") == false);
    assert_true(vt_options_given(&f.options, "check"));
    assert_false(vt_options_given(&f.options, "memory"));

    assert_int_equal(PARSE(&f, "-o", "-", "-jb16", "-", "--json=no", "--", "--batch", "-j"), VT_OK);
    assert_string_equal(f.values.output, "-");
    assert_int_equal(f.values.batch, 16);
    assert_false(f.values.json);
    assert_int_equal(f.options.n_positional, 4);
    assert_string_equal(f.options.positional[1], "-");
    assert_string_equal(f.options.positional[2], "--batch");
    assert_string_equal(f.options.positional[3], "-j");

    assert_int_equal(PARSE(&f, "--any", "-5", "--target_qps=2.5e3", "--output="), VT_OK);
    assert_int_equal(f.values.any, -5);
    assert_true(f.values.target_qps == 2500.0);
    assert_string_equal(f.values.output, "");
    vt_options_release(&f.options);
}

static void test_list(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(PARSE(&f, "--input", "a=1", "--input=b=2"), VT_OK);
    assert_int_equal(PARSE(&f, "--input", "c=3"), VT_OK);
    assert_int_equal(f.values.inputs.count, 3);
    assert_string_equal(f.values.inputs.items[0], "a=1");
    assert_string_equal(f.values.inputs.items[1], "b=2");
    assert_string_equal(f.values.inputs.items[2], "c=3");
    char text[32];
    assert_string_equal(vt_option_value_text(&f.options, INPUT, text, sizeof text),
                        "a=1, b=2, c=3");
    assert_string_equal(vt_option_value_text(&f.options, INPUT, text, 7), "a=1, b");
    vt_options_release(&f.options);
}

static void assert_argument_error(const char *const *arguments, const char *expected)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(parse(&f, arguments), VT_ERR_USAGE);
    assert_string_equal(f.err.text, expected);
    vt_options_release(&f.options);
}
#define REFUSES(expected, ...)                                                                     \
    assert_argument_error((const char *const[]){__VA_ARGS__, NULL}, (expected))

static void test_argument_errors(void **state)
{
    (void)state;
    REFUSES("unknown option --batc; did you mean --batch?", "--batc", "8");
    REFUSES("unknown option --bacth; did you mean --batch?", "--bacth=8");
    REFUSES("unknown option --scen; did you mean --scenario?", "--scen", "server");
    REFUSES("unknown option --no-jsom; did you mean --no-json?", "--no-jsom");
    REFUSES("unknown option --no-batch; did you mean --batch?", "--no-batch");
    REFUSES("unknown option --frobnicate; --help lists them all", "--frobnicate");
    REFUSES("unknown option -x; --help lists them all", "-x");
    REFUSES("unknown option -5; --help lists them all", "-5");
    REFUSES("--batch: missing value (--batch N)", "--batch");
    REFUSES("--output: missing value (--output DIR)", "-o");
    REFUSES("--output: missing value, '--json' follows (write --output=--json if you mean that)",
            "--output", "--json");
    REFUSES("--no-json takes no value", "--no-json=1");
    REFUSES("--batch 0: allowed 1..65536", "--batch", "0");
    REFUSES("--batch 65537: allowed 1..65536", "--batch=65537");
    REFUSES("--batch -1: allowed 1..65536", "--batch", "-1");
    REFUSES("--batch '8x' is not a whole number", "--batch", "8x");
    REFUSES("--batch '' is not a whole number", "--batch=");
    REFUSES("--batch ' 8' is not a whole number", "--batch", " 8");
    REFUSES("--batch '1.5' is not a whole number", "--batch", "1.5");
    REFUSES("--any 9223372036854775808 is too large: allowed "
            "-9223372036854775808..9223372036854775807",
            "--any", "9223372036854775808");
    REFUSES("--target-qps 'nan' is not a finite decimal number", "--target-qps", "nan");
    REFUSES("--target-qps '0x10' is not a finite decimal number", "--target-qps", "0x10");
    REFUSES("--target-qps 1e999 is too large: a number ends at 1.79e308", "--target-qps", "1e999");
    REFUSES("--target-qps 0: allowed 0.001 or more", "--target-qps", "0");
    REFUSES("--duration 0s: allowed 1ms..24h", "--duration", "0s");
    REFUSES("--duration -3s: a duration cannot be negative", "--duration", "-3s");
    REFUSES("--duration '3 s' is not a duration: a number and one of ns, us, ms, s, m, h, d "
            "(500ms, 10s, 2m)",
            "--duration", "3 s");
    REFUSES("--scenario unknown value 'sever'; did you mean server? (one of offline, server, "
            "singlestream, multistream)",
            "--scenario", "sever");
    REFUSES("--json 'maybe' is neither yes nor no (true, false, 1, 0)", "--json=maybe");
    REFUSES("--batch '8?9' is not a whole number", "--batch", "8\n9");
}

/* Every value that is written reads back as itself, whatever the language. */
static void test_text_round_trip(void **state)
{
    (void)state;
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where installed: a decimal comma */
    struct fixture f;
    begin(&f);
    const double reals[] = {0.1, 1.0 / 3.0, 1e-300, 1.7976931348623157e308, -2.5, 0, 123456789.0};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        char text[64];
        double back = -1;
        f.values.target_qps = reals[i];
        vt_option_value_text(&f.options, TARGET_QPS, text, sizeof text);
        assert_int_equal(vt_parse_real(text, &back, NULL), VT_OK);
        assert_true(back == reals[i]);
    }
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        char text[64];
        int64_t back = -1;
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t value = (int64_t)(seed >> (1 + i % 62));
        f.values.duration_ns = i % 3 == 0 ? value / 1000 * 1000 : value;
        f.values.memory_bytes = i % 3 == 0 ? value & ~INT64_C(1023) : value;
        vt_option_value_text(&f.options, DURATION, text, sizeof text);
        assert_int_equal(vt_parse_duration(text, &back, NULL), VT_OK);
        assert_true(back == f.values.duration_ns);
        vt_option_value_text(&f.options, MEMORY, text, sizeof text);
        assert_int_equal(vt_parse_size(text, &back, NULL), VT_OK);
        assert_true(back == f.values.memory_bytes);
    }
    char text[64];
    f.values.duration_ns = 90000000000;
    assert_string_equal(vt_option_value_text(&f.options, DURATION, text, sizeof text), "90s");
    assert_string_equal(vt_option_value_text(&f.options, SCENARIO, text, sizeof text), "server");
    assert_string_equal(vt_option_value_text(&f.options, CHECK, text, sizeof text), "yes");
    assert_string_equal(vt_option_value_text(&f.options, OUTPUT, text, sizeof text), "");
    (void)setlocale(LC_ALL, "C");
    vt_options_release(&f.options);
}

static const char *const job_text = "\xef\xbb\xbf# a job\n"
                                    "batch = 2\r\n"
                                    "[night]\n"
                                    "   target_qps : 12.5   ; inline\n"
                                    "output = out dir\n"
                                    "input = a\n"
                                    "input = b\n"
                                    "json = yes\n"
                                    "[global]\n"
                                    "duration = 10s\n"
                                    "target-qps = 7\n"
                                    "[empty]\n"
                                    "[other]\n"
                                    "no such option = 1\n";

static void test_job(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(job(&f, job_text, "night"), VT_OK);
    assert_int_equal(f.values.batch, 2);
    assert_int_equal(f.values.duration_ns, INT64_C(10000000000));
    assert_true(f.values.target_qps == 12.5); /* over [global], which stands behind it */
    assert_string_equal(f.values.output, "out dir");
    assert_int_equal(f.values.inputs.count, 2);
    assert_string_equal(f.values.inputs.items[1], "b");
    assert_true(f.values.json);
    assert_true(vt_options_given(&f.options, "output"));
    vt_options_release(&f.options);

    begin(&f);
    assert_int_equal(job(&f, job_text, NULL), VT_OK);
    assert_int_equal(f.values.batch, 2);
    assert_int_equal(f.values.duration_ns, INT64_C(3000000000));
    vt_options_release(&f.options);

    begin(&f);
    assert_int_equal(job(&f, job_text, "empty"), VT_OK);
    assert_true(f.values.target_qps == 7.0);
    assert_int_equal(job(&f, job_text, "day"), VT_ERR_NOT_FOUND);
    assert_string_equal(f.err.text, "x.ini: no section [day]");
    vt_options_release(&f.options);
}

static void assert_job_error(const char *text, enum vt_status status, const char *expected)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(job(&f, text, "s"), status);
    assert_string_equal(f.err.text, expected);
    vt_options_release(&f.options);
}

static void test_job_errors(void **state)
{
    (void)state;
    char line[512] = "[s]\n\noutput = ";
    memset(line + strlen(line), 'x', 300);

    assert_job_error("[s]\nbatch=1\n\nbatchs = 2\n", VT_ERR_USAGE,
                     "x.ini:4: unknown option batchs; did you mean batch?");
    assert_job_error("[s]\nbatch = 0\n", VT_ERR_USAGE, "x.ini:2: batch 0: allowed 1..65536");
    assert_job_error("[s]\nbatch =\n", VT_ERR_USAGE, "x.ini:2: batch '' is not a whole number");
    assert_job_error("[s]\njson\n", VT_ERR_FORMAT,
                     "x.ini:2: expected 'key = value' or '[section]'");
    assert_job_error("[s\n", VT_ERR_FORMAT, "x.ini:1: expected 'key = value' or '[section]'");
    /* An indented line is a line of its own, not more of the value above. */
    assert_job_error("[s]\noutput = a\n   b\n", VT_ERR_FORMAT,
                     "x.ini:3: expected 'key = value' or '[section]'");
    assert_job_error(line, VT_ERR_FORMAT, "x.ini:3: line longer than 198 bytes");
    assert_job_error("[sssssssssssssssssssssssssssssssssssssssssssssssssss]\n", VT_ERR_FORMAT,
                     "x.ini:1: section name longer than 49 bytes");

    struct fixture f;
    begin(&f);
    static const char zero[] = "[s]\nbatch = 1\0\n";
    assert_int_equal(
        vt_options_parse_job_text(&f.options, "x.ini", zero, sizeof zero - 1, "s", &f.err),
        VT_ERR_FORMAT);
    assert_string_equal(f.err.text, "x.ini:2: a NUL byte: not a text file");
    f.err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_options_parse_job(&f.options, "/nonexistent/x.ini", "s", &f.err),
                     VT_ERR_NOT_FOUND);
    vt_options_release(&f.options);
}

/* The longest line that is taken is taken whole. */
static void test_job_line_limit(void **state)
{
    (void)state;
    char text[512] = "[s]\noutput=";
    const size_t start = strlen(text);
    const size_t length = 198 - strlen("output=");
    memset(text + start, 'y', length);
    text[start + length] = '\n';
    struct fixture f;
    begin(&f);
    assert_int_equal(job(&f, text, "s"), VT_OK);
    assert_int_equal(strlen(f.values.output), length);
    vt_options_release(&f.options);
}

static void test_job_file(void **state)
{
    (void)state;
    char path[] = "/tmp/vatio-options-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char text[] = "[s]\noutput = kept\nscenario = multistream\n";
    assert_int_equal(write(fd, text, sizeof text - 1), (int)sizeof text - 1);
    close(fd);
    struct fixture f;
    begin(&f);
    const enum vt_status status = vt_options_parse_job(&f.options, path, "s", &f.err);
    unlink(path);
    assert_int_equal(status, VT_OK);
    assert_string_equal(f.values.output, "kept");
    assert_int_equal(f.values.scenario, 3);
    vt_options_release(&f.options);
}

static void test_nearest(void **state)
{
    (void)state;
    const char *const names[] = {"offline", "server", "singlestream", "multistream"};
    assert_string_equal(vt_nearest_name("serevr", names, 4), "server");
    assert_string_equal(vt_nearest_name("sing", names, 4), "singlestream");
    assert_string_equal(vt_nearest_name("offlines", names, 4), "offline");
    assert_null(vt_nearest_name("bicycle", names, 4));
    assert_null(vt_nearest_name("", names, 4));
    assert_null(vt_nearest_name("server", names, 0));
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_null(vt_nearest_name(endless, names, 4));
}

static void test_bad_tables(void **state)
{
    (void)state;
    struct vt_option two[2] = {rows[BATCH], rows[JSON]};
    struct vt_option_table bad = {two, 2, sizeof(struct values)};
    struct values values;
    struct vt_options options;
    two[0].default_text = "0";
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_options_init(&options, &bad, &values, &err), VT_ERR_USAGE);
    assert_string_equal(err.text, "default of --batch 0: allowed 1..65536");
    two[0] = rows[JSON];
    assert_int_equal(vt_options_init(&options, &bad, &values, NULL), VT_ERR_USAGE);
    two[0] = rows[BATCH];
    two[0].offset = sizeof(struct values) - 1;
    assert_int_equal(vt_options_init(&options, &bad, &values, NULL), VT_ERR_USAGE);
    vt_options_release(&options); /* zeroed after a failure */
}

static void test_out_of_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        assert_in_range(allowed, 0, 100);
        struct values values;
        struct vt_options options;
        struct vt_torture torture;
        const char *const argv[] = {"vatio", "model", "--input", "a", "--input", "b", "other"};
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_options_init(&options, &table, &values, NULL);
        if (status == VT_OK) {
            status = vt_options_parse(&options, 7, argv, NULL);
            if (status == VT_OK) {
                status = vt_options_parse_job_text(&options, "x", job_text, strlen(job_text),
                                                   "night", NULL);
            }
            vt_options_release(&options);
        }
        const int leaked = vt_torture_end(&torture);
        assert_int_equal(leaked, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
        done = status == VT_OK;
    }
}

static void print_help(int columns, char **ret_text)
{
    size_t size = 0;
    FILE *out = open_memstream(ret_text, &size);
    assert_non_null(out);
    vt_options_print_help(&table, out, columns);
    fclose(out);
}

static void test_help(void **state)
{
    (void)state;
    char *text = NULL;
    print_help(70, &text);
    assert_non_null(
        strstr(text, "Output:\n  -j, --json                print the result as JSON\n"));
    assert_non_null(strstr(text, "      --[no-]check          check the outputs (default yes)\n"));
    assert_non_null(strstr(text, "  -b, --batch N             samples in a request at most"
                                 " (1..65536;\n                            default 1)\n"));
    assert_non_null(strstr(text, "queries a second (0.001 or more;"));
    assert_non_null(strstr(text, "(1ms..24h; default 3s)"));
    /* One heading a category, though the table mixes them. */
    assert_null(strstr(strstr(text, "Output:") + 1, "Output:"));
    free(text);
    for (int columns = 0; columns <= 200; columns += 10) {
        print_help(columns, &text);
        const int allowed = columns < 48 ? 48 : columns;
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
            assert_in_range(strcspn(line, "\n"), 0, allowed);
        }
        free(text);
    }
}

/* What may be a secret is not shown; settings behind it are, where they can be told apart. */
static void secrets_are_hidden(void **state)
{
    static const struct vt_option one = {
        .name = "set", .type = VT_OPTION_LIST, .argument = "KEY=VALUE", .holds_settings = true};
    static const struct vt_option other = {.name = "input", .type = VT_OPTION_LIST};
    static const struct {
        const char *text, *shown;
    } cases[] = {{"threads=4", "threads=4"},
                 {"header=Authorization: Bearer abc,model=m", "header=(hidden)"},
                 {"HEADER=", "HEADER=(hidden)"},
                 {"access-token=a=b", "access-token=(hidden)"},
                 {"path=/a/token=b", "path=/a/token=b"},
                 {"no setting", "no setting"},
                 {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *shown = vt_option_shown(&one, cases[i].text);
        assert_string_equal(shown, cases[i].shown);
        vt_free(shown);
        shown = vt_option_shown(&other, cases[i].text);
        assert_string_equal(shown, cases[i].text);
        vt_free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_spelling),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_argument_errors),
        cmocka_unit_test(test_text_round_trip),
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_job_errors),
        cmocka_unit_test(test_job_line_limit),
        cmocka_unit_test(test_job_file),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_help),
        cmocka_unit_test(secrets_are_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
