/* SPDX-License-Identifier: Apache-2.0 */
#include "load/selection.h"

#include <string.h>

#include "base/alloc.h"

enum vt_status vt_sample_sets_init(struct vt_sample_sets *sets,
                                   const struct vt_load_settings *settings,
                                   const struct vt_load_effective *effective, struct vt_error *err)
{
    bool accuracy = settings->mode == VT_ACCURACY;
    size_t count =
        accuracy ? effective->accuracy_sample_count : effective->performance_sample_count;
    size_t set_size = effective->performance_sample_count;
    *sets = (struct vt_sample_sets){
        .count = count,
        .set_size = set_size,
        .padding = settings->scenario == VT_MULTISTREAM ? effective->samples_per_query - 1 : 0,
        .n = (count + set_size - 1) / set_size,
    };
    /* count < 2^32, padding < 2^32 and n <= count: the product stays below 2^64. */
    size_t total = count + sets->n * sets->padding;
    sets->indices = vt_calloc(total, sizeof(*sets->indices));
    if (sets->indices == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the order of %zu samples", total);
    }
    for (size_t i = 0; i < count; i++) {
        sets->indices[i] = i;
    }
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, settings->qsl_rng_seed);
    vt_rng_shuffle(&rng, settings->bounded_method, sets->indices, count);
    if (sets->padding == 0) {
        return VT_OK;
    }
    /* From the last set to the first, so that nothing is overwritten before it moved. */
    for (size_t k = sets->n; k-- > 0;) {
        size_t size = k + 1 < sets->n ? set_size : count - k * set_size;
        uint64_t *set = sets->indices + k * (set_size + sets->padding);
        memmove(set, sets->indices + k * set_size, size * sizeof(*set));
        for (size_t i = 0; i < sets->padding; i++) {
            set[size + i] = set[i];
        }
    }
    return VT_OK;
}

void vt_sample_sets_release(struct vt_sample_sets *sets)
{
    vt_free(sets->indices);
    *sets = (struct vt_sample_sets){0};
}

struct vt_sample_set vt_sample_sets_get(const struct vt_sample_sets *sets, size_t i)
{
    size_t size = i + 1 < sets->n ? sets->set_size : sets->count - i * sets->set_size;
    return (struct vt_sample_set){
        .indices = sets->indices + i * (sets->set_size + sets->padding),
        .size = size,
        .padded = size + sets->padding,
    };
}

static enum vt_selection_rule select_rule(const struct vt_load_settings *s)
{
    bool accuracy = s->mode == VT_ACCURACY;
    if (s->scenario == VT_OFFLINE) {
        if (s->performance_issue_same) {
            return VT_SELECT_SAME;
        }
        return s->sample_concatenate_permutation ? VT_SELECT_REPEAT_SHUFFLE : VT_SELECT_REPEAT;
    }
    if (s->performance_issue_unique) {
        return VT_SELECT_ORDER;
    }
    if (s->performance_issue_same) {
        return VT_SELECT_SAME;
    }
    if (s->sample_concatenate_permutation && s->scenario != VT_MULTISTREAM) {
        return VT_SELECT_EQUAL;
    }
    return accuracy ? VT_SELECT_ORDER : VT_SELECT_UNIFORM;
}

/* A shuffle of 0, width, 2 width, … below the set's size; only drawn unless `keep`. */
static enum vt_status shuffle_starts(struct vt_selection *sel, bool keep, struct vt_error *err)
{
    size_t n = (sel->set.size + sel->width - 1) / sel->width;
    if (!keep) {
        vt_rng_skip_shuffle(&sel->rng, sel->method, n);
        return VT_OK;
    }
    sel->order = vt_calloc(n, sizeof(*sel->order));
    if (sel->order == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the order of %zu queries", n);
    }
    sel->order_n = n;
    for (size_t i = 0; i < n; i++) {
        sel->order[i] = i * sel->width;
    }
    vt_rng_shuffle(&sel->rng, sel->method, sel->order, n);
    return VT_OK;
}

