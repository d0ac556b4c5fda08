/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compliance test of MLPerf Inference found: a second run under the test's settings,
 * compared with the scenario's own runs.
 */
#ifndef VT_RESULT_AUDIT_H
#define VT_RESULT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/report.h"

enum vt_audit_test {
    VT_TEST01, /* the accuracy is that of performance mode too */
    VT_TEST04, /* results are not cached */
    VT_TEST06, /* tokens are consistent */
    VT_AUDIT_TESTS,
};

enum vt_audit_verdict {
    VT_AUDIT_PASS,
    VT_AUDIT_FAIL,
    VT_AUDIT_NOT_APPLICABLE,
};

/* The scores of the reference and of the test's run. */
struct vt_audit_performance {
    bool judged;
    enum vt_audit_verdict verdict;
    const char *unit;       /* "samples/s", "queries/s", "ns"; static storage */
    double reference, test; /* 0: the run has none */
    double tolerance;       /* 0.1 or 0.2 */
    bool both_sides;        /* TEST01: neither faster nor slower; TEST04: not faster */
    char text[400];         /* numbers and limit in a sentence */
};

/* TEST01: the responses that were logged in performance mode against those of the accuracy run. */
struct vt_audit_accuracy {
    bool judged;
    enum vt_audit_verdict verdict;
    uint64_t reference_entries, entries;
    uint64_t duplicates, duplicate_mismatches; /* of a sample within the accuracy run */
    uint64_t matched;                          /* entries whose sample is in the accuracy run */
    uint64_t missing;                          /* and is not */
    uint64_t mismatches;                       /* whole responses that differ */
    uint64_t first_mismatches;     /* first bytes that differ: the official comparison */
    uint64_t first_mismatch_index; /* a sample, where mismatches > 0 */
    /* Where responses differ: the quality of the logged ones and of the same samples before. */
    bool by_quality;
    double reference_quality, quality;
    double delta; /* allowed, relative */
    char metric[32], unit[16];
    char text[400];
};

/* TEST06. */
struct vt_audit_tokens {
    bool judged;
    enum vt_audit_verdict verdict;
    uint64_t entries;
    bool first_token, first_token_skipped; /* Offline has no first tokens to compare */
    bool end_of_sequence, length;
    char text[400];
};

struct vt_result_audit {
    enum vt_audit_test test;
    enum vt_scenario scenario;
    enum vt_audit_verdict verdict;
    struct vt_load_report *report; /* of the test's run; owned; NULL: there was none */
    uint32_t attempts;             /* an invalid run is repeated */
    struct vt_audit_performance performance;
    struct vt_audit_accuracy accuracy;
    struct vt_audit_tokens tokens;
    char text[400]; /* why it does not apply, or why there is no run to compare; else empty */
};

/* "TEST01"; static storage. */
const char *vt_audit_test_name(enum vt_audit_test test);
/* "pass", "fail", "not applicable". */
const char *vt_audit_verdict_text(enum vt_audit_verdict verdict);
/* One sentence about the test. */
const char *vt_audit_test_text(enum vt_audit_test test);

#endif
