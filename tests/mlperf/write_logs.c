/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_logs FOLDER [NAME=VALUE …]: one test on a system that does nothing, with its logs in
 * FOLDER. For tests/conformance/compare_logs.py, which has LoadGen do the same. NAME is a field of
 * MLPerf's TestSettings; besides them `total` and `performance`, the sizes of the sample library,
 * and how long the system takes for a query, one after the other: `service_us`, and `token_us` from
 * the first token to the last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/setting_table.h"
#include "mlperf/test.h"

struct bench {
    struct vt_completion_sink sink;
    struct vt_load_settings settings;
    bool tokens;
    uint64_t total, performance, service_us, token_us;
};

/* What is not a setting. NULL: no such name. */
static uint64_t *own(struct bench *b, const char *name)
{
    return strcmp(name, "total") == 0         ? &b->total
           : strcmp(name, "performance") == 0 ? &b->performance
           : strcmp(name, "service_us") == 0  ? &b->service_us
           : strcmp(name, "token_us") == 0    ? &b->token_us
                                              : NULL;
}

/* Takes NAME=VALUE apart. */
static enum vt_status set(struct bench *b, char *option, struct vt_error *err)
{
    char *value = strchr(option, '=');
    if (value == NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: give NAME=VALUE", option);
    }
    *value++ = '\0';
    uint64_t *number = own(b, option);
    if (number == NULL) {
        return vt_load_setting_set(&b->settings, option, value, err);
    }
    *number = strtoull(value, NULL, 10);
    return VT_OK;
}

static const char *sut_name(void *ctx)
{
    (void)ctx;
    return "PySUT";
}

static enum vt_status sut_start(void *ctx, const struct vt_completion_sink *sink,
                                enum vt_scenario scenario, struct vt_error *err)
{
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        ((struct bench *)ctx)->sink = *sink;
    }
    return VT_OK;
}

static void work(uint64_t us)
{
    if (us > 0) {
        vt_sleep_until_ns(vt_now_ns() + (int64_t)us * VT_NS_PER_US, 0);
    }
}

static enum vt_status sut_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                struct vt_error *err)
{
    /* five tokens of 16 bits */
    static const unsigned char bytes[] = {0x0a, 0x7f, 3, 0, 4, 0, 5, 0, 2, 0};
    const struct bench *b = ctx;

    (void)err;
    work(b->service_us);
    for (int first = b->tokens; first >= 0; first--) {
        if (!first) {
            work(b->token_us);
        }
        for (size_t i = 0; i < n; i++) {
            struct vt_completion c = {
                .id = samples[i].id,
                .response = bytes,
                .response_bytes = first ? 2 : sizeof bytes,
                .n_tokens = first ? 1 : 5,
            };
            if (first) {
                b->sink.first_token(b->sink.ctx, &c, 1);
            } else {
                b->sink.complete(b->sink.ctx, &c, 1);
            }
        }
    }
    return VT_OK;
}

static void sut_nothing(void *ctx)
{
    (void)ctx;
}

static const char *qsl_name(void *ctx)
{
    (void)ctx;
    return "PyQSL";
}

static enum vt_status qsl_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void qsl_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

int main(int argc, char **argv)
{
    struct bench b = {.total = 64, .performance = 32};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_test_result result;

    if (argc < 2) {
        fprintf(stderr, "usage: write_logs FOLDER [NAME=VALUE …]\n");
        return 2;
    }
    vt_load_settings_default(&b.settings);
    for (int i = 2; i < argc; i++) {
        if (set(&b, argv[i], &err) != VT_OK) {
            fprintf(stderr, "write_logs: %s\n", err.text);
            return 2;
        }
    }
    b.tokens = b.settings.use_token_latencies && b.settings.scenario != VT_OFFLINE;
    const struct vt_sut sut = {VT_LOAD_API_VERSION, sizeof sut,  sut_name,    sut_start,
                               sut_issue,           sut_nothing, sut_nothing, &b};
    const struct vt_qsl qsl = {VT_LOAD_API_VERSION, sizeof qsl, b.total,
                               b.performance,       qsl_name,   qsl_load,
                               qsl_unload,          &b};
    const struct vt_test_logs logs = {.folder = argv[1]};
    enum vt_status status = vt_test_run(&b.settings, &sut, &qsl, NULL, &logs, NULL, &err, &result);
    vt_test_result_release(&result);
    if (status != VT_OK) {
        fprintf(stderr, "write_logs: %s\n", err.text);
        return 1;
    }
    return 0;
}
