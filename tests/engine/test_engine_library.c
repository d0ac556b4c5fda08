/* SPDX-License-Identifier: Apache-2.0 */
/* Where somebody else's library is looked for, which of several is taken, and what is said. */
#include "vt_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "engine/library.h"
#include "vt_torture.h"

static const struct vt_library_kind kind = {
    .what = "Example",
    .file = "libvatio_example.so",
    .wheel = "example/libs",
    .variable = "VATIO_EXAMPLE",
    .symbol = "vatio_module",
    .remedy = "pip install example",
};
/* A name that is no pattern although it looks like one. */
static char root[] = "/tmp/vatio [library]* XXXXXX";

static const char *at(const char *path)
{
    static char text[512];
    snprintf(text, sizeof(text), "%s/%s", root, path);
    return text;
}

/* A copy of the shared object in that folder: the loader tells links from copies. */
static void place(const char *folder, const char *name)
{
    struct vt_error err = VT_ERROR_INIT;
    char path[512], *bytes = NULL;
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    assert_int_equal(vt_make_folders(at(folder), &err), VT_OK);
    assert_int_equal(vt_file_read(VT_TEST_LIBRARY, (size_t)64 << 20, &err, &bytes, &n), VT_OK);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    vt_free(bytes);
}

/* The library that is found ends so, or the failure says so. */
static void finds(const char *named, const char *tail)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_library library;
    int (*function)(void) = NULL;
    if (vt_library_open(&kind, named, &err, &library) != VT_OK) {
        fail_msg("%s", err.text);
    }
    size_t length = strlen(library.path), n = strlen(tail);
    if (length < n || strcmp(library.path + length - n, tail) != 0) {
        fail_msg("'%s' does not end in '%s'", library.path, tail);
    }
    assert_int_equal(vt_library_function(&library, "vatio_module", &err, &function), VT_OK);
    assert_true(function != NULL);
    assert_int_equal(vt_library_function(&library, "vatio_nothing", &err, &function),
                     VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "lacks 'vatio_nothing'"));
    vt_library_close(&library);
    assert_null(library.handle);
}

static void refuses(const struct vt_library_kind *wanted, const char *named, enum vt_status status,
                    const char *says)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_library library;
    assert_int_equal(vt_library_open(wanted, named, &err, &library), status);
    if (strstr(err.text, says) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, says);
    }
}

static void test_nowhere(void **state)
{
    (void)state;
    refuses(&kind, NULL, VT_ERR_UNAVAILABLE,
            "libvatio_example.so was not found: pip install example, or name the library with "
            "--engine-option library=PATH or VATIO_EXAMPLE");
    refuses(&kind, at("nothing"), VT_ERR_NOT_FOUND, "nothing: there is no such file or folder");
    setenv("VATIO_EXAMPLE", at("nothing"), 1);
    refuses(&kind, NULL, VT_ERR_NOT_FOUND, "VATIO_EXAMPLE=");
    setenv("VATIO_EXAMPLE", "", 1); /* as if it were not set */
    refuses(&kind, NULL, VT_ERR_UNAVAILABLE, "was not found");
    unsetenv("VATIO_EXAMPLE");
}

static void test_wheels(void **state)
{
    (void)state;
    place("home/.local/lib/python3.9/site-packages/example/libs", "libvatio_example.so.1");
    finds(NULL, "libvatio_example.so.1");
    place("bin/../lib/python3.12/site-packages/example/libs", "libvatio_example.so.2");
    place("bin", "python3"); /* what a shell would start; it is not run */
    setenv("PATH", at("bin"), 1);
    finds(NULL, "libvatio_example.so.2");
    /* The active environment comes before that; the newest of several versions is taken. */
    place("venv/lib/python3.11/site-packages/example/libs", "libvatio_example.so.9");
    place("venv/lib/python3.11/site-packages/example/libs", "libvatio_example.so.10");
    place("venv/lib/python3.11/site-packages/example/libs", "libvatio_example_more.so.99");
    setenv("VIRTUAL_ENV", at("venv"), 1);
    finds(NULL, "libvatio_example.so.10");
    /* A variable comes before all, what the user names before that. */
    place("own", "libvatio_example.so.3");
    setenv("VATIO_EXAMPLE", at("own"), 1);
    finds(NULL, "libvatio_example.so.3");
    finds(at("venv"), "libvatio_example.so.10");
    finds(at("venv/lib/python3.11/site-packages"), "libvatio_example.so.10");
    finds(at("own/libvatio_example.so.3"), "own/libvatio_example.so.3");
    unsetenv("VATIO_EXAMPLE");
}

static void test_others(void **state)
{
    struct vt_library_kind other = kind;
    (void)state;
    other.symbol = "vatio_other";
    refuses(&other, at("own"), VT_ERR_FORMAT, "is not Example: it does not export 'vatio_other'");
    refuses(&kind, "/dev", VT_ERR_NOT_FOUND, "library=/dev: the folder holds no");
    refuses(&kind, "/dev/null", VT_ERR_FORMAT, "Example cannot be loaded");
    assert_int_equal(symlink("/etc/passwd", at("own/text.so")), 0);
    refuses(&kind, at("own/text.so"), VT_ERR_FORMAT, "Example cannot be loaded");
    /* A name without a slash is a file here, not one of the loader's. */
    assert_int_equal(chdir(at("own")), 0);
    finds("libvatio_example.so.3", "libvatio_example.so.3");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const char *const named[] = {NULL, at("venv")};
    char *folder = strdup(named[1]);
    for (int i = 0; i < 2; i++) {
        bool done = false;
        for (int allowed = 0; !done && allowed < 200; allowed++) {
            struct vt_torture torture;
            struct vt_error err = VT_ERROR_INIT;
            struct vt_library library = {NULL, NULL, NULL};
            vt_torture_begin(&torture, allowed);
            enum vt_status status = vt_library_open(&kind, i == 0 ? NULL : folder, &err, &library);
            done = status == VT_OK;
            vt_library_close(&library);
            assert_int_equal(vt_torture_end(&torture), 0);
            if (!done && status != VT_ERR_MEMORY) {
                fail_msg("after %d blocks: %s", allowed, err.text);
            }
        }
        assert_true(done);
    }
    free(folder);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("HOME", at("home"), 1);
    setenv("PATH", "/nowhere:", 1);
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("PYENV_ROOT");
    return 0;
}

/* Removes the files and folders that place() made. */
static int end(void **state)
{
    static const char *const files[] = {
        "home/.local/lib/python3.9/site-packages/example/libs/libvatio_example.so.1",
        "lib/python3.12/site-packages/example/libs/libvatio_example.so.2",
        "bin/python3",
        "venv/lib/python3.11/site-packages/example/libs/libvatio_example.so.9",
        "venv/lib/python3.11/site-packages/example/libs/libvatio_example.so.10",
        "venv/lib/python3.11/site-packages/example/libs/libvatio_example_more.so.99",
        "own/libvatio_example.so.3",
        "own/text.so"};
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s", at(files[i]));
        assert_int_equal(unlink(path), 0);
        for (char *slash = strrchr(path, '/'); strlen(path) > strlen(root);
             slash = strrchr(path, '/')) {
            *slash = '\0';
            if (rmdir(path) != 0) {
                break; /* others lie in it */
            }
        }
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_wheels),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
