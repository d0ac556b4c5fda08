/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks of the zoo: sizes against the published ones, bytes against recorded ones, and on
 * the native engine at the small scale: outputs that are finite, in range, and not all alike.
 */
#include <math.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "plan/plan.h"
#include "vt_test.h"
#include "vt_torture.h"
#include "zoo/random.h"
#include "zoo/zoo.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/vt_zoo_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct vt_zoo_spec spec_of(const char *name, bool small)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec = {0};
    const struct vt_zoo_network *network = vt_zoo_find(name);

    assert_non_null(network);
    assert_int_equal(vt_zoo_spec_init(&spec, network, small, VT_ZOO_SEED, NULL, &err), VT_OK);
    return spec;
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* The published counts, in millions; statistics of batch normalisations, anchors and small
 * constants come on top. */
static void sizes_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double millions, extra;
    } published[] = {
        {"resnet50", 25.557, 0.06}, {"retinanet", 37.1, 0.6}, {"unet3d", 31.2, 0.05},
        {"rnnt", 45.3, 0.1},        {"bert-large", 334, 0.3},
    };

    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct vt_zoo_spec spec = spec_of(published[i].name, false);
        struct vt_error err = VT_ERROR_INIT;
        uint64_t bytes = 0;
        assert_int_equal(vt_zoo_weight_bytes(&spec, &err, &bytes), VT_OK);
        double millions = (double)bytes / 4e6;
        print_message("%s: %.3f M\n", published[i].name, millions);
        assert_true(fabs(millions - published[i].millions) <= published[i].extra);
    }
}

static void whole_tables_of_dlrm_take_96_gb(void **state)
{
    (void)state;
    struct vt_zoo_spec spec = {0};
    struct vt_error err = VT_ERROR_INIT;
    const char *items[] = {"max_rows=40000000"};
    const struct vt_text_list sets = {items, 1};
    uint64_t bytes = 0;

    assert_int_equal(vt_zoo_spec_init(&spec, vt_zoo_find("dlrm"), false, 1, &sets, &err), VT_OK);
    assert_int_equal(vt_zoo_weight_bytes(&spec, &err, &bytes), VT_OK);
    /* 24.03 G numbers in the tables and 2.4 M behind them. */
    assert_true(bytes > UINT64_C(96100000000) && bytes < UINT64_C(96200000000));
    spec = spec_of("dlrm", false);
    assert_int_equal(vt_zoo_weight_bytes(&spec, &err, &bytes), VT_OK);
    assert_true(bytes > UINT64_C(1600000000) && bytes < UINT64_C(2000) << 20);
}

/* --- bytes ----------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *path)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_file_map map;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    assert_int_equal(vt_file_map_open(path, &err, &map), VT_OK);
    for (size_t i = 0; i < map.size; i++) {
        hash = (hash ^ map.bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    }
    vt_file_map_release(&map);
    return hash;
}

/* Where one of these changes, VT_ZOO_VERSION goes up: caches hold files of the version before. */
static const struct {
    const char *name;
    size_t graph;
    uint64_t hash;
} recorded[] = {
#include "recorded.inc"
};

static void bytes_are_the_same_everywhere(void **state)
{
    (void)state;
    bool same = true;

    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++) {
        struct vt_zoo_spec spec = spec_of(recorded[i].name, true);
        struct vt_error err = VT_ERROR_INIT;
        assert_int_equal(vt_zoo_write_graph(&spec, recorded[i].graph, in_folder("m.onnx"), &err),
                         VT_OK);
        uint64_t hash = hash_of(in_folder("m.onnx"));
        if (hash != recorded[i].hash) {
            print_message("{\"%s\", %zu, UINT64_C(0x%016llx)},\n", recorded[i].name,
                          recorded[i].graph, (unsigned long long)hash);
            same = false;
        }
    }
    assert_true(same);
}

static void another_seed_gives_other_weights(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec = spec_of("unet3d", true);

    spec.seed = 2;
    assert_int_equal(vt_zoo_write(&spec, in_folder("2.onnx"), &err), VT_OK);
    spec.seed = 3;
    assert_int_equal(vt_zoo_write(&spec, in_folder("3.onnx"), &err), VT_OK);
    assert_true(hash_of(in_folder("2.onnx")) != hash_of(in_folder("3.onnx")));
}

