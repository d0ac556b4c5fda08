/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say, in all formats, and that no text in a file becomes anything but text. */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "fixture.h"
#include "report/command.h"
#include "report/content.h"
#include "report/report.h"
#include "report/writers.h"
#include "vt_torture.h"

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static void assert_holds(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strstr(text, words[i]) == NULL) {
            fail_msg("'%s' is missing", words[i]);
        }
    }
}
#define ASSERT_HOLDS(text, ...)                                                                    \
    do {                                                                                           \
        static const char *const words[] = {__VA_ARGS__};                                          \
        assert_holds(text, words, sizeof words / sizeof words[0]);                                 \
    } while (0)

static void a_page_has_all_of_a_run(void **state)
{
    (void)state;
    char *page = fixture_report("html", "run", NULL);
    ASSERT_HOLDS(page, "<strong>Valid</strong>", "MLPerf rules not met", "2 s &lt; 600 s",
                 "Latency distribution", "p99.9", "Percentiles", "Throughput over time",
                 "Power over time", "Temperature over time", "412.5 \xc2\xb1 6.2 J", "informative",
                 "Agreement of meters", "-0.63 %", "package-0 disappeared",
                 "no daemon is named: give --ptdaemon HOST:PORT", "throttled 12.5 % of the time",
                 "vatio run digits --duration 2s --target-qps 2000 --engine-option a=1 "
                 "--engine-option &#39;b=it&#39;\\&#39;&#39;s; rm -rf /&#39;",
                 "Caps held", "305 W", "a cap was left behind", "Debian GNU/Linux 12",
                 "Chart.js Contributors", "Permission is hereby granted");
    /* Each plot has a canvas, a table and its data; the page asks for nothing. */
    const size_t plots = count(page, "<canvas ");
    assert_true(plots >= 8);
    assert_int_equal(count(page, "<figure "), plots);
    assert_int_equal(count(page, "<summary>Table</summary>"), plots);
    assert_int_equal(count(page, "{\"x\":{\"label\":"), plots);
    assert_int_equal(count(page, " src="), 0);
    assert_int_equal(count(page, "@import"), 0);
    assert_int_equal(count(page, "<link"), 1);
    /* The peak of 431.5 W is in the data. */
    ASSERT_HOLDS(page, "431.5");
    free(page);
}

static void other_kinds_have_their_parts(void **state)
{
    (void)state;
    char *page = fixture_report("html", "sweep", "profile", "comparison", "run", "again", NULL);
    ASSERT_HOLDS(page, "Throughput over batch size", "Efficiency over power cap",
                 "Latency over batch size", "Energy against latency", "Energy against throughput",
                 "Pareto front", "recommended", "batch 16, cap 200 W: the least energy",
                 "the engine failed", "15 of 16 measured", "undecided",
                 "vatio sweep resnet50.onnx --batch=1,4,16,64 --cap=200,300 --repeats=2",
                 "Roofline", "Where the time goes", "winograd 4", "125 GFLOP/s", "Outputs agree",
                 "0.954 (0.838 to 1.19)", "Side by side", "href=\"#s1\"");
    free(page);
}

static void hostile_texts_stay_texts(void **state)
{
    (void)state;
    char *page = fixture_report("html", "hostile", NULL);
    const char *content = strstr(page, "<main"), *data = strstr(page, "id=\"data\">");
    assert_true(content != NULL && data != NULL);
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<b>"));
    assert_int_equal(count(content, "<script"), 3);
    assert_int_equal(count(content, "</script"), 3);
    /* In the data no character can end its element. */
    const char *end = strchr(data + strlen("id=\"data\">"), '<');
    assert_non_null(end);
    assert_int_equal(strncmp(end, "</script>", 9), 0);
    ASSERT_HOLDS(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;",
                 "\\u003c/script\\u003e");
    free(page);

    char *text = fixture_report("md", "hostile", NULL);
    /* Only in code, which stands indented, does a '<' need no escape. */
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at + 1, '<')) {
        const char *line = at;
        while (line > text && line[-1] != '\n') {
            line--;
        }
        assert_int_equal(strncmp(line, "    ", 4), 0);
    }
    ASSERT_HOLDS(text, "a\\|b \\`c\\` \\*d\\* &lt;b&gt;");
    assert_null(strstr(text, "\nsecond line"));
    free(text);

    /* No cell begins as a formula does. */
    text = fixture_report("csv", "hostile", NULL);
    assert_null(strstr(text, "\"="));
    assert_null(strstr(text, ",="));
    free(text);
}

