/* SPDX-License-Identifier: Apache-2.0 */
#include "malformed.h"

#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/native/native.h"
#include "engine/settings.h"

struct tally tally;

/* --- memory --------------------------------------------------------------------------------------
 */

static struct {
    size_t largest, live, peak;
} memory;

static void *counted_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *block = NULL;
    (void)ctx;
    memory.largest = bytes > memory.largest ? bytes : memory.largest;
    if (bytes > ALLOCATION_LIMIT) {
        return NULL;
    }
    if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) !=
        0) {
        return NULL;
    }
    memory.live += malloc_usable_size(block);
    memory.peak = memory.live > memory.peak ? memory.live : memory.peak;
    return block;
}

static void counted_free(void *ctx, void *block)
{
    (void)ctx;
    memory.live -= malloc_usable_size(block);
    free(block);
}

static const struct vt_allocator counted = {counted_alloc, counted_free, NULL};

/* --- time ----------------------------------------------------------------------------------------
 */

static char now_running[160];

/* Says which model it was: SIGALRM is the time limit, everything else a crash. */
static void stopped(int number)
{
    const char *text = number == SIGALRM ? "takes too long: " : "crashes: ";
    if (write(STDERR_FILENO, text, strlen(text)) < 0 ||
        write(STDERR_FILENO, now_running, strlen(now_running)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0) {
        _exit(3);
    }
    _exit(2);
}

/* --- complaints ----------------------------------------------------------------------------------
 */

static void complain(const char *kind, const char *problem, const char *text)
{
    tally.complaints++;
    print_error("%s: %s: %s\n", kind, problem, text);
}

/* Bytes of the character of UTF-8 at `text`, 0 when it is none. */
static size_t utf8_bytes(const unsigned char *text)
{
    size_t n = text[0] < 0x80   ? 1
               : text[0] < 0xc2 ? 0
               : text[0] < 0xe0 ? 2
               : text[0] < 0xf0 ? 3
                                : 4;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return text[0] > 0xf4 ? 0 : n;
}

static void check_line(const char *kind, const char *text)
{
    size_t n = strlen(text);
    if (n < 16 || n >= VT_ERROR_TEXT_MAX) {
        complain(kind, "the text has no proper length", text);
    }
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = utf8_bytes(at);
        if (*at < 0x20 || *at == 0x7f || bytes == 0) {
            complain(kind, "the text holds what no terminal should see", text);
            return;
        }
        at += bytes;
    }
}

/* --- opening -------------------------------------------------------------------------------------
 */

/* Zeroes, or numbers without sense: indices out of range, lengths below 0, infinities. */
static void fill(struct vt_tensor *tensor, bool wild)
{
    uint8_t *bytes = calloc(tensor->bytes + 1, 1);
    uint32_t seed = 1;
    assert_non_null(bytes);
    for (size_t i = 0; wild && i < tensor->bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(tensor->dtype == VT_BOOL ? seed >> 31 : seed >> 24);
    }
    tensor->data = bytes;
}

static bool run_once(void *engine, bool wild, struct vt_error *err)
{
    const struct vt_native_engine *native = engine;
    const struct vt_signature *signature = &native->models.items[0].signature;
    struct vt_tensor *inputs = calloc((size_t)signature->n_inputs + 1, sizeof(*inputs));
    assert_non_null(inputs);
    size_t sum = 0;
    bool runs = vt_engine_batch_of(signature, 1, inputs);
    for (uint32_t i = 0; i < signature->n_inputs && runs; i++) {
        sum += inputs[i].bytes;
        runs = inputs[i].bytes <= RUN_LIMIT && sum <= RUN_LIMIT;
    }
    void *lane = NULL;
    if (runs && vt_native_engine.lane_open(engine, 0, err, &lane) == VT_OK) {
        for (uint32_t i = 0; i < signature->n_inputs; i++) {
            fill(&inputs[i], wild);
        }
        const struct vt_request request = {
            .id = 1, .samples = 1, .inputs = inputs, .n_inputs = signature->n_inputs};
        struct vt_event event = {.kind = VT_EVENT_FINAL};
        uint32_t n = 0;
        if (vt_native_engine.submit(engine, lane, &request, 1, err) == VT_OK &&
            vt_native_engine.wait(engine, lane, 1, 1, VT_NEVER, err, &event, &n) == VT_OK &&
            n == 1 && event.kind == VT_EVENT_ERROR) {
            vt_error_set(err, event.status, "%s", event.text);
        }
        for (uint32_t i = 0; i < signature->n_inputs; i++) {
            free(inputs[i].data);
        }
        vt_native_engine.lane_close(engine, lane);
    }
    free(inputs);
    return runs;
}

