/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "result/records.h"
#include "vt_test.h"

#define N 5000

static char folder[] = "/tmp/vatio-records-XXXXXX";
static char path[128];
static struct vt_sample_record records[N];

static struct vt_load_report make_report(void)
{
    uint64_t seed = 7;
    int64_t now = 0;

    for (uint32_t i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        now += (int64_t)(seed >> 40);
        records[i] = (struct vt_sample_record){now, now + 30, now + 1000 + (int64_t)(seed >> 44),
                                               (uint32_t)(seed >> 33), i / 8};
    }
    records[17].done_ns = VT_RECORD_LOST;
    records[18] = (struct vt_sample_record){-5, INT64_MAX, INT64_MAX - 5, UINT32_MAX, UINT32_MAX};
    return (struct vt_load_report){.settings = {.scenario = VT_MULTISTREAM},
                                   .start_unix_ms = 1796000000123,
                                   .records = records,
                                   .n_records = N};
}

static char *dumped(enum vt_status wanted)
{
    struct vt_error err = VT_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(vt_records_dump(path, out, &err), wanted);
    assert_int_equal(fclose(out), 0);
    if (wanted != VT_OK) {
        assert_non_null(strstr(err.text, path));
        assert_int_equal(size, 0); /* nothing of a damaged file is shown */
    }
    return text;
}

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/records.vtr", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_good(void)
{
    struct vt_load_report report = make_report();
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_records_write(&report, path, &err), VT_OK);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Reads the CSV with sscanf, an implementation of its own. */
static void test_round_trip(void **state)
{
    static int64_t latencies[N], expected[N];
    size_t n_latencies = 0, n_expected = 0;
    unsigned long line_number = 0;

    (void)state;
    write_good();
    char *csv = dumped(VT_OK);
    char *line = strtok(csv, "\n");
    assert_string_equal(line, "sample,query,index,scheduled_ns,issued_ns,done_ns,latency_ns");
    for (line = strtok(NULL, "\n"); line != NULL; line = strtok(NULL, "\n"), line_number++) {
        unsigned long sample = 0, query = 0, index = 0;
        long scheduled = 0, issued = 0, done = 0, latency = 0;
        int n = sscanf(line, "%lu,%lu,%lu,%ld,%ld,%ld,%ld", &sample, &query, &index, &scheduled,
                       &issued, &done, &latency);
        assert_true(line_number < N);
        const struct vt_sample_record *r = &records[line_number];
        assert_int_equal(sample, line_number);
        assert_int_equal(query, r->query);
        assert_int_equal(index, r->index);
        assert_int_equal(scheduled, r->scheduled_ns);
        assert_int_equal(issued, r->issued_ns);
        if (r->done_ns == VT_RECORD_LOST) {
            assert_int_equal(n, 5);
            assert_string_equal(line + strlen(line) - 2, ",,");
            continue;
        }
        assert_int_equal(n, 7);
        assert_int_equal(done, r->done_ns);
        assert_int_equal(latency, done - scheduled);
        latencies[n_latencies++] = latency;
        expected[n_expected++] = r->done_ns - r->scheduled_ns;
    }
    assert_int_equal(line_number, N);
    qsort(latencies, n_latencies, sizeof latencies[0], compare);
    qsort(expected, n_expected, sizeof expected[0], compare);
    static const double percentiles[] = {0.5, 0.9, 0.95, 0.97, 0.99, 0.999};
    for (size_t i = 0; i < 6; i++) {
        size_t at = (size_t)((double)n_latencies * percentiles[i]);
        assert_int_equal(latencies[at], expected[at]);
    }
    free(csv);
}

static void test_layout(void **state)
{
    unsigned char bytes[64];

    (void)state;
    write_good();
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(ftell(file), 32 + 32 * N);
    fclose(file);
    static const unsigned char header[24] = {'V',      'T',    'R', 'E', 'C', 0, 0, 1,
                                             3,        0,      0,   0,   0,   0, 0, 0,
                                             N & 0xff, N >> 8, 0,   0,   0,   0, 0, 0};
    assert_memory_equal(bytes, header, sizeof header);
}

