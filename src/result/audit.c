/* SPDX-License-Identifier: Apache-2.0 */
#include "result/audit.h"

#include <string.h>

#include "result/result.h"
#include "result/text.h"

#define NARROW_COLUMNS 60

static const struct {
    const char *name, *text;
} tests[VT_AUDIT_TESTS] = {
    {"TEST01", "answers are the same in performance mode"},
    {"TEST04", "no answer comes from a cache"},
    {"TEST06", "tokens are consistent"},
};

const char *vt_audit_test_name(enum vt_audit_test test)
{
    return tests[test].name;
}

const char *vt_audit_test_text(enum vt_audit_test test)
{
    return tests[test].text;
}

const char *vt_audit_verdict_text(enum vt_audit_verdict verdict)
{
    static const char *const texts[] = {"pass", "fail", "not applicable"};
    return texts[verdict];
}

/* "TEST01   Offline       performance  pass", and the numbers behind it or below. */
static void put_check(FILE *out, const struct vt_result_audit *audit, const char *what,
                      enum vt_audit_verdict verdict, const char *text, int columns)
{
    const int width = 50;
    const char *word = verdict == VT_AUDIT_NOT_APPLICABLE ? "n/a" : vt_audit_verdict_text(verdict);

    if (columns < NARROW_COLUMNS) {
        char line[640];
        snprintf(line, sizeof line, "%s %s, %s: %s; %s", vt_audit_test_name(audit->test),
                 vt_scenario_name(audit->scenario), what, word, text);
        vt_text_print_wrapped(out, line, 0, 2, columns);
        return;
    }
    fprintf(out, "%-9s%-15s%-14s%-6s", vt_audit_test_name(audit->test),
            vt_scenario_name(audit->scenario), what, word);
    if (columns >= 2 * width) {
        fprintf(out, "%*s", width - 44, "");
        vt_text_print_wrapped(out, text, width, width, columns);
    } else {
        fprintf(out, "\n  ");
        vt_text_print_wrapped(out, text, 2, 2, columns);
    }
}

void vt_result_print_audits(const struct vt_result *result, FILE *out, int columns)
{
    if (result->n_audits == 0) {
        return;
    }
    if (columns >= NARROW_COLUMNS) {
        fprintf(out, "%-9s%-15s%-14s%s\n", "test", "scenario", "compared", "verdict");
    }
    for (uint32_t i = 0; i < result->n_audits; i++) {
        const struct vt_result_audit *audit = &result->audits[i];
        if (audit->text[0] != '\0') {
            put_check(out, audit, "-", audit->verdict, audit->text, columns);
        }
        if (audit->accuracy.judged) {
            put_check(out, audit, "responses", audit->accuracy.verdict, audit->accuracy.text,
                      columns);
        }
        if (audit->performance.judged) {
            put_check(out, audit, "performance", audit->performance.verdict,
                      audit->performance.text, columns);
        }
        if (audit->tokens.judged) {
            put_check(out, audit, "tokens", audit->tokens.verdict, audit->tokens.text, columns);
        }
    }
    putc('\n', out);
}
