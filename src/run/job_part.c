/* SPDX-License-Identifier: Apache-2.0 */
#include "run/job_part.h"

#include <string.h>

static bool is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static size_t append(struct vt_option *options, size_t n, size_t capacity,
                     const char *const *left_out, bool all)
{
    const struct vt_option_table *run = vt_job_options();

    for (size_t i = 0; i < run->n_options && n < capacity; i++) {
        const struct vt_option *option = &run->options[i];
        bool concerned = all || strcmp(option->category, "Model and engine") == 0 ||
                         strcmp(option->category, "Data") == 0;
        if (concerned && !is_among(option->name, left_out)) {
            options[n++] = *option;
        }
    }
    return n;
}

size_t vt_job_part_options(struct vt_option *options, size_t n, size_t capacity,
                           const char *const *left_out)
{
    return append(options, n, capacity, left_out, false);
}

size_t vt_job_all_options(struct vt_option *options, size_t n, size_t capacity,
                          const char *const *left_out)
{
    return append(options, n, capacity, left_out, true);
}
