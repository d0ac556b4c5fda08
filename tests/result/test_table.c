/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "result/text.h"

/* The line that begins with `label`, copied; NULL when there is none. */
static char *line_of(const char *table, const char *label, char *line, size_t size)
{
    for (const char *at = table; at != NULL && *at != '\0';) {
        const char *end = strchr(at, '\n');
        assert_non_null(end); /* every line ends in a newline */
        if (strncmp(at, label, strlen(label)) == 0) {
            snprintf(line, size, "%.*s", (int)(end - at), at);
            return line;
        }
        at = end + 1;
    }
    return NULL;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

static int widest(const char *table)
{
    int width = 0;
    char *copy = strdup(table);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int w = vt_text_width(line);
        width = w > width ? w : width;
    }
    free(copy);
    return width;
}

static void test_wide(void **state)
{
    struct fixture f;
    char line[256];

    (void)state;
    fixture_init(&f);
    char *table = fixture_table(&f, 110);

    assert_non_null(line_of(table, "quality", line, sizeof line));
    assert_non_null(strstr(line, "97.5 % top-1 on 360 held-out images (target 96.5 %)"));
    assert_non_null(strstr(line, "pass"));
    assert_non_null(line_of(table, "scenario", line, sizeof line));
    int result_at = (int)(strstr(line, "result") - line);
    assert_non_null(strstr(line, "valid"));
    assert_non_null(line_of(table, "Offline", line, sizeof line));
    assert_int_equal(strncmp(line + result_at, "212,400 samples/s", 17), 0);
    assert_int_equal(count(line, VT_NO_NUMBER), 3);
    assert_non_null(line_of(table, "Server", line, sizeof line));
    assert_non_null(strstr(line, "61,300 queries/s (found)"));
    assert_non_null(strstr(line, "(limit 10 ms)"));
    assert_non_null(line_of(table, "SingleStream", line, sizeof line));
    assert_non_null(strstr(line, "7.1 \xc2\xb5s p90"));
    assert_non_null(strstr(line, "11 \xc2\xb5s"));
    assert_non_null(line_of(table, "MultiStream", line, sizeof line));
    assert_non_null(strstr(line, "41 \xc2\xb5s p99 (8 samples)"));
    assert_non_null(line_of(table, "energy", line, sizeof line));
    assert_non_null(strstr(line, "unmeasured: RAPL"));
    /* equal for all: once, without names */
    assert_int_equal(count(table, "3 s is shorter than 600 s (add --official)"), 1);
    assert_null(strstr(table, "not valid"));
    free(table);
}

/* The columns stand under their headings, whatever bytes the characters take. */
static void test_columns_align(void **state)
{
    struct fixture f;
    char header[256], line[256];
    static const char *const rows[] = {"Offline", "Server", "SingleStream", "MultiStream"};

    (void)state;
    fixture_init(&f);
    for (int columns = 80; columns <= 120; columns += 10) {
        char *table = fixture_table(&f, columns);
        assert_non_null(line_of(table, "scenario", header, sizeof header));
        int valid_at = (int)(strstr(header, "valid") - header);
        for (int i = 0; i < 4; i++) {
            assert_non_null(line_of(table, rows[i], line, sizeof line));
            char *yes = strstr(line, "yes");
            assert_non_null(yes);
            *yes = '\0';
            assert_int_equal(vt_text_width(line), valid_at);
        }
        free(table);
    }
}

static void test_every_width(void **state)
{
    struct fixture f;
    char line[256];

    (void)state;
    fixture_init(&f);
    f.result.entries[2].valid = false;
    fixture_reason(&f.result.entries[2].reasons,
                   "p99 is 12 ms, the limit is 10 ms: ask for fewer queries a second");
    for (int columns = 0; columns <= 140; columns++) {
        char *table = fixture_table(&f, columns);
        assert_true(widest(table) <= (columns < 40 ? 40 : columns));
        /* what is measured and the verdict stay, however narrow */
        assert_non_null(line_of(table, "Server", line, sizeof line));
        assert_non_null(strstr(line, "61,300 queries/s"));
        assert_non_null(strstr(line, "no"));
        assert_non_null(line_of(table, "Offline", line, sizeof line));
        assert_non_null(strstr(line, "212,400 samples/s"));
        assert_non_null(strstr(line, "yes"));
        free(table);
    }
}

