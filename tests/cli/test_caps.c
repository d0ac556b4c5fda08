/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio caps` and `vatio run --cap` as a user sees them, over a machine of files. */
#include "vt_test.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vatio.h"

#define LIMIT(n) "sys/class/powercap/intel-rapl:" #n "/constraint_0_power_limit_uw"

static void put(const char *name, const char *text)
{
    char path[256], *slash;

    (void)snprintf(path, sizeof path, "%s", work_path(name));
    for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    write_work_file(name, text, strlen(text));
}

static long number(const char *name)
{
    FILE *file = fopen(work_path(name), "r");
    char text[64] = "-1";

    assert_non_null(file);
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    return strtol(text, NULL, 10);
}

/* Two sockets; records go to a folder of this test's own. */
static int machine(void **state)
{
    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        const char *const files[][2] = {{"name", socket == 0 ? "package-0\n" : "package-1\n"},
                                        {"enabled", "1\n"},
                                        {"constraint_0_name", "long_term\n"},
                                        {"constraint_0_power_limit_uw", "205000000\n"},
                                        {"constraint_0_max_power_uw", "250000000\n"}};
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            char name[128];
            (void)snprintf(name, sizeof name, "sys/class/powercap/intel-rapl:%d/%s", socket,
                           files[i][0]);
            put(name, files[i][1]);
        }
    }
    return setenv("VATIO_CAP_RECORDS", work_path("records"), 1);
}

static bool are_back(void)
{
    return number(LIMIT(0)) == 205000000 && number(LIMIT(1)) == 205000000;
}

static int records(void)
{
    DIR *dir = opendir(work_path("records"));
    int n = 0;

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        n += strncmp(entry->d_name, "caps-", 5) == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static void nap(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static void kinds_are_listed_with_bounds_or_reasons(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("caps", "--sysfs", work_path("sys"), "--nvml-library", "libno-such.so", NULL);
    assert_int_equal(outcome.code, 0);
    assert_string_equal(outcome.err, "");
    const char *row = strstr(outcome.out, "rapl  package-1");
    assert_non_null(row);
    assert_non_null(strstr(row, " 205 "));
    assert_non_null(strstr(row, " 250 "));
    const char *missing = strstr(outcome.out, "not available");
    assert_non_null(missing);
    assert_non_null(strstr(missing, "nvml-clocks"));
    assert_non_null(strstr(missing, "scaling_max_freq"));
    assert_null(strstr(missing, "\nrapl"));
    outcome_free(&outcome);
    outcome = vatio("caps", "--json", "--sysfs", work_path("sys"), NULL);
    json_t *root = run_json(&outcome);
    const json_t *rapl = NULL;
    for (size_t i = 0; i < json_array_size(json_object_get(root, "kinds")); i++) {
        const json_t *kind = json_array_get(json_object_get(root, "kinds"), i);
        if (strcmp(json_string_value(json_object_get(kind, "kind")), "rapl") == 0) {
            rapl = kind;
        }
    }
    assert_non_null(rapl);
    assert_true(json_is_true(json_object_get(rapl, "available")));
    const json_t *domain = json_array_get(json_object_get(rapl, "domains"), 1);
    assert_string_equal(json_string_value(json_object_get(domain, "domain")), "package-1");
    assert_true(json_number_value(json_object_get(domain, "maximum")) == 250);
    assert_true(json_is_null(json_object_get(domain, "default")));
    assert_int_equal(json_array_size(json_object_get(root, "records")), 0);
    json_decref(root);
    outcome_free(&outcome);
    assert_int_not_equal(access(work_path("records"), F_OK), 0); /* looking leaves nothing */
}

static void a_run_is_capped_and_tells(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-s", "offline", "-d", "100ms", "--mode", "performance", "--json",
              "--meter", "none", "--sysfs", work_path("sys"), "--cap", "150W", "--cap",
              "rapl/package-1=120", "-o", work_path("out"), NULL);
    json_t *root = run_json(&outcome);
    const json_t *caps = json_object_get(root, "caps");
    assert_int_equal(json_array_size(caps), 2);
    const json_t *cap = json_array_get(caps, 1);
    assert_string_equal(json_string_value(json_object_get(cap, "kind")), "rapl");
    assert_string_equal(json_string_value(json_object_get(cap, "domain")), "package-1");
    assert_string_equal(json_string_value(json_object_get(cap, "unit")), "W");
    assert_true(json_number_value(json_object_get(cap, "asked")) == 120);
    assert_true(json_number_value(json_object_get(cap, "enforced")) == 120);
    assert_true(json_number_value(json_object_get(cap, "previous")) == 205);
    assert_true(json_is_true(json_object_get(cap, "restored")));
    json_decref(root);
    outcome_free(&outcome);
    assert_true(are_back());
    assert_int_equal(records(), 0);
    outcome =
        vatio("run", "digits", "-s", "offline", "-d", "100ms", "--mode", "performance", "--sysfs",
              work_path("sys"), "--cap", "rapl=150", "-o", work_path("out2"), NULL);
    const char *line = strstr(outcome.out, "\ncaps ");
    assert_non_null(line);
    assert_non_null(strstr(line, "rapl package-0 and 1 more: 150 W (before: 205), put back"));
    outcome_free(&outcome);
    outcome = vatio("run", "digits", "-s", "offline", "-d", "100ms", "--mode", "performance",
                    "--sysfs", work_path("sys"), "-o", work_path("out3"), NULL);
    assert_null(strstr(outcome.out, "\ncaps "));
    outcome_free(&outcome);
}

static void what_cannot_be_capped_is_refused_before_measuring(void **state)
{
    (void)state;
    assert_one_error(vatio("run", "digits", "--sysfs", work_path("sys"), "--cap", "rapl=900", NULL),
                     2, "outside 1..250 W");
    assert_one_error(vatio("run", "digits", "--sysfs", work_path("sys"), "--cap", "watts=9", NULL),
                     2, "no cap \"watts\"");
    assert_one_error(
        vatio("run", "digits", "--sysfs", work_path("sys"), "--cap", "cpufreq=2GHz", NULL), 4,
        "scaling_max_freq");
    assert_one_error(vatio("caps", "reset", NULL), 2, "`vatio run --cap`");
    assert_true(are_back());
    assert_int_equal(records(), 0);
}

static void rights_that_are_missing_are_named(void **state)
{
    (void)state;
    assert_int_equal(chmod(work_path(LIMIT(0)), 0444), 0);
    struct outcome outcome =
        vatio_unprivileged("run", "digits", "--sysfs", work_path("sys"), "--cap", "rapl=150", NULL);
    assert_one_error(outcome, 5, "cannot be set");
    outcome = vatio_unprivileged("caps", "--sysfs", work_path("sys"), NULL);
    assert_non_null(strstr(outcome.out, "cannot be set: Permission denied"));
    outcome_free(&outcome);
    assert_int_equal(chmod(work_path(LIMIT(0)), 0644), 0);
    assert_true(are_back());
}

static void after_an_interrupt_it_is_put_back(void **state)
{
    (void)state;
    struct outcome outcome = vatio_interrupted(1500, "run", "digits", "-s", "offline", "-d", "30s",
                                               "--mode", "performance", "--sysfs", work_path("sys"),
                                               "--cap", "rapl=150", "-o", work_path("out4"), NULL);
    assert_int_equal(outcome.code, 130);
    assert_true(are_back());
    assert_int_equal(records(), 0);
    outcome_free(&outcome);
}

/* A run in a group of its own, as soon as its caps are set. */
static pid_t start_run(const char *duration)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)!freopen("/dev/null", "w", stdout);
        (void)!freopen("/dev/null", "w", stderr);
        (void)execl(VATIO_PROGRAM, "vatio", "run", "digits", "-s", "offline", "-d", duration,
                    "--mode", "performance", "--sysfs", work_path("sys"), "--cap", "rapl=150", "-o",
                    work_path("out5"), (char *)NULL);
        _exit(97);
    }
    for (int i = 0; i < 4000 && number(LIMIT(1)) != 150000000; i++) {
        nap(5);
    }
    assert_int_equal(number(LIMIT(1)), 150000000);
    return pid;
}

static void await_back(void)
{
    for (int i = 0; i < 4000 && !(are_back() && records() == 0); i++) {
        nap(5);
    }
    assert_true(are_back());
    assert_int_equal(records(), 0);
}

/* The interface goes away while the run goes on. */
static void what_cannot_be_put_back_is_told(void **state)
{
    char out[256];

    (void)state;
    const pid_t pid = start_run("3s");
    assert_int_equal(unlink(work_path(LIMIT(0))), 0);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(number(LIMIT(1)), 205000000); /* the other one is back */
    assert_int_equal(records(), 1);
    (void)snprintf(out, sizeof out, "%s", work_path("out5/result.json"));
    json_t *root = json_load_file(out, 0, NULL);
    assert_non_null(root);
    const json_t *caps = json_object_get(root, "caps");
    assert_true(json_is_false(json_object_get(json_array_get(caps, 0), "restored")));
    assert_true(json_is_true(json_object_get(json_array_get(caps, 1), "restored")));
    json_decref(root);
    struct outcome outcome = vatio("caps", "restore", "--sysfs", work_path("sys"), NULL);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.out, "failed: "));
    outcome_free(&outcome);
    put(LIMIT(0), "150000000\n");
    outcome = vatio("caps", "restore", "--sysfs", work_path("sys"), NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
    assert_true(are_back());
    assert_int_equal(records(), 0);
}

static void killed_it_is_put_back(void **state)
{
    static const int signals[] = {SIGKILL, SIGQUIT, SIGABRT};

    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        const pid_t pid = start_run("60s");
        assert_int_equal(kill(-pid, signals[i]), 0); /* its whole group */
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        await_back();
    }
}

/* Whoever is left of the run `pid`: its guardian. */
static pid_t guardian(pid_t pid)
{
    char path[64], text[32] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    return (pid_t)strtol(text, NULL, 10);
}

static void killed_with_its_guardian_restore_puts_back(void **state)
{
    (void)state;
    const pid_t pid = start_run("60s");
    const pid_t guard = guardian(pid);
    if (guard == 0) { /* a kernel that does not tell children */
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        await_back();
        skip();
    }
    struct outcome outcome = vatio("caps", "restore", "--sysfs", work_path("sys"), NULL);
    assert_non_null(strstr(outcome.out, "held: rapl package-0, rapl package-1"));
    assert_int_equal(number(LIMIT(0)), 150000000);
    outcome_free(&outcome);
    assert_one_error(vatio("run", "digits", "--sysfs", work_path("sys"), "--cap", "rapl=99", NULL),
                     4, "holds the caps of this machine");
    assert_int_equal(kill(guard, SIGKILL), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    nap(100);
    assert_int_equal(number(LIMIT(0)), 150000000);
    outcome = vatio("caps", "--sysfs", work_path("sys"), NULL);
    assert_non_null(strstr(outcome.out, "left: rapl package-0, rapl package-1"));
    outcome_free(&outcome);
    outcome = vatio("caps", "restore", "--sysfs", work_path("sys"), NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "restored: rapl package-0, rapl package-1"));
    outcome_free(&outcome);
    assert_true(are_back());
    assert_int_equal(records(), 0);
    outcome = vatio("caps", "restore", "--sysfs", work_path("sys"), NULL);
    assert_string_equal(outcome.out, "nothing was left behind\n");
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kinds_are_listed_with_bounds_or_reasons, machine),
        cmocka_unit_test_setup(a_run_is_capped_and_tells, machine),
        cmocka_unit_test_setup(what_cannot_be_capped_is_refused_before_measuring, machine),
        cmocka_unit_test_setup(rights_that_are_missing_are_named, machine),
        cmocka_unit_test_setup(after_an_interrupt_it_is_put_back, machine),
        cmocka_unit_test_setup(what_cannot_be_put_back_is_told, machine),
        cmocka_unit_test_setup(killed_it_is_put_back, machine),
        cmocka_unit_test_setup(killed_with_its_guardian_restore_puts_back, machine),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
