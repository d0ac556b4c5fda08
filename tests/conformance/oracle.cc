/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second implementation of MLPerf LoadGen's orders and schedules, over the C++ library's own
 * std::shuffle, std::uniform_int_distribution and std::exponential_distribution: for where LoadGen
 * itself cannot be had, and for what its wheel cannot show. It builds every table and every query
 * in full before it prints one. orders.py compares it with vatio and with the wheel; input and
 * output are those of probe.c, but that every set of samples is a phase of its own and that closed
 * loops print all they generated when they run for a time.
 *
 * With VT_ORACLE_DIVISION the integers are those of libstdc++ 7 to 10. Later versions still hold
 * that algorithm, for where the compiler has no 32-bit type to do the newer one with: they are made
 * to believe so.
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
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using Indices = std::vector<size_t>;

enum class Scenario { Offline, Server, SingleStream, MultiStream };

struct Config {
    std::map<std::string, std::string> values;

    std::string text(const char *key, const char *otherwise) const
    {
        auto found = values.find(key);
        return found != values.end() ? found->second : otherwise;
    }
    uint64_t number(const char *key, const char *otherwise = "0") const
    {
        return std::strtoull(text(key, otherwise).c_str(), nullptr, 10);
    }
    double real(const char *key, const char *otherwise = "0") const
    {
        return std::strtod(text(key, otherwise).c_str(), nullptr);
    }
    Scenario scenario() const
    {
        std::string name = text("scenario", "SingleStream");
        return name == "Offline"       ? Scenario::Offline
               : name == "Server"      ? Scenario::Server
               : name == "MultiStream" ? Scenario::MultiStream
                                       : Scenario::SingleStream;
    }
};

/* What the settings come to. */
struct Effective {
    Scenario scenario;
    uint64_t width, min_queries, min_samples, set_size, accuracy_count, duration_ms;
    double qps;
};

static Effective effective(const Config &c)
{
    Effective e = {};
    e.scenario = c.scenario();
    e.width = 1;
    e.min_queries = c.number("min_query_count", "100");
    e.duration_ms = c.number("min_duration_ms", "10000");
    uint64_t set = c.number("performance_sample_count_override");
    e.set_size = set != 0 ? set : c.number("performance");
    uint64_t all = c.number("accuracy_sample_count_override");
    e.accuracy_count = all != 0 ? all : c.number("total");
    double seconds = static_cast<double>(e.duration_ms) / 1000;
    switch (e.scenario) {
    case Scenario::Server:
        e.qps = c.real("server_target_qps", "1");
        break;
    case Scenario::MultiStream:
        e.qps = 1e9 / c.real("multi_stream_expected_latency_ns", "8000000");
        e.width = c.number("multi_stream_samples_per_query", "8");
        break;
    case Scenario::SingleStream:
        e.qps = 1e9 / c.real("single_stream_expected_latency_ns", "1000000");
        if (c.number("sample_concatenate_permutation") != 0) {
            e.min_queries =
                std::max(e.min_queries, static_cast<uint64_t>(2.0 * seconds * e.qps));
            e.min_queries += c.number("performance") - e.min_queries % c.number("performance");
        }
        break;
    case Scenario::Offline:
        e.qps = c.real("offline_expected_qps", "1");
        e.width = c.number("performance_issue_unique") != 0
                      ? e.set_size
                      : std::max(e.min_queries, static_cast<uint64_t>(1.1 * seconds * e.qps));
        e.min_queries = 1;
        e.duration_ms = 0;
        break;
    }
    e.min_samples = e.min_queries * e.width;
    return e;
}

struct Set {
    Indices samples; /* with padding */
    size_t size;     /* without */
};

static std::vector<Set> sample_sets(const Config &c, const Effective &e, bool accuracy)
{
    Indices all(std::min(accuracy ? e.accuracy_count : e.set_size, c.number("total")));
    std::iota(all.begin(), all.end(), 0);
    std::mt19937 rng(static_cast<uint32_t>(c.number("qsl_rng_seed")));
    std::shuffle(all.begin(), all.end(), rng);
    std::vector<Set> sets;
    for (size_t i = 0; i < all.size(); i += e.set_size) {
        size_t end = std::min(all.size(), i + e.set_size);
        Set set = {Indices(all.begin() + i, all.begin() + end), end - i};
        size_t padding = e.scenario == Scenario::MultiStream ? e.width - 1 : 0;
        for (size_t k = 0; k < padding; k++) {
            size_t sample = set.samples[k];
            set.samples.push_back(sample);
        }
        sets.push_back(set);
    }
    return sets;
}

