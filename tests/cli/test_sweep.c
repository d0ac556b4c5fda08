/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps as a user makes them: what they leave, how they go on, and that kill -9 loses nothing. */
#include "vatio.h"

#include "vt_test.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often the program is killed; 10 beside the other tests, more in a program of their own. */
#ifndef KILLS
#define KILLS 10
#endif

#define COMMON "--engine=null", "--duration=20ms", "--warm-up=0s", "--meter=none"

static json_t *read_json(const char *folder, const char *name)
{
    char path[512];
    json_error_t error;

    (void)snprintf(path, sizeof path, "%s/%s/%s", work_folder, folder, name);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        print_message("%s: %s (line %d)\n", path, error.text, error.line);
    }
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static size_t count_state(const json_t *sweep, const char *state)
{
    const json_t *points = json_object_get(sweep, "points");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(points); i++) {
        n += strcmp(text_of(json_array_get(points, i), "state"), state) == 0;
    }
    return n;
}

static void test_points_and_sweep_json(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2..8", "--lanes=1,2", "--repeats=2",
                               "--output=whole", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "16 points, 2 repeats, order random"));
    assert_non_null(strstr(run.out, "recommended"));
    outcome_free(&run);

    json_t *sweep = read_json("whole", "sweep.json");
    assert_non_null(sweep);
    assert_string_equal(text_of(sweep, "kind"), "sweep");
    assert_true(json_is_false(json_object_get(sweep, "partial")));
    assert_int_equal(count_state(sweep, "done"), 16);
    const json_t *points = json_object_get(sweep, "points");
    const json_t *point = json_array_get(points, 6); /* lanes 2, batch 4, the first repeat */
    assert_string_equal(text_of(point, "id"), "p0007");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(point, "axes"), "batch")),
                     4);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(point, "axes"), "lanes")),
                     2);

    /* What the point says is what its run left. */
    json_t *result = read_json("whole/points/p0007", "result.json");
    assert_non_null(result);
    json_t *entry = result_of(result, "offline", "performance");
    assert_non_null(entry);
    double there = json_number_value(json_object_get(json_object_get(entry, "metric"), "value"));
    assert_true(there > 0 &&
                there == json_number_value(json_object_get(point, "samples_per_second")));
    const json_t *engine = json_object_get(result, "engine");
    assert_int_equal(json_integer_value(json_object_get(engine, "lanes")), 2);
    assert_int_equal(json_integer_value(json_object_get(engine, "batch_max")), 4);
    json_decref(result);

    const json_t *analysis = json_object_get(sweep, "analysis");
    assert_true(json_array_size(json_object_get(analysis, "statements")) >= 3);
    const json_t *lines =
        json_object_get(json_object_get(analysis, "series"), "throughput_over_batch");
    assert_int_equal(json_array_size(lines), 2); /* one a number of lanes */
    assert_int_equal(json_array_size(json_object_get(json_array_get(lines, 0), "points")), 4);
    assert_true(json_is_object(json_object_get(analysis, "recommended")));
    json_decref(sweep);
}

/* --- caps and energy ------------------------------------------------------------------------- */

#define ZONE        "sys/class/powercap/intel-rapl:0"
#define LIMIT       ZONE "/constraint_1_power_limit_uw"
#define LIMIT_THERE "225000000\n"

/* A machine of files below the work folder whose package can be capped. */
static void make_machine(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {ZONE "/name", "package-0\n"},
        {ZONE "/enabled", "0\n"},
        {ZONE "/constraint_0_name", "short_term\n"},
        {ZONE "/constraint_0_power_limit_uw", "400000000\n"},
        {ZONE "/constraint_1_name", "long_term\n"},
        {LIMIT, LIMIT_THERE},
        {ZONE "/constraint_1_max_power_uw", "350000000\n"},
    };
    char command[256];

    (void)snprintf(command, sizeof command, "mkdir -p %s", work_path(ZONE));
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_work_file(files[i].name, files[i].text, strlen(files[i].text));
    }
    assert_int_equal(setenv("VATIO_CAP_RECORDS", work_path("records"), 1), 0);
}

