/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two ways to measure one GPU agree: its energy counter, and the integral of its instant
 * power, over windows of idleness, of steady load, and of bursts with pauses of 50 ms. Nothing of
 * the GPU is changed.
 *
 *     power_agreement [--seconds S] [--gpu N] [--nvml-library FILE]
 *
 * Prints a line a window; 0 where all agree within their limit (1 % of the counter under steady
 * load, 2 % else) and within the uncertainties that both state, 1 where one does not, 2 where it
 * could not be measured.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "load.h"
#include "power/sampler.h"

#define LEAD_NS   (2 * VT_NS_PER_S)
#define SETTLE_NS (2 * VT_NS_PER_S)
#define PAUSE_NS  (50 * VT_NS_PER_MS)

enum pattern { IDLE, STEADY, BURSTS, PATTERNS };

static const struct {
    const char *name;
    double limit_percent;
} patterns[PATTERNS] = {{"idle", 2}, {"steady", 1}, {"bursts", 2}};

struct arguments {
    double seconds;
    int gpu;
    const char *library;
};

static int fail(const char *text)
{
    (void)fprintf(stderr, "power_agreement: %s\n", text);
    return 2;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            return false;
        }
        if (strcmp(argv[i], "--seconds") == 0) {
            arguments->seconds = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--gpu") == 0) {
            arguments->gpu = (int)strtol(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--nvml-library") == 0) {
            arguments->library = argv[i + 1];
        } else {
            return false;
        }
    }
    return arguments->seconds >= 1 && arguments->seconds <= 600 && arguments->gpu >= 0;
}

/* Bursts of 30 to 170 ms: ones of a fixed length would beat with the meter's own 100 ms. */
static double burst_s(void)
{
    static unsigned state = 12345;

    state = state * 1103515245U + 12345U;
    return 0.03 + 0.14 * (double)(state >> 16 & 0x7fff) / 32768.0;
}

/* Keeps the pattern up until a moment. */
static const char *load_until(enum pattern pattern, int64_t ns)
{
    const char *failure = NULL;

    while (vt_now_ns() < ns && failure == NULL) {
        switch (pattern) {
        case STEADY:
            failure = load_run(0.02);
            break;
        case BURSTS:
            failure = load_run(burst_s());
            vt_sleep_until_ns(vt_now_ns() + PAUSE_NS, 0);
            break;
        default:
            vt_sleep_until_ns(ns, 0);
            break;
        }
    }
    return failure;
}

static bool find(const struct vt_sampler *sampler, int gpu, const char *what, uint32_t *ret)
{
    char name[48];

    (void)snprintf(name, sizeof name, "gpu%d %s", gpu, what);
    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        if (strcmp(vt_sampler_domain(sampler, i).domain->name, name) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static int compare(struct vt_sampler *sampler, uint32_t counter, uint32_t instant,
                   enum pattern pattern, const struct vt_power_window *window)
{
    struct vt_energy a, b;
    struct vt_error err = VT_ERROR_INIT;

    if (vt_sampler_energy(sampler, counter, window, &err, &a) != VT_OK ||
        vt_sampler_energy(sampler, instant, window, &err, &b) != VT_OK) {
        return fail(err.text);
    }
    const double off = b.joules - a.joules, percent = 100 * off / a.joules;
    const bool near = fabs(percent) <= patterns[pattern].limit_percent;
    const bool within = fabs(off) <= a.uncertainty_j + b.uncertainty_j;
    (void)printf("%-7s %6.2f s  counter %9.2f J +- %7.2f (%6.2f W, steps %.1f ms)  instant %9.2f J "
                 "+- %7.2f (%llu readings, updates %s%.1f ms)  %+.3f %% (limit %.0f %%)  %s, %s\n",
                 patterns[pattern].name, (double)a.window_ns / 1e9, a.joules, a.uncertainty_j,
                 a.mean_w, (double)a.update.ns / 1e6, b.joules, b.uncertainty_j,
                 (unsigned long long)b.readings, b.update.at_most ? "<= " : "",
                 (double)b.update.ns / 1e6, percent, patterns[pattern].limit_percent,
                 near ? "near enough" : "TOO FAR APART",
                 within ? "within the uncertainties" : "OUTSIDE THE UNCERTAINTIES");
    (void)fflush(stdout);
    return near && within ? 0 : 1;
}

static int run(struct vt_sampler *sampler, const struct arguments *arguments)
{
    uint32_t counter, instant;
    int worst = 0;

    if (!find(sampler, arguments->gpu, "energy", &counter) ||
        !find(sampler, arguments->gpu, "instant", &instant)) {
        return fail("this GPU has no energy counter or no instant power");
    }
    (void)printf("%s\n", vt_sampler_domain(sampler, counter).domain->device);
    for (int p = 0; p < PATTERNS; p++) {
        const enum pattern pattern = (enum pattern)p;
        const char *failure = load_until(pattern, vt_now_ns() + LEAD_NS);
        struct vt_power_window window = {.begin_ns = vt_now_ns()};
        vt_sampler_mark(sampler);
        if (failure == NULL) {
            failure = load_until(pattern, window.begin_ns + (int64_t)(arguments->seconds * 1e9));
        }
        window.end_ns = vt_now_ns();
        vt_sampler_mark(sampler);
        if (failure != NULL) {
            return fail(failure);
        }
        (void)vt_sampler_settle(sampler, window.end_ns, window.end_ns + SETTLE_NS);
        const int result = compare(sampler, counter, instant, pattern, &window);
        worst = result > worst ? result : worst;
    }
    const struct vt_sampler_cost cost = vt_sampler_cost(sampler);
    (void)printf("the thread that reads took %.3f %% of one CPU\n",
                 100 * (double)cost.cpu_ns / (double)cost.wall_ns);
    return worst;
}

int main(int argc, char **argv)
{
    static const struct vt_meter_ops *const meters[] = {&vt_meter_nvml};
    struct arguments arguments = {.seconds = 12};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sampler *sampler = NULL;

    if (!parse(argc, argv, &arguments)) {
        return fail("usage: power_agreement [--seconds 1..600] [--gpu N] [--nvml-library FILE]");
    }
    const struct vt_meter_options places = {.nvml_library = arguments.library};
    const struct vt_sampler_options options = {meters, 1, &places, 0, -1};
    const char *failure = load_open(arguments.gpu);
    if (failure != NULL) {
        return fail(failure);
    }
    if (vt_sampler_new(&options, &err, &sampler) != VT_OK) {
        return fail(err.text);
    }
    const int result = run(sampler, &arguments);
    vt_sampler_free(sampler);
    load_close();
    return result;
}
