# SPDX-License-Identifier: Apache-2.0
"""The log files of vatio against those of MLPerf LoadGen, for the same settings.

compare_logs.py PROGRAM [--only NAME] [--keep FOLDER] [--verbose]

PROGRAM is that of tests/mlperf/write_logs.c. Both run the configurations below on a system that does
nothing. Compared are: the detail log's records (the same keys in the same order, the same types,
for settings and what was generated the same values), the summary's lines (labels, order, verdicts,
parameters, number format), and the accuracy log to the byte.

What may differ: times, latencies and rates, what says who made the log, and LoadGen's warnings about
its own buffers and clocks.
"""

import argparse
import array
import json
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import mlperf_loadgen as lg
except ImportError as why:
    print(f"skipped: {why}")
    sys.exit(77)

SCENARIOS = ("Offline", "Server", "SingleStream", "MultiStream")
# Five tokens of 16 bits.
RESPONSE = array.array("B", [0x0A, 0x7F, 3, 0, 4, 0, 5, 0, 2, 0])
BASE = {
    "mode": "PerformanceOnly",
    "min_duration_ms": 60,
    "min_query_count": 700,
    "server_target_qps": 10000,
    "offline_expected_qps": 10000,
    # Little enough that LoadGen does not run out of queries before the time is over.
    "single_stream_expected_latency_ns": 1500,
    "multi_stream_expected_latency_ns": 6000,
}
NOT_OF_SETTINGS = ("scenario", "mode", "total", "performance", "service_us", "token_us")
# The wheel has these in configuration files only.
OF_FILES = {"server_ttft_latency": "ttft_latency", "server_tpot_latency": "tpot_latency"}


def configurations():
    """Name and settings of each."""
    for scenario in SCENARIOS:
        for mode in ("PerformanceOnly", "AccuracyOnly", "SubmissionRun"):
            for tokens in (0, 1):
                name = f"{scenario} {mode}" + (" tokens" if tokens else "")
                yield name, {"scenario": scenario, "mode": mode, "use_token_latencies": tokens}
        yield f"{scenario} equal issue", {
            "scenario": scenario, "sample_concatenate_permutation": 1, "min_query_count": 650}
        yield f"{scenario} same", {
            "scenario": scenario, "performance_issue_same": 1, "performance_issue_same_index": 3}
        yield f"{scenario} few", {
            "scenario": scenario, "min_duration_ms": 0, "min_query_count": 20}
        yield f"{scenario} few tokens", {
            "scenario": scenario, "min_duration_ms": 0, "min_query_count": 20,
            "use_token_latencies": 1}
        yield f"{scenario} seeds", {
            "scenario": scenario, "qsl_rng_seed": 2085463073848966840, "total": 100,
            "sample_index_rng_seed": 2747215439041700203, "performance": 70,
            "schedule_rng_seed": 16159082839903944936, "accuracy_log_rng_seed": 7,
            "performance_sample_count_override": 40, "accuracy_sample_count_override": 90,
            "mode": "SubmissionRun"}
        yield f"{scenario} test05", {
            "scenario": scenario, "mode": "AccuracyOnly", "test05": 1, "qsl_rng_seed": 3,
            "test05_qsl_rng_seed": 5, "test05_sample_index_rng_seed": 6,
            "test05_schedule_rng_seed": 7}
        yield f"{scenario} inferred", {
            "scenario": scenario, "infer_token_latencies": 1, "token_latency_scaling_factor": 7}
    for scenario in ("Server", "SingleStream", "MultiStream"):
        yield f"{scenario} too many", {"scenario": scenario, "max_query_count": 300}
    for scenario in ("Server", "Offline"):
        yield f"{scenario} sampled", {"scenario": scenario, "accuracy_log_sampling_target": 50}
    yield "Server too slow", {"scenario": "Server", "server_target_latency_ns": 1}
    yield "Server first token late", {
        "scenario": "Server", "use_token_latencies": 1, "server_ttft_latency": 1000000,
        "server_target_qps": 200, "min_query_count": 20, "service_us": 2000}
    yield "Server tokens late", {
        "scenario": "Server", "use_token_latencies": 1, "server_ttft_latency": 1000000,
        "server_tpot_latency": 1000000, "server_target_qps": 100, "min_query_count": 10,
        "service_us": 2000, "token_us": 6000}
    yield "Server percentile", {
        "scenario": "Server", "server_target_latency_percentile": 0.9,
        "server_target_latency_ns": 123456789, "server_target_qps": 1234.5678}
    yield "SingleStream percentile", {
        "scenario": "SingleStream", "single_stream_target_latency_percentile": 0.95}
    yield "SingleStream fraction", {
        "scenario": "SingleStream", "single_stream_expected_latency_ns": 1333.3333,
        "min_duration_ms": 37}
    yield "SingleStream fraction equal issue", {
        "scenario": "SingleStream", "single_stream_expected_latency_ns": 1234.567,
        "sample_concatenate_permutation": 1, "min_duration_ms": 37}
    yield "MultiStream fraction", {
        "scenario": "MultiStream", "multi_stream_expected_latency_ns": 6666.66667,
        "min_duration_ms": 37}
    yield "Offline factor", {
        "scenario": "Offline", "infer_token_latencies": 1,
        "token_latency_scaling_factor": 12345678901}
    yield "MultiStream samples", {
        "scenario": "MultiStream", "multi_stream_samples_per_query": 3,
        "multi_stream_target_latency_percentile": 0.9}
    yield "FindPeakPerformance fails", {
        "scenario": "Server", "mode": "FindPeakPerformance", "server_target_latency_ns": 1}
    yield "FindPeakPerformance", {
        "scenario": "Server", "mode": "FindPeakPerformance", "server_target_qps": 300,
        "server_target_latency_ns": 40000000, "server_target_latency_percentile": 0.8,
        "min_duration_ms": 200, "min_query_count": 1, "service_us": 1000,
        "server_find_peak_qps_decimals_of_precision": 0}


