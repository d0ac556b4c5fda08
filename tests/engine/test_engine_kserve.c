/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine for servers against a real one (kserve_server.py over ONNX Runtime): batches, many
 * requests in flight, connections that stay, and every way of refused, slow, truncated and wrong
 * answers that the server knows.
 */
#include "foreign.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "residual.h"

static pid_t server;
static int server_input = -1;
static int port;

static const char *url_of(const char *model)
{
    static char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v2/models/%s", port, model);
    return url;
}

/* Opens the model of that name with a setting or two, the model being named by its URL. */
static void open_model(struct engine_fixture *f, const char *model,
                       const struct vt_setting *settings, uint32_t n, uint32_t max_batch)
{
    const struct vt_graph_source source = {.name = url_of(model)};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.settings = settings;
    config.n_settings = n;
    config.max_batch = max_batch;
    config.lanes = FIXTURE_LANES;
    fixture_open_bundle(f, "kserve", &bundle, &config);
}

/* "name": number of what the server counts. */
static long statistic(const char *name)
{
    char answer[1024] = "", wanted[64];
    static const char request[] = "GET /stats HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    size_t n = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(write(s, request, sizeof(request) - 1), sizeof(request) - 1);
    for (ssize_t got = 1; got > 0 && n < sizeof(answer) - 1; n += (size_t)(got > 0 ? got : 0)) {
        got = read(s, answer + n, sizeof(answer) - 1 - n);
    }
    close(s);
    snprintf(wanted, sizeof(wanted), "\"%s\": ", name);
    const char *at = strstr(answer, wanted);
    assert_non_null(at);
    return strtol(at + strlen(wanted), NULL, 10);
}

/* --- what goes well
 * ----------------------------------------------------------------------------------- */

static void test_batches(void **state)
{
    (void)state;
    struct engine_fixture f;
    open_model(&f, "residual/versions/1", NULL, 0, 8);
    assert_true(f.caps.max_batch > 1000);
    assert_int_equal(f.caps.max_in_flight, 64);
    assert_false(f.caps.uses_cpu);
    assert_non_null(strstr(f.caps.description, "/v2/models/residual"));
    assert_string_equal(f.signature.inputs[0].name, "x");
    assert_int_equal(f.signature.inputs[0].dim[0], -1);
    long before = statistic("connections");
    for (uint32_t n = 1; n <= 20; n++) {
        struct vt_tensor input = batch_of(n, n);
        struct vt_event event = fixture_run(&f, n % 2, n, n, &input, 1);
        assert_true(is_right(&event, n, n));
    }
    /* Two lanes keep one connection each; the question itself takes two. */
    assert_true(statistic("connections") - before <= 4);
    fixture_close(&f);
}

/* The URL as a setting, beside a model that is a file. */
static void test_url_setting(void **state)
{
    (void)state;
    struct engine_fixture f;
    char url[160];
    snprintf(url, sizeof(url), "%s//", url_of("residual"));
    const struct vt_setting setting = {"url", url};
    const struct vt_graph_source source = {.name = "residual.onnx",
                                           .path = VT_TEST_MODELS "/residual.onnx"};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.settings = &setting;
    config.n_settings = 1;
    fixture_open_bundle(&f, "kserve", &bundle, &config);
    struct vt_tensor input = batch_of(3, 2);
    struct vt_event event = fixture_run(&f, 0, 1, 3, &input, 1);
    assert_true(is_right(&event, 3, 2));
    fixture_close(&f);
}

/* Several outputs, a scalar, extents that depend on data. */
static void test_outputs(void **state)
{
    (void)state;
    struct engine_fixture f;
    const float data[6] = {0, 2, 0, 3, 4, 0};
    const int64_t dim[2] = {2, 3}, positions[6] = {0, 1, 1, 0, 1, 1};
    open_model(&f, "nonzero", NULL, 0, 8);
    assert_int_equal(f.caps.max_batch, 1);
    struct vt_tensor input = floats(data, 2, dim);
    struct vt_event event = fixture_run(&f, 0, 1, 1, &input, 1);
    assert_int_equal(event.kind, VT_EVENT_FINAL);
    assert_int_equal(event.n_outputs, 3);
    for (uint32_t i = 0; i < 3; i++) { /* wherever they lay in the answer */
        assert_int_equal((uintptr_t)event.outputs[i].data % VT_ALIGNMENT, 0);
    }
    assert_memory_equal(event.outputs[0].data, positions, sizeof(positions));
    assert_memory_equal(event.outputs[1].data, ((float[]){4, 6, 8}), 12);
    assert_int_equal(event.outputs[2].rank, 0);
    assert_int_equal(*(const int64_t *)event.outputs[2].data, 3);
    const float zeros[6] = {0};
    input = floats(zeros, 2, dim);
    event = fixture_run(&f, 0, 2, 1, &input, 1);
    assert_int_equal(event.outputs[0].dim[0], 0);
    assert_int_equal(event.outputs[1].bytes, 0);
    fixture_close(&f);
}