struct Query {
    int64_t start_ns;
    Indices samples;
};

/* All the queries of one set. */
class Generation {
public:
    Generation(const Config &config, const Effective &eff, const Set &set, bool acc)
        : c(config), e(eff), loaded(set), accuracy(acc),
          rng(static_cast<uint32_t>(config.number("sample_index_rng_seed"))),
          schedule_rng(static_cast<uint32_t>(config.number("schedule_rng_seed"))), width(eff.width),
          equal(config.number("sample_concatenate_permutation") != 0),
          unique(config.number("performance_issue_unique") != 0),
          same(config.number("performance_issue_same") != 0)
    {
    }

    std::vector<Query> queries()
    {
        const bool offline = e.scenario == Scenario::Offline;
        width = offline && accuracy ? loaded.size : e.width;
        bool whole = accuracy || unique;
        uint64_t least = whole ? loaded.samples.size() / width : e.min_queries;
        int64_t until = (e.scenario == Scenario::Server ? 1 : 2) *
                        static_cast<int64_t>(whole ? 0 : e.duration_ms) * 1000000;
        draw_tables(least);
        if (equal && !accuracy) {
            uint64_t &count = offline ? width : least;
            count = (count + loaded.samples.size() - 1) / loaded.samples.size() *
                    loaded.samples.size();
        }
        std::exponential_distribution<> gaps(e.qps);
        std::vector<Query> made;
        int64_t last = 0;
        while (last < until || made.size() < least) {
            made.push_back({next_ns, offline ? offline_samples() : samples()});
            last = next_ns;
            std::chrono::duration<double> gap(e.scenario == Scenario::Server ? gaps(schedule_rng)
                                                                             : 1.0 / e.qps);
            next_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(gap).count();
            if (equal && !offline && made.size() >= least && last < until) {
                least += loaded.samples.size();
            }
        }
        return made;
    }

    int64_t duration_ns() const { return next_ns; }
    uint64_t samples_per_query() const { return width; }

private:
    /* The order in which LoadGen consumes the generator, whatever is used later. */
    void draw_tables(uint64_t least)
    {
        Indices starts;
        for (size_t i = 0; i < loaded.size; i += stride()) {
            starts.push_back(i);
        }
        if (accuracy) {
            once = starts;
            std::shuffle(once.begin(), once.end(), rng);
        }
        each = starts;
        std::shuffle(each.begin(), each.end(), rng);
        Indices running(loaded.samples.size());
        std::iota(running.begin(), running.end(), 0);
        for (size_t j = 0; j < least; j += running.size()) {
            std::shuffle(running.begin(), running.end(), rng);
            fair.insert(fair.end(), running.begin(), running.end());
        }
    }

    size_t stride() const { return e.scenario == Scenario::MultiStream ? width : 1; }

    size_t pick()
    {
        size_t i = at++;
        if (unique) {
            return each.at(i);
        }
        if (same) {
            return c.number("performance_issue_same_index");
        }
        if (equal && e.scenario != Scenario::MultiStream) {
            return fair.at(i % fair.size());
        }
        if (accuracy) {
            return once.at(i);
        }
        std::uniform_int_distribution<int> any(0, static_cast<int>(loaded.size) - 1);
        return static_cast<size_t>(any(rng));
    }

    Indices samples()
    {
        auto first = loaded.samples.begin() + static_cast<std::ptrdiff_t>(pick());
        return Indices(first, first + static_cast<std::ptrdiff_t>(width));
    }

    Indices offline_samples()
    {
        Indices list;
        while (list.size() < width) {
            Indices part = loaded.samples;
            if (same) {
                std::fill(part.begin(), part.end(),
                          loaded.samples.at(c.number("performance_issue_same_index")));
            } else if (equal) {
                std::shuffle(part.begin(), part.end(), rng);
            }
            list.insert(list.end(), part.begin(), part.end());
        }
        list.resize(width);
        return list;
    }

