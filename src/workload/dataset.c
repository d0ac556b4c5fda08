/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "workload/classify.h"
#include "workload/labels.h"

/* How many entries of a folder are looked at to tell whether it is a data set. */
#define PEEK_ENTRIES 256

static bool is_image_name(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                           strcasecmp(dot, ".png") == 0);
}

static enum vt_status no_memory(struct vt_error *err, const char *path)
{
    return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for the list of images", path);
}

/* ---- folders --------------------------------------------------------------------------------- */

struct names {
    const char **items;
    size_t n, capacity;
};

static bool names_add(struct names *names, struct vt_arena *arena, const char *name)
{
    if (names->n == names->capacity) {
        size_t capacity = names->capacity > 0 ? names->capacity * 2 : 64;
        const char **items =
            vt_regrow((void *)names->items, names->n * sizeof *items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->n] = vt_arena_strndup(arena, name, strlen(name));
    return names->items[names->n++] != NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether one of the first entries of the folder is an image, or when `deep` one of its folders
 * holds such. */
static bool peek(const char *folder, bool deep)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool found = false;

    if (dir == NULL) {
        return false;
    }
    for (int i = 0; i < PEEK_ENTRIES && !found && (entry = readdir(dir)) != NULL; i++) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        found = is_image_name(entry->d_name);
        if (!found && deep) {
            char *path = vt_path_join(folder, entry->d_name);
            found = path != NULL && vt_path_is_folder(path) && peek(path, false);
            vt_free(path);
        }
    }
    closedir(dir);
    return found;
}

static enum vt_status keep_name(const char *folder, const struct dirent *entry,
                                struct vt_arena *arena, struct vt_error *err, struct names *images,
                                struct names *folders)
{
    if (is_image_name(entry->d_name)) {
        return names_add(images, arena, entry->d_name) ? VT_OK : no_memory(err, folder);
    }
    if (folders == NULL ||
        (entry->d_type != DT_DIR && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)) {
        return VT_OK;
    }
    char *path = vt_path_join(folder, entry->d_name);
    if (path == NULL) {
        return no_memory(err, folder);
    }
    bool holds_images = vt_path_is_folder(path) && peek(path, false);
    vt_free(path);
    if (holds_images && !names_add(folders, arena, entry->d_name)) {
        return no_memory(err, folder);
    }
    return VT_OK;
}

/* The images in a folder and, unless `folders` is NULL, the folders that hold images, sorted.
 * Hidden ones are not seen. The caller frees the arrays also after a failure; the names are in the
 * arena. */
static enum vt_status list_folder(const char *folder, struct vt_arena *arena, struct vt_error *err,
                                  struct names *images, struct names *folders)
{
    enum vt_status status = VT_OK;
    DIR *dir = opendir(folder);

    if (dir == NULL) {
        return vt_error_set(err, errno == ENOENT ? VT_ERR_NOT_FOUND : VT_ERR_READ,
                            "%s: the folder cannot be read: %s", folder, strerror(errno));
    }
    while (status == VT_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0) {
                status = vt_error_set(err, VT_ERR_READ, "%s: the folder cannot be read: %s", folder,
                                      strerror(errno));
            }
            break;
        }
        if (entry->d_name[0] != '.') {
            status = keep_name(folder, entry, arena, err, images, folders);
        }
    }
    closedir(dir);
    if (images->n > 0) {
        qsort((void *)images->items, images->n, sizeof images->items[0], by_text);
    }
    if (folders != NULL && folders->n > 0) {
        qsort((void *)folders->items, folders->n, sizeof folders->items[0], by_text);
    }
    return status;
}

/* ---- one folder a class ---------------------------------------------------------------------- */

struct class_item {
    struct vt_dataset_item item;
    size_t rank; /* place within its class */
};

/* Rank first: the classes alternate. */
static int by_rank(const void *a, const void *b)
{
    const struct class_item *x = a, *y = b;

    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->item.label != y->item.label) {
        return x->item.label < y->item.label ? -1 : 1;
    }
    return strcmp(x->item.path, y->item.path);
}

/* The class whose line is the folder's name, or begins with it as a word ("n01440764 tench");
 * -1 when there is none. */