/* The words of a shell, read back by a shell. */
static void a_command_survives_a_shell(void **state)
{
    static const char *const words[] = {"plain-1.2/x", "it's", "$(id) `id`", "a\nb\tc",  "\\n'\"",
                                        "-x",          "",     "a  b",       "\x7f\x01", "*?[a]~",
                                        "!x;&|<>(){}#"};
    const size_t n = sizeof words / sizeof words[0];
    struct vt_document *document = vt_document_new();
    json_t *list = json_array();

    (void)state;
    if (access("/bin/bash", X_OK) != 0) {
        vt_document_free(document);
        json_decref(list);
        skip();
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(json_array_append_new(list, json_string(words[i])), 0);
    }
    const char *line = vt_command_words(document, list);
    FILE *script = fopen(fixture_path("script"), "w");
    assert_non_null(script);
    (void)fprintf(script, "%s\n%s\n", "vatio() { printf '%s\\0' \"$@\"; }", line);
    assert_int_equal(fclose(script), 0);
    char command[256];
    (void)snprintf(command, sizeof command, "/bin/bash %s/script > %s/words", fixture_folder,
                   fixture_folder);
    assert_int_equal(system(command), 0);
    char *said = fixture_read(fixture_path("words"));
    const char *at = said;
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(at, words[i]);
        at += strlen(at) + 1;
    }
    free(said);
    json_decref(list);
    vt_document_free(document);
}

static void options_become_arguments(void **state)
{
    static const char job[] =
        "{\"max_latency\":{\"value\":10000000,\"unit\":\"ns\",\"given\":true},"
        "\"memory_limit\":{\"value\":4194304,\"unit\":\"bytes\",\"given\":true},"
        "\"coalesce\":{\"value\":true,\"given\":true},\"trace\":{\"value\":false,\"given\":true},"
        "\"spin_us\":{\"value\":-1,\"given\":true},\"target_qps\":{\"value\":0.5,\"given\":true},"
        "\"input\":{\"value\":[\"a=x y\",\"b=z\"],\"given\":true},"
        "\"labels\":{\"value\":null,\"given\":true},\"batch\":{\"value\":4,\"given\":false},"
        "\"output\":{\"value\":\"runs/x\",\"given\":true},\"--evil; "
        "x\":{\"value\":1,\"given\":true}}";
    struct vt_document *document = vt_document_new();
    json_t *json = json_loads(job, 0, NULL);

    (void)state;
    assert_non_null(json);
    assert_string_equal(vt_command_line(document, "run", "my model.onnx", json),
                        "vatio run 'my model.onnx' --max-latency 10ms --memory-limit 4MiB "
                        "--coalesce --no-trace --spin-us=-1 --target-qps 0.5 --input 'a=x y' "
                        "--input b=z");
    json_decref(json);
    vt_document_free(document);
}

static void csv_has_a_row_each(void **state)
{
    (void)state;
    char *table = fixture_report("csv", "run", "comparison", "profile", "sweep", NULL);
    assert_int_equal(count(table, "\n"), 1 + 3 + 4 + 4 + 16);
    ASSERT_HOLDS(table, "source,kind,item,model,", "\"run\",\"result\",,\"digits\"", ",412.5,",
                 "\"layer\",\"conv2\"", "\"point\",\"p0003\"", "\"failed\"");
    /* Every row has as many fields. */
    size_t fields = 0, wanted = 0;
    bool quoted = false;
    for (const char *at = table; *at != '\0'; at++) {
        quoted = *at == '"' ? !quoted : quoted;
        fields += *at == ',' && !quoted;
        if (*at == '\n') {
            wanted = wanted == 0 ? fields : wanted;
            assert_int_equal(fields, wanted);
            fields = 0;
        }
    }
    free(table);
}

static void markdown_says_the_same(void **state)
{
    (void)state;
    char *text = fixture_report("md", "run", "sweep", NULL);
    ASSERT_HOLDS(text, "# 2 measurements", "## run", "**Valid**", "| Scenario | Result |",
                 "412.5 \xc2\xb1 6.2 J", "    vatio run digits --duration 2s", "**Recommended**");
    free(text);
}

static enum vt_status attempt(const char *output, int format, const char *folder,
                              struct vt_error *err)
{
    const struct vt_report_job job = {.output = output, .format = format};
    struct vt_report_made made;
    return vt_report_make(&job, &folder, 1, stdout, err, &made);
}

