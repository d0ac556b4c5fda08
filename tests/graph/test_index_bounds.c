/* SPDX-License-Identifier: Apache-2.0 */
/* Which integers an input may bring, for models of a few nodes. */
#include "graph/index_bounds.h"
#include "onnx_writer.h"

#define I64 7
#define F32 1

/* The bound of input "x" in a graph of these nodes (freed); "table" has 5 rows of 3, "rows" holds
 * {5, 9}, "zero" holds {0, 9}. */
static int64_t bound_of(struct pb *nodes, int n, const char *output, int output_type)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    struct pb graph = {NULL, 0, 0};
    const int64_t shape[] = {4}, table[] = {5, 3}, pair[] = {2};
    const float cells[15] = {0};
    const int64_t rows[] = {5, 9}, zero[] = {0, 9};
    int64_t bound = -1;

    for (int i = 0; i < n; i++) {
        pb_message(&graph, OX_NODE, &nodes[i]);
    }
    pb_text(&graph, 2, "g");
    struct pb part = ox_value("x", I64, 1, shape);
    pb_message(&graph, OX_INPUT, &part);
    part = ox_value(output, output_type, -1, NULL);
    pb_message(&graph, OX_OUTPUT, &part);
    part = ox_tensor_raw("table", F32, 2, table, cells, sizeof cells);
    pb_message(&graph, OX_INITIALIZER, &part);
    part = ox_tensor_raw("rows", I64, 1, pair, rows, sizeof rows);
    pb_message(&graph, OX_INITIALIZER, &part);
    part = ox_tensor_raw("zero", I64, 1, pair, zero, sizeof zero);
    pb_message(&graph, OX_INITIALIZER, &part);
    struct pb bytes = ox_model(13, &graph);
    if (vt_model_import_memory("m", bytes.bytes, bytes.size, NULL, &err, &model) != VT_OK ||
        vt_model_index_bounds(model, &err, &bound) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_model_free(model);
    pb_free(&bytes);
    return bound;
}

static struct pb gather(const char *table, const char *indices, const char *output, int64_t axis)
{
    struct pb node = ox_node("Gather", "", output);
    struct pb whole = {NULL, 0, 0};
    pb_text(&whole, 1, table);
    pb_text(&whole, 1, indices);
    pb_raw(&whole, node.bytes, node.size);
    pb_free(&node);
    ox_attr_int(&whole, "axis", axis);
    return whole;
}

static void a_table_bounds_its_places(void **state)
{
    (void)state;
    assert_int_equal(bound_of((struct pb[]){gather("table", "x", "y", 0)}, 1, "y", F32), 5);
    assert_int_equal(bound_of((struct pb[]){gather("table", "x", "y", 1)}, 1, "y", F32), 3);
    assert_int_equal(bound_of((struct pb[]){gather("table", "x", "y", -1)}, 1, "y", F32), 3);
}

static void the_smallest_table_counts(void **state)
{
    (void)state;
    struct pb nodes[] = {gather("table", "x", "a", 0), gather("table", "x", "b", 1),
                         ox_node("Identity", "a", "y")};
    assert_int_equal(bound_of(nodes, 3, "y", F32), 3);
}

static void numbers_are_followed_where_they_only_move(void **state)
{
    (void)state;
    struct pb nodes[] = {ox_node("Identity", "x", "a"), ox_node("Shape", "x", "s"),
                         ox_node("Reshape", "a s", "b"), gather("table", "b", "y", 0)};
    assert_int_equal(bound_of(nodes, 4, "y", F32), 5);
}

static void arithmetic_says_nothing(void **state)
{
    (void)state;
    struct pb added[] = {ox_node("Add", "x x", "a"), gather("table", "a", "y", 0)};
    assert_int_equal(bound_of(added, 2, "y", F32), 0);
    struct pb both[] = {gather("table", "x", "a", 0), ox_node("Mul", "x x", "y")};
    assert_int_equal(bound_of(both, 2, "y", I64), 0);
    struct pb given[] = {gather("table", "x", "a", 0), ox_node("Identity", "x", "y")};
    /* Whoever gets it takes any number. */
    assert_int_equal(bound_of(given, 2, "y", I64), 5);
}

static void a_remainder_takes_numbers_of_its_largest_divisor(void **state)
{
    (void)state;
    struct pb nodes[] = {ox_node("Mod", "x rows", "y")};
    assert_int_equal(bound_of(nodes, 1, "y", I64), 9); /* the most rows */
    struct pb smaller[] = {ox_node("Mod", "x rows", "a"), gather("table", "x", "y", 0),
                           ox_node("Identity", "a", "z")};
    assert_int_equal(bound_of(smaller, 3, "y", F32), 5);
    struct pb bad[] = {ox_node("Mod", "x zero", "y")};
    assert_int_equal(bound_of(bad, 1, "y", I64), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_bounds_its_places),
        cmocka_unit_test(the_smallest_table_counts),
        cmocka_unit_test(numbers_are_followed_where_they_only_move),
        cmocka_unit_test(arithmetic_says_nothing),
        cmocka_unit_test(a_remainder_takes_numbers_of_its_largest_divisor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