static int64_t find_class(const struct vt_label_list *classes, const char *folder)
{
    size_t length = strlen(folder);

    for (size_t i = 0; i < classes->n; i++) {
        const char *text = classes->entries[i].text;
        if (strncmp(text, folder, length) == 0 && strchr(" \t,:", text[length]) != NULL) {
            return classes->entries[i].label;
        }
    }
    return -1;
}

/* Writes the class number of each folder. False, with the first that is missing, when not all are
 * in the list. */
static bool number_by_list(const struct vt_label_list *classes, const struct names *folders,
                           int64_t *ret_labels, const char **ret_missing)
{
    for (size_t i = 0; i < folders->n; i++) {
        ret_labels[i] = find_class(classes, folders->items[i]);
        if (ret_labels[i] < 0) {
            *ret_missing = folders->items[i];
            return false;
        }
    }
    return true;
}

static void number_by_name(const struct names *folders, int64_t *ret_labels)
{
    bool numbers = true;

    for (size_t i = 0; i < folders->n && numbers; i++) {
        const char *name = folders->items[i];
        numbers = strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
    }
    for (size_t i = 0; i < folders->n; i++) {
        ret_labels[i] = numbers ? strtoll(folders->items[i], NULL, 10) : (int64_t)i;
    }
}

static enum vt_status read_names(const char *path, struct vt_error *err, struct vt_label_list *ret)
{
    char *text = NULL;
    size_t size = 0;
    enum vt_status status = vt_file_read(path, VT_LABEL_FILE_BYTES, err, &text, &size);

    if (status == VT_OK) {
        status = vt_label_names_parse(path, text, size, err, ret);
        vt_free(text);
    }
    return status;
}

/* labels.txt in the data set's folder, else beside it; an empty string when there is none. */
static enum vt_status find_labels_file(struct vt_arena *arena, const char *folder,
                                       struct vt_error *err, const char **ret_path)
{
    char *inside = vt_arena_printf(arena, "%s/labels.txt", folder);
    char *beside = vt_arena_printf(arena, "%s/../labels.txt", folder);

    if (inside == NULL || beside == NULL) {
        return no_memory(err, folder);
    }
    *ret_path = vt_path_exists(inside) ? inside : vt_path_exists(beside) ? beside : "";
    return VT_OK;
}

/* The class numbers of the folders, into `ret_labels`. */
static enum vt_status number_classes(struct vt_dataset *dataset, const char *folder,
                                     const struct names *folders, const char *labels,
                                     struct vt_error *err, int64_t *ret_labels)
{
    struct vt_label_list classes = {.n = 0};
    const char *missing = NULL;
    const char *list = labels;
    enum vt_status status = VT_OK;

    if (list == NULL) {
        status = find_labels_file(&dataset->arena, folder, err, &list);
    }
    if (status == VT_OK && list[0] != '\0') {
        status = read_names(list, err, &classes);
    }
    if (status != VT_OK) {
        return status;
    }
    bool listed = classes.n > 0 && number_by_list(&classes, folders, ret_labels, &missing);
    vt_label_list_release(&classes);
    if (!listed && labels != NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: no class '%s', which is a folder of %s",
                            labels, missing, folder);
    }
    if (!listed) {
        number_by_name(folders, ret_labels);
    }
    dataset->source = vt_arena_printf(&dataset->arena, "%zu class folders in the order of %s",
                                      folders->n, listed ? vt_path_base(list) : "their names");
    return dataset->source != NULL ? VT_OK : no_memory(err, folder);
}

struct class_items {
    struct class_item *items;
    size_t n, capacity;
};

static enum vt_status add_class(struct vt_dataset *dataset, const char *folder, const char *name,
                                int64_t label, struct vt_error *err, struct class_items *items)
{
    struct names images = {.n = 0};
    char *path = vt_arena_printf(&dataset->arena, "%s/%s", folder, name);
    enum vt_status status = VT_OK;

    if (path == NULL) {
        return no_memory(err, folder);
    }
    status = list_folder(path, &dataset->arena, err, &images, NULL);
    if (status == VT_OK && items->n + images.n > items->capacity) {
        size_t capacity = (items->n + images.n) * 2;
        struct class_item *grown =
            vt_regrow(items->items, items->n * sizeof *grown, capacity * sizeof *grown);
        if (grown != NULL) {
            items->items = grown;
            items->capacity = capacity;
        } else {
            status = no_memory(err, folder);
        }
    }
    for (size_t i = 0; i < images.n && status == VT_OK; i++) {
        struct class_item *item = &items->items[items->n];
        item->item.path = vt_arena_printf(&dataset->arena, "%s/%s", path, images.items[i]);
        item->item.label = label;
        item->rank = i;
        if (item->item.path != NULL) {
            items->n++;
        } else {
            status = no_memory(err, folder);
        }
    }
    vt_free((void *)images.items);
    return status;
}

