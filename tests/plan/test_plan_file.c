/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan files: what was packed is mapped and computes the same, a changed model is refused, what was
 * made elsewhere is not used, and a damaged file is one clear error.
 */
#include "plan_fixture.h"
#include "vt_torture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/topology.h"
#include "base/version.h"
#include "plan/plan_file_format.h"

#define IMAGE_FLOATS (1 * 8 * 8)
#define PAGE         VT_PLAN_FILE_PAGE

static char folder[64], model_path[96], plan_path[96];
static float image[4 * IMAGE_FLOATS];

static void copy_file(const char *from, const char *to)
{
    char *text;
    size_t size;
    assert_int_equal(vt_file_read(from, (size_t)1 << 30, NULL, &text, &size), VT_OK);
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    vt_free(text);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/vatio-plan-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(model_path, sizeof(model_path), "%s/digits.onnx", folder);
    snprintf(plan_path, sizeof(plan_path), "%s/digits.plan", folder);
    for (size_t i = 0; i < sizeof(image) / sizeof(image[0]); i++) {
        image[i] = (float)(i * 7 % 31) / 31.0f;
    }
    copy_file(VT_TEST_DIGITS, model_path);
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static struct vt_tensor digit(int batch)
{
    return view(VT_F32, image, batch, 1, 8, 8, -1);
}

/* With the channels first there is more than one way to convolve. */
static struct vt_plan_options channels_first(struct vt_tuning *tuning)
{
    return (struct vt_plan_options){.without = UINT64_C(1) << vt_plan_pass_find("channels-last"),
                                    .tuning = tuning};
}

static void plan_with(struct fixture *f, const struct vt_plan_options *options)
{
    struct vt_tensor input = digit(1);
    vt_plan_free(f->plan);
    f->plan = NULL;
    if (vt_plan_new(f->model, f->weights, f->pool, &input, 1, options, &f->err, &f->plan) !=
        VT_OK) {
        fail_msg("%s", f->err.text);
    }
}

static struct vt_plan_file_contents contents_of(const struct fixture *f, struct vt_tuning *tuning)
{
    static const struct vt_shape_binding shapes[] = {{"N", 1, {1}}, {"a name", 2, {3, 224}}};
    return (struct vt_plan_file_contents){.model = f->model,
                                          .path = model_path,
                                          .name = model_path,
                                          .threads = 2,
                                          .batch = 1,
                                          .shapes = shapes,
                                          .n_shapes = 2,
                                          .weights = f->weights,
                                          .tuning = tuning};
}

/* The model planned and written; closes the fixture. The outputs are those of its run. */
static void write_plan(float ret_outputs[10])
{
    struct fixture f;
    struct vt_tensor input = digit(1);
    fixture_open(&f, folder, "digits.onnx", 1);
    plan_with(&f, NULL);
    fixture_run(&f, &input, 1);
    memcpy(ret_outputs, f.outputs[0].data, 10 * sizeof(float));
    const struct vt_plan_file_contents contents = contents_of(&f, NULL);
    if (vt_plan_file_write(plan_path, &contents, &f.err) != VT_OK) {
        fail_msg("%s", f.err.text);
    }
    fixture_close(&f);
}

static struct vt_plan_file *open_plan(void)
{
    struct vt_plan_file *file = NULL;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_plan_file_open(plan_path, &err, &file) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

static struct vt_weights_stats stats_of(const struct fixture *f)
{
    struct vt_weights_stats stats;
    vt_weights_stats(f->weights, &stats);
    return stats;
}

static void test_mapped_weights_compute_the_same(void **state)
{
    (void)state;
    float expected[10];
    struct vt_plan_file_info info;
    struct fixture f;
    struct vt_tensor input = digit(1);
    write_plan(expected);
    assert_true(vt_plan_file_is(plan_path));
    assert_false(vt_plan_file_is(model_path));
    assert_false(vt_plan_file_is(folder));
    struct vt_plan_file *file = open_plan();
    vt_plan_file_info(file, &info);
    assert_string_equal(info.version, vt_version());
    assert_string_equal(info.model, model_path);
    assert_int_equal(info.threads, 2);
    assert_int_equal(info.batch, 1);
    assert_int_equal(info.features, vt_topology()->features);
    assert_null(info.unused);
    assert_true(info.n_weights >= 3 && info.weight_bytes > 0);
    assert_int_equal(info.n_shapes, 2);
    assert_string_equal(info.shapes[0].name, "N");
    assert_string_equal(info.shapes[1].name, "a name");
    assert_int_equal(info.shapes[1].rank, 2);
    assert_int_equal(info.shapes[1].dim[1], 224);

    fixture_open(&f, folder, "digits.onnx", 1);
    assert_int_equal(vt_plan_file_check(file, f.model, model_path, &f.err), VT_OK);
    vt_weights_use(f.weights, file);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    assert_memory_equal(f.outputs[0].data, expected, sizeof(expected));
    assert_int_equal(stats_of(&f).packed, 0);
    assert_int_equal(stats_of(&f).mapped, info.n_weights);
    assert_int_equal(stats_of(&f).mapped_bytes, info.weight_bytes);
    /* Whole pages: what one process reads another one shares. */
    const uint8_t *bytes;
    size_t size;
    for (uint32_t i = 0; vt_plan_file_blob(file, i, &bytes, &size); i++) {
        assert_int_equal((uintptr_t)bytes % PAGE, 0);
    }
    fixture_close(&f);
    vt_plan_file_free(file);
}

/* Weights in half precision are made float, then packed: both forms are in the file. */
static void test_forms_of_forms(void **state)
{
    (void)state;
    struct fixture f;
    struct vt_signature signature;
    struct vt_tensor inputs[4];
    char path[1024];
    snprintf(path, sizeof(path), "%s/brain_half.onnx", VT_TEST_SOURCE "/data");
    for (int round = 0; round < 2; round++) {
        struct vt_plan_file *file = round == 1 ? open_plan() : NULL;
        fixture_open(&f, VT_TEST_SOURCE "/data", "brain_half.onnx", 1);
        assert_int_equal(vt_model_signature(f.model, NULL, 0, &f.err, &signature), VT_OK);
        assert_in_range(signature.n_inputs, 1, 4);
        for (uint32_t i = 0; i < signature.n_inputs; i++) {
            const struct vt_port *port = &signature.inputs[i];
            inputs[i] = (struct vt_tensor){.dtype = port->dtype, .rank = port->rank};
            for (uint32_t d = 0; d < port->rank; d++) {
                inputs[i].dim[d] = port->dim[d] > 0 ? port->dim[d] : 1;
            }
        }
        if (round == 1) {
            vt_weights_use(f.weights, file);
        }
        fixture_plan(&f, inputs, signature.n_inputs);
        struct vt_plan_file_contents contents = contents_of(&f, NULL);
        contents.path = path;
        if (round == 0) {
            assert_true(stats_of(&f).packed >= 2);
            assert_int_equal(vt_plan_file_write(plan_path, &contents, &f.err), VT_OK);
        } else {
            assert_int_equal(stats_of(&f).packed, 0);
        }
        vt_signature_release(&signature);
        fixture_close(&f);
        vt_plan_file_free(file);
    }
}

/* A plan that only checks packs nothing. */
static void test_check_only(void **state)
{
    (void)state;
    struct fixture f;
    const struct vt_plan_options options = {.check_only = true};
    fixture_open(&f, folder, "digits.onnx", 1);
    plan_with(&f, &options);
    assert_int_equal(stats_of(&f).packed, 0);
    plan_with(&f, NULL);
    assert_true(stats_of(&f).packed > 0);
    fixture_close(&f);
}

/* The tuning's answers travel with the plan: the same kernels, found without measuring. */
static void test_answers_travel(void **state)
{
    (void)state;
    struct fixture f;
    struct vt_tensor input = digit(1);
    struct vt_tuning_options measure = {NULL, true, INT64_MAX}, look_up = {NULL, false, 0};
    struct vt_tuning *tuning = NULL;
    float by_rule[10], tuned[10];
    struct vt_tuning_stats stats;

    fixture_open(&f, folder, "digits.onnx", 1);
    struct vt_plan_options options = channels_first(NULL);
    plan_with(&f, &options);
    fixture_run(&f, &input, 1);
    memcpy(by_rule, f.outputs[0].data, sizeof(by_rule));
    assert_int_equal(vt_tuning_new(&measure, NULL, &tuning), VT_OK);
    options.tuning = tuning;
    plan_with(&f, &options);
    fixture_run(&f, &input, 1);
    assert_close(&f.outputs[0], by_rule, 10);
    memcpy(tuned, f.outputs[0].data, sizeof(tuned));
    vt_tuning_stats(tuning, &stats);
    assert_true(stats.measured >= 2);
    assert_int_equal(stats.measured, stats.used);
    const struct vt_plan_file_contents contents = contents_of(&f, tuning);
    assert_int_equal(vt_plan_file_write(plan_path, &contents, NULL), VT_OK);
    fixture_close(&f);
    vt_tuning_free(tuning);

    struct vt_plan_file *file = open_plan();
    const uint32_t measured = stats.measured;
    fixture_open(&f, folder, "digits.onnx", 1);
    vt_weights_use(f.weights, file);
    assert_int_equal(vt_tuning_new(&look_up, NULL, &tuning), VT_OK);
    assert_int_equal(vt_plan_file_answers(file, tuning, NULL), VT_OK);
    options.tuning = tuning;
    plan_with(&f, &options);
    fixture_run(&f, &input, 1);
    assert_memory_equal(f.outputs[0].data, tuned, sizeof(tuned));
    vt_tuning_stats(tuning, &stats);
    assert_int_equal(stats.used, measured);
    assert_int_equal(stats.measured, 0);
    assert_int_equal(stats_of(&f).packed, 0);
    /* The profile tells which kernels were chosen so. */
    uint32_t n_tuned = 0;
    assert_int_equal(vt_plan_profile_begin(f.plan, NULL), VT_OK);
    fixture_run(&f, &input, 1);
    for (uint32_t i = 0; i < vt_plan_profile_count(f.plan); i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(f.plan, i, &step);
        n_tuned += step.tuned;
        assert_true(!step.tuned || strcmp(step.node->op, "Conv") == 0);
    }
    assert_true(n_tuned >= measured);
    fixture_close(&f);
    vt_tuning_free(tuning);
    vt_plan_file_free(file);
}

/* --- the model ---------------------------------------------------------------------------------
 */

static enum vt_status check_model(struct vt_error *err)
{
    struct vt_plan_file *file = open_plan();
    struct fixture f;
    fixture_open(&f, folder, "digits.onnx", 1);
    enum vt_status status = vt_plan_file_check(file, f.model, model_path, err);
    fixture_close(&f);
    vt_plan_file_free(file);
    return status;
}

static void test_a_changed_model(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    float unused[10];
    struct stat info;
    write_plan(unused);
    assert_int_equal(check_model(&err), VT_OK);
    /* Another file with the same content is the same model. */
    assert_int_equal(unlink(model_path), 0);
    copy_file(VT_TEST_DIGITS, model_path);
    assert_int_equal(check_model(&err), VT_OK);
    /* One bit of a weight makes another model, whatever its size and time are. */
    assert_int_equal(stat(model_path, &info), 0);
    FILE *file = fopen(model_path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, info.st_size / 2, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, info.st_size / 2, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, model_path, times, 0), 0);
    assert_int_equal(check_model(&err), VT_ERR_FORMAT);
    assert_non_null(strstr(err.text, plan_path));
    assert_non_null(strstr(err.text, "changed since it was planned"));
    copy_file(VT_TEST_DIGITS, model_path);
}

/* --- damage ------------------------------------------------------------------------------------
 */

/* A file of that text (behind the first line) and `pages` of data. vt_free it. */
static uint8_t *make_file(const char *text, size_t pages, size_t *ret_size)
{
    const size_t n = strlen(text);
    char head[160];
    size_t text_bytes = n + 80;
    /* Blanks are no part of a number: the first line gets its length by its format. */
    int length = snprintf(head, sizeof(head), "%s%s %zu %zu %016llx\n", VT_PLAN_FILE_MAGIC,
                          VT_PLAN_FILE_FORMAT, text_bytes, PAGE, 0ull);
    for (int i = 0; i < 3; i++) {
        text_bytes = n + (size_t)length;
        length =
            snprintf(head, sizeof(head), "%s%s %zu %zu %016llx\n", VT_PLAN_FILE_MAGIC,
                     VT_PLAN_FILE_FORMAT, text_bytes, vt_plan_file_pages(text_bytes) + pages * PAGE,
                     (unsigned long long)vt_plan_file_hash(text, n));
    }
    *ret_size = vt_plan_file_pages(text_bytes) + pages * PAGE;
    uint8_t *bytes = vt_calloc(1, *ret_size);
    assert_non_null(bytes);
    memcpy(bytes, head, (size_t)length);
    memcpy(bytes + length, text, n);
    return bytes;
}

static enum vt_status open_text(const char *text, size_t pages, struct vt_error *err,
                                struct vt_plan_file_info *ret_info)
{
    size_t size;
    struct vt_plan_file *file = NULL;
    uint8_t *bytes = make_file(text, pages, &size);
    err->status = VT_OK;
    enum vt_status status = vt_plan_file_open_memory("some.plan", bytes, size, err, &file);
    if (status == VT_OK) {
        vt_plan_file_info(file, ret_info);
        assert_null(ret_info->unused == NULL ? NULL : strchr(ret_info->unused, '\n'));
        ret_info->version = ret_info->model = NULL;
        ret_info->unused = ret_info->unused != NULL ? "unused" : NULL;
        vt_plan_file_free(file);
    }
    vt_free(bytes);
    return status;
}

static char *text_with(const char *build, unsigned features, const char *lines)
{
    static char text[4096];
    snprintf(text, sizeof(text),
             "version %s\nbuild %s\ncpu %x\nthreads 1\nbatch 1\nmodel m\npart 1 2 3 4 5 6 \n%s",
             vt_version(), build, features, lines);
    return text;
}

static void test_hostile_lines(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "weights 0 0 1 8 conv\n",                       /* not at a page */
        "weights 0 0 8192 1 conv\n",                    /* one byte behind the end */
        "weights 0 0 12288 0 conv\n",                   /* begins behind the end */
        "weights 0 0 4096 4097 conv\n",                 /* ends behind it */
        "weights 0 0 18446744073709547520 4096 conv\n", /* wraps around */
        "weights 0 0 4096 18446744073709551615 conv\n",
        "weights 0 0 0 99999999999999999999999 conv\n", /* no number of ours */
        "weights 4294967296 0 0 8 conv\n",
        "weights 0 g 0 8 conv\n",
        "weights 0 0 0 8 \n",
        "weights 0 0 0 8\n",
        "weights -1 0 0 8 conv\n",
        "weights 0 0 0 8 a.kind.whose.name.is.far.too.long.here\n",
        "shape 1x2x\n",
        "shape 1x2x name\n",
        "shape 1xx2 name\n",
        "shape 1x0 name\n",
        "shape x name\n",
        "shape 1x2\n",
        "shape  name\n",
        "shape 1 \n",
        "shape 1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 name\n",
        "shape 99999999999 name\n",
        "part 1 2 3\n",
        "part\n",
        "answer no tabs\n",
        "answer \t\t\t\n",
        "threads many\n",
        "threads 1 2\n",
        "batch -1\n",
        "cpu xyz\n",
        "wights 0 0 0 8 conv\n",
        "\n",
        "something else\n",
    };
    struct vt_error err = VT_ERROR_INIT;
    struct vt_plan_file_info info;
    const uint32_t features = vt_topology()->features;
    const char *good = text_with(vt_build_id(), features,
                                 "weights 7 ff 4096 4096 conv\nweights 7 ff 0 4096 gemm.b\n"
                                 "shape 1x2 a b\nanswer k\tc\t1\t2\n");
    assert_int_equal(open_text(good, 2, &err, &info), VT_OK);
    assert_int_equal(info.n_weights, 2);
    assert_int_equal(info.n_answers, 1);
    assert_int_equal(info.n_shapes, 1);
    assert_null(info.unused);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (open_text(text_with(vt_build_id(), features, bad[i]), 2, &err, &info) !=
            VT_ERR_FORMAT) {
            fail_msg("accepted: %s", bad[i]);
        }
        assert_non_null(strstr(err.text, "some.plan: a damaged plan: "));
        assert_null(strchr(err.text, '\n'));
    }
    /* What every plan says must be said. */
    assert_int_equal(open_text("version x\nbuild x\nmodel m\n", 0, &err, &info), VT_ERR_FORMAT);
    assert_int_equal(open_text("version x\nbuild x\npart 1 2 3 4 5 6 \n", 0, &err, &info),
                     VT_ERR_FORMAT);
}