static void random_numbers_have_their_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    float *x = calloc(N, sizeof *x), *piece = calloc(N, sizeof *piece);
    struct vt_zoo_random random = {
        .kind = VT_ZOO_NORMAL, .key = vt_zoo_key(1, "w"), .a = 3, .b = 2};
    double mean = 0, square = 0;

    assert_non_null(x);
    assert_non_null(piece);
    vt_zoo_random_fill(&random, 0, N, x);
    for (size_t i = 0; i < N; i++) {
        mean += (double)x[i] / N;
        square += (double)x[i] * (double)x[i] / N;
    }
    /* Five standard errors. */
    assert_true(fabs(mean - 3) < 5 * 2 / sqrt(N));
    assert_true(fabs(square - 13) < 5 * 13 / sqrt(N));
    /* A piece from anywhere is the same as in the whole. */
    vt_zoo_random_fill(&random, 1000, 77, piece);
    assert_memory_equal(piece, x + 1000, 77 * sizeof *x);
    random = (struct vt_zoo_random){.kind = VT_ZOO_UNIFORM, .key = 5, .a = -1, .b = 3};
    vt_zoo_random_fill(&random, 0, N, x);
    mean = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(x[i] >= -1 && x[i] < 3);
        mean += (double)x[i] / N;
    }
    assert_true(fabs(mean - 1) < 5 * 1.155 / sqrt(N));
    free(x);
    free(piece);
}

/* --- outputs --------------------------------------------------------------------------------- */

/* What an output may look like: mean, and root of the mean square about it. */
struct expectation {
    const char *network;
    size_t graph;
    uint32_t output;
    double mean_most, deviation_least, deviation_most;
};

static void fill_input(struct vt_tensor *tensor, const struct vt_value *value)
{
    const bool mask = strcmp(value->name, "input_mask") == 0;
    const uint64_t places = strcmp(value->name, "segment_ids") == 0 || mask ? 2
                            : strcmp(value->name, "label") == 0             ? 28
                                                                            : 1000;
    const struct vt_zoo_random random = {VT_ZOO_UNIFORM, vt_zoo_key(9, value->name), 0, 1};
    const size_t n = tensor->bytes / vt_dtype_bytes(tensor->dtype);
    float *numbers = calloc(n, sizeof *numbers);

    assert_non_null(numbers);
    vt_zoo_random_fill(&random, 0, n, numbers);
    for (size_t i = 0; i < n; i++) {
        if (tensor->dtype == VT_F32) {
            ((float *)tensor->data)[i] = numbers[i];
        } else {
            ((int64_t *)tensor->data)[i] = (int64_t)((double)numbers[i] * (double)places);
        }
    }
    free(numbers);
}

struct running {
    struct vt_model *model;
    struct vt_weights *weights;
    struct vt_plan *plan;
    struct vt_tensor inputs[3], outputs[3];
    uint32_t n_inputs, n_outputs;
};

/* Runs the graph for two samples where it takes batches. */
static void run_graph(const char *network, size_t graph, struct running *r)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec = spec_of(network, true);

    memset(r, 0, sizeof *r);
    if (vt_zoo_write_graph(&spec, graph, in_folder("run.onnx"), &err) != VT_OK ||
        vt_model_import(in_folder("run.onnx"), NULL, &err, &r->model) != VT_OK ||
        vt_weights_new(r->model, &err, &r->weights) != VT_OK) {
        fail_msg("%s: %s", network, err.text);
    }
    const struct vt_graph *main_graph = vt_model_graph(r->model);
    r->n_inputs = main_graph->n_inputs;
    r->n_outputs = main_graph->n_outputs;
    assert_true(r->n_inputs <= 3 && r->n_outputs <= 3);
    for (uint32_t i = 0; i < r->n_inputs; i++) {
        const struct vt_value *value = &vt_model_values(r->model)[main_graph->inputs[i]];
        struct vt_tensor *tensor = &r->inputs[i];
        tensor->dtype = value->dtype;
        tensor->rank = value->rank;
        for (uint32_t d = 0; d < value->rank; d++) {
            tensor->dim[d] = value->dim[d] < 0 ? 2 : value->dim[d];
        }
        assert_true(vt_shape_bytes(tensor->dtype, tensor->dim, tensor->rank, &tensor->bytes));
        tensor->data = calloc(1, tensor->bytes);
        assert_non_null(tensor->data);
        fill_input(tensor, value);
    }
    if (vt_plan_new(r->model, r->weights, NULL, r->inputs, r->n_inputs, NULL, &err, &r->plan) !=
            VT_OK ||
        vt_plan_run(r->plan, r->inputs, r->n_inputs, &err, r->outputs, r->n_outputs) != VT_OK) {
        fail_msg("%s: %s", network, err.text);
    }
}

