/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ, VL and VNNI: called only where the processor has them. */
#include <immintrin.h>

#include "kernels/conv8/ways.h"

/*
 * 16 outputs at a time: lane i of the vector gets the four bytes from i·stride. First each quarter
 * of the register gets the 16 bytes in which its four outputs' bytes lie, then these are picked.
 */
void vt_s8_depthwise__vnni(const struct vt_conv8_depthwise *job)
{
    const int stride = (int)job->stride;
    int32_t words[16];
    uint8_t bytes[64];
    for (int i = 0; i < 16; i++) {
        words[i] = i / 4 * stride + i % 4;
    }
    for (int i = 0; i < 64; i++) {
        bytes[i] = (uint8_t)(i / 4 % 4 * stride + i % 4);
    }
    const __m512i quarters = _mm512_loadu_si512(words), pick = _mm512_loadu_si512(bytes);

    for (int64_t y = 0; y < job->rows; y++) {
        const uint8_t *base = job->base + y * job->step;
        int32_t *sums = job->sums + y * job->n;
        for (int64_t x = 0; x < job->n; x += 16, base += (ptrdiff_t)16 * stride) {
            const int8_t *w = job->weights;
            __m512i sum = _mm512_setzero_si512();
            for (int64_t r = 0; r < job->taps; r++) {
                const uint8_t *row = base + job->offsets[r];
                for (int64_t j = 0; j < job->fours; j++, w += 4) {
                    int32_t four;
                    __builtin_memcpy(&four, w, sizeof(four));
                    const __m512i read = _mm512_loadu_si512(row + 4 * j);
                    const __m512i taps =
                        _mm512_shuffle_epi8(_mm512_permutexvar_epi32(quarters, read), pick);
                    sum = _mm512_dpbusd_epi32(sum, taps, _mm512_set1_epi32(four));
                }
            }
            _mm512_storeu_si512(sums + x, sum);
        }
    }
}
