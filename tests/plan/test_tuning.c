/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuning: what is measured is remembered, what is remembered is not measured, and a file that
 * is damaged, foreign or shared with another process does no harm.
 */
#include "vt_test.h"
#include "vt_torture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "plan/tuning.h"

static char folder[64], path[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/vatio-tuning-XXXXXX");
    return mkdtemp(folder) != NULL &&
                   snprintf(path, sizeof(path), "%s/a/tuning.txt", folder) < (int)sizeof(path)
               ? 0
               : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static struct vt_tuning *open_tuning(const char *file, bool measure)
{
    const struct vt_tuning_options options = {file, measure, INT64_MAX};
    struct vt_tuning *tuning = NULL;
    assert_int_equal(vt_tuning_new(&options, NULL, &tuning), VT_OK);
    return tuning;
}

static struct vt_tuning_stats stats_of(struct vt_tuning *tuning)
{
    struct vt_tuning_stats stats;
    vt_tuning_stats(tuning, &stats);
    return stats;
}

/* A question whose second choice sleeps: whatever else the machine does, it is the slower one. */
struct asked {
    atomic_int begun, ended, ran[3];
    bool refuse;
};

static bool begin(void *ctx)
{
    struct asked *asked = ctx;
    asked->begun++;
    return !asked->refuse;
}

static void run(void *ctx, uint32_t choice)
{
    struct asked *asked = ctx;
    const struct timespec nap = {0, 5000000};
    asked->ran[choice]++;
    if (choice == 1) {
        nanosleep(&nap, NULL);
    }
}

static void end(void *ctx)
{
    struct asked *asked = ctx;
    asked->ended++;
}

static struct vt_tuning_question question(const char *key, struct asked *asked)
{
    return (struct vt_tuning_question){.key = key,
                                       .threads = 2,
                                       .choices = {"quick", "slow 4"},
                                       .n_choices = 2,
                                       .by_rule = 1,
                                       .begin = begin,
                                       .run = run,
                                       .end = end,
                                       .ctx = asked};
}

static void test_measures_once(void **state)
{
    (void)state;
    struct asked asked = {0};
    struct vt_tuning *tuning = open_tuning(NULL, true);
    struct vt_tuning_question q = question("conv a", &asked);
    bool tuned = false;
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 0);
    assert_true(tuned);
    assert_int_equal(asked.begun, 1);
    assert_int_equal(asked.ended, 1);
    assert_true(asked.ran[0] >= 3 && asked.ran[1] >= 1);
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 0);
    assert_true(tuned);
    assert_int_equal(asked.begun, 1);
    const struct vt_tuning_stats stats = stats_of(tuning);
    assert_int_equal(stats.answers, 1);
    assert_int_equal(stats.used, 1);
    assert_int_equal(stats.measured, 1);
    assert_true(stats.spent_ns > 5000000);
    vt_tuning_free(tuning);
}

/* Other threads, another rule, another list, another key: each is measured for itself. */
static void test_what_a_question_is(void **state)
{
    (void)state;
    struct asked asked = {0};
    struct vt_tuning *tuning = open_tuning(NULL, true);
    struct vt_tuning_question q = question("conv a", &asked);
    bool tuned;
    (void)vt_tuning_choose(tuning, &q, &tuned);
    q.threads = 1;
    (void)vt_tuning_choose(tuning, &q, &tuned);
    q.by_rule = 0;
    (void)vt_tuning_choose(tuning, &q, &tuned);
    q.choices[q.n_choices++] = "third";
    (void)vt_tuning_choose(tuning, &q, &tuned);
    q.key = "conv b";
    (void)vt_tuning_choose(tuning, &q, &tuned);
    assert_int_equal(asked.begun, 5);
    assert_int_equal(stats_of(tuning).answers, 5);
    vt_tuning_free(tuning);
}

static void test_the_rule_decides(void **state)
{
    (void)state;
    struct asked asked = {0};
    struct vt_tuning_question q = question("conv a", &asked);
    char endless[VT_TUNING_KEY_MAX + 1];
    bool tuned = true;
    assert_int_equal(vt_tuning_choose(NULL, &q, &tuned), 1);
    assert_false(tuned);
    struct vt_tuning *tuning = open_tuning(NULL, false);
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 1);
    assert_false(tuned);
    vt_tuning_free(tuning);

    tuning = open_tuning(NULL, true);
    q.n_choices = 1;
    q.by_rule = 0;
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 0);
    assert_false(tuned);
    q = question(endless, &asked);
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 1);
    assert_false(tuned);
    assert_int_equal(asked.begun, 0);
    asked.refuse = true;
    q.key = "conv a";
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 1);
    assert_false(tuned);
    assert_int_equal(asked.ended, 1);
    assert_int_equal(asked.ran[0] + asked.ran[1], 0);
    assert_int_equal(stats_of(tuning).answers, 0);
    vt_tuning_free(tuning);

    /* The budget is spent by the first question. */
    const struct vt_tuning_options options = {NULL, true, 1};
    assert_int_equal(vt_tuning_new(&options, NULL, &tuning), VT_OK);
    asked.refuse = false;
    asked.begun = 0;
    (void)vt_tuning_choose(tuning, &q, &tuned);
    q.key = "conv b";
    assert_int_equal(vt_tuning_choose(tuning, &q, &tuned), 1);
    assert_false(tuned);
    assert_int_equal(asked.begun, 1);
    vt_tuning_free(tuning);
}