static void test_reasons(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.result.entries[2].valid = f.result.entries[4].valid = false;
    fixture_reason(&f.result.entries[2].reasons, "needs 662 queries, got 3");
    fixture_reason(&f.result.entries[4].reasons, "needs 662 queries, got 3");
    fixture_reason(&f.result.entries[4].rules, "only 100 queries");
    for (uint32_t i = 1; i < 5; i++) { /* of every scenario, but not of the accuracy run */
        fixture_reason(&f.result.entries[i].rules, "seeds of 0");
    }
    char *table = fixture_table(&f, 200);
    assert_non_null(
        strstr(table, "not valid      Server, MultiStream: needs 662 queries, got 3\n"));
    assert_int_equal(count(table, "needs 662"), 1);
    assert_non_null(strstr(table, "MultiStream: only 100 queries\n"));
    assert_non_null(strstr(table, "   seeds of 0\n"));
    assert_non_null(strstr(table, "rules          not met: 3 s is shorter"));
    free(table);

    for (uint32_t i = 0; i < f.result.n_entries; i++) {
        f.result.entries[i].rules_met = true;
    }
    table = fixture_table(&f, 200);
    assert_non_null(strstr(table, "rules          met"));
    free(table);
}

static void test_some_scenarios(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.result.n_entries = 0;
    fixture_add(&f, VT_SINGLESTREAM, VT_PERFORMANCE);
    char *table = fixture_table(&f, 100);
    assert_null(strstr(table, "quality"));
    assert_null(strstr(table, "Offline"));
    assert_non_null(strstr(table, "SingleStream"));
    free(table);

    /* no accuracy verdict, no latency, an entry that failed, an interrupted job */
    f.result.entries[0].report->samples_completed = 0;
    struct vt_result_entry *e = fixture_add(&f, VT_SERVER, VT_PERFORMANCE);
    e->report = NULL;
    e->valid = false;
    vt_error_set(&e->failure, VT_ERR_ENGINE, "native: out of lanes");
    e = fixture_add(&f, VT_OFFLINE, VT_ACCURACY);
    f.result.partial = true;
    table = fixture_table(&f, 100);
    assert_non_null(strstr(table, "quality        unmeasured: "));
    assert_non_null(strstr(table, "Server: native: out of lanes"));
    assert_non_null(strstr(table, "partial"));
    free(table);

    e->has_quality = true;
    e->quality = (struct vt_quality){.metric = "top-1", .unit = "%", .value = 9, .pass = false};
    table = fixture_table(&f, 100);
    assert_non_null(strstr(table, "fail\n"));
    free(table);
}

static void test_verdicts(void **state)
{
    struct fixture f;
    char text[64];

    (void)state;
    fixture_init(&f);
    assert_true(vt_result_valid(&f.result));
    assert_int_equal(vt_result_exit_code(&f.result), 0);
    f.result.entries[0].quality.pass = false;
    assert_false(vt_result_valid(&f.result));
    assert_int_equal(vt_result_exit_code(&f.result), 1);
    f.result.entries[0].quality.pass = true;
    f.result.entries[1].valid = false;
    assert_int_equal(vt_result_exit_code(&f.result), 1);
    f.result.entries[3].report = NULL; /* nothing to run: a reason, not a failure */
    assert_false(vt_result_valid(&f.result));
    assert_int_equal(vt_result_exit_code(&f.result), 1);
    vt_error_set(&f.result.entries[3].failure, VT_ERR_ENGINE, "it broke");
    assert_int_equal(vt_result_exit_code(&f.result), 4);
    f.result.entries[3].failure = (struct vt_error)VT_ERROR_INIT;
    vt_error_set(&f.result.entries[3].failure, VT_ERR_READ, "a.jpg: cannot be read");
    assert_int_equal(vt_result_exit_code(&f.result), 3);
    f.result.partial = true;
    assert_int_equal(vt_result_exit_code(&f.result), 130);
    assert_string_equal(vt_result_entry_folder(&f.result.entries[0], text, sizeof text),
                        "offline/accuracy");
    assert_string_equal(vt_result_entry_folder(&f.result.entries[2], text, sizeof text),
                        "server/performance/run_1");
    f.result.n_entries = 0;
    assert_false(vt_result_valid(&f.result));
    assert_int_equal(strlen(f.result.started_utc), strlen("2026-11-30T10:12:07Z"));
}

