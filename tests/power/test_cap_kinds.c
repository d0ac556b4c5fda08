/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of caps through a hold: NVIDIA's limit and clocks over a fake library, modes of a Jetson
 * over a stand-in for nvpmodel, hwmon. */
#include "caps.h"

#include <math.h>

#include "power/cap/nvpmodel_conf.h"

static const char conf_text[] = "# a board\n"
                                "< PARAM TYPE=FILE NAME=CPU_ONLINE >\n"
                                "CORE_1 /sys/devices/system/cpu/cpu1/online\n"
                                "< PARAM TYPE=CLOCK NAME=GPU >\n"
                                "MAX_FREQ /sys/devices/gpu/max_freq\n"
                                "< POWER_MODEL ID=0 NAME=MAXN >\n"
                                "CPU_ONLINE CORE_1 1\n"
                                "GPU MAX_FREQ -1\n"
                                "\n"
                                "< POWER_MODEL ID=1 NAME=15W >\n"
                                "CPU_ONLINE CORE_1 0\n"
                                "< POWER_MODEL ID=2 NAME=30W >\n"
                                "< POWER_MODEL ID=3 NAME=50W >\n"
                                "< PM_CONFIG DEFAULT=2 >\n";

static struct vt_cap_hold *new_hold(const struct vt_cap_places *places)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_cap_hold *hold = NULL;

    if (vt_cap_hold_new(places, &err, &hold) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return hold;
}

static double ask(struct vt_cap_hold *hold, const char *wish)
{
    struct vt_error err = VT_ERROR_INIT;
    double enforced = 0;

    if (vt_cap_hold_ask(hold, wish, &err, &enforced) != VT_OK) {
        fail_msg("%s: %s", wish, err.text);
    }
    return enforced;
}

static const char *refusal(struct vt_cap_hold *hold, const char *wish, enum vt_status status)
{
    static struct vt_error err;

    memset(&err, 0, sizeof err);
    assert_int_equal(vt_cap_hold_ask(hold, wish, &err, NULL), status);
    assert_null(strchr(err.text, '\n'));
    return err.text;
}

static void release(struct vt_cap_hold *hold)
{
    struct vt_error err = VT_ERROR_INIT;

    if (vt_cap_hold_release(hold, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(caps_files(""), 0);
    vt_cap_hold_free(hold);
}

/* --- NVIDIA -------------------------------------------------------------------------------- */

static struct vt_cap_places gpus(const char *library, const char *words)
{
    struct vt_cap_places places = caps_places();

    assert_int_equal(setenv("VT_FAKE_NVML", words, 1), 0);
    assert_int_equal(setenv("VT_FAKE_NVML_STATE", tree_root, 1), 0);
    places.nvml_library = library;
    return places;
}

/* The limit in mW or the highest clock that the fake holds. */
static unsigned fake(const char *name)
{
    char path[512], text[64] = "0 0", *rest = text;

    tree_path(path, name);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)!fgets(text, sizeof text, file);
        (void)fclose(file);
    }
    (void)strtoul(text, &rest, 10);
    return (unsigned)strtoul(rest, NULL, 10);
}

static void the_limit_of_gpus_is_set_and_put_back(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "gpus=2 late");
    uint32_t n = 0;

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_near(ask(hold, "300W"), 300.0);
    assert_int_equal(fake("gpu0"), 300000);
    assert_int_equal(fake("gpu1"), 300000);
    assert_near(ask(hold, "nvml/gpu1=450.5"), 450.5);
    assert_int_equal(fake("gpu1"), 450500);
    assert_non_null(strstr(refusal(hold, "nvml=100", VT_ERR_USAGE), "outside 200..700 W"));
    const struct vt_cap_held *rows = vt_cap_hold_list(hold, &n);
    assert_int_equal(n, 2);
    assert_near(rows[1].previous, 500.0); /* not the default, 700 W */
    release(hold);
    assert_int_equal(fake("gpu0"), 500000);
    assert_int_equal(fake("gpu1"), 500000);
}

