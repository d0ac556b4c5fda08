/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "result/json_parts.h"
#include "result/meters.h"

static json_t *row_value(const struct vt_meter_row *row)
{
    struct vt_json_object json = vt_json_object_begin();
    const bool known = row->measured;

    vt_json_put(&json, "name", vt_json_text(row->domain));
    vt_json_put(&json, "device", vt_json_text(row->device));
    vt_json_put(&json, "kind", vt_json_text(row->counter ? "energy" : "power"));
    vt_json_put(&json, "scope", vt_json_text(row->scope));
    vt_json_put(&json, "inside", vt_json_text(row->inside[0] != '\0' ? row->inside : NULL));
    vt_json_put(&json, "watts", vt_json_real(known ? row->watts : (double)NAN));
    vt_json_put(&json, "uncertainty_watts", vt_json_real(known ? row->uncertainty_w : (double)NAN));
    vt_json_put(&json, "update_period_ns",
                row->update_ns > 0 ? json_integer(row->update_ns) : json_null());
    vt_json_put(&json, "update_period_at_most", json_boolean(row->update_at_most));
    vt_json_put(&json, "note", vt_json_text(row->note[0] != '\0' ? row->note : NULL));
    vt_json_put(&json, "failure", vt_json_text(known ? NULL : row->why));
    return vt_json_object_end(&json);
}

static json_t *entry_value(const struct vt_meter_entry *entry)
{
    struct vt_json_object json = vt_json_object_begin();
    json_t *rows = json_array();

    for (uint32_t i = 0; i < entry->n_rows; i++) {
        rows = vt_json_array_with(rows, row_value(&entry->rows[i]));
    }
    vt_json_put(&json, "name", vt_json_text(entry->name));
    vt_json_put(&json, "summary", vt_json_text(entry->summary));
    vt_json_put(&json, "available", json_boolean(entry->available));
    vt_json_put(&json, "reason", vt_json_text(entry->available ? NULL : entry->why));
    vt_json_put(&json, "domains", rows);
    return vt_json_object_end(&json);
}

enum vt_status vt_meters_json(const struct vt_meters_report *report, struct vt_error *err,
                              char **ret_json)
{
    struct vt_json_object root = vt_json_object_begin();
    json_t *meters = json_array();
    const bool read = report->for_ns > 0;

    for (uint32_t i = 0; i < report->n_entries; i++) {
        meters = vt_json_array_with(meters, entry_value(&report->entries[i]));
    }
    vt_json_put(&root, "schema_version", json_integer(1));
    vt_json_put(&root, "kind", vt_json_text("meters"));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "machine", vt_json_machine());
    vt_json_put(&root, "for_ns", read ? json_integer(report->for_ns) : json_null());
    vt_json_put(&root, "cpu_share_percent",
                read ? vt_json_real(100 * report->cpu_share) : json_null());
    vt_json_put(&root, "meters", meters);
    return vt_json_dump(vt_json_object_end(&root), err, ret_json);
}
