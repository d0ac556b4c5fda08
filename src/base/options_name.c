/* SPDX-License-Identifier: Apache-2.0 */
/* Names: finding an option, and what was probably meant when there is none. */
#include <string.h>

#include "base/options_internal.h"

/* Longer names are not compared: no option is that long. */
#define NAME_MAX_COMPARED 48

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * The number of insertions, deletions, replacements and swaps of neighbours that make `a` into
 * `b` (optimal string alignment, the usual dynamic programme over three rows).
 */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][NAME_MAX_COMPARED + 1];
    for (size_t j = 0; j <= n_b; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = minimum(minimum(above[j], row[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = minimum(row[j], above_that[j - 2] + 1);
            }
        }
    }
    return rows[n_a % 3][n_b];
}

/* How far `name` is from `candidate`; a beginning of it counts as near. SIZE_MAX: far. */
static size_t name_distance(const char *name, size_t n_name, const char *candidate)
{
    const size_t n_candidate = strnlen(candidate, NAME_MAX_COMPARED + 1);
    if (n_candidate > NAME_MAX_COMPARED || n_candidate == 0) {
        return SIZE_MAX;
    }
    const size_t distance = edit_distance(name, n_name, candidate, n_candidate);
    const size_t shorter = minimum(n_name, n_candidate);
    if (distance <= (shorter + 1) / 3) {
        return distance;
    }
    /* A beginning ranks behind every small slip. */
    if (n_name >= 3 && strncmp(name, candidate, n_name) == 0) {
        return NAME_MAX_COMPARED + n_candidate - n_name;
    }
    return SIZE_MAX;
}

const char *vt_nearest_name(const char *name, const char *const *names, size_t n)
{
    const size_t n_name = strnlen(name, NAME_MAX_COMPARED + 1);
    if (n_name > NAME_MAX_COMPARED || n_name == 0) {
        return NULL;
    }
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const size_t distance = name_distance(name, n_name, names[i]);
        if (distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}

const char *vt_option_nearest(const struct vt_option_table *table, const char *name)
{
    const char *best = NULL;
    for (size_t i = 0; i < table->n_options; i++) {
        /* Two at a time: the best so far, and the next one. */
        const char *pair[2] = {best, table->options[i].name};
        best = best == NULL ? vt_nearest_name(name, pair + 1, 1) : vt_nearest_name(name, pair, 2);
    }
    return best;
}

/* Whether names agree, a dash and an underscore being the same. */
static bool names_agree(const char *option_name, const char *name, size_t length)
{
    if (strlen(option_name) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = name[i] == '_' ? '-' : name[i];
        if (option_name[i] != c) {
            return false;
        }
    }
    return true;
}

const struct vt_option *vt_option_find(const struct vt_option_table *table, const char *name,
                                       size_t length)
{
    for (size_t i = 0; i < table->n_options; i++) {
        if (names_agree(table->options[i].name, name, length)) {
            return &table->options[i];
        }
    }
    return NULL;
}

const struct vt_option *vt_option_find_letter(const struct vt_option_table *table, char letter)
{
    for (size_t i = 0; i < table->n_options; i++) {
        if (table->options[i].letter != 0 && table->options[i].letter == letter) {
            return &table->options[i];
        }
    }
    return NULL;
}
