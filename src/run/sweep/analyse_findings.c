/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the findings of the study hold here: throughput rises with batch and saturates; the best
 * efficiency lies at a cap below the highest; past the knee latency grows in proportion to the
 * batch while the energy of a sample has stopped falling.
 *
 * Each is looked at for every scenario and engine, on the line (all else equal) that holds the
 * highest throughput.
 */
#include "run/sweep/analyse_findings.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "result/result.h"

#define LINE_LEAST 3 /* sizes that show a rise and an end of it */
/* Past the knee the exponent of latency over batch: 1 is proportional. */
#define LINEAR_LEAST 0.7
#define LINEAR_MOST  1.3
/* Energy of a sample is flat while it changes by less. */
#define FLAT 0.10

/* --- statements ------------------------------------------------------------------------------ */

struct vt_sweep_statement *vt_sweep_state(struct vt_sweep_analysis *analysis, const char *name,
                                          enum vt_sweep_holds holds, const char *fmt, ...)
{
    va_list args;

    if (analysis->n_statements == VT_SWEEP_STATEMENTS_MAX) {
        return NULL;
    }
    struct vt_sweep_statement *statement = &analysis->statements[analysis->n_statements++];
    statement->name = name;
    statement->holds = holds;
    va_start(args, fmt);
    (void)vsnprintf(statement->text, sizeof statement->text, fmt, args);
    va_end(args);
    return statement;
}

void vt_sweep_add_text(struct vt_sweep_statement *statement, const char *fmt, ...)
{
    size_t used = strlen(statement->text);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(statement->text + used, sizeof statement->text - used, fmt, args);
    va_end(args);
}

void vt_sweep_add_figure(struct vt_sweep_statement *statement, const char *name, double value)
{
    if (statement->n_figures < VT_SWEEP_FIGURES_MAX) {
        statement->figures[statement->n_figures++] = (struct vt_sweep_figure){name, value};
    }
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Settings along an axis, those that were measured, with one quantity's means. */
struct line {
    const struct vt_sweep *sweep;
    uint32_t axis;
    uint32_t setting[VT_SWEEP_VALUES_MAX];
    double at[VT_SWEEP_VALUES_MAX]; /* the axis */
    double throughput[VT_SWEEP_VALUES_MAX];
    uint32_t n;
};

static bool same_group(const struct vt_sweep *sweep, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        if (!sweep->axes[i].kind->is_number &&
            vt_sweep_value(sweep, a, i) != vt_sweep_value(sweep, b, i)) {
            return false;
        }
    }
    return true;
}

/* The measured settings of the line on which `setting` lies. */
static void follow(const struct vt_sweep *sweep, uint32_t setting, uint32_t axis, struct line *line)
{
    uint32_t settings[VT_SWEEP_VALUES_MAX];
    uint32_t n = vt_sweep_line(sweep, setting, axis, settings);

    *line = (struct line){.sweep = sweep, .axis = axis};
    for (uint32_t i = 0; i < n; i++) {
        double rate = sweep->analysis.settings[settings[i]].throughput.value;
        if (isfinite(rate)) {
            line->setting[line->n] = settings[i];
            line->at[line->n] = sweep->axes[axis].numbers[i];
            line->throughput[line->n++] = rate;
        }
    }
}

/* The line of the group of `member` that holds its highest throughput; empty when nothing was
 * measured. */
static void find_line(const struct vt_sweep *sweep, uint32_t member, uint32_t axis,
                      struct line *line)
{
    uint32_t best = sweep->n_settings;
    double most = 0;

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        double rate = sweep->analysis.settings[i].throughput.value;
        if (same_group(sweep, member, i) && isfinite(rate) && rate > most) {
            most = rate;
            best = i;
        }
    }
    if (best == sweep->n_settings) {
        *line = (struct line){.sweep = sweep, .axis = axis};
    } else {
        follow(sweep, best, axis, line);
    }
}

static struct vt_sweep_estimate compare(const struct line *line, uint32_t above, uint32_t below,
                                        enum vt_sweep_quantity quantity)
{
    double a[VT_SWEEP_REPEATS_MAX], b[VT_SWEEP_REPEATS_MAX];
    uint32_t n_a = vt_sweep_values(line->sweep, line->setting[above], quantity, a);
    uint32_t n_b = vt_sweep_values(line->sweep, line->setting[below], quantity, b);
    double of_meter = 0;

