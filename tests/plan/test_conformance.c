/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX project's own operator tests (Debian package libonnx-testdata): every case is imported,
 * planned and run, and its outputs are compared. Each runs in a process of its own, so that a
 * crash or a hang is laid to its case.
 *
 *     test_conformance            all cases
 *     test_conformance PART       those whose name contains PART, each with its outcome
 *
 * conformance_exceptions.txt lists what is not expected to pass: a case, or a pattern with `*`, and
 * the reason, one a line. A case outside the list must pass, one inside it must not.
 *
 * VATIO_CONFORMANCE_DATA names another folder of the same layout, such as the newer cases that
 * tools/make_onnx_cases.py writes. Of those, what is not supported is only counted; what is must be
 * right, or listed.
 */
#include "vt_test.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "conformance_tensor.h"
#include "kernels/convert/convert.h"
#include "plan/plan.h"

#define DATA           "/usr/share/libonnx-testdata/data"
#define MINIMUM_PASSED 998
#define TENSORS_MAX    32
#define SECONDS_MAX    60

enum outcome { PASSED, UNSUPPORTED, FAILED, OUTCOMES };

static const char *data = DATA;

struct verdict {
    enum outcome outcome;
    char text[VT_ERROR_TEXT_MAX + 128];
};

/* Why cases are not supported, counted. */
struct reason {
    char text[160];
    int count;
};

static struct reason reasons[1024];
static int n_reasons;
static int counts[OUTCOMES];
static const char *only;
static char exceptions[32768];
static int surprises; /* cases that contradict the list */

static void say(struct verdict *v, enum outcome outcome, const char *fmt, ...) VT_PRINTF(3, 4);
static void say(struct verdict *v, enum outcome outcome, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    v->outcome = outcome;
    vsnprintf(v->text, sizeof(v->text), fmt, args);
    va_end(args);
}

/* Writes a path; one that is too long is an empty one, which is not found. */
static void set_path(char *path, size_t size, const char *fmt, ...) VT_PRINTF(3, 4);
static void set_path(char *path, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(path, size, fmt, args) >= (int)size)
        path[0] = '\0';
    va_end(args);
}

static double element(const struct vt_tensor *t, int64_t i)
{
    double x = 0;
    vt_convert(t->dtype, (const char *)t->data + i * (int64_t)vt_dtype_bytes(t->dtype), VT_F64, &x,
               1);
    return x;
}

static bool compare(const struct vt_tensor *got, const struct vt_tensor *want, uint32_t output,
                    struct verdict *v)
{
    char a[96], b[96];
    int64_t n = 0;
    if (got->dtype != want->dtype || !vt_tensor_same_shape(got, want)) {
        say(v, FAILED, "output %u is %s %s, wanted %s %s", output, vt_dtype_name(got->dtype),
            vt_shape_text(got->dim, got->rank, NULL, a, sizeof(a)), vt_dtype_name(want->dtype),
            vt_shape_text(want->dim, want->rank, NULL, b, sizeof(b)));
        return false;
    }
    const bool exact = got->dtype != VT_F32 && got->dtype != VT_F64 && got->dtype != VT_F16 &&
                       got->dtype != VT_BF16;
    if (!vt_shape_elements(want->dim, want->rank, &n))
        n = 0;
    if (exact && memcmp(got->data, want->data, want->bytes) == 0)
        return true;
    for (int64_t i = 0; i < n; i++) {
        const double x = element(got, i), y = element(want, i);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        /* Half precision: a few units in its last place. */
        const double relative = got->dtype == VT_BF16  ? 0x1p-6
                                : got->dtype == VT_F16 ? 0x1p-9
                                                       : 1e-3;
        if (exact || !(fabs(x - y) <= 1e-4 + relative * fabs(y))) {
            say(v, FAILED, "output %u element %lld is %.9g, wanted %.9g", output, (long long)i, x,
                y);
            return false;
        }
    }
    return true;
}

