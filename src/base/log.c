/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define LINE_MAX_BYTES 1024

/* The level is read without the lock, so that a dropped line costs one load. -1: silent. */
static _Atomic int threshold = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vt_log_sink_func current_sink;
static void *current_ctx;

void vt_log_set(vt_log_sink_func sink, void *ctx, enum vt_log_level level)
{
    pthread_mutex_lock(&lock);
    current_sink = sink;
    current_ctx = ctx;
    atomic_store(&threshold, sink != NULL ? (int)level : -1);
    pthread_mutex_unlock(&lock);
}

void vt_log(enum vt_log_level level, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed)) {
        return;
    }
    va_start(args, fmt);
    int length = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (current_sink != NULL) {
        current_sink(current_ctx, level, line);
    }
    pthread_mutex_unlock(&lock);
}
