/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows without a model: made-up outputs, different in every window, are blended as the
 * definition says, computed here element by element in double precision.
 */
#include "plan_fixture.h"
#include "vt_torture.h"

#include "plan/windows.h"

struct shape {
    int64_t extent[3]; /* of the volume */
    struct vt_windows windows;
    int64_t batch, in, out; /* samples, channels */
};

static float made_up(int64_t window, int64_t channel, int64_t element)
{
    uint64_t x = (uint64_t)(window * 1000003 + channel * 10007 + element + 1);
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    return (float)(x & 0xffff) / 32768.0f - 1.0f;
}

/* Where the windows of an axis begin: by the definition, one after another. */
static int64_t positions(int64_t extent, int64_t length, double overlap, int64_t *ret)
{
    int64_t stride = (int64_t)floor((double)length * (1 - overlap)), n = 0, at = 0;
    stride = stride < 1 ? 1 : stride;
    for (; at + length < extent; at += stride) {
        ret[n++] = at;
    }
    ret[n++] = extent - length;
    return n;
}

/* MLPerf's: the cube root of the product of three bells. An axis that is missing has one element.
 */
static double weight_of(const struct vt_windows *windows, const int64_t *place)
{
    double product = 1;
    for (uint32_t i = 0; i < windows->axes; i++) {
        const double n = (double)windows->dim[i];
        const double at = ((double)place[i] - (n - 1) / 2) / (0.125 * n);
        product *= exp(-0.5 * at * at);
    }
    return windows->blend == VT_BLEND_GAUSSIAN ? cbrt(product) : 1.0;
}

struct reference {
    double *sum;    /* [sample][channel][element] */
    double *weight; /* [sample][element] */
};

/* Adds window number `window`, which begins at `at`; elements in the window's order. */
static void add_window(const struct shape *s, const struct reference *r, int64_t window,
                       int64_t sample, const int64_t *at)
{
    const struct vt_windows *w = &s->windows;
    const int64_t whole = s->extent[0] * s->extent[1] * s->extent[2];
    int64_t dim[3] = {1, 1, 1}, place[3];
    memcpy(dim, w->dim, w->axes * sizeof(dim[0]));
    int64_t element = 0;
    for (place[0] = 0; place[0] < dim[0]; place[0]++) {
        for (place[1] = 0; place[1] < dim[1]; place[1]++) {
            for (place[2] = 0; place[2] < dim[2]; place[2]++, element++) {
                const double weight = weight_of(w, place);
                const int64_t to =
                    ((at[0] + place[0]) * s->extent[1] + at[1] + place[1]) * s->extent[2] + at[2] +
                    place[2];
                r->weight[sample * whole + to] += weight;
                for (int64_t c = 0; c < s->out; c++) {
                    r->sum[(sample * s->out + c) * whole + to] +=
                        weight * (double)made_up(window, c, element);
                }
            }
        }
    }
}

/* The volume of the definition; returns how many windows it has. */
static int64_t define(const struct shape *s, const struct reference *r)
{
    static int64_t begin[3][4096];
    int64_t n[3] = {1, 1, 1}, window = 0;
    memset(begin, 0, sizeof(begin));
    for (uint32_t i = 0; i < s->windows.axes; i++) {
        n[i] = positions(s->extent[i], s->windows.dim[i], s->windows.overlap, begin[i]);
    }
    for (int64_t sample = 0; sample < s->batch; sample++) {
        for (int64_t z = 0; z < n[0]; z++) {
            for (int64_t y = 0; y < n[1]; y++) {
                for (int64_t x = 0; x < n[2]; x++) {
                    const int64_t at[3] = {begin[0][z], begin[1][y], begin[2][x]};
                    add_window(s, r, window++, sample, at);
                }
            }
        }
    }
    return window;
}