/* Copies the items into the data set in their order. */
static enum vt_status keep_items(struct vt_dataset *dataset, const char *folder,
                                 struct class_items *items, struct vt_error *err)
{
    if (items->n == 0) {
        return vt_error_set(err, VT_ERR_NOT_FOUND,
                            "%s: no image: files that end in .jpg, .jpeg or .png are looked for, "
                            "in it and in its folders",
                            folder);
    }
    qsort(items->items, items->n, sizeof items->items[0], by_rank);
    dataset->items = vt_arena_calloc(&dataset->arena, items->n, sizeof dataset->items[0]);
    if (dataset->items == NULL) {
        return no_memory(err, folder);
    }
    for (size_t i = 0; i < items->n; i++) {
        dataset->items[i] = items->items[i].item;
    }
    dataset->n = items->n;
    return VT_OK;
}

static enum vt_status open_classes(struct vt_dataset *dataset, const char *folder,
                                   const struct names *folders, const char *labels,
                                   struct vt_error *err)
{
    struct class_items items = {.n = 0};
    int64_t *numbers = vt_arena_calloc(&dataset->arena, folders->n + 1, sizeof *numbers);
    enum vt_status status = numbers != NULL
                                ? number_classes(dataset, folder, folders, labels, err, numbers)
                                : no_memory(err, folder);

    for (size_t i = 0; i < folders->n && status == VT_OK; i++) {
        status = add_class(dataset, folder, folders->items[i], numbers[i], err, &items);
    }
    if (status == VT_OK) {
        status = keep_items(dataset, folder, &items, err);
        dataset->labelled = true;
    }
    vt_free(items.items);
    return status;
}

/* Images without labels. */
static enum vt_status open_flat(struct vt_dataset *dataset, const char *folder,
                                const struct names *images, struct vt_error *err)
{
    dataset->items = vt_arena_calloc(&dataset->arena, images->n, sizeof dataset->items[0]);
    if (dataset->items == NULL) {
        return no_memory(err, folder);
    }
    for (size_t i = 0; i < images->n; i++) {
        dataset->items[i].path =
            vt_arena_printf(&dataset->arena, "%s/%s", folder, images->items[i]);
        dataset->items[i].label = VT_NO_LABEL;
        if (dataset->items[i].path == NULL) {
            return no_memory(err, folder);
        }
    }
    dataset->n = images->n;
    dataset->source = "no labels";
    return VT_OK;
}

/* ---- label maps ------------------------------------------------------------------------------ */

static enum vt_status use_map(struct vt_dataset *dataset, const char *folder, const char *map_path,
                              const char *text, size_t size, struct vt_error *err)
{
    struct vt_label_list map;
    enum vt_status status = vt_label_map_parse(map_path, text, size, err, &map);

    if (status != VT_OK) {
        return status;
    }
    dataset->items = vt_arena_calloc(&dataset->arena, map.n, sizeof dataset->items[0]);
    dataset->source = vt_arena_printf(&dataset->arena, "%s", vt_path_base(map_path));
    if (dataset->items == NULL || dataset->source == NULL) {
        status = no_memory(err, map_path);
    }
    for (size_t i = 0; i < map.n && status == VT_OK; i++) {
        const char *path = map.entries[i].text;
        dataset->items[i].path = path[0] == '/'
                                     ? vt_arena_printf(&dataset->arena, "%s", path)
                                     : vt_arena_printf(&dataset->arena, "%s/%s", folder, path);
        dataset->items[i].label = map.entries[i].label;
        if (dataset->items[i].path == NULL) {
            status = no_memory(err, map_path);
        }
    }
    dataset->n = map.n;
    dataset->labelled = true;
    vt_label_list_release(&map);
    return status;
}