static void end_running(struct running *r)
{
    vt_plan_free(r->plan);
    vt_weights_free(r->weights);
    vt_model_free(r->model);
    for (uint32_t i = 0; i < r->n_inputs; i++) {
        free(r->inputs[i].data);
    }
}

static void check_output(const struct expectation *expected, const struct vt_tensor *output)
{
    const size_t n = output->bytes / sizeof(float);
    const float *x = output->data;
    double mean = 0, square = 0;

    assert_int_equal(output->dtype, VT_F32);
    assert_true(n > 1);
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(x[i]));
        mean += (double)x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
    }
    print_message("%s %zu, output %u: mean %.3f, deviation %.3f\n", expected->network,
                  expected->graph, expected->output, mean, sqrt(square));
    assert_true(fabs(mean) <= expected->mean_most);
    assert_true(sqrt(square) >= expected->deviation_least);
    assert_true(sqrt(square) <= expected->deviation_most);
}

static void activations_are_in_a_sane_range(void **state)
{
    (void)state;
    static const struct expectation expectations[] = {
        {"resnet50", 0, 0, 2, 0.5, 5},   {"unet3d", 0, 0, 0.05, 0.005, 0.05},
        {"rnnt", 0, 0, 0.5, 0.05, 0.7},  {"rnnt", 1, 0, 0.5, 0.05, 0.7},
        {"rnnt", 2, 0, 2, 0.5, 5},       {"bert-large", 0, 0, 2, 0.2, 3},
        {"bert-large", 0, 1, 2, 0.2, 3}, {"dlrm", 0, 0, 0.9, 0.005, 0.4},
    };

    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        struct running r;
        run_graph(expectations[i].network, expectations[i].graph, &r);
        check_output(&expectations[i], &r.outputs[expectations[i].output]);
        /* Two samples are answered differently. */
        const struct vt_tensor *output = &r.outputs[expectations[i].output];
        assert_int_equal(output->dim[0], 2);
        assert_memory_not_equal(output->data, (const char *)output->data + output->bytes / 2,
                                output->bytes / 2);
        end_running(&r);
    }
}

/* Tokens of a question are told apart, which a random network of many layers easily loses. */
static void tokens_stay_apart(void **state)
{
    (void)state;
    struct running r;
    struct vt_tensor row;

    run_graph("bert-large", 0, &r);
    row = r.outputs[0];
    row.bytes /= 2; /* the first question */
    check_output(&(struct expectation){"bert-large", 0, 0, 2, 0.2, 3}, &row);
    end_running(&r);
}