static bool limit_is(const char *wanted)
{
    char text[32] = "";
    FILE *file = fopen(work_path(LIMIT), "r");

    assert_non_null(file);
    if (fgets(text, sizeof text, file) == NULL) {
        text[0] = '\0';
    }
    (void)fclose(file);
    return strtol(text, NULL, 10) == strtol(wanted, NULL, 10);
}

static void test_caps_are_held_and_put_back(void **state)
{
    (void)state;
    make_machine();
    struct outcome run = vatio("sweep", "digits", "--batch=1,2,4", "--cap=100,150..200",
                               "--sysfs=sys", "--output=capped", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_true(limit_is(LIMIT_THERE));
    json_t *sweep = read_json("capped", "sweep.json");
    assert_non_null(sweep);
    assert_int_equal(count_state(sweep, "done"), 9);
    assert_non_null(strstr(text_of(sweep, "caps"), "package-0 back to 225 W"));
    const json_t *points = json_object_get(sweep, "points");
    for (size_t i = 0; i < 9; i++) {
        const json_t *point = json_array_get(points, i);
        assert_true(json_number_value(json_object_get(point, "enforced_cap")) ==
                    json_number_value(json_object_get(json_object_get(point, "axes"), "cap")));
    }
    json_decref(sweep);
    outcome_free(&run);
    /* Other caps are another sweep; one beyond the bounds is a point that fails. */
    assert_one_error(vatio("sweep", "digits", "--batch=1,2,4", "--cap=rapl=100,150,200",
                           "--sysfs=sys", "--output=capped", COMMON, NULL),
                     2, "the caps");
    run = vatio("sweep", "digits", "--batch=1", "--cap=rapl=100,100000", "--order=full",
                "--sysfs=sys", "--output=beyond", COMMON, NULL);
    assert_int_equal(run.code, 1);
    assert_non_null(strstr(run.out, "failed: cap:"));
    assert_true(limit_is(LIMIT_THERE));
    outcome_free(&run);
    /* Where nothing can be capped a sweep does not begin. */
    run = vatio("sweep", "digits", "--batch=1", "--cap=rapl=100", "--sysfs=none", "--output=bare",
                COMMON, NULL);
    assert_true(run.code != 0);
    assert_non_null(strstr(run.err, "--cap: "));
    assert_int_equal(access(work_path("bare"), F_OK), -1);
    outcome_free(&run);
    assert_one_error(vatio("sweep", "digits", "--cap=nosuch=100", NULL), 2, "no cap \"nosuch\"");
}

/* 50 W all the time: joules a sample are 50 / samples/s, within the meter's uncertainty. */
static void test_energy_of_a_replayed_curve(void **state)
{
    char curve[16384];
    size_t used = 0;
    (void)state;

    for (int i = 0; i <= 1000; i++) {
        used +=
            (size_t)snprintf(curve + used, sizeof curve - used, "%d.%02d,50\n", i / 100, i % 100);
    }
    write_work_file("curve.csv", curve, used);
    struct outcome run = vatio("sweep", "digits", "--batch=1,2,4", "--repeats=2", "--engine=null",
                               "--duration=500ms", "--warm-up=0s", "--meter=replay",
                               "--replay=curve.csv", "--output=energy", NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "J/sample against latency"));
    assert_non_null(strstr(run.out, "comes from the meter replay"));
    outcome_free(&run);
    json_t *sweep = read_json("energy", "sweep.json");
    assert_non_null(sweep);
    const json_t *points = json_object_get(sweep, "points");
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        double joules = json_number_value(json_object_get(point, "joules_per_sample"));
        double watts = json_number_value(json_object_get(point, "mean_watts"));
        double share =
            json_number_value(json_object_get(point, "joules_per_sample_uncertainty")) / joules;
        assert_true(joules > 0 && watts > 50 * (1 - share - 1e-9) &&
                    watts < 50 * (1 + share + 1e-9));
        assert_string_equal(text_of(point, "meter"), "replay");
    }
    const json_t *analysis = json_object_get(sweep, "analysis");
    assert_true(json_array_size(json_object_get(analysis, "pareto_latency")) > 0);
    assert_true(json_array_size(json_object_get(analysis, "pareto_throughput")) > 0);
    assert_non_null(strstr(text_of(json_object_get(analysis, "recommended"), "text"),
                           "the least energy a sample"));
    json_decref(sweep);
}

