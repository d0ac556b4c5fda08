/* SPDX-License-Identifier: Apache-2.0 */
#include "power/cap/record.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "power/sysfs.h"

#define LINE_MAX_BYTES 1200

/* --- this machine and its processes -------------------------------------------------------- */

uint64_t vt_process_start(int64_t pid)
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    const int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return 0;
    }
    const ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* The name stands in parentheses and may hold anything; 20 fields behind it. */
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    /* A zombie has ended: its hands are off. */
    const char *state = strrchr(text, ')');
    if (at == NULL || state[1] != ' ' || state[2] == 'Z' || state[2] == 'X') {
        return 0;
    }
    return strtoull(at + 1, NULL, 10);
}

static void read_boot(char boot[48])
{
    char text[VT_SYSFS_TEXT_MAX];

    (void)snprintf(boot, 48, "%.40s",
                   vt_sysfs_text("/proc/sys/kernel/random/boot_id", text) == 0 && text[0] != '\0'
                       ? text
                       : "unknown");
}

static const char *or_usual(const char *text, const char *usual)
{
    return text != NULL ? text : usual;
}

static void describe_places(const struct vt_cap_places *places, char text[1024])
{
    static const struct vt_cap_places none = {0};
    const struct vt_cap_places *p = places != NULL ? places : &none;
    const char *sysfs = or_usual(p->sysfs, "/sys");
    char whole[PATH_MAX];

    /* The same folder by another name is the same place. */
    (void)snprintf(text, 1024, "%.200s %.200s %.200s %.200s",
                   realpath(sysfs, whole) != NULL ? whole : sysfs, or_usual(p->nvml_library, "-"),
                   or_usual(p->nvpmodel, "-"), or_usual(p->nvpmodel_conf, "-"));
    (void)vt_tame(text);
}

bool vt_cap_record_owned(const struct vt_cap_record *record)
{
    return vt_cap_record_of_this_boot(record) && record->owner_start != 0 &&
           vt_process_start(record->owner) == record->owner_start;
}

bool vt_cap_record_of_this_boot(const struct vt_cap_record *record)
{
    char boot[48];

    read_boot(boot);
    return strcmp(boot, record->boot) == 0;
}

bool vt_cap_record_fits(const struct vt_cap_record *record, const struct vt_cap_places *places)
{
    char text[1024];

    describe_places(places, text);
    return strcmp(text, record->places) == 0;
}

/* --- building ------------------------------------------------------------------------------ */

void vt_cap_record_init(struct vt_cap_record *record, const struct vt_cap_places *places)
{
    *record = (struct vt_cap_record){.owner = getpid()};
    record->owner_start = vt_process_start(record->owner);
    read_boot(record->boot);
    describe_places(places, record->places);
}

void vt_cap_record_release(struct vt_cap_record *record)
{
    vt_free(record->items);
    *record = (struct vt_cap_record){0};
}

bool vt_cap_record_add(struct vt_cap_record *record, const struct vt_cap_record_item *item)
{
    if (record->n == VT_CAP_RECORD_ITEMS_MAX) {
        return false;
    }
    if (record->n == record->room) {
        const uint32_t room = record->room > 0 ? 2 * record->room : 8;
        void *grown = vt_regrow(record->items, record->room * sizeof *record->items,
                                room * sizeof *record->items);
        if (grown == NULL) {
            return false;
        }
        record->items = grown;
        record->room = room;
    }
    record->items[record->n++] = *item;
    return true;
}

struct vt_cap_record_item *vt_cap_record_find(const struct vt_cap_record *record, const char *kind,
                                              const char *domain)
{
    for (uint32_t i = 0; i < record->n; i++) {
        if (strcmp(record->items[i].kind, kind) == 0 &&
            strcmp(record->items[i].domain, domain) == 0) {
            return &record->items[i];
        }
    }
    return NULL;
}

/* --- text ---------------------------------------------------------------------------------- */

