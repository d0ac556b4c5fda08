/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets on disk: every form, the order of classes, and what is wrong. */
#include "workload/dataset.h"

#include "fixture.h"
#include "vt_torture.h"
#include "workload/classify.h"

static void put(const char *folder, const char *const *names)
{
    for (; *names != NULL; names++) {
        write_text(folder, *names, "x");
    }
}

static void assert_item(const struct vt_dataset *dataset, size_t i, const char *end, int64_t label)
{
    const char *path = dataset->items[i].path;
    assert_true(strlen(path) > strlen(end));
    assert_string_equal(path + strlen(path) - strlen(end), end);
    assert_int_equal(dataset->items[i].label, label);
}

static void test_map(void **state)
{
    (void)state;
    char folder[64], file[128];
    struct vt_dataset dataset;
    scratch_make(folder);
    write_text(folder, "val_map.txt", "one.jpg 7\nsub/two.png 3\n/absolute.jpg 1\n");
    assert_true(vt_dataset_has_images(folder));
    assert_int_equal(vt_dataset_open(folder, NULL, NULL, &dataset), VT_OK);
    assert_int_equal(dataset.n, 3);
    assert_true(dataset.labelled);
    assert_item(&dataset, 0, "/one.jpg", 7);
    assert_item(&dataset, 1, "/sub/two.png", 3);
    assert_string_equal(dataset.items[2].path, "/absolute.jpg");
    vt_dataset_release(&dataset);
    (void)snprintf(file, sizeof file, "%s/val_map.txt", folder);
    assert_true(vt_dataset_has_images(file));
    assert_int_equal(vt_dataset_open(file, NULL, NULL, &dataset), VT_OK);
    assert_item(&dataset, 1, "/sub/two.png", 3);
    vt_dataset_release(&dataset);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_dataset_open(file, file, &err, &dataset), VT_ERR_USAGE);
    scratch_remove(folder);
}

static void test_class_folders(void **state)
{
    (void)state;
    static const char *const names[] = {
        "set/dog/1.jpg",    "set/dog/0.JPEG",    "set/cat/5.png", "set/cat/notes.txt",
        "set/empty/readme", "set/.hidden/1.jpg", "set/README",    NULL};
    char folder[64], set[128];
    struct vt_dataset dataset;
    scratch_make(folder);
    put(folder, names);
    (void)snprintf(set, sizeof set, "%s/set", folder);
    /* Sorted names. */
    assert_int_equal(vt_dataset_open(set, NULL, NULL, &dataset), VT_OK);
    assert_int_equal(dataset.n, 3);
    assert_item(&dataset, 0, "/cat/5.png", 0);
    assert_item(&dataset, 1, "/dog/0.JPEG", 1);
    assert_item(&dataset, 2, "/dog/1.jpg", 1);
    vt_dataset_release(&dataset);
    /* A list beside the folder that names them all. */
    write_text(folder, "labels.txt", "bird\ndog\ncat, tame\n");
    assert_int_equal(vt_dataset_open(set, NULL, NULL, &dataset), VT_OK);
    assert_item(&dataset, 0, "/dog/0.JPEG", 1);
    assert_item(&dataset, 1, "/cat/5.png", 2);
    assert_non_null(strstr(dataset.source, "labels.txt"));
    vt_dataset_release(&dataset);
    /* One in the folder goes before it; one that does not fit is not used. */
    write_text(folder, "set/labels.txt", "dog\ncat\n");
    assert_int_equal(vt_dataset_open(set, NULL, NULL, &dataset), VT_OK);
    assert_item(&dataset, 0, "/dog/0.JPEG", 0);
    vt_dataset_release(&dataset);
    write_text(folder, "set/labels.txt", "dog\nmouse\n");
    assert_int_equal(vt_dataset_open(set, NULL, NULL, &dataset), VT_OK);
    assert_item(&dataset, 0, "/cat/5.png", 0);
    vt_dataset_release(&dataset);
    scratch_remove(folder);
}