/* Weights of another build or other instruction sets are there, but not for us. */
static void test_made_elsewhere(void **state)
{
    (void)state;
    static const char line[] = "weights 7 ff 0 64 conv\n";
    struct vt_error err = VT_ERROR_INIT;
    const uint32_t features = vt_topology()->features;
    for (int elsewhere = 0; elsewhere < 3; elsewhere++) {
        const char *text = text_with(elsewhere == 1 ? "another" : vt_build_id(),
                                     features ^ (elsewhere == 2 ? 1u : 0u), line);
        struct vt_plan_file *file = NULL;
        struct vt_plan_file_info info;
        size_t size;
        uint8_t *bytes = make_file(text, 1, &size);
        assert_int_equal(vt_plan_file_open_memory("some.plan", bytes, size, &err, &file), VT_OK);
        vt_plan_file_info(file, &info);
        const void *found = vt_plan_file_weights(file, 7, "conv", 0xff, 64);
        if (elsewhere == 0) {
            assert_null(info.unused);
            assert_ptr_equal(found, bytes + size - PAGE);
            assert_null(vt_plan_file_weights(file, 7, "conv", 0xff, 65));
            assert_null(vt_plan_file_weights(file, 7, "gemm", 0xff, 64));
            assert_null(vt_plan_file_weights(file, 7, "conv", 0xfe, 64));
            assert_null(vt_plan_file_weights(file, 8, "conv", 0xff, 64));
        } else {
            assert_non_null(info.unused);
            assert_null(found);
        }
        vt_plan_file_free(file);
        vt_free(bytes);
    }
}

