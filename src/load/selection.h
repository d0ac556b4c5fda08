/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples are issued, in which order: those of MLPerf LoadGen, bit for bit, produced as they
 * are needed. Stored are the sample sets, one or two permutations of the loaded set where a mode
 * asks for them, and nothing that grows with the run. No call takes long.
 *
 *   SingleStream, Server   uniform with replacement from the loaded set
 *   MultiStream            a uniform start, then consecutive samples of the padded set
 *   Offline                the loaded set over and over, in its shuffled order
 *   performance_issue_unique, performance_issue_same, sample_concatenate_permutation ("equal
 *   issue") change that as in LoadGen, in this order of precedence
 *   accuracy               every sample of the set once (MultiStream: of the padded set)
 */
#ifndef VT_LOAD_SELECTION_H
#define VT_LOAD_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/rng.h"
#include "load/settings.h"

/* The data set, shuffled and cut into sets that fit into memory together. */
struct vt_sample_sets {
    uint64_t *indices; /* owned; set after set, each with its padding */
    size_t count;      /* samples, without padding */
    size_t set_size;   /* of all sets but the last, without padding */
    size_t padding;    /* of every set; MultiStream only */
    size_t n;          /* sets */
};

struct vt_sample_set {
    const uint64_t *indices;
    size_t size;   /* without padding */
    size_t padded; /* with it: what is loaded */
};

/* In performance mode one set, in accuracy mode all. Release also after a failure. */
enum vt_status vt_sample_sets_init(struct vt_sample_sets *sets,
                                   const struct vt_load_settings *settings,
                                   const struct vt_load_effective *effective,
                                   struct vt_error *err) VT_NODISCARD;
void vt_sample_sets_release(struct vt_sample_sets *sets);
struct vt_sample_set vt_sample_sets_get(const struct vt_sample_sets *sets, size_t i);

/* How the next sample is found. */
enum vt_selection_rule {
    VT_SELECT_UNIFORM,
    VT_SELECT_ORDER, /* once through `order` */
    VT_SELECT_SAME,
    VT_SELECT_EQUAL,
    VT_SELECT_REPEAT,         /* Offline: the set over and over */
    VT_SELECT_REPEAT_SHUFFLE, /* Offline with equal issue: each time shuffled */
};

struct vt_selection {
    struct vt_sample_set set;
    enum vt_selection_rule rule;
    enum vt_bounded_method method;
    size_t width;               /* samples that follow one draw */
    uint64_t samples_per_query; /* Offline with equal issue: padded to whole sets */
    uint64_t queries_min;       /* generated at least; equal issue: padded to whole sets */
    int64_t duration_ns;        /* generated at least */
    uint64_t queries_step;      /* see vt_schedule */
    uint64_t queries_max;       /* what `order` gives out; 0: no end */
    uint64_t same;
    struct vt_mt19937 rng;
    uint64_t *order; /* owned; NULL where the rule needs none */
    size_t order_n;
    size_t at; /* in `order`, or in the set */
    /* Equal issue: the permutation that follows `order` is drawn while that is issued. */
    uint64_t *ahead;              /* owned; as long as `order` */
    size_t ahead_n;               /* elements of it that are placed */
    struct vt_mt19937 equal_rng;  /* stands where the next shuffle goes on */
    struct vt_mt19937 equal_from; /* … where the first one began */
    uint64_t equal_rounds;        /* after so many shuffles the table starts again */
    uint64_t equal_round;         /* shuffles before the one that `ahead` gets */
};

/* For one loaded set. The set is borrowed. Release also after a failure. */
enum vt_status vt_selection_init(struct vt_selection *selection,
                                 const struct vt_load_settings *settings,
                                 const struct vt_load_effective *effective,
                                 struct vt_sample_set set, struct vt_error *err) VT_NODISCARD;
/* The same again, to be drawn from on its own. The set is borrowed. Release also after a failure.
 */
enum vt_status vt_selection_copy(struct vt_selection *copy, const struct vt_selection *selection,
                                 struct vt_error *err) VT_NODISCARD;
void vt_selection_release(struct vt_selection *selection);

/*
 * The data set's indices of the next n samples. n is samples_per_query, but in Offline any part of
 * what is left of it. Not more than queries_max queries where that is set.
 */
void vt_selection_fill(struct vt_selection *selection, uint64_t *ret_indices, size_t n);

#endif
