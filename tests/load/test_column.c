/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: growth in place, the file beyond the limit, and what happens when it has no room. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/column.h"
#include "load/recorder.h"
#include "vt_test.h"

#define MIB (UINT64_C(1) << 20)
/* What a child of a test says. */
#define CHILD_GOOD    0
#define CHILD_BAD     1
#define CHILD_SKIPPED 2

static char folder[] = "/tmp/vatio-test-column-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when something was left in it */
}

static uint64_t files_in_folder(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    uint64_t n = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

/* Fills with numbers as it grows. */
static enum vt_status fill(struct vt_column *column, uint64_t from, uint64_t to,
                           struct vt_error *err)
{
    enum vt_status st = VT_OK;
    for (uint64_t i = from; i < to && st == VT_OK; i++) {
        st = vt_column_grow(column, (i + 1) * 8, err);
        if (st == VT_OK) {
            ((uint64_t *)(void *)column->base)[i] = i * 3;
        }
    }
    return st;
}

static bool holds(const struct vt_column *column, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        if (((const uint64_t *)(const void *)column->base)[i] != i * 3) {
            return false;
        }
    }
    return true;
}

static void what_exceeds_the_limit_is_in_a_file_without_a_name(void **state)
{
    (void)state;
    struct vt_column_budget budget;
    struct vt_column a, b;
    struct vt_error err = VT_ERROR_INIT;
    /* Not a whole number of pages, so that the border lies inside a step. */
    assert_int_equal(vt_column_budget_init(&budget, 5 * MIB + 100, folder, &err), VT_OK);
    assert_int_equal(vt_column_init(&a, &budget, 0, UINT64_C(1) << 36, &err), VT_OK);
    assert_int_equal(vt_column_init(&b, &budget, 0, UINT64_C(1) << 36, &err), VT_OK);
    const uint64_t n = 3 * MIB; /* 24 MiB each */
    for (uint64_t i = 0; i < n; i += 1000) {
        uint64_t to = i + 1000 < n ? i + 1000 : n;
        assert_int_equal(fill(&a, i, to, &err), VT_OK);
        assert_int_equal(fill(&b, i, to, &err), VT_OK);
    }
    assert_true(atomic_load(&budget.memory_bytes) <= 5 * MIB + 100);
    assert_true(atomic_load(&budget.memory_bytes) >= 5 * MIB);
    assert_true(vt_column_spilled(&a) + vt_column_spilled(&b) >= 43 * MIB);
    assert_int_equal(files_in_folder(), 0);
    assert_true(holds(&a, 0, n));

    /* Given back at the front, memory and file, and the rest stays. */
    uint64_t before = atomic_load(&budget.memory_bytes);
    vt_column_drop(&a, 16 * MIB);
    assert_int_equal(before - atomic_load(&budget.memory_bytes), a.memory_bytes);
    assert_true(holds(&a, 2 * MIB, n));
    assert_true(holds(&b, 0, n));
    vt_column_finish(&b);
    vt_column_release(&a);
    assert_int_equal(atomic_load(&budget.memory_bytes), 0);
    vt_column_budget_release(&budget);
    assert_true(holds(&b, 0, n)); /* the file lives on while it is mapped */
    vt_column_release(&b);
    assert_null(b.base);
}

static void without_a_limit_nothing_is_spilled(void **state)
{
    (void)state;
    struct vt_column_budget budget;
    struct vt_column a;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_column_budget_init(&budget, 0, "/nowhere", &err), VT_OK);
    assert_int_equal(vt_column_init(&a, &budget, 0, UINT64_C(1) << 36, &err), VT_OK);
    assert_int_equal(vt_column_grow_large(&a, 10 * MIB, &err), VT_OK);
    assert_int_equal(a.touched_bytes, 10 * MIB);
    assert_int_equal(fill(&a, 0, 2 * MIB, &err), VT_OK);
    assert_true(holds(&a, 0, 2 * MIB));
    assert_int_equal(vt_column_spilled(&a), 0);
    assert_int_equal(budget.fd, -1);
    /* Beyond the reserved there is nothing. */
    assert_int_equal(vt_column_grow(&a, UINT64_C(1) << 37, &err), VT_ERR_LIMIT);
    vt_column_release(&a);
    vt_column_budget_release(&budget);
}

static void a_folder_that_takes_no_file_is_named(void **state)
{
    (void)state;
    static const char *const folders[] = {"/nowhere/at/all", "/dev/null"};
    for (int i = 0; i < 2; i++) {
        struct vt_recorder r;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_recorder_config config = {.n_tracks = 1,
                                            .expected = 200000,
                                            .memory_limit_bytes = MIB,
                                            .spill_folder = folders[i]};
        assert_int_equal(vt_recorder_init(&r, &config, &err), VT_ERR_WRITE);
        assert_non_null(strstr(err.text, folders[i]));
        vt_recorder_release(&r);
    }
}

