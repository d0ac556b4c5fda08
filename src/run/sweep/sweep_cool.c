/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_cool.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define POLL_NS  (500 * VT_NS_PER_MS)
#define BLINK_NS (20 * VT_NS_PER_MS) /* how soon a Ctrl-C is seen */

static void say(const struct vt_sweep_events *events, const char *text)
{
    if (events->waiting != NULL) {
        events->waiting(events->ctx, text);
    }
}

void vt_sweep_cool_init(struct vt_sweep_cool *cool, const struct vt_meter_options *places,
                        const struct vt_sweep_events *events)
{
    struct vt_error err = VT_ERROR_INIT;
    char name[160];

    bool blind = vt_thermal_open(places, &err, &cool->thermal) != VT_OK;
    cool->text[0] = '\0';
    if (cool->wanted && blind) {
        (void)snprintf(cool->text, sizeof cool->text, "points do not wait: %.220s", err.text);
        if (events->warning != NULL) {
            char warning[300];
            (void)snprintf(warning, sizeof warning, "--cool-to: %s", cool->text);
            events->warning(events->ctx, warning);
        }
    } else if (cool->wanted) {
        (void)vt_thermal_read(cool->thermal, name, sizeof name);
        (void)snprintf(cool->text, sizeof cool->text,
                       "points wait until the hottest processor (now %.80s) is at most %.0f °C",
                       name, cool->celsius);
    }
}

void vt_sweep_cool_release(struct vt_sweep_cool *cool)
{
    vt_thermal_close(cool->thermal);
    cool->thermal = NULL;
}

static double read_celsius(const struct vt_sweep_cool *cool)
{
    char name[160];
    return cool->thermal != NULL ? vt_thermal_read(cool->thermal, name, sizeof name) : (double)NAN;
}

static void sleep_until(int64_t deadline_ns, const atomic_bool *stop)
{
    while (!atomic_load(stop) && vt_now_ns() < deadline_ns) {
        int64_t next = vt_now_ns() + BLINK_NS;
        vt_sleep_until_ns(next < deadline_ns ? next : deadline_ns, 0);
    }
}

void vt_sweep_cool_wait(const struct vt_sweep_cool *cool, const atomic_bool *stop,
                        const struct vt_sweep_events *events, double *ret_celsius)
{
    char text[128];

    if (cool->pause_ns > 0) {
        say(events, "resting");
        sleep_until(vt_now_ns() + cool->pause_ns, stop);
    }
    int64_t last = vt_now_ns() + cool->limit_ns;
    double celsius = read_celsius(cool);
    while (cool->wanted && celsius > cool->celsius && !atomic_load(stop)) {
        if (vt_now_ns() >= last) {
            (void)snprintf(text, sizeof text, "still %.1f °C after the longest wait (--cool-limit)",
                           celsius);
            if (events->warning != NULL) {
                events->warning(events->ctx, text);
            }
            break;
        }
        (void)snprintf(text, sizeof text, "cooling to %.0f °C: %.1f °C", cool->celsius, celsius);
        say(events, text);
        sleep_until(vt_now_ns() + POLL_NS, stop);
        celsius = read_celsius(cool);
    }
    say(events, NULL);
    *ret_celsius = celsius;
}
