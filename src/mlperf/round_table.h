/* SPDX-License-Identifier: Apache-2.0 */
/* The rows behind round.h. */
#ifndef VT_MLPERF_ROUND_TABLE_H
#define VT_MLPERF_ROUND_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum vt_round {
    VT_ROUND_3_0,
    VT_ROUND_3_1,
    VT_ROUND_4_0,
    VT_ROUND_4_1,
    VT_ROUND_5_0,
    VT_ROUND_5_1,
    VT_ROUND_6_0,
    VT_ROUND_6_1,
    VT_ROUND_COUNT,
};

/* `key` of that benchmark and scenario had this value from one round to another. */
struct vt_round_row {
    const char *model, *scenario, *key, *value;
    uint8_t from, to; /* enum vt_round, both included */
};

/* Static storage; rows of a benchmark stand together. */
const struct vt_round_row *vt_round_rows(size_t *ret_n);

#endif