def run_loadgen(folder, settings):
    """The same test by the wheel."""
    s = lg.TestSettings()
    s.scenario = getattr(lg.TestScenario, settings["scenario"])
    s.mode = getattr(lg.TestMode, settings["mode"])
    limits = [f"*.Server.{OF_FILES[name]} = {value // 1000000}\n"
              for name, value in settings.items() if name in OF_FILES]
    for name, value in settings.items():
        if name not in NOT_OF_SETTINGS and name not in OF_FILES:
            kind = type(getattr(s, name))
            setattr(s, name, kind(value))
    if limits:
        path = os.path.join(folder, "limits.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(limits)
        s.FromConfig(path, "*", settings["scenario"], 2)
    tokens = settings.get("use_token_latencies") and settings["scenario"] != "Offline"
    address, size = RESPONSE.buffer_info()[0], len(RESPONSE)

    def sleep_us(name):
        if name in settings:
            time.sleep(settings[name] / 1e6)

    def issue(query):
        sleep_us("service_us")
        if tokens:
            lg.FirstTokenComplete(
                [lg.QuerySampleResponse(sample.id, address, 2, 1) for sample in query])
        sleep_us("token_us")
        lg.QuerySamplesComplete(
            [lg.QuerySampleResponse(sample.id, address, size, 5) for sample in query])

    sut = lg.ConstructSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(settings.get("total", 64), settings.get("performance", 32),
                          lambda indices: None, lambda indices: None)
    log = lg.LogSettings()
    log.log_output.outdir = folder
    log.enable_trace = False
    lg.StartTestWithLogSettings(sut, qsl, s, log, "")
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)


def run_vatio(program, folder, settings):
    """Returns what it complained about."""
    arguments = [f"{name}={value}" for name, value in settings.items()]
    done = subprocess.run([program, folder] + arguments, capture_output=True, text=True,
                          timeout=120, check=False)
    return f"exit code {done.returncode}: {done.stderr}" if done.returncode != 0 else ""


# --- the detail log

WHO = re.compile(r"^(loadgen_|get_sut_name_duration_ns$|test_datetime$|logger_)")
SAME_VALUE = re.compile(
    r"^(requested_|effective_|generated_|loaded_qsl_set$|sut_name$|qsl_|generic_message$|num_errors$"
    r"|result_validity$|result_\w+_met$|early_stopping_met$|result_invalid_reason$"
    r"|result_scheduled_samples_per_sec$|power_)")
OF_LOADGEN_ALONE = re.compile(r"Logging allocation detected|PerfClock and system_clock differ")
INTEGER = re.compile(
    r"^(?!requested_\w+_expected_).*(_ns|_count|_latency_ss|_latency_ms|_min|_max|_mean)$")
FORMATS = {
    "test_datetime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "power_begin": r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}",
    "power_end": r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}",
}
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def read_detail(folder):
    """The records, without what LoadGen says about its own buffers."""
    records = []
    with open(os.path.join(folder, "mlperf_log_detail.txt"), encoding="utf-8") as lines:
        for line in lines:
            assert line.startswith(":::MLLOG "), line
            record = json.loads(line[9:])
            if not OF_LOADGEN_ALONE.search(str(record["value"])):
                records.append(record)
    return records


