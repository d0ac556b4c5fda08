/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines from outside: the skeleton as it is built here, a copy of it compiled in an empty folder
 * against the public headers alone, and the module that misbehaves on demand.
 */
#include "engine_fixture.h"

#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static const char *const model = VT_TEST_MODELS "/residual.onnx";

/* --- the skeleton
 * ------------------------------------------------------------------------------------ */

static void check_skeleton(const char *path)
{
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    const struct vt_setting setting = {"elements", "5"};
    float rows[3][5];
    const int64_t dim[2] = {3, 5};
    for (int i = 0; i < 15; i++) {
        rows[i / 5][i % 5] = (float)(i * i % 11) - 2.0f;
    }
    config.settings = &setting;
    config.n_settings = 1;
    fixture_open(&f, path, model, &config);
    assert_non_null(f.ref.module);
    assert_string_equal(f.ops->name, "skeleton");
    assert_int_equal(f.signature.inputs[0].dim[1], 5);
    struct vt_tensor input = floats(&rows[0][0], 2, dim);
    for (uint64_t id = 0; id < 9; id++) {
        struct vt_event event = fixture_run(&f, 0, id, 3, &input, 1);
        assert_int_equal(event.kind, VT_EVENT_FINAL);
        assert_int_equal(event.outputs[0].dim[0], 3);
        for (int r = 0; r < 3; r++) {
            float sum = 0.0f;
            for (int i = 0; i < 5; i++) {
                sum += rows[r][i];
            }
            assert_true(fabsf(((const float *)event.outputs[0].data)[r] - sum / 5.0f) < 1e-5f);
        }
    }
    /* What it must refuse, it refuses whole. */
    struct vt_request request = {.id = 1, .samples = 2, .inputs = &input, .n_inputs = 1};
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_USAGE);
    fixture_close(&f);
}

static void test_skeleton(void **state)
{
    (void)state;
    check_skeleton(VT_TEST_SKELETON);
}

static void run_compiler(const char *source, const char *output)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execlp(VT_TEST_CC, VT_TEST_CC, "-std=c17", "-Wall", "-Werror", "-shared", "-fPIC", "-I",
               VT_TEST_SOURCE "/include", source, "-o", output, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_built_outside_the_tree(void **state)
{
    (void)state;
    char folder[] = "/tmp/vatio-engine-XXXXXX", source[64], output[64];
    char *text = NULL;
    size_t size = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(source, sizeof(source), "%s/mine.c", folder);
    snprintf(output, sizeof(output), "%s/mine.so", folder);
    assert_int_equal(
        vt_file_read(VT_TEST_SOURCE "/src/engine/skeleton/skeleton.c", 1 << 20, NULL, &text, &size),
        VT_OK);
    FILE *copy = fopen(source, "w");
    assert_non_null(copy);
    assert_int_equal(fwrite(text, 1, size, copy), size);
    assert_int_equal(fclose(copy), 0);
    vt_free(text);
    run_compiler(source, output);
    check_skeleton(output);
    /* "./mine.so", as one types it. */
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(here >= 0);
    assert_int_equal(chdir(folder), 0);
    check_skeleton("./mine.so");
    check_skeleton("./mine.so:skeleton");
    assert_int_equal(fchdir(here), 0);
    close(here);
    unlink(source);
    unlink(output);
    rmdir(folder);
}

/* --- the engine that misbehaves
 * ------------------------------------------------------------------------ */

static const float x[8] = {1.0f};

/* Opens it with one fault and submits two requests, 100 and 101. */
static void open_with(struct engine_fixture *f, const char *fault, const char *every)
{
    struct vt_engine_config config = fixture_config();
    const struct vt_setting settings[2] = {{"fault", fault}, {"every", every}};
    config.settings = settings;
    config.n_settings = 2;
    fixture_open(f, VT_TEST_FAULT, model, &config);
}

static enum vt_status submit_two(struct engine_fixture *f)
{
    const int64_t dim[4] = {1, 2, 2, 2};
    struct vt_tensor input = floats(x, 4, dim);
    struct vt_request requests[2] = {{.id = 100, .samples = 1, .inputs = &input, .n_inputs = 1},
                                     {.id = 101, .samples = 1, .inputs = &input, .n_inputs = 1}};
    return f->ops->submit(f->engine, f->lanes[0], requests, 2, &f->err);
}

/* All events that come within a while; the ids in order. */
static uint32_t collect(struct engine_fixture *f, uint64_t *ids, enum vt_event_kind *kinds)
{
    uint32_t seen = 0;
    for (int turn = 0; turn < 4; turn++) {
        struct vt_event events[4];
        uint32_t n = 0;
        assert_int_equal(f->ops->wait(f->engine, f->lanes[0], 1, 4, vt_now_ns() + VT_NS_PER_MS,
                                      &f->err, events, &n),
                         VT_OK);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(seen < 8);
            ids[seen] = events[i].id;
            kinds[seen++] = events[i].kind;
        }
    }
    return seen;
}

