/* SPDX-License-Identifier: Apache-2.0 */
/* Records of caps: what comes back from them, what is not trusted, what is not touched. */
#include "caps.h"

#include "base/alloc.h"
#include "power/cap/replay.h"

static struct vt_cap_record make_record(const struct vt_cap_places *places)
{
    struct vt_cap_record record;
    const struct vt_cap_record_item items[] = {
        {"rapl", "package-0", "package-0", {{225000000, 0}}},
        {"cpufreq", "policy1", "policy1", {{3300000, -1}}},
    };

    vt_cap_record_init(&record, places);
    record.owner_start--; /* not this process: one of its number before */
    assert_true(vt_cap_record_add(&record, &items[0]));
    assert_true(vt_cap_record_add(&record, &items[1]));
    return record;
}

static void put_record(const struct vt_cap_places *places, const struct vt_cap_record *record,
                       const char *name)
{
    struct vt_error err = VT_ERROR_INIT;
    char path[512], *folder = NULL, *text = vt_cap_record_text(record);

    assert_int_equal(vt_cap_folder(places, true, &err, &folder), VT_OK);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(vt_cap_record_save(text, path, &err), VT_OK);
    vt_free(folder);
    vt_free(text);
}

/* The one leftover after a look at the folder. */
static struct vt_cap_leftover look(const struct vt_cap_places *places, bool restore)
{
    struct vt_cap_leftovers left = {0};
    struct vt_error err = VT_ERROR_INIT;

    if (vt_cap_leftovers(places, restore, &err, &left) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(left.n, 1);
    const struct vt_cap_leftover item = left.items[0];
    vt_cap_leftovers_release(&left);
    return item;
}

static void what_is_written_is_read(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places), again = {.n = 0};
    struct vt_error err = VT_ERROR_INIT;
    char path[512];

    (void)state;
    put_record(&places, &record, "caps-1-1");
    tree_path(path, "records/caps-1-1");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(vt_cap_record_load(path, &err, &again), VT_OK);
    assert_int_equal(again.n, 2);
    assert_string_equal(again.items[1].domain, "policy1");
    assert_int_equal(again.items[0].raw.number[0], 225000000);
    assert_true(vt_cap_record_fits(&again, &places));
    assert_true(vt_cap_record_of_this_boot(&again));
    assert_false(vt_cap_record_owned(&again));
    vt_cap_record_release(&again);
    vt_cap_record_release(&record);
}

static void a_living_owner_is_not_disturbed(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places);

    (void)state;
    caps_machine();
    tree_put(LIMIT0, "1");
    record.owner = getppid();
    record.owner_start = vt_process_start(getppid());
    assert_true(record.owner_start != 0);
    put_record(&places, &record, "caps-1-1");
    assert_int_equal(look(&places, true).state, VT_CAP_LEFTOVER_HELD);
    assert_int_equal(caps_number(LIMIT0), 1);
    /* The same number with another start is another process. */
    record.owner_start++;
    put_record(&places, &record, "caps-1-1");
    assert_int_equal(look(&places, true).state, VT_CAP_LEFTOVER_RESTORED);
    assert_int_equal(caps_number(LIMIT0), 225000000);
    vt_cap_record_release(&record);
}

static void a_restart_of_the_machine_leaves_only_modes(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places);

    (void)state;
    caps_machine();
    tree_put(LIMIT0, "1");
    strcpy(record.boot, "another");
    put_record(&places, &record, "caps-1-1");
    assert_int_equal(look(&places, false).state, VT_CAP_LEFTOVER_GONE);
    assert_int_equal(caps_records(), 1);
    assert_int_equal(look(&places, true).state, VT_CAP_LEFTOVER_GONE);
    assert_int_equal(caps_records(), 0);
    assert_int_equal(caps_number(LIMIT0), 1);
    const struct vt_cap_record_item mode = {"nvpmodel", "board", "board", {{2, -1}}};
    assert_true(vt_cap_record_add(&record, &mode));
    put_record(&places, &record, "caps-1-1");
    const struct vt_cap_leftover item = look(&places, true); /* there is no nvpmodel here */
    assert_int_equal(item.state, VT_CAP_LEFTOVER_FAILED);
    assert_non_null(strstr(item.text, "nvpmodel"));
    assert_int_equal(caps_number(LIMIT0), 1);
    assert_int_equal(caps_records(), 1); /* kept for another attempt */
    vt_cap_record_release(&record);
}