/* --- standard output ------------------------------------------------------------------------- */

static void test_json_alone_on_standard_output(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--json", "--output=json", COMMON, NULL);
    assert_int_equal(run.code, 0);
    json_t *sweep = run_json(&run);
    assert_int_equal(count_state(sweep, "done"), 2);
    assert_non_null(strstr(run.err, "p0001"));
    json_decref(sweep);
    outcome_free(&run);
}

static void test_a_complete_sweep_is_shown_again(void **state)
{
    (void)state;
    struct outcome first = vatio("sweep", "digits", "--batch=1,2", "--output=again", COMMON, NULL);
    struct outcome second =
        vatio("sweep", "digits", "--batch=1..2", "--output=again", COMMON, NULL);
    assert_int_equal(second.code, 0);
    assert_non_null(strstr(second.out, "2 points done before, 0 to go"));
    /* The table is the same, the points were not measured again. */
    const char *a = strstr(first.out, "setting"), *b = strstr(second.out, "setting");
    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a, b);
    outcome_free(&first);
    outcome_free(&second);
}

static void test_another_sweep_is_refused(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2", "--output=mine", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    assert_one_error(vatio("sweep", "digits", "--batch=1,2,4", "--output=mine", COMMON, NULL), 2,
                     "other values of --batch");
    assert_one_error(
        vatio("sweep", "digits", "--batch=1,2", "--lanes=1", "--output=mine", COMMON, NULL), 2,
        "other values of --lanes");
    assert_one_error(
        vatio("sweep", "digits", "--batch=1,2", "--repeats=2", "--output=mine", COMMON, NULL), 2,
        "--repeats \"1\", this one \"2\"");
    assert_one_error(vatio("sweep", "digits", "--batch=1,2", "--output=mine", "--engine=null",
                           "--duration=30ms", "--warm-up=0s", NULL),
                     2, "--duration=20ms");
    assert_one_error(
        vatio("sweep", VATIO_DIGITS_ONNX, "--batch=1,2", "--output=mine", COMMON, NULL), 2,
        "the model \"digits\"");
    /* How a sweep goes about it may change. */
    run = vatio("sweep", "digits", "--batch=1,2", "--output=mine", "--pause=1ms", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
}