static void test_many_in_flight(void **state)
{
    enum { N = 48 };
    (void)state;
    struct engine_fixture f;
    struct vt_tensor inputs[N];
    struct vt_request requests[N];
    struct vt_event events[N];
    bool seen[N] = {false};
    open_model(&f, "residual~unhurried", NULL, 0, 1);
    for (uint32_t i = 0; i < N; i++) {
        inputs[i] = batch_of(1 + i % 3, i % 16);
        requests[i] =
            (struct vt_request){.id = i, .samples = 1 + i % 3, .inputs = &inputs[i], .n_inputs = 1};
    }
    for (int round = 0; round < 2; round++) {
        long before = statistic("connections");
        int64_t start = vt_now_ns();
        memset(seen, 0, sizeof(seen));
        for (uint32_t i = 0; i < N; i += 8) {
            assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests + i, 8, &f.err), VT_OK);
        }
        for (uint32_t done = 0; done < N;) {
            uint32_t n = 0;
            assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 5, VT_NEVER, &f.err, events, &n),
                             VT_OK);
            assert_true(n >= 1 && n <= 5);
            for (uint32_t i = 0; i < n; i++) {
                uint64_t id = events[i].id;
                assert_true(id < N && !seen[id]);
                seen[id] = true;
                assert_true(is_right(&events[i], (uint32_t)(1 + id % 3), id % 16));
            }
            done += n;
        }
        double seconds = (double)(vt_now_ns() - start) / 1e9;
        print_message("%d requests of at least 50 ms in %.2f s, %ld connections, %ld at once\n", N,
                      seconds, statistic("connections") - before - 1, statistic("most_at_once"));
        assert_true(seconds < N * 0.05);
        if (round > 0) { /* they are still open */
            assert_true(statistic("connections") - before <= 3);
        }
    }
    assert_true(statistic("most_at_once") > N / 2);
    fixture_close(&f);
}

static void test_in_flight_is_bounded(void **state)
{
    (void)state;
    struct engine_fixture f;
    const struct vt_setting setting = {"in-flight", "3"};
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request requests[4];
    struct vt_event events[4];
    uint32_t n = 0;
    open_model(&f, "residual", &setting, 1, 1);
    assert_int_equal(f.caps.max_in_flight, 3);
    for (uint32_t i = 0; i < 4; i++) {
        requests[i] = (struct vt_request){.id = i, .samples = 1, .inputs = &input, .n_inputs = 1};
    }
    for (int round = 0; round < 10; round++) {
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 4, NULL), VT_ERR_LIMIT);
        /* All or none: the last of these is wrong. */
        requests[2].graph = 1;
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 3, NULL), VT_ERR_USAGE);
        requests[2].graph = 0;
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 3, &f.err), VT_OK);
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 1, NULL), VT_ERR_LIMIT);
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 3, 4, VT_NEVER, &f.err, events, &n),
                         VT_OK);
        assert_int_equal(n, 3);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(is_right(&events[i], 1, 0));
        }
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 4, VT_NEVER, &f.err, events, &n),
                         VT_OK);
        assert_int_equal(n, 0); /* nothing is in flight */
    }
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 3, &f.err), VT_OK);
    fixture_close(&f); /* with requests in flight */
}

static void test_connections_that_close(void **state)
{
    (void)state;
    struct engine_fixture f;
    open_model(&f, "residual~closing", NULL, 0, 1);
    for (uint32_t i = 0; i < 20; i++) {
        struct vt_tensor input = batch_of(1, i);
        struct vt_event event = fixture_run(&f, 0, i, 1, &input, 1);
        assert_true(is_right(&event, 1, i));
    }
    fixture_close(&f);
}