def kind_of(value):
    """A JSON type; all numbers are one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return type(value).__name__
    return "number"


def without_numbers(text):
    """Numbers as "#"."""
    return NUMBER.sub("#", text)


def once(tokens):
    """Steps of the search that repeat, once."""
    result = []
    for token in tokens:
        result.append(token)
        for width in range(1, len(result) // 2 + 1):
            if result[-width:] == result[-2 * width:-width]:
                del result[-width:]
                break
    return result


def token_of(record):
    """What a record is, beyond its value."""
    key, value = record["key"], record["value"]
    if key == "generic_message":
        return key, without_numbers(value)
    return key, ""


def compare_detail(theirs, ours, settings, complain):
    searching = settings["mode"] == "FindPeakPerformance"
    steps = [[token_of(record) for record in log] for log in (theirs, ours)]
    if searching:
        # What is found lies at the edge of the limit: early stopping may say either.
        steps = [[token for token in once(tokens) if token[0] != "result_invalid_reason"]
                 for tokens in steps]
    if steps[0] != steps[1]:
        for i, (a, b) in enumerate(zip(*steps)):
            if a != b:
                complain(f"record {i}: LoadGen {a}, vatio {b}")
                return
        complain(f"{len(steps[0])} records, vatio {len(steps[1])}: ends differ, "
                 f"{steps[0][-3:]} and {steps[1][-3:]}")
        return
    for record in ours:
        if list(record) != list(theirs[0]) or list(record["metadata"]) != list(
                theirs[0]["metadata"]):
            complain(f"{record['key']}: the record is {list(record)}")
        pattern = FORMATS.get(record["key"])
        if pattern and not re.fullmatch(pattern, record["value"]):
            complain(f"{record['key']}: {record['value']!r} is no time")
        if INTEGER.search(record["key"]) and not isinstance(record["value"], int):
            complain(f"{record['key']}: {record['value']!r} is no integer")
    if searching:
        return
    for a, b in zip(theirs, ours):
        key = a["key"]
        for flag in ("is_error", "is_warning"):
            if a["metadata"][flag] != b["metadata"][flag]:
                complain(f"{key}: {flag} differs")
        if kind_of(a["value"]) != kind_of(b["value"]):
            complain(f"{key}: LoadGen {a['value']!r}, vatio {b['value']!r}")
        elif SAME_VALUE.search(key) and not key.startswith("power_") and a["value"] != b["value"]:
            complain(f"{key}: LoadGen {a['value']!r}, vatio {b['value']!r}")
        elif WHO.search(key) is None and isinstance(a["value"], str) and not key.startswith(
                ("power_", "error_")) and without_numbers(a["value"]) != without_numbers(b["value"]):
            complain(f"{key}: LoadGen {a['value']!r}, vatio {b['value']!r}")
    if "LoadGen" not in ours[0]["value"] or "vatio" not in ours[0]["value"]:
        complain(f"loadgen_version does not say who it is: {ours[0]['value']!r}")


# --- the summary

def summary_lines(folder):
    """Lines with their numbers masked where they are measurements."""
    with open(os.path.join(folder, "mlperf_log_summary.txt"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    result, parameters = [], False
    for line in lines:
        parameters = parameters or line == "Test Parameters Used"
        if re.search(r"warnings? encountered", line):
            line = "warnings"
        elif not parameters and line.startswith(" "):
            line = without_numbers(line)
        elif not parameters and ":" in line:
            label, value = line.rsplit(":", 1)
            value = re.sub(r"\d+\.\d\d$", "#.##", value)
            line = label + ":" + re.sub(r"^ -?\d+(\.\d+)?(e[+-]?\d+)?$", " #", value)
        result.append(line)
    return result


def without_verdict(lines):
    """Without what depends on the rate that was found."""
    start = next(i for i, line in enumerate(lines) if line.startswith("Result is"))
    end = lines.index("", start)
    return [line for line in lines[:start] + lines[end:] if not line.startswith("target_qps : ")]


def compare_summary(theirs, ours, settings, complain):
    if settings["mode"] == "FindPeakPerformance":
        theirs, ours = (without_verdict(lines) for lines in (theirs, ours))
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            complain(f"summary line {i + 1}: LoadGen {a!r}, vatio {b!r}")
            return
    if len(theirs) != len(ours):
        complain(f"summary: {len(theirs)} lines, vatio {len(ours)}")


def read_text(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def compare(program, name, settings, keep):
    """Returns what differs."""
    complaints = []
    with tempfile.TemporaryDirectory() as temporary:
        root = os.path.join(keep, name.replace(" ", "_")) if keep else temporary
        folders = [os.path.join(root, who) for who in ("loadgen", "vatio")]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        run_loadgen(folders[0], settings)
        trouble = run_vatio(program, folders[1], settings)
        if trouble:
            complaints.append(trouble.strip())
        else:
            compare_detail(*map(read_detail, folders), settings, complaints.append)
            compare_summary(*map(summary_lines, folders), settings, complaints.append)
            a, b = (read_text(folder, "mlperf_log_accuracy.json") for folder in folders)
            if a != b:
                complaints.append(f"accuracy logs differ: {len(a)} and {len(b)} bytes, "
                                  f"{a[:160]!r} and {b[:160]!r}")
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="configurations with this in their name")
    parser.add_argument("--keep", help="leave all logs in this folder")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    bad = n = 0
    for name, settings in configurations():
        if options.only in name:
            settings = {**BASE, **settings}
            complaints = compare(options.program, name, settings, options.keep)
            if complaints:
                # A busy machine may have turned a verdict: what differs, differs twice.
                complaints = compare(options.program, name, settings, options.keep)
            if complaints or options.verbose:
                print(f"{'DIFFERS' if complaints else 'same'}: {name}")
            for complaint in complaints[:8]:
                print(f"    {complaint}")
            n += 1
            bad += len(complaints) > 0
    print(f"{n} configurations, {bad} with differences")
    return 1 if bad or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