    if (quantity != VT_SWEEP_THROUGHPUT && quantity != VT_SWEEP_LATENCY) {
        of_meter = hypot(vt_sweep_meter_share(line->sweep, line->setting[above]),
                         vt_sweep_meter_share(line->sweep, line->setting[below]));
    }
    return vt_sweep_ratio(a, n_a, b, n_b, of_meter);
}

/* " (95 % interval 3.4 to 3.8)", or that there is none. */
static void add_interval(struct vt_sweep_statement *statement,
                         const struct vt_sweep_estimate *estimate)
{
    char low[32], high[32];

    if (!isfinite(estimate->low)) {
        vt_sweep_add_text(statement, " (measured once: no interval)");
        return;
    }
    vt_sweep_add_text(statement, " (%s %s to %s)",
                      estimate->n > 1 ? "95 % interval"
                                      : "measured once, by the meter's uncertainty",
                      vt_number_text(estimate->low, low, sizeof low),
                      vt_number_text(estimate->high, high, sizeof high));
}

/* " [offline, native, lanes 2]": the line that a statement speaks of. */
static void add_place(struct vt_sweep_statement *statement, const struct line *line)
{
    char text[256];

    vt_sweep_setting_text(line->sweep, line->setting[0], line->axis, text, sizeof text);
    if (text[0] != '\0') {
        vt_sweep_add_text(statement, " [%s]", text);
    }
}

/* --- throughput over batch ------------------------------------------------------------------- */

static double most_of(const struct line *line)
{
    double most = 0;

    for (uint32_t i = 0; i < line->n; i++) {
        most = fmax(most, line->throughput[i]);
    }
    return most;
}

static void put_curve_figures(struct vt_sweep_statement *statement, const struct line *line,
                              uint32_t knee, const struct vt_sweep_estimate *rise)
{
    vt_sweep_add_figure(statement, "batch_first", line->at[0]);
    vt_sweep_add_figure(statement, "batch_knee", line->at[knee]);
    vt_sweep_add_figure(statement, "batch_last", line->at[line->n - 1]);
    vt_sweep_add_figure(statement, "first_samples_per_second", line->throughput[0]);
    vt_sweep_add_figure(statement, "knee_samples_per_second", line->throughput[knee]);
    vt_sweep_add_figure(statement, "most_samples_per_second", most_of(line));
    vt_sweep_add_figure(statement, "rise_ratio", rise->value);
    vt_sweep_add_figure(statement, "rise_ratio_low", rise->low);
    vt_sweep_add_figure(statement, "rise_ratio_high", rise->high);
    vt_sweep_add_figure(statement, "knee_tolerance_percent", line->sweep->knee_tolerance * 100);
}

