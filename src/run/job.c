/* SPDX-License-Identifier: Apache-2.0 */
#include "run/job.h"

#include <string.h>

#include "base/clock.h"
#include "mlperf/round.h"

#define FIELD(name) offsetof(struct vt_job, name)

static const char *const mode_choices[] = {"performance", "accuracy",  "both",
                                           "submission",  "find-peak", NULL};
static const char *const rate_words[] = {"auto", NULL};
/* enum vt_bounded_method */
static const char *const bounded_methods[] = {"lemire", "division", NULL};

/* enum vt_job_stages */
static const char *const stage_choices[] = {"auto", "on", "off", NULL};

static const char *const precisions[] = {"fp32", "fp16w", "bf16", "int8", "auto", NULL};

static const struct vt_option options[] = {
    {"scenario", 's', VT_OPTION_TEXT, FIELD(scenario), "What to run", "NAME[,NAME]", 0, 0, NULL,
     "all", "offline, server, singlestream, multistream, or all of them"},
    {"mode", 0, VT_OPTION_CHOICE, FIELD(mode), "What to run", "MODE", 0, 0, mode_choices, "both",
     "measure performance, accuracy, or both: accuracy once, under the first scenario, unless "
     "--official asks for it under each; submission: both as one test, as LoadGen's SubmissionRun; "
     "find-peak: Server as LoadGen's FindPeakPerformance"},
    {"official", 0, VT_OPTION_FLAG, FIELD(official), "What to run", NULL, 0, 0, NULL, NULL,
     "take the durations and query counts of the MLPerf rules: 10 minutes a scenario and more"},
    {"round", 0, VT_OPTION_TEXT, FIELD(round), "What to run", "R", 0, 0, NULL, VT_ROUND_LATEST,
     "the MLPerf round whose seeds, limits and counts are taken: v3.0, v3.1, v4.0, v4.1, v5.0, "
     "v5.1, v6.0 or v6.1"},
    {"benchmark", 0, VT_OPTION_TEXT, FIELD(benchmark), "What to run", "NAME", 0, 0, NULL, NULL,
     "the benchmark that the model is, as the round and the files below call it: resnet50 "
     "(default: the model's name, if the round has it)"},
    {"mlperf-conf", 0, VT_OPTION_TEXT, FIELD(mlperf_conf), "What to run", "FILE", 0, 0, NULL, NULL,
     "an mlperf.conf, over the round's values"},
    {"user-conf", 0, VT_OPTION_TEXT, FIELD(user_conf), "What to run", "FILE", 0, 0, NULL, NULL,
     "a user.conf, over that; options that are given win over both"},
    {"audit-conf", 0, VT_OPTION_TEXT, FIELD(audit_conf), "What to run", "FILE", 0, 0, NULL, NULL,
     "a compliance test's audit.config, over everything; with vatio audit, over the test's run "
     "only, "
     "in place of the built-in one"},
    {"test", 0, VT_OPTION_TEXT, FIELD(tests), "What to run", "NAME[,NAME]", 0, 0, NULL, NULL,
     "vatio audit, and job files: the compliance tests, TEST01, TEST04, TEST06 or all (default of "
     "vatio audit: TEST01,TEST04)"},
    {"duration", 'd', VT_OPTION_DURATION, FIELD(duration_ns), "What to run", "T", 1e6, 8.64e13,
     NULL, "3s", "run each scenario for at least so long"},
    {"max-duration", 0, VT_OPTION_DURATION, FIELD(max_duration_ns), "What to run", "T", 1e6,
     8.64e13, NULL, "60s",
     "stop a scenario after so long even if it has too few queries to be valid; --official lifts "
     "this limit unless it is given"},
    {"min-query-count", 0, VT_OPTION_INT, FIELD(min_query_count), "What to run", "N", 1,
     4294967295.0, NULL, NULL,
     "queries a scenario needs to be valid (default: what early stopping needs)"},
    {"samples-per-query", 0, VT_OPTION_INT, FIELD(samples_per_query), "What to run", "N", 1,
     4294967295.0, NULL, "8", "samples in a MultiStream query"},

    {"weights", 0, VT_OPTION_TEXT, FIELD(weights), "Model and engine", "FILE", 0, 0, NULL, NULL,
     "an ONNX file with trained weights for a network of the zoo, which has random ones without "
     "it"},
    {"engine", 'e', VT_OPTION_TEXT, FIELD(engine), "Model and engine", "E", 0, 0, NULL, "native",
     "an engine that `vatio list` names, or the path of an engine module (with a slash in it)"},
    {"engine-option", 0, VT_OPTION_LIST, FIELD(engine_options), "Model and engine", "KEY=VALUE", 0,
     0, NULL, NULL, "an option of the engine's own", .holds_settings = true},
    {"shape", 0, VT_OPTION_LIST, FIELD(shapes), "Model and engine", "NAME=DIMS", 0, 0, NULL, NULL,
     "extents of an input (1x3x224x224) or of one symbol (128) where the model leaves them open"},
    {"batch", 'b', VT_OPTION_INT, FIELD(batch), "Model and engine", "N", 1, 65536, NULL, NULL,
     "samples in one request at most (default: the size with the best throughput up to 32)"},
    {"lanes", 'l', VT_OPTION_INT, FIELD(lanes), "Model and engine", "N", 1, 1024, NULL, NULL,
     "independent streams of execution (default: the engine's best)"},
    {"threads", 't', VT_OPTION_INT, FIELD(threads), "Model and engine", "N", 1, 1024, NULL, NULL,
     "CPU threads for the whole engine (default: every usable CPU)"},
    {"batch-delay-us", 0, VT_OPTION_INT, FIELD(batch_delay_us), "Model and engine", "US", 0, 1e7,
     NULL, "0", "Server: let a batch that is not full wait so long for more samples"},

    {"precision", 0, VT_OPTION_CHOICE, FIELD(precision), "Model and engine", "P", 0, 0, precisions,
     "fp32",
     "native: fp32; fp16w, weights kept as float16; bf16, factors of products rounded; int8, "
     "calibrated on the data; or auto, the fastest of them whose quality holds"},
    {"quality-loss", 0, VT_OPTION_REAL, FIELD(quality_loss), "Model and engine", "PERCENT", 0, 100,
     NULL, "1", "--precision auto: what may be lost, in percent of the quality in fp32"},

    {"target-qps", 'q', VT_OPTION_REAL, FIELD(target_qps), "Load", "Q", 1e-6, 1e9, rate_words, NULL,
     "Server: queries a second, or auto: search for the highest valid rate (default: a "
     "configuration file's, else auto)"},
    {"max-latency", 0, VT_OPTION_DURATION, FIELD(max_latency_ns), "Load", "T", 1e3, 3.6e12, NULL,
     NULL,
     "Server: bound of the p99 latency (default: the task's, else ten times the p90 of a single "
     "sample, at least 10 ms)"},
    {"spin-us", 0, VT_OPTION_INT, FIELD(spin_us), "Load", "US", -1, 1e6, NULL, "-1",
     "spin at the end of a wait for exact issue times; 0 leaves the CPU to others, -1 spins only "
     "when the engine does not compute on this machine's CPUs"},
    {"timeout", 0, VT_OPTION_DURATION, FIELD(timeout_ns), "Load", "T", 1e6, 8.64e13, NULL, "60s",
     "give up on a sample that was not answered for so long"},
    {"arrivals", 0, VT_OPTION_TEXT, FIELD(arrivals), "Load", "KIND", 0, 0, NULL, "poisson",
     "Server: when queries come: poisson, constant (evenly spaced) or trace:FILE (a CSV file of "
     "seconds, one a line)"},
    {"issue-threads", 0, VT_OPTION_INT, FIELD(issue_threads), "Load", "N", 0, 64, NULL, "0",
     "Server: threads that issue queries; 0 is the one that runs the load"},
    {"coalesce", 0, VT_OPTION_FLAG, FIELD(coalesce), "Load", NULL, 0, 0, NULL, NULL,
     "Server: queries that are due go out together"},
    {"tokens", 0, VT_OPTION_FLAG, FIELD(tokens), "Load", NULL, 0, 0, NULL, NULL,
     "measure the latencies of the first token and of the others"},
    {"ttft-latency", 0, VT_OPTION_DURATION, FIELD(ttft_latency_ns), "Load", "T", 1, 3.6e12, NULL,
     NULL, "Server: bound of the time to the first token (default: the benchmark's, else 100 ms)"},
    {"tpot-latency", 0, VT_OPTION_DURATION, FIELD(tpot_latency_ns), "Load", "T", 1, 3.6e12, NULL,
     NULL, "Server: bound of the time a further token (default: the benchmark's, else 100 ms)"},
    {"bounded-method", 0, VT_OPTION_CHOICE, FIELD(bounded_method), "Load", "METHOD", 0, 0,
     bounded_methods, "lemire",
     "how bounded random integers are drawn: lemire as libstdc++ 11 and later, division as before"},
    {"stages", 0, VT_OPTION_CHOICE, FIELD(stages), "Load", "WHEN", 0, 0, stage_choices, "auto",
     "stamp where the time of a sample goes (queue, batch, copy, compute, completion): on, off, or "
     "auto: where a sample takes long enough not to notice"},
    {"memory-limit", 0, VT_OPTION_SIZE, FIELD(memory_limit), "Load", "SIZE", 0, 1e15, NULL, NULL,
     "keep records beyond so much on disk (default: all in memory)"},
    {"spill-dir", 0, VT_OPTION_TEXT, FIELD(spill_dir), "Load", "DIR", 0, 0, NULL, NULL,
     "where they lie then (default: TMPDIR or /var/tmp)"},
    {"fifo", 0, VT_OPTION_INT, FIELD(fifo), "Load", "PRIORITY", 0, 99, NULL, "0",
     "real-time priority (SCHED_FIFO) of the issuing threads; 0 leaves them as they are"},
    {"pin", 0, VT_OPTION_TEXT, FIELD(pin), "Load", "CPULIST", 0, 0, NULL, NULL,
     "CPUs of the issuing threads, one after the other: 0-3,8"},
    {"set", 0, VT_OPTION_LIST, FIELD(sets), "Load", "KEY=VALUE", 0, 0, NULL, NULL,
     "any setting by the name that LoadGen's TestSettings gives it: min_duration_ms=1000"},

    {"meter", 0, VT_OPTION_TEXT, FIELD(meters), "Energy", "NAME[,NAME]", 0, 0, NULL, "auto",
     "the meters that are read along every performance run: names that `vatio meters` lists, none, "
     "or auto: all that work here, replay and ptdaemon where their option is given"},
    {"idle", 0, VT_OPTION_DURATION, FIELD(idle_ns), "Energy", "T", 0, 3.6e12, NULL, "0s",
     "measure for so long before the first run what the machine takes while it waits, and tell "
     "every run's energy above that too; 0: do not"},
    VT_METER_PLACE_OPTIONS(FIELD(places), "Energy"),
    {"ptdaemon-ranging", 0, VT_OPTION_DURATION, FIELD(ranging_ns), "Energy", "T", 0, 3.6e12, NULL,
     "10s",
     "ptdaemon: put load on for so long first, whose largest voltage and current become the ranges "
     "of the analyzer; 0: it finds them itself, again and again, and loses accuracy"},

    {"cap", 0, VT_OPTION_LIST, FIELD(caps), "Energy", "[KIND[/DOMAIN]=]VALUE", 0, 0, NULL, NULL,
     "cap power or clocks for the run, and put back what was there, however it ends: 300W (GPUs, "
     "else processors), rapl=120W, cpufreq=2.4GHz, nvpmodel=MODE; `vatio caps` lists what there "
     "is"},
    {"allow-reboot", 0, VT_OPTION_FLAG, FIELD(allow_reboot), "Energy", NULL, 0, 0, NULL, NULL,
     "--cap nvpmodel: a mode that needs a restart of the board may restart it, which ends the run"},

    {"workload", 'w', VT_OPTION_TEXT, FIELD(workload), "Data", "W", 0, 0, NULL, NULL,
     "a workload that `vatio list` names (default: from the model and the dataset)"},
    {"dataset", 'D', VT_OPTION_TEXT, FIELD(dataset), "Data", "PATH", 0, 0, NULL, NULL,
     "folder or file with the samples"},
    {"labels", 0, VT_OPTION_TEXT, FIELD(labels), "Data", "FILE", 0, 0, NULL, NULL,
     "label list, where it does not lie in the dataset"},
    {"sample-count", 0, VT_OPTION_INT, FIELD(sample_count), "Data", "N", 1, 1e9, NULL, NULL,
     "use only the first N samples of the dataset"},
    {"performance-sample-count", 0, VT_OPTION_INT, FIELD(performance_count), "Data", "N", 1, 1e9,
     NULL, NULL, "samples kept in memory for performance runs"},
    {"seed", 0, VT_OPTION_INT, FIELD(seed), "Data", "N", 0, 9e15, NULL, "1",
     "seed of generated inputs"},
    {"skip-bad", 0, VT_OPTION_FLAG, FIELD(skip_bad), "Data", NULL, 0, 0, NULL, NULL,
     "leave out samples that cannot be read, and say how many"},
    {"preprocess", 0, VT_OPTION_TEXT, FIELD(preprocess), "Data", "PRESET", 0, 0, NULL, NULL,
     "image-classification: raw, imagenet or tf"},
    {"mean", 0, VT_OPTION_TEXT, FIELD(mean), "Data", "R,G,B", 0, 0, NULL, NULL,
     "image-classification: subtracted from every pixel; one number or one a channel"},
    {"std", 0, VT_OPTION_TEXT, FIELD(std), "Data", "R,G,B", 0, 0, NULL, NULL,
     "image-classification: then divided by"},
    {"scale", 0, VT_OPTION_TEXT, FIELD(scale), "Data", "F", 0, 0, NULL, NULL,
     "image-classification: every pixel is multiplied by it first"},
    {"channels", 0, VT_OPTION_TEXT, FIELD(channels), "Data", "ORDER", 0, 0, NULL, NULL,
     "image-classification: rgb or bgr"},
    {"resize", 0, VT_OPTION_TEXT, FIELD(resize), "Data", "SIZE", 0, 0, NULL, NULL,
     "image-classification: the shorter side in pixels, or WxH"},
    {"crop", 0, VT_OPTION_TEXT, FIELD(crop), "Data", "F", 0, 0, NULL, NULL,
     "image-classification: centre crop, as a fraction of the image or in pixels"},
    {"label-offset", 0, VT_OPTION_TEXT, FIELD(label_offset), "Data", "N", 0, 0, NULL, NULL,
     "image-classification: added to a label before it is compared with the model's class"},
    {"input", 'i', VT_OPTION_LIST, FIELD(inputs), "Data", "NAME=FILE", 0, 0, NULL, NULL,
     "tensor: contents of an input, .npy or ONNX TensorProto .pb"},
    {"expect", 'x', VT_OPTION_LIST, FIELD(expects), "Data", "NAME=FILE", 0, 0, NULL, NULL,
     "tensor: what an output has to be; a mismatch exits 1"},
    {"rtol", 0, VT_OPTION_REAL, FIELD(rtol), "Data", "F", 0, 1, NULL, "1e-3",
     "tensor: relative tolerance of --expect"},
    {"atol", 0, VT_OPTION_REAL, FIELD(atol), "Data", "F", 0, 1e30, NULL, "1e-4",
     "tensor: absolute tolerance of --expect"},

    {"output", 'o', VT_OPTION_TEXT, FIELD(output), "Result", "DIR", 0, 0, NULL, NULL,
     "folder for result.json, records and logs (default: runs/<time>-<model>)"},
    {"json", 0, VT_OPTION_FLAG, FIELD(json), "Result", NULL, 0, 0, NULL, NULL,
     "print result.json on standard output and nothing else there"},
    {"trace", 0, VT_OPTION_FLAG, FIELD(trace), "Result", NULL, 0, 0, NULL, NULL,
     "write a trace of every sample for Chrome's viewer, mlperf_log_trace.json"},
    {"model", 'm', VT_OPTION_TEXT, FIELD(model), "Model and engine", "MODEL", 0, 0, NULL, NULL,
     "the model, for job files; on the command line it is the first argument"},
};

const struct vt_option_table *vt_job_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct vt_job)};
    return &table;
}

static bool same_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

enum vt_status vt_job_scenarios(const struct vt_job *job, struct vt_error *err,
                                bool ret_wanted[VT_SCENARIO_COUNT])
{
    bool wanted[VT_SCENARIO_COUNT] = {false};
    const char *text = job->scenario;

    for (;;) {
        size_t length = strcspn(text, ",");
        bool known = false;
        for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
            if (same_word(text, length, "all") ||
                same_word(text, length, vt_scenario_key((enum vt_scenario)i))) {
                wanted[i] = true;
                known = true;
            }
        }
        if (!known) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--scenario %.*s: allowed are offline, server, singlestream, "
                                "multistream and all",
                                (int)(length < 64 ? length : 64), text);
        }
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
    memcpy(ret_wanted, wanted, sizeof wanted);
    return VT_OK;
}
