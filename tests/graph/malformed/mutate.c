/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutations of good models that know their structure: the file becomes a tree of fields, one to
 * three of which are changed, and a file again. Which ones is drawn from a seed that is made of the
 * model's name, so that every run does the same.
 */
#include "malformed.h"

#include <dirent.h>

/* The messages of ONNX that have messages in them. */
enum message {
    PLAIN, /* bytes, a text, or a message without others in it */
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    FUNCTION,
    N_MESSAGES,
};

static enum message inner_message(enum message outer, uint32_t field)
{
    static const struct {
        enum message outer;
        uint32_t field;
        enum message inner;
    } known[] = {{MODEL, 7, GRAPH},      {MODEL, 8, TENSOR},      {MODEL, 25, FUNCTION},
                 {GRAPH, 1, NODE},       {GRAPH, 5, TENSOR},      {GRAPH, 11, VALUE},
                 {GRAPH, 12, VALUE},     {GRAPH, 13, VALUE},      {NODE, 5, ATTRIBUTE},
                 {ATTRIBUTE, 5, TENSOR}, {ATTRIBUTE, 6, GRAPH},   {VALUE, 2, TYPE},
                 {TYPE, 1, TENSOR_TYPE}, {TENSOR_TYPE, 2, SHAPE}, {SHAPE, 1, TENSOR},
                 {FUNCTION, 7, NODE},    {FUNCTION, 9, TENSOR},   {FUNCTION, 11, ATTRIBUTE}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].outer == outer && known[i].field == field) {
            return known[i].inner;
        }
    }
    return PLAIN;
}

/* One field. Its message is a list of fields, its text or list a block of bytes. */
struct field {
    uint32_t number;
    unsigned type;
    uint64_t value;
    enum message inner;
    uint8_t *bytes;
    size_t size;
    uint64_t extra_length; /* what its length is wrong by */
    struct field *first, *next;
};

#define FIELDS_MAX 20000u

static struct field *all_fields[FIELDS_MAX];
static unsigned n_fields;

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below == 0 ? 0 : (state * UINT64_C(0x2545f4914f6cdd1d) >> 17) % below;
}

static uint64_t take_number(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

/* The fields of a message; the file is sound, and what is not becomes the end. */
static struct field *read_fields(enum message message, const uint8_t *at, const uint8_t *end)
{
    struct field *first = NULL, **link = &first;
    while (at < end && n_fields < FIELDS_MAX) {
        uint64_t tag = take_number(&at, end);
        struct field *field = calloc(1, sizeof(*field));
        assert_non_null(field);
        field->number = (uint32_t)(tag >> 3);
        field->type = (unsigned)(tag & 7);
        size_t n = field->type == 1 ? 8 : field->type == 5 ? 4 : 0;
        if (field->type == 0) {
            field->value = take_number(&at, end);
        } else if (field->type == 2) {
            n = (size_t)take_number(&at, end);
        }
        if (n > (size_t)(end - at)) {
            n = (size_t)(end - at);
        }
        field->inner = field->type == 2 ? inner_message(message, field->number) : PLAIN;
        all_fields[n_fields++] = field;
        if (field->inner != PLAIN) {
            field->first = read_fields(field->inner, at, at + n);
        } else if (n > 0) {
            field->bytes = malloc(n);
            assert_non_null(field->bytes);
            memcpy(field->bytes, at, n);
            field->size = n;
        }
        at += n;
        *link = field;
        link = &field->next;
    }
    return first;
}

static struct pb write_fields(const struct field *field)
{
    struct pb pb = {NULL, 0, 0};
    for (; field != NULL; field = field->next) {
        pb_number(&pb, (uint64_t)field->number << 3 | field->type);
        if (field->type == 0) {
            pb_number(&pb, field->value);
        } else if (field->type == 2) {
            struct pb inner = {NULL, 0, 0};
            if (field->inner != PLAIN) {
                inner = write_fields(field->first);
            } else {
                pb_raw(&inner, field->bytes, field->size);
            }
            pb_number(&pb, inner.size + field->extra_length);
            pb_raw(&pb, inner.bytes, inner.size);
            pb_free(&inner);
        } else {
            static const uint8_t zeroes[8];
            size_t n = field->type == 1 ? 8 : field->type == 5 ? 4 : 0;
            pb_raw(&pb, field->size >= n ? field->bytes : zeroes, n);
        }
    }
    return pb;
}

/* --- changes -------------------------------------------------------------------------------------
 */

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   9,
                                   16,
                                   255,
                                   65536,
                                   (uint64_t)1 << 20,
                                   (uint64_t)1 << 31,
                                   (uint64_t)1 << 32,
                                   (uint64_t)1 << 40,
                                   ((uint64_t)1 << 62) + 1,
                                   INT64_MAX,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 1};

static void replace_bytes(struct field *field, const void *bytes, size_t n)
{
    free(field->bytes);
    field->bytes = malloc(n + 1);
    assert_non_null(field->bytes);
    memcpy(field->bytes, bytes, n);
    field->size = n;
}

