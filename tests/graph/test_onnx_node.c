/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import and inference against the conformance models of the ONNX project (Debian package
 * libonnx-testdata): the shapes that inference finds are those that each case's expected outputs
 * really have.
 */
#include <dirent.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph/inspect.h"
#include "onnx_writer.h"

#ifndef DATA /* another folder can be given when compiling */
#define DATA "/usr/share/libonnx-testdata/data"
#endif

/* A TensorProto file as the constant of a model of its own. */
struct held {
    struct vt_model *model;
    struct pb bytes; /* borrowed by the model */
};

static void drop(struct held *held)
{
    vt_model_free(held->model);
    pb_free(&held->bytes);
}

static bool load_tensor(const char *path, struct held *ret_held, const struct vt_tensor **ret)
{
    struct vt_error err = VT_ERROR_INIT;
    struct held held = {NULL, {NULL, 0, 0}};
    struct pb graph = {NULL, 0, 0}, tensor = {NULL, 0, 0};
    char *text;
    size_t size;

    if (vt_file_read(path, (size_t)64 << 20, &err, &text, &size) != VT_OK) {
        return false;
    }
    pb_raw(&tensor, text, size);
    pb_text(&tensor, 8, "x"); /* the last name counts */
    vt_free(text);
    pb_message(&graph, OX_INITIALIZER, &tensor);
    held.bytes = ox_model(13, &graph);
    if (vt_model_import_memory("tensor", held.bytes.bytes, held.bytes.size, NULL, &err,
                               &held.model) != VT_OK) {
        drop(&held);
        return false;
    }
    *ret_held = held;
    *ret = vt_model_values(held.model)[0].constant;
    return true;
}

enum verdict {
    AGREES,
    OPEN, /* an extent or a type is not known: it hangs on data in between */
    DIFFERS,
};

static enum verdict compare(const struct vt_shape_info *info, const struct vt_tensor *expected)
{
    enum verdict verdict = AGREES;
    /* The files keep the bits of a bfloat16 as uint16. */
    enum vt_dtype dtype =
        info->dtype == VT_BF16 && expected->dtype == VT_U16 ? VT_U16 : info->dtype;

    if (info->dtype == VT_UNDEFINED || info->rank == VT_RANK_UNKNOWN) {
        return dtype != VT_UNDEFINED && dtype != expected->dtype ? DIFFERS : OPEN;
    }
    if (dtype != expected->dtype || info->rank != expected->rank) {
        return DIFFERS;
    }
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dim[d] < 0) {
            if (info->bound[d] >= 0 && info->bound[d] < expected->dim[d]) {
                return DIFFERS;
            }
            verdict = OPEN;
        } else if (info->dim[d] != expected->dim[d]) {
            return DIFFERS;
        }
    }
    return verdict;
}

/* Infers with the case's inputs, contents included, and compares with its outputs. */
static enum verdict run_case(const struct vt_model *model, const char *folder)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct vt_error err = VT_ERROR_INIT;
    struct held held[32];
    struct vt_port ports[16];
    const struct vt_tensor *tensors[16];
    char path[640], text[128];
    enum verdict verdict = AGREES;
    uint32_t n_held = 0;

    if (graph->n_inputs > 16 || graph->n_outputs > 16) {
        return OPEN;
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        (void)snprintf(path, sizeof(path), "%s/test_data_set_0/input_%u.pb", folder, i);
        if (!load_tensor(path, &held[n_held], &tensors[i])) {
            verdict = OPEN;
            goto done;
        }
        n_held++;
        ports[i] = (struct vt_port){.dtype = tensors[i]->dtype, .rank = tensors[i]->rank};
        memcpy(ports[i].dim, tensors[i]->dim, sizeof(ports[i].dim));
    }
    struct vt_shape_info *infos = calloc(vt_model_value_count(model), sizeof(*infos));
    assert_non_null(infos);
    enum vt_status status = vt_model_infer(model, ports, tensors, &err, infos);
    if (status != VT_OK) {
        print_message("%s\n", err.text);
        verdict = status == VT_ERR_UNSUPPORTED ? OPEN : DIFFERS;
    }
    for (uint32_t i = 0; status == VT_OK && i < graph->n_outputs; i++) {
        const struct vt_tensor *expected;
        (void)snprintf(path, sizeof(path), "%s/test_data_set_0/output_%u.pb", folder, i);
        if (!load_tensor(path, &held[n_held], &expected)) {
            verdict = verdict == AGREES ? OPEN : verdict;
            continue;
        }
        n_held++;
        const struct vt_shape_info *info = &infos[graph->outputs[i]];
        enum verdict one = compare(info, expected);
        if (one == DIFFERS) {
            print_message("%s: output %u is %s %s, inferred %s ", folder, i,
                          vt_dtype_name(expected->dtype),
                          vt_shape_text(expected->dim, expected->rank, NULL, text, sizeof(text)),
                          vt_dtype_name(info->dtype));
            print_message("%s\n",
                          info->rank == VT_RANK_UNKNOWN
                              ? "?"
                              : vt_shape_text(info->dim, info->rank, NULL, text, sizeof(text)));
        }
        verdict = one > verdict ? one : verdict;
    }
    free(infos);
done:
    for (uint32_t i = 0; i < n_held; i++) {
        drop(&held[i]);
    }
    return verdict;
}

struct totals {
    unsigned cases, imported, agree, open, differ;
};

static struct totals run_folder(const char *folder)
{
    struct totals totals = {0};
    char path[512], model_path[640];
    DIR *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model *model;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)snprintf(model_path, sizeof(model_path), "%s/model.onnx", path);
        if (entry->d_name[0] == '.' || !vt_path_exists(model_path)) {
            continue;
        }
        totals.cases++;
        enum vt_status status = vt_model_import(model_path, NULL, &err, &model);
        if (status != VT_OK) {
            /* Nothing in these files is malformed: only beyond what is supported. */
            if (status != VT_ERR_UNSUPPORTED) {
                print_message("%s\n", err.text);
            }
            if (getenv("VT_TEST_VERBOSE") != NULL) {
                print_message("%s\n", err.text);
            }
            assert_int_equal(status, VT_ERR_UNSUPPORTED);
            assert_non_null(strstr(err.text, model_path));
            continue;
        }
        totals.imported++;
        enum verdict verdict = run_case(model, path);
        if (verdict == OPEN && getenv("VT_TEST_VERBOSE") != NULL) {
            print_message("open: %s\n", path);
        }
        totals.agree += verdict == AGREES;
        totals.open += verdict == OPEN;
        totals.differ += verdict == DIFFERS;
        vt_model_free(model);
    }
    closedir(dir);
    print_message("%s: imported %u of %u, shapes agree in %u, open in %u, differ in %u\n", folder,
                  totals.imported, totals.cases, totals.agree, totals.open, totals.differ);
    return totals;
}

static void test_node_models(void **state)
{
    (void)state;
    struct totals totals = run_folder(DATA "/node");
    assert_int_equal(totals.differ, 0);
    assert_true(totals.imported >= 710);
    assert_true(totals.agree >= 655);
}

static void test_simple_models(void **state)
{
    (void)state;
    struct totals totals = run_folder(DATA "/simple");
    assert_int_equal(totals.differ, 0);
    assert_true(totals.agree >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_models),
        cmocka_unit_test(test_simple_models),
    };
    if (!vt_path_is_folder(DATA "/node")) {
        print_message("skipped: the package libonnx-testdata is not installed\n");
        return VT_TEST_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
