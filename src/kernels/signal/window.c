/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/convert/convert.h"
#include "kernels/signal/signal.h"

#define PI 3.14159265358979323846

static void put(enum vt_dtype dtype, void *y, int64_t i, double value)
{
    vt_convert(VT_F64, &value, dtype, (char *)y + i * (int64_t)vt_dtype_bytes(dtype), 1);
}

void vt_window_run(enum vt_window_shape shape, bool periodic, int64_t n, enum vt_dtype dtype,
                   void *y)
{
    /* a - b·cos(x) + c·cos(2x) */
    static const double factors[][3] = {
        {0.5, 0.5, 0.0}, {25.0 / 46.0, 1.0 - 25.0 / 46.0, 0.0}, {0.42, 0.5, 0.08}};
    const double *k = factors[shape];
    const double period = (double)(periodic ? n : n - 1);
    for (int64_t i = 0; i < n; i++) {
        const double x = period > 0 ? 2 * PI * (double)i / period : 0;
        put(dtype, y, i, k[0] - k[1] * cos(x) + k[2] * cos(2 * x));
    }
}

/* The bin of the spectrum at which point i of mels + 2 on the mel scale lies. */
static int64_t bin_of(const struct vt_mel *m, int64_t i)
{
    const double low = 2595 * log10(1 + m->lower / 700), high = 2595 * log10(1 + m->upper / 700);
    const double mel = low + (double)i * (high - low) / (double)(m->mels + 2);
    const double hertz = 700 * (pow(10, mel / 2595) - 1);
    const double bin = floor((double)(m->length + 1) * hertz / m->sample_rate);
    return bin >= 0 && bin <= (double)m->length ? (int64_t)bin : m->length + 1;
}

void vt_mel_run(const struct vt_mel *m, enum vt_dtype dtype, void *y)
{
    const int64_t bins = m->length / 2 + 1;
    for (int64_t i = 0; i < m->mels; i++) {
        const int64_t low = bin_of(m, i), centre = bin_of(m, i + 1), high = bin_of(m, i + 2);
        for (int64_t b = 0; b < bins; b++) {
            double weight = 0;
            if (b == centre && low == centre) {
                weight = 1;
            } else if (b >= low && b <= centre && low < centre) {
                weight = (double)(b - low) / (double)(centre - low);
            }
            if (b >= centre && b < high) {
                weight = (double)(high - b) / (double)(high - centre);
            }
            put(dtype, y, b * m->mels + i, weight);
        }
    }
}