static void test_lanes_side_by_side(void **state)
{
    (void)state;
    struct engine_fixture f;
    open_model(&f, "residual", NULL, 0, 1);
    residual_lanes_side_by_side(&f);
    fixture_close(&f);
}

/* --- what goes wrong
 * ---------------------------------------------------------------------------------- */

static void test_wrong_answers(void **state)
{
    static const struct {
        const char *way;
        enum vt_status status;
        const char *says;
    } cases[] = {
        {"unavailable", VT_ERR_ENGINE, "the server answers 503: the model is being loaded"},
        {"silent-500", VT_ERR_ENGINE, "the server answers 500"},
        {"guarded", VT_ERR_USAGE, "the server answers 401: who are you?"},
        {"drop", VT_ERR_ENGINE, "residual~drop: "},
        {"truncated", VT_ERR_ENGINE, "5 bytes remaining"},
        {"garbage", VT_ERR_FORMAT, "no JSON object"},
        {"long-header", VT_ERR_FORMAT, "its JSON alone is said to have"},
        {"short-header", VT_ERR_FORMAT, "no JSON object"},
        {"negative-header", VT_ERR_FORMAT, "no JSON object"},
        {"other-id", VT_ERR_FORMAT, "the answer is for request \"another\", not 7"},
        {"other-shape", VT_ERR_FORMAT, "\"y\" is said to be float32 2x2x2x2 in 32 bytes"},
        {"huge-shape", VT_ERR_FORMAT, "1099511627776x1099511627776"},
        {"negative-size", VT_ERR_FORMAT, "in -8 bytes"},
        {"other-type", VT_ERR_FORMAT, "int32"},
        {"unknown-type", VT_ERR_UNSUPPORTED, "FP128"},
        {"other-name", VT_ERR_FORMAT, "\"somebody else's\" that the model has not"},
        {"no-reply-outputs", VT_ERR_FORMAT, "the answer has 0 outputs, the model 1"},
        {"twice", VT_ERR_FORMAT, "the answer has 2 outputs, the model 1"},
        {"more-bytes", VT_ERR_FORMAT, "3 bytes behind its outputs"},
        {"fewer-bytes", VT_ERR_FORMAT, "of which 28 came"},
        {"as-json", VT_ERR_UNSUPPORTED, "lacks the binary tensor extension"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct engine_fixture f;
        char model[64];
        struct vt_tensor input = batch_of(1, 0);
        snprintf(model, sizeof(model), "residual~%s", cases[i].way);
        open_model(&f, model, NULL, 0, 1);
        for (int round = 0; round < 2; round++) {
            struct vt_event event = fixture_run(&f, 0, 7, 1, &input, 1);
            if (event.kind != VT_EVENT_ERROR || event.status != cases[i].status ||
                strstr(event.text, cases[i].says) == NULL || strchr(event.text, '\n') != NULL) {
                fail_msg("%s: %s '%s'", cases[i].way, vt_status_name(event.status),
                         event.kind == VT_EVENT_ERROR ? event.text : "");
            }
            assert_int_equal(event.n_outputs, 0);
        }
        fixture_close(&f);
    }
}

/* A request that fails leaves the lane as it was. */
static void test_errors_are_events(void **state)
{
    (void)state;
    struct engine_fixture f;
    const int64_t dim[4] = {1, 3, 2, 2};
    struct vt_tensor wrong = floats(residual_x, 4, dim), right = batch_of(1, 0);
    open_model(&f, "residual", NULL, 0, 1);
    for (int round = 0; round < 3; round++) {
        struct vt_event event = fixture_run(&f, 0, 1, 1, &wrong, 1);
        assert_int_equal(event.kind, VT_EVENT_ERROR);
        assert_int_equal(event.status, VT_ERR_USAGE);
        assert_non_null(strstr(event.text, "the server answers 400"));
        event = fixture_run(&f, 0, 2, 1, &right, 1);
        assert_true(is_right(&event, 1, 0));
    }
    /* What cannot be sent is refused at once. */
    struct vt_request request = {.id = 3, .samples = 1, .inputs = &wrong, .n_inputs = 1};
    wrong.dtype = VT_I32;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_USAGE);
    request.n_inputs = 2;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_USAGE);
    fixture_close(&f);
}