    const Config &c;
    const Effective &e;
    const Set &loaded;
    const bool accuracy;
    std::mt19937 rng, schedule_rng;
    uint64_t width;
    const bool equal, unique, same;
    Indices once, each, fair;
    size_t at = 0;
    int64_t next_ns = 0;
};

/* One test: sequence numbers and the stream that samples responses go through all its phases. */
class Test {
public:
    explicit Test(const Config &config) : c(config), e(effective(config)) {}

    void phase(bool accuracy)
    {
        std::vector<Set> sets = sample_sets(c, e, accuracy);
        sets.resize(accuracy ? sets.size() : 1);
        for (const Set &set : sets) {
            std::printf("load");
            for (size_t i : set.samples) {
                std::printf(" %zu", i);
            }
            Generation generation(c, e, set, accuracy);
            std::vector<Query> queries = generation.queries();
            std::printf("\nphase %s %zu %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                        " %" PRIu64 " %.17g %" PRIu64 "\n",
                        accuracy ? "accuracy" : "performance", queries.size(),
                        generation.duration_ns(), generation.samples_per_query(), e.min_queries,
                        e.min_samples, e.set_size, e.accuracy_count, e.qps, sequence);
            print(queries, issued(queries.size(), accuracy), accuracy);
        }
    }

private:
    size_t issued(size_t generated, bool accuracy) const
    {
        size_t n = generated;
        if (!accuracy && e.duration_ms == 0 && e.scenario != Scenario::Server) {
            n = std::min<size_t>(n, e.min_queries);
        }
        uint64_t most = c.number("max_query_count");
        return !accuracy && most != 0 ? std::min<size_t>(n, most) : n;
    }

    double logged_share() const
    {
        uint64_t target = c.number("accuracy_log_sampling_target");
        if (target == 0) {
            return c.real("accuracy_log_probability");
        }
        double ms = static_cast<double>(c.number("min_duration_ms", "10000"));
        uint64_t expected = static_cast<uint64_t>(e.qps * ms / 1000);
        expected *= e.scenario == Scenario::Offline ? 1 : e.width;
        return static_cast<double>(target) /
               static_cast<double>(std::max(expected, e.min_samples));
    }

    void print(const std::vector<Query> &queries, size_t n, bool accuracy)
    {
        std::uniform_real_distribution<double> unit(0, 1);
        std::mt19937 offset_rng(static_cast<uint32_t>(c.number("accuracy_log_rng_seed")));
        const double offset = unit(offset_rng), share = logged_share();
        std::ostringstream kept;
        for (size_t q = 0; q < queries.size(); q++) {
            if (q < n) {
                std::printf("n %zu %" PRId64, q, queries[q].start_ns);
            }
            for (size_t i : queries[q].samples) {
                double v = unit(log_rng) + offset;
                v = v < 1 ? v : v - 1;
                if (q < n) {
                    std::printf(" %zu", i);
                    if (accuracy || v <= share) {
                        kept << ' ' << sequence << ':' << i;
                    }
                }
                sequence++;
            }
            if (q < n) {
                std::printf("\n");
            }
        }
        std::printf("kept%s\n", kept.str().c_str());
    }

    const Config &c;
    const Effective e;
    uint64_t sequence = 0;
    std::mt19937 log_rng; /* never seeded */
};

int main()
{
#ifndef __GLIBCXX__
    return 77;
#else
    std::string line;
    while (std::getline(std::cin, line)) {
        Config c;
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            size_t equals = word.find('=');
            c.values[word.substr(0, equals)] = word.substr(equals + 1);
        }
        std::string mode = c.text("mode", "PerformanceOnly");
        if (c.number("test05") != 0) {
            mode = "PerformanceOnly";
            for (const char *seed :
                 {"qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"}) {
                c.values[seed] = c.text((std::string("test05_") + seed).c_str(), "0");
            }
        }
        std::printf("run\n");
        Test test(c);
        if (mode != "PerformanceOnly") {
            test.phase(true);
        }
        if (mode != "AccuracyOnly") {
            test.phase(false);
        }
        std::printf("end\n");
    }
    return 0;
#endif
}
