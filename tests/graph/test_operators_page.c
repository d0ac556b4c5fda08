/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/operators.md is made of the operator table and must be what it makes now:
 *
 *     test_graph_operators_page --print >docs/operators.md
 */
#include "vt_test.h"

#include "base/alloc.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/infer.h"

static const struct {
    uint32_t types;
    const char *text;
} type_sets[] = {
    {VT_TYPES_ANY, "any"},
    {VT_TYPES_NUMBER_BOOL, "numbers, bool"},
    {VT_TYPES_NUMBER, "numbers"},
    {VT_TYPES_FLOAT, "floats"},
    {VT_TYPES_SINGLE, "floats but float64"},
    {VT_TYPES_INTEGER, "integers"},
    {VT_TYPES_UNSIGNED, "unsigned integers"},
    {VT_TYPES_LARGE, "floats, int32, int64, uint32, uint64"},
    {VT_TYPES_LARGE_SIGNED, "floats, int32, int64"},
    {VT_TYPES_BYTE, "int8, uint8"},
    {VT_TYPES_QUANTISED, "int8, uint8, int16, uint16, int32"},
    {VT_TYPES_POOLED, "floats but float64, int8, uint8"},
    {VT_TYPES_BOOL, "bool"},
    {VT_TYPES_F32, "float32"},
};

static const char *types_text(uint32_t types)
{
    for (size_t i = 0; i < sizeof(type_sets) / sizeof(type_sets[0]); i++) {
        if (type_sets[i].types == types)
            return type_sets[i].text;
    }
    return NULL;
}

static void print_page(FILE *to)
{
    size_t n = 0;
    const struct vt_operator *table = vt_operator_table(&n);
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = table[i].min_opset < least ? table[i].min_opset : least;
        most = table[i].max_opset > most ? table[i].max_opset : most;
    }
    fprintf(
        to,
        "# Operators\n"
        "\n"
        "<!-- Made of src/graph/operators.inc by test_graph_operators_page. -->\n"
        "\n"
        "What the native engine carries out: %zu operators of the ONNX domain, in models of "
        "opset %lld to %lld. *Opsets* are\n"
        "those of a model in which an operator may stand; the form that each of them has there "
        "is understood. *Types* are those\n"
        "of the data: `floats` are float16, bfloat16, float32 and float64; `integers` have 8, "
        "16, 32 or 64 bits, with or without\n"
        "a sign; `numbers` are both; `any` is all but text. float16 and bfloat16 are computed "
        "in float32 and rounded by each\n"
        "operator.\n"
        "\n"
        "Functions that a model defines itself are put in the place of their calls. A model with "
        "another operator is refused\n"
        "while it is read, with the operator's name and opset.\n"
        "\n"
        "| operator | opsets | types | remarks |\n"
        "|---|---|---|---|\n",
        n, (long long)least, (long long)most);
    for (size_t i = 0; i < n; i++) {
        const struct vt_operator *op = &table[i];
        const char *types = types_text(op->types);
        fprintf(to, "| %s | %lld–%lld | %s | %s |\n", op->name, (long long)op->min_opset,
                (long long)op->max_opset, types != NULL ? types : "?", op->remark);
    }
}

static void test_page(void **state)
{
    char *made = NULL, *kept = NULL;
    size_t made_size = 0, kept_size = 0;
    (void)state;
    FILE *to = open_memstream(&made, &made_size);
    assert_non_null(to);
    print_page(to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(vt_file_read(VT_TEST_SOURCE "/../../docs/operators.md", (size_t)1 << 20, NULL,
                                  &kept, &kept_size),
                     VT_OK);
    if (strcmp(made, kept) != 0)
        print_message("docs/operators.md is out of date: %s --print >docs/operators.md\n",
                      "test_graph_operators_page");
    assert_string_equal(made, kept);
    vt_free(kept);
    free(made);
}

static void test_types_are_named(void **state)
{
    size_t n = 0;
    const struct vt_operator *table = vt_operator_table(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        assert_non_null(types_text(table[i].types));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_types_are_named),
    };
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        print_page(stdout);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
