/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/vatio-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void what_is_written_can_be_read_and_mapped(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_file_writer writer;
    struct vt_file_map map;
    char *text;
    size_t size;
    char *path = vt_path_join(folder, "a.txt");

    assert_int_equal(vt_file_writer_open(&writer, path, &err), VT_OK);
    assert_false(vt_path_exists(path));
    (void)fputs("hello", writer.stream);
    assert_int_equal(vt_file_writer_commit(&writer, &err), VT_OK);
    assert_int_equal(vt_file_read(path, 5, &err, &text, &size), VT_OK);
    assert_int_equal(size, 5);
    assert_string_equal(text, "hello");
    vt_free(text);
    assert_int_equal(vt_file_map_open(path, &err, &map), VT_OK);
    assert_memory_equal(map.bytes, "hello", 5);
    vt_file_map_release(&map);
    assert_int_equal(vt_file_read(path, 4, &err, &text, &size), VT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "at most 4"));
    vt_free(path);
}

static void a_dropped_file_leaves_nothing(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_file_writer writer;
    char *path = vt_path_join(folder, "dropped");

    assert_int_equal(vt_file_writer_open(&writer, path, &err), VT_OK);
    (void)fputs("half", writer.stream);
    vt_file_writer_release(&writer);
    assert_false(vt_path_exists(path));
    vt_file_writer_release(&writer);
    char *part = vt_asprintf("%s.part", path);
    assert_false(vt_path_exists(part));
    vt_free(part);
    vt_free(path);
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_file_writer writer;
    char *path = vt_path_join(folder, "full");

    assert_int_equal(vt_file_writer_open(&writer, path, &err), VT_OK);
    /* /dev/full answers every write with ENOSPC. */
    assert_non_null(freopen("/dev/full", "w", writer.stream));
    (void)fputs("some text", writer.stream);
    assert_int_equal(vt_file_writer_commit(&writer, &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "No space left"));
    assert_non_null(strstr(err.text, path));
    assert_false(vt_path_exists(path));
    vt_free(path);
}

static void unreadable_things_are_named(void **state)
{
    (void)state;
    struct vt_file_map map;
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(vt_file_map_open("/nowhere/at/all", &err, &map), VT_ERR_NOT_FOUND);
    assert_string_equal(err.text, "/nowhere/at/all: no such file");
    err.status = VT_OK;
    assert_int_equal(vt_file_map_open(folder, &err, &map), VT_ERR_READ);
    assert_non_null(strstr(err.text, "is a folder"));
    err.status = VT_OK;
    assert_int_equal(vt_file_map_open("/dev/null", &err, &map), VT_ERR_READ);
    char *pipe = vt_path_join(folder, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    err.status = VT_OK;
    assert_int_equal(vt_file_map_open(pipe, &err, &map), VT_ERR_READ);
    vt_free(pipe);
}

static void an_empty_file_maps_to_nothing(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_file_writer writer;
    struct vt_file_map map;
    char *path = vt_path_join(folder, "empty");

    assert_int_equal(vt_file_writer_open(&writer, path, &err), VT_OK);
    assert_int_equal(vt_file_writer_commit(&writer, &err), VT_OK);
    assert_int_equal(vt_file_map_open(path, &err, &map), VT_OK);
    assert_null(map.bytes);
    assert_int_equal(map.size, 0);
    vt_file_map_release(&map);
    vt_free(path);
}

static void folders_are_made_in_depth(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    char *deep = vt_path_join(folder, "a/b//c/");
    char *blocked = vt_path_join(folder, "a.txt/below");

    assert_int_equal(vt_make_folders(deep, &err), VT_OK);
    assert_true(vt_path_is_folder(deep));
    assert_int_equal(vt_make_folders(deep, &err), VT_OK);
    assert_int_equal(vt_make_folders(blocked, &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "a.txt"));
    vt_free(deep);
    vt_free(blocked);
}

static void paths_join_and_split(void **state)
{
    (void)state;
    char *a = vt_path_join("x", "y");
    char *b = vt_path_join("x/", "y");
    char *c = vt_path_join("", "y");
    assert_string_equal(a, "x/y");
    assert_string_equal(b, "x/y");
    assert_string_equal(c, "y");
    assert_string_equal(vt_path_base("x/y"), "y");
    assert_string_equal(vt_path_base("y"), "y");
    vt_free(a);
    vt_free(b);
    vt_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_can_be_read_and_mapped),
        cmocka_unit_test(a_dropped_file_leaves_nothing),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
        cmocka_unit_test(unreadable_things_are_named),
        cmocka_unit_test(an_empty_file_maps_to_nothing),
        cmocka_unit_test(folders_are_made_in_depth),
        cmocka_unit_test(paths_join_and_split),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
