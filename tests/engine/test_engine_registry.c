/* SPDX-License-Identifier: Apache-2.0 */
/* Finding engines: the table, names that are wrong, modules that must be refused. */
#include "engine_fixture.h"

static void refuse(const char *name, enum vt_status status, const char *says)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_engine_ref ref;
    memset(&ref, 0x5a, sizeof(ref));
    assert_int_equal(vt_engine_find(name, &err, &ref), status);
    assert_int_equal(err.status, status);
    if (strstr(err.text, says) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, says);
    }
    assert_int_equal(((const uint8_t *)&ref)[0], 0x5a); /* written only on success */
    assert_int_equal(vt_engine_find(name, NULL, &ref), status);
}

static void test_table(void **state)
{
    static const char *const names[] = {"native", "onnxruntime", "openvino", "kserve", "null"};
    (void)state;
    size_t n = 0;
    const struct vt_engine_ops *const *table = vt_engine_table(&n);
    assert_int_equal(n, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(table[i]->name, names[i]);
    }
    for (size_t i = 0; i < n; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_engine_ref ref;
        assert_int_equal(vt_engine_find(table[i]->name, &err, &ref), VT_OK);
        assert_null(ref.module);
        assert_non_null(ref.ops.probe);
        assert_non_null(ref.ops.buffer_alloc);
        assert_non_null(ref.ops.buffer_free);
        assert_non_null(ref.ops.cancel);
        enum vt_status status = ref.ops.probe(&err);
        if (status != VT_OK) { /* somebody else's library that is not here: it says how to get it */
            assert_int_equal(status, VT_ERR_UNAVAILABLE);
            assert_non_null(strstr(err.text, " install "));
        }
        vt_engine_ref_release(&ref);
        vt_engine_ref_release(&ref);
    }
}

static void test_default_buffers(void **state)
{
    (void)state;
    struct vt_engine_ref ref;
    struct vt_error err = VT_ERROR_INIT;
    void *buffer = NULL;
    enum vt_memory memory = VT_MEMORY_DEVICE;
    assert_int_equal(vt_engine_find("null", &err, &ref), VT_OK);
    assert_int_equal(ref.ops.buffer_alloc(NULL, 100, &err, &buffer, &memory), VT_OK);
    assert_int_equal(memory, VT_MEMORY_HOST);
    assert_int_equal((uintptr_t)buffer % VT_ALIGNMENT, 0);
    memset(buffer, 1, 100);
    ref.ops.buffer_free(NULL, buffer);
    ref.ops.buffer_free(NULL, NULL);
    ref.ops.cancel(NULL, NULL, 1);
    vt_engine_ref_release(&ref);
    vt_engine_ref_release(NULL);
}

static void test_wrong_names(void **state)
{
    (void)state;
    refuse("nativ", VT_ERR_USAGE, "did you mean 'native'?");
    refuse("skeleton", VT_ERR_USAGE, "no engine 'skeleton'");
    refuse("mine.so", VT_ERR_USAGE, "'./mine.so'");
    refuse("", VT_ERR_USAGE, "no engine ''");
}

static void test_bad_modules(void **state)
{
    (void)state;
    refuse("./no/such/module.so", VT_ERR_NOT_FOUND, "./no/such/module.so");
    refuse("./no/such/module.so:engine", VT_ERR_NOT_FOUND, "./no/such/module.so:");
    refuse("/tmp", VT_ERR_FORMAT, "is not a file");
    refuse(VT_TEST_MODELS "/chain.onnx", VT_ERR_FORMAT, "chain.onnx");
    refuse(VT_TEST_MODULES "/bad1.so", VT_ERR_FORMAT, "does not export 'vatio_module'");
    refuse(VT_TEST_MODULES "/bad2.so", VT_ERR_FORMAT, "refuses");
    refuse(VT_TEST_MODULES "/bad3.so", VT_ERR_FORMAT, "version 77");
    refuse(VT_TEST_MODULES "/bad4.so", VT_ERR_FORMAT, "slot wait");
    refuse(VT_TEST_MODULES "/bad5.so", VT_ERR_USAGE, "holds 2 engines");
    refuse(VT_TEST_MODULES "/bad5.so:three", VT_ERR_USAGE, "has no engine 'three'");
    refuse(VT_TEST_MODULES "/bad6.so", VT_ERR_FORMAT, "buffer_alloc");
    refuse(VT_TEST_MODULES "/bad7.so", VT_ERR_FORMAT, "struct_size");
}

static void test_one_of_several(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_engine_ref ref;
    assert_int_equal(vt_engine_find(VT_TEST_MODULES "/bad5.so:two", &err, &ref), VT_OK);
    assert_string_equal(ref.ops.name, "two");
    assert_non_null(ref.module);
    vt_engine_ref_release(&ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_default_buffers),
        cmocka_unit_test(test_wrong_names),    cmocka_unit_test(test_bad_modules),
        cmocka_unit_test(test_one_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
