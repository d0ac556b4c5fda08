/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_order.h"

#include <string.h>

#include "base/alloc.h"

/* splitmix64 (Steele, Lea and Flood 2014): a generator whose state is one number. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Below n, each alike: numbers that would favour small ones are drawn again. */
static uint32_t draw_below(uint64_t *state, uint32_t n)
{
    const uint64_t fair = UINT64_MAX - UINT64_MAX % n;
    uint64_t value;

    do {
        value = draw(state);
    } while (value >= fair);
    return (uint32_t)(value % n);
}

static void shuffle(uint64_t *state, uint32_t *items, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = draw_below(state, i);
        uint32_t kept = items[i - 1];
        items[i - 1] = items[j];
        items[j] = kept;
    }
}

static void count_up(uint32_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        items[i] = i;
    }
}

/* 0, 1, n-1, 2, n-2, ... */
static uint32_t williams(uint32_t place, uint32_t n)
{
    uint32_t half = (place + 1) / 2;
    return place % 2 == 1 ? half : (n - half) % n;
}

/* The settings of one block in order. `base` is the shuffle that a latin order shares. */
static void order_block(const struct vt_sweep *sweep, const uint32_t *base, uint64_t *state,
                        uint32_t repeat, uint32_t *block)
{
    uint32_t n = sweep->n_settings;

    switch (sweep->order) {
    case VT_SWEEP_FULL:
        count_up(block, n);
        break;
    case VT_SWEEP_RANDOM:
        count_up(block, n);
        shuffle(state, block, n);
        break;
    case VT_SWEEP_LATIN: {
        uint32_t moved =
            sweep->repeats <= n ? (uint32_t)((uint64_t)repeat * n / sweep->repeats) : repeat % n;
        for (uint32_t i = 0; i < n; i++) {
            block[i] = base[(williams(i, n) + moved) % n];
        }
        break;
    }
    }
}

/* The places that a line's settings have in the block, given out anew in ascending order of the
 * axis: of settings of one line the nested order is that. */
static void sort_lines(const struct vt_sweep *sweep, uint32_t axis, uint32_t *block,
                       uint32_t *place_of)
{
    uint32_t line[VT_SWEEP_VALUES_MAX];

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        place_of[block[i]] = i;
    }
    for (uint32_t s = 0; s < sweep->n_settings; s++) {
        if (vt_sweep_value(sweep, s, axis) != 0) {
            continue;
        }
        uint32_t n = vt_sweep_line(sweep, s, axis, line);
        uint32_t places[VT_SWEEP_VALUES_MAX];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = i;
            for (; at > 0 && places[at - 1] > place_of[line[i]]; at--) {
                places[at] = places[at - 1];
            }
            places[at] = place_of[line[i]];
        }
        for (uint32_t i = 0; i < n; i++) {
            block[places[i]] = line[i];
        }
    }
}

enum vt_status vt_sweep_set_order(struct vt_sweep *sweep, uint32_t ascending, struct vt_error *err)
{
    uint32_t n = sweep->n_settings;
    uint64_t state = sweep->seed;
    uint32_t *base = vt_calloc(3 * (size_t)n, sizeof base[0]);

    if (base == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the order");
    }
    uint32_t *block = base + n, *place_of = block + n;
    count_up(base, n);
    shuffle(&state, base, n);
    for (uint32_t r = 0; r < sweep->repeats; r++) {
        order_block(sweep, base, &state, r, block);
        if (ascending < sweep->n_axes) {
            sort_lines(sweep, ascending, block, place_of);
        }
        for (uint32_t i = 0; i < n; i++) {
            sweep->points[r * n + block[i]].position = r * n + i;
        }
    }
    vt_free(base);
    return VT_OK;
}
