/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: one injectable allocator, and arenas on top of it.
 *
 * All memory that vatio takes for itself comes through these functions, so that a test can count
 * allocations or make each of them fail in turn. Memory that a library hands us (jansson, a JPEG
 * decoder) is given back to that library.
 *
 * An arena is a chain of blocks that is released as a whole: for objects that are built together
 * and die together (a graph, a plan). Nothing in it is freed singly.
 *
 * Threading: the allocator functions are thread-safe; vt_allocator_set is called before any other
 * thread exists. An arena is used by one thread at a time.
 */
#ifndef VT_BASE_ALLOC_H
#define VT_BASE_ALLOC_H

#include <stddef.h>

#include "vatio/status.h"

/* The alignment of vt_alloc and of arena memory: a cache line, and enough for AVX-512. */
#define VT_ALIGNMENT 64

struct vt_allocator {
    /* Returns NULL when it cannot. `alignment` is a power of two. */
    void *(*alloc)(void *ctx, size_t bytes, size_t alignment);
    void (*free)(void *ctx, void *memory); /* accepts NULL */
    void *ctx;
};

/* Replaces the process-wide allocator; NULL restores the C library's. Returns the one before. */
struct vt_allocator vt_allocator_set(const struct vt_allocator *allocator);

/* `bytes` of uninitialised memory aligned to VT_ALIGNMENT; NULL when out of memory. 0 bytes give a
 * pointer that may be freed but not read. */
void *vt_alloc(size_t bytes);
/* As vt_alloc for n elements, zeroed; NULL on overflow too. */
void *vt_calloc(size_t n, size_t bytes);
/* Any power-of-two alignment. */
void *vt_alloc_aligned(size_t bytes, size_t alignment);
/* Grows (or shrinks) to new_bytes, keeping min(old, new) bytes. On NULL the old block stays. */
void *vt_regrow(void *memory, size_t old_bytes, size_t new_bytes);
VT_API void vt_free(void *memory); /* accepts NULL */
char *vt_strdup(const char *text);
char *vt_strndup(const char *text, size_t length);
/* printf into fresh memory; NULL when out of memory. */
char *vt_asprintf(const char *fmt, ...) VT_PRINTF(1, 2);

struct vt_arena_block;
struct vt_arena {
    struct vt_arena_block *head;
    size_t block_bytes; /* the size of the next block */
    size_t used_bytes;  /* handed out in all */
    size_t limit_bytes; /* vt_arena_alloc fails beyond it; 0: none */
};

/* `limit_bytes` bounds what hostile input can make us take; 0 for no bound. Takes no memory yet. */
void vt_arena_init(struct vt_arena *arena, size_t limit_bytes);
/* Gives everything back; the arena may be used again. */
void vt_arena_release(struct vt_arena *arena);
/* Uninitialised, aligned to `alignment` (a power of two up to VT_ALIGNMENT). NULL when out of
 * memory or beyond the limit. */
void *vt_arena_alloc(struct vt_arena *arena, size_t bytes, size_t alignment);
/* Zeroed array of n elements, aligned for any C type. NULL also on overflow. */
void *vt_arena_calloc(struct vt_arena *arena, size_t n, size_t bytes);
char *vt_arena_strndup(struct vt_arena *arena, const char *text, size_t length);
char *vt_arena_printf(struct vt_arena *arena, const char *fmt, ...) VT_PRINTF(2, 3);

#endif
