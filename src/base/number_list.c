/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/quote.h"

/* A piece between commas: longer ones are no numbers. */
#define PIECE_MAX 64

struct builder {
    const struct vt_number_limits *limits;
    struct vt_number_list list;
    size_t capacity;
    struct vt_error *err;
};

static enum vt_status add(struct builder *builder, double value)
{
    struct vt_number_list *list = &builder->list;

    if (list->count == builder->limits->most) {
        return vt_error_set(builder->err, VT_ERR_USAGE,
                            "more than %zu values: take fewer or longer steps",
                            builder->limits->most);
    }
    if (list->count == builder->capacity) {
        size_t capacity = builder->capacity > 0 ? 2 * builder->capacity : 16;
        double *items =
            vt_regrow(list->items, list->count * sizeof items[0], capacity * sizeof items[0]);
        if (items == NULL) {
            return vt_error_set(builder->err, VT_ERR_MEMORY, "out of memory");
        }
        list->items = items;
        builder->capacity = capacity;
    }
    list->items[list->count++] = value;
    return VT_OK;
}

/* One number of `length` bytes within the limits. */
static enum vt_status parse_number(const struct builder *builder, const char *text, size_t length,
                                   double *ret)
{
    const struct vt_number_limits *limits = builder->limits;
    char piece[PIECE_MAX], low[40], high[40];
    double value;

    if (length == 0 || length >= sizeof piece) {
        return vt_error_set(builder->err, VT_ERR_USAGE,
                            length == 0 ? "a number is missing" : "no number is so long");
    }
    memcpy(piece, text, length);
    piece[length] = '\0';
    enum vt_status status = vt_parse_real(piece, &value, builder->err);
    if (status != VT_OK) {
        return status;
    }
    if (limits->whole && value != nearbyint(value)) {
        return vt_error_set(builder->err, VT_ERR_USAGE, "'%s' is not a whole number",
                            vt_plain(piece).text);
    }
    if (value < limits->minimum || value > limits->maximum) {
        vt_format_real(limits->minimum, low, sizeof low);
        vt_format_real(limits->maximum, high, sizeof high);
        return vt_error_set(builder->err, VT_ERR_USAGE, "%s: allowed %s..%s", vt_plain(piece).text,
                            low, high);
    }
    *ret = value;
    return VT_OK;
}

/* Whether doubling `first` comes to `last`. */
static bool doubles_to(double first, double last)
{
    while (first > 0 && first < last) {
        first *= 2;
    }
    return first == last;
}

static enum vt_status add_doubling(struct builder *builder, double first, double last)
{
    enum vt_status status = VT_OK;

    if (first <= 0 && last > first) {
        return vt_error_set(builder->err, VT_ERR_USAGE,
                            "a range that doubles begins above 0; give steps, as in 0..8:2");
    }
    double value = first;
    while (value < last && status == VT_OK) {
        status = add(builder, value);
        value *= 2;
    }
    return status == VT_OK ? add(builder, last) : status;
}

/* Each value is computed from the first, so that no rounding piles up. */
static enum vt_status add_steps(struct builder *builder, double first, double last, double step)
{
    enum vt_status status = VT_OK;

    for (size_t i = 0; status == VT_OK; i++) {
        double value = first + (double)i * step;
        /* What the last step misses by rounding is the end itself. */
        if (!(value < last - 1e-9 * step)) {
            break;
        }
        status = add(builder, value);
    }
    return status == VT_OK ? add(builder, last) : status;
}

static enum vt_status add_range(struct builder *builder, const char *text, const char *dots,
                                size_t length, const double *before)
{
    const char *end = text + length;
    const char *colon = memchr(dots, ':', (size_t)(end - dots));
    const char *last_end = colon != NULL ? colon : end;
    double first, last, step = 0;

    enum vt_status status = parse_number(builder, text, (size_t)(dots - text), &first);
    if (status == VT_OK) {
        status = parse_number(builder, dots + 2, (size_t)(last_end - dots - 2), &last);
    }
    if (status != VT_OK) {
        return status;
    }
    if (last < first) {
        return vt_error_set(builder->err, VT_ERR_USAGE,
                            "the range goes down: give the smaller end first");
    }
    if (colon != NULL) {
        char piece[PIECE_MAX];
        size_t n = (size_t)(end - colon - 1);
        (void)snprintf(piece, sizeof piece, "%.*s", (int)(n < PIECE_MAX ? n : PIECE_MAX - 1),
                       colon + 1);
        status = vt_parse_real(piece, &step, builder->err);
        if (status == VT_OK &&
            (!(step > 0) || (builder->limits->whole && step != nearbyint(step)))) {
            status = vt_error_set(builder->err, VT_ERR_USAGE, "a step of %s: allowed is %s above 0",
                                  vt_plain(piece).text,
                                  builder->limits->whole ? "a whole number" : "a number");
        }
    } else if (before != NULL && !(first == 2 * *before && doubles_to(first, last))) {
        step = first - *before;
        if (!(step > 0)) {
            status = vt_error_set(builder->err, VT_ERR_USAGE,
                                  "the range begins below the value before it");
        }
    }
    if (status != VT_OK) {
        return status;
    }
    return step > 0 ? add_steps(builder, first, last, step) : add_doubling(builder, first, last);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_once(struct vt_number_list *list)
{
    size_t kept = 0;

    qsort(list->items, list->count, sizeof list->items[0], compare_numbers);
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || list->items[kept - 1] != list->items[i]) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* The dots of a range within a piece. NULL: it is a single number. */
static const char *find_dots(const char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] == '.' && text[i + 1] == '.') {
            return text + i;
        }
    }
    return NULL;
}

enum vt_status vt_number_list_parse(const char *text, const struct vt_number_limits *limits,
                                    struct vt_error *err, struct vt_number_list *ret_list)
{
    struct builder builder = {.limits = limits, .err = err};
    enum vt_status status = VT_OK;
    double single = 0;
    const double *before = NULL; /* the single number before a range */

    for (const char *at = text; status == VT_OK; at++) {
        size_t length = strcspn(at, ",");
        const char *dots = find_dots(at, length);
        if (dots != NULL) {
            status = add_range(&builder, at, dots, length, before);
            before = NULL;
        } else {
            double value;
            status = parse_number(&builder, at, length, &value);
            if (status == VT_OK) {
                status = add(&builder, value);
                single = value;
                before = &single;
            }
        }
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    if (status != VT_OK) {
        vt_number_list_release(&builder.list);
        return status;
    }
    sort_once(&builder.list);
    *ret_list = builder.list;
    return VT_OK;
}

void vt_number_list_release(struct vt_number_list *list)
{
    vt_free(list->items);
    *list = (struct vt_number_list){NULL, 0};
}
