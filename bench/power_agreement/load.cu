/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <cuda_runtime.h>

#define THREADS 256
/* Memory is read beside the arithmetic: both take power. */
#define WORDS ((size_t)1 << 26)

static float *memory;
static int blocks;
static long long clocks_per_s;
static cudaStream_t stream;

/* Chains of multiplications that never end in a constant, until a number of the GPU's clocks is
 * over. */
__global__ static void work(float *data, long long clocks)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float a = (float)at * 1e-9f, b = 1.0f, c = 0.5f, d = 0.25f;
    const long long begin = clock64();

    while (clock64() - begin < clocks) {
        const float read = data[at];
        at = at + step < WORDS ? at + step : threadIdx.x;
#pragma unroll 64
        for (int i = 0; i < 64; i++) {
            a = fmaf(a, 0.999f, read);
            b = fmaf(b, 0.998f, c);
            c = fmaf(c, 0.997f, d);
            d = fmaf(d, 0.996f, a);
        }
    }
    if (a + b + c + d == 12345.678f) { /* never, but the compiler cannot know */
        data[threadIdx.x] = a;
    }
}

extern "C" const char *load_open(int device)
{
    struct cudaDeviceProp properties;
    int kilohertz = 0;

    cudaError_t code = cudaSetDevice(device);
    if (code == cudaSuccess) {
        code = cudaGetDeviceProperties(&properties, device);
    }
    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device);
    }
    if (code == cudaSuccess) {
        blocks = 8 * properties.multiProcessorCount;
        clocks_per_s = 1000LL * kilohertz;
        code = cudaMalloc((void **)&memory, WORDS * sizeof memory[0]);
    }
    if (code == cudaSuccess) {
        code = cudaMemset(memory, 0, WORDS * sizeof memory[0]);
    }
    if (code == cudaSuccess) {
        code = cudaStreamCreate(&stream);
    }
    return code == cudaSuccess ? NULL : cudaGetErrorString(code);
}

extern "C" const char *load_run(double seconds)
{
    work<<<blocks, THREADS, 0, stream>>>(memory, (long long)(seconds * (double)clocks_per_s));
    cudaError_t code = cudaGetLastError();
    if (code == cudaSuccess) {
        code = cudaStreamSynchronize(stream);
    }
    return code == cudaSuccess ? NULL : cudaGetErrorString(code);
}

extern "C" void load_close(void)
{
    (void)cudaStreamDestroy(stream);
    (void)cudaFree(memory);
}
