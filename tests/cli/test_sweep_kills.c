/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep with caps that is killed with -9 at any moment: caps come back, no finished point is lost
 * or made again, and it goes on to what it would have been. */
#include "sweeps.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap_ms(int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* Starts a sweep of eight points in `folder` and kills it after a while. */
static void sweep_and_kill(const char *folder, int after_ms)
{
    char output[64];
    int status;

    (void)snprintf(output, sizeof output, "--output=%s", folder);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (chdir(work_folder) != 0 || freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL) {
            _exit(99);
        }
        (void)execl(VATIO_PROGRAM, "vatio", "sweep", "digits", "--batch=1..8", "--cap=100,150",
                    "--sysfs=sys", output, COMMON, NULL);
        _exit(97);
    }
    nap_ms(after_ms);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* The guardian puts the cap back and lets go of the machine. */
static void assert_caps_come_back(void)
{
    for (int waited = 0; waited < 20000; waited += 5) {
        char command[256];
        (void)snprintf(command, sizeof command, "ls %s/caps-* >/dev/null 2>&1",
                       work_path("records"));
        if (limit_is(LIMIT_THERE) && system(command) != 0) {
            return;
        }
        nap_ms(5);
    }
    fail_msg("the cap did not come back");
}

/* When the result of every done point was written: it must not be written again. */
static size_t note_done(const char *folder, struct timespec written[8])
{
    char path[512];
    struct stat info;
    size_t n = 0;

    memset(written, 0, 8 * sizeof written[0]);
    (void)snprintf(path, sizeof path, "%s/%s/sweep.json", work_folder, folder);
    if (access(path, F_OK) != 0) {
        return 0; /* killed before anything was there */
    }
    json_t *sweep = read_json(folder, "sweep.json");
    assert_non_null(sweep); /* at any moment it is whole */
    const json_t *points = json_object_get(sweep, "points");
    assert_int_equal(json_array_size(points), 8);
    for (size_t i = 0; i < 8; i++) {
        const json_t *point = json_array_get(points, i);
        (void)snprintf(path, sizeof path, "%s/%s/points/%s/result.json", work_folder, folder,
                       text_of(point, "id"));
        if (strcmp(text_of(point, "state"), "done") == 0) {
            assert_int_equal(stat(path, &info), 0);
            written[i] = info.st_mtim;
            n++;
        }
    }
    json_decref(sweep);
    return n;
}

static void assert_complete(const char *folder, const struct timespec written[8])
{
    struct timespec now[8];

    assert_int_equal(note_done(folder, now), 8);
    for (size_t i = 0; i < 8; i++) {
        bool was_done = written[i].tv_sec != 0;
        assert_true(!was_done ||
                    (now[i].tv_sec == written[i].tv_sec && now[i].tv_nsec == written[i].tv_nsec));
    }
}

/* The points of a sweep without what was measured. */
static json_t *skeleton(const char *folder)
{
    json_t *sweep = read_json(folder, "sweep.json"), *list = json_array();
    const json_t *points = json_object_get(sweep, "points");

    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        (void)json_array_append_new(list, json_pack("{s:O,s:O,s:O,s:O,s:O}", "id",
                                                    json_object_get(point, "id"), "axes",
                                                    json_object_get(point, "axes"), "state",
                                                    json_object_get(point, "state"), "repeat",
                                                    json_object_get(point, "repeat"), "position",
                                                    json_object_get(point, "position")));
    }
    json_decref(sweep);
    return list;
}

static void test_killed_at_any_moment(void **state)
{
    struct timespec written[8], begin, end;
    size_t kept = 0, none = 0;
    (void)state;

    make_machine();
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    struct outcome run = vatio("sweep", "digits", "--batch=1..8", "--cap=100,150", "--sysfs=sys",
                               "--output=calm", COMMON, NULL);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    int whole_ms =
        (int)((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
    json_t *calm = skeleton("calm");
    for (int i = 0; i < KILLS; i++) {
        char folder[32], resume[64];
        (void)snprintf(folder, sizeof folder, "killed%d", i);
        (void)snprintf(resume, sizeof resume, "--resume=%s", folder);
        /* Spread over the whole of it, at odd places. */
        sweep_and_kill(folder, (whole_ms * i + whole_ms * ((i * 37) % 101) / 101) / KILLS);
        assert_caps_come_back();
        size_t done = note_done(folder, written);
        kept += done;
        none += done == 0;
        char path[128];
        (void)snprintf(path, sizeof path, "%s/sweep.json", folder);
        if (access(work_path(path), F_OK) != 0) {
            continue; /* killed before there was anything to go on with */
        }
        run = vatio("sweep", resume, NULL);
        if (run.code != 0) {
            print_message("%s: %d %s\n%s\n", folder, run.code, run.err, run.out);
        }
        assert_int_equal(run.code, 0);
        outcome_free(&run);
        assert_true(limit_is(LIMIT_THERE));
        assert_complete(folder, written);
        json_t *points = skeleton(folder);
        assert_true(json_equal(points, calm));
        json_decref(points);
    }
    json_decref(calm);
    print_message("%d kills; %zu finished points kept, %zu kills before the first one\n", KILLS,
                  kept, none);
    assert_true(kept > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_any_moment)};
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
