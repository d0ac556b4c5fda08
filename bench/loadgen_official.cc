// SPDX-License-Identifier: Apache-2.0
//
// bench/loadgen's side of MLPerf LoadGen: one StartTest on the null system, compiled against a
// checkout that its user has. Prints one line of JSON.
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

#include "loadgen_null.h"

namespace
{

null_system the_system;

// A response needs its id only; the rest stays as it was made.
void complete_ids(const uint64_t *ids, size_t n)
{
    static std::vector<mlperf::QuerySampleResponse> c(NULL_BATCH); // the completing thread's
    for (size_t i = 0; i < n; i++) {
        c[i].id = ids[i];
    }
    mlperf::QuerySamplesComplete(c.data(), n);
}

void complete_inline(const mlperf::QuerySample *samples, size_t n)
{
    static thread_local std::vector<mlperf::QuerySampleResponse> c(NULL_BATCH);
    while (n > 0) {
        size_t part = n < NULL_BATCH ? n : NULL_BATCH;
        for (size_t i = 0; i < part; i++) {
            c[i].id = samples[i].id;
        }
        mlperf::QuerySamplesComplete(c.data(), part);
        samples += part;
        n -= part;
    }
}

class null_sut : public mlperf::SystemUnderTest
{
  public:
    const std::string &Name() override
    {
        return name_;
    }

    void IssueQuery(const std::vector<mlperf::QuerySample> &samples) override
    {
        null_issued(&the_system);
        if (!the_system.job.queued) {
            complete_inline(samples.data(), samples.size());
            return;
        }
        for (const mlperf::QuerySample &sample : samples) {
            null_push(&the_system, sample.id);
        }
    }

    void FlushQueries() override
    {
        null_flushed(&the_system);
    }

  private:
    std::string name_ = "null";
};

class null_qsl : public mlperf::QuerySampleLibrary
{
  public:
    const std::string &Name() override
    {
        return name_;
    }
    size_t TotalSampleCount() override
    {
        return NULL_SET;
    }
    size_t PerformanceSampleCount() override
    {
        return NULL_SET;
    }
    void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex> &) override
    {
    }
    void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex> &) override
    {
    }

  private:
    std::string name_ = "null";
};

mlperf::TestScenario scenario_of(const null_job &job)
{
    if (null_is(&job, "singlestream")) {
        return mlperf::TestScenario::SingleStream;
    }
    if (null_is(&job, "multistream")) {
        return mlperf::TestScenario::MultiStream;
    }
    if (null_is(&job, "server")) {
        return mlperf::TestScenario::Server;
    }
    if (!null_is(&job, "offline")) {
        null_die("scenario is none of offline, server, singlestream, multistream");
    }
    return mlperf::TestScenario::Offline;
}

mlperf::TestSettings settings_of(const null_job &job)
{
    mlperf::TestSettings s;
    s.scenario = scenario_of(job);
    s.mode = mlperf::TestMode::PerformanceOnly;
    s.min_query_count = job.queries;
    s.max_query_count = job.max_queries;
    s.min_duration_ms = job.duration_ms;
    s.single_stream_expected_latency_ns = static_cast<double>(job.expected_ns);
    s.multi_stream_expected_latency_ns = static_cast<double>(job.expected_ns);
    s.multi_stream_samples_per_query = NULL_STREAMS;
    s.server_target_qps = job.qps;
    s.server_target_latency_ns = NULL_LATENCY;
    s.server_coalesce_queries = job.coalesce;
    s.server_num_issue_query_threads = job.threads > 1 ? job.threads : 0;
    return s;
}

// The run's start to every query's, drawn as LoadGen draws it.
std::vector<int64_t> schedule_of(const null_job &job)
{
    std::mt19937 rng(0);
    std::exponential_distribution<double> gap(job.qps);
    std::vector<int64_t> schedule;
    int64_t at = 0;
    for (uint64_t i = 0; i < job.queries; i++) {
        schedule.push_back(at);
        at += std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::duration<double>(gap(rng)))
                  .count();
    }
    return schedule;
}

// What follows the colon of the summary's line that begins with `key`; empty when there is none.
std::string summary_value(const null_job &job, const std::string &key)
{
    std::ifstream file(std::string(job.logs) + "/mlperf_log_summary.txt");
    std::string line;
    while (std::getline(file, line)) {
        size_t colon = line.find(':');
        if (line.compare(0, key.size(), key) == 0 && colon != std::string::npos) {
            return line.substr(line.find_first_not_of(' ', colon + 1));
        }
    }
    return "";
}

} // namespace

int main(int argc, char **argv)
{
    null_system *s = &the_system;
    null_parse(&s->job, argc, argv);
    s->complete = complete_ids;
    null_sut sut;
    null_qsl qsl;
    mlperf::TestSettings settings = settings_of(s->job);
    mlperf::LogSettings logs;
    logs.enable_trace = false;
    logs.log_output.outdir = s->job.logs[0] != '\0' ? s->job.logs : ".";

    std::vector<std::thread> issuers;
    for (uint64_t i = 0; settings.server_num_issue_query_threads != 0 && i < s->job.threads; i++) {
        issuers.emplace_back(mlperf::RegisterIssueQueryThread);
    }
    null_begin(s);
    mlperf::StartTest(&sut, &qsl, settings, logs);
    null_end(s);
    for (std::thread &issuer : issuers) {
        issuer.join();
    }

    bool valid = summary_value(s->job, "Result is") == "VALID";
    std::string p99 = summary_value(s->job, "99.00 percentile latency (ns)");
    printf("{\"valid\": %s, \"p99_ns\": %s, ", valid ? "true" : "false",
           p99.empty() ? "null" : p99.c_str());
    if (s->n_stamps > 0) {
        null_print_lateness(s, schedule_of(s->job).data());
    }
    // LoadGen tells nobody its counts: a run that ends by them issues what was asked for.
    uint64_t samples = null_samples(&s->job);
    bool multi = settings.scenario == mlperf::TestScenario::MultiStream;
    bool offline = settings.scenario == mlperf::TestScenario::Offline;
    null_print(s, offline ? 1 : multi ? samples / NULL_STREAMS : samples, samples);
    free(s->stamps);
    return 0;
}
