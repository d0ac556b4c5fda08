/* SPDX-License-Identifier: Apache-2.0 */
/* Which precision was chosen of those that were tried, and why. */
#ifndef VT_RESULT_PRECISION_H
#define VT_RESULT_PRECISION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VT_PRECISIONS_MAX 4

struct vt_precision_candidate {
    char precision[8]; /* "bf16" */
    bool tried;
    double time_ns; /* of one sample, the least seen */
    bool has_quality;
    double quality; /* in the choice's metric */
    bool has_rms;
    double rms;          /* of the outputs' errors beside fp32, relative */
    double loss_percent; /* of the quality, or rms in percent */
    bool holds;          /* the loss is allowed */
    char why[160];       /* why it was not tried, or what spoke against it; "" */
};

struct vt_precision_choice {
    bool made;      /* else nothing was chosen: the precision was given */
    char chosen[8]; /* "bf16" */
    char rule[160]; /* how it was judged */
    char why[160];
    char metric[32], unit[16]; /* "" where outputs were compared */
    double loss_allowed_percent;
    uint64_t samples; /* each candidate computed */
    struct vt_precision_candidate candidates[VT_PRECISIONS_MAX];
    uint32_t n_candidates;
};

/* "bf16 of fp32 1.2 ms 87.1 %, bf16 …": one line, cut at size - 1. Returns text. */
char *vt_precision_choice_text(const struct vt_precision_choice *choice, char *text, size_t size);

#endif
