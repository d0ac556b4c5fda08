/* SPDX-License-Identifier: Apache-2.0 */
#include "result/grid.h"
#include "result/text.h"
#include "vt_test.h"
#include "vt_torture.h"

static void fill(struct vt_grid *grid)
{
    vt_grid_init(grid, 4);
    grid->right[1] = true;
    grid->weight[2] = 1;
    assert_true(vt_grid_add(grid));
    vt_grid_put(grid, 0, "name");
    vt_grid_put(grid, 1, "time");
    vt_grid_put(grid, 2, "remark");
    vt_grid_put(grid, 3, "node");
    assert_true(vt_grid_add(grid));
    vt_grid_put(grid, 0, "a\x1b[2J");
    vt_grid_put(grid, 1, "%d µs", 12345);
    vt_grid_put(grid, 2, "something longer than the rest of it");
    vt_grid_put(grid, 3, "layer/%d/with/a/name", 7);
    assert_true(vt_grid_add(grid));
    vt_grid_put(grid, 0, "b");
    vt_grid_put(grid, 9, "nowhere");
}

static char *print(const struct vt_grid *grid, int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    vt_grid_print(grid, out, columns);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void columns_are_aligned(void **state)
{
    struct vt_grid grid;
    (void)state;
    fill(&grid);
    char *text = print(&grid, 100);
    assert_string_equal(text, "name       time  remark                                node\n"
                              "a?[2J  12345 µs  something longer than the rest of it  "
                              "layer/7/with/a/name\n"
                              "b\n");
    free(text);
    vt_grid_release(&grid);
}

static void narrow_terminals_lose_what_matters_least(void **state)
{
    struct vt_grid grid;
    (void)state;
    fill(&grid);
    char *text = print(&grid, 50);
    assert_null(strstr(text, "remark"));
    assert_non_null(strstr(text, "layer/7/with/a/name"));
    free(text);
    for (int i = 0; i < 40; i++) {
        assert_true(vt_grid_add(&grid));
        vt_grid_put(&grid, 3, "%090d", i);
    }
    text = print(&grid, 40);
    char *copy = text;
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(vt_text_width(line) <= 40);
    }
    free(text);
    vt_grid_release(&grid);
}

static void want_of_memory(void **state)
{
    struct vt_torture torture;
    struct vt_grid grid;
    (void)state;
    vt_torture_begin(&torture, 0);
    vt_grid_init(&grid, 2);
    bool added = vt_grid_add(&grid);
    vt_grid_put(&grid, 0, "nothing");
    vt_grid_release(&grid);
    int leaked = vt_torture_end(&torture);
    assert_false(added);
    assert_int_equal(leaked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(narrow_terminals_lose_what_matters_least),
        cmocka_unit_test(want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
