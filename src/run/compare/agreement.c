/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare/agreement.h"

#include <math.h>

#include "workload/element.h"
#include "workload/tensor_compare.h"

/* Says once what is worst about it; the first thing that cannot be compared stays. */
static void note_shapes(struct vt_output_agreement *agreement, uint64_t sample,
                        const struct vt_tensor *a, const struct vt_tensor *b)
{
    char found[96], expected[96];

    if (agreement->agrees || agreement->note[0] == '\0') {
        (void)snprintf(
            agreement->note, sizeof agreement->note, "sample %llu gives %s %s in place of %s %s",
            (unsigned long long)sample, vt_dtype_name(a->dtype),
            vt_shape_text(a->dim, a->rank, NULL, found, sizeof found), vt_dtype_name(b->dtype),
            vt_shape_text(b->dim, b->rank, NULL, expected, sizeof expected));
    }
    agreement->agrees = false;
}

static bool comparable(const struct vt_tensor *a, const struct vt_tensor *b)
{
    int64_t n;
    return vt_tensor_same_shape(a, b) && vt_element_is_real(a->dtype) &&
           vt_shape_elements(a->dim, a->rank, &n);
}

/* Errors of all elements; what is no number is left to the tolerance, which counts it. */
static void add_errors(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                       const struct vt_tensor *a, const struct vt_tensor *b, size_t n, double floor)
{
    for (size_t i = 0; i < n; i++) {
        double found = vt_element_get(a->dtype, a->data, i);
        double expected = vt_element_get(b->dtype, b->data, i);
        double difference = fabs(found - expected);
        if (!isfinite(difference)) {
            continue;
        }
        sums->errors += difference * difference;
        sums->squares += expected * expected;
        agreement->max_absolute = fmax(agreement->max_absolute, difference);
        double scale = fmax(fabs(expected), floor);
        if (difference > 0 && scale > 0) {
            agreement->max_relative = fmax(agreement->max_relative, difference / scale);
        }
    }
}

void vt_agreement_add(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                      uint64_t sample, const struct vt_tensor *a, const struct vt_tensor *b,
                      double rtol, double atol)
{
    bool whole = vt_element_is_integer(a->dtype) || a->dtype == VT_BOOL;
    struct vt_tolerance tolerance = {whole ? 0 : rtol, whole ? 0 : atol};
    struct vt_difference difference = {0};
    int64_t n = 0;

    if (!comparable(a, b) || !vt_shape_elements(a->dim, a->rank, &n)) {
        note_shapes(agreement, sample, a, b);
        return;
    }
    if (n == 0) {
        return;
    }
    vt_tensor_compare(a->dtype, a->data, b->dtype, b->data, (size_t)n, &tolerance, &difference);
    add_errors(agreement, sums, a, b, (size_t)n, whole || rtol <= 0 ? 0 : atol / rtol);
    agreement->elements += (uint64_t)n;
    agreement->beyond += difference.beyond;
    agreement->rms_relative = sums->errors > 0 ? sqrt(sums->errors / sums->squares) : 0;
    if (difference.beyond > 0 && difference.ratio > sums->worst_ratio) {
        sums->worst_ratio = difference.ratio;
        (void)snprintf(agreement->note, sizeof agreement->note,
                       "element %llu of sample %llu is %.6g in place of %.6g",
                       (unsigned long long)difference.worst, (unsigned long long)sample,
                       difference.found, difference.expected);
    }
    agreement->agrees = agreement->agrees && difference.beyond == 0;
}