static void test_explicit_labels(void **state)
{
    (void)state;
    static const char *const names[] = {"set/dog/1.jpg", "set/cat/5.png", NULL};
    char folder[64], set[128], labels[128];
    struct vt_dataset dataset;
    struct vt_error err = VT_ERROR_INIT;
    scratch_make(folder);
    put(folder, names);
    (void)snprintf(set, sizeof set, "%s/set", folder);
    (void)snprintf(labels, sizeof labels, "%s/mine.txt", folder);
    write_text(folder, "mine.txt", "dog\nmouse\n");
    assert_int_equal(vt_dataset_open(set, labels, &err, &dataset), VT_ERR_FORMAT);
    assert_error(&err, VT_ERR_FORMAT, "mine.txt", "'cat'");
    write_text(folder, "mine.txt", "dog\nmouse\ncat\n");
    assert_int_equal(vt_dataset_open(set, labels, NULL, &dataset), VT_OK);
    assert_item(&dataset, 0, "/dog/1.jpg", 0);
    assert_item(&dataset, 1, "/cat/5.png", 2);
    vt_dataset_release(&dataset);
    write_text(folder, "mine.txt", "cat/5.png 9\n");
    assert_int_equal(vt_dataset_open(set, labels, NULL, &dataset), VT_OK);
    assert_int_equal(dataset.n, 1);
    assert_item(&dataset, 0, "/set/cat/5.png", 9);
    vt_dataset_release(&dataset);
    scratch_remove(folder);
}

static void test_numbered_folders(void **state)
{
    (void)state;
    static const char *const names[] = {"0/a.jpg", "2/a.jpg", "10/a.jpg", NULL};
    char folder[64];
    struct vt_dataset dataset;
    scratch_make(folder);
    put(folder, names);
    assert_int_equal(vt_dataset_open(folder, NULL, NULL, &dataset), VT_OK);
    assert_item(&dataset, 0, "/0/a.jpg", 0);
    assert_item(&dataset, 1, "/2/a.jpg", 2);
    assert_item(&dataset, 2, "/10/a.jpg", 10);
    vt_dataset_release(&dataset);
    scratch_remove(folder);
}

static void test_flat_and_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"b.jpg", "a.png", "c.txt", NULL};
    char folder[64];
    struct vt_dataset dataset;
    struct vt_error err = VT_ERROR_INIT;
    scratch_make(folder);
    assert_false(vt_dataset_has_images(folder));
    assert_int_equal(vt_dataset_open(folder, NULL, &err, &dataset), VT_ERR_NOT_FOUND);
    assert_error(&err, VT_ERR_NOT_FOUND, folder, ".png");
    put(folder, names);
    assert_int_equal(vt_dataset_open(folder, NULL, NULL, &dataset), VT_OK);
    assert_int_equal(dataset.n, 2);
    assert_false(dataset.labelled);
    assert_item(&dataset, 0, "/a.png", VT_NO_LABEL);
    vt_dataset_release(&dataset);
    scratch_remove(folder);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_dataset_open("/nowhere/at/all", NULL, &err, &dataset), VT_ERR_NOT_FOUND);
    assert_error(&err, VT_ERR_NOT_FOUND, "/nowhere/at/all", "");
    assert_false(vt_dataset_has_images("/nowhere/at/all"));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"dog/1.jpg", "cat/5.png", "labels.txt", NULL};
    char folder[64];
    bool done = false;
    scratch_make(folder);
    put(folder, names);
    write_text(folder, "labels.txt", "dog\ncat\n");
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_dataset dataset;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_dataset_open(folder, NULL, &err, &dataset);
        /* Without memory a folder may look as if it held no images. */
        done = status == VT_OK && dataset.n == 2;
        if (status == VT_OK) {
            vt_dataset_release(&dataset);
        }
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(allowed < 1000);
    }
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_class_folders),
        cmocka_unit_test(test_explicit_labels),
        cmocka_unit_test(test_numbered_folders),
        cmocka_unit_test(test_flat_and_nothing),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
