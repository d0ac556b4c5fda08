# SPDX-License-Identifier: Apache-2.0
"""bench/loadgen's side of the mlperf_loadgen wheel: one StartTest on a null system in Python.

Takes the arguments of loadgen_null.h and prints the same line of JSON. Completes inline only: a
second thread would measure Python's lock.
"""
import json
import os
import sys
import time

import mlperf_loadgen as lg

SET = 1024
SCENARIOS = {
    "singlestream": lg.TestScenario.SingleStream,
    "multistream": lg.TestScenario.MultiStream,
    "server": lg.TestScenario.Server,
    "offline": lg.TestScenario.Offline,
}


def status(field):
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def summary(folder, key):
    with open(os.path.join(folder, "mlperf_log_summary.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return None


def main():
    job = dict(argument.split("=", 1) for argument in sys.argv[1:])
    if job.get("complete", "inline") != "inline" or int(job.get("stamps", 0)):
        sys.exit("loadgen: the wheel's side completes inline and keeps no stamps")
    queries = int(job.get("queries", 1000))
    times = {"first": 0, "last": 0, "samples": 0}
    now = time.monotonic_ns
    response = lg.QuerySampleResponse
    complete = lg.QuerySamplesComplete

    def issue(ids, indices):
        if not times["first"]:
            times["first"] = now()
        times["samples"] += len(ids)
        complete([response(i, 0, 0) for i in ids])

    def flush():
        times["last"] = now()

    settings = lg.TestSettings()
    settings.scenario = SCENARIOS[job["scenario"]]
    settings.mode = lg.TestMode.PerformanceOnly
    settings.min_query_count = queries
    settings.max_query_count = int(job.get("max_queries", 0))
    settings.min_duration_ms = int(job.get("duration_ms", 0))
    settings.single_stream_expected_latency_ns = int(job.get("expected_ns", 1000000))
    settings.multi_stream_expected_latency_ns = int(job.get("expected_ns", 1000000))
    settings.server_target_qps = float(job.get("qps", 1000))
    settings.server_target_latency_ns = 10000000
    settings.server_coalesce_queries = bool(int(job.get("coalesce", 0)))
    logs = lg.LogSettings()
    logs.enable_trace = False
    logs.log_output.outdir = job.get("logs", ".")
    logs.log_output.copy_summary_to_stdout = False

    sut = lg.ConstructFastSUT(issue, flush)
    qsl = lg.ConstructQSL(SET, SET, lambda indices: None, lambda indices: None)
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass
    before = status("VmRSS")
    called = now()
    lg.StartTestWithLogSettings(sut, qsl, settings, logs)
    returned = now()
    peak = status("VmHWM")
    p99 = summary(logs.log_output.outdir, "99.00 percentile latency (ns)")
    print(json.dumps({
        "valid": summary(logs.log_output.outdir, "Result is") == "VALID",
        "p99_ns": int(p99) if p99 else None,
        "queries": 1 if job["scenario"] == "offline" else queries,
        "samples": times["samples"],
        "start_ns": times["first"] - called,
        "run_ns": times["last"] - times["first"],
        "finish_ns": returned - times["last"],
        "whole_ns": returned - called,
        "growth_bytes": max(0, peak - before),
    }))
    lg.DestroyQSL(qsl)
    lg.DestroyFastSUT(sut)


main()