static void test_faults(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint64_t ids[8];
    enum vt_event_kind kinds[8];

    open_with(&f, "none", "1");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(collect(&f, ids, kinds), 2);
    assert_int_equal(ids[0], 100);
    assert_int_equal(ids[1], 101);
    fixture_close(&f);

    open_with(&f, "lose", "2");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(collect(&f, ids, kinds), 1);
    assert_int_equal(ids[0], 100);
    fixture_close(&f);

    open_with(&f, "twice", "2");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(collect(&f, ids, kinds), 3);
    assert_int_equal(ids[0], 100);
    assert_int_equal(ids[1], 101);
    assert_int_equal(ids[2], 101);
    fixture_close(&f);

    open_with(&f, "error", "2");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(collect(&f, ids, kinds), 2);
    assert_int_equal(kinds[0], VT_EVENT_FINAL);
    assert_int_equal(kinds[1], VT_EVENT_ERROR);
    fixture_close(&f);

    open_with(&f, "stranger", "1");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(collect(&f, ids, kinds), 2);
    assert_true(ids[0] != 100 && ids[0] != 101);
    fixture_close(&f);

    open_with(&f, "submit-fails", "1");
    assert_int_equal(submit_two(&f), VT_ERR_ENGINE);
    fixture_close(&f);
}

static void test_tokens(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_event event;
    uint32_t n = 0;
    open_with(&f, "tokens", "1");
    assert_int_equal(submit_two(&f), VT_OK);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 1, vt_now_ns(), &f.err, &event, &n),
                         VT_OK);
        assert_int_equal(n, 1);
        assert_int_equal(event.id, 100 + i / 2);
        assert_int_equal(event.kind, i % 2 == 0 ? VT_EVENT_PARTIAL : VT_EVENT_FINAL);
        assert_int_equal(event.n_outputs, 1);
        if (event.kind == VT_EVENT_FINAL) {
            assert_int_equal(event.n_tokens[0], 5);
        } else {
            assert_null(event.n_tokens);
        }
    }
    fixture_close(&f);
}

static void test_broken_lane_and_hang(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_event event;
    uint32_t n = 9;
    open_with(&f, "wait-fails", "1");
    assert_int_equal(submit_two(&f), VT_OK);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 1, vt_now_ns(), &f.err, &event, &n),
                     VT_ERR_ENGINE);
    assert_int_equal(n, 9);
    fixture_close(&f);

    open_with(&f, "hang", "1");
    assert_int_equal(submit_two(&f), VT_OK);
    int64_t deadline = vt_now_ns() + 5 * VT_NS_PER_MS;
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 1, deadline, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 0);
    assert_true(vt_now_ns() >= deadline);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skeleton),
        cmocka_unit_test(test_built_outside_the_tree),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_broken_lane_and_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
