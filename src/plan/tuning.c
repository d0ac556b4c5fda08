/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/tuning.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/topology.h"
#include "plan/tuning_table.h"

/*
 * Every choice runs once a round: some rounds in any case, then until each choice has been as fast
 * as its best twice (the machine may be busy with other things), at the latest when the time for a
 * question is over. A choice that takes much longer than the best is dropped, but not for one run
 * that something disturbed.
 */
#define ROUNDS_LEAST   3
#define ROUNDS_MOST    100
#define SHORT_NS       (INT64_C(5) * 1000000)
#define QUESTION_NS    (INT64_C(500) * 1000000)
#define SETTLED_PARTS  25
#define HOPELESS_EARLY 8
#define HOPELESS       2
/* The rule's choice stays unless another one saves more than one part in so many. */
#define WORTH_PARTS 33

static uint32_t hash_text(uint32_t hash, const char *text)
{
    do { /* with the NUL: where a name ends makes a difference */
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    } while (*text++ != '\0');
    return hash;
}

/* False when it would be longer than a key may be. */
static bool full_key(const struct vt_tuning_question *q, char ret[VT_TUNING_KEY_MAX + 1])
{
    uint32_t hash = UINT32_C(2166136261);
    for (uint32_t i = 0; i < q->n_choices; i++) {
        hash = hash_text(hash, q->choices[i]);
    }
    hash = hash_text(hash, q->choices[q->by_rule]);
    int n = snprintf(ret, VT_TUNING_KEY_MAX + 1, "%s t%u f%x c%08x", q->key, q->threads,
                     vt_topology()->features, hash);
    return n > 0 && n <= VT_TUNING_KEY_MAX;
}

static uint32_t choice_number(const struct vt_tuning_question *q, const char *name)
{
    uint32_t i = 0;
    while (i < q->n_choices && strcmp(q->choices[i], name) != 0) {
        i++;
    }
    return i;
}

/* One thread's own time is the same on a busy machine; of several the last one counts. */
static int64_t run_once(const struct vt_tuning_question *q, uint32_t choice)
{
    const bool alone = q->threads == 1;
    const int64_t start = alone ? vt_thread_cpu_ns() : vt_now_ns();
    q->run(q->ctx, choice);
    return (alone ? vt_thread_cpu_ns() : vt_now_ns()) - start;
}

/* The two best times of a choice. */
struct times {
    int64_t best, second;
};

static void note(struct times *times, int64_t ns)
{
    if (ns < times->best) {
        times->second = times->best;
        times->best = ns;
    } else if (ns < times->second) {
        times->second = ns;
    }
}

static bool is_settled(const struct times *times)
{
    return times->second - times->best <= times->best / SETTLED_PARTS;
}

/* One round over those with a chance. Returns whether all of these have settled. */
static bool run_round(const struct vt_tuning_question *q, uint32_t round, struct times *times)
{
    const int64_t hopeless = round < ROUNDS_LEAST ? HOPELESS_EARLY : HOPELESS;
    int64_t least = INT64_MAX;
    bool settled = true;
    for (uint32_t i = 0; i < q->n_choices; i++) {
        least = times[i].best < least ? times[i].best : least;
    }
    for (uint32_t i = 0; i < q->n_choices; i++) {
        if (times[i].best / hopeless <= least) {
            note(&times[i], run_once(q, i));
            settled = settled && is_settled(&times[i]);
        }
    }
    return settled;
}

static void run_rounds(const struct vt_tuning_question *q, struct times *times)
{
    const int64_t start = vt_now_ns();
    /* Touches memory and wakes threads. */
    for (uint32_t i = 0; i < q->n_choices; i++) {
        times[i] = (struct times){run_once(q, i), INT64_MAX};
    }
    for (uint32_t round = 0; round < ROUNDS_MOST; round++) {
        const bool settled = run_round(q, round, times);
        const int64_t elapsed = vt_now_ns() - start;
        if (elapsed > QUESTION_NS || (settled && round >= ROUNDS_LEAST && elapsed > SHORT_NS)) {
            return;
        }
    }
}

static bool measure(const struct vt_tuning_question *q, struct vt_tuning_answer *ret_answer)
{
    struct times times[VT_TUNING_CHOICES_MAX];
    const bool able = q->begin(q->ctx);
    if (able) {
        run_rounds(q, times);
    }
    q->end(q->ctx);
    if (!able) {
        return false;
    }
    uint32_t fastest = q->by_rule;
    for (uint32_t i = 0; i < q->n_choices; i++) {
        fastest = times[i].best < times[fastest].best ? i : fastest;
    }
    const int64_t rule_ns = times[q->by_rule].best;
    if (rule_ns - times[fastest].best <= rule_ns / WORTH_PARTS) {
        fastest = q->by_rule;
    }
    (void)snprintf(ret_answer->choice, sizeof(ret_answer->choice), "%s", q->choices[fastest]);
    ret_answer->ns = times[fastest].best;
    ret_answer->rule_ns = rule_ns;
    return true;
}

uint32_t vt_tuning_choose(struct vt_tuning *tuning, const struct vt_tuning_question *q,
                          bool *ret_tuned)
{
    struct vt_tuning_answer answer;
    *ret_tuned = false;
    if (tuning == NULL || q->n_choices < 2 || !full_key(q, answer.key)) {
        return q->by_rule;
    }
    bool known = vt_tuning_table_use(tuning, answer.key, &answer);
    if (!known && tuning->measure) {
        pthread_mutex_lock(&tuning->measuring);
        /* Another thread may have asked the same. */
        known = vt_tuning_table_use(tuning, answer.key, &answer);
        const int64_t start = vt_now_ns();
        if (!known && vt_tuning_table_spend(tuning, 0) && measure(q, &answer)) {
            (void)vt_tuning_table_spend(tuning, vt_now_ns() - start);
            known = vt_tuning_table_learn(tuning, &answer);
        }
        pthread_mutex_unlock(&tuning->measuring);
    }
    const uint32_t choice = known ? choice_number(q, answer.choice) : q->n_choices;
    if (choice == q->n_choices) {
        return q->by_rule;
    }
    *ret_tuned = true;
    return choice;
}