static void a_limit_that_does_not_stick_is_told(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "slip");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvml=300", VT_ERR_ENGINE),
                           "300 W were asked for and 500 W are enforced"));
    release(hold);
}

static void what_is_refused_names_the_right(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "refuse");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvml=300", VT_ERR_WRITE), "CAP_SYS_ADMIN"));
    assert_non_null(strstr(refusal(hold, "nvml-clocks=1400", VT_ERR_WRITE), "CAP_SYS_ADMIN"));
    release(hold);
}

static void clocks_are_locked_in_the_place_of_a_limit(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "nolimit");
    uint32_t n = 0;

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_true(isnan(ask(hold, "nvml=350W")));
    assert_int_equal(fake("clocks0"), 990); /* half of the default limit, half of the clock */
    const struct vt_cap_held *rows = vt_cap_hold_list(hold, &n);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].kind->name, "nvml-clocks");
    assert_near(rows[0].enforced, 990.0);
    assert_non_null(strstr(rows[0].note, "in place of 350 W"));
    assert_non_null(strstr(rows[0].note, "not supported"));
    release(hold);
    assert_int_equal(fake("clocks0"), 1980);
}

static void without_a_limit_to_compare_with_there_is_no_stand_in(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "nolimit unreadable");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvml=350", VT_ERR_UNSUPPORTED), "not supported"));
    release(hold);
}

static void clocks_may_be_asked_for(void **state)
{
    struct vt_cap_places places = gpus(VT_TEST_NVML, "");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_near(ask(hold, "nvml-clocks=1.41GHz"), 1410.0);
    assert_int_equal(fake("clocks0"), 1410);
    assert_non_null(strstr(refusal(hold, "nvml-clocks=100", VT_ERR_USAGE), "345..1980 MHz"));
    release(hold);
    assert_int_equal(fake("clocks0"), 1980);
    assert_int_equal(setenv("VT_FAKE_NVML", "gallop", 1), 0);
    hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvml-clocks=1400", VT_ERR_ENGINE), "1980 MHz are"));
    release(hold);
}

static void an_old_library_cannot(void **state)
{
    struct vt_cap_places places = gpus(VT_TEST_NVML_OLD, "");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvml=300", VT_ERR_UNAVAILABLE), "cannot limit power"));
    assert_non_null(
        strstr(refusal(hold, "nvml-clocks=300", VT_ERR_UNAVAILABLE), "cannot limit clocks"));
    places.nvml_library = "libno-such.so";
    release(hold);
    hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "250W", VT_ERR_UNAVAILABLE), "limits watts"));
    release(hold);
}

/* --- deaths of holders --------------------------------------------------------------------- */