/* Opens the model and, where its inputs are known, runs it: with zeroes, then with wild numbers. */
static enum vt_status open_model(const char *kind, const struct vt_graph_source *source,
                                 unsigned runs, bool *ret_opened, bool *ret_ran,
                                 struct vt_error *err)
{
    const struct vt_bundle bundle = {source, 1};
    const struct vt_engine_config config = {
        .struct_size = sizeof(config), .threads = 1, .lanes = 1, .max_batch = 1};
    void *engine = NULL;
    (void)snprintf(now_running, sizeof(now_running), "%s", kind);
    (void)signal(SIGALRM, stopped);
    (void)signal(SIGSEGV, stopped);
    (void)signal(SIGFPE, stopped);
    memory.largest = memory.live = memory.peak = 0;
    struct vt_allocator before = vt_allocator_set(&counted);
    (void)alarm(TIME_LIMIT_S);
    enum vt_status status = vt_native_engine.open(&bundle, &config, err, &engine);
    *ret_opened = status == VT_OK;
    if (*ret_opened) {
        *ret_ran = runs >= 1 && run_once(engine, false, err);
        *ret_ran = *ret_ran && (runs < 2 || run_once(engine, true, err));
        vt_native_engine.close(engine);
    }
    (void)alarm(0);
    vt_allocator_set(&before);
    if (memory.live != 0) {
        complain(kind, "memory is not given back", err->text);
    }
    if (memory.peak > LIVE_LIMIT) {
        complain(kind, "takes much memory", err->text);
    }
    return err->status;
}

struct vt_graph_source source_of(const struct pb *bytes)
{
    return (struct vt_graph_source){
        .name = "bad.onnx", .bytes = bytes->bytes, .n_bytes = bytes->size};
}

void refused_source(const char *kind, const struct vt_graph_source *source, const char *what,
                    const char *where)
{
    static char last[160];
    struct vt_error err = VT_ERROR_INIT;
    bool opened = false, ran = false;
    tally.models++;
    if (strcmp(last, kind) != 0) {
        tally.kinds++;
        (void)snprintf(last, sizeof(last), "%s", kind);
    }
    enum vt_status status = open_model(kind, source, 1, &opened, &ran, &err);
    if (status == VT_OK) {
        complain(kind, "is accepted", "");
        return;
    }
    check_line(kind, err.text);
    if (strstr(err.text, what) == NULL || strstr(err.text, where) == NULL) {
        complain(kind, "does not say what and where", err.text);
    }
    if (status == VT_ERR_MEMORY || memory.largest > ALLOCATION_LIMIT) {
        complain(kind, "asks for too much memory", err.text);
    }
    if (getenv("VT_TEST_SHOW") != NULL) {
        printf("%-40s %s\n", kind, err.text);
    }
}

void refused(const char *kind, struct pb bytes, const char *what, const char *where)
{
    const struct vt_graph_source source = source_of(&bytes);
    refused_source(kind, &source, what, where);
    pb_free(&bytes);
}

/* A loop that a file asks for may be long: that is no fault of the engine's. */
static bool has_loop(const struct pb *bytes)
{
    return memmem(bytes->bytes, bytes->size, "Loop", 4) != NULL;
}

void opens_or_is_refused(const char *kind, const struct pb *bytes)
{
    const struct vt_graph_source source = source_of(bytes);
    struct vt_error err = VT_ERROR_INIT;
    bool opened = false, ran = false;
    tally.mutations++;
    enum vt_status status = open_model(kind, &source, has_loop(bytes) ? 0 : 2, &opened, &ran, &err);
    tally.opened += opened ? 1 : 0;
    tally.ran += ran ? 1 : 0;
    if (status != VT_OK) {
        check_line(kind, err.text);
    }
    /* A changed extent may be large: then the text says that it is memory that lacks, or the engine
     * takes fewer samples at once. */
    if (memory.largest > ALLOCATION_LIMIT && status != VT_ERR_MEMORY && !opened) {
        complain(kind, "asks for too much memory", err.text);
    }
    if (getenv("VT_TEST_SHOW") != NULL && status != VT_OK) {
        printf("%-40s %s\n", kind, err.text);
    }
}