static void records_of_other_places_are_left_alone(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_places others = places;
    struct vt_cap_record record = make_record(&places);
    struct vt_cap_leftovers left = {0};
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    caps_machine();
    put_record(&places, &record, "caps-1-1");
    others.sysfs = "/nowhere";
    assert_int_equal(vt_cap_leftovers(&others, true, &err, &left), VT_OK);
    assert_int_equal(left.n, 0);
    assert_int_equal(caps_records(), 1);
    vt_cap_leftovers_release(&left);
    vt_cap_record_release(&record);
}

static void numbers_that_never_were_are_refused(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places);
    struct vt_cap_hold *hold = NULL;
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    caps_machine();
    record.items[0].raw.number[1] = 7;
    tree_put(FREQ1, "1500000");
    put_record(&places, &record, "caps-1-1");
    /* No hold begins on caps that nobody knows the origin of. */
    assert_int_equal(vt_cap_hold_new(&places, &err, &hold), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "vatio caps restore"));
    const struct vt_cap_leftover item = look(&places, true);
    assert_int_equal(item.state, VT_CAP_LEFTOVER_FAILED);
    assert_non_null(strstr(item.text, "rapl package-0"));
    assert_int_equal(caps_number(LIMIT0), 225000000);
    assert_int_equal(caps_number(FREQ1), 3300000); /* the others are put back */
    vt_cap_record_release(&record);
}

static void domains_that_are_gone_are_told(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places);

    (void)state;
    caps_machine();
    strcpy(record.items[1].id, "../../../etc/passwd");
    strcpy(record.items[0].kind, "rocket");
    put_record(&places, &record, "caps-1-1");
    const struct vt_cap_leftover item = look(&places, true);
    assert_int_equal(item.state, VT_CAP_LEFTOVER_FAILED);
    assert_non_null(strstr(item.text, "not here any more"));
    assert_true(caps_are_back());
    vt_cap_record_release(&record);
}

static void what_others_could_have_written_is_not_read(void **state)
{
    struct vt_cap_places places = caps_places();
    struct vt_cap_record record = make_record(&places);
    struct vt_cap_leftovers left = {0};
    struct vt_error err = VT_ERROR_INIT;
    char path[512], target[512];

    (void)state;
    caps_machine();
    tree_put(LIMIT0, "1");
    put_record(&places, &record, "caps-1-1");
    tree_path(path, "records/caps-1-1");
    assert_int_equal(chmod(path, 0622), 0);
    assert_non_null(strstr(look(&places, true).text, "only this user can write"));
    tree_path(target, "elsewhere");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(chmod(target, 0600), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_non_null(strstr(look(&places, true).text, "only this user can write"));
    assert_int_equal(caps_number(LIMIT0), 1);
    assert_int_equal(chmod(places.records, 0777), 0);
    assert_int_equal(vt_cap_leftovers(&places, true, &err, &left), VT_ERR_READ);
    assert_non_null(strstr(err.text, "not trusted"));
    assert_int_equal(chmod(places.records, 0700), 0);
    assert_int_equal(unlink(path), 0);
    tree_put("records/caps-1-1", "vatio caps 1\nboot x\nowner 1 1\nplaces -\ncap rapl\t\t\t1");
    assert_int_equal(chmod(path, 0600), 0);
    assert_non_null(strstr(look(&places, true).text, "caps-1-1:5: "));
    vt_cap_record_release(&record);
}

static void half_written_records_are_swept_away(void **state)
{
    const struct vt_cap_places places = caps_places();
    struct vt_cap_leftovers left = {0};
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    caps_machine();
    assert_int_equal(vt_cap_leftovers(&places, false, &err, &left), VT_OK);
    assert_int_equal(access(places.records, F_OK), -1); /* looking makes nothing */
    vt_cap_leftovers_release(&left);
    tree_put("records/caps-7-7.part", "vatio caps 1\nboot x\n");
    assert_int_equal(vt_cap_leftovers(&places, true, &err, &left), VT_OK);
    assert_int_equal(left.n, 0);
    assert_int_equal(caps_files(""), 0);
    vt_cap_leftovers_release(&left);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(a_living_owner_is_not_disturbed),
        TEST(a_restart_of_the_machine_leaves_only_modes),
        TEST(records_of_other_places_are_left_alone),
        TEST(numbers_that_never_were_are_refused),
        TEST(domains_that_are_gone_are_told),
        TEST(what_others_could_have_written_is_not_read),
        TEST(half_written_records_are_swept_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