static void test_slow_answers(void **state)
{
    (void)state;
    struct engine_fixture f;
    const struct vt_setting setting = {"timeout", "300ms"};
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request request = {.id = 1, .samples = 1, .inputs = &input, .n_inputs = 1};
    struct vt_event event;
    uint32_t n = 9;
    open_model(&f, "residual~slow", &setting, 1, 1);
    int64_t start = vt_now_ns();
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, &f.err), VT_OK);
    /* The caller's deadline passes first: nothing is lost. */
    assert_int_equal(
        f.ops->wait(f.engine, f.lanes[0], 1, 1, start + 50 * VT_NS_PER_MS, &f.err, &event, &n),
        VT_OK);
    assert_int_equal(n, 0);
    assert_true(vt_now_ns() - start < 250 * VT_NS_PER_MS);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 0, 1, 0, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 0);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 1, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_TIMEOUT);
    assert_true(vt_now_ns() - start < 1200 * VT_NS_PER_MS);
    fixture_close(&f);
}

static void *cancel_later(void *context)
{
    struct engine_fixture *f = context;
    vt_sleep_until_ns(vt_now_ns() + 100 * VT_NS_PER_MS, 0);
    f->ops->cancel(f->engine, f->lanes[0], 5);
    f->ops->cancel(f->engine, f->lanes[0], 77);
    return NULL;
}

static void test_cancel(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request requests[2] = {{.id = 5, .samples = 1, .inputs = &input, .n_inputs = 1},
                                     {.id = 6, .samples = 1, .inputs = &input, .n_inputs = 1}};
    struct vt_event event;
    uint32_t n = 0;
    pthread_t thread;
    open_model(&f, "residual~slow", NULL, 0, 1);
    int64_t start = vt_now_ns();
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 2, &f.err), VT_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &f), 0);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 2, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(event.id, 5);
    assert_int_equal(event.status, VT_ERR_INTERRUPTED);
    assert_true(vt_now_ns() - start < 1200 * VT_NS_PER_MS);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 2, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(event.id, 6);
    assert_true(is_right(&event, 1, 0));
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_close(&f);
}

/* --- opening
 * ------------------------------------------------------------------------------------------ */

static void refuse(const char *url, const struct vt_setting *settings, uint32_t n,
                   enum vt_status status, const char *says)
{
    const struct vt_graph_source source = {.name = url};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.settings = settings;
    config.n_settings = n;
    foreign_refuses(&bundle, &config, status, says);
}

static void refuse_setting(const char *key, const char *value, const char *says)
{
    const struct vt_setting setting = {key, value};
    refuse(url_of("residual"), &setting, 1, VT_ERR_USAGE, says);
}