/* Axes stand first in `extent`; those that are missing are 1. */
static struct vt_tensor volume_of(const struct shape *s, enum vt_dtype dtype, void *data)
{
    struct vt_tensor tensor;
    int64_t dim[VT_RANK_MAX] = {s->batch, s->in};
    memcpy(&dim[2], s->extent, s->windows.axes * sizeof(dim[0]));
    assert_int_equal(vt_tensor_init(&tensor, dtype, s->windows.axes + 2, dim, data, NULL), VT_OK);
    return tensor;
}

/* What was cut is the input there: the input counts its elements. */
static void check_cut(const struct shape *s, const struct vt_tensor *cut, const int64_t *at,
                      int64_t k, int64_t sample)
{
    int64_t dim[3] = {1, 1, 1};
    memcpy(dim, s->windows.dim, s->windows.axes * sizeof(dim[0]));
    const uint16_t *got = (const uint16_t *)cut->data + k * s->in * dim[0] * dim[1] * dim[2];
    for (int64_t c = 0; c < s->in; c++) {
        for (int64_t z = 0; z < dim[0]; z++) {
            for (int64_t y = 0; y < dim[1]; y++) {
                for (int64_t x = 0; x < dim[2]; x++) {
                    const int64_t from =
                        (((sample * s->in + c) * s->extent[0] + at[0] + z) * s->extent[1] + at[1] +
                         y) *
                            s->extent[2] +
                        at[2] + x;
                    assert_int_equal(*got++, (uint16_t)from);
                }
            }
        }
    }
}

/* All runs of a volume with made-up outputs. */
static void run_volume(struct vt_volume *volume, const struct shape *s,
                       const struct vt_tensor *input, struct vt_tensor *cut, float *made,
                       struct vt_error *err)
{
    static int64_t begin[3][4096];
    int64_t n[3] = {1, 1, 1};
    memset(begin, 0, sizeof(begin));
    for (uint32_t i = 0; i < s->windows.axes; i++) {
        n[i] = positions(s->extent[i], s->windows.dim[i], s->windows.overlap, begin[i]);
    }
    struct vt_tensor output;
    int64_t dim[VT_RANK_MAX];
    memcpy(dim, cut->dim, sizeof(dim));
    dim[1] = s->out;
    assert_int_equal(vt_tensor_init(&output, VT_F32, cut->rank, dim, made, NULL), VT_OK);
    int64_t elements = 1;
    for (uint32_t i = 0; i < s->windows.axes; i++) {
        elements *= s->windows.dim[i];
    }
    for (int64_t run = 0; run < vt_volume_runs(volume); run++) {
        vt_volume_cut(volume, input, run);
        for (int64_t k = 0; k < cut->dim[0]; k++) {
            const int64_t window = run * cut->dim[0] + k;
            const int64_t at[3] = {begin[0][window / (n[2] * n[1]) % n[0]],
                                   begin[1][window / n[2] % n[1]], begin[2][window % n[2]]};
            check_cut(s, cut, at, k, window / (n[0] * n[1] * n[2]));
            for (int64_t c = 0; c < s->out; c++) {
                for (int64_t i = 0; i < elements; i++) {
                    made[(k * s->out + c) * elements + i] = made_up(window, c, i);
                }
            }
        }
        if (vt_volume_blend(volume, run, &output, err) != VT_OK) {
            fail_msg("%s", err->text);
        }
    }
}

/* The volume of one sample with one channel, and all samples with all channels. */
static int64_t elements_of(const struct shape *s)
{
    return s->extent[0] * s->extent[1] * s->extent[2];
}

