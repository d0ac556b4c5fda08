/* SPDX-License-Identifier: Apache-2.0 */
#include "browser.h"

#include "vt_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 30000

const char *browser_program(void)
{
    static const char *const known[] = {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium"};
    const char *named = getenv("VT_CHROMIUM");

    if (named != NULL && named[0] != '\0') {
        return named;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (access(known[i], X_OK) == 0) {
            return known[i];
        }
    }
    return NULL;
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void note(char *text, size_t size, const char *what, const char *more)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s: %s\n", what, more != NULL ? more : "?");
}

static const char *text_at(const json_t *object, const char *a, const char *b, const char *c)
{
    json_t *value = json_object_get(object, a);
    value = b != NULL ? json_object_get(value, b) : value;
    value = c != NULL ? json_object_get(value, c) : value;
    return json_string_value(value);
}

static void on_event(struct browser *browser, const json_t *message, const char *method)
{
    const json_t *params = json_object_get(message, "params");

    if (strcmp(method, "Page.loadEventFired") == 0) {
        browser->loaded = true;
    } else if (strcmp(method, "Runtime.exceptionThrown") == 0) {
        note(browser->problems, sizeof browser->problems, "exception",
             text_at(params, "exceptionDetails", "exception", "description"));
    } else if (strcmp(method, "Runtime.consoleAPICalled") == 0) {
        const json_t *first = json_array_get(json_object_get(params, "args"), 0);
        note(browser->problems, sizeof browser->problems, text_at(params, "type", NULL, NULL),
             text_at(first, "value", NULL, NULL));
    } else if (strcmp(method, "Log.entryAdded") == 0) {
        note(browser->problems, sizeof browser->problems, "log",
             text_at(params, "entry", "text", NULL));
    } else if (strcmp(method, "Network.requestWillBeSent") == 0) {
        const char *url = text_at(params, "request", "url", NULL);
        if (url == NULL || (strncmp(url, browser->page, strlen(browser->page)) != 0 &&
                            strncmp(url, "data:", 5) != 0)) {
            note(browser->strangers, sizeof browser->strangers, "asked for", url);
        }
    }
}

static int64_t now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The next message, which ends with a NUL. */
static json_t *receive(struct browser *browser, int64_t until_ms)
{
    for (;;) {
        char *end = browser->used > 0 ? memchr(browser->buffer, '\0', browser->used) : NULL;
        if (end != NULL) {
            const size_t n = (size_t)(end - browser->buffer) + 1;
            json_t *message = json_loads(browser->buffer, 0, NULL);
            memmove(browser->buffer, browser->buffer + n, browser->used - n);
            browser->used -= n;
            assert_non_null(message);
            return message;
        }
        const int64_t left = until_ms - now_ms();
        struct pollfd ready = {.fd = browser->from, .events = POLLIN};
        if (left <= 0 || poll(&ready, 1, (int)left) <= 0) {
            fail_msg("no answer from the browser within %d s", ANSWER_MS / 1000);
        }
        if (browser->size - browser->used < 65536) {
            browser->size = 2 * browser->size + 65536;
            browser->buffer = realloc(browser->buffer, browser->size);
            assert_non_null(browser->buffer);
        }
        const ssize_t n =
            read(browser->from, browser->buffer + browser->used, browser->size - browser->used);
        if (n <= 0) {
            fail_msg("the browser went away");
        }
        browser->used += (size_t)n;
    }
}

/* Takes `params` over; the answer's result is the caller's to decref. */
static json_t *call(struct browser *browser, const char *method, json_t *params)
{
    const int id = ++browser->next_id;
    const int64_t until_ms = now_ms() + ANSWER_MS;
    json_t *message = json_pack("{s:i, s:s, s:o}", "id", id, "method", method, "params",
                                params != NULL ? params : json_object());

    assert_non_null(message);
    if (browser->session[0] != '\0') {
        (void)json_object_set_new(message, "sessionId", json_string(browser->session));
    }
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    assert_non_null(text);
    assert_int_equal(write(browser->to, text, strlen(text) + 1), strlen(text) + 1);
    free(text);
    for (;;) {
        json_t *answer = receive(browser, until_ms);
        const char *event = text_at(answer, "method", NULL, NULL);
        if (event != NULL) {
            on_event(browser, answer, event);
        } else if (json_integer_value(json_object_get(answer, "id")) == id) {
            const char *error = text_at(answer, "error", "message", NULL);
            if (error != NULL) {
                fail_msg("%s: %s", method, error);
            }
            json_t *result = json_incref(json_object_get(answer, "result"));
            json_decref(answer);
            return result;
        }
        json_decref(answer);
    }
}

static void tell(struct browser *browser, const char *method, json_t *params)
{
    json_decref(call(browser, method, params));
}

/* --- start and end -----------------------------------------------------------------------------
 */

/* Its pipe has the descriptors 3, from us, and 4, to us. */
static void become_browser(const char *program, const char *home, int in, int out)
{
    char folder[128];
    const int quiet = open("/dev/null", O_RDWR);

    (void)snprintf(folder, sizeof folder, "--user-data-dir=%s", home);
    /* First out of the way of 3 and 4. */
    in = fcntl(in, F_DUPFD, 10);
    out = fcntl(out, F_DUPFD, 10);
    if (quiet < 0 || dup2(quiet, 0) < 0 || dup2(quiet, 1) < 0 || dup2(quiet, 2) < 0 ||
        dup2(in, 3) < 0 || dup2(out, 4) < 0) {
        _exit(99);
    }
    execl(program, program, "--headless=new", geteuid() == 0 ? "--no-sandbox" : "--no-first-run",
          "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
          "--no-default-browser-check", "--hide-scrollbars", "--remote-debugging-pipe", folder,
          "about:blank", (char *)NULL);
    _exit(98);
}

void browser_open(struct browser *browser, const char *program)
{
    int to[2], from[2];

    *browser = (struct browser){.pid = -1};
    (void)snprintf(browser->home, sizeof browser->home, "/tmp/vatio-browser-XXXXXX");
    assert_non_null(mkdtemp(browser->home));
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    (void)signal(SIGPIPE, SIG_IGN);
    browser->pid = fork();
    assert_true(browser->pid >= 0);
    if (browser->pid == 0) {
        (void)setpgid(0, 0);
        become_browser(program, browser->home, to[0], from[1]);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    browser->to = to[1];
    browser->from = from[0];

    json_t *target = call(browser, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
    json_t *session = call(
        browser, "Target.attachToTarget",
        json_pack("{s:s, s:b}", "targetId", text_at(target, "targetId", NULL, NULL), "flatten", 1));
    (void)snprintf(browser->session, sizeof browser->session, "%s",
                   text_at(session, "sessionId", NULL, NULL));
    json_decref(target);
    json_decref(session);
    static const char *const domains[] = {"Page.enable", "Runtime.enable", "Log.enable",
                                          "Network.enable"};
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        tell(browser, domains[i], NULL);
    }
}

void browser_close(struct browser *browser)
{
    char command[128];

    (void)kill(-browser->pid, SIGKILL);
    (void)waitpid(browser->pid, NULL, 0);
    (void)close(browser->to);
    (void)close(browser->from);
    free(browser->buffer);
    (void)snprintf(command, sizeof command, "rm -rf %s", browser->home);
    (void)system(command);
}

/* --- what a page is asked ----------------------------------------------------------------------
 */

void browser_visit(struct browser *browser, const char *path, int width, int height, bool dark)
{
    const int64_t until_ms = now_ms() + ANSWER_MS;

    browser->problems[0] = browser->strangers[0] = '\0';
    (void)snprintf(browser->page, sizeof browser->page, "file://%s", path);
    tell(browser, "Emulation.setDeviceMetricsOverride",
         json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height, "deviceScaleFactor", 1,
                   "mobile", 0));
    tell(browser, "Emulation.setEmulatedMedia",
         json_pack("{s:[{s:s, s:s}]}", "features", "name", "prefers-color-scheme", "value",
                   dark ? "dark" : "light"));
    browser->loaded = false;
    tell(browser, "Page.navigate", json_pack("{s:s}", "url", browser->page));
    while (!browser->loaded) {
        json_t *message = receive(browser, until_ms);
        const char *event = text_at(message, "method", NULL, NULL);
        if (event != NULL) {
            on_event(browser, message, event);
        }
        json_decref(message);
    }
}

json_t *browser_evaluate(struct browser *browser, const char *expression)
{
    json_t *answer = call(browser, "Runtime.evaluate",
                          json_pack("{s:s, s:b, s:b}", "expression", expression, "returnByValue", 1,
                                    "awaitPromise", 1));
    const char *problem = text_at(answer, "exceptionDetails", "exception", "description");
    if (problem != NULL) {
        note(browser->problems, sizeof browser->problems, "exception", problem);
    }
    json_t *value = json_incref(json_object_get(json_object_get(answer, "result"), "value"));
    json_decref(answer);
    return value;
}

static unsigned char *decode_base64(const char *text, size_t *ret_size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *bytes = malloc(strlen(text) + 1);
    uint32_t bits = 0;
    unsigned n_bits = 0;
    size_t n = 0;

    assert_non_null(bytes);
    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        assert_non_null(digit);
        bits = bits << 6 | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes[n++] = (unsigned char)(bits >> n_bits);
        }
    }
    *ret_size = n;
    return bytes;
}

static unsigned char *data_of(json_t *answer, size_t *ret_size)
{
    const char *text = text_at(answer, "data", NULL, NULL);
    assert_non_null(text);
    unsigned char *bytes = decode_base64(text, ret_size);
    json_decref(answer);
    return bytes;
}

unsigned char *browser_print(struct browser *browser, size_t *ret_size)
{
    return data_of(call(browser, "Page.printToPDF",
                        json_pack("{s:b, s:b}", "preferCSSPageSize", 1, "printBackground", 0)),
                   ret_size);
}

unsigned char *browser_picture(struct browser *browser, size_t *ret_size)
{
    return data_of(call(browser, "Page.captureScreenshot",
                        json_pack("{s:s, s:b}", "format", "png", "captureBeyondViewport", 1)),
                   ret_size);
}