/* Reads folder/KIND_0.pb, KIND_1.pb … */
static bool read_tensors(const char *folder, const char *kind, struct vt_tensor *ret, uint32_t *n)
{
    char path[1024];
    for (*n = 0; *n < TENSORS_MAX; ++*n) {
        set_path(path, sizeof(path), "%s/%s_%u.pb", folder, kind, *n);
        if (!vt_path_exists(path))
            break;
        if (!conformance_tensor_read(path, &ret[*n]))
            return false;
    }
    return true;
}

/* The older cases store bfloat16 as uint16: the model knows better. */
static void restore_type(struct vt_tensor *tensor, const struct vt_model *model, uint32_t value)
{
    if (tensor->dtype == VT_U16 && vt_model_values(model)[value].dtype == VT_BF16)
        tensor->dtype = VT_BF16;
}

static void run_set(const struct vt_model *model, struct vt_weights *weights, const char *folder,
                    struct verdict *v)
{
    struct vt_tensor inputs[TENSORS_MAX], wanted[TENSORS_MAX], got[TENSORS_MAX];
    uint32_t n_inputs, n_wanted;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_plan *plan = NULL;
    if (!read_tensors(folder, "input", inputs, &n_inputs) ||
        !read_tensors(folder, "output", wanted, &n_wanted)) {
        say(v, UNSUPPORTED, "its data are not tensors of numbers");
        return;
    }
    const struct vt_graph *graph = vt_model_graph(model);
    for (uint32_t i = 0; i < n_inputs && i < graph->n_inputs; i++)
        restore_type(&inputs[i], model, graph->inputs[i]);
    for (uint32_t i = 0; i < n_wanted && i < graph->n_outputs; i++)
        restore_type(&wanted[i], model, graph->outputs[i]);
    enum vt_status status = vt_plan_new(model, weights, NULL, inputs, n_inputs, NULL, &err, &plan);
    if (status != VT_OK) {
        say(v, status == VT_ERR_UNSUPPORTED ? UNSUPPORTED : FAILED, "%s: %s",
            vt_status_name(status), err.text);
        return;
    }
    /* Twice: the second run meets buffers that hold the first one's values. */
    for (int turn = 0; turn < 2 && v->outcome == PASSED; turn++) {
        status = vt_plan_run(plan, inputs, n_inputs, &err, got, n_wanted);
        if (status != VT_OK) {
            say(v, status == VT_ERR_UNSUPPORTED ? UNSUPPORTED : FAILED, "%s: %s",
                vt_status_name(status), err.text);
            break;
        }
        for (uint32_t i = 0; i < n_wanted && v->outcome == PASSED; i++)
            compare(&got[i], &wanted[i], i, v);
    }
    vt_plan_free(plan);
}

static void run_case(const char *folder, struct verdict *v)
{
    char path[1024];
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    struct vt_weights *weights = NULL;
    v->outcome = PASSED;
    set_path(path, sizeof(path), "%s/model.onnx", folder);
    enum vt_status status = vt_model_import(path, NULL, &err, &model);
    if (status == VT_OK)
        status = vt_weights_new(model, &err, &weights);
    if (status != VT_OK)
        say(v, status == VT_ERR_UNSUPPORTED ? UNSUPPORTED : FAILED, "%s: %s",
            vt_status_name(status), err.text);
    for (int set = 0; v->outcome == PASSED; set++) {
        set_path(path, sizeof(path), "%s/test_data_set_%d", folder, set);
        if (!vt_path_is_folder(path))
            break;
        run_set(model, weights, path, v);
    }
    vt_weights_free(weights);
    vt_model_free(model);
}

static void run_in_process(const char *folder, struct verdict *v)
{
    int ends[2];
    memset(v, 0, sizeof(*v));
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS_MAX);
        run_case(folder, v);
        const ssize_t n = write(ends[1], v, sizeof(*v));
        _exit(n == (ssize_t)sizeof(*v) ? 0 : 1);
    }
    close(ends[1]);
    const ssize_t n = read(ends[0], v, sizeof(*v));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        say(v, FAILED, "ended by signal %d", WTERMSIG(status));
    else if (n != (ssize_t)sizeof(*v) || WEXITSTATUS(status) != 0)
        say(v, FAILED, "ended without a result (exit code %d)", WEXITSTATUS(status));
}

