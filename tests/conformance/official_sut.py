#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""official_sut.py EXAMPLES DIGITS_TEST_BIN FAULT_ENGINE

A vatio engine under the official LoadGen, through examples/official_loadgen.py and libvatio's C
interface (the environment variable VATIO_LIBRARY names the library): LoadGen must call its own runs
valid, and its accuracy log must hold the model's predictions. An engine that fails must end the test
with its reason, and one that shows tokens must reach LoadGen's token latencies. Exits 77 where LoadGen's wheel is
missing.
"""
import os
import re
import sys
import tempfile

try:
    import mlperf_loadgen as lg
except ImportError as error:
    print("skipped: no mlperf_loadgen for %s (%s)" % (sys.executable, error))
    sys.exit(77)

sys.path.insert(0, sys.argv[1])
import official_loadgen as example  # noqa: E402

# What the model is known to reach on its 360 images; other CPUs round the last bits differently.
TOP_1, TOP_1_SLACK = 100 * 354 / 360, 0.6


def settings_of(scenario, mode):
    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, scenario)
    settings.mode = getattr(lg.TestMode, mode)
    settings.min_duration_ms = 100
    settings.min_query_count = 1 if scenario == "Offline" else 700
    settings.server_target_qps = 1000
    settings.server_target_latency_ns = 2 * 10**9
    settings.offline_expected_qps = 200000  # more than Python can pass on: long enough
    settings.single_stream_expected_latency_ns = 20000  # and so is this
    settings.multi_stream_expected_latency_ns = 20000
    return settings


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def performance(system, scenario):
    with tempfile.TemporaryDirectory() as folder:
        example.OfficialTest(system, lg).run(settings_of(scenario, "PerformanceOnly"), folder)
        summary = read(folder, "mlperf_log_summary.txt")
        check("Result is : VALID" in summary, summary)
        check("Scenario : %s\n" % scenario in summary, summary)
        check("No errors encountered during test." in summary, summary)


def accuracy(system, scenario, labels):
    with tempfile.TemporaryDirectory() as folder:
        example.OfficialTest(system, lg).run(settings_of(scenario, "AccuracyOnly"), folder)
        answers = example.read_accuracy_log(folder)
    check(sorted(index for index, _ in answers) == list(range(len(labels))),
          "%s: not every sample once" % scenario)
    right = sum(int.from_bytes(data, "little") == labels[index] for index, data in answers)
    top_1 = 100 * right / len(labels)
    check(abs(top_1 - TOP_1) < TOP_1_SLACK, "%s: top-1 %.2f %%" % (scenario, top_1))
    quality = system.score(answers)
    check(quality.metric == b"top-1" and abs(quality.value - top_1) < 1e-9 and quality.passed,
          "%s: the library scores %g, the labels say %g" % (scenario, quality.value, top_1))
    check(quality.count == len(labels), "scored %d" % quality.count)


def refused(word, action, *arguments):
    """The call must end in an exception whose sentence says `word`."""
    try:
        action(*arguments)
    except example.VatioError as error:
        check(word in str(error), "'%s' does not say '%s'" % (error, word))
        return
    raise AssertionError("%s was accepted" % (arguments,))


def fault_engine(module, fault):
    return example.System([("model", "digits"), ("engine", module), ("batch", "4"),
                           ("timeout", "300ms"), ("engine-option", "fault=" + fault),
                           ("engine-option", "every=50")])


def failures(module):
    """LoadGen waits for ever for a sample that does not come: none may stay away."""
    for fault, word in (("error", "as asked for"), ("lose", "gave no answer")):
        with fault_engine(module, fault) as system, tempfile.TemporaryDirectory() as folder:
            refused(word, example.OfficialTest(system, lg).run,
                    settings_of("Server", "PerformanceOnly"), folder)


def tokens(module):
    settings = settings_of("Server", "PerformanceOnly")
    settings.use_token_latencies = True
    settings.ttft_latency = settings.tpot_latency = 2 * 10**9
    with tempfile.TemporaryDirectory() as folder:
        with example.System([("model", "digits"), ("engine", module), ("batch", "4"),
                             ("engine-option", "fault=tokens")]) as system:
            example.OfficialTest(system, lg).run(settings, folder)
        summary = read(folder, "mlperf_log_summary.txt")
    check("Result is : VALID" in summary and "TTFT Early Stopping Result" in summary, summary)
    rates = [float(rate) for rate in re.findall(r"Completed (?:samples|tokens) per second *: (.*)",
                                                summary)]
    check(abs(rates[1] / rates[0] - 5) < 0.05, "%s: not 5 tokens a sample" % rates)  # the engine's


def misuse():
    """Mistakes are exceptions with a sentence, no crash."""
    refused("model", example.System, [])
    refused("did you mean batch", example.System, [("model", "digits"), ("batsh", "1")])
    refused("has no use here", example.System, [("model", "digits"), ("scenario", "server")])
    with example.System([("model", "digits"), ("threads", "1"), ("batch", "4")]) as system:
        refused("not started", system.issue, [1], [0])
        system.start("Offline", lambda completions: None)
        refused("not loaded", system.issue, [1], [0])
        refused("started already", system.start, "Offline", print)
        refused("does not exist", system.load, [360])
        # A sample that the system refuses ends the official test with its reason, not in a hang.
        system.stop()
        test = example.OfficialTest(system, lg)
        system.load = lambda indices: None
        with tempfile.TemporaryDirectory() as folder:
            refused("not loaded", test.run, settings_of("SingleStream", "AccuracyOnly"), folder)


def main():
    with open(sys.argv[2], "rb") as file:
        data = file.read()
    labels = data[16:16 + int.from_bytes(data[8:12], "little")]
    check(len(labels) == 360, "%d labels" % len(labels))
    with example.System([("model", "digits"), ("threads", "1")]) as system:
        check(system.total_count == 360, "%d samples" % system.total_count)
        for scenario in example.SCENARIOS:
            performance(system, scenario)
            print("%s: VALID" % scenario)
            accuracy(system, scenario, labels)
            print("%s: accurate" % scenario)
    misuse()
    failures(sys.argv[3])
    tokens(sys.argv[3])


main()
