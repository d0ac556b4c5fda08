/* SPDX-License-Identifier: Apache-2.0 */
/* The networks at full size: written, read, and their arithmetic against the published counts. */
#include <math.h>
#include <unistd.h>

#include "graph/inspect.h"
#include "vt_test.h"
#include "zoo/zoo.h"

static char path[64];

static void count(const char *name, const char *set, size_t graph, double gflop, double tolerance)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec;
    struct vt_model *model = NULL;
    struct vt_model_summary summary;
    char data[80];
    const struct vt_text_list sets = {&set, set != NULL ? 1 : 0};

    if (vt_zoo_spec_init(&spec, vt_zoo_find(name), false, VT_ZOO_SEED, &sets, &err) != VT_OK ||
        vt_zoo_write_graph(&spec, graph, path, &err) != VT_OK ||
        vt_model_import(path, NULL, &err, &model) != VT_OK ||
        vt_model_inspect(model, NULL, 0, &err, &summary) != VT_OK) {
        fail_msg("%s: %s", name, err.text);
    }
    print_message("%s: %.4g GFLOP, %lld parameters\n", name, summary.flops / 1e9,
                  (long long)summary.parameters);
    double got = summary.flops / 1e9;
    vt_model_summary_release(&summary);
    vt_model_free(model);
    (void)unlink(path);
    (void)snprintf(data, sizeof data, "%s.data", path);
    (void)unlink(data);
    assert_true(fabs(got - gflop) <= tolerance * gflop);
}

/* Two operations a multiply-add. */
static void operations_are_the_published_ones(void **state)
{
    (void)state;
    count("resnet50", NULL, 0, 2 * 4.09, 0.01);
    count("retinanet", NULL, 0, 2 * 201.2, 0.01);
    count("unet3d", NULL, 0, 2 * 477.3, 0.01);
    count("rnnt", NULL, 0, 2 * 0.942 * 15, 0.01); /* of 15 s */
    count("bert-large", NULL, 0, 246.9, 0.01);
    count("dlrm", NULL, 0, 2 * 2.41e-3, 0.05);
}

/* Beyond what an ONNX file holds: weights lie beside it. */
static void large_tables_go_beside_the_model(void **state)
{
    (void)state;
    count("dlrm", "max_rows=600000", 0, 2 * 2.41e-3, 0.05);
}

static int make_path(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/vt_zoo_full_XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_the_published_ones),
        cmocka_unit_test(large_tables_go_beside_the_model),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
