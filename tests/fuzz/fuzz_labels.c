/* SPDX-License-Identifier: Apache-2.0 */
/* Label lists, as a map and as class names, and the file beside a model: all are lines of text. */
#include "workload/labels.h"
#include "workload/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_label_list list;
    struct vt_recipe recipe = {0};

    (void)vt_label_text_is_map(text, size);
    if (vt_label_map_parse("map", text, size, &err, &list) == VT_OK) {
        vt_label_list_release(&list);
    }
    if (vt_label_names_parse("names", text, size, &err, &list) == VT_OK) {
        vt_label_list_release(&list);
    }
    vt_arena_init(&recipe.arena, 0);
    if (vt_recipe_parse(&recipe, "recipe", text, size, &err) != VT_OK) {
        err.status = VT_OK;
    }
    vt_recipe_release(&recipe);
    return 0;
}
