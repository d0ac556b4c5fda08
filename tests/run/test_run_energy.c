/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The energy of a run from what meters told. The meters here tell their readings when they are
 * stopped, at whatever times they like, so that minutes of power take no time.
 */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "run/energy/figures.h"

#define S VT_NS_PER_S

struct curve {
    struct vt_meter_domain domain;
    int64_t from_ns, step_ns;
    uint32_t n;
    double (*value)(double seconds); /* NAN: lost */
};

struct played {
    const struct curve *curves;
    uint32_t n;
    struct vt_meter_domain domains[8];
};

static enum vt_status played_open(const struct vt_meter_ops *self,
                                  const struct vt_meter_options *options, struct vt_error *err,
                                  void **ret_meter)
{
    (void)options;
    (void)err;
    /* The family is the meter: nothing is kept. */
    memcpy(ret_meter, &self->family, sizeof *ret_meter);
    return VT_OK;
}

static const struct vt_meter_domain *played_domains(const void *meter, uint32_t *ret_n)
{
    const struct played *played = meter;
    *ret_n = played->n;
    return played->domains;
}

static enum vt_status played_read(void *meter, const bool *wanted,
                                  struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    const struct played *played = meter;
    (void)wanted;
    (void)err;
    for (uint32_t i = 0; i < played->n; i++) {
        ret_readings[i] = (struct vt_meter_reading){(double)NAN, INT64_MIN, INT64_MIN};
    }
    return VT_OK;
}

static enum vt_status played_finish(void *meter,
                                    void (*keep)(void *ctx, uint32_t domain,
                                                 const struct vt_meter_reading *),
                                    void *ctx, struct vt_error *err)
{
    const struct played *played = meter;
    (void)err;
    for (uint32_t d = 0; d < played->n; d++) {
        const struct curve *curve = &played->curves[d];
        for (uint32_t i = 0; i < curve->n; i++) {
            const int64_t ns = curve->from_ns + (int64_t)i * curve->step_ns;
            const struct vt_meter_reading reading = {curve->value((double)ns / 1e9), ns, ns};
            keep(ctx, d, &reading);
        }
    }
    return VT_OK;
}

static void played_close(void *meter)
{
    (void)meter;
}

static struct vt_meter_ops player(const char *name, struct played *played,
                                  const struct curve *curves, uint32_t n)
{
    *played = (struct played){.curves = curves, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        played->domains[i] = curves[i].domain;
    }
    return (struct vt_meter_ops){
        .api_version = VT_METER_API_VERSION,
        .struct_size = sizeof(struct vt_meter_ops),
        .name = name,
        .summary = "",
        .family = played,
        .period_ns = S,
        .open = played_open,
        .domains = played_domains,
        .read = played_read,
        .finish = played_finish,
        .close = played_close,
    };
}

static struct vt_sampler *play(const struct vt_meter_ops *const *meters, size_t n)
{
    const struct vt_sampler_options options = {meters, n, NULL, 0, -1};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sampler *sampler = NULL;

