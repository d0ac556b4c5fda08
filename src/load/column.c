/* SPDX-License-Identifier: Apache-2.0 */
#include "load/column.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"

#define MIB (UINT64_C(1) << 20)
/* A large page, and the least by which memory grows. */
#define LARGE (2 * MIB)
/* A step of the file: a share of what it holds, within these. A map each, so not too many. */
#define FILE_STEP_MIN (4 * MIB)
#define FILE_STEP_MAX (64 * MIB)
/* What is touched at once: small enough to pass unnoticed between two queries. */
#define SLICE (UINT64_C(128) << 10)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t down(uint64_t bytes, uint64_t unit)
{
    return bytes / unit * unit;
}

enum vt_status vt_column_budget_init(struct vt_column_budget *budget, uint64_t limit_bytes,
                                     const char *folder, struct vt_error *err)
{
    memset(budget, 0, sizeof(*budget));
    pthread_mutex_init(&budget->lock, NULL);
    budget->limit_bytes = limit_bytes != 0 ? limit_bytes : UINT64_MAX;
    budget->fd = -1;
    if (folder != NULL) {
        budget->folder = vt_strdup(folder);
        if (budget->folder == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "no memory for the name of a folder");
        }
    }
    return VT_OK;
}

void vt_column_budget_release(struct vt_column_budget *budget)
{
    if (budget->fd >= 0) {
        close(budget->fd);
        budget->fd = -1;
    }
    vt_free(budget->folder);
    budget->folder = NULL;
    pthread_mutex_destroy(&budget->lock);
}

/* Address space without memory; NULL when refused. */
static void *reserve(uint64_t bytes)
{
    void *mapping =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping != MAP_FAILED ? mapping : NULL;
}

enum vt_status vt_column_init(struct vt_column *column, struct vt_column_budget *budget,
                              uint64_t least_bytes, uint64_t most_bytes, struct vt_error *err)
{
    memset(column, 0, sizeof(*column));
    uint64_t least = up(least_bytes, LARGE) + LARGE;
    uint64_t most = up(most_bytes, LARGE) + LARGE;
    uint64_t bytes = most;
    void *mapping = reserve(bytes);
    while (mapping == NULL && bytes > least) {
        bytes = bytes / 2 > least ? down(bytes / 2, LARGE) : least;
        mapping = reserve(bytes);
    }
    if (mapping == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY,
                            "no address space for %" PRIu64 " MiB of sample records: raise the "
                            "limit of virtual memory (ulimit -v) or shorten the run",
                            least / MIB);
    }
    if (bytes < most) { /* it is scarce: leave most of what was found to others */
        uint64_t share = down(bytes / 4, LARGE) > least ? down(bytes / 4, LARGE) : least;
        munmap((char *)mapping + share, bytes - share);
        bytes = share;
    }
    column->budget = budget;
    column->mapping = mapping;
    column->mapping_bytes = bytes;
    column->base = (char *)(uintptr_t)up((uintptr_t)mapping, LARGE);
    column->reserved_bytes = bytes - LARGE;
    return VT_OK;
}

static void give_memory_back(const struct vt_column *column, uint64_t bytes)
{
    if (column->budget != NULL && bytes > 0) {
        atomic_fetch_sub_explicit(&column->budget->memory_bytes, bytes, memory_order_relaxed);
    }
}

void vt_column_release(struct vt_column *column)
{
    if (column->mapping != NULL) {
        munmap(column->mapping, column->mapping_bytes);
        uint64_t dropped = column->dropped_bytes;
        give_memory_back(column,
                         column->memory_bytes > dropped ? column->memory_bytes - dropped : 0);
    }
    memset(column, 0, sizeof(*column));
}

/* As much of `wanted` as the limit leaves, in whole pages. */
static uint64_t take_memory(struct vt_column_budget *budget, uint64_t wanted)
{
    uint64_t used = atomic_load_explicit(&budget->memory_bytes, memory_order_relaxed);
    for (;;) {
        uint64_t left = used < budget->limit_bytes ? budget->limit_bytes - used : 0;
        uint64_t got = wanted < left ? wanted : down(left, page_bytes());
        if (got == 0 ||
            atomic_compare_exchange_weak_explicit(&budget->memory_bytes, &used, used + got,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return got;
        }
    }
}

static const char *spill_folder(const struct vt_column_budget *budget)
{
    if (budget->folder != NULL) {
        return budget->folder;
    }
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/var/tmp";
}

/* A file that has no name, or has none any more: gone whatever ends the process. */
static int open_unnamed(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EROFS) {
        return fd;
    }
    char *path = vt_asprintf("%s/vatio-records-XXXXXX", folder);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    }
    vt_free(path);
    return fd;
}

static enum vt_status spill_error(const struct vt_column_budget *budget, int error,
                                  uint64_t file_bytes, struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_WRITE,
                        "cannot keep records in an unnamed file of %" PRIu64
                        " MiB in the folder %s: %s; name a folder with room or raise the memory "
                        "limit of %" PRIu64 " MiB",
                        file_bytes / MIB, spill_folder(budget), strerror(error),
                        budget->limit_bytes / MIB);
}

