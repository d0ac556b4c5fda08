/* SPDX-License-Identifier: Apache-2.0 */
/* Records of caps from any bytes. What is accepted is the same when it is written and read again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "power/cap/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_cap_record record = {.n = 0}, again = {.n = 0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_cap_record_parse((const char *)data, size, "any", &err, &record);

    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any:", 4) == 0 && strchr(err.text, '\n') == NULL);
        require(record.items == NULL && record.n == 0);
        return 0;
    }
    require(record.n <= VT_CAP_RECORD_ITEMS_MAX && record.owner > 0);
    char *text = vt_cap_record_text(&record);
    require(text != NULL);
    require(vt_cap_record_parse(text, strlen(text), "any", NULL, &again) == VT_OK);
    require(again.n == record.n && again.owner == record.owner &&
            again.owner_start == record.owner_start && strcmp(again.boot, record.boot) == 0 &&
            strcmp(again.places, record.places) == 0);
    for (uint32_t i = 0; i < record.n; i++) {
        require(strcmp(again.items[i].kind, record.items[i].kind) == 0 &&
                strcmp(again.items[i].domain, record.items[i].domain) == 0 &&
                strcmp(again.items[i].id, record.items[i].id) == 0 &&
                memcmp(&again.items[i].raw, &record.items[i].raw, sizeof record.items[i].raw) == 0);
    }
    vt_free(text);
    vt_cap_record_release(&again);
    vt_cap_record_release(&record);
    return 0;
}