static void test_opening(void **state)
{
    static const struct {
        const char *model;
        enum vt_status status;
        const char *says;
    } cases[] = {
        {"nobody", VT_ERR_NOT_FOUND, "the server answers 404: model nobody is not known"},
        {"residual~garbage-metadata", VT_ERR_FORMAT, "the answer is no JSON object"},
        {"residual~deep", VT_ERR_FORMAT, "the answer is no JSON object"},
        {"residual~text-metadata", VT_ERR_UNSUPPORTED, "\"x\" is of datatype BYTES"},
        {"residual~no-outputs", VT_ERR_FORMAT, "the metadata list 0 outputs"},
        {"residual~bad-extent", VT_ERR_FORMAT, "extent 0 of \"x\""},
        {"residual~nameless", VT_ERR_FORMAT, "lacks its name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        refuse(url_of(cases[i].model), NULL, 0, cases[i].status, cases[i].says);
    }
    refuse("model.onnx", NULL, 0, VT_ERR_USAGE, "no URL is given");
    refuse("http://127.0.0.1/residual", NULL, 0, VT_ERR_USAGE, "this is no such URL");
    refuse("http://127.0.0.1:1/v2/models/residual", NULL, 0, VT_ERR_ENGINE, "connect");
    refuse("http://no.such.host.invalid/v2/models/m", NULL, 0, VT_ERR_ENGINE, "no.such.host");
    refuse("http://me:word@127.0.0.1/v2/models/m", NULL, 0, VT_ERR_USAGE, "name or password");
    refuse_setting("urll", "x", "did you mean 'url'?");
    refuse_setting("timeout", "0", "1ms to 24h");
    refuse_setting("timeout", "soon", "\"soon\"");
    refuse_setting("connect-timeout", "2h", "1ms to 1h");
    refuse_setting("in-flight", "0", "from 1 to 1024");
    refuse_setting("header", "X-Token secret", "one line NAME: VALUE");
    refuse_setting("header", "X-Token: a\r\nX-Other: b", "one line NAME: VALUE");
    const struct vt_setting nowhere = {"library", "/no/such/place"};
    refuse(url_of("residual"), &nowhere, 1, VT_ERR_NOT_FOUND, "/no/such/place");
}

static void test_header(void **state)
{
    (void)state;
    struct engine_fixture f;
    const struct vt_setting settings[] = {{"header", "X-Other: 1"}, {"header", "X-Token: secret"}};
    struct vt_tensor input = batch_of(2, 0);
    open_model(&f, "residual~guarded", settings, 2, 8);
    assert_true(f.caps.max_batch > 1000);
    struct vt_event event = fixture_run(&f, 0, 1, 2, &input, 1);
    assert_true(is_right(&event, 2, 0));
    fixture_close(&f);
}

static void test_bound_shapes(void **state)
{
    (void)state;
    struct engine_fixture f;
    const struct vt_graph_source source = {.name = url_of("residual")};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_shape_binding shape = {.name = "x", .rank = 4, .dim = {3, 2, 2, 2}};
    struct vt_engine_config config = fixture_config();
    config.shapes = &shape;
    config.n_shapes = 1;
    fixture_open_bundle(&f, "kserve", &bundle, &config);
    assert_int_equal(f.signature.inputs[0].dim[0], 3);
    assert_int_equal(f.caps.max_batch, 1);
    fixture_close(&f);
    shape.name = "q";
    foreign_refuses(&bundle, &config, VT_ERR_USAGE, "no input and no open extent of that name");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const struct vt_graph_source source = {.name = url_of("residual")};
    const struct vt_bundle bundle = {&source, 1};
    const struct vt_setting setting = {"in-flight", "2"};
    struct vt_engine_config config = fixture_config();
    config.settings = &setting;
    config.n_settings = 1;
    residual_out_of_memory("kserve", &bundle, &config);
}

/* --- the server
 * --------------------------------------------------------------------------------------- */

/* Starts it and reads its port. Ends the program as skipped where it cannot run. */
static void start_server(void)
{
    int to[2], from[2];
    char line[64];
    size_t n = 0;
    const char *python = VT_TEST_ENGINES "/bin/python";
    if (access(python, X_OK) != 0) {
        printf("skipped: %s is not there (tools/engines_venv.sh makes it)\n", python);
        exit(VT_TEST_SKIPPED);
    }
    if (pipe(to) != 0 || pipe(from) != 0) {
        exit(1);
    }
    server = fork();
    if (server == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]);
        close(to[1]);
        close(from[0]);
        close(from[1]);
        execl(python, python, VT_TEST_SERVER, VT_TEST_MODELS, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    server_input = to[1];
    for (ssize_t got = 1; got > 0 && n < sizeof(line) - 1; n += (size_t)(got > 0 ? got : 0)) {
        got = read(from[0], line + n, 1);
        if (got > 0 && line[n] == '\n') {
            break;
        }
    }
    line[n] = '\0';
    close(from[0]);
    if (strncmp(line, "port ", 5) != 0) {
        printf("%s could not start\n", VT_TEST_SERVER);
        exit(1);
    }
    port = (int)strtol(line + 5, NULL, 10);
}

int main(void)
{
    foreign_or_skip();
    start_server();
    setenv("no_proxy", "*", 1);
    residual_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_url_setting),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_many_in_flight),
        cmocka_unit_test(test_in_flight_is_bounded),
        cmocka_unit_test(test_connections_that_close),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_errors_are_events),
        cmocka_unit_test(test_slow_answers),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_bound_shapes),
        cmocka_unit_test(test_out_of_memory),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close(server_input); /* its end of input is the server's end */
    waitpid(server, NULL, 0);
    return failed;
}