static void state_throughput(struct vt_sweep *sweep, const struct line *line)
{
    static const char name[] = "throughput_over_batch";
    struct vt_sweep_analysis *analysis = &sweep->analysis;
    uint32_t knee = vt_sweep_knee(line->throughput, line->n, sweep->knee_tolerance);
    struct vt_sweep_estimate rise = compare(line, knee, 0, VT_SWEEP_THROUGHPUT);
    struct vt_sweep_statement *statement;
    char first[32], last[32], ratio[32], percent[32];

    (void)vt_number_text(line->throughput[0], first, sizeof first);
    (void)vt_number_text(line->throughput[knee], last, sizeof last);
    (void)vt_number_text(rise.value, ratio, sizeof ratio);
    (void)vt_number_text(sweep->knee_tolerance * 100, percent, sizeof percent);
    if (knee == 0) {
        statement = vt_sweep_state(analysis, name, VT_SWEEP_HOLDS_NOT,
                                   "Throughput does not rise with the batch: %s samples/s at batch "
                                   "%.0f are within %s %% of the highest",
                                   first, line->at[0], percent);
    } else if (isfinite(rise.low) && rise.low <= 1) {
        statement = vt_sweep_state(analysis, name, VT_SWEEP_UNDECIDED,
                                   "A rise of throughput with the batch is not shown: %s samples/s "
                                   "at batch %.0f, %s at batch %.0f, a factor of %s",
                                   first, line->at[0], last, line->at[knee], ratio);
    } else if (knee == line->n - 1) {
        statement = vt_sweep_state(analysis, name, VT_SWEEP_UNDECIDED,
                                   "Throughput rises with the batch, from %s samples/s at batch "
                                   "%.0f to %s at the largest, %.0f, by a factor of %s; where it "
                                   "saturates was not reached: give larger sizes to --batch",
                                   first, line->at[0], last, line->at[knee], ratio);
    } else {
        statement = vt_sweep_state(analysis, name, VT_SWEEP_HOLDS,
                                   "Throughput rises with the batch and saturates: %s samples/s at "
                                   "batch %.0f, %s at batch %.0f, which is within %s %% of the "
                                   "highest of all sizes up to %.0f: a factor of %s",
                                   first, line->at[0], last, line->at[knee], percent,
                                   line->at[line->n - 1], ratio);
    }
    if (statement != NULL) {
        if (knee > 0) {
            add_interval(statement, &rise);
        }
        double end = line->throughput[line->n - 1];
        if (end < (1 - 2 * sweep->knee_tolerance) * most_of(line)) {
            vt_sweep_add_text(statement, "; at batch %.0f it has fallen to %s",
                              line->at[line->n - 1], vt_number_text(end, last, sizeof last));
        }
        add_place(statement, line);
        put_curve_figures(statement, line, knee, &rise);
    }
}

/* --- efficiency over cap --------------------------------------------------------------------- */

static void state_efficiency(struct vt_sweep *sweep, const struct line *line)
{
    static const char name[] = "efficiency_over_cap";
    const struct vt_sweep_setting *settings = sweep->analysis.settings;
    const char *unit = sweep->axes[line->axis].unit;
    struct vt_sweep_statement *statement;
    uint32_t best = line->n, last = line->n;
    char cap[32], most[32], ratio[32], rate[32], watts[32];

    for (uint32_t i = 0; i < line->n; i++) {
        double efficiency = settings[line->setting[i]].efficiency.value;
        if (isfinite(efficiency)) {
            best = best == line->n || efficiency > settings[line->setting[best]].efficiency.value
                       ? i
                       : best;
            last = i;
        }
    }
    if (best == line->n || line->n < 2) {
        return; /* said by state_lacks */
    }
    struct vt_sweep_estimate gain = compare(line, best, last, VT_SWEEP_EFFICIENCY);
    double lost = 1 - line->throughput[best] / line->throughput[last];
    double saved =
        1 - settings[line->setting[best]].watts.value / settings[line->setting[last]].watts.value;
    bool shown = best != last && (isfinite(gain.low) ? gain.low > 1 : gain.value > 1 + FLAT / 5);
    statement = vt_sweep_state(
        &sweep->analysis, name,
        best == last ? VT_SWEEP_HOLDS_NOT
        : shown      ? VT_SWEEP_HOLDS
                     : VT_SWEEP_UNDECIDED,
        best == last ? "The best efficiency is at the highest cap, %s %s: %s samples/s/W"
        : shown
            ? "The best efficiency lies below the highest cap: at %s %s, %s samples/s/W"
            : "The best efficiency was measured at %s %s, %s samples/s/W, but that it is better "
              "than "
              "at the highest cap is not shown",
        vt_number_text(line->at[best], cap, sizeof cap), unit,
        vt_number_text(settings[line->setting[best]].efficiency.value, most, sizeof most));
    if (statement == NULL) {
        return;
    }
    if (best != last) {
        vt_sweep_add_text(statement, ", %s times that at %s %s",
                          vt_number_text(gain.value, ratio, sizeof ratio),
                          vt_number_text(line->at[last], cap, sizeof cap), unit);
        add_interval(statement, &gain);
        vt_sweep_add_text(statement,
                          "; it costs %s %% of the throughput and saves %s %% of the power",
                          vt_number_text(lost * 100, rate, sizeof rate),
                          vt_number_text(saved * 100, watts, sizeof watts));
    }
    add_place(statement, line);
    vt_sweep_add_figure(statement, "best_cap", line->at[best]);
    vt_sweep_add_figure(statement, "highest_cap", line->at[last]);
    vt_sweep_add_figure(statement, "gain_ratio", gain.value);
    vt_sweep_add_figure(statement, "gain_ratio_low", gain.low);
    vt_sweep_add_figure(statement, "gain_ratio_high", gain.high);
    vt_sweep_add_figure(statement, "throughput_lost_percent", lost * 100);
    vt_sweep_add_figure(statement, "power_saved_percent", saved * 100);
}