static void test_damaged_files(void **state)
{
    (void)state;
    float unused[10];
    char *text;
    size_t size;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_plan_file *file = NULL;
    write_plan(unused);
    assert_int_equal(vt_file_read(plan_path, (size_t)1 << 30, &err, &text, &size), VT_OK);
    const size_t text_bytes = strtoull(text + strlen(VT_PLAN_FILE_MAGIC) + 2, NULL, 10);
    assert_true(text_bytes > 100 && text_bytes < size);
    /* Cut anywhere. */
    for (size_t n = 0; n < size; n += n < text_bytes ? 1 : 997) {
        err.status = VT_OK;
        assert_int_equal(vt_plan_file_open_memory("cut", text, n, &err, &file), VT_ERR_FORMAT);
    }
    /* Any bit of the text. */
    for (size_t i = 0; i < text_bytes; i++) {
        err.status = VT_OK;
        text[i] ^= (char)(1 << i % 7);
        enum vt_status status = vt_plan_file_open_memory("bits", text, size, &err, &file);
        assert_true(status == VT_ERR_FORMAT || status == VT_ERR_UNSUPPORTED);
        assert_null(strchr(err.text, '\n'));
        text[i] ^= (char)(1 << i % 7);
    }
    assert_int_equal(vt_plan_file_open_memory("whole", text, size, &err, &file), VT_OK);
    vt_plan_file_free(file);
    /* A format to come. */
    err.status = VT_OK;
    text[strlen(VT_PLAN_FILE_MAGIC)] = '2';
    assert_int_equal(vt_plan_file_open_memory("new", text, size, &err, &file), VT_ERR_UNSUPPORTED);
    vt_free(text);
    err.status = VT_OK;
    assert_int_equal(vt_plan_file_open(model_path, &err, &file), VT_ERR_FORMAT);
    err.status = VT_OK;
    assert_int_equal(vt_plan_file_open("/nowhere/a.plan", &err, &file), VT_ERR_NOT_FOUND);
}

static void test_names_that_no_line_holds(void **state)
{
    (void)state;
    struct fixture f;
    struct vt_error err = VT_ERROR_INIT;
    fixture_open(&f, folder, "digits.onnx", 1);
    plan_with(&f, NULL);
    struct vt_plan_file_contents contents = contents_of(&f, NULL);
    contents.name = "two\nlines";
    assert_int_equal(vt_plan_file_write(plan_path, &contents, &err), VT_ERR_UNSUPPORTED);
    contents.name = model_path;
    err.status = VT_OK;
    assert_int_equal(vt_plan_file_write("/proc/none/a.plan", &contents, &err), VT_ERR_WRITE);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    float unused[10];
    write_plan(unused);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_plan_file *file = NULL;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_plan_file_open(plan_path, &err, &file);
        done = status == VT_OK;
        vt_plan_file_free(file);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(done || status == VT_ERR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapped_weights_compute_the_same),
        cmocka_unit_test(test_forms_of_forms),
        cmocka_unit_test(test_check_only),
        cmocka_unit_test(test_answers_travel),
        cmocka_unit_test(test_a_changed_model),
        cmocka_unit_test(test_hostile_lines),
        cmocka_unit_test(test_made_elsewhere),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_names_that_no_line_holds),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
