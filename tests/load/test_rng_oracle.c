/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators against libstdc++ itself: oracle.cc, compiled twice, programs whose paths the
 * environment variables VT_LOAD_ORACLE and VT_LOAD_ORACLE_DIVISION name. Skipped where it was not
 * built (no C++ compiler, another C++ library).
 */
#include <inttypes.h>

#include "load/rng.h"
#include "vatio/status.h"
#include "vt_test.h"

static const uint64_t seeds[] = {0,
                                 1,
                                 5489,
                                 UINT64_C(2085463073848966840),
                                 UINT64_C(2747215439041700203),
                                 UINT64_C(16159082839903944936)};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

static const char *const oracles[] = {
    [VT_BOUNDED_LEMIRE] = "VT_LOAD_ORACLE",
    [VT_BOUNDED_DIVISION] = "VT_LOAD_ORACLE_DIVISION",
};
#define METHODS (sizeof(oracles) / sizeof(oracles[0]))

static FILE *ask_of(enum vt_bounded_method method, const char *fmt, ...) VT_PRINTF(2, 3);
static FILE *ask_of(enum vt_bounded_method method, const char *fmt, ...)
{
    char request[128], command[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(request, sizeof(request), fmt, args);
    va_end(args);
    snprintf(command, sizeof(command), "'%s' %s", getenv(oracles[method]), request);
    FILE *answer = popen(command, "r");
    assert_non_null(answer);
    return answer;
}

static uint64_t next_number(FILE *answer)
{
    uint64_t value = 0;
    assert_int_equal(fscanf(answer, "%" SCNu64, &value), 1);
    return value;
}

static void finish(FILE *answer)
{
    uint64_t more;
    assert_int_equal(fscanf(answer, "%" SCNu64, &more), EOF);
    assert_int_equal(pclose(answer), 0);
}

static void raw_words_are_equal(void **state)
{
    (void)state;
    for (size_t s = 0; s < SEEDS; s++) {
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seeds[s]);
        FILE *answer = ask_of(VT_BOUNDED_LEMIRE, "raw %" PRIu64 " 2000", seeds[s]);
        for (int i = 0; i < 2000; i++) {
            assert_int_equal(vt_mt19937_next(&rng), next_number(answer));
        }
        finish(answer);
    }
}

static void bounded_integers_are_equal(void **state)
{
    (void)state;
    /* Where a draw is redrawn never, rarely, and for almost every second word. */
    static const uint32_t bounds[] = {1,     2,     3,          64,         1023,       1024,
                                      65535, 65536, 0x7fffffff, 0x80000001, 0xc0000001, 0xfffffffe};
    for (size_t b = 0; b < METHODS * sizeof(bounds) / sizeof(bounds[0]); b++) {
        enum vt_bounded_method method = (enum vt_bounded_method)(b % METHODS);
        uint32_t bound = bounds[b / METHODS];
        uint64_t seed = seeds[b % SEEDS];
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seed);
        FILE *answer = ask_of(method, "bounded %" PRIu64 " 2000 %" PRIu32, seed, bound);
        for (int i = 0; i < 2000; i++) {
            assert_int_equal(vt_rng_bounded(&rng, bound, method), next_number(answer));
        }
        finish(answer);
    }
}

static void shuffles_are_equal(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,    2,     3,     4,     5,     64,    100,   1023,
                                     1024, 10833, 50000, 65534, 65535, 65536, 65537, 100000};
    static uint64_t a[100000];
    for (size_t k = 0; k < METHODS * sizeof(sizes) / sizeof(sizes[0]); k++) {
        enum vt_bounded_method method = (enum vt_bounded_method)(k % METHODS);
        uint64_t n = sizes[k / METHODS], seed = seeds[k % SEEDS];
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seed);
        for (uint64_t i = 0; i < n; i++) {
            a[i] = i;
        }
        vt_rng_shuffle(&rng, method, a, n);
        FILE *answer = ask_of(method, "shuffle %" PRIu64 " %" PRIu64, seed, n);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(a[i], next_number(answer));
        }
        assert_int_equal(vt_mt19937_next(&rng), next_number(answer));
        finish(answer);
    }
}

static void canonical_doubles_are_equal_bit_for_bit(void **state)
{
    (void)state;
    for (size_t s = 0; s < SEEDS; s++) {
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seeds[s]);
        FILE *answer = ask_of(VT_BOUNDED_LEMIRE, "canonical %" PRIu64 " 2000", seeds[s]);
        for (int i = 0; i < 2000; i++) {
            double value = vt_rng_canonical(&rng);
            uint64_t bits;
            memcpy(&bits, &value, sizeof(bits));
            assert_int_equal(bits, next_number(answer));
        }
        finish(answer);
    }
}

static void gaps_are_equal_to_the_nanosecond(void **state)
{
    (void)state;
    static const char *const rates[] = {"0.01", "1", "33.3", "1000", "123456.789", "10000000"};
    for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
        uint64_t seed = seeds[k % SEEDS];
        double qps = strtod(rates[k], NULL);
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seed);
        FILE *answer = ask_of(VT_BOUNDED_LEMIRE, "gaps %" PRIu64 " 5000 %s", seed, rates[k]);
        for (int i = 0; i < 5000; i++) {
            assert_int_equal(vt_rng_exponential_ns(&rng, qps), (int64_t)next_number(answer));
        }
        finish(answer);
    }
}

/* libm's logarithm decides a gap's last nanosecond: here over millions of draws. */
static void millions_of_gaps_are_equal(void **state)
{
    (void)state;
    static const char *const rates[] = {"0.3", "2000", "98765.4321", "3000000"};
    const unsigned long count = 2500000;
    for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, seeds[k]);
        FILE *answer =
            ask_of(VT_BOUNDED_LEMIRE, "gaps-hash %" PRIu64 " %lu %s", seeds[k], count, rates[k]);
        double qps = strtod(rates[k], NULL);
        uint64_t hash = 0;
        for (unsigned long i = 0; i < count; i++) {
            hash = (hash ^ (uint64_t)vt_rng_exponential_ns(&rng, qps)) * UINT64_C(0x100000001b3);
        }
        assert_int_equal(hash, next_number(answer));
        finish(answer);
    }
}

int main(void)
{
    if (getenv("VT_LOAD_ORACLE") == NULL || getenv("VT_LOAD_ORACLE_DIVISION") == NULL) {
        printf("skipped: VT_LOAD_ORACLE is not set (no C++ compiler when this was configured)\n");
        return VT_TEST_SKIPPED;
    }
    FILE *probe = ask_of(VT_BOUNDED_LEMIRE, "raw 0 1");
    while (fgetc(probe) != EOF) {
    }
    if (pclose(probe) != 0) {
        printf("skipped: the C++ library is not libstdc++\n");
        return VT_TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_words_are_equal),
        cmocka_unit_test(bounded_integers_are_equal),
        cmocka_unit_test(shuffles_are_equal),
        cmocka_unit_test(canonical_doubles_are_equal_bit_for_bit),
        cmocka_unit_test(gaps_are_equal_to_the_nanosecond),
        cmocka_unit_test(millions_of_gaps_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