static void *ask(void *tuning)
{
    static struct asked unused;
    struct asked *asked = &unused;
    struct vt_tuning_question q = question("conv shared", asked);
    bool tuned = false;
    const uint32_t choice = vt_tuning_choose(tuning, &q, &tuned);
    return choice == 0 && tuned && asked->begun == 1 ? asked : NULL;
}

static void test_threads_ask_at_once(void **state)
{
    (void)state;
    struct vt_tuning *tuning = open_tuning(NULL, true);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, tuning), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *fine = NULL;
        assert_int_equal(pthread_join(threads[i], &fine), 0);
        assert_non_null(fine);
    }
    assert_int_equal(stats_of(tuning).measured, 1);
    vt_tuning_free(tuning);
}

/* --- the file ----------------------------------------------------------------------------------
 */

static void learn(struct vt_tuning *tuning, const char *key)
{
    struct asked asked = {0};
    struct vt_tuning_question q = question(key, &asked);
    bool tuned;
    (void)vt_tuning_choose(tuning, &q, &tuned);
    assert_true(tuned);
}

static void test_kept_and_found_again(void **state)
{
    (void)state;
    struct asked asked = {0};
    struct vt_tuning_question q = question("conv a", &asked);
    struct vt_tuning *tuning = open_tuning(path, true), *again;
    bool tuned;
    assert_int_equal(vt_tuning_save(tuning, NULL), VT_OK);
    assert_false(vt_path_exists(path)); /* nothing new, nothing written */
    learn(tuning, "conv a");
    assert_int_equal(vt_tuning_save(tuning, NULL), VT_OK); /* the folder is made */
    assert_true(vt_path_exists(path));
    again = open_tuning(path, false);
    assert_int_equal(vt_tuning_choose(again, &q, &tuned), 0);
    assert_true(tuned);
    assert_int_equal(asked.begun, 0);
    assert_int_equal(stats_of(again).damaged, 0);
    vt_tuning_free(again);
    vt_tuning_free(tuning);
}

/* Two that opened the same file and learned different things: neither loses its own. */
static void test_two_save(void **state)
{
    (void)state;
    struct vt_tuning *one = open_tuning(path, true), *two = open_tuning(path, true);
    learn(one, "conv one");
    learn(two, "conv two");
    assert_int_equal(vt_tuning_save(one, NULL), VT_OK);
    assert_int_equal(vt_tuning_save(two, NULL), VT_OK);
    vt_tuning_free(one);
    vt_tuning_free(two);
    struct asked asked = {0};
    struct vt_tuning *both = open_tuning(path, false);
    static const char *const keys[] = {"conv one", "conv two"};
    for (int i = 0; i < 2; i++) {
        struct vt_tuning_question q = question(keys[i], &asked);
        bool tuned = false;
        (void)vt_tuning_choose(both, &q, &tuned);
        assert_true(tuned);
    }
    vt_tuning_free(both);
}

static int warnings;

static void count_warning(void *ctx, enum vt_log_level level, const char *line)
{
    (void)ctx;
    (void)line;
    warnings += level == VT_LOG_WARNING;
}