char *vt_cap_record_text(const struct vt_cap_record *record)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    (void)fprintf(out, "vatio caps 1\nboot %s\nowner %" PRId64 " %" PRIu64 "\nplaces %s\n",
                  record->boot, record->owner, record->owner_start, record->places);
    for (uint32_t i = 0; i < record->n; i++) {
        const struct vt_cap_record_item *item = &record->items[i];
        (void)fprintf(out, "cap %s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\n", item->kind, item->domain,
                      item->id, item->raw.number[0], item->raw.number[1]);
    }
    (void)fprintf(out, "end %" PRIu32 "\n", record->n);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    char *own = vt_strdup(text);
    free(text);
    return own;
}

/* A decimal number that ends with `end`; false for anything else. */
static bool take_number(const char **at, char end, long long least, long long *ret)
{
    char *stop = NULL;

    if (!isdigit((unsigned char)**at) && **at != '-') {
        return false;
    }
    errno = 0;
    const long long number = strtoll(*at, &stop, 10);
    if (errno != 0 || number < least || *stop != end) {
        return false;
    }
    *at = end != '\0' ? stop + 1 : stop;
    *ret = number;
    return true;
}

/* Text up to a tab: printable, not empty, and shorter than `size`. */
static bool take_text(const char **at, char *text, size_t size)
{
    const size_t length = strcspn(*at, "\t");

    if ((*at)[length] != '\t' || length == 0 || length >= size) {
        return false;
    }
    memcpy(text, *at, length);
    text[length] = '\0';
    *at += length + 1;
    return true;
}

static bool take_cap(struct vt_cap_record *record, const char *line, bool *ret_memory)
{
    struct vt_cap_record_item item = {.kind = ""};
    long long number[VT_CAP_RAW];

    if (!take_text(&line, item.kind, sizeof item.kind) ||
        !take_text(&line, item.domain, sizeof item.domain) ||
        !take_text(&line, item.id, sizeof item.id) || !take_number(&line, '\t', -1, &number[0]) ||
        !take_number(&line, '\0', -1, &number[1]) ||
        vt_cap_record_find(record, item.kind, item.domain) != NULL ||
        record->n == VT_CAP_RECORD_ITEMS_MAX) {
        return false;
    }
    item.raw = (struct vt_cap_raw){{number[0], number[1]}};
    *ret_memory = vt_cap_record_add(record, &item);
    return true;
}

/* The lines before those of caps, in their order. */
static bool take_head(struct vt_cap_record *record, uint32_t number, const char *line)
{
    long long a, b;

    switch (number) {
    case 1:
        return strcmp(line, "vatio caps 1") == 0;
    case 2:
        return strncmp(line, "boot ", 5) == 0 && line[5] != '\0' &&
               snprintf(record->boot, sizeof record->boot, "%s", line + 5) <
                   (int)sizeof record->boot;
    case 3:
        if (strncmp(line, "owner ", 6) != 0) {
            return false;
        }
        line += 6;
        if (!take_number(&line, ' ', 1, &a) || !take_number(&line, '\0', 0, &b)) {
            return false;
        }
        record->owner = a;
        record->owner_start = (uint64_t)b;
        return true;
    default:
        return strncmp(line, "places ", 7) == 0 &&
               snprintf(record->places, sizeof record->places, "%s", line + 7) <
                   (int)sizeof record->places;
    }
}

static bool is_clean(const char *line)
{
    for (; *line != '\0'; line++) {
        if (((unsigned char)*line < 0x20 && *line != '\t') || *line == 0x7f) {
            return false;
        }
    }
    return true;
}

struct reader {
    struct vt_cap_record record;
    bool ended;
};

static enum vt_status take_line(struct reader *reader, uint32_t number, const char *line,
                                const char *name, struct vt_error *err)
{
    struct vt_cap_record *record = &reader->record;
    bool memory = true, good = is_clean(line) && !reader->ended;

    if (good && number <= 4) {
        good = take_head(record, number, line);
    } else if (good && strncmp(line, "cap ", 4) == 0) {
        good = take_cap(record, line + 4, &memory);
    } else if (good && strncmp(line, "end ", 4) == 0) {
        long long n;
        line += 4;
        good = take_number(&line, '\0', 0, &n) && n == record->n;
        reader->ended = true;
    } else {
        good = false;
    }
    if (!memory) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a record of caps");
    }
    return good ? VT_OK
                : vt_error_set(err, VT_ERR_FORMAT, "%s:%" PRIu32 ": %s is not of a record of caps",
                               name, number, vt_quote(line).text);
}

