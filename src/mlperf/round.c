/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/round.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "mlperf/conf_entry.h"
#include "mlperf/round_table.h"

/* Rows that hold in one round, at most. */
#define ROWS_MAX 256

static const char *const names[VT_ROUND_COUNT] = {"v3.0", "v3.1", "v4.0", "v4.1",
                                                  "v5.0", "v5.1", "v6.0", VT_ROUND_LATEST};

const char *vt_round_name(unsigned i)
{
    return i < VT_ROUND_COUNT ? names[i] : NULL;
}

/* VT_ROUND_COUNT when there is none of that name. */
static unsigned number_of(const char *round)
{
    unsigned i = 0;
    while (i < VT_ROUND_COUNT && strcmp(names[i], round) != 0) {
        i++;
    }
    return i;
}

static bool holds(const struct vt_round_row *row, unsigned round)
{
    return row->from <= round && round <= row->to;
}

const char *vt_round_model(const char *round, unsigned i)
{
    size_t n;
    const struct vt_round_row *rows = vt_round_rows(&n);
    unsigned number = number_of(round);
    const char *last = "*";
    for (size_t k = 0; k < n; k++) {
        if (holds(&rows[k], number) && strcmp(rows[k].model, last) != 0) {
            last = rows[k].model;
            if (strcmp(last, "*") != 0 && i-- == 0) {
                return last;
            }
        }
    }
    return NULL;
}

bool vt_round_has(const char *round, const char *model)
{
    const char *each;
    for (unsigned i = 0; (each = vt_round_model(round, i)) != NULL; i++) {
        if (strcmp(each, model) == 0) {
            return true;
        }
    }
    return false;
}

const char *vt_round_value(const char *round, const char *model, const char *scenario,
                           const char *key)
{
    size_t n;
    const struct vt_round_row *rows = vt_round_rows(&n);
    unsigned number = number_of(round);
    for (size_t i = 0; i < n; i++) {
        if (holds(&rows[i], number) && strcmp(rows[i].model, model) == 0 &&
            strcmp(rows[i].scenario, scenario) == 0 && strcmp(rows[i].key, key) == 0) {
            return rows[i].value;
        }
    }
    return NULL;
}

static struct vt_conf_slice slice_of(const char *text)
{
    return (struct vt_conf_slice){text, strlen(text)};
}

static enum vt_status refuse_round(const char *round, struct vt_error *err)
{
    char list[128] = "";
    size_t used = 0;
    for (unsigned i = 0; i < VT_ROUND_COUNT; i++) {
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return vt_error_set(err, VT_ERR_USAGE, "round '%s' is not known: give one of %s",
                        vt_plain(round).text, list);
}

enum vt_status vt_round_apply(struct vt_load_settings *settings, const char *round,
                              const char *model, struct vt_error *err)
{
    struct vt_conf_entry entries[ROWS_MAX];
    size_t n_rows, n = 0;
    const struct vt_round_row *rows = vt_round_rows(&n_rows);
    unsigned number = number_of(round);
    if (number == VT_ROUND_COUNT) {
        return refuse_round(round, err);
    }
    for (size_t i = 0; i < n_rows && n < ROWS_MAX; i++) {
        if (holds(&rows[i], number)) {
            entries[n++] = (struct vt_conf_entry){
                .model = slice_of(rows[i].model),
                .scenario = slice_of(rows[i].scenario),
                .key = slice_of(rows[i].key),
                .value = slice_of(rows[i].value),
                .line = (uint32_t)i + 1,
            };
        }
    }
    return vt_conf_apply_entries(settings, VT_CONF_MLPERF, entries, n, round, model, NULL, err);
}
