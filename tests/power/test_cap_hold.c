/* SPDX-License-Identifier: Apache-2.0 */
/* Holds of caps: they set, verify and put back, also when their process dies. */
#include "caps.h"

static struct vt_cap_hold *new_hold(const struct vt_cap_places *places)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_cap_hold *hold = NULL;

    if (vt_cap_hold_new(places, &err, &hold) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return hold;
}

static void ask(struct vt_cap_hold *hold, const char *wish)
{
    struct vt_error err = VT_ERROR_INIT;

    if (vt_cap_hold_ask(hold, wish, &err, NULL) != VT_OK) {
        fail_msg("%s: %s", wish, err.text);
    }
}

static const char *refusal(struct vt_cap_hold *hold, const char *wish, enum vt_status status)
{
    static struct vt_error err;

    memset(&err, 0, sizeof err);
    assert_int_equal(vt_cap_hold_ask(hold, wish, &err, NULL), status);
    assert_null(strchr(err.text, '\n'));
    return err.text;
}

static void all_sockets_are_set_and_put_back(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_error err = VT_ERROR_INIT;
    double enforced = 0;
    uint32_t n = 0;

    (void)state;
    caps_machine();
    struct vt_cap_hold *hold = new_hold(&places);
    assert_string_equal(vt_cap_hold_note(hold), "");
    assert_true(caps_are_back()); /* a hold alone changes nothing */
    assert_int_equal(vt_cap_hold_set(hold, "rapl", NULL, 120, &err, &enforced), VT_OK);
    assert_near(enforced, 120.0);
    assert_int_equal(caps_number(LIMIT0), 120000000);
    assert_int_equal(caps_number(LIMIT1), 120000000);
    assert_int_equal(caps_number(ZONE0 "/enabled"), 1);
    assert_int_equal(caps_number(ZONE0 "/constraint_0_power_limit_uw"), 400000000);
    assert_int_equal(caps_number(ZONE0 ":0/constraint_1_power_limit_uw"), 100000000);
    assert_int_equal(caps_number("class/powercap/intel-rapl:2/constraint_1_power_limit_uw"),
                     500000000);
    /* Again, and another kind: what was there first is what counts. */
    ask(hold, "rapl/package-1=90W");
    ask(hold, "cpufreq=2.4GHz");
    ask(hold, "cpufreq/policy1=1500000");
    assert_int_equal(caps_number(LIMIT1), 90000000);
    assert_int_equal(caps_number(FREQ0), 2400000);
    assert_int_equal(caps_number(FREQ1), 1500000);
    const struct vt_cap_held *rows = vt_cap_hold_list(hold, &n);
    assert_int_equal(n, 4);
    assert_string_equal(rows[1].domain, "package-1");
    assert_near(rows[1].asked, 90.0);
    assert_near(rows[1].previous, 230.0);
    assert_false(rows[1].restored);
    assert_int_equal(caps_records(), 1);
    assert_int_equal(vt_cap_hold_release(hold, &err), VT_OK);
    assert_true(caps_are_back());
    assert_int_equal(caps_files(""), 0);
    rows = vt_cap_hold_list(hold, &n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(rows[i].restored);
    }
    (void)refusal(hold, "rapl=100", VT_ERR_USAGE);
    vt_cap_hold_free(hold);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* the guardian is gone */
}

static void a_limit_that_is_switched_off_is_told(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_error err = VT_ERROR_INIT;
    void *cap = NULL;
    uint32_t n = 0;

    (void)state;
    caps_machine();
    tree_put(ZONE1 "/enabled", "1");
    assert_int_equal(vt_cap_rapl.open(&vt_cap_rapl, &places, &err, &cap), VT_OK);
    const struct vt_cap_domain *domains = vt_cap_rapl.domains(cap, &n);
    assert_int_equal(n, 2); /* neither the cores nor the platform */
    assert_non_null(strstr(domains[0].note, "switched off"));
    assert_string_equal(domains[1].note, "");
    vt_cap_rapl.close(cap);
}

static void watts_alone_go_to_the_processor(void **state)
{
    const struct vt_cap_places places = caps_places();

    (void)state;
    caps_machine();
    struct vt_cap_hold *hold = new_hold(&places);
    ask(hold, "150W");
    assert_int_equal(caps_number(LIMIT0), 150000000);
    vt_cap_hold_free(hold);
    assert_true(caps_are_back());
}

