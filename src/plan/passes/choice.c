/* SPDX-License-Identifier: Apache-2.0 */
/* Passes by name: what people choose from. */
#include <string.h>

#include "base/quote.h"
#include "plan/plan.h"

#define NAME_MOST 32u

/* Up to the next '+' or the end, where *at is then. False where it is longer than any name. */
static bool next_name(const char **at, char *ret_name)
{
    const size_t n = strcspn(*at, "+");
    if (n >= NAME_MOST) {
        return false;
    }
    memcpy(ret_name, *at, n);
    ret_name[n] = '\0';
    *at += n;
    return true;
}

enum vt_status vt_plan_passes_read(const char *text, struct vt_error *err, uint64_t *ret_without)
{
    const bool left_out = text[0] == '-';
    const char *at = text + (left_out ? 1 : 0);
    uint64_t named = 0;
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *ret_without = text[0] == 'a' ? 0 : VT_PLAN_NO_PASSES;
        return VT_OK;
    }
    do {
        char name[NAME_MOST];
        const uint32_t pass = next_name(&at, name) ? vt_plan_pass_find(name) : vt_plan_pass_count();
        if (pass == vt_plan_pass_count()) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "passes %s: neither all, none nor names of passes joined by '+' "
                                "(with a '-' before them: all but these); 'vatio inspect MODEL "
                                "--passes' names them",
                                vt_quote(text).text);
        }
        named |= UINT64_C(1) << pass;
    } while (*at++ == '+');
    *ret_without = left_out ? named : ~named;
    return VT_OK;
}