/* Space for `bytes` more at the end of the file. With the lock. */
static enum vt_status extend_file(struct vt_column_budget *budget, uint64_t bytes,
                                  struct vt_error *err)
{
    if (budget->fd < 0) {
        budget->fd = open_unnamed(spill_folder(budget));
        if (budget->fd < 0) {
            return spill_error(budget, errno, bytes, err);
        }
    }
    /* Beyond this limit the kernel would send a signal. */
    struct rlimit limit;
    uint64_t end = budget->file_bytes + bytes;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        end > limit.rlim_cur) {
        return spill_error(budget, EFBIG, end, err);
    }
    int error = posix_fallocate(budget->fd, (off_t)budget->file_bytes, (off_t)bytes);
    while (error == EINTR) {
        error = posix_fallocate(budget->fd, (off_t)budget->file_bytes, (off_t)bytes);
    }
    return error == 0 ? VT_OK : spill_error(budget, error, end, err);
}

/* `bytes` more from the file. */
static enum vt_status commit_file(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    struct vt_column_budget *budget = column->budget;
    char *at = column->base + column->committed_bytes;
    pthread_mutex_lock(&budget->lock);
    enum vt_status st = extend_file(budget, bytes, err);
    if (st == VT_OK && mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, budget->fd,
                            (off_t)budget->file_bytes) == MAP_FAILED) {
        st = spill_error(budget, errno, budget->file_bytes + bytes, err);
    }
    if (st == VT_OK) {
        budget->file_bytes += bytes;
        column->committed_bytes += bytes;
    }
    pthread_mutex_unlock(&budget->lock);
    return st;
}

static enum vt_status commit_memory(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    if (mprotect(column->base + column->committed_bytes, bytes, PROT_READ | PROT_WRITE) != 0) {
        give_memory_back(column, bytes);
        return vt_error_set(err, VT_ERR_MEMORY,
                            "no memory for more than %" PRIu64 " MiB of sample records: shorten "
                            "the run or set a memory limit, beyond which they go to a file",
                            column->committed_bytes / MIB);
    }
    column->committed_bytes += bytes;
    column->memory_bytes += bytes;
    return VT_OK;
}

/* One step towards `bytes`. */
static enum vt_status commit(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    uint64_t left = column->reserved_bytes - column->committed_bytes;
    uint64_t wanted = up(bytes - column->committed_bytes, LARGE);
    wanted = wanted < left ? wanted : left;
    if (vt_column_spilled(column) == 0) {
        uint64_t memory = take_memory(column->budget, wanted);
        if (memory > 0) {
            return commit_memory(column, memory, err);
        }
    }
    uint64_t step = up(vt_column_spilled(column) / 16, FILE_STEP_MIN);
    step = step < FILE_STEP_MAX ? step : FILE_STEP_MAX;
    step = step > wanted ? step : wanted;
    return commit_file(column, step < left ? step : left, err);
}

/* Fresh pages in, so that the issuing thread meets them here and not between its clock readings. */
static void touch(struct vt_column *column, uint64_t bytes)
{
    if (bytes <= column->touched_bytes) {
        return;
    }
    uint64_t page = page_bytes();
    uint64_t from = down(column->touched_bytes, page);
    uint64_t to = up(bytes, page);
    to = to < column->committed_bytes ? to : column->committed_bytes;
    if (madvise(column->base + from, to - from, MADV_POPULATE_WRITE) != 0) {
        for (uint64_t at = from; at < to; at += page) {
            ((volatile char *)column->base)[at] = 0; /* nothing is written beyond the touched */
        }
    }
    column->touched_bytes = to;
}

static enum vt_status reach(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    if (bytes > column->reserved_bytes) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "no address space for more than %" PRIu64
                            " MiB of sample records: raise the limit of virtual memory (ulimit "
                            "-v) or shorten the run",
                            column->reserved_bytes / MIB);
    }
    while (column->committed_bytes < bytes) {
        enum vt_status st = commit(column, bytes, err);
        if (st != VT_OK) {
            return st;
        }
    }
    return VT_OK;
}

enum vt_status vt_column_grow(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    if (bytes <= column->touched_bytes) {
        return VT_OK;
    }
    enum vt_status st = reach(column, bytes, err);
    if (st == VT_OK) {
        uint64_t ahead = bytes + SLICE;
        touch(column, ahead < column->committed_bytes ? ahead : column->committed_bytes);
    }
    return st;
}

enum vt_status vt_column_grow_large(struct vt_column *column, uint64_t bytes, struct vt_error *err)
{
    enum vt_status st = reach(column, bytes, err);
    if (st != VT_OK) {
        return st;
    }
    uint64_t large = down(bytes < column->memory_bytes ? bytes : column->memory_bytes, LARGE);
    if (large > 0) {
        (void)madvise(column->base, large, MADV_HUGEPAGE);
    }
    touch(column, bytes);
    return VT_OK;
}

void vt_column_drop(struct vt_column *column, uint64_t bytes)
{
    uint64_t from = column->dropped_bytes;
    uint64_t to =
        down(bytes < column->committed_bytes ? bytes : column->committed_bytes, page_bytes());
    if (to <= from) {
        return;
    }
    uint64_t memory_to = to < column->memory_bytes ? to : column->memory_bytes;
    if (from < memory_to) {
        (void)madvise(column->base + from, memory_to - from, MADV_DONTNEED);
        give_memory_back(column, memory_to - from);
    }
    uint64_t file_from = from > column->memory_bytes ? from : column->memory_bytes;
    if (file_from < to) {
        /* Gives the blocks of the file back, where its file system can. */
        (void)madvise(column->base + file_from, to - file_from, MADV_REMOVE);
    }
    column->dropped_bytes = to;
}

void vt_column_finish(struct vt_column *column)
{
    give_memory_back(column, column->memory_bytes);
    column->budget = NULL;
    if (vt_column_spilled(column) > 0) {
        (void)madvise(column->base + column->memory_bytes, vt_column_spilled(column),
                      MADV_SEQUENTIAL);
    }
}