/* A process that asks for the wishes, says that it has them, and waits. */
static pid_t start_keeper(const struct vt_cap_places *places, const char *wish, bool wait)
{
    int line[2];
    char byte;

    assert_int_equal(pipe(line), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_cap_hold *hold = NULL;
        const bool held = vt_cap_hold_new(places, &err, &hold) == VT_OK;
        if (!wait) {
            (void)!write(line[1], "k", 1);
        }
        if (held && vt_cap_hold_ask(hold, wish, &err, NULL) == VT_OK && wait) {
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

static void kill_holder(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_guardian_puts_gpus_back(void **state)
{
    const struct vt_cap_places places = gpus(VT_TEST_NVML, "gpus=2");

    (void)state;
    kill_holder(start_keeper(&places, "nvml=300", true));
    caps_await(fake("gpu0") == 500000 && fake("gpu1") == 500000 && caps_records() == 0);
    assert_int_equal(setenv("VT_FAKE_NVML", "nolimit", 1), 0);
    kill_holder(start_keeper(&places, "nvml=350", true));
    caps_await(fake("clocks0") == 1980 && caps_records() == 0);
}

/* --- Jetson -------------------------------------------------------------------------------- */

static char mode_path[512];

static struct vt_cap_places jetson(const char *as)
{
    static char conf[512];
    struct vt_cap_places places = caps_places();

    tree_put("nvpmodel.conf", conf_text);
    tree_put("mode", "2");
    tree_path(conf, "nvpmodel.conf");
    tree_path(mode_path, "mode");
    assert_int_equal(setenv("VT_FAKE_NVPMODEL", mode_path, 1), 0);
    assert_int_equal(setenv("VT_FAKE_NVPMODEL_AS", as, 1), 0);
    places.nvpmodel = VT_TEST_NVPMODEL;
    places.nvpmodel_conf = conf;
    return places;
}

static void modes_by_number_and_name(void **state)
{
    const struct vt_cap_places places = jetson("offline");
    uint32_t n = 0;

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_near(ask(hold, "nvpmodel=0"), 0.0); /* although it returned 255 */
    assert_int_equal(caps_number("mode"), 0);
    assert_near(ask(hold, "nvpmodel=15W"), 1.0); /* a name, no number of watts */
    assert_int_equal(caps_number("mode"), 1);
    assert_near(vt_cap_hold_list(hold, &n)[0].previous, 2.0);
    assert_non_null(strstr(refusal(hold, "nvpmodel=7", VT_ERR_USAGE), "outside 0..3 mode"));
    assert_non_null(strstr(refusal(hold, "nvpmodel=LOUD", VT_ERR_USAGE), "no mode \"LOUD\""));
    release(hold);
    assert_int_equal(caps_number("mode"), 2);
}

static void a_mode_that_needs_a_restart_is_refused(void **state)
{
    struct vt_cap_places places = jetson("");
    char path[512];

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvpmodel=3", VT_ERR_WRITE), "--allow-reboot"));
    tree_path(path, "mode.reboot");
    assert_int_not_equal(access(path, F_OK), 0);
    release(hold);
    places.allow_reboot = true;
    hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvpmodel=3", VT_ERR_WRITE), "told to restart"));
    assert_int_equal(access(path, F_OK), 0);
    release(hold);
}

static void what_nvpmodel_says_is_not_believed(void **state)
{
    struct vt_cap_places places = jetson("deaf");

    (void)state;
    struct vt_cap_hold *hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvpmodel=1", VT_ERR_WRITE), "left mode 2"));
    release(hold);
    places = jetson("silent");
    hold = new_hold(&places);
    assert_non_null(strstr(refusal(hold, "nvpmodel=1", VT_ERR_READ), "does not tell the mode"));
    places.nvpmodel = "/no/such/nvpmodel";
    assert_non_null(strstr(refusal(hold, "nvpmodel=1", VT_ERR_UNAVAILABLE), "no such program"));
    places.nvpmodel_conf = "/no/such/conf";
    assert_non_null(strstr(refusal(hold, "nvpmodel=1", VT_ERR_UNAVAILABLE), "only Jetson"));
    release(hold);
}

/* The holder dies while nvpmodel still works for it: the guardian waits for that one's end, so
 * that the late change does not come after what is put back. */
static void killed_while_a_mode_is_changed(void **state)
{
    const struct vt_cap_places places = jetson("slow");

    (void)state;
    for (int i = 0; i < 4; i++) {
        const pid_t pid = start_keeper(&places, "nvpmodel=1", false);
        caps_nap(30000 + 60000 * i);
        kill_holder(pid);
        caps_await(caps_records() == 0);
        caps_nap(600000);
        assert_int_equal(caps_number("mode"), 2);
    }
}

static const char *conf_refusal(const char *text)
{
    static struct vt_error err;
    struct vt_nvpmodel_conf conf;

    memset(&err, 0, sizeof err);
    assert_int_equal(vt_nvpmodel_parse(text, strlen(text), "c", &err, &conf), VT_ERR_FORMAT);
    return err.text;
}

static void the_configuration_of_nvpmodel(void **state)
{
    struct vt_nvpmodel_conf conf;
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    assert_int_equal(vt_nvpmodel_parse(conf_text, sizeof conf_text - 1, "c", &err, &conf), VT_OK);
    assert_int_equal(conf.n, 4);
    assert_int_equal(conf.standard, 2);
    assert_string_equal(conf.modes[1].name, "15W");
    assert_int_equal(conf.modes[0].n_settings, 2);
    assert_int_equal(conf.modes[1].n_settings, 1);
    assert_non_null(strstr(conf_refusal(""), "c:1: a POWER_MODEL"));
    assert_non_null(strstr(conf_refusal("< POWER_MODEL ID=0 NAME=A >\n"), "PM_CONFIG"));
    assert_non_null(strstr(conf_refusal("< POWER_MODEL ID=-1 NAME=A >\n"), "c:1: a mode needs ID"));
    assert_non_null(strstr(conf_refusal("< POWER_MODEL ID=0 >\n"), "needs NAME"));
    assert_non_null(strstr(conf_refusal("\n< POWER_MODEL ID=0 NAME=A\n"), "c:2: a section's head"));
    assert_non_null(
        strstr(conf_refusal("< POWER_MODEL ID=0 NAME=A >\n< POWER_MODEL ID=0 NAME=B >\n"),
               "c:2: a second mode"));
    assert_non_null(strstr(conf_refusal("< POWER_MODEL ID=0 NAME=A >\n< PM_CONFIG DEFAULT=1 >\n"),
                           "DEFAULT is one of them"));
}

/* --- hwmon --------------------------------------------------------------------------------- */

static void power_caps_of_hwmon(void **state)
{
    const struct vt_cap_places places = caps_places();

    (void)state;
    tree_put("class/hwmon/hwmon3/name", "power_meter");
    tree_put("class/hwmon/hwmon3/device/power1_cap", "600000000");
    tree_put("class/hwmon/hwmon3/device/power1_cap_min", "100000000");
    tree_put("class/hwmon/hwmon3/device/power1_cap_max", "1000000000");
    tree_put("class/hwmon/hwmon3/device/power1_oem_info", "Grace Power Socket 0");
    tree_put("class/hwmon/hwmon4/name", "power_meter");
    tree_put("class/hwmon/hwmon4/device/power1_average", "1"); /* CPU: no limit */
    tree_put("class/hwmon/hwmon5/name", "amdgpu");
    tree_put("class/hwmon/hwmon5/power1_cap", "203000000");
    tree_put("class/hwmon/hwmon5/power1_cap_default", "210000000");
    struct vt_cap_hold *hold = new_hold(&places);
    assert_near(ask(hold, "acpi/Grace Power Socket 0=400"), 400.0);
    assert_near(ask(hold, "amdgpu=150W"), 150.0);
    assert_int_equal(caps_number("class/hwmon/hwmon3/device/power1_cap"), 400000000);
    assert_int_equal(caps_number("class/hwmon/hwmon5/power1_cap"), 150000000);
    assert_non_null(strstr(refusal(hold, "acpi=90", VT_ERR_USAGE), "outside 100..1000 W"));
    release(hold);
    assert_int_equal(caps_number("class/hwmon/hwmon3/device/power1_cap"), 600000000);
    assert_int_equal(caps_number("class/hwmon/hwmon5/power1_cap"), 203000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(the_limit_of_gpus_is_set_and_put_back),
        TEST(a_limit_that_does_not_stick_is_told),
        TEST(what_is_refused_names_the_right),
        TEST(clocks_are_locked_in_the_place_of_a_limit),
        TEST(without_a_limit_to_compare_with_there_is_no_stand_in),
        TEST(clocks_may_be_asked_for),
        TEST(an_old_library_cannot),
        TEST(the_guardian_puts_gpus_back),
        TEST(modes_by_number_and_name),
        TEST(a_mode_that_needs_a_restart_is_refused),
        TEST(what_nvpmodel_says_is_not_believed),
        TEST(killed_while_a_mode_is_changed),
        TEST(the_configuration_of_nvpmodel),
        TEST(power_caps_of_hwmon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