enum vt_status vt_cap_record_parse(const char *text, size_t size, const char *name,
                                   struct vt_error *err, struct vt_cap_record *ret)
{
    struct reader reader = {.ended = false};
    char line[LINE_MAX_BYTES];
    uint32_t number = 0;
    enum vt_status status = VT_OK;

    if (size > VT_CAP_RECORD_BYTES_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are allowed", name, size,
                            VT_CAP_RECORD_BYTES_MAX);
    }
    for (size_t at = 0; status == VT_OK && at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        const size_t length = newline != NULL ? (size_t)(newline - (text + at)) : size - at;
        number++;
        if (newline == NULL || length >= sizeof line || memchr(text + at, 0, length) != NULL) {
            status = vt_error_set(err, VT_ERR_FORMAT, "%s:%" PRIu32 ": no line of a record of caps",
                                  name, number);
            break;
        }
        memcpy(line, text + at, length);
        line[length] = '\0';
        status = take_line(&reader, number, line, name, err);
        at += length + 1;
    }
    if (status == VT_OK && !reader.ended) {
        status = vt_error_set(err, VT_ERR_FORMAT,
                              "%s:%" PRIu32 ": the record of caps ends before its end", name,
                              number + 1);
    }
    if (status != VT_OK) {
        vt_cap_record_release(&reader.record);
        return status;
    }
    *ret = reader.record;
    return VT_OK;
}

/* --- files --------------------------------------------------------------------------------- */

static int write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* That the name is there is on the disk too only after this. */
static void sync_folder(const char *path)
{
    char *folder = vt_strndup(path, (size_t)(vt_path_base(path) - path));
    const int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    vt_free(folder);
}

enum vt_status vt_cap_record_save(const char *text, const char *path, struct vt_error *err)
{
    char *part = vt_asprintf("%s.part", path);

    if (part == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a record of caps");
    }
    (void)unlink(part); /* of a process of this number that died here */
    const int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int code = fd < 0 ? errno : write_all(fd, text, strlen(text));
    if (fd >= 0 && close(fd) != 0 && code == 0) {
        code = errno;
    }
    if (code == 0 && rename(part, path) != 0) {
        code = errno;
    }
    if (code != 0 && fd >= 0) {
        (void)unlink(part);
    }
    vt_free(part);
    if (code != 0) {
        return vt_error_set(err, VT_ERR_WRITE,
                            "%s: cannot be written: %s; nothing is capped without a record "
                            "(VATIO_CAP_RECORDS names another folder)",
                            path, strerror(code));
    }
    sync_folder(path);
    return VT_OK;
}

void vt_cap_record_drop(const char *path)
{
    char part[VT_SYSFS_PATH_MAX];

    (void)unlink(path);
    if (vt_sysfs_path(part, "%s.part", path)) {
        (void)unlink(part);
    }
}

enum vt_status vt_cap_record_load(const char *path, struct vt_error *err, struct vt_cap_record *ret)
{
    struct stat info;
    char *text = NULL;
    size_t size = 0;

    if (lstat(path, &info) != 0) {
        return vt_error_set(err, errno == ENOENT ? VT_ERR_NOT_FOUND : VT_ERR_READ, "%s: %s", path,
                            strerror(errno));
    }
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
        return vt_error_set(err, VT_ERR_READ,
                            "%s: not a file that only this user can write: delete it", path);
    }
    enum vt_status status = vt_file_read(path, VT_CAP_RECORD_BYTES_MAX, err, &text, &size);
    if (status == VT_OK) {
        status = vt_cap_record_parse(text, size, path, err, ret);
        vt_free(text);
    }
    return status;
}
