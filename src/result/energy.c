/* SPDX-License-Identifier: Apache-2.0 */
#include "result/energy.h"

#include <math.h>

#include "base/alloc.h"
#include "result/result.h"

void vt_result_energy_free(struct vt_result_energy *energy)
{
    if (energy == NULL) {
        return;
    }
    for (uint32_t i = 0; energy->meters != NULL && i < energy->n_meters; i++) {
        vt_free(energy->meters[i].domains);
    }
    vt_free(energy->meters);
    vt_free(energy->differences);
    vt_free(energy->series);
    vt_free(energy->throttles);
    vt_free(energy);
}

const char *vt_result_energy_reason(const struct vt_result *result)
{
    return result->energy_text[0] != '\0' ? result->energy_text
                                          : "meters are read in performance runs";
}

char *vt_joules_text(double joules, char *text, size_t size)
{
    static const struct {
        double least, factor;
        const char *unit;
    } units[] = {{1, 1, "J"}, {1e-3, 1e3, "mJ"}, {1e-6, 1e6, "\xc2\xb5J"}, {0, 1e9, "nJ"}};
    char number[48];
    size_t at = 0;

    while (units[at].least > 0 && fabs(joules) < units[at].least) {
        at++;
    }
    at = joules == 0 ? 0 : at;
    (void)snprintf(text, size, "%s %s",
                   vt_number_text(joules * units[at].factor, number, sizeof number),
                   units[at].unit);
    return text;
}