static void check(const struct shape *s, uint32_t threads)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_pool *pool = NULL;
    struct vt_volume *volume = NULL;
    struct vt_tensor cut;
    const size_t whole = (size_t)(elements_of(s) * s->batch);
    struct reference r = {vt_calloc(whole * (size_t)s->out, sizeof(double)),
                          vt_calloc(whole, sizeof(double))};
    uint16_t *data = vt_calloc(whole * (size_t)s->in, sizeof(*data));
    const struct vt_pool_options options = {.threads = threads};
    if (r.sum == NULL || r.weight == NULL || data == NULL) {
        fail();
        return;
    }
    for (size_t i = 0; i < whole * (size_t)s->in; i++) {
        data[i] = (uint16_t)i;
    }
    assert_int_equal(vt_pool_new(&options, &err, &pool), VT_OK);
    const struct vt_tensor input = volume_of(s, VT_U16, data);
    const int64_t windows = define(s, &r);
    assert_int_equal(vt_volume_new(&s->windows, 64, 1, pool, &err, &volume), VT_OK);
    if (vt_volume_begin(volume, &input, &err, &cut) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vt_volume_windows(volume), windows);
    assert_int_equal(vt_volume_runs(volume) * cut.dim[0], windows);
    float *made = vt_calloc(cut.bytes * (size_t)s->out + 1, sizeof(*made));
    assert_non_null(made);
    for (int round = 0; round < 2; round++) {
        run_volume(volume, s, &input, &cut, made, &err);
        const struct vt_tensor *output = vt_volume_outputs(volume);
        assert_int_equal(output->bytes, whole * (size_t)s->out * sizeof(float));
        assert_memory_equal(&output->dim[2], &input.dim[2], s->windows.axes * sizeof(int64_t));
        for (size_t i = 0; i < whole * (size_t)s->out; i++) {
            const size_t n = (size_t)elements_of(s);
            const double wanted = r.sum[i] / r.weight[i / n / (size_t)s->out * n + i % n];
            const double got = (double)((const float *)output->data)[i];
            if (!(fabs(got - wanted) <= 2e-6)) {
                fail_msg("element %zu is %.9g, expected %.9g", i, got, wanted);
            }
        }
    }
    vt_volume_free(volume);
    vt_pool_free(pool);
    vt_free(made);
    vt_free(data);
    vt_free(r.sum);
    vt_free(r.weight);
}

static void test_definition(void **state)
{
    (void)state;
    const struct shape shapes[] = {
        /* as in KiTS19, an eighth of it */
        {{32, 48, 40}, {3, {16, 16, 16}, 0.5, VT_BLEND_GAUSSIAN, 1}, 1, 1, 3},
        /* odd everything, the last windows moved inside */
        {{23, 31, 17}, {3, {7, 9, 5}, 0.5, VT_BLEND_GAUSSIAN, 0}, 1, 2, 2},
        {{23, 31, 17}, {3, {7, 9, 5}, 0.3, VT_BLEND_CONSTANT, 4}, 2, 1, 1},
        {{11, 8, 13}, {3, {11, 8, 5}, 0.75, VT_BLEND_GAUSSIAN, 5}, 3, 1, 2},
        {{9, 9, 9}, {3, {8, 8, 8}, 0, VT_BLEND_CONSTANT, 0}, 1, 1, 1},
        {{5, 6, 7}, {3, {1, 1, 1}, 0.9, VT_BLEND_GAUSSIAN, 64}, 1, 1, 1},
        {{6, 5, 6}, {3, {4, 4, 4}, 0.999, VT_BLEND_GAUSSIAN, 0}, 1, 1, 1},
        /* images and signals */
        {{33, 50, 1}, {2, {16, 12}, 0.5, VT_BLEND_GAUSSIAN, 2}, 2, 3, 4},
        {{1001, 1, 1}, {1, {100}, 0.25, VT_BLEND_CONSTANT, 0}, 1, 1, 2},
        /* the volume is one window */
        {{8, 8, 8}, {3, {8, 8, 8}, 0.5, VT_BLEND_GAUSSIAN, 0}, 2, 1, 1},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        check(&shapes[i], 1);
        check(&shapes[i], 3);
    }
}