static void test_a_changed_model_is_refused(void **state)
{
    char *bytes;
    long size;
    (void)state;

    FILE *file = fopen(VATIO_DIGITS_ONNX, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    (void)fclose(file);
    write_work_file("model.onnx", bytes, (size_t)size);
    struct outcome run =
        vatio("sweep", "model.onnx", "--batch=1", "--output=changed", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    bytes[size] = 0;
    write_work_file("model.onnx", bytes, (size_t)size + 1);
    assert_one_error(vatio("sweep", "--resume=changed", NULL), 2, "has changed since");
    free(bytes);
}

static void test_a_spoilt_sweep_json_is_refused(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2", "--output=spoilt", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    write_work_file("spoilt/sweep.json", "{\"kind\": \"sweep\",", 17);
    assert_one_error(vatio("sweep", "--resume=spoilt", NULL), 3, "sweep.json");
    assert_one_error(vatio("sweep", "digits", "--batch=1,2", "--output=spoilt", COMMON, NULL), 3,
                     "take another folder");
    assert_one_error(vatio("sweep", "--resume=nowhere", NULL), 3, "nowhere/sweep.json");
}

static void test_bad_options(void **state)
{
    (void)state;
    assert_one_error(vatio("sweep", NULL), 2, "one model is needed");
    assert_one_error(vatio("sweep", "a", "b", NULL), 2, "one model is needed");
    assert_one_error(vatio("sweep", "digits", "--batch=0", NULL), 2, "--batch: 0: allowed");
    assert_one_error(vatio("sweep", "digits", "--batch=1..", NULL), 2, "--batch: a number");
    assert_one_error(vatio("sweep", "digits", "--engine=native,", NULL), 2, "--engine: a name");
    assert_one_error(vatio("sweep", "digits", "--scenario=offlime", NULL), 2, "--scenario");
    assert_one_error(vatio("sweep", "digits", "--cool-to=hot", NULL), 2, "--cool-to hot");
    assert_one_error(vatio("sweep", "digits", "--batch=1..1024:1", NULL), 2, "more than 256");
    assert_one_error(vatio("sweep", "digits", "--batch=1..200:1", "--lanes=1..200:1", NULL), 2,
                     "more than 4096 points");
    assert_one_error(vatio("sweep", "no.onnx", NULL), 3, "no.onnx");
    /* An option that no point can have: nothing is left behind. */
    struct outcome run = vatio("sweep", "digits", "--engine=nosuch", "--output=none", NULL);
    assert_int_equal(run.code, 2);
    assert_non_null(strstr(run.err, "no engine 'nosuch'"));
    assert_int_equal(access(work_path("none"), F_OK), -1);
    outcome_free(&run);
}

/* A point that takes too long has failed, and is measured again when that is asked for. */
static void test_failed_points(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--output=failed", "--engine=null",
              "--duration=20ms", "--warm-up=0s", "--meter=none", "--point-limit=1ms", NULL);
    assert_int_equal(run.code, 4);
    assert_non_null(strstr(run.out, "failed: not done after 1ms (--point-limit)"));
    outcome_free(&run);
    run = vatio("sweep", "digits", "--batch=1,2", "--output=failed", COMMON, NULL);
    assert_int_equal(run.code, 4);
    assert_non_null(strstr(run.out, "0 to go"));
    outcome_free(&run);
    run =
        vatio("sweep", "digits", "--batch=1,2", "--output=failed", "--retry-failed", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
}

/* A crash costs the points of that engine and no other. */
static void test_an_engine_that_crashes(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--engine=null," VT_TEST_CRASHING,
              "--duration=20ms", "--warm-up=0s", "--meter=none", "--output=crashed", NULL);
    assert_int_equal(run.code, 1);
    assert_non_null(strstr(run.out, "its process was ended by signal 11"));
    outcome_free(&run);
    json_t *sweep = read_json("crashed", "sweep.json");
    assert_non_null(sweep);
    assert_int_equal(count_state(sweep, "done"), 2);
    assert_int_equal(count_state(sweep, "failed"), 2);
    json_decref(sweep);
}

/* A processor that stays at 81 degrees. */
static void test_cooling_is_bounded(void **state)
{
    char command[256];
    (void)state;

    (void)snprintf(command, sizeof command, "mkdir -p %s", work_path("warm/class/hwmon/hwmon0"));
    assert_int_equal(system(command), 0);
    write_work_file("warm/class/hwmon/hwmon0/name", "coretemp\n", 9);
    write_work_file("warm/class/hwmon/hwmon0/temp1_label", "Package id 0\n", 13);
    write_work_file("warm/class/hwmon/hwmon0/temp1_input", "81000\n", 6);
    struct outcome run = vatio("sweep", "digits", "--batch=1", "--cool-to=55C", "--cool-limit=50ms",
                               "--sysfs=warm", "--output=warm_sweep", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.err, "still 81.0"));
    outcome_free(&run);
    json_t *sweep = read_json("warm_sweep", "sweep.json");
    assert_non_null(sweep);
    assert_true(
        json_number_value(json_object_get(json_array_get(json_object_get(sweep, "points"), 0),
                                          "start_temperature_c")) == 81);
    assert_non_null(strstr(text_of(sweep, "cooling"), "at most 55"));
    json_decref(sweep);
    /* Cool enough: nothing is waited for. */
    run = vatio("sweep", "digits", "--batch=1", "--cool-to=90C", "--cool-limit=1h", "--sysfs=warm",
                "--output=cool_sweep", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_string_equal(run.err, "");
    outcome_free(&run);
    run = vatio("sweep", "digits", "--batch=1", "--cool-to=55C", "--cool-limit=1h", "--sysfs=none",
                "--nvml-library=/none.so", "--output=blind", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.err, "points do not wait"));
    outcome_free(&run);
}

