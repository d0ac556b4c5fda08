/* SPDX-License-Identifier: Apache-2.0 */
#include "result/json_parts.h"
#include "result/result.h"

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? vt_json_text(text) : json_null();
}

json_t *vt_json_caps(const struct vt_result *result)
{
    json_t *caps = json_array();

    for (uint32_t i = 0; i < result->n_caps; i++) {
        const struct vt_result_cap *cap = &result->caps[i];
        struct vt_json_object json = vt_json_object_begin();
        vt_json_put(&json, "kind", vt_json_text(cap->kind));
        vt_json_put(&json, "domain", vt_json_text(cap->domain));
        vt_json_put(&json, "device", vt_json_text(cap->device));
        vt_json_put(&json, "unit", vt_json_text(cap->unit));
        vt_json_put(&json, "asked", vt_json_real(cap->asked));
        vt_json_put(&json, "enforced", vt_json_real(cap->enforced));
        vt_json_put(&json, "previous", vt_json_real(cap->previous));
        vt_json_put(&json, "restored", json_boolean(cap->restored));
        vt_json_put(&json, "note", text_or_null(cap->note));
        caps = vt_json_array_with(caps, vt_json_object_end(&json));
    }
    return caps;
}

static json_t *row_value(const struct vt_caps_row *row)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "domain", vt_json_text(row->domain));
    vt_json_put(&json, "device", vt_json_text(row->device));
    vt_json_put(&json, "value", vt_json_real(row->value));
    vt_json_put(&json, "minimum", vt_json_real(row->minimum));
    vt_json_put(&json, "maximum", vt_json_real(row->maximum));
    vt_json_put(&json, "default", vt_json_real(row->standard));
    vt_json_put(&json, "note", text_or_null(row->note));
    vt_json_put(&json, "reason", text_or_null(row->why));
    return vt_json_object_end(&json);
}

static json_t *entry_value(const struct vt_caps_entry *entry)
{
    struct vt_json_object json = vt_json_object_begin();
    json_t *rows = json_array();

    for (uint32_t i = 0; i < entry->n_rows; i++) {
        rows = vt_json_array_with(rows, row_value(&entry->rows[i]));
    }
    vt_json_put(&json, "kind", vt_json_text(entry->name));
    vt_json_put(&json, "summary", vt_json_text(entry->summary));
    vt_json_put(&json, "unit", vt_json_text(entry->unit));
    vt_json_put(&json, "available", json_boolean(entry->available));
    vt_json_put(&json, "reason", text_or_null(entry->why));
    vt_json_put(&json, "settable", json_boolean(entry->available && entry->locked[0] == '\0'));
    vt_json_put(&json, "right_missing", text_or_null(entry->locked));
    vt_json_put(&json, "domains", rows);
    return vt_json_object_end(&json);
}

enum vt_status vt_caps_json(const struct vt_caps_report *report, struct vt_error *err,
                            char **ret_json)
{
    struct vt_json_object root = vt_json_object_begin();
    json_t *kinds = json_array(), *records = json_array();

    for (uint32_t i = 0; i < report->n_entries; i++) {
        kinds = vt_json_array_with(kinds, entry_value(&report->entries[i]));
    }
    for (uint32_t i = 0; i < report->n_records; i++) {
        const struct vt_caps_record *record = &report->records[i];
        struct vt_json_object json = vt_json_object_begin();
        vt_json_put(&json, "file", vt_json_text(record->file));
        vt_json_put(&json, "process", json_integer(record->owner));
        vt_json_put(&json, "state", vt_json_text(record->state));
        vt_json_put(&json, "text", text_or_null(record->text));
        records = vt_json_array_with(records, vt_json_object_end(&json));
    }
    vt_json_put(&root, "schema_version", json_integer(VT_RESULT_SCHEMA_VERSION));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "kinds", kinds);
    vt_json_put(&root, "records", records);
    return vt_json_dump(vt_json_object_end(&root), err, ret_json);
}
