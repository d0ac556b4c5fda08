/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and ranges from any bytes. What is accepted ascends, within its limits and number. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void try_limits(const char *text, const struct vt_number_limits *limits)
{
    struct vt_number_list list = {0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_number_list_parse(text, limits, &err, &list);

    require(status == err.status);
    if (status != VT_OK) {
        require(list.items == NULL && strchr(err.text, '\n') == NULL);
        return;
    }
    require(list.count > 0 && list.count <= limits->most);
    for (size_t i = 0; i < list.count; i++) {
        require(list.items[i] >= limits->minimum && list.items[i] <= limits->maximum);
        require(!limits->whole || list.items[i] == nearbyint(list.items[i]));
        require(i == 0 || list.items[i] > list.items[i - 1]);
    }
    vt_number_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct vt_number_limits whole = {1, 65536, true, 256};
    static const struct vt_number_limits any = {-1e300, 1e300, false, 100};
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    try_limits(text, &whole);
    try_limits(text, &any);
    free(text);
    return 0;
}