static void test_beyond_the_knee_points_are_left_out(void **state)
{
    (void)state;
    /* One sample is all there is: no batch is faster than another by half. */
    struct outcome run = vatio("sweep", "digits", "--batch=1..64", "--until-knee",
                               "--knee-tolerance=50", "--sample-count=1", "--output=knee",
                               "--engine=native", "--duration=20ms", "--warm-up=0s", NULL);
    assert_int_equal(run.code, 0);
    json_t *sweep = read_json("knee", "sweep.json");
    assert_non_null(sweep);
    assert_true(count_state(sweep, "skipped") > 0);
    assert_int_equal(count_state(sweep, "skipped") + count_state(sweep, "done"), 7);
    assert_non_null(strstr(run.out, "skipped: beyond the knee"));
    json_decref(sweep);
    outcome_free(&run);
}

/* As a shell in which somebody presses Ctrl-C. */
static void test_interrupted_and_gone_on_with(void **state)
{
    (void)state;
    struct outcome run = vatio_interrupted(700, "sweep", "digits", "--batch=1..32", "--repeats=3",
                                           "--output=stopped", "--engine=null", "--duration=100ms",
                                           "--warm-up=0s", NULL);
    assert_int_equal(run.code, 130);
    assert_non_null(strstr(run.err, "vatio sweep --resume stopped"));
    json_t *sweep = read_json("stopped", "sweep.json");
    assert_non_null(sweep);
    assert_true(json_is_true(json_object_get(sweep, "partial")));
    assert_true(count_state(sweep, "pending") > 0);
    assert_int_equal(count_state(sweep, "failed"), 0);
    json_decref(sweep);
    outcome_free(&run);
    run = vatio("sweep", "--resume=stopped", NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "going on"));
    outcome_free(&run);
    sweep = read_json("stopped", "sweep.json");
    assert_int_equal(count_state(sweep, "done"), 18);
    json_decref(sweep);
}

/* --- kill -9 --------------------------------------------------------------------------------- */

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_and_sweep_json),
        cmocka_unit_test(test_caps_are_held_and_put_back),
        cmocka_unit_test(test_energy_of_a_replayed_curve),
        cmocka_unit_test(test_json_alone_on_standard_output),
        cmocka_unit_test(test_a_complete_sweep_is_shown_again),
        cmocka_unit_test(test_another_sweep_is_refused),
        cmocka_unit_test(test_a_changed_model_is_refused),
        cmocka_unit_test(test_a_spoilt_sweep_json_is_refused),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_failed_points),
        cmocka_unit_test(test_an_engine_that_crashes),
        cmocka_unit_test(test_cooling_is_bounded),
        cmocka_unit_test(test_beyond_the_knee_points_are_left_out),
        cmocka_unit_test(test_interrupted_and_gone_on_with),
        cmocka_unit_test(test_killed_at_any_moment),
    };
    const struct CMUnitTest kills[] = {cmocka_unit_test(test_killed_at_any_moment)};

    return KILLS == 10 ? cmocka_run_group_tests(tests, make_work_folder, remove_work_folder)
                       : cmocka_run_group_tests(kills, make_work_folder, remove_work_folder);
}
