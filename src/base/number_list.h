/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and ranges of numbers, as every option that takes several values reads them.
 *
 *   1,2,4            these
 *   1..256           doubling: 1, 2, 4, ... 256
 *   200..700:50      in steps: 200, 250, ... 700
 *   1,2,4..256       going on as the values before do: here doubling,
 *   200,300..700     here by their difference, 100
 *
 * A range that goes on from a value before it doubles where its first value is twice that one and
 * doubling arrives at its last; else it steps by their difference. Both ends of a range belong to
 * it, also where no step arrives at the last. Values come back in ascending order, each once.
 */
#ifndef VT_BASE_NUMBER_LIST_H
#define VT_BASE_NUMBER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "vatio/status.h"

struct vt_number_list {
    double *items; /* owned: vt_number_list_release */
    size_t count;
};

struct vt_number_limits {
    double minimum, maximum;
    bool whole;  /* integers only; 2^53 at most */
    size_t most; /* values */
};

/* VT_ERR_USAGE says what is wrong, with the piece of the text; VT_ERR_MEMORY. */
enum vt_status vt_number_list_parse(const char *text, const struct vt_number_limits *limits,
                                    struct vt_error *err,
                                    struct vt_number_list *ret_list) VT_NODISCARD;
void vt_number_list_release(struct vt_number_list *list); /* accepts a zeroed one */

#endif
