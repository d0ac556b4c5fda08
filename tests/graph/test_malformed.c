/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A corpus of malformed models, made here: by hand, kind by kind, and by changing good ones. Each
 * of the first is refused with one line that says what is wrong and where; each of the second opens
 * or is refused with such a line. None takes memory that nobody has asked for, none hangs, none
 * reads what lies outside the model's folder.
 */
#include "malformed/malformed.h"

static void test_wire(void **state)
{
    (void)state;
    kinds_of_wire();
}

static void test_tensors(void **state)
{
    (void)state;
    kinds_of_tensors();
}

static void test_external(void **state)
{
    (void)state;
    kinds_of_external();
}

static void test_graphs(void **state)
{
    (void)state;
    kinds_of_graphs();
    kinds_of_calls();
}

static void test_operators(void **state)
{
    (void)state;
    kinds_of_operators();
}

static void test_mutations(void **state)
{
    (void)state;
    mutate_folder(VT_TEST_SOURCE "/../../src/workload/digits", 200, 1);
    mutate_folder(VT_TEST_SOURCE "/../plan/data", 60, 100);
    mutate_folder(VT_TEST_SOURCE "/../fuzz/corpus/onnx", 60, 100);
    mutate_folder("/usr/share/libonnx-testdata/data/node", 6, 1000);
}

static void test_count(void **state)
{
    (void)state;
    printf("%u kinds of malformed models in %u files; %u mutations of good ones, of which %u open "
           "and %u were run; %u complaints\n",
           tally.kinds, tally.models, tally.mutations, tally.opened, tally.ran, tally.complaints);
    assert_true(tally.kinds >= 300);
    assert_true(tally.mutations >= 200);
    assert_int_equal(tally.complaints, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire),      cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_external),  cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_operators), cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
