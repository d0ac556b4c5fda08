/* SPDX-License-Identifier: Apache-2.0 */
#include "result/precision.h"

#include "result/json_parts.h"
#include "result/result.h"

static json_t *candidate_value(const struct vt_precision_candidate *c)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "precision", vt_json_text(c->precision));
    vt_json_put(&json, "tried", json_boolean(c->tried));
    vt_json_put(&json, "time_ns", c->tried ? vt_json_real(c->time_ns) : json_null());
    vt_json_put(&json, "quality", c->has_quality ? vt_json_real(c->quality) : json_null());
    vt_json_put(&json, "output_rms", c->has_rms ? vt_json_real(c->rms) : json_null());
    vt_json_put(&json, "loss_percent", c->tried ? vt_json_real(c->loss_percent) : json_null());
    vt_json_put(&json, "holds", json_boolean(c->holds));
    vt_json_put(&json, "why", c->why[0] != '\0' ? vt_json_text(c->why) : json_null());
    return vt_json_object_end(&json);
}

json_t *vt_json_precision(const struct vt_precision_choice *choice)
{
    if (!choice->made) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    json_t *candidates = json_array();
    for (uint32_t i = 0; i < choice->n_candidates; i++) {
        candidates = vt_json_array_with(candidates, candidate_value(&choice->candidates[i]));
    }
    vt_json_put(&json, "chosen", vt_json_text(choice->chosen));
    vt_json_put(&json, "why", vt_json_text(choice->why));
    vt_json_put(&json, "rule", vt_json_text(choice->rule));
    vt_json_put(&json, "metric",
                choice->metric[0] != '\0' ? vt_json_text(choice->metric) : json_null());
    vt_json_put(&json, "unit", choice->unit[0] != '\0' ? vt_json_text(choice->unit) : json_null());
    vt_json_put(&json, "loss_allowed_percent", vt_json_real(choice->loss_allowed_percent));
    vt_json_put(&json, "samples", vt_json_count(choice->samples));
    vt_json_put(&json, "candidates", candidates);
    return vt_json_object_end(&json);
}

static void append(char *text, size_t size, size_t *at, const char *piece)
{
    const int n = snprintf(text + *at, size - *at, "%s", piece);
    const size_t wanted = n > 0 ? (size_t)n : 0;
    *at += wanted < size - *at ? wanted : size - *at - 1;
}

char *vt_precision_choice_text(const struct vt_precision_choice *choice, char *text, size_t size)
{
    char piece[256], a[32], b[32];
    size_t at = 0;

    text[0] = '\0';
    (void)snprintf(piece, sizeof piece, "%s, %s: ", choice->chosen, choice->why);
    append(text, size, &at, piece);
    for (uint32_t i = 0; i < choice->n_candidates; i++) {
        const struct vt_precision_candidate *c = &choice->candidates[i];
        append(text, size, &at, i > 0 ? "; " : "");
        if (!c->tried) {
            (void)snprintf(piece, sizeof piece, "%s not tried (%s)", c->precision, c->why);
        } else if (c->has_quality) {
            (void)snprintf(piece, sizeof piece, "%s %s %s %s%s%s%s", c->precision,
                           vt_duration_text((int64_t)c->time_ns, a, sizeof a), choice->metric,
                           vt_number_text(c->quality, b, sizeof b),
                           choice->unit[0] != '\0' ? " " : "", choice->unit,
                           c->holds ? "" : ", too much lost");
        } else {
            (void)snprintf(piece, sizeof piece, "%s %s RMS %s%s", c->precision,
                           vt_duration_text((int64_t)c->time_ns, a, sizeof a),
                           vt_number_text(c->rms, b, sizeof b), c->holds ? "" : ", too much");
        }
        append(text, size, &at, piece);
    }
    return text;
}
