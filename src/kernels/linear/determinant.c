/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/linear/linear.h"

/* Gaussian elimination with the largest pivot of each column; destroys `a`. */
static double determinant(double *a, int64_t n)
{
    double result = 1.0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        }
        if (a[pivot * n + k] == 0.0) {
            return 0.0;
        }
        if (pivot != k) {
            result = -result;
            for (int64_t j = k; j < n; j++) {
                const double kept = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = kept;
            }
        }
        result *= a[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    return result;
}

void vt_determinant_run(enum vt_dtype dtype, int64_t count, int64_t n, const void *x, void *y,
                        double *workspace)
{
    for (int64_t m = 0; m < count; m++) {
        for (int64_t i = 0; i < n * n; i++) {
            workspace[i] = dtype == VT_F64 ? ((const double *)x)[m * n * n + i]
                                           : (double)((const float *)x)[m * n * n + i];
        }
        const double result = determinant(workspace, n);
        if (dtype == VT_F64) {
            ((double *)y)[m] = result;
        } else {
            ((float *)y)[m] = (float)result;
        }
    }
}
