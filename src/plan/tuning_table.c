/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/tuning_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/topology.h"
#include "base/version.h"

#define FORMAT_LINE  "vatio tuning 1 "
#define FILE_LIMIT   ((size_t)16 << 20)
#define ANSWERS_MOST 65536u

static enum vt_status no_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the tuning cache");
}

/* --- the table ---------------------------------------------------------------------------------
 */

static struct vt_tuning_entry **bucket_of(struct vt_tuning *tuning, const char *key)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *key != '\0'; key++) {
        hash = (hash ^ (unsigned char)*key) * UINT32_C(16777619);
    }
    return &tuning->buckets[hash % VT_TUNING_BUCKETS];
}

/* Under the lock. */
static struct vt_tuning_entry *find(struct vt_tuning *tuning, const char *key)
{
    struct vt_tuning_entry *entry = *bucket_of(tuning, key);
    while (entry != NULL && strcmp(entry->answer.key, key) != 0) {
        entry = entry->next;
    }
    return entry;
}

/* Under the lock; the key is new. NULL when out of memory or full. */
static struct vt_tuning_entry *insert(struct vt_tuning *tuning,
                                      const struct vt_tuning_answer *answer)
{
    struct vt_tuning_entry **bucket = bucket_of(tuning, answer->key);
    struct vt_tuning_entry *entry =
        tuning->stats.answers < ANSWERS_MOST ? vt_calloc(1, sizeof(*entry)) : NULL;
    if (entry != NULL) {
        entry->answer = *answer;
        entry->next = *bucket;
        *bucket = entry;
        tuning->stats.answers++;
    }
    return entry;
}

bool vt_tuning_table_use(struct vt_tuning *tuning, const char *key,
                         struct vt_tuning_answer *ret_answer)
{
    pthread_mutex_lock(&tuning->lock);
    struct vt_tuning_entry *entry = find(tuning, key);
    if (entry != NULL) {
        tuning->stats.used += entry->used ? 0 : 1;
        entry->used = true;
        *ret_answer = entry->answer;
    }
    pthread_mutex_unlock(&tuning->lock);
    return entry != NULL;
}

bool vt_tuning_table_learn(struct vt_tuning *tuning, const struct vt_tuning_answer *answer)
{
    pthread_mutex_lock(&tuning->lock);
    struct vt_tuning_entry *entry = insert(tuning, answer);
    if (entry != NULL) {
        entry->used = entry->fresh = true;
        tuning->stats.used++;
        tuning->stats.measured++;
    }
    pthread_mutex_unlock(&tuning->lock);
    return entry != NULL;
}

bool vt_tuning_find(struct vt_tuning *tuning, const char *key, struct vt_tuning_answer *ret_answer)
{
    pthread_mutex_lock(&tuning->lock);
    struct vt_tuning_entry *entry = find(tuning, key);
    if (entry != NULL) {
        *ret_answer = entry->answer;
    }
    pthread_mutex_unlock(&tuning->lock);
    return entry != NULL;
}

/* 1 to `limit` characters of printable ASCII. */
static bool is_plain(const char *text, size_t size, size_t limit)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return size > 0 && size <= limit;
}

enum vt_status vt_tuning_add(struct vt_tuning *tuning, const struct vt_tuning_answer *answer,
                             struct vt_error *err)
{
    const size_t key = strnlen(answer->key, sizeof(answer->key));
    const size_t choice = strnlen(answer->choice, sizeof(answer->choice));
    if (!is_plain(answer->key, key, VT_TUNING_KEY_MAX) ||
        !is_plain(answer->choice, choice, VT_TUNING_CHOICE_MAX)) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "a key has 1 to %d and a choice 1 to %d characters of plain text",
                            VT_TUNING_KEY_MAX, VT_TUNING_CHOICE_MAX);
    }
    pthread_mutex_lock(&tuning->lock);
    const bool there = find(tuning, answer->key) != NULL || insert(tuning, answer) != NULL ||
                       tuning->stats.answers == ANSWERS_MOST;
    pthread_mutex_unlock(&tuning->lock);
    return there ? VT_OK : no_memory(err);
}

void vt_tuning_each_used(struct vt_tuning *tuning, vt_tuning_visit_func visit, void *ctx)
{
    for (size_t i = 0; i < VT_TUNING_BUCKETS; i++) {
        for (struct vt_tuning_entry *e = tuning->buckets[i]; e != NULL; e = e->next) {
            if (e->used) {
                visit(ctx, &e->answer);
            }
        }
    }
}

bool vt_tuning_table_spend(struct vt_tuning *tuning, int64_t ns)
{
    pthread_mutex_lock(&tuning->lock);
    const bool left = tuning->stats.spent_ns < tuning->budget_ns;
    tuning->stats.spent_ns += ns;
    pthread_mutex_unlock(&tuning->lock);
    return left;
}