/* --- latency and energy over batch ----------------------------------------------------------- */

/* The exponent of latency over batch from the knee on: one of each repeat, and their mean. */
static struct vt_sweep_estimate growth_of(const struct line *line, uint32_t knee)
{
    const struct vt_sweep *sweep = line->sweep;
    double x[VT_SWEEP_VALUES_MAX], y[VT_SWEEP_VALUES_MAX], exponents[VT_SWEEP_REPEATS_MAX];
    uint32_t n = line->n - knee;

    for (uint32_t r = 0; r < sweep->repeats; r++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t setting = line->setting[knee + i];
            const struct vt_sweep_point *point = &sweep->points[r * sweep->n_settings + setting];
            bool p99 = sweep->analysis.settings[setting].latency_is_p99;
            x[i] = line->at[knee + i];
            y[i] = point->state != VT_SWEEP_DONE ? (double)NAN
                   : p99                         ? point->measured.p99_ns
                                                 : point->measured.mean_ns;
        }
        exponents[r] = vt_sweep_exponent(x, y, n);
    }
    return vt_sweep_mean(exponents, sweep->repeats, 0);
}

static enum vt_sweep_holds state_growth(struct vt_sweep_statement *statement,
                                        const struct line *line, uint32_t knee)
{
    const struct vt_sweep_setting *settings = line->sweep->analysis.settings;
    const struct vt_sweep_setting *from = &settings[line->setting[knee]];
    const struct vt_sweep_setting *to = &settings[line->setting[line->n - 1]];
    struct vt_sweep_estimate growth = growth_of(line, knee);
    char a[32], b[32], number[32];

    vt_sweep_add_figure(statement, "latency_exponent", growth.value);
    vt_sweep_add_figure(statement, "latency_exponent_low", growth.low);
    vt_sweep_add_figure(statement, "latency_exponent_high", growth.high);
    if (growth.n == 0) {
        vt_sweep_add_text(statement, "How latency grows past the knee was not measured: %s",
                          line->n - knee < 2 ? "no larger batch was (--batch)"
                                             : "points have no latency");
        return VT_SWEEP_UNDECIDED;
    }
    bool linear = growth.value >= LINEAR_LEAST && growth.value <= LINEAR_MOST;
    bool open = !linear && growth.low <= LINEAR_MOST && growth.high >= LINEAR_LEAST;
    vt_sweep_add_text(statement,
                      "Past the knee latency grows %s: %s (%s) at batch %.0f, %s at batch %.0f, as "
                      "batch to the power %s",
                      linear ? "in proportion to the batch"
                      : open ? "in a way that noise hides"
                             : "otherwise than the batch",
                      vt_sweep_time_text(from->latency.value, a, sizeof a),
                      vt_sweep_latency_text(from), line->at[knee],
                      vt_sweep_time_text(to->latency.value, b, sizeof b), line->at[line->n - 1],
                      vt_number_text(growth.value, number, sizeof number));
    add_interval(statement, &growth);
    return linear ? VT_SWEEP_HOLDS : open ? VT_SWEEP_UNDECIDED : VT_SWEEP_HOLDS_NOT;
}

/* How the energy of a sample goes on past the knee. */
static enum vt_sweep_holds judge_rest(const struct vt_sweep_estimate *rest)
{
    if (rest->value <= 1 + FLAT) {
        return VT_SWEEP_HOLDS;
    }
    return rest->low <= 1 + FLAT ? VT_SWEEP_UNDECIDED : VT_SWEEP_HOLDS_NOT;
}