static void what_cannot_be_is_refused_and_nothing_set(void **state)
{
    const struct vt_cap_places places = caps_places();

    (void)state;
    caps_machine();
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "rapl=900", VT_ERR_USAGE), "outside 1..350 W"));
    assert_non_null(strstr(refusal(hold, "cpufreq=900MHz", VT_ERR_USAGE), "1000000..3500000 kHz"));
    assert_non_null(strstr(refusal(hold, "rapl/package-7=90", VT_ERR_USAGE), "package-0"));
    assert_non_null(strstr(refusal(hold, "rapk=90", VT_ERR_USAGE), "did you mean 'rapl'"));
    assert_non_null(strstr(refusal(hold, "rapl=90GHz", VT_ERR_USAGE), "not a number of W"));
    assert_non_null(strstr(refusal(hold, "rapl=nan", VT_ERR_USAGE), "not a number of W"));
    assert_non_null(strstr(refusal(hold, "rapl=-5", VT_ERR_USAGE), "not a number of W"));
    assert_non_null(strstr(refusal(hold, "rapl=", VT_ERR_USAGE), "a value is needed"));
    assert_non_null(strstr(refusal(hold, "MAXN", VT_ERR_USAGE), "KIND=VALUE"));
    assert_non_null(strstr(refusal(hold, "acpi=90", VT_ERR_UNAVAILABLE), "force_cap_on"));
    assert_true(caps_are_back());
    assert_int_equal(caps_records(), 0);
    vt_cap_hold_free(hold);
}

static void one_hold_at_a_time(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_error err = VT_ERROR_INIT;
    struct vt_cap_hold *second = NULL;

    (void)state;
    caps_machine();
    struct vt_cap_hold *hold = new_hold(&places);
    assert_int_equal(vt_cap_hold_new(&places, &err, &second), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "holds the caps"));
    vt_cap_hold_free(hold);
    hold = new_hold(&places);
    vt_cap_hold_free(hold);
}

/* --- deaths -------------------------------------------------------------------------------- */

/* A process that sets, again and again, and releases now and then; what it does not survive is up
 * to the test. Writes a byte when its first caps are set. */