static void what_cannot_be_read_is_named(void **state)
{
    static const struct {
        const char *text;
        enum vt_status status;
        const char *says;
    } cases[] = {
        {"", VT_ERR_FORMAT, "bad/result.json:1:"},
        {"[]", VT_ERR_FORMAT, "not an object"},
        {"{}", VT_ERR_FORMAT, "schema_version"},
        {"{\"schema_version\":2}", VT_ERR_UNSUPPORTED, "schema_version 2"},
        {"{\"schema_version\":1,\"kind\":\"x\\ny\"}", VT_ERR_UNSUPPORTED, "kind"},
        {"{\"schema_version\":1,\"kind\":7}", VT_ERR_UNSUPPORTED, "kind"},
        {"{\"schema_version\":1,\"a\":\"\xff\"}", VT_ERR_FORMAT, "bad/result.json:1:"},
    };
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    fixture_folder_make("bad");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        fixture_write("bad/result.json", cases[i].text, strlen(cases[i].text));
        assert_int_equal(attempt(fixture_path("x.html"), 0, fixture_path("bad"), &err),
                         cases[i].status);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(access(fixture_path("x.html"), F_OK), -1);
    }
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(attempt(fixture_path("x.html"), 0, fixture_path("none"), &err),
                     VT_ERR_NOT_FOUND);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(attempt(fixture_path("x.txt"), 0, fixture_path("run"), &err), VT_ERR_USAGE);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(attempt("/proc/none/x.html", 0, fixture_path("run"), &err), VT_ERR_WRITE);
    /* Records that are damaged are refused, those that are not there are not. */
    fixture_write("again/server/performance/run_1/records.vtr", "VTREC", 5);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(attempt(fixture_path("x.html"), 0, fixture_path("again"), &err),
                     VT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "records.vtr"));
    assert_int_equal(unlink(fixture_path("again/server/performance/run_1/records.vtr")), 0);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(attempt(fixture_path("x.html"), 0, fixture_path("again"), &err), VT_OK);
}

static void folders_of_folders_are_read_in_order(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sources sources;
    const char *folder = fixture_folder;

    (void)state;
    (void)unlink(fixture_path("bad/result.json"));
    assert_int_equal(vt_sources_read(&folder, 1, &err, &sources), VT_OK);
    static const char *const names[] = {"again",   "bare", "comparison", "hostile",
                                        "profile", "run",  "sweep"};
    assert_int_equal(sources.n, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(sources.items[i].name, names[i]);
    }
    assert_int_equal(sources.items[6].kind, VT_SOURCE_SWEEP);
    vt_sources_release(&sources);
    /* The same folder twice: names that tell nothing apart give way to paths. */
    const char *twice[] = {fixture_path("run"), fixture_path("run/")};
    assert_int_equal(vt_sources_read(twice, 2, &err, &sources), VT_OK);
    assert_string_equal(sources.items[0].name, fixture_path("run"));
    vt_sources_release(&sources);
}

static void memory_may_run_out(void **state)
{
    struct vt_sources sources;
    struct vt_error err = VT_ERROR_INIT;
    const char *folder = fixture_path("sweep");
    FILE *out = fopen("/dev/null", "w");
    bool done = false;

    (void)state;
    assert_non_null(out);
    assert_int_equal(vt_sources_read(&folder, 1, &err, &sources), VT_OK);
    for (int allowed = 0; !done; allowed += allowed < 8 ? 1 : 1 + allowed / 16) {
        struct vt_torture torture;
        enum vt_status status = VT_ERR_MEMORY;
        err = (struct vt_error)VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        struct vt_document *document = vt_document_new();
        if (document != NULL) {
            status = vt_content_write(document, &sources, &err);
        }
        if (status == VT_OK) {
            status = vt_report_html(document, out, &err);
        }
        done = status == VT_OK;
        vt_document_free(document);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(done || status == VT_ERR_MEMORY);
    }
    (void)fclose(out);
    vt_sources_release(&sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_all_of_a_run),
        cmocka_unit_test(other_kinds_have_their_parts),
        cmocka_unit_test(hostile_texts_stay_texts),
        cmocka_unit_test(a_command_survives_a_shell),
        cmocka_unit_test(options_become_arguments),
        cmocka_unit_test(csv_has_a_row_each),
        cmocka_unit_test(markdown_says_the_same),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(folders_of_folders_are_read_in_order),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