static float overlap(const float *a, const float *b)
{
    float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    float both = w > 0 && h > 0 ? w * h : 0;
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

/* Detections as RetinaNet promises them: sorted scores above the threshold, boxes in the image,
 * none of a class above half of another of it. */
static void detections_are_sound(void **state)
{
    (void)state;
    struct running r;

    run_graph("retinanet", 0, &r);
    const float *boxes = r.outputs[0].data, *scores = r.outputs[1].data;
    const int64_t *labels = r.outputs[2].data, n = r.outputs[1].dim[0];
    int64_t classes[16] = {0}, n_classes = 0;
    assert_true(n >= 20 && n <= 50);
    assert_int_equal(r.outputs[0].dim[0], n);
    assert_int_equal(r.outputs[2].dim[0], n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(scores[i] > 0.05F && scores[i] < 1 && (i == 0 || scores[i] <= scores[i - 1]));
        assert_true(labels[i] >= 0 && labels[i] < 16);
        n_classes += classes[labels[i]]++ == 0;
        for (int c = 0; c < 4; c++) {
            assert_true(boxes[4 * i + c] >= 0 && boxes[4 * i + c] <= 128);
        }
        for (int64_t k = 0; k < i; k++) {
            assert_true(labels[i] != labels[k] ||
                        overlap(boxes + 4 * i, boxes + 4 * k) <= 0.5F + 1e-3F);
        }
    }
    assert_true(n_classes >= 3);
    end_running(&r);
}

/* --- names and values ------------------------------------------------------------------------ */

static void names_choose_graphs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *network;
        size_t graph;
        bool small;
    } good[] = {
        {"resnet50", "resnet50", 0, false},
        {"resnet50-small", "resnet50", 0, true},
        {"rnnt", "rnnt", 0, false},
        {"rnnt-encoder", "rnnt", 0, false},
        {"rnnt-joint-small", "rnnt", 2, true},
        {"bert-large", "bert-large", 0, false},
        {"bert-large-small", "bert-large", 0, true},
    };
    static const char *const bad[] = {
        "",      "resnet",    "resnet50-", "resnet50-big",        "-small", "rnnt-decoder",
        "rnnt-", "resnet500", "bert",      "resnet50-small-small"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct vt_zoo_choice choice;
        assert_true(vt_zoo_choose(good[i].name, &choice));
        assert_string_equal(choice.network->name, good[i].network);
        assert_int_equal(choice.graph, good[i].graph);
        assert_int_equal(choice.small, good[i].small);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_zoo_choice choice;
        if (vt_zoo_choose(bad[i], &choice)) {
            fail_msg("'%s' is a name", bad[i]);
        }
    }
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *network, *set, *says;
    } wrong[] = {
        {"resnet50", "clases=3", "did you mean 'classes'"},
        {"resnet50", "classes", "KEY=VALUE"},
        {"resnet50", "=3", "KEY=VALUE"},
        {"resnet50", "classes=1", "allowed are 2..100000"},
        {"resnet50", "classes=many", "allowed are 2..100000"},
        {"resnet50", "classes=99999999999999999999", "allowed are"},
        {"retinanet", "image=100", "multiple of 32"},
        {"retinanet", "groups=7", "does not divide"},
        {"unet3d", "edge=33", "no multiple of 8"},
        {"rnnt", "frames=7", "even"},
        {"bert-large", "heads=7", "heads do not divide"},
        {"bert-large", "tokens=8192", "more tokens than positions"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vt_zoo_spec spec;
        struct vt_error err = VT_ERROR_INIT;
        const struct vt_text_list sets = {(const char *[]){wrong[i].set}, 1};
        enum vt_status status =
            vt_zoo_spec_init(&spec, vt_zoo_find(wrong[i].network), true, 1, &sets, &err);
        if (status == VT_OK) {
            status = vt_zoo_write(&spec, in_folder("wrong"), &err);
        }
        assert_int_equal(status, VT_ERR_USAGE);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("%s: %s", wrong[i].set, err.text);
        }
        assert_false(vt_path_exists(in_folder("wrong")));
    }
}

static void the_cache_is_written_once(void **state)
{
    (void)state;
    struct vt_zoo_choice choice;
    struct vt_error err = VT_ERROR_INIT;
    char *first = NULL, *second = NULL;

    assert_true(vt_zoo_choose("rnnt-joint-small", &choice));
    assert_int_equal(setenv("XDG_CACHE_HOME", in_folder("cache"), 1), 0);
    assert_int_equal(vt_zoo_cache(&choice, &err, &first), VT_OK);
    assert_true(vt_path_exists(first));
    /* What lies there is taken as it is. */
    FILE *file = fopen(first, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(vt_zoo_cache(&choice, &err, &second), VT_OK);
    assert_string_equal(first, second);
    struct vt_file_map map;
    assert_int_equal(vt_file_map_open(second, &err, &map), VT_OK);
    assert_int_equal(map.size, 0);
    vt_file_map_release(&map);
    vt_free(first);
    vt_free(second);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
    assert_int_equal(vt_zoo_cache(&choice, &err, &first), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "XDG_CACHE_HOME"));
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", "relative", 1), 0);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_zoo_cache(&choice, &err, &first), VT_ERR_WRITE);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct vt_zoo_spec spec = spec_of("rnnt", true);
    bool done = false;

    for (int allowed = 0; !done && allowed < 2000; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_zoo_write_graph(&spec, 1, in_folder("t.onnx"), &err);
        int live = vt_torture_end(&torture);
        assert_int_equal(live, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
        done = status == VT_OK;
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_the_published_ones),
        cmocka_unit_test(whole_tables_of_dlrm_take_96_gb),
        cmocka_unit_test(bytes_are_the_same_everywhere),
        cmocka_unit_test(another_seed_gives_other_weights),
        cmocka_unit_test(random_numbers_have_their_moments),
        cmocka_unit_test(activations_are_in_a_sane_range),
        cmocka_unit_test(tokens_stay_apart),
        cmocka_unit_test(detections_are_sound),
        cmocka_unit_test(names_choose_graphs),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(the_cache_is_written_once),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