static pid_t start_holder(const struct vt_cap_places *places, int *ret_ready, bool own_group)
{
    int line[2];
    char byte;

    assert_int_equal(pipe(line), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct vt_error err = VT_ERROR_INIT;
        (void)signal(SIGSEGV, SIG_DFL); /* the test's own is not to catch it */
        if (own_group) {
            (void)setpgid(0, 0);
        }
        for (int turn = 0;; turn++) {
            struct vt_cap_hold *hold = NULL;
            if (vt_cap_hold_new(places, &err, &hold) != VT_OK ||
                vt_cap_hold_ask(hold, "rapl=110", &err, NULL) != VT_OK ||
                vt_cap_hold_ask(hold, "cpufreq=2GHz", &err, NULL) != VT_OK ||
                vt_cap_hold_ask(hold, "rapl/package-1=95", &err, NULL) != VT_OK) {
                (void)fprintf(stderr, "%s\n", err.text);
                _exit(9);
            }
            if (turn == 0) {
                (void)!write(line[1], "k", 1);
            }
            vt_cap_hold_free(hold);
        }
    }
    (void)close(line[1]);
    if (ret_ready != NULL) {
        *ret_ready = line[0];
    } else {
        assert_int_equal(read(line[0], &byte, 1), 1);
        (void)close(line[0]);
    }
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void killed_at_any_time_caps_come_back(void **state)
{
    const struct vt_cap_places places = caps_places();
    unsigned seed = 1;

    (void)state;
    caps_machine();
    for (int i = 0; i < 40; i++) {
        int ready;
        const pid_t pid = start_holder(&places, &ready, false);
        caps_nap(rand_r(&seed) % 12000); /* also before the first set, and within a release */
        assert_int_equal(kill(pid, SIGKILL), 0);
        end(pid);
        (void)close(ready);
        /* Nobody does anything: the guardian does. */
        caps_await(caps_records() == 0 && caps_are_back());
        struct vt_cap_hold *hold = new_hold(&places);
        assert_true(caps_are_back());
        vt_cap_hold_free(hold);
    }
    assert_int_equal(caps_records(), 0);
}

/* The child of `pid` that guards; 0 for none. */
static pid_t guardian_of(pid_t pid)
{
    pid_t found = 0;
    DIR *dir = opendir("/proc");

    assert_non_null(dir);
    for (struct dirent *entry; found == 0 && (entry = readdir(dir)) != NULL;) {
        char path[300], text[512];
        (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        const size_t n = fread(text, 1, sizeof text - 1, file);
        text[n] = '\0';
        (void)fclose(file);
        const char *name = strstr(text, "(caps-guardian) ");
        if (name != NULL && strtol(name + 17, NULL, 10) == pid) { /* behind the state */
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        }
    }
    (void)closedir(dir);
    return found;
}

/* And the guardian before it: only the record is left. */
static void both_killed_at_any_time_the_record_puts_back(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_error err = VT_ERROR_INIT;
    unsigned seed = 2;
    int left_behind = 0;

    (void)state;
    caps_machine();
    for (int i = 0; i < 30; i++) {
        struct vt_cap_leftovers left = {0};
        int ready;
        const pid_t pid = start_holder(&places, &ready, false);
        caps_nap(rand_r(&seed) % 12000);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        const pid_t guardian = guardian_of(pid);
        if (guardian > 0) {
            assert_int_equal(kill(guardian, SIGKILL), 0);
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        end(pid);
        (void)close(ready);
        assert_int_equal(vt_cap_leftovers(&places, true, &err, &left), VT_OK);
        for (uint32_t k = 0; k < left.n; k++) {
            assert_int_equal(left.items[k].state, VT_CAP_LEFTOVER_RESTORED);
        }
        left_behind += left.n > 0;
        vt_cap_leftovers_release(&left);
        assert_true(caps_are_back());
        assert_int_equal(caps_files(""), 0);
    }
    assert_true(left_behind > 0);
}

static void signals_to_the_whole_group_too(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT};
    const struct vt_cap_places places = caps_places();

    (void)state;
    caps_machine();
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        const pid_t pid = start_holder(&places, NULL, true);
        assert_int_equal(kill(-pid, signals[i]), 0);
        end(pid);
        caps_await(caps_are_back() && caps_records() == 0);
    }
}

/* A holder that keeps its caps until it is killed. */
static pid_t start_keeper(const struct vt_cap_places *places)
{
    int line[2];
    char byte;

    assert_int_equal(pipe(line), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_cap_hold *hold = NULL;
        if (vt_cap_hold_new(places, &err, &hold) == VT_OK &&
            vt_cap_hold_ask(hold, "rapl=110", &err, NULL) == VT_OK &&
            vt_cap_hold_ask(hold, "cpufreq=2GHz", &err, NULL) == VT_OK) {
            (void)!write(line[1], "k", 1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(line[1]);
    assert_int_equal(read(line[0], &byte, 1), 1);
    (void)close(line[0]);
    return pid;
}

static void with_the_guardian_killed_the_record_is_left(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_leftovers left = {0};
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    caps_machine();
    const pid_t pid = start_keeper(&places);
    const pid_t guardian = guardian_of(pid);
    assert_true(guardian > 0);
    /* While it lives, its record is its own. */
    assert_int_equal(vt_cap_leftovers(&places, true, &err, &left), VT_OK);
    assert_int_equal(left.n, 1);
    assert_int_equal(left.items[0].state, VT_CAP_LEFTOVER_HELD);
    assert_int_equal(left.items[0].owner, pid);
    assert_int_equal(caps_number(LIMIT0), 110000000);
    vt_cap_leftovers_release(&left);
    assert_int_equal(kill(guardian, SIGKILL), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    end(pid);
    caps_nap(50000);
    assert_int_equal(caps_number(LIMIT0), 110000000);
    assert_int_equal(caps_number(FREQ1), 2000000);
    /* It is told of, and put back when asked. */
    assert_int_equal(vt_cap_leftovers(&places, false, &err, &left), VT_OK);
    assert_int_equal(left.n, 1);
    assert_int_equal(left.items[0].state, VT_CAP_LEFTOVER_WAITS);
    assert_int_equal(left.items[0].n_caps, 4);
    assert_string_equal(left.items[0].text, "rapl package-0, rapl package-1, cpufreq policy0, "
                                            "cpufreq policy1");
    vt_cap_leftovers_release(&left);
    assert_int_equal(vt_cap_leftovers(&places, true, &err, &left), VT_OK);
    assert_int_equal(left.items[0].state, VT_CAP_LEFTOVER_RESTORED);
    vt_cap_leftovers_release(&left);
    assert_true(caps_are_back());
    assert_int_equal(caps_records(), 0);
}

static void the_next_hold_puts_back_first(void **state)
{
    const struct vt_cap_places places = caps_places();

    (void)state;
    caps_machine();
    const pid_t pid = start_keeper(&places);
    assert_int_equal(kill(guardian_of(pid), SIGKILL), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    end(pid);
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(vt_cap_hold_note(hold), "left behind: rapl package-0"));
    assert_true(caps_are_back());
    ask(hold, "rapl=100");
    vt_cap_hold_free(hold);
    assert_true(caps_are_back());
}

static void without_a_guardian_nothing_more_is_set(void **state)
{
    const struct vt_cap_places places = caps_places();

    (void)state;
    caps_machine();
    struct vt_cap_hold *hold = new_hold(&places);
    ask(hold, "rapl=110");
    assert_int_equal(kill(guardian_of(getpid()), SIGKILL), 0);
    assert_non_null(strstr(refusal(hold, "cpufreq=2GHz", VT_ERR_SYSTEM), "was killed"));
    assert_int_equal(caps_number(FREQ0), 3400000);
    vt_cap_hold_free(hold);
    assert_true(caps_are_back());
    assert_int_equal(caps_records(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(all_sockets_are_set_and_put_back),
        TEST(a_limit_that_is_switched_off_is_told),
        TEST(watts_alone_go_to_the_processor),
        TEST(what_cannot_be_is_refused_and_nothing_set),
        TEST(one_hold_at_a_time),
        TEST(killed_at_any_time_caps_come_back),
        TEST(both_killed_at_any_time_the_record_puts_back),
        TEST(signals_to_the_whole_group_too),
        TEST(with_the_guardian_killed_the_record_is_left),
        TEST(the_next_hold_puts_back_first),
        TEST(without_a_guardian_nothing_more_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