/* MLPerf's windows of the volumes that it makes: 128 of stride 64, nothing moved. */
static void test_counts(void **state)
{
    (void)state;
    const struct vt_windows windows = {3, {128, 128, 128}, 0.5, VT_BLEND_GAUSSIAN, 0};
    struct vt_volume *volume = NULL;
    struct vt_tensor cut, input = view(VT_F32, NULL, 1, 1, 192, 384, 320, -1);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_volume_new(&windows, 64, 1, NULL, &err, &volume), VT_OK);
    assert_int_equal(vt_volume_begin(volume, &input, &err, &cut), VT_OK);
    assert_int_equal(vt_volume_windows(volume), 2 * 5 * 4);
    assert_int_equal(vt_volume_runs(volume), 40); /* windows of this size one at a time */
    assert_int_equal(cut.dim[0], 1);
    vt_volume_free(volume);
}

/* A value that only one window holds stays as the model gave it. */
static void test_alone_is_exact(void **state)
{
    (void)state;
    const struct shape s = {{13, 13, 13}, {3, {8, 8, 8}, 0.5, VT_BLEND_GAUSSIAN, 1}, 1, 1, 1};
    static float made[512], data[13 * 13 * 13];
    struct vt_volume *volume = NULL;
    struct vt_tensor cut, input = volume_of(&s, VT_F32, data);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_volume_new(&s.windows, 64, 1, NULL, &err, &volume), VT_OK);
    assert_int_equal(vt_volume_begin(volume, &input, &err, &cut), VT_OK);
    for (int64_t run = 0; run < vt_volume_runs(volume); run++) {
        for (int i = 0; i < 512; i++) {
            made[i] = made_up(run, 0, i);
        }
        cut.data = made;
        assert_int_equal(vt_volume_blend(volume, run, &cut, &err), VT_OK);
    }
    const float *got = vt_volume_outputs(volume)->data;
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            for (int x = 0; x < 4; x++) {
                const float wanted = made_up(0, 0, (z * 8 + y) * 8 + x);
                assert_memory_equal(&got[(z * 13 + y) * 13 + x], &wanted, sizeof(wanted));
            }
        }
    }
    vt_volume_free(volume);
}

static void refuse(const struct vt_windows *windows, const struct vt_tensor *input,
                   enum vt_status wanted, const char *says)
{
    struct vt_volume *volume = NULL;
    struct vt_tensor cut;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_volume_new(windows, 1, 1, NULL, &err, &volume), VT_OK);
    assert_int_equal(vt_volume_begin(volume, input, &err, &cut), wanted);
    if (strstr(err.text, says) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, says);
    }
    vt_volume_free(volume);
}

static void test_refused(void **state)
{
    (void)state;
    struct vt_windows windows = {3, {8, 8, 8}, 0.5, VT_BLEND_CONSTANT, 0};
    struct vt_tensor input = view(VT_F32, NULL, 1, 1, 8, 7, 9, -1);
    refuse(&windows, &input, VT_ERR_USAGE, "1x1x8x7x9: pad it");
    input = view(VT_F32, NULL, 1, 1, 8, 9, -1);
    refuse(&windows, &input, VT_ERR_USAGE, "batch, channels and extents");
    input = view(VT_F32, NULL, 0, 1, 8, 9, 9, -1);
    refuse(&windows, &input, VT_ERR_USAGE, "0x1x8x9x9");
    input = view(VT_F32, NULL, 1, 1, 9, 9, 9, -1);
    input.dim[2] = input.dim[3] = input.dim[4] = 100000;
    refuse(&windows, &input, VT_ERR_LIMIT, "memory of this machine");
    input.dim[2] = input.dim[3] = input.dim[4] = INT64_MAX;
    refuse(&windows, &input, VT_ERR_LIMIT, "memory of this machine");
    const struct vt_windows line = {1, {1 << 20}, 0.9999999, VT_BLEND_CONSTANT, 0};
    input = view(VT_U8, NULL, 1, 1, 1 << 30, -1);
    refuse(&line, &input, VT_ERR_LIMIT, "choose less overlap");
}

