/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, windows and the mel scale. Computed in double by the plain formulas. */
#ifndef VT_KERNELS_SIGNAL_SIGNAL_H
#define VT_KERNELS_SIGNAL_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/*
 * Lines of [outer][n][inner][parts] numbers, parts 1 (real) or 2 (real, imaginary), transformed
 * into [outer][bins][inner][2]. A line is cut or filled with zeros to `length` points.
 */
struct vt_fourier {
    enum vt_dtype dtype; /* float32 or float64 */
    int64_t outer, n, inner, parts;
    int64_t length, bins;
    bool inverse; /* and divided by `length` */
    /* An inverse of the first half of a spectrum, whose other half is its mirror image; then y has
     * one real part and `length` bins. */
    bool half;
};
/* Doubles that the table of a transform of that length takes; false when they are too many. */
bool vt_fourier_table_size(int64_t length, size_t *ret_bytes);
void vt_fourier_run(const struct vt_fourier *f, const void *x, void *y, double *table);

/*
 * Frames of a signal [batch][n][parts], `step` apart, each times the window (NULL: 1) and
 * transformed: [batch][frames][bins][2].
 */
struct vt_frames {
    enum vt_dtype dtype;
    int64_t batch, n, parts;
    int64_t frames, step, length, bins;
};
void vt_frames_run(const struct vt_frames *f, const void *x, const void *window, void *y,
                   double *table);

enum vt_window_shape { VT_WINDOW_HANN, VT_WINDOW_HAMMING, VT_WINDOW_BLACKMAN };
/* n points of a window that is periodic or symmetric, converted to `dtype`. */
void vt_window_run(enum vt_window_shape shape, bool periodic, int64_t n, enum vt_dtype dtype,
                   void *y);

/* Weights [length / 2 + 1][mels] from the bins of a spectrum to triangles on the mel scale. */
struct vt_mel {
    int64_t mels, length;
    double sample_rate, lower, upper; /* hertz */
};
void vt_mel_run(const struct vt_mel *m, enum vt_dtype dtype, void *y);

#endif