/* The reason without what differs from case to case: from the last path or quoted name on. */
static void count_reason(const char *text)
{
    const char *at = strstr(text, "operator");
    if (at == NULL)
        at = strstr(text, "node '");
    if (at == NULL)
        at = strrchr(text, '/');
    if (at != NULL && strncmp(at, "node '", 6) == 0) {
        const char *quote = strchr(at + 6, '\'');
        at = quote != NULL ? quote + 1 : at;
    }
    at = at != NULL ? at : text;
    for (int i = 0; i < n_reasons; i++) {
        if (strncmp(reasons[i].text, at, sizeof(reasons[i].text) - 1) == 0) {
            reasons[i].count++;
            return;
        }
    }
    if (n_reasons < (int)(sizeof(reasons) / sizeof(reasons[0]))) {
        const size_t length = strnlen(at, sizeof(reasons[0].text) - 1);
        memcpy(reasons[n_reasons].text, at, length);
        reasons[n_reasons++].count = 1;
    }
}

/* Whether the file of exceptions has a line "PATTERN reason…" that fits. */
static bool is_exception(const char *name)
{
    for (const char *at = exceptions; *at != '\0';) {
        char pattern[128];
        const size_t line = strcspn(at, "\n"), word = strcspn(at, " \n");
        if (at[0] != '#' && word > 0 && word < sizeof(pattern)) {
            memcpy(pattern, at, word);
            pattern[word] = '\0';
            if (fnmatch(pattern, name, 0) == 0)
                return true;
        }
        at += line + (at[line] == '\n');
    }
    return false;
}

/* A case that passed or not, against what the list says of it. */
static void judge(const char *part, const char *name, const struct verdict *v)
{
    static const char *const words[OUTCOMES] = {"passed", "unsupported", "FAILED"};
    const bool listed = is_exception(name), passed = v->outcome == PASSED;
    counts[v->outcome]++;
    if (v->outcome == UNSUPPORTED)
        count_reason(v->text);
    if (only != NULL)
        printf("%s %s/%s %s\n", words[v->outcome], part, name, v->text);
    if (strcmp(data, DATA) == 0 ? listed == passed : v->outcome == FAILED && !listed) {
        surprises++;
        printf("%s %s/%s %s\n",
               passed ? "passes, but is listed as an exception:" : words[v->outcome], part, name,
               v->text);
    }
}

static void run_folder(const char *part)
{
    char folder[512], path[1024];
    struct dirent **entries;
    set_path(folder, sizeof(folder), "%s/%s", data, part);
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        struct verdict v;
        set_path(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (strncmp(entries[i]->d_name, "test_", 5) == 0 &&
            (only == NULL || strstr(entries[i]->d_name, only) != NULL)) {
            run_in_process(path, &v);
            judge(part, entries[i]->d_name, &v);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static int by_count(const void *a, const void *b)
{
    return ((const struct reason *)b)->count - ((const struct reason *)a)->count;
}

static void read_exceptions(void)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(vt_file_read(VT_TEST_SOURCE "/conformance_exceptions.txt",
                                  sizeof(exceptions) - 1, NULL, &text, &size),
                     VT_OK);
    memcpy(exceptions, text, size + 1);
    vt_free(text);
}

static void test_cases(void **state)
{
    (void)state;
    read_exceptions();
    run_folder("node");
    run_folder("simple");
    run_folder("pytorch-operator");
    run_folder("pytorch-converted");
    qsort(reasons, (size_t)n_reasons, sizeof(reasons[0]), by_count);
    for (int i = 0; i < n_reasons; i++)
        printf("%4d  %s\n", reasons[i].count, reasons[i].text);
    printf("conformance: %d passed, %d unsupported, %d failed\n", counts[PASSED],
           counts[UNSUPPORTED], counts[FAILED]);
    assert_int_equal(surprises, 0);
    if (only == NULL && strcmp(data, DATA) == 0)
        assert_true(counts[PASSED] >= MINIMUM_PASSED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    if (getenv("VATIO_CONFORMANCE_DATA") != NULL)
        data = getenv("VATIO_CONFORMANCE_DATA");
    if (!vt_path_is_folder(data)) {
        printf("skipped: the package libonnx-testdata is not installed\n");
        return VT_TEST_SKIPPED;
    }
    only = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