/*
 * The table of equal issue: one running permutation of the padded set, shuffled once for each set
 * that queries_min covers. LoadGen draws it in every run; here it is not stored but drawn when it
 * is used, from a copy of the generator, and skipped where draws follow it.
 *
 * Places `ahead` as far as `order` has been issued, so that no draw waits for a whole shuffle.
 */
static void equal_keep_up(struct vt_selection *sel)
{
    while (sel->ahead_n < sel->at) {
        /* The table's first shuffle is one of the identity. */
        vt_rng_shuffle_step(&sel->equal_rng, sel->method, sel->equal_round == 0 ? NULL : sel->order,
                            sel->ahead, sel->order_n, &sel->ahead_n);
    }
}

/* `ahead` is complete: it is issued now, and the next one begun. */
static void equal_next_round(struct vt_selection *sel)
{
    uint64_t *issued = sel->order;
    sel->order = sel->ahead;
    sel->ahead = issued;
    sel->ahead_n = 0;
    sel->at = 0;
    sel->equal_round++;
    if (sel->equal_round == sel->equal_rounds) {
        sel->equal_round = 0;
        sel->equal_rng = sel->equal_from;
    }
}

static enum vt_status draw_equal_table(struct vt_selection *sel, struct vt_error *err)
{
    size_t n = sel->set.padded;
    sel->equal_rounds = (sel->queries_min + n - 1) / n;
    if (sel->rule == VT_SELECT_EQUAL) {
        sel->order = vt_calloc(n, sizeof(*sel->order));
        sel->ahead = vt_calloc(n, sizeof(*sel->ahead));
        if (sel->order == NULL || sel->ahead == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "no memory for the order of %zu samples", n);
        }
        sel->order_n = n;
        sel->equal_from = sel->rng;
        sel->equal_rng = sel->rng;
        sel->at = n;
        equal_keep_up(sel);
        return VT_OK;
    }
    if (sel->rule == VT_SELECT_UNIFORM || sel->rule == VT_SELECT_REPEAT_SHUFFLE) {
        for (uint64_t i = 0; i < sel->equal_rounds; i++) {
            vt_rng_skip_shuffle(&sel->rng, sel->method, n);
        }
    }
    return VT_OK;
}

/* The generator is consumed in LoadGen's order, used or not. */
static enum vt_status draw_tables(struct vt_selection *sel, bool accuracy, bool unique,
                                  struct vt_error *err)
{
    enum vt_status st = VT_OK;
    if (accuracy) {
        st = shuffle_starts(sel, sel->rule == VT_SELECT_ORDER && !unique, err);
    }
    if (st == VT_OK) {
        st = shuffle_starts(sel, unique, err);
    }
    return st != VT_OK ? st : draw_equal_table(sel, err);
}

static uint64_t pad_to(uint64_t n, uint64_t multiple)
{
    return n % multiple == 0 ? n : n + (multiple - n % multiple);
}

enum vt_status vt_selection_init(struct vt_selection *selection,
                                 const struct vt_load_settings *settings,
                                 const struct vt_load_effective *effective,
                                 struct vt_sample_set set, struct vt_error *err)
{
    struct vt_selection *sel = selection;
    bool accuracy = settings->mode == VT_ACCURACY;
    bool offline = settings->scenario == VT_OFFLINE;
    *sel = (struct vt_selection){
        .set = set,
        .rule = select_rule(settings),
        .method = settings->bounded_method,
        .width = settings->scenario == VT_MULTISTREAM ? effective->samples_per_query : 1,
        .samples_per_query = accuracy && offline ? set.size : effective->samples_per_query,
        .queries_min = effective->min_query_count,
        .duration_ns = effective->target_duration_ns,
        /* The last set of an accuracy run may be shorter than the others. */
        .same = settings->performance_issue_same_index < set.size
                    ? settings->performance_issue_same_index
                    : set.size - 1,
    };
    if (accuracy || settings->performance_issue_unique) {
        sel->duration_ns = 0;
        sel->queries_min = set.padded / sel->samples_per_query;
    }
    vt_mt19937_seed(&sel->rng, settings->sample_index_rng_seed);

