/* SPDX-License-Identifier: Apache-2.0 */
/* The point to run at: of those that keep the latency, the one with the least energy a sample, or
 * where energy is unknown, the one with the most throughput. */
#include <math.h>
#include <string.h>

#include "result/result.h"
#include "run/sweep/analyse_findings.h"

/* Which scenario's latency is meant where several were swept: the one with a limit of its own
 * first, Offline, which promises none, last. */
static uint32_t choose_scenario(const struct vt_sweep *sweep, uint32_t axis)
{
    static const char *const wanted[] = {"server", "singlestream", "multistream", "offline"};

    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        for (uint32_t v = 0; v < sweep->axes[axis].n; v++) {
            if (strcmp(sweep->axes[axis].words[v], wanted[w]) == 0) {
                return v;
            }
        }
    }
    return 0;
}

struct choice {
    uint32_t best;    /* n_settings: none */
    uint32_t nearest; /* of those that are too slow, the fastest to answer; n_settings: none */
    uint32_t keeping; /* how many keep the limit */
    bool by_energy;
};

static bool keeps_limit(const struct vt_sweep *sweep, const struct vt_sweep_setting *setting)
{
    return sweep->max_latency_ns == 0 || setting->latency.value <= (double)sweep->max_latency_ns;
}

static bool is_better(const struct vt_sweep_setting *a, const struct vt_sweep_setting *b,
                      bool by_energy)
{
    return by_energy ? a->joules.value < b->joules.value
                     : a->throughput.value > b->throughput.value;
}

static struct choice choose(const struct vt_sweep *sweep, bool by_energy)
{
    const struct vt_sweep_setting *settings = sweep->analysis.settings;
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario"), none = sweep->n_settings;
    uint32_t scenario = choose_scenario(sweep, axis);
    struct choice choice = {none, none, 0, by_energy};

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        const struct vt_sweep_setting *setting = &settings[i];
        bool usable = setting->value[axis] == scenario && setting->n_done > 0 && setting->valid &&
                      setting->throughput.n > 0 && (!by_energy || setting->joules.n > 0) &&
                      (sweep->max_latency_ns == 0 || setting->latency.n > 0);
        if (!usable) {
            continue;
        }
        if (keeps_limit(sweep, setting)) {
            choice.keeping++;
            if (choice.best == none || is_better(setting, &settings[choice.best], by_energy)) {
                choice.best = i;
            }
        } else if (choice.nearest == none ||
                   setting->latency.value < settings[choice.nearest].latency.value) {
            choice.nearest = i;
        }
    }
    return choice;
}

/* How many others are not shown to be worse: their intervals meet. The best of them comes out. */
static uint32_t count_rivals(const struct vt_sweep *sweep, const struct choice *choice,
                             uint32_t *ret_nearest)
{
    const struct vt_sweep_setting *settings = sweep->analysis.settings;
    const struct vt_sweep_setting *best = &settings[choice->best];
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario"), n = 0;

    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        const struct vt_sweep_setting *other = &settings[i];
        if (i == choice->best || other->value[axis] != best->value[axis] || other->n_done == 0 ||
            !other->valid || !keeps_limit(sweep, other)) {
            continue;
        }
        if (choice->by_energy ? other->joules.low < best->joules.high
                              : other->throughput.high > best->throughput.low) {
            if (n++ == 0 || is_better(other, &settings[*ret_nearest], choice->by_energy)) {
                *ret_nearest = i;
            }
        }
    }
    return n;
}

static void describe(struct vt_sweep *sweep, const struct choice *choice)
{
    struct vt_sweep_analysis *analysis = &sweep->analysis;
    const struct vt_sweep_setting *best = &analysis->settings[choice->best];
    char setting[256], joules[64] = "", rate[32], latency[96] = "", a[32], other_text[256];
    uint32_t other = 0;

    vt_sweep_setting_text(sweep, choice->best, sweep->n_axes, setting, sizeof setting);
    if (choice->by_energy) {
        (void)snprintf(joules, sizeof joules, "%s J/sample, ",
                       vt_number_text(best->joules.value, a, sizeof a));
    }
    if (best->latency.n > 0) {
        (void)snprintf(latency, sizeof latency, ", %s %s",
                       vt_sweep_time_text(best->latency.value, a, sizeof a),
                       vt_sweep_latency_text(best));
    }
    char limit[96] = "any latency (--max-latency T sets a limit)";
    if (sweep->max_latency_ns > 0) {
        (void)snprintf(limit, sizeof limit, "a latency of at most %s",
                       vt_duration_text(sweep->max_latency_ns, a, sizeof a));
    }
    (void)snprintf(analysis->recommended_text, sizeof analysis->recommended_text,
                   "%s: %s%s samples/s%s; of %u settings with %s the one with the %s", setting,
                   joules, vt_number_text(best->throughput.value, rate, sizeof rate), latency,
                   choice->keeping, limit,
                   choice->by_energy ? "least energy a sample" : "highest throughput");
    uint32_t rivals = count_rivals(sweep, choice, &other);
    if (rivals > 0) {
        size_t used = strlen(analysis->recommended_text);
        vt_sweep_setting_text(sweep, other, sweep->n_axes, other_text, sizeof other_text);
        (void)snprintf(analysis->recommended_text + used, sizeof analysis->recommended_text - used,
                       "; %u other%s not shown to be worse, the best of them %s", rivals,
                       rivals == 1 ? " is" : "s are", other_text);
    }
    analysis->has_recommended = true;
    analysis->recommended = choice->best;
}

void vt_sweep_recommend(struct vt_sweep *sweep)
{
    struct vt_sweep_analysis *analysis = &sweep->analysis;
    struct choice choice = choose(sweep, true);
    char limit[32], nearest[32], setting[256];

    if (choice.keeping == 0 && choice.nearest == sweep->n_settings) {
        choice = choose(sweep, false);
    }
    if (choice.best < sweep->n_settings) {
        describe(sweep, &choice);
        return;
    }
    if (choice.nearest < sweep->n_settings) {
        const struct vt_sweep_setting *near = &analysis->settings[choice.nearest];
        (void)vt_sweep_state(
            analysis, "recommended", VT_SWEEP_UNDECIDED,
            "No point to recommend: none answers within %s; the fastest, %s, takes %s",
            vt_duration_text(sweep->max_latency_ns, limit, sizeof limit),
            vt_sweep_setting_text(sweep, choice.nearest, sweep->n_axes, setting, sizeof setting),
            vt_sweep_time_text(near->latency.value, nearest, sizeof nearest));
        return;
    }
    (void)vt_sweep_state(analysis, "recommended", VT_SWEEP_UNDECIDED,
                         "No point to recommend: none is valid; longer runs (--duration) may be");
}
