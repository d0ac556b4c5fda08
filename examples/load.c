/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system of one's own under vatio's load generator. To build and run it:
 *
 *     cc load.c $(pkg-config --cflags --libs vatio) -o load && ./load Server
 */
#include <stdio.h>
#include <vatio/load.h>

static const struct vt_completion_sink *sink; /* where results go while a run is on */

static const char *name(void *ctx)
{
    (void)ctx;
    return "squares";
}

static enum vt_status start(void *ctx, const struct vt_completion_sink *where,
                            enum vt_scenario scenario, struct vt_error *err)
{
    (void)ctx, (void)scenario, (void)err;
    sink = where;
    return VT_OK;
}

/* The "model": the answer is the square of the sample. A real system would pass the samples on to
 * threads of its own, which complete them, and return. */
static enum vt_status issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err)
{
    (void)ctx, (void)err;
    for (size_t i = 0; i < n; i++) {
        uint64_t square = samples[i].index * samples[i].index;
        struct vt_completion done = {samples[i].id, &square, sizeof square, VT_OK, NULL, 0};
        sink->complete(sink->ctx, &done, 1);
    }
    return VT_OK;
}

static void nothing(void *ctx) /* to flush or to abort: no sample ever waits */
{
    (void)ctx;
}

static enum vt_status load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx, (void)indices, (void)n, (void)err;
    return VT_OK;
}

static void unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx, (void)indices, (void)n;
}

static const struct vt_sut sut = {
    VT_LOAD_API_VERSION, sizeof sut, name, start, issue, nothing, nothing, NULL};
static const struct vt_qsl qsl = {
    VT_LOAD_API_VERSION, sizeof qsl, 1000, 1000, name, load, unload, NULL};

int main(int argc, char **argv)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_test *test = NULL;
    struct vt_load_result *result = NULL;
    const char *unit = "";
    double value = 0, p99_ns = 0;

    if (vt_load_test_new(&err, &test) == VT_OK &&
        vt_load_test_set(test, "scenario", argc > 1 ? argv[1] : "SingleStream", &err) == VT_OK &&
        vt_load_test_set(test, "min_duration_ms", "500", &err) == VT_OK &&
        vt_load_test_set(test, "server_target_qps", "5000", &err) == VT_OK &&
        vt_load_test_set(test, "offline_expected_qps", "5000", &err) == VT_OK &&
        vt_load_test_run(test, &sut, &qsl, &err, &result) == VT_OK &&
        vt_load_result_number(result, "latency_p99_ns", &err, &p99_ns) == VT_OK) {
        const char *metric = vt_load_result_metric(result, &value, &unit);
        printf("%s: %s = %.6g %s, p99 %.6g us\n",
               vt_load_result_valid(result) ? "VALID" : "INVALID",
               metric != NULL ? metric : "no metric", value, unit, p99_ns / 1e3);
        for (size_t i = 0; vt_load_result_reason(result, i) != NULL; i++) {
            printf("  %s\n", vt_load_result_reason(result, i));
        }
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    vt_load_result_free(result);
    vt_load_test_free(test);
    return err.status == VT_OK ? 0 : 1;
}