    if (vt_sampler_new(&options, &err, &sampler) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_sampler_stop(sampler);
    return sampler;
}

static struct vt_result_energy *ask(struct vt_sampler *sampler, const struct vt_load_report *report,
                                    const struct vt_power_window *idle, bool on_cpu)
{
    const struct vt_energy_question question = {sampler, vt_energy_window(report), idle, on_cpu};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_result_energy *energy = NULL;

    if (vt_energy_of_run(&question, report, &err, &energy) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return energy;
}

static bool near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

static struct vt_load_report run_of(enum vt_scenario scenario, int64_t begin_ns, int64_t ns)
{
    struct vt_load_report report = {.start_monotonic_ns = begin_ns,
                                    .duration_ns = ns,
                                    .samples_completed = 1000,
                                    .queries_issued = 1000};
    report.settings.scenario = scenario;
    return report;
}

static struct vt_meter_domain power_of(const char *name, enum vt_meter_scope scope)
{
    struct vt_meter_domain domain = {
        .kind = VT_METER_POWER, .scope = scope, .inside = -1, .stamped = true};
    (void)snprintf(domain.name, sizeof domain.name, "%s", name);
    return domain;
}

/* --- curves ---------------------------------------------------------------------------------- */

static double ten_then_thirty(double s)
{
    return s < 20 ? 10 : 30;
}

static double fifty(double s)
{
    (void)s;
    return 50;
}

static double fifty_one(double s)
{
    (void)s;
    return 51;
}

static double lost_at_25(double s)
{
    return s < 25 ? 5 : (double)NAN;
}

/* A counter of 50 W that moves every 100 ms. */
static double steps_of_fifty(double s)
{
    return floor(s * 10 + 1e-6) * 5;
}

static double warming(double s)
{
    return 40 + s;
}

static double capped_in_turns(double s)
{
    return (int)s % 2 == 0 ? 4 : 1;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void idle_power_is_taken_off(void **state)
{
    const struct curve curve = {power_of("rail", VT_METER_SCOPE_MODULE), 0, S / 10, 601,
                                ten_then_thirty};
    const struct vt_power_window idle = {2 * S, 12 * S};
    struct vt_load_report report = run_of(VT_OFFLINE, 30 * S, 10 * S);
    struct played played;

    (void)state;
    const struct vt_meter_ops meter = player("board", &played, &curve, 1);
    const struct vt_meter_ops *const meters[] = {&meter};
    struct vt_sampler *sampler = play(meters, 1);
    report.metric = (struct vt_metric){"samples_per_second", "samples/s", 100};
    struct vt_result_energy *energy = ask(sampler, &report, &idle, false);
    const struct vt_energy_figures *total = &energy->meters[0].total;
    assert_true(energy->measured && energy->headline == 0);
    assert_string_equal(energy->tier, "informative");
    assert_true(near(total->joules, 300, 1e-9) && near(total->mean_w, 30, 1e-9));
    assert_true(near(total->above_idle_j, 200, 1e-9));
    assert_true(near(energy->meters[0].idle_w, 10, 1e-9));
    assert_true(near(energy->joules_per_sample, 0.3, 1e-9));
    assert_true(near(energy->samples_per_joule, 100.0 / 30, 1e-9));
    assert_true(isnan(energy->mj_per_query) && isnan(energy->joules_per_token));
    vt_result_energy_free(energy);
    /* Without it there is none. */
    energy = ask(sampler, &report, NULL, false);
    assert_true(isnan(energy->meters[0].total.above_idle_j) && energy->idle_ns == 0);
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
}

static double single_of_orin(double s)
{
    (void)s;
    return 14.815;
}

static double multi_of_orin(double s)
{
    (void)s;
    return 17.198;
}

static double offline_of_orin(double s)
{
    (void)s;
    return 22.659;
}

/* An analyzer with a sample a second, and a run of so many queries. */
static struct vt_result_energy *orin(double (*watts)(double), enum vt_scenario scenario,
                                     double seconds, uint64_t queries, double rate)
{
    const struct curve curve = {power_of("wall", VT_METER_SCOPE_WALL), 0, S, 1400, watts};
    struct vt_load_report report = run_of(scenario, 50 * S + S / 2, (int64_t)(seconds * 1e9));
    struct played played;

    const struct vt_meter_ops meter = player("analyzer", &played, &curve, 1);
    const struct vt_meter_ops *const meters[] = {&meter};
    struct vt_sampler *sampler = play(meters, 1);
    report.queries_issued = report.samples_completed = queries;
    report.token.tokens = 2 * queries;
    if (rate > 0) {
        report.metric = (struct vt_metric){"samples_per_second", "samples/s", rate};
    }
    struct vt_result_energy *energy = ask(sampler, &report, NULL, false);
    vt_sampler_free(sampler);
    return energy;
}

/* inference_results_v3.0, closed, NVIDIA, Orin_TRT_MaxQ, resnet50: 22.193 and 80.760 mJ a query,
 * 152.83 samples/s/W or 6.543 mJ a sample. */
static void published_results_come_out(void **state)
{
    (void)state;
    struct vt_result_energy *energy = orin(single_of_orin, VT_SINGLESTREAM, 600, 400518, 0);
    assert_true(near(energy->mj_per_query, 22.193, 1e-4));
    assert_true(near(energy->mlperf_mj_per_query, 22.193, 1e-4));
    assert_int_equal(energy->meters[0].domains[0].readings, 600);
    assert_true(near(energy->joules_per_sample * 1000, energy->mj_per_query, 1e-9));
    assert_true(near(energy->joules_per_token, energy->joules_per_sample / 2, 1e-9));
    assert_true(near(energy->samples_per_joule * energy->joules_per_sample, 1, 1e-9));
    vt_result_energy_free(energy);

    energy = orin(multi_of_orin, VT_MULTISTREAM, 1269.5, 270336, 0);
    assert_true(near(energy->mj_per_query, 80.760, 1e-4));
    assert_true(near(energy->mlperf_mj_per_query, 80.760, 1e-4));
    vt_result_energy_free(energy);

    energy = orin(offline_of_orin, VT_OFFLINE, 667.5, 2311627, 3463.11);
    assert_true(near(energy->samples_per_joule, 152.83, 1e-4));
    assert_true(near(energy->mlperf_samples_per_joule, 152.83, 1e-4));
    assert_true(near(energy->joules_per_sample * 1000, 6.543, 1e-4));
    assert_true(isnan(energy->mj_per_query));
    vt_result_energy_free(energy);
}

static void the_widest_scope_stands_for_the_run(void **state)
{
    static const enum vt_meter_scope scopes[] = {VT_METER_SCOPE_GPU, VT_METER_SCOPE_PACKAGE,
                                                 VT_METER_SCOPE_MODULE, VT_METER_SCOPE_PLATFORM,
                                                 VT_METER_SCOPE_WALL};
    struct vt_load_report report = run_of(VT_OFFLINE, 30 * S, 10 * S);
    struct curve curves[5];
    struct played played[5];
    struct vt_meter_ops ops[5];
    const struct vt_meter_ops *meters[5];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        curves[i] = (struct curve){power_of("all", scopes[i]), 0, S / 10, 601, fifty};
        ops[i] = player("meter", &played[i], &curves[i], 1);
        meters[i] = &ops[i];
    }
    for (uint32_t n = 2; n <= 5; n++) {
        for (int on_cpu = 0; on_cpu < 2; on_cpu++) {
            struct vt_sampler *sampler = play(meters, n);
            struct vt_result_energy *energy = ask(sampler, &report, NULL, on_cpu);
            assert_int_equal(energy->headline, n == 2 ? (uint32_t)on_cpu : n - 1);
            /* Never a sum over meters. */
            assert_true(near(energy->meters[energy->headline].total.joules, 500, 1e-9));
            vt_result_energy_free(energy);
            vt_sampler_free(sampler);
        }
    }
}

static void a_rail_that_goes_away_is_no_figure(void **state)
{
    const struct curve rails[] = {
        {power_of("rail-0", VT_METER_SCOPE_MODULE), 0, S / 10, 601, fifty},
        {power_of("rail-1", VT_METER_SCOPE_MODULE), 0, S / 10, 601, lost_at_25}};
    const struct curve other = {power_of("package-0", VT_METER_SCOPE_PACKAGE), 0, S / 10, 601,
                                fifty};
    struct vt_load_report report = run_of(VT_OFFLINE, 20 * S, 10 * S);
    struct played board, package;

    (void)state;
    const struct vt_meter_ops a = player("board", &board, rails, 2);
    const struct vt_meter_ops b = player("rapl", &package, &other, 1);
    const struct vt_meter_ops *const meters[] = {&a, &b};
    struct vt_sampler *sampler = play(meters, 1);
    struct vt_result_energy *energy = ask(sampler, &report, NULL, true);
    assert_false(energy->measured);
    assert_non_null(strstr(energy->reason, "board: rail-1"));
    assert_true(isnan(energy->joules_per_sample) && isnan(energy->meters[0].total.joules));
    assert_true(energy->meters[0].domains[0].figures.measured); /* the other rail is told */
    assert_false(energy->meters[0].domains[1].figures.measured);
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
    /* Another meter stands in, of a smaller scope though it is. */
    sampler = play(meters, 2);
    energy = ask(sampler, &report, NULL, true);
    assert_true(energy->measured && energy->headline == 1);
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
}

static void a_window_too_short_says_what_would_do(void **state)
{
    struct curve curve = {power_of("gpu0 energy", VT_METER_SCOPE_GPU), 0, S / 100, 6001,
                          steps_of_fifty};
    struct vt_load_report report = run_of(VT_OFFLINE, 30 * S, S / 4);
    struct played played;

    (void)state;
    curve.domain.kind = VT_METER_ENERGY;
    curve.domain.stamped = false;
    const struct vt_meter_ops meter = player("nvml", &played, &curve, 1);
    const struct vt_meter_ops *const meters[] = {&meter};
    struct vt_sampler *sampler = play(meters, 1);
    struct vt_result_energy *energy = ask(sampler, &report, NULL, false);
    char reason[sizeof energy->reason];
    (void)snprintf(reason, sizeof reason, "%s", energy->reason);
    assert_false(energy->measured);
    assert_true(isnan(energy->joules_per_sample));
    vt_result_energy_free(energy);
    const char *least = strstr(reason, "at least ");
    assert_non_null(least);
    const double needed = strtod(least + strlen("at least "), NULL);
    /* And that is true. */
    report.duration_ns = (int64_t)(needed * 1e9);
    energy = ask(sampler, &report, NULL, false);
    assert_true(energy->measured);
    assert_true(fabs(energy->meters[0].total.joules - 50 * needed) <=
                energy->meters[0].total.uncertainty_j);
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
}

static void what_measures_the_same_is_compared(void **state)
{
    struct curve curves[] = {
        {power_of("gpu0 energy", VT_METER_SCOPE_GPU), 0, S / 100, 6001, steps_of_fifty},
        {power_of("gpu0 instant", VT_METER_SCOPE_GPU), 0, S / 10, 601, fifty_one},
        {power_of("gpu0 part", VT_METER_SCOPE_PART), 0, S / 10, 601, fifty}};
    struct vt_load_report report = run_of(VT_OFFLINE, 10 * S, 2 * S);
    struct played played;

    (void)state;
    curves[0].domain.kind = VT_METER_ENERGY;
    curves[0].domain.stamped = false;
    curves[1].domain.inside = curves[2].domain.inside = 0;
    curves[1].domain.same = true;
    const struct vt_meter_ops meter = player("nvml", &played, curves, 3);
    const struct vt_meter_ops *const meters[] = {&meter};
    struct vt_sampler *sampler = play(meters, 1);
    for (int i = 0; i < 2; i++) {
        struct vt_result_energy *energy = ask(sampler, &report, NULL, false);
        assert_int_equal(energy->n_differences, 1);
        assert_string_equal(energy->differences[0].a, "nvml/gpu0 energy");
        assert_string_equal(energy->differences[0].b, "nvml/gpu0 instant");
        assert_true(fabs(energy->differences[0].percent - 2) < 0.1);
        /* 2 % are nothing where a step is 5 %, and a difference in a window of 40 s. */
        assert_true(energy->differences[0].within_uncertainty == (i == 0));
        /* A counter has no mean of readings: what measures the same has. */
        assert_true(near(energy->meters[0].total.mlperf_w, 51, 1e-9));
        vt_result_energy_free(energy);
        report.duration_ns = 40 * S;
    }
    vt_sampler_free(sampler);
}

static void telemetry_is_told_and_never_added(void **state)
{
    static const struct vt_meter_flag flags[] = {{4, "power cap"}, {8, "hardware slowdown"}};
    struct curve board = {power_of("all", VT_METER_SCOPE_MODULE), 0, S / 10, 601, fifty};
    struct curve sensors[] = {
        {power_of("gpu0 temperature", VT_METER_SCOPE_GPU), 0, S / 2, 121, warming},
        {power_of("gpu0 slowed by", VT_METER_SCOPE_GPU), 0, S / 2, 121, capped_in_turns}};
    struct vt_load_report report = run_of(VT_OFFLINE, 20 * S, 10 * S);
    struct played a, b;

    (void)state;
    sensors[0].domain.kind = sensors[1].domain.kind = VT_METER_OTHER;
    (void)snprintf(sensors[0].domain.unit, sizeof sensors[0].domain.unit, "K");
    sensors[1].domain.flags = flags;
    sensors[1].domain.n_flags = 2;
    const struct vt_meter_ops one = player("gpu", &a, sensors, 2);
    const struct vt_meter_ops two = player("board", &b, &board, 1);
    const struct vt_meter_ops *const meters[] = {&one, &two};
    struct vt_sampler *sampler = play(meters, 2);
    struct vt_result_energy *energy = ask(sampler, &report, NULL, false);
    assert_int_equal(energy->n_meters, 1);
    assert_true(energy->measured && near(energy->meters[0].total.joules, 500, 1e-9));
    assert_int_equal(energy->n_series, 1);
    assert_string_equal(energy->series[0].name, "gpu0 temperature");
    assert_string_equal(energy->series[0].unit, "K");
    assert_true(near(energy->series[0].start, 60, 1e-9) && near(energy->series[0].min, 60, 1e-9));
    assert_true(near(energy->series[0].max, 69.5, 1e-9));
    assert_int_equal(energy->n_throttles, 1);
    assert_string_equal(energy->throttles[0].device, "gpu0");
    assert_string_equal(energy->throttles[0].reason, "power cap");
    assert_true(near(energy->throttles[0].share_percent, 50, 1e-6));
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
    /* Alone, there is no energy. */
    sampler = play(meters, 1);
    energy = ask(sampler, &report, NULL, false);
    assert_true(!energy->measured && energy->n_meters == 0 && energy->n_series == 1);
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
}

static void nothing_is_not_measured_as_zero(void **state)
{
    const struct vt_meter_ops *const meters[] = {&vt_meter_null};
    struct vt_load_report report = run_of(VT_OFFLINE, 0, S);

    (void)state;
    struct vt_sampler *sampler = play(meters, 1);
    struct vt_result_energy *energy = ask(sampler, &report, NULL, false);
    assert_false(energy->measured);
    assert_non_null(strstr(energy->reason, "null measures nothing"));
    vt_result_energy_free(energy);
    vt_sampler_free(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_power_is_taken_off),
        cmocka_unit_test(published_results_come_out),
        cmocka_unit_test(the_widest_scope_stands_for_the_run),
        cmocka_unit_test(a_rail_that_goes_away_is_no_figure),
        cmocka_unit_test(a_window_too_short_says_what_would_do),
        cmocka_unit_test(what_measures_the_same_is_compared),
        cmocka_unit_test(telemetry_is_told_and_never_added),
        cmocka_unit_test(nothing_is_not_measured_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
