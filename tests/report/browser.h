/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A headless Chromium, told what to do over the pipe of its DevTools protocol. Everything that goes
 * wrong in a page is counted. A step that gets no answer within 30 s ends the test.
 */
#ifndef VT_TEST_REPORT_BROWSER_H
#define VT_TEST_REPORT_BROWSER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct browser {
    pid_t pid;
    int to, from;
    int next_id;
    char *buffer;
    size_t used, size;
    char session[80];
    char home[64];
    /* Of the page that is open. */
    char problems[2048]; /* console errors and warnings, exceptions, failed loads */
    char strangers[512]; /* addresses asked for besides the page's own */
    char page[512];
    bool loaded;
};

/* The program, by VT_CHROMIUM or Debian's names; NULL when there is none. */
const char *browser_program(void);
void browser_open(struct browser *browser, const char *program);
void browser_close(struct browser *browser);

/* Opens the page of this file in a window of this size under this colour scheme. */
void browser_visit(struct browser *browser, const char *path, int width, int height, bool dark);
/* The value of a JavaScript expression as JSON; the caller decrefs it. Exceptions are problems. */
json_t *browser_evaluate(struct browser *browser, const char *expression);
/* The page on A4, or as a picture of the whole of it: bytes that the caller frees. */
unsigned char *browser_print(struct browser *browser, size_t *ret_size);
unsigned char *browser_picture(struct browser *browser, size_t *ret_size);

#endif