void vt_tuning_stats(struct vt_tuning *tuning, struct vt_tuning_stats *ret_stats)
{
    pthread_mutex_lock(&tuning->lock);
    *ret_stats = tuning->stats;
    pthread_mutex_unlock(&tuning->lock);
}

/* --- reading -----------------------------------------------------------------------------------
 */

/* The field before the next tab or the end, and *at behind that tab. */
static size_t next_field(const char **at, const char *end, const char **ret_field)
{
    const char *begin = *at;
    const char *tab = memchr(begin, '\t', (size_t)(end - begin));
    *ret_field = begin;
    *at = tab != NULL ? tab + 1 : end;
    return (size_t)((tab != NULL ? tab : end) - begin);
}

static bool parse_ns(const char *text, size_t size, int64_t *ret)
{
    int64_t ns = 0;
    if (size == 0 || size > 15) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        ns = ns * 10 + (text[i] - '0');
    }
    *ret = ns;
    return true;
}

bool vt_tuning_parse(const char *line, size_t size, struct vt_tuning_answer *ret_answer)
{
    const char *at = line, *end = line + size, *field[4];
    size_t length[4];
    struct vt_tuning_answer answer = {.ns = 0};
    for (int i = 0; i < 4; i++) {
        length[i] = next_field(&at, end, &field[i]);
    }
    if (at != end || !is_plain(field[0], length[0], VT_TUNING_KEY_MAX) ||
        !is_plain(field[1], length[1], VT_TUNING_CHOICE_MAX) ||
        !parse_ns(field[2], length[2], &answer.ns) ||
        !parse_ns(field[3], length[3], &answer.rule_ns)) {
        return false;
    }
    memcpy(answer.key, field[0], length[0]);
    memcpy(answer.choice, field[1], length[1]);
    *ret_answer = answer;
    return true;
}

/* The first line. False: another format or version; what follows is none of ours. */
static bool is_ours(const char *line, size_t size)
{
    const size_t n = sizeof(FORMAT_LINE) - 1;
    return size == n + strlen(vt_version()) && memcmp(line, FORMAT_LINE, n) == 0 &&
           memcmp(line + n, vt_version(), size - n) == 0;
}

enum vt_status vt_tuning_read(struct vt_tuning *tuning, const char *text, size_t size,
                              struct vt_error *err)
{
    const char *at = text, *end = text + size;
    uint32_t damaged = 0;
    for (bool first = true; at < end; first = false) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((newline != NULL ? newline : end) - at);
        struct vt_tuning_answer answer;
        if (first && !is_ours(at, length)) {
            return VT_OK;
        }
        if (!first && vt_tuning_parse(at, length, &answer)) {
            enum vt_status status = vt_tuning_add(tuning, &answer, err);
            if (status != VT_OK) {
                return status;
            }
        } else if (!first) {
            damaged++;
        }
        at += length + (newline != NULL ? 1 : 0);
    }
    pthread_mutex_lock(&tuning->lock);
    tuning->stats.damaged += damaged;
    pthread_mutex_unlock(&tuning->lock);
    if (damaged > 0) {
        vt_log(VT_LOG_WARNING, "%s: %u damaged lines of the tuning cache are passed over",
               tuning->path != NULL ? tuning->path : "memory", damaged);
    }
    return VT_OK;
}

/* What the file holds, as far as it can be read. */
static enum vt_status read_file(struct vt_tuning *tuning, struct vt_error *err)
{
    struct vt_error quiet = VT_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;
    if (vt_file_read(tuning->path, FILE_LIMIT, &quiet, &text, &size) != VT_OK) {
        if (quiet.status != VT_ERR_NOT_FOUND) {
            vt_log(VT_LOG_WARNING, "the tuning cache is not used: %s", quiet.text);
        }
        return VT_OK;
    }
    enum vt_status status = vt_tuning_read(tuning, text, size, err);
    vt_free(text);
    return status;
}

/* --- life --------------------------------------------------------------------------------------
 */

enum vt_status vt_tuning_path(struct vt_error *err, char **ret_path)
{
    const struct vt_topology *machine = vt_topology();
    char cpu[sizeof(machine->cpu_model)];
    const char *named = getenv("VATIO_TUNING");
    char *folder = NULL;
    size_t n = 0;
    if (named != NULL && named[0] != '\0') {
        const bool off = strcmp(named, "off") == 0;
        *ret_path = off ? NULL : vt_strdup(named);
        return off || *ret_path != NULL ? VT_OK : no_memory(err);
    }
    enum vt_status status = vt_cache_folder("vatio", err, &folder);
    if (status != VT_OK) {
        return status;
    }
    for (const char *c = machine->cpu_model; *c != '\0'; c++) {
        const bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (plain || (n > 0 && cpu[n - 1] != '-')) {
            cpu[n++] = plain ? *c : '-';
        }
    }
    cpu[n] = '\0';
    char *path = vt_asprintf("%s/tuning-%s-%x.txt", folder, cpu, machine->features);
    vt_free(folder);
    if (path == NULL) {
        return no_memory(err);
    }
    *ret_path = path;
    return VT_OK;
}

