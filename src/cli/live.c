/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define PERIOD_NS (200 * VT_NS_PER_MS)
#define BAR_CELLS 20
/* Below this, figures are worth more than a bar. */
#define NARROW_COLUMNS 90

struct view {
    int64_t at_ns;
    uint64_t completed;
    double rate; /* smoothed */
};

static double progress(const struct vt_live *live, uint64_t completed, int64_t now)
{
    double done = 0;

    if (live->expected_samples > 0) {
        done = (double)completed / (double)live->expected_samples;
    } else if (live->expected_ns > 0) {
        done = (double)(now - live->phase_start_ns) / (double)live->expected_ns;
    }
    return done > 1 ? 1 : done;
}

static void draw(struct vt_live *live, struct view *view)
{
    char number[32], line[256];
    int64_t now = vt_now_ns();
    uint64_t completed = atomic_load_explicit(&live->control->completed, memory_order_relaxed);

    /* The counters start again with every run of load. */
    int64_t started = atomic_load_explicit(&live->control->started_ns, memory_order_relaxed);
    if (completed < view->completed) {
        view->completed = 0;
    }
    if (view->completed == 0 && started > view->at_ns && started < now) {
        view->at_ns = started;
    }
    double passed = (double)(now - view->at_ns) / 1e9;
    double rate = passed > 0 ? (double)(completed - view->completed) / passed : 0;
    view->rate = view->rate > 0 ? 0.5 * view->rate + 0.5 * rate : rate;
    view->completed = completed;
    view->at_ns = now;

    double done = progress(live, completed, now);
    double left = done > 0 ? (double)(now - live->phase_start_ns) * (1 - done) / done / 1e9 : 0;
    char bar[BAR_CELLS + 1];
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < (int)(done * BAR_CELLS + 0.5) ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    bool narrow = vt_cli_columns(stderr) < NARROW_COLUMNS;
    int n =
        snprintf(line, sizeof line, narrow ? "%s%s" : "%-14s [%s]", live->phase, narrow ? "" : bar);
    n += snprintf(line + n, sizeof line - (size_t)n, " %3.0f %%  %s samples/s", done * 100,
                  vt_number_text(view->rate, number, sizeof number));
    int64_t p99 = vt_load_latency_so_far(live->control, 0.99);
    if (n > 0 && p99 >= 0 && (size_t)n < sizeof line) {
        n += snprintf(line + n, sizeof line - (size_t)n, "  p99 %s",
                      vt_duration_text(p99, number, sizeof number));
    }
    const double watts = live->energy != NULL ? vt_run_energy_watts(live->energy) : (double)NAN;
    if (n > 0 && isfinite(watts) && (size_t)n < sizeof line) {
        n += snprintf(line + n, sizeof line - (size_t)n, "  %s W",
                      vt_number_text(watts, number, sizeof number));
    }
    if (n > 0 && left > 0 && (size_t)n < sizeof line) {
        n += snprintf(line + n, sizeof line - (size_t)n, "  %.0f s left", left);
    }
    if (atomic_load(&live->control->stop) && n > 0 && (size_t)n < sizeof line) {
        (void)snprintf(line + n, sizeof line - (size_t)n, "  stopping; Ctrl-C again kills");
    }
    /* A line that wraps cannot be overwritten: cut it to the terminal. All of it is ASCII but for
     * a µ, so bytes are a safe measure. */
    size_t cut = (size_t)(vt_cli_columns(stderr) - 1);
    cut = cut < strlen(line) ? cut : strlen(line);
    while (cut > 0 && ((unsigned char)line[cut] & 0xc0) == 0x80) {
        cut--; /* not within a character */
    }
    (void)fprintf(stderr, "\r%.*s\x1b[K", (int)cut, line);
}

static void *live_main(void *argument)
{
    struct vt_live *live = argument;
    struct view view = {.at_ns = vt_now_ns()};

    pthread_mutex_lock(&live->lock);
    while (!live->quit) {
        int64_t until = vt_now_ns() + PERIOD_NS;
        struct timespec at = {.tv_sec = (time_t)(until / VT_NS_PER_S),
                              .tv_nsec = (long)(until % VT_NS_PER_S)};
        (void)pthread_cond_timedwait(&live->wake, &live->lock, &at);
        if (live->phase_start_ns != 0 && !live->quit) {
            draw(live, &view);
        } else {
            view = (struct view){.at_ns = vt_now_ns()};
        }
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

void vt_live_start(struct vt_live *live, struct vt_load_control *control)
{
    pthread_condattr_t attributes;

    memset(live, 0, sizeof *live);
    live->control = control;
    live->shown = isatty(STDERR_FILENO) == 1;
    pthread_mutex_init(&live->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&live->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (live->shown) {
        live->running = pthread_create(&live->thread, NULL, live_main, live) == 0;
    }
}

static void wipe(const struct vt_live *live)
{
    if (live->running) {
        (void)fputs("\r\x1b[K", stderr);
    }
}

void vt_live_stop(struct vt_live *live)
{
    if (live->running) {
        pthread_mutex_lock(&live->lock);
        live->quit = true;
        pthread_cond_signal(&live->wake);
        pthread_mutex_unlock(&live->lock);
        pthread_join(live->thread, NULL);
        wipe(live);
        live->running = false;
    }
    pthread_cond_destroy(&live->wake);
    pthread_mutex_destroy(&live->lock);
}

void vt_live_phase_begin(struct vt_live *live, const struct vt_run_phase *phase)
{
    pthread_mutex_lock(&live->lock);
    (void)snprintf(live->phase, sizeof live->phase, "%s", phase->name);
    live->expected_ns = phase->expected_ns;
    live->expected_samples = phase->expected_samples;
    live->phase_start_ns = vt_now_ns();
    pthread_mutex_unlock(&live->lock);
}

void vt_live_phase_end(struct vt_live *live)
{
    pthread_mutex_lock(&live->lock);
    live->phase_start_ns = 0;
    wipe(live);
    pthread_mutex_unlock(&live->lock);
}

void vt_live_meters(struct vt_live *live, struct vt_run_energy *energy)
{
    pthread_mutex_lock(&live->lock);
    live->energy = energy;
    pthread_mutex_unlock(&live->lock);
}