static void overwrite(long offset, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void test_hostile(void **state)
{
    static const uint64_t counts[] = {
        0, 1, N - 1, N + 1, UINT64_MAX, UINT64_C(1) << 59, (UINT64_C(1) << 59) + N};
    static const long lengths[] = {0, 1, 8, 31, 32, 33, 63, 64, 32 + 32 * N - 1};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        write_good();
        assert_int_equal(truncate(path, lengths[i]), 0);
        free(dumped(VT_ERR_FORMAT));
    }
    write_good();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        overwrite(16, &counts[i], 8);
        free(dumped(VT_ERR_FORMAT));
    }
    write_good();
    overwrite(32 + 32 * N, "x", 1); /* something behind the last record */
    free(dumped(VT_ERR_FORMAT));
    write_good();
    overwrite(7, "\x02", 1);
    free(dumped(VT_ERR_FORMAT));
    write_good();
    overwrite(0, "X", 1);
    free(dumped(VT_ERR_FORMAT));
    write_good();
    overwrite(8, "\x04", 1); /* no such scenario */
    free(dumped(VT_ERR_FORMAT));
    write_good();
    overwrite(12, "\x02", 1); /* no such mode */
    free(dumped(VT_ERR_FORMAT));
    write_good();
    const int64_t times[3] = {INT64_MAX, 0, -2};
    overwrite(32 + 32 * 100, times, sizeof times);
    free(dumped(VT_ERR_FORMAT));

    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) { /* any bytes at all: no crash, one of two answers */
        unsigned char bytes[200];
        struct vt_error err = VT_ERROR_INIT;
        for (size_t k = 0; k < sizeof bytes; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (unsigned char)(seed >> 56);
        }
        if (i % 2 == 0) {
            memcpy(bytes, "VTREC\0\0\1", 8);
            memset(bytes + 8, 0, 16);
            bytes[16] = 5;
        }
        FILE *file = fopen(path, "wb");
        fwrite(bytes, 1, i % 4 == 0 ? 192 : sizeof bytes, file);
        fclose(file);
        FILE *null = fopen("/dev/null", "w");
        enum vt_status status = vt_records_dump(path, null, &err);
        fclose(null);
        assert_true(status == VT_OK || status == VT_ERR_FORMAT);
    }
}

static void test_dump_cannot(void **state)
{
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    write_good();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(vt_records_dump(path, full, &err), VT_ERR_WRITE);
    fclose(full);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_records_dump("/nonexistent.vtr", stdout, &err), VT_ERR_NOT_FOUND);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_records_dump("/tmp", stdout, &err), VT_ERR_READ);
}

static void test_write_cannot(void **state)
{
    struct vt_load_report report = make_report();
    struct vt_error err = VT_ERROR_INIT;
    struct rlimit before;

    (void)state;
    (void)unlink(path);
    assert_int_equal(vt_records_write(&report, "/nonexistent/records.vtr", &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/nonexistent/records.vtr"));

    /* a disk that is full in the middle */
    err = (struct vt_error)VT_ERROR_INIT;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {40000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum vt_status status = vt_records_write(&report, path, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, VT_ERR_WRITE);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void *no_memory(void *ctx, size_t bytes, size_t alignment)
{
    (void)bytes;
    (void)alignment;
    int *left = ctx;
    void *memory = NULL;
    if ((*left)-- <= 0) {
        return NULL;
    }
    return posix_memalign(&memory, 64, bytes) == 0 ? memory : NULL;
}

static void plain_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void test_write_out_of_memory(void **state)
{
    struct vt_load_report report = make_report();
    int left = 0;
    const struct vt_allocator allocator = {no_memory, plain_free, &left};
    enum vt_status status = VT_ERR_MEMORY;

    (void)state;
    vt_allocator_set(&allocator);
    for (int n = 0; status != VT_OK && n < 10; n++) {
        struct vt_error err = VT_ERROR_INIT;
        (void)unlink(path);
        left = n;
        status = vt_records_write(&report, path, &err);
        assert_true(status == VT_OK || (status == VT_ERR_MEMORY && err.status == status));
        assert_int_equal(access(path, F_OK) == 0, status == VT_OK);
    }
    vt_allocator_set(NULL);
    assert_int_equal(status, VT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_layout),
        cmocka_unit_test(test_hostile),      cmocka_unit_test(test_dump_cannot),
        cmocka_unit_test(test_write_cannot), cmocka_unit_test(test_write_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