static void write_text(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_lines(void **state)
{
    (void)state;
    char text[4096];
    struct vt_tuning_answer answer;
    int n = snprintf(text, sizeof(text),
                     "vatio tuning 1 %s\n"
                     "good\tquick\t12\t34\n"
                     "no choice\t\t1\t2\n"
                     "\tquick\t1\t2\n"
                     "no number\tquick\tx\t2\n"
                     "negative\tquick\t-1\t2\n"
                     "endless\tquick\t1234567890123456\t2\n"
                     "too many\tquick\t1\t2\t3\n"
                     "too few\tquick\t1\n"
                     "umlaut \xc3\xa4\tquick\t1\t2\n"
                     "a choice that is too long\t%032d\t1\t2\n"
                     "a key that is too long %0200d\tquick\t1\t2\n"
                     "\n"
                     "also good\tslow 4\t0\t999999999999999\n"
                     "cut of",
                     vt_version(), 0, 0);
    write_text(text, (size_t)n);
    warnings = 0;
    vt_log_set(count_warning, NULL, VT_LOG_TRACE);
    struct vt_tuning *tuning = open_tuning(path, false);
    vt_log_set(NULL, NULL, VT_LOG_ERROR);
    assert_int_equal(warnings, 1);
    assert_int_equal(stats_of(tuning).answers, 2);
    assert_int_equal(stats_of(tuning).damaged, 12);
    assert_true(vt_tuning_find(tuning, "good", &answer));
    assert_string_equal(answer.choice, "quick");
    assert_int_equal(answer.ns, 12);
    assert_int_equal(answer.rule_ns, 34);
    assert_true(vt_tuning_find(tuning, "also good", &answer));
    assert_false(vt_tuning_find(tuning, "no choice", &answer));
    vt_tuning_free(tuning);
}

/* Another version's file is none; a choice that is not among the choices is none either. */
static void test_foreign_files(void **state)
{
    (void)state;
    static const char other[] = "vatio tuning 1 0.0.0-other\ngood\tquick\t12\t34\n";
    static const char noise[] = "\x7f"
                                "ELF\0\0\n\n\n";
    write_text(other, sizeof(other) - 1);
    struct vt_tuning *tuning = open_tuning(path, false);
    assert_int_equal(stats_of(tuning).answers, 0);
    assert_int_equal(stats_of(tuning).damaged, 0);
    vt_tuning_free(tuning);
    write_text(noise, sizeof(noise) - 1);
    tuning = open_tuning(path, true);
    assert_int_equal(stats_of(tuning).answers, 0);
    learn(tuning, "conv a"); /* takes the file's place */
    assert_int_equal(vt_tuning_save(tuning, NULL), VT_OK);
    vt_tuning_free(tuning);
    tuning = open_tuning(path, false);
    assert_int_equal(stats_of(tuning).answers, 1);
    vt_tuning_free(tuning);
}

static void test_no_place_to_keep(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    char taken[96];
    snprintf(taken, sizeof(taken), "%s/taken", folder);
    assert_int_equal(mkdir(taken, 0777), 0);
    struct vt_tuning *tuning = open_tuning(taken, true); /* a folder is no file */
    learn(tuning, "conv a");
    assert_int_equal(vt_tuning_save(tuning, &err), VT_ERR_WRITE);
    vt_tuning_free(tuning);
    err.status = VT_OK;
    tuning = open_tuning("/proc/none/tuning.txt", true);
    learn(tuning, "conv a");
    assert_int_equal(vt_tuning_save(tuning, &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/proc/none"));
    vt_tuning_free(tuning);
}

static void test_answers_are_checked(void **state)
{
    (void)state;
    struct vt_tuning *tuning = open_tuning(NULL, false);
    struct vt_tuning_answer answer = {"key", "choice", 1, 2}, found;
    assert_int_equal(vt_tuning_add(tuning, &answer, NULL), VT_OK);
    snprintf(answer.choice, sizeof(answer.choice), "other");
    assert_int_equal(vt_tuning_add(tuning, &answer, NULL), VT_OK);
    assert_true(vt_tuning_find(tuning, "key", &found));
    assert_string_equal(found.choice, "choice"); /* the first one stays */
    snprintf(answer.key, sizeof(answer.key), "a\tb");
    assert_int_equal(vt_tuning_add(tuning, &answer, NULL), VT_ERR_FORMAT);
    answer.key[0] = '\0';
    assert_int_equal(vt_tuning_add(tuning, &answer, NULL), VT_ERR_FORMAT);
    memset(answer.key, 'x', sizeof(answer.key));
    assert_int_equal(vt_tuning_add(tuning, &answer, NULL), VT_ERR_FORMAT);
    vt_tuning_free(tuning);
}

static void test_environment_names_the_file(void **state)
{
    (void)state;
    char *found = NULL;
    setenv("VATIO_TUNING", "off", 1);
    assert_int_equal(vt_tuning_path(NULL, &found), VT_OK);
    assert_null(found);
    setenv("VATIO_TUNING", "/some/where", 1);
    assert_int_equal(vt_tuning_path(NULL, &found), VT_OK);
    assert_string_equal(found, "/some/where");
    vt_free(found);
    unsetenv("VATIO_TUNING");
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_int_equal(vt_tuning_path(NULL, &found), VT_OK);
    assert_memory_equal(found, folder, strlen(folder));
    assert_non_null(strstr(found, "/vatio/tuning-"));
    assert_null(strchr(found, ' '));
    vt_free(found);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char text[256];
    int n =
        snprintf(text, sizeof(text), "vatio tuning 1 %s\na\tb\t1\t2\nc\td\t1\t2\n", vt_version());
    write_text(text, (size_t)n);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        const struct vt_tuning_options options = {path, false, 0};
        struct vt_torture torture;
        struct vt_tuning *tuning = NULL;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_tuning_new(&options, &err, &tuning);
        done = status == VT_OK && stats_of(tuning).answers == 2;
        vt_tuning_free(tuning);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_once),
        cmocka_unit_test(test_what_a_question_is),
        cmocka_unit_test(test_the_rule_decides),
        cmocka_unit_test(test_threads_ask_at_once),
        cmocka_unit_test(test_kept_and_found_again),
        cmocka_unit_test(test_two_save),
        cmocka_unit_test(test_damaged_lines),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_no_place_to_keep),
        cmocka_unit_test(test_answers_are_checked),
        cmocka_unit_test(test_environment_names_the_file),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
