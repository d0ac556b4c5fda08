/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the kernels are, beside what the machine can do:
 *
 *   kernels gemm|conv [--filter TEXT] [--isa] [--cold] [--rounds N] [--threads N]
 *
 * Every shape is run by every kernel that can carry it out. Kernels of one shape take turns, a
 * stretch of the peak kernel before each, and the best of all rounds counts: on a shared machine
 * the mean says more about the neighbours. With one thread the time is the process's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "bench.h"
#include "kernels/peak/peak.h"

#define CASES_MAX   64
#define STRETCH_S   4e-3
#define PEAK_ROUNDS 20000
#define COLD_BYTES  (INT64_C(192) << 20)
#define COPIES_MAX  4096

static double seconds(uint32_t threads)
{
    struct timespec t;
    (void)clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_of_a_thread(void)
{
    const struct vt_peak_kernel *peak = vt_peak_kernel_find(vt_topology()->features);
    float sink;
    const double start = seconds(1);
    peak->run(PEAK_ROUNDS, &sink);
    return peak->flops_per_round * PEAK_ROUNDS / (seconds(1) - start);
}

/* Calls until a stretch is over; returns the seconds of a call. */
static double stretch(const struct bench_options *options, const struct bench_case *one,
                      int64_t *turn)
{
    const double start = seconds(options->threads);
    double now;
    int64_t calls = 0;
    do {
        one->call(one->ctx, (*turn)++);
        calls++;
        now = seconds(options->threads);
    } while (now - start < STRETCH_S);
    return (now - start) / (double)calls;
}

void bench_cases(const struct bench_options *options, const struct bench_case *cases, int n)
{
    double best[CASES_MAX], peak = 0;
    int64_t turn[CASES_MAX] = {0};
    n = n < CASES_MAX ? n : CASES_MAX;
    for (int round = 0; round <= options->rounds; round++) { /* the first one warms up */
        for (int i = 0; i < n; i++) {
            const double measured = peak_of_a_thread();
            const double s = stretch(options, &cases[i], &turn[i]);
            peak = measured > peak ? measured : peak;
            best[i] = round < 2 || s < best[i] ? s : best[i];
        }
    }
    for (int i = 0; i < n; i++) {
        const double rate = cases[i].flops / best[i];
        printf("%-34s %-30s %8.1f %6.1f %% %10.4f ms\n", cases[i].shape, cases[i].kernel,
               rate / 1e9, 100 * rate / peak / options->threads, best[i] * 1e3);
    }
    (void)fflush(stdout);
}

int bench_features(const struct bench_options *options, uint32_t ret[3])
{
    const uint32_t have = vt_topology()->features;
    int n = 0;
    if (have & VT_CPU_AVX512) {
        ret[n++] = have;
    }
    if (have & VT_CPU_AVX2) {
        ret[n++] = VT_CPU_AVX2;
    }
    ret[n++] = 0;
    return options->every_isa ? n : 1;
}

bool bench_wants(const struct bench_options *options, const char *shape)
{
    return options->filter == NULL || strstr(shape, options->filter) != NULL;
}

float *bench_floats(int64_t n)
{
    float *x = vt_alloc((size_t)n * sizeof(float));
    uint32_t state = 1;
    if (x == NULL) {
        (void)fprintf(stderr, "kernels: no memory for %lld numbers\n", (long long)n);
        exit(1);
    }
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return x;
}

int64_t bench_copies(const struct bench_options *options, int64_t floats)
{
    const int64_t bytes = floats * (int64_t)sizeof(float);
    if (!options->cold || bytes <= 0) {
        return 1;
    }
    const int64_t copies = COLD_BYTES / bytes + 1;
    return copies < COPIES_MAX ? copies : COPIES_MAX;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: kernels gemm|conv [--filter TEXT] [--isa] [--cold] [--rounds N] "
                          "[--threads N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct bench_options options = {.rounds = 8, .threads = 1};
    if (argc < 2) {
        return usage();
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--isa") == 0) {
            options.every_isa = true;
        } else if (strcmp(argv[i], "--cold") == 0) {
            options.cold = true;
        } else if (i + 1 == argc) {
            return usage();
        } else if (strcmp(argv[i], "--filter") == 0) {
            options.filter = argv[++i];
        } else if (strcmp(argv[i], "--rounds") == 0) {
            options.rounds = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--threads") == 0) {
            options.threads = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else {
            return usage();
        }
    }
    if (options.rounds < 1 || options.threads < 1) {
        return usage();
    }
    if (options.threads > 1) {
        const struct vt_pool_options pool = {.threads = options.threads, .idle_spin_ns = 50000};
        if (vt_pool_new(&pool, NULL, &options.pool) != VT_OK) {
            (void)fprintf(stderr, "kernels: no pool of %u threads\n", options.threads);
            return 1;
        }
    }
    printf("%-34s %-30s %8s %8s %13s\n", "shape", "kernel", "GF/s", "of peak", "a call");
    int rc = 2;
    if (strcmp(argv[1], "gemm") == 0) {
        rc = bench_gemm(&options);
    } else if (strcmp(argv[1], "conv") == 0) {
        rc = bench_conv(&options);
    } else {
        (void)usage();
    }
    vt_pool_free(options.pool);
    return rc;
}
