/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include <string.h>

#include "graph/einsum.h"

static struct vt_einsum e;

static void sound(const char *equation, uint32_t n, const uint32_t *ranks, const char *labels)
{
    const char *problem = vt_einsum_parse(equation, n, ranks, &e);
    char text[256];
    size_t at = 0;
    if (problem != NULL)
        fail_msg("%s: %s", equation, problem);
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t d = 0; d < ranks[t]; d++)
            text[at++] = (char)('0' + e.term[t][d]);
        text[at++] = t + 1 < n ? ',' : '>';
    }
    for (uint32_t d = 0; d < e.n_out; d++)
        text[at++] = (char)('0' + e.out[d]);
    text[at] = '\0';
    assert_string_equal(text, labels);
}

static void test_sound(void **state)
{
    (void)state;
    sound("ij,jk->ik", 2, (const uint32_t[]){2, 2}, "01,12>02");
    sound(" i j , j k -> i k ", 2, (const uint32_t[]){2, 2}, "01,12>02");
    /* Without an arrow: what stands once, in the order of the alphabet. */
    sound("ba", 1, (const uint32_t[]){2}, "01>10");
    sound("i,i", 2, (const uint32_t[]){1, 1}, "0,0>");
    sound("ij,jk", 2, (const uint32_t[]){2, 2}, "01,12>02");
    /* An ellipsis takes the first labels; a shorter one is aligned at its end. */
    sound("...ii->...i", 1, (const uint32_t[]){4}, "0122>012");
    sound("...i,...i->...", 2, (const uint32_t[]){3, 2}, "012,12>01");
    sound("...", 1, (const uint32_t[]){2}, "01>01");
    sound("->", 1, (const uint32_t[]){0}, ">");
}

static void test_wrong(void **state)
{
    static const struct {
        const char *equation;
        uint32_t n, ranks[2];
    } cases[] = {
        {"ij,jk->ik", 1, {2}},
        {"ij->ij", 2, {2, 2}},
        {"ij->ijk", 1, {2}},
        {"ij->ii", 1, {2}},
        {"ijk->i", 1, {2}},
        {"i->i", 1, {2}},
        {"i.j->i", 1, {2}},
        {"......->", 1, {2}},
        {"i1->i", 1, {2}},
        {"ij->i->j", 1, {2}},
        {"", 1, {1}},
        {"ij-", 1, {2}},
        {"...ijk->...", 1, {2}},
        {"i,j,k->", 2, {1, 1}},
        {",", 2, {1, 1}},
        {"abcdefgh,ijklmnopq->", 2, {8, 9}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (vt_einsum_parse(cases[i].equation, cases[i].n, cases[i].ranks, &e) == NULL)
            fail_msg("'%s' passed", cases[i].equation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