/* Uses `path` as the map if it is one; *ret_used says so. */
static enum vt_status try_map(struct vt_dataset *dataset, const char *folder, const char *path,
                              bool must, struct vt_error *err, bool *ret_used)
{
    char *text = NULL;
    size_t size = 0;
    enum vt_status status = vt_file_read(path, VT_LABEL_FILE_BYTES, err, &text, &size);

    if (status != VT_OK) {
        return status;
    }
    bool used = must || vt_label_text_is_map(text, size);
    if (used) {
        status = use_map(dataset, folder, path, text, size, err);
    }
    vt_free(text);
    if (status == VT_OK) {
        *ret_used = used;
    }
    return status;
}

/* The folder part of a path, "." when there is none; in the arena. */
static char *folder_of(struct vt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        return vt_arena_printf(arena, ".");
    }
    return vt_arena_printf(arena, "%.*s", (int)(slash - path), slash == path ? "/." : path);
}

static enum vt_status open_file(struct vt_dataset *dataset, const char *path, const char *labels,
                                struct vt_error *err)
{
    bool used = false;
    char *folder = folder_of(&dataset->arena, path);

    if (folder == NULL) {
        return no_memory(err, path);
    }
    if (labels != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "the data set '%s' is a label list itself: leave out the labels '%s'",
                            path, labels);
    }
    return try_map(dataset, folder, path, true, err, &used);
}

static enum vt_status open_folder(struct vt_dataset *dataset, const char *folder,
                                  const char *labels, struct vt_error *err)
{
    struct names images = {.n = 0}, folders = {.n = 0};
    bool used = false;
    enum vt_status status = VT_OK;
    char *map = vt_arena_printf(&dataset->arena, "%s/val_map.txt", folder);

    if (map == NULL) {
        return no_memory(err, folder);
    }
    if (labels != NULL) {
        status = try_map(dataset, folder, labels, false, err, &used);
    } else if (vt_path_exists(map)) {
        status = try_map(dataset, folder, map, true, err, &used);
    }
    if (status != VT_OK || used) {
        return status;
    }
    status = list_folder(folder, &dataset->arena, err, &images, &folders);
    bool flat = folders.n == 0 && images.n > 0;
    if (status == VT_OK && flat && labels != NULL) {
        status = vt_error_set(err, VT_ERR_FORMAT,
                              "%s: class names, but %s holds images and no class folders: a list "
                              "of \"path label\" lines is needed",
                              labels, folder);
    } else if (status == VT_OK && flat) {
        status = open_flat(dataset, folder, &images, err);
    } else if (status == VT_OK) {
        status = open_classes(dataset, folder, &folders, labels, err);
    }
    vt_free((void *)images.items);
    vt_free((void *)folders.items);
    return status;
}

/* ---- the data set ---------------------------------------------------------------------------- */

enum vt_status vt_dataset_open(const char *path, const char *labels, struct vt_error *err,
                               struct vt_dataset *ret)
{
    struct vt_dataset dataset = {.n = 0};
    enum vt_status status;

    vt_arena_init(&dataset.arena, 0);
    if (vt_path_is_folder(path)) {
        status = open_folder(&dataset, path, labels, err);
    } else {
        status = open_file(&dataset, path, labels, err);
    }
    if (status != VT_OK) {
        vt_arena_release(&dataset.arena);
        return status;
    }
    *ret = dataset;
    return VT_OK;
}

void vt_dataset_release(struct vt_dataset *dataset)
{
    vt_arena_release(&dataset->arena);
    dataset->items = NULL;
    dataset->n = 0;
}

bool vt_dataset_has_images(const char *path)
{
    char *text = NULL;
    size_t size = 0;

    if (vt_path_is_folder(path)) {
        char *map = vt_path_join(path, "val_map.txt");
        bool mapped = map != NULL && vt_path_exists(map);
        vt_free(map);
        return mapped || peek(path, true);
    }
    if (vt_file_read(path, VT_LABEL_FILE_BYTES, NULL, &text, &size) != VT_OK) {
        return false;
    }
    bool found = vt_label_text_is_map(text, size);
    vt_free(text);
    return found;
}