/* Outputs that cannot be blended, and a volume that goes on afterwards. */
static void test_outputs_refused(void **state)
{
    (void)state;
    const struct vt_windows windows = {1, {4}, 0.5, VT_BLEND_CONSTANT, 1};
    static float data[2 * 64];
    struct vt_volume *volume = NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tensor cut, input = view(VT_F32, data, 1, 1, 10, -1);
    assert_int_equal(vt_volume_new(&windows, 1, 1, NULL, &err, &volume), VT_OK);
    assert_int_equal(vt_volume_begin(volume, &input, &err, &cut), VT_OK);
    struct vt_tensor wrong = view(VT_I32, data, 1, 1, 4, -1);
    assert_int_equal(vt_volume_blend(volume, 0, &wrong, &err), VT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "int32"));
    wrong = view(VT_F32, data, 1, 1, 5, -1);
    assert_int_equal(vt_volume_blend(volume, 0, &wrong, &err), VT_ERR_UNSUPPORTED);
    wrong = view(VT_F32, data, 1, 4, -1);
    assert_int_equal(vt_volume_blend(volume, 0, &wrong, &err), VT_ERR_UNSUPPORTED);
    wrong = view(VT_F32, data, 1, 0, 4, -1);
    wrong.dim[1] = INT64_C(1) << 59;
    assert_int_equal(vt_volume_blend(volume, 0, &wrong, &err), VT_ERR_LIMIT);
    struct vt_tensor right = view(VT_F32, data, 1, 1, 4, -1);
    assert_int_equal(vt_volume_blend(volume, 0, &right, &err), VT_OK);
    wrong = view(VT_F32, data, 1, 2, 4, -1); /* more channels than the first window had */
    assert_int_equal(vt_volume_blend(volume, 1, &wrong, &err), VT_ERR_UNSUPPORTED);
    vt_volume_free(volume);
}

static void test_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",        "0",     "x",      "4x",  "x4",  "4xx4", "4x4x0",      "-4x4x4",
        "4x4x4x4", "4,4,4", "4x4x4 ", "4X4", "4.5", "1e3",  "2147483648", "99999999999999999999x1"};
    struct vt_windows windows = {.axes = 7};
    struct vt_error err = VT_ERROR_INIT;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(vt_windows_read(wrong[i], &err, &windows), VT_ERR_USAGE);
        assert_int_equal(windows.axes, 7);
    }
    assert_int_equal(vt_windows_read("128x64x1", &err, &windows), VT_OK);
    assert_int_equal(windows.axes, 3);
    assert_int_equal(windows.dim[0], 128);
    assert_int_equal(windows.dim[1], 64);
    assert_int_equal(windows.dim[2], 1);
    assert_int_equal(vt_windows_read("2147483647", &err, &windows), VT_OK);
    assert_int_equal(windows.axes, 1);
}

/* At every allocation in turn; and none for a volume that is no larger than one before. */
static void test_memory(void **state)
{
    (void)state;
    const struct vt_windows windows = {2, {4, 4}, 0.5, VT_BLEND_GAUSSIAN, 2};
    static float data[256];
    const struct vt_tensor large = view(VT_F32, data, 1, 1, 12, 11, -1),
                           small = view(VT_F32, data, 2, 1, 6, 7, -1);
    bool done = false;
    for (int allowed = 0; !done && allowed < 100; allowed++) {
        struct vt_torture torture;
        struct vt_volume *volume = NULL;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_tensor cut;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = vt_volume_new(&windows, 8, 1, NULL, &err, &volume);
        for (int round = 0; round < 4 && status == VT_OK; round++) {
            const struct vt_tensor *input = round % 2 == 0 ? &large : &small;
            status = vt_volume_begin(volume, input, &err, &cut);
            for (int64_t run = 0; status == VT_OK && run < vt_volume_runs(volume); run++) {
                vt_volume_cut(volume, input, run);
                status = vt_volume_blend(volume, run, &cut, &err);
            }
            if (round == 0) {
                atomic_store(&torture.left, status == VT_OK ? 0 : atomic_load(&torture.left));
            }
        }
        done = status == VT_OK;
        vt_volume_free(volume);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(done || status == VT_ERR_MEMORY);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_alone_is_exact),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_outputs_refused), cmocka_unit_test(test_read),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