static enum vt_sweep_holds judge_fall(const struct vt_sweep_estimate *fall, uint32_t knee)
{
    if (knee == 0) {
        return VT_SWEEP_HOLDS_NOT;
    }
    if (!isfinite(fall->low)) {
        return fall->value < 1 ? VT_SWEEP_HOLDS : VT_SWEEP_HOLDS_NOT;
    }
    return fall->high < 1  ? VT_SWEEP_HOLDS
           : fall->low > 1 ? VT_SWEEP_HOLDS_NOT
                           : VT_SWEEP_UNDECIDED;
}

/* Both hold, or one does not. */
static enum vt_sweep_holds both(enum vt_sweep_holds a, enum vt_sweep_holds b)
{
    if (a == VT_SWEEP_HOLDS_NOT || b == VT_SWEEP_HOLDS_NOT) {
        return VT_SWEEP_HOLDS_NOT;
    }
    return a == VT_SWEEP_HOLDS ? b : a;
}

static enum vt_sweep_holds state_fall(struct vt_sweep_statement *statement, const struct line *line,
                                      uint32_t knee)
{
    static const char *const falls[] = {"is not shown to fall", "falls", "does not fall"};
    static const char *const rests[] = {"is not shown to be flat", "is flat or falls", "rises"};
    const struct vt_sweep_setting *settings = line->sweep->analysis.settings;
    struct vt_sweep_estimate fall = compare(line, knee, 0, VT_SWEEP_JOULES);
    struct vt_sweep_estimate rest = compare(line, line->n - 1, knee, VT_SWEEP_JOULES);
    char a[32], b[32], c[32];

    if (fall.n == 0 || rest.n == 0) {
        vt_sweep_add_text(statement, "; energy was not measured");
        return VT_SWEEP_UNDECIDED;
    }
    enum vt_sweep_holds falling = judge_fall(&fall, knee), resting = judge_rest(&rest);
    vt_sweep_add_figure(statement, "energy_fall_ratio", fall.value);
    vt_sweep_add_figure(statement, "energy_fall_ratio_low", fall.low);
    vt_sweep_add_figure(statement, "energy_fall_ratio_high", fall.high);
    vt_sweep_add_text(
        statement, "; energy of a sample %s up to the knee, from %s to %s J, %s times",
        falls[falling], vt_number_text(settings[line->setting[0]].joules.value, a, sizeof a),
        vt_number_text(settings[line->setting[knee]].joules.value, b, sizeof b),
        vt_number_text(fall.value, c, sizeof c));
    add_interval(statement, &fall);
    if (knee == line->n - 1) { /* nothing lies past it */
        return falling == VT_SWEEP_HOLDS ? VT_SWEEP_UNDECIDED : falling;
    }
    vt_sweep_add_figure(statement, "energy_past_knee_ratio", rest.value);
    vt_sweep_add_text(statement, ", and %s past it, %s times", rests[resting],
                      vt_number_text(rest.value, c, sizeof c));
    return both(falling, resting);
}

static void state_latency(struct vt_sweep *sweep, const struct line *line)
{
    uint32_t knee = vt_sweep_knee(line->throughput, line->n, sweep->knee_tolerance);
    struct vt_sweep_statement *statement = vt_sweep_state(
        &sweep->analysis, "latency_and_energy_over_batch", VT_SWEEP_UNDECIDED, "%s", "");

    if (statement == NULL) {
        return;
    }
    vt_sweep_add_figure(statement, "batch_knee", line->at[knee]);
    enum vt_sweep_holds growth = state_growth(statement, line, knee);
    enum vt_sweep_holds fall = state_fall(statement, line, knee);
    statement->holds = both(growth, fall);
    add_place(statement, line);
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool has_energy(const struct vt_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        if (sweep->analysis.settings[i].joules.n > 0) {
            return true;
        }
    }
    return false;
}

/* A meter that reads a file or nothing: its joules are not this machine's. */
static const char *stand_in(const struct vt_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        const char *meter = sweep->points[i].measured.meter;
        if (strcmp(meter, "replay") == 0 || strcmp(meter, "null") == 0) {
            return meter;
        }
    }
    return NULL;
}