/* Grows until it fails: must be a write error that says so, not a signal. */
static int grow_until_full(const char *where, const char *expected)
{
    struct vt_recorder *r = vt_calloc(1, sizeof(*r));
    struct vt_error err = VT_ERROR_INIT;
    struct vt_recorder_config config = {
        .n_tracks = 1, .expected = 1000, .memory_limit_bytes = MIB, .spill_folder = where};
    if (r == NULL || vt_recorder_init(r, &config, &err) != VT_OK) {
        return CHILD_BAD;
    }
    enum vt_status st = VT_OK;
    uint64_t n = 0;
    while (st == VT_OK && n < 10000000) {
        st = vt_recorder_reserve(r, 0, 1, &err);
        if (st == VT_OK) {
            vt_recorder_open(r, 0, n, (uint32_t)n, (uint32_t)n);
            atomic_store(&r->tracks[0].issued, ++n);
        }
    }
    bool good = st == VT_ERR_WRITE && n > 100000 && strstr(err.text, where) != NULL &&
                strstr(err.text, expected) != NULL;
    for (uint64_t i = 0; i < n && good; i++) {
        good = vt_recorder_at(r, 0, i)->query == i;
    }
    if (!good) {
        fprintf(stderr, "%d after %d records: %s\n", (int)st, (int)n, err.text);
    }
    vt_recorder_release(r);
    vt_free(r);
    return good ? CHILD_GOOD : CHILD_BAD;
}

static int in_child(int (*work)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(work());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* no signal */
    return WEXITSTATUS(status);
}

static int with_a_file_size_limit(void)
{
    struct rlimit limit = {20 * MIB, 20 * MIB};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return CHILD_SKIPPED;
    }
    return grow_until_full(folder, "too large");
}

static void the_limit_of_file_sizes_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(in_child(with_a_file_size_limit), CHILD_GOOD);
}

static int on_a_small_disk(void)
{
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=16m") != 0) {
        return CHILD_SKIPPED;
    }
    return grow_until_full(folder, "No space");
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    int said = in_child(on_a_small_disk);
    if (said == CHILD_SKIPPED) {
        skip();
    }
    assert_int_equal(said, CHILD_GOOD);
}

static void tmpdir_is_the_folder_unless_another_is_named(void **state)
{
    (void)state;
    const char *before = getenv("TMPDIR");
    char *kept = before != NULL ? vt_strdup(before) : NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_recorder r;
    struct vt_recorder_config config = {
        .n_tracks = 1, .expected = 200000, .memory_limit_bytes = MIB};
    assert_int_equal(setenv("TMPDIR", "/nowhere/too", 1), 0);
    assert_int_equal(vt_recorder_init(&r, &config, &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/nowhere/too"));
    vt_recorder_release(&r);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(vt_recorder_init(&r, &config, &err), VT_OK);
    assert_true(vt_column_spilled(&r.tracks[0].record_column) > 0);
    assert_int_equal(files_in_folder(), 0);
    vt_recorder_release(&r);
    if (kept != NULL) {
        setenv("TMPDIR", kept, 1);
    } else {
        unsetenv("TMPDIR");
    }
    vt_free(kept);
}

/* Several tracks, spilled and merged into a file again, with tokens. */
static void spilled_tracks_are_merged(void **state)
{
    (void)state;
    struct vt_recorder *r = vt_calloc(1, sizeof(*r));
    assert_non_null(r);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_recorder_config config = {
        .n_tracks = 3, .tokens = true, .memory_limit_bytes = 6 * MIB, .spill_folder = folder};
    assert_int_equal(vt_recorder_init(r, &config, &err), VT_OK);
    const uint32_t n = 600000;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t track = i % 3;
        assert_int_equal(vt_recorder_reserve(r, track, 1, &err), VT_OK);
        vt_recorder_open(r, track, i / 3, i ^ 5, i);
        r->tracks[track].tokens[i / 3].n_tokens = i + 7;
        atomic_store(&r->tracks[track].issued, i / 3 + 1);
    }
    struct vt_record_block block;
    assert_int_equal(vt_recorder_take(r, &err, &block), VT_OK);
    assert_true(block.spilled_bytes > 20 * MIB);
    assert_true(block.record_bytes >= UINT64_C(48) * n);
    vt_recorder_release(r);
    vt_free(r);
    assert_int_equal(block.n, n);
    for (uint32_t i = 0; i < n; i++) {
        if (block.records[i].query != i || block.records[i].index != (i ^ 5) ||
            block.tokens[i].n_tokens != (int64_t)i + 7) {
            fail_msg("record %d", (int)i);
        }
    }
    vt_record_block_release(&block);
    assert_int_equal(files_in_folder(), 0);
}

struct grower {
    struct vt_column column;
    struct vt_error err;
    enum vt_status status;
};

static void *grow_alone(void *arg)
{
    struct grower *g = arg;
    g->status = fill(&g->column, 0, MIB, &g->err);
    return NULL;
}

static void columns_share_a_budget_from_several_threads(void **state)
{
    (void)state;
    struct vt_column_budget budget;
    assert_int_equal(vt_column_budget_init(&budget, 9 * MIB, folder, NULL), VT_OK);
    struct grower growers[4] = {0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(vt_column_init(&growers[i].column, &budget, 0, UINT64_C(1) << 33, NULL),
                         VT_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, grow_alone, &growers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(growers[i].status, VT_OK);
    }
    assert_true(atomic_load(&budget.memory_bytes) <= 9 * MIB);
    for (int i = 0; i < 4; i++) {
        assert_true(holds(&growers[i].column, 0, MIB));
        vt_column_release(&growers[i].column);
    }
    vt_column_budget_release(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_exceeds_the_limit_is_in_a_file_without_a_name),
        cmocka_unit_test(without_a_limit_nothing_is_spilled),
        cmocka_unit_test(a_folder_that_takes_no_file_is_named),
        cmocka_unit_test(the_limit_of_file_sizes_is_an_error),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(tmpdir_is_the_folder_unless_another_is_named),
        cmocka_unit_test(spilled_tracks_are_merged),
        cmocka_unit_test(columns_share_a_budget_from_several_threads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
