/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/einsum.h"

#include <string.h>

#define LETTERS 52

/* While parsing: which label a letter has, and how often it stands in the terms. */
struct parse {
    struct vt_einsum *e;
    int label[LETTERS]; /* -1: not seen */
    int count[LETTERS];
    uint32_t ellipsis; /* its dimensions: labels [0, ellipsis) */
};

static int letter_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Letters and ellipses of the text up to `end`; false when something else is there. */
static bool count_term(const char *text, const char *end, uint32_t *ret_letters,
                       uint32_t *ret_ellipses)
{
    *ret_letters = *ret_ellipses = 0;
    while (text < end) {
        if (*text == ' ') {
            text++;
        } else if (letter_of(*text) >= 0) {
            ++*ret_letters;
            text++;
        } else if (end - text >= 3 && memcmp(text, "...", 3) == 0) {
            ++*ret_ellipses;
            text += 3;
        } else {
            return false;
        }
    }
    return true;
}

/* The end of a term: a comma, the arrow or the end of the text. */
static const char *end_of_term(const char *text)
{
    while (*text != '\0' && *text != ',' && !(text[0] == '-' && text[1] == '>')) {
        text++;
    }
    return text;
}

/* Puts the labels of a term into `to`, which has room for `rank`; new letters get a label when
 * `declare`. */
static const char *fill_term(struct parse *p, const char *text, const char *end, uint32_t own,
                             bool declare, uint8_t *to)
{
    uint32_t at = 0;
    while (text < end) {
        const int letter = letter_of(*text);
        if (letter >= 0) {
            if (p->label[letter] < 0) {
                if (!declare) {
                    return "a letter of the output stands in no term";
                }
                if (p->e->n_labels == VT_EINSUM_LABELS) {
                    return "it has too many letters";
                }
                p->label[letter] = (int)p->e->n_labels++;
            }
            p->count[letter] += declare;
            to[at++] = (uint8_t)p->label[letter];
            text++;
        } else if (*text == '.') {
            for (uint32_t i = 0; i < own; i++) {
                to[at++] = (uint8_t)(p->ellipsis - own + i);
            }
            text += 3;
        } else {
            text++;
        }
    }
    return NULL;
}

/* First pass over the terms: how many dimensions the ellipsis has at most. */
static const char *measure(struct parse *p, const char *equation, const uint32_t *ranks,
                           uint32_t n_terms, const char **ret_arrow)
{
    const char *text = equation;
    for (uint32_t i = 0; i < n_terms; i++) {
        const char *end = end_of_term(text);
        uint32_t letters, ellipses;
        if (!count_term(text, end, &letters, &ellipses) || ellipses > 1) {
            return "a term holds something else than letters and one ellipsis";
        }
        if (ranks[i] > VT_RANK_MAX || letters > ranks[i] ||
            (ellipses == 0 && letters != ranks[i])) {
            return "a term has another number of dimensions than its input";
        }
        if (ellipses == 1 && ranks[i] - letters > p->ellipsis) {
            p->ellipsis = ranks[i] - letters;
        }
        if ((i + 1 < n_terms) != (*end == ',')) {
            return "it has another number of terms than there are inputs";
        }
        text = *end == ',' ? end + 1 : end;
    }
    *ret_arrow = text;
    return NULL;
}

static const char *fill_output(struct parse *p, const char *arrow)
{
    struct vt_einsum *e = p->e;
    if (*arrow == '\0') {
        for (uint32_t i = 0; i < p->ellipsis; i++) {
            e->out[e->n_out++] = (uint8_t)i;
        }
        for (int letter = 0; letter < LETTERS; letter++) {
            if (p->count[letter] == 1) {
                if (e->n_out == VT_RANK_MAX) {
                    return "its output has too many dimensions";
                }
                e->out[e->n_out++] = (uint8_t)p->label[letter];
            }
        }
        return NULL;
    }
    const char *text = arrow + 2, *end = text + strlen(text);
    uint32_t letters, ellipses, seen = 0;
    if (!count_term(text, end, &letters, &ellipses) || ellipses > 1) {
        return "its output holds something else than letters and one ellipsis";
    }
    e->n_out = letters + (ellipses == 1 ? p->ellipsis : 0);
    if (e->n_out > VT_RANK_MAX) {
        return "its output has too many dimensions";
    }
    const char *problem = fill_term(p, text, end, p->ellipsis, false, e->out);
    for (uint32_t i = 0; problem == NULL && i < e->n_out; i++) {
        if (seen >> e->out[i] & 1) {
            return "a letter stands twice in its output";
        }
        seen |= 1u << e->out[i];
    }
    return problem;
}

const char *vt_einsum_parse(const char *equation, uint32_t n_terms, const uint32_t *ranks,
                            struct vt_einsum *ret)
{
    struct parse p = {.e = ret};
    const char *arrow = NULL, *text = equation;
    *ret = (struct vt_einsum){.n_terms = n_terms};
    for (int i = 0; i < LETTERS; i++) {
        p.label[i] = -1;
    }
    if (n_terms > VT_EINSUM_TERMS) {
        return "it has too many terms";
    }
    const char *problem = measure(&p, equation, ranks, n_terms, &arrow);
    if (problem != NULL) {
        return problem;
    }
    ret->n_labels = p.ellipsis;
    for (uint32_t i = 0; problem == NULL && i < n_terms; i++) {
        const char *end = end_of_term(text);
        uint32_t letters = 0, ellipses = 0;
        (void)count_term(text, end, &letters, &ellipses);
        ret->rank[i] = ranks[i];
        problem = fill_term(&p, text, end, ranks[i] - letters, true, ret->term[i]);
        text = *end == ',' ? end + 1 : end;
    }
    return problem != NULL ? problem : fill_output(&p, arrow);
}