    bool unique = sel->rule == VT_SELECT_ORDER && settings->performance_issue_unique;
    enum vt_status st = draw_tables(sel, accuracy, unique, err);
    if (st != VT_OK) {
        return st;
    }
    if (sel->rule == VT_SELECT_REPEAT_SHUFFLE) {
        sel->order = vt_calloc(set.padded, sizeof(*sel->order));
        if (sel->order == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "no memory for the order of %zu samples",
                                set.padded);
        }
        sel->order_n = set.padded;
        sel->at = set.padded;
    }
    if (settings->sample_concatenate_permutation && !accuracy) {
        if (offline) {
            sel->samples_per_query = pad_to(sel->samples_per_query, set.padded);
        } else {
            sel->queries_min = pad_to(sel->queries_min, set.padded);
            sel->queries_step = set.padded;
        }
    }
    /* Accuracy ends with the set by whatever rule; unique has no more to give. */
    if (accuracy) {
        sel->queries_max = sel->queries_min;
    } else if (unique) {
        sel->queries_max = sel->order_n;
    }
    return VT_OK;
}

enum vt_status vt_selection_copy(struct vt_selection *copy, const struct vt_selection *selection,
                                 struct vt_error *err)
{
    const size_t n = selection->order_n;
    *copy = *selection;
    copy->order = selection->order != NULL ? vt_calloc(n, sizeof(*copy->order)) : NULL;
    copy->ahead = selection->ahead != NULL ? vt_calloc(n, sizeof(*copy->ahead)) : NULL;
    if ((copy->order == NULL) != (selection->order == NULL) ||
        (copy->ahead == NULL) != (selection->ahead == NULL)) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the order of %zu samples", n);
    }
    if (copy->order != NULL) {
        memcpy(copy->order, selection->order, n * sizeof(*copy->order));
    }
    if (copy->ahead != NULL) {
        memcpy(copy->ahead, selection->ahead, n * sizeof(*copy->ahead));
    }
    return VT_OK;
}

void vt_selection_release(struct vt_selection *selection)
{
    vt_free(selection->order);
    vt_free(selection->ahead);
    *selection = (struct vt_selection){0};
}

static void fill_repeat(struct vt_selection *sel, uint64_t *ret_indices, size_t n)
{
    const bool shuffled = sel->rule == VT_SELECT_REPEAT_SHUFFLE;
    const uint64_t *from = shuffled ? sel->order : sel->set.indices;
    while (n > 0) {
        if (sel->at == sel->set.padded) {
            sel->at = 0;
        }
        if (shuffled && sel->at == 0) {
            memcpy(sel->order, sel->set.indices, sel->order_n * sizeof(*sel->order));
            vt_rng_shuffle(&sel->rng, sel->method, sel->order, sel->order_n);
        }
        size_t part = sel->set.padded - sel->at;
        part = part < n ? part : n;
        memcpy(ret_indices, from + sel->at, part * sizeof(*ret_indices));
        sel->at += part;
        ret_indices += part;
        n -= part;
    }
}

static size_t draw(struct vt_selection *sel)
{
    switch (sel->rule) {
    case VT_SELECT_ORDER:
        return sel->at < sel->order_n ? sel->order[sel->at++] : 0;
    case VT_SELECT_SAME:
        return sel->same;
    case VT_SELECT_EQUAL:
        if (sel->at == sel->order_n) {
            equal_next_round(sel);
        }
        sel->at++;
        equal_keep_up(sel);
        return sel->order[sel->at - 1];
    case VT_SELECT_UNIFORM:
    case VT_SELECT_REPEAT:
    case VT_SELECT_REPEAT_SHUFFLE:
        break;
    }
    return vt_rng_bounded(&sel->rng, (uint32_t)sel->set.size, sel->method);
}

void vt_selection_fill(struct vt_selection *selection, uint64_t *ret_indices, size_t n)
{
    if (selection->rule == VT_SELECT_REPEAT || selection->rule == VT_SELECT_REPEAT_SHUFFLE) {
        fill_repeat(selection, ret_indices, n);
        return;
    }
    for (size_t i = 0; i < n; i += selection->width) {
        const uint64_t *from = selection->set.indices + draw(selection);
        size_t width = selection->width < n - i ? selection->width : n - i;
        for (size_t j = 0; j < width; j++) {
            ret_indices[i + j] = from[j];
        }
    }
}
