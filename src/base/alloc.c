/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from LARGE bytes on ask for pages of 2 MiB: weights that are streamed and tables that are
 * jumped about in otherwise wait for the translation of addresses. */
#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE      (2 * LARGE_PAGE)

static void *c_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *memory = NULL;

    (void)ctx;
    if (alignment < sizeof(void *)) {
        alignment = sizeof(void *);
    }
#if defined(MADV_HUGEPAGE)
    if (bytes >= LARGE && alignment <= LARGE_PAGE) {
        if (posix_memalign(&memory, LARGE_PAGE, bytes) != 0) {
            return NULL;
        }
        /* A hint for the whole pages inside; a kernel may not have them. */
        (void)madvise(memory, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void c_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static const struct vt_allocator c_allocator = {c_alloc, c_free, NULL};
static struct vt_allocator current = {c_alloc, c_free, NULL};

struct vt_allocator vt_allocator_set(const struct vt_allocator *allocator)
{
    struct vt_allocator before = current;
    current = allocator != NULL ? *allocator : c_allocator;
    return before;
}

void *vt_alloc_aligned(size_t bytes, size_t alignment)
{
    return current.alloc(current.ctx, bytes != 0 ? bytes : 1, alignment);
}

void *vt_alloc(size_t bytes)
{
    return vt_alloc_aligned(bytes, VT_ALIGNMENT);
}

void *vt_calloc(size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total)) {
        return NULL;
    }
    void *memory = vt_alloc(total);
    if (memory != NULL) {
        memset(memory, 0, total);
    }
    return memory;
}

void *vt_regrow(void *memory, size_t old_bytes, size_t new_bytes)
{
    void *grown = vt_alloc(new_bytes);
    if (grown == NULL) {
        return NULL;
    }
    if (memory != NULL) {
        memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
        vt_free(memory);
    }
    return grown;
}

void vt_free(void *memory)
{
    if (memory != NULL) {
        current.free(current.ctx, memory);
    }
}

char *vt_strndup(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? vt_alloc_aligned(length + 1, 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *vt_strdup(const char *text)
{
    return vt_strndup(text, strlen(text));
}

char *vt_asprintf(const char *fmt, ...)
{
    va_list args, again;
    char *text = NULL;

    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length >= 0) {
        text = vt_alloc_aligned((size_t)length + 1, 1);
    }
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    return text;
}

/* An arena's memory starts one alignment behind its block's header. */
struct vt_arena_block {
    struct vt_arena_block *next;
    size_t bytes; /* usable */
    size_t used;
};

#define ARENA_HEADER  VT_ALIGNMENT
#define ARENA_FIRST   ((size_t)4096)
#define ARENA_LARGEST ((size_t)1 << 20)
_Static_assert(sizeof(struct vt_arena_block) <= ARENA_HEADER, "the header has its own line");

void vt_arena_init(struct vt_arena *arena, size_t limit_bytes)
{
    *arena = (struct vt_arena){.block_bytes = ARENA_FIRST, .limit_bytes = limit_bytes};
}

void vt_arena_release(struct vt_arena *arena)
{
    struct vt_arena_block *block = arena->head;
    while (block != NULL) {
        struct vt_arena_block *next = block->next;
        vt_free(block);
        block = next;
    }
    vt_arena_init(arena, arena->limit_bytes);
}

/* A fresh block for at least `bytes`; blocks double in size up to a bound. */
static struct vt_arena_block *arena_grow(struct vt_arena *arena, size_t bytes)
{
    size_t usable = arena->block_bytes > bytes ? arena->block_bytes : bytes;
    if (usable > SIZE_MAX - ARENA_HEADER) {
        return NULL;
    }
    struct vt_arena_block *block = vt_alloc(ARENA_HEADER + usable);
    if (block == NULL) {
        return NULL;
    }
    *block = (struct vt_arena_block){.next = arena->head, .bytes = usable};
    arena->head = block;
    if (arena->block_bytes < ARENA_LARGEST) {
        arena->block_bytes *= 2;
    }
    return block;
}

void *vt_arena_alloc(struct vt_arena *arena, size_t bytes, size_t alignment)
{
    struct vt_arena_block *block = arena->head;

    if (arena->limit_bytes != 0 && bytes > arena->limit_bytes - arena->used_bytes) {
        return NULL;
    }
    size_t start = block != NULL ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
    if (block == NULL || start > block->bytes || bytes > block->bytes - start) {
        block = arena_grow(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
        start = 0;
    }
    block->used = start + bytes;
    arena->used_bytes += bytes;
    return (char *)block + ARENA_HEADER + start;
}

void *vt_arena_calloc(struct vt_arena *arena, size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total)) {
        return NULL;
    }
    void *memory = vt_arena_alloc(arena, total, _Alignof(max_align_t));
    if (memory != NULL) {
        memset(memory, 0, total);
    }
    return memory;
}

char *vt_arena_strndup(struct vt_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? vt_arena_alloc(arena, length + 1, 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *vt_arena_printf(struct vt_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    char *text = NULL;

    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length >= 0) {
        text = vt_arena_alloc(arena, (size_t)length + 1, 1);
    }
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    return text;
}