static const char *energy_reason(const struct vt_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        if (sweep->points[i].state == VT_SWEEP_DONE &&
            sweep->points[i].measured.energy_reason[0] != '\0') {
            return sweep->points[i].measured.energy_reason;
        }
    }
    return "no point has energy figures";
}

/* Each scenario and engine once: whether no earlier setting is of the same. */
static bool is_first_of_group(const struct vt_sweep *sweep, uint32_t setting)
{
    for (uint32_t i = 0; i < setting; i++) {
        if (same_group(sweep, setting, i)) {
            return false;
        }
    }
    return true;
}

static bool has_no_batches(const struct vt_sweep *sweep, uint32_t setting)
{
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario");
    return strcmp(sweep->axes[axis].words[vt_sweep_value(sweep, setting, axis)], "singlestream") ==
           0;
}

static void find_over_batch(struct vt_sweep *sweep, uint32_t batch)
{
    static const char few[] = "Throughput and latency over the batch: fewer than three sizes were "
                              "measured; give more to --batch";
    uint32_t engine = vt_sweep_find_axis(sweep, "engine");
    struct line line;

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        if (!is_first_of_group(sweep, i)) {
            continue;
        }
        if (has_no_batches(sweep, i)) {
            if (engine < sweep->n_axes && vt_sweep_value(sweep, i, engine) > 0) {
                continue; /* said once */
            }
            (void)vt_sweep_state(&sweep->analysis, "throughput_over_batch", VT_SWEEP_UNDECIDED,
                                 "SingleStream asks for one sample after the other: there is no "
                                 "batch to fill, and nothing is said of it");
            continue;
        }
        find_line(sweep, i, batch, &line);
        if (line.n < LINE_LEAST) {
            struct vt_sweep_statement *statement = vt_sweep_state(
                &sweep->analysis, "throughput_over_batch", VT_SWEEP_UNDECIDED, "%s", few);
            if (statement != NULL && line.n > 0) {
                add_place(statement, &line);
            }
            continue;
        }
        state_throughput(sweep, &line);
        state_latency(sweep, &line);
    }
}

static void find_over_cap(struct vt_sweep *sweep, uint32_t cap)
{
    struct line line;

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        if (is_first_of_group(sweep, i)) {
            find_line(sweep, i, cap, &line);
            state_efficiency(sweep, &line);
        }
    }
}

void vt_sweep_find(struct vt_sweep *sweep)
{
    struct vt_sweep_analysis *analysis = &sweep->analysis;
    uint32_t batch = vt_sweep_find_axis(sweep, "batch");
    uint32_t cap = vt_sweep_find_axis(sweep, "cap");

    if (batch < sweep->n_axes) {
        find_over_batch(sweep, batch);
    }
    if (cap == sweep->n_axes || sweep->axes[cap].n < 2) {
        (void)vt_sweep_state(analysis, "efficiency_over_cap", VT_SWEEP_UNDECIDED,
                             "Efficiency over the power cap: unmeasured, no caps were set; give "
                             "two or more to --cap (vatio caps says which work here)");
    } else if (!has_energy(sweep)) {
        (void)vt_sweep_state(analysis, "efficiency_over_cap", VT_SWEEP_UNDECIDED,
                             "Efficiency over the power cap: unmeasured without energy");
    } else {
        find_over_cap(sweep, cap);
    }
    if (!has_energy(sweep)) {
        (void)vt_sweep_state(analysis, "energy", VT_SWEEP_UNDECIDED, "Energy: %s",
                             energy_reason(sweep));
    }
    if (stand_in(sweep) != NULL) {
        (void)vt_sweep_state(
            analysis, "energy", VT_SWEEP_UNDECIDED,
            "Energy comes from the meter %s: it is not this machine's, and what "
            "is said of it here shows how a sweep works, not what the machine takes",
            stand_in(sweep));
    }
    if (sweep->repeats == 1) {
        (void)vt_sweep_state(analysis, "intervals", VT_SWEEP_UNDECIDED,
                             "Every setting was measured once: what noise does to these figures is "
                             "unknown; --repeats 3 gives intervals");
    }
}