enum vt_status vt_tuning_new(const struct vt_tuning_options *options, struct vt_error *err,
                             struct vt_tuning **ret_tuning)
{
    struct vt_tuning *tuning = vt_calloc(1, sizeof(*tuning));
    if (tuning == NULL) {
        return no_memory(err);
    }
    tuning->measure = options->measure;
    tuning->budget_ns = options->budget_ns;
    if (pthread_mutex_init(&tuning->lock, NULL) != 0) {
        vt_free(tuning);
        return vt_error_set(err, VT_ERR_SYSTEM, "a mutex could not be made");
    }
    if (pthread_mutex_init(&tuning->measuring, NULL) != 0) {
        pthread_mutex_destroy(&tuning->lock);
        vt_free(tuning);
        return vt_error_set(err, VT_ERR_SYSTEM, "a mutex could not be made");
    }
    enum vt_status status = VT_OK;
    if (options->path != NULL) {
        tuning->path = vt_strdup(options->path);
        status = tuning->path != NULL ? read_file(tuning, err) : no_memory(err);
    }
    if (status != VT_OK) {
        vt_tuning_free(tuning);
        return status;
    }
    *ret_tuning = tuning;
    return VT_OK;
}

void vt_tuning_free(struct vt_tuning *tuning)
{
    if (tuning == NULL) {
        return;
    }
    for (size_t i = 0; i < VT_TUNING_BUCKETS; i++) {
        while (tuning->buckets[i] != NULL) {
            struct vt_tuning_entry *entry = tuning->buckets[i];
            tuning->buckets[i] = entry->next;
            vt_free(entry);
        }
    }
    pthread_mutex_destroy(&tuning->measuring);
    pthread_mutex_destroy(&tuning->lock);
    vt_free(tuning->path);
    vt_free(tuning);
}

/* --- saving ------------------------------------------------------------------------------------
 */

static enum vt_status make_folder_of(const char *path, struct vt_error *err)
{
    char *folder = vt_strndup(path, (size_t)(vt_path_base(path) - path));
    if (folder == NULL) {
        return no_memory(err);
    }
    enum vt_status status = folder[0] != '\0' ? vt_make_folders(folder, err) : VT_OK;
    vt_free(folder);
    return status;
}

/* -1 and an error when it cannot be had. */
static int lock_file(const char *path, struct vt_error *err)
{
    char *name = vt_asprintf("%s.lock", path);
    int fd = name != NULL ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    int result = fd;
    while (fd >= 0 && (result = flock(fd, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (result < 0) {
        vt_error_set(err, VT_ERR_WRITE, "%s.lock: cannot be locked: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    vt_free(name);
    return fd;
}

/* The whole table, under the lock. */
static enum vt_status write_file(struct vt_tuning *tuning, struct vt_error *err)
{
    struct vt_file_writer writer;
    enum vt_status status = vt_file_writer_open(&writer, tuning->path, err);
    if (status != VT_OK) {
        return status;
    }
    (void)fprintf(writer.stream, FORMAT_LINE "%s\n", vt_version());
    for (size_t i = 0; i < VT_TUNING_BUCKETS; i++) {
        for (struct vt_tuning_entry *e = tuning->buckets[i]; e != NULL; e = e->next) {
            (void)fprintf(writer.stream, "%s\t%s\t%lld\t%lld\n", e->answer.key, e->answer.choice,
                          (long long)e->answer.ns, (long long)e->answer.rule_ns);
        }
    }
    return vt_file_writer_commit(&writer, err);
}

/* Whether there is something new, which then counts as saved. */
static bool take_fresh(struct vt_tuning *tuning)
{
    bool any = false;
    for (size_t i = 0; i < VT_TUNING_BUCKETS; i++) {
        for (struct vt_tuning_entry *e = tuning->buckets[i]; e != NULL; e = e->next) {
            any = any || e->fresh;
            e->fresh = false;
        }
    }
    return any;
}

enum vt_status vt_tuning_save(struct vt_tuning *tuning, struct vt_error *err)
{
    if (tuning->path == NULL) {
        return VT_OK;
    }
    pthread_mutex_lock(&tuning->lock);
    bool any = take_fresh(tuning);
    pthread_mutex_unlock(&tuning->lock);
    enum vt_status status = any ? make_folder_of(tuning->path, err) : VT_OK;
    if (!any || status != VT_OK) {
        return status;
    }
    int fd = lock_file(tuning->path, err);
    if (fd < 0) {
        return VT_ERR_WRITE;
    }
    status = read_file(tuning, err); /* what another process has found meanwhile */
    if (status == VT_OK) {
        pthread_mutex_lock(&tuning->lock);
        status = write_file(tuning, err);
        pthread_mutex_unlock(&tuning->lock);
    }
    close(fd);
    return status;
}
