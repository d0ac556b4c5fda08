/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C++ standard library of this machine makes of MT19937, as text on stdout: the second
 * implementation that test_rng compares with. One request a call:
 *   raw SEED COUNT | bounded SEED COUNT N | shuffle SEED N | canonical SEED COUNT
 *   | gaps SEED COUNT QPS | gaps-hash SEED COUNT QPS
 *
 * With VT_ORACLE_DIVISION its integers are those of libstdc++ 10 and earlier. Later versions still
 * hold that algorithm, for where the compiler has no 32-bit type to do the newer one with: they are
 * made to believe so.
 */
#ifdef VT_ORACLE_DIVISION
#undef __UINT32_TYPE__
#endif
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

static void raw(std::mt19937 &rng, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        std::printf("%" PRIu64 "\n", static_cast<uint64_t>(rng()));
    }
}

static void bounded(std::mt19937 &rng, unsigned long count, unsigned long n)
{
    /* LoadGen draws samples as int; the shuffle draws as size_t. */
    std::uniform_int_distribution<> as_int(0, static_cast<int>(n - 1));
    std::uniform_int_distribution<size_t> as_size(0, n - 1);
    for (unsigned long i = 0; i < count; i++) {
        bool fits = n - 1 <= 0x7fffffff;
        uint64_t value = fits && i % 2 == 0 ? static_cast<uint64_t>(as_int(rng)) : as_size(rng);
        std::printf("%" PRIu64 "\n", value);
    }
}

static void shuffle(std::mt19937 &rng, unsigned long n)
{
    std::vector<size_t> a(n);
    std::iota(a.begin(), a.end(), 0);
    std::shuffle(a.begin(), a.end(), rng);
    for (size_t v : a) {
        std::printf("%zu\n", v);
    }
    /* Where the generator stands afterwards matters too. */
    std::printf("%" PRIu64 "\n", static_cast<uint64_t>(rng()));
}

static void canonical(std::mt19937 &rng, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        double value = std::generate_canonical<double, 53>(rng);
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        std::printf("%" PRIu64 "\n", bits);
    }
}

static int64_t next_gap(std::mt19937 &rng, std::exponential_distribution<> &distribution)
{
    auto gap = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(distribution(rng)));
    return static_cast<int64_t>(gap.count());
}

static void gaps(std::mt19937 &rng, unsigned long count, double qps)
{
    std::exponential_distribution<> distribution(qps);
    for (unsigned long i = 0; i < count; i++) {
        std::printf("%" PRId64 "\n", next_gap(rng, distribution));
    }
}

/* For many: one number that depends on all of them and on their order. */
static void gaps_hash(std::mt19937 &rng, unsigned long count, double qps)
{
    std::exponential_distribution<> distribution(qps);
    uint64_t hash = 0;
    for (unsigned long i = 0; i < count; i++) {
        hash = (hash ^ static_cast<uint64_t>(next_gap(rng, distribution))) * 0x100000001b3;
    }
    std::printf("%" PRIu64 "\n", hash);
}

int main(int argc, char **argv)
{
#ifndef __GLIBCXX__
    return 77;
#else
    if (argc < 4) {
        return 2;
    }
    std::string what = argv[1];
    std::mt19937 rng(static_cast<std::mt19937::result_type>(std::strtoull(argv[2], nullptr, 10)));
    unsigned long n = std::strtoul(argv[3], nullptr, 10);
    if (what == "raw") {
        raw(rng, n);
    } else if (what == "bounded" && argc == 5) {
        bounded(rng, n, std::strtoul(argv[4], nullptr, 10));
    } else if (what == "shuffle") {
        shuffle(rng, n);
    } else if (what == "canonical") {
        canonical(rng, n);
    } else if (what == "gaps" && argc == 5) {
        gaps(rng, n, std::strtod(argv[4], nullptr));
    } else if (what == "gaps-hash" && argc == 5) {
        gaps_hash(rng, n, std::strtod(argv[4], nullptr));
    } else {
        return 2;
    }
    return 0;
#endif
}