static void test_audits(void **state)
{
    struct fixture f;
    char line[256];

    (void)state;
    fixture_init(&f);
    f.result.audits[0] = (struct vt_result_audit){.test = VT_TEST01, .scenario = VT_SERVER};
    struct vt_result_audit *audit = &f.result.audits[0];
    audit->accuracy = (struct vt_audit_accuracy){.judged = true, .text = "all 40 are equal"};
    audit->performance = (struct vt_audit_performance){
        .judged = true, .verdict = VT_AUDIT_FAIL, .text = "80 queries/s, reference 100"};
    audit->verdict = VT_AUDIT_FAIL;
    f.result.audits[1] = (struct vt_result_audit){
        .test = VT_TEST06, .verdict = VT_AUDIT_NOT_APPLICABLE, .text = "no tokens are counted"};
    f.result.n_audits = 2;
    char *table = fixture_table(&f, 110);
    assert_non_null(strstr(table, "TEST01   Server         responses     pass        all 40 are"));
    assert_non_null(
        strstr(table, "TEST01   Server         performance   fail        80 queries/s"));
    assert_non_null(strstr(table, "TEST06   Offline        -             n/a         no tokens"));
    assert_non_null(line_of(table, "server rate", line, sizeof line));
    free(table);
    table = fixture_table(&f, 40);
    assert_true(widest(table) <= 40);
    assert_non_null(strstr(table, "TEST01 Server, performance: fail;"));
    free(table);
    assert_false(vt_result_valid(&f.result));
    /* What does not apply is neither; nothing that applies is no pass. */
    audit->performance.verdict = audit->verdict = VT_AUDIT_PASS;
    assert_true(vt_result_valid(&f.result));
    audit->verdict = VT_AUDIT_NOT_APPLICABLE;
    assert_false(vt_result_valid(&f.result));
}

static void test_tokens(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    char *table = fixture_table(&f, 110);
    assert_null(strstr(table, "tokens"));
    free(table);
    fixture_tokens(&f);
    table = fixture_table(&f, 200);
    assert_non_null(strstr(table, "tokens         Server: 12,500 tokens/s; first token p50 3 ms, "
                                  "p99 7 ms (limit 2 s); each further p50 30 \xc2\xb5s, p99 70 "
                                  "\xc2\xb5s (limit 200 ms)\n"));
    assert_null(strstr(table, "(limit 10 ms)")); /* which is none any more */
    free(table);
    /* Offline has no first tokens. */
    f.result.entries[2].report->token.first = (struct vt_latency_stats){0};
    table = fixture_table(&f, 200);
    assert_non_null(strstr(table, "tokens         Server: 12,500 tokens/s\n"));
    free(table);
}

static void test_find_peak_and_timestamps(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    struct vt_result_entry *server = &f.result.entries[2];
    server->rate_found = false;
    server->test_mode = VT_FIND_PEAK;
    server->peak = (struct vt_result_peak){.steps = 17, .qps = 61250, .bounded = true};
    server->report->settings.print_timestamps = true;
    server->report->start_unix_ms = 1796026229007;
    char *table = fixture_table(&f, 110);
    assert_non_null(strstr(table, "61,300 queries/s (peak)"));
    assert_non_null(strstr(table,
                           "server rate    61,250 queries/s is the highest rate that held in "
                           "17 runs"));
    assert_non_null(strstr(table, "timestamps     Server: 1796026229.007 to 1796026232.007, in s "
                                  "since 1970, UTC: 3 s"));
    assert_int_equal(count(table, "timestamps"), 1);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_audits),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_columns_align),
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_some_scenarios),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_find_peak_and_timestamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