static void change_bytes(struct field *field)
{
    static const char *const words[] = {"",     "x",     "Loop",   "Conv",    "Reshape", "Gather",
                                        "axis", "Slice", "Concat", "MatMul",  "Cast",    "Add",
                                        "Pad",  "Split", "LSTM",   "ghost\n", "Resize",  "\xff"};
    switch (draw(4)) {
    case 0: {
        const char *word = words[draw(sizeof(words) / sizeof(words[0]))];
        replace_bytes(field, word, strlen(word));
        break;
    }
    case 1:
        field->size = draw(field->size + 1);
        break;
    case 2: {
        /* Such a field elsewhere gives its contents: another name, another operator. */
        for (int tries = 0; tries < 50; tries++) {
            const struct field *other = all_fields[draw(n_fields)];
            if (other->type == 2 && other->inner == PLAIN && other->size > 0 && other != field) {
                replace_bytes(field, other->bytes, other->size);
                break;
            }
        }
        break;
    }
    default:
        if (field->size > 0) {
            field->bytes[draw(field->size)] = (uint8_t)draw(256);
        }
        break;
    }
}

static void change_message(struct field *field)
{
    struct field *first = field->first;
    switch (draw(3)) {
    case 0: /* drops its first field */
        if (first != NULL) {
            field->first = first->next;
            first->next = NULL; /* stays in all_fields, is freed with what it holds */
        }
        break;
    case 1: /* swaps its first two */
        if (first != NULL && first->next != NULL) {
            struct field *second = first->next;
            first->next = second->next;
            second->next = first;
            field->first = second;
        }
        break;
    default: /* empties it */
        field->first = NULL;
        break;
    }
}

static void change(struct field *field)
{
    switch (draw(8)) {
    case 0:
        field->type = (unsigned)draw(8);
        break;
    case 1:
        field->number = (uint32_t)draw(26);
        break;
    case 2:
        field->extra_length = draw(2) == 0 ? draw(64) : (uint64_t)0 - draw(8);
        break;
    case 3: /* drops the one behind it */
        if (field->next != NULL) {
            field->next = field->next->next;
        }
        break;
    default:
        if (field->inner != PLAIN) {
            change_message(field);
        } else if (field->type == 0) {
            field->value = draw(3) == 0 ? field->value ^ (uint64_t)1 << draw(63)
                                        : numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
        } else {
            change_bytes(field);
        }
        break;
    }
}

/* --- files ---------------------------------------------------------------------------------------
 */

static void mutate_bytes(const char *name, const void *bytes, size_t size, unsigned each)
{
    uint64_t seed = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name; *at != '\0'; at++) {
        seed = (seed ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    const char *rounds = getenv("VT_TEST_ROUNDS");
    unsigned n = each * (rounds != NULL ? (unsigned)strtoul(rounds, NULL, 10) : 1);
    for (unsigned i = 0; i < n; i++) {
        n_fields = 0;
        state = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        (void)draw(1);
        (void)read_fields(MODEL, bytes, (const uint8_t *)bytes + size);
        struct field *root = n_fields > 0 ? all_fields[0] : NULL;
        unsigned changes = 1 + (unsigned)draw(3);
        for (unsigned c = 0; c < changes && n_fields > 0; c++) {
            change(all_fields[draw(n_fields)]);
        }
        struct pb mutated = write_fields(root);
        char kind[160];
        (void)snprintf(kind, sizeof(kind), "%s, mutation %u", name, i);
        opens_or_is_refused(kind, &mutated);
        pb_free(&mutated);
        for (unsigned f = 0; f < n_fields; f++) {
            free(all_fields[f]->bytes);
            free(all_fields[f]);
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void mutate_file(const char *folder, const char *name, unsigned each)
{
    char path[1024];
    const char *suffix = strrchr(name, '.');
    (void)snprintf(path, sizeof(path), suffix != NULL ? "%s/%s" : "%s/%s/model.onnx", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    enum { MOST = 256 << 10 };
    uint8_t *bytes = malloc(MOST);
    assert_non_null(bytes);
    size_t n = fread(bytes, 1, MOST, file);
    (void)fclose(file);
    if (n > 0 && n < MOST) {
        mutate_bytes(name, bytes, n, each);
    }
    free(bytes);
}

void mutate_folder(const char *folder, unsigned each, unsigned files)
{
    char *names[4096];
    unsigned n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL && n < 4096;
         entry = readdir(dir)) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (suffix == NULL || strcmp(suffix, ".onnx") == 0) {
            names[n++] = strdup(entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    qsort(names, n, sizeof(names[0]), by_name);
    unsigned step = files > 0 && n > files ? n / files : 1;
    for (unsigned i = 0; i < n; i++) {
        if (i % step == 0) {
            mutate_file(folder, names[i], each);
        }
        free(names[i]);
    }
}
