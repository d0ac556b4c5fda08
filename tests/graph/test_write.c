/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of ONNX files against the importer, and its bytes against the wire format. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "graph/graph.h"
#include "graph/write.h"
#include "graph/write_proto.h"
#include "vt_test.h"
#include "vt_torture.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/vt_write_XXXXXX");
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
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Element i of a weight is i + its start. */
static void count_up(const void *ctx, uint64_t first, size_t n, void *ret)
{
    const float *start = ctx;
    float *value = ret;
    for (size_t i = 0; i < n; i++) {
        value[i] = *start + (float)(first + i);
    }
}

/* y = x w + b with w [in, out]; `extra` weights of growing size besides. */
static void describe(struct vt_model_writer *writer, int64_t in, int64_t out, int extra)
{
    static const float starts[2] = {0, 0.5F};
    const struct vt_port x = {"x", VT_F32, 2, {-1, in}, {"batch"}};
    const struct vt_port y = {"y", VT_F32, 2, {-1, out}, {"batch"}};
    int64_t shape[2] = {in, out};
    float *bias = calloc((size_t)out, sizeof *bias);
    struct vt_tensor b = {.dtype = VT_F32,
                          .rank = 1,
                          .dim = {out},
                          .data = bias,
                          .bytes = (size_t)out * sizeof *bias};

    if (bias != NULL) {
        vt_write_input(writer, &x);
        vt_write_output(writer, &y);
        vt_write_metadata(writer, "seed", "7");
        vt_write_weight(writer, "w", VT_F32, 2, shape, count_up, &starts[0]);
        vt_write_constant(writer, "b", &b);
        for (int i = 0; i < extra; i++) {
            char name[16];
            int64_t n = i + 1;
            (void)snprintf(name, sizeof name, "e%d", i);
            vt_write_weight(writer, name, VT_F32, 1, &n, count_up, &starts[1]);
        }
        vt_write_node_begin(writer, "Gemm", "product");
        vt_write_node_input(writer, "x");
        vt_write_node_input(writer, "w");
        vt_write_node_input(writer, "b");
        vt_write_node_output(writer, "y");
        vt_write_attr_float(writer, "alpha", 1.5F);
        vt_write_attr_int(writer, "transB", 0);
        vt_write_node_end(writer);
    }
    free(bias);
}

static const struct vt_value *value_named(const struct vt_model *model, const char *name)
{
    for (uint32_t i = 0; i < vt_model_value_count(model); i++) {
        if (strcmp(vt_model_values(model)[i].name, name) == 0) {
            return &vt_model_values(model)[i];
        }
    }
    fail_msg("no value %s", name);
    return NULL;
}

static struct vt_model *write_and_import(const char *path, int64_t in, int64_t out, int extra,
                                         uint64_t inline_max)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_writer *writer = NULL;
    struct vt_model *model = NULL;

    assert_int_equal(vt_model_writer_new("tester", "graph", 13, &err, &writer), VT_OK);
    describe(writer, in, out, extra);
    if (vt_model_writer_save(writer, path, inline_max, &err) != VT_OK ||
        vt_model_import(path, NULL, &err, &model) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_model_writer_free(writer);
    return model;
}

static void check_count(const struct vt_model *model, const char *name, float start, size_t n)
{
    const struct vt_tensor *tensor = value_named(model, name)->constant;

    assert_non_null(tensor);
    assert_int_equal(tensor->bytes, n * sizeof(float));
    /* Begins at a multiple of 64 in the file, which is mapped at a page. */
    assert_int_equal((uintptr_t)tensor->data % 64, 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(((const float *)tensor->data)[i] == start + (float)i);
    }
}

static void a_model_reads_back(void **state)
{
    (void)state;
    struct vt_model *model = write_and_import(in_folder("a.onnx"), 7, 5, 0, VT_WRITE_INLINE_MAX);
    const struct vt_graph *graph = vt_model_graph(model);

    assert_int_equal(vt_model_opset(model), 13);
    assert_int_equal(vt_model_ir_version(model), 7);
    assert_string_equal(vt_model_producer(model), "tester");
    assert_int_equal(graph->n_nodes, 1);
    assert_string_equal(graph->nodes[0].op, "Gemm");
    assert_string_equal(graph->nodes[0].name, "product");
    assert_true(vt_node_float(&graph->nodes[0], "alpha", 0) == 1.5F);
    assert_int_equal(vt_node_int(&graph->nodes[0], "transB", 9), 0);
    assert_int_equal(graph->n_inputs, 1);
    assert_string_equal(value_named(model, "x")->symbol[0], "batch");
    assert_int_equal(value_named(model, "x")->dim[1], 7);
    check_count(model, "w", 0, 35);
    vt_model_free(model);
}

