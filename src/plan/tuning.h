/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several kernels carries a step out fastest on this machine: found by measuring once,
 * kept in a file, looked up from then on.
 *
 * An operator that has a choice asks a question: a key (operator, layout, extents, strides …), the
 * names of the choices, the one that its rule takes, and functions that run each. Number of
 * threads, instruction sets and the list of choices become part of the key, so that an answer is
 * used only for what was measured.
 *
 * The file is text, one answer a line:
 *
 *     vatio tuning 1 <version of vatio>
 *     <key> TAB <choice> TAB <its ns> TAB <ns of the rule's choice>
 *
 * Answers of another version are dropped: its kernels are others. Lines that are damaged are passed
 * over, with one warning for all of them. The file is read whole and written whole; processes that
 * save at the same time wait for each other and keep what the other one found.
 *
 * Threading: all functions may be called by several threads at once, but for vt_tuning_free. One
 * question at a time is measured.
 */
#ifndef VT_PLAN_TUNING_H
#define VT_PLAN_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_TUNING_KEY_MAX     200 /* bytes, printable ASCII */
#define VT_TUNING_CHOICE_MAX  31
#define VT_TUNING_CHOICES_MAX 16
#define VT_TUNING_BUDGET_NS   (INT64_C(30) * 1000000000)

struct vt_tuning;

struct vt_tuning_options {
    const char *path;  /* of the file; NULL: nothing is read or kept */
    bool measure;      /* answer unknown questions by measuring; else only what is in the file */
    int64_t budget_ns; /* that measuring may take in all; afterwards rules decide */
};

/* What VATIO_TUNING names ("off": NULL), else "tuning-<processor>-<instruction sets>.txt" in the
 * user's cache; vt_free it. VT_ERR_WRITE when there is no such folder. */
enum vt_status vt_tuning_path(struct vt_error *err, char **ret_path) VT_NODISCARD;

/* A file that is not there or not readable is an empty one. On success the caller frees it. */
enum vt_status vt_tuning_new(const struct vt_tuning_options *options, struct vt_error *err,
                             struct vt_tuning **ret_tuning) VT_NODISCARD;
void vt_tuning_free(struct vt_tuning *tuning); /* accepts NULL; does not save */
/* Adds what was measured to the file, its folder made; does nothing when there is nothing new. */
enum vt_status vt_tuning_save(struct vt_tuning *tuning, struct vt_error *err) VT_NODISCARD;

struct vt_tuning_answer {
    char key[VT_TUNING_KEY_MAX + 1];
    char choice[VT_TUNING_CHOICE_MAX + 1];
    int64_t ns, rule_ns;
};

/* An answer that is there already stays. VT_ERR_FORMAT: no key or choice as the file has them. */
enum vt_status vt_tuning_add(struct vt_tuning *tuning, const struct vt_tuning_answer *answer,
                             struct vt_error *err) VT_NODISCARD;
bool vt_tuning_find(struct vt_tuning *tuning, const char *key, struct vt_tuning_answer *ret_answer);
/* One line of a file, without its end. False when it is damaged. */
bool vt_tuning_parse(const char *line, size_t size, struct vt_tuning_answer *ret_answer);
/* A whole file; damaged lines are counted. VT_ERR_MEMORY only. */
enum vt_status vt_tuning_read(struct vt_tuning *tuning, const char *text, size_t size,
                              struct vt_error *err) VT_NODISCARD;
/* Each answer that a question got so far. The tuning must not be asked meanwhile. */
typedef void (*vt_tuning_visit_func)(void *ctx, const struct vt_tuning_answer *answer);
void vt_tuning_each_used(struct vt_tuning *tuning, vt_tuning_visit_func visit, void *ctx);

struct vt_tuning_stats {
    uint32_t answers;  /* in the table */
    uint32_t used;     /* of those, that answered a question */
    uint32_t measured; /* questions */
    uint32_t damaged;  /* lines that were passed over */
    int64_t spent_ns;  /* by measuring */
};
void vt_tuning_stats(struct vt_tuning *tuning, struct vt_tuning_stats *ret_stats);

struct vt_tuning_question {
    const char *key;
    uint32_t threads;
    const char *choices[VT_TUNING_CHOICES_MAX];
    uint32_t n_choices, by_rule;
    /* Around measuring: begin makes what the runs need (false: it cannot, the rule decides). */
    bool (*begin)(void *ctx);
    void (*run)(void *ctx, uint32_t choice);
    void (*end)(void *ctx); /* also after a begin that failed */
    void *ctx;
};

/* The number of the choice to take. `tuning` may be NULL: by rule. *ret_tuned: by measurement. */
uint32_t vt_tuning_choose(struct vt_tuning *tuning, const struct vt_tuning_question *question,
                          bool *ret_tuned);

#endif
