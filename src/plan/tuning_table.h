/* SPDX-License-Identifier: Apache-2.0 */
/* The table of answers behind plan/tuning.h and its file; tuning.c asks and measures. */
#ifndef VT_PLAN_TUNING_TABLE_H
#define VT_PLAN_TUNING_TABLE_H

#include <pthread.h>

#include "plan/tuning.h"

#define VT_TUNING_BUCKETS 512u

struct vt_tuning_entry {
    struct vt_tuning_entry *next;
    struct vt_tuning_answer answer;
    bool used;
    bool fresh; /* measured, not saved yet */
};

struct vt_tuning {
    bool measure;
    int64_t budget_ns;
    char *path;                /* NULL: nothing is kept */
    pthread_mutex_t measuring; /* held for long; taken before `lock` */
    pthread_mutex_t lock;      /* of what follows */
    struct vt_tuning_entry *buckets[VT_TUNING_BUCKETS];
    struct vt_tuning_stats stats;
};

/* Looks up for a question: notes that the answer is used. */
bool vt_tuning_table_use(struct vt_tuning *tuning, const char *key,
                         struct vt_tuning_answer *ret_answer);
/* Adds an answer that was measured just now. False when out of memory. */
bool vt_tuning_table_learn(struct vt_tuning *tuning, const struct vt_tuning_answer *answer);
/* Takes that much from the budget. Whether there was some left. */
bool vt_tuning_table_spend(struct vt_tuning *tuning, int64_t ns);

#endif