/* Every length of a message around the borders at which its own length takes another byte. */
static void contents_are_aligned_at_all_lengths(void **state)
{
    (void)state;
    const int extra = 320;
    struct vt_model *model = write_and_import(in_folder("b.onnx"), 3, 2, extra, UINT64_MAX);

    for (int i = 0; i < extra; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "e%d", i);
        check_count(model, name, 0.5F, (size_t)i + 1);
    }
    vt_model_free(model);
    for (int64_t in = 4080; in < 4110; in++) { /* 16 KiB */
        model = write_and_import(in_folder("c.onnx"), in, 1, 0, UINT64_MAX);
        check_count(model, "w", 0, (size_t)in);
        vt_model_free(model);
    }
}

static void large_weights_go_beside_the_model(void **state)
{
    (void)state;
    struct stat info;
    struct vt_model *model = write_and_import(in_folder("d.onnx"), 100, 50, 300, 1000);

    check_count(model, "w", 0, 5000);
    check_count(model, "e10", 0.5F, 11);
    check_count(model, "e299", 0.5F, 300);
    vt_model_free(model);
    assert_int_equal(stat(in_folder("d.onnx.data"), &info), 0);
    assert_true(info.st_size > 20000);
    assert_int_equal(stat(in_folder("d.onnx"), &info), 0);
    assert_true(info.st_size < 256 * 1024);
}

static void the_same_calls_give_the_same_bytes(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    char *bytes[2];
    size_t size[2];

    for (int i = 0; i < 2; i++) {
        const char *path = in_folder(i == 0 ? "e.onnx" : "f.onnx");
        vt_model_free(write_and_import(path, 20, 30, 5, UINT64_MAX));
        assert_int_equal(vt_file_read(path, 1 << 20, &err, &bytes[i], &size[i]), VT_OK);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    vt_free(bytes[0]);
    vt_free(bytes[1]);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_writer *writer = NULL;
    const int64_t huge[2] = {INT64_MAX / 2, 8};

    assert_int_equal(vt_model_writer_new("t", "g", 13, &err, &writer), VT_OK);
    describe(writer, 2, 2, 0);
    assert_int_equal(vt_model_writer_save(writer, "/nowhere/x.onnx", UINT64_MAX, &err),
                     VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/nowhere/x.onnx"));
    vt_write_weight(writer, "huge", VT_F32, 2, huge, count_up, NULL);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_not_equal(vt_model_writer_save(writer, in_folder("g.onnx"), UINT64_MAX, &err),
                         VT_OK);
    assert_false(vt_path_exists(in_folder("g.onnx")));
    vt_model_writer_free(writer);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    bool done = false;

    for (int allowed = 0; !done && allowed < 1000; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model_writer *writer = NULL;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_model_writer_new("t", "g", 13, &err, &writer);
        if (status == VT_OK) {
            describe(writer, 20, 20, 70);
            status = vt_model_writer_save(writer, in_folder("h.onnx"), 1000, &err);
        }
        vt_model_writer_free(writer);
        int live = vt_torture_end(&torture);
        assert_int_equal(live, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
        done = status == VT_OK;
    }
    assert_true(done);
}

static void numbers_take_the_fewest_bytes(void **state)
{
    (void)state;
    /* The wire format: seven bits a byte, the lowest first. */
    struct vt_proto proto = {0};
    vt_proto_int(&proto, 1, 300);
    vt_proto_int(&proto, 20, -1);
    const uint8_t expected[] = {0x08, 0xac, 0x02, 0xa0, 0x01, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    assert_int_equal(proto.size, sizeof expected);
    assert_memory_equal(proto.bytes, expected, sizeof expected);
    vt_proto_release(&proto);
    assert_int_equal(vt_proto_varint_bytes(0), 1);
    assert_int_equal(vt_proto_varint_bytes(127), 1);
    assert_int_equal(vt_proto_varint_bytes(128), 2);
    assert_int_equal(vt_proto_varint_bytes(UINT64_MAX), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_take_the_fewest_bytes),
        cmocka_unit_test(a_model_reads_back),
        cmocka_unit_test(contents_are_aligned_at_all_lengths),
        cmocka_unit_test(large_weights_go_beside_the_model),
        cmocka_unit_test(the_same_calls_give_the_same_bytes),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
